#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-stat: exact rows, intervals, the forms, the screen.

load helper

STEPCLOCK=$KMES_TOP/build/tests/preload/stepclock.so
PROMTOOL=${PROMTOOL:-$KMES_TOP/build/tools/bin/promtool}

# rows_add_up: the identity of each row, and no figure is negative or huge.
rows_add_up() {
	jq -e '[.rings[], .totals] | all(.overwritten + .events + .dropped == .total)
		and all(.[]|numbers; . >= 0 and . < 1e15)' >/dev/null
}

@test "stat: rows add up to the source's counters after laps, drops and resizes" {
	local size
	rings_start --capacity=256K --slots=2 --exempt --testing
	for size in 64K 1M 128K 2M 64K 256K 512K 64K 1M 64K; do
		kmes-emit -c 0 -n 20000 -t stat.test n:=1
		kmes-emit -c 1 -n 5000 -t stat.test n:=1
		kmes-sim --socket="$KMES_TMP/sock" --test=drop=1,7
		kmes-resize $size >/dev/null
	done
	run -0 kmes-stat -j
	rows_add_up <<<"$output"
	# 20000 and 5000 at each of ten resizes, 7 drops, and the ring's own event on some CPU.
	assert_equal "$(jq -c '[([.rings[].total]|add),([.rings[].dropped]|add)]' <<<"$output")" '[250080,70]'
	# Events are those that a reader finds.
	local cpu
	for cpu in 0 1; do
		assert_equal "$(jq ".rings[$cpu].events" <<<"$output")" "$(kmes-dump -sqj -c $cpu | jq 'select(.seq)' -c | wc -l)"
	done
}

@test "stat: a million events over three laps, to the event" {
	rings_start --capacity=4M --slots=1 --exempt
	kmes-emit -n 1000000 -B 256 -t stat.million n:=1
	run -0 kmes-stat -j
	rows_add_up <<<"$output"
	assert_equal "$(jq .rings[0].total <<<"$output")" 1000000
	assert_equal "$(jq .rings[0].events <<<"$output")" "$(kmes-dump -sq | wc -l)"
}

@test "stat: what a ring alone tells is exact, too, and the rest is not known" {
	simulator_only "needs prepared rings"
	load prepared
	event 0 5 1795983682000000001 x
	event 0 6 1795983682000000002 x
	event 0 9 1795983682000000003 x
	prepared_start
	run -0 kmes-stat -j
	assert_equal "$(jq -c '.rings[0]|[.total,.events,.dropped,.overwritten,.wakeups]' <<<"$output")" '[9,3,2,4,null]'
	run -0 kmes-stat -P
	[[ $output != *wakeups* ]]
}

@test "stat: the first sample has totals and no rates, the next ones have them" {
	rings_start --load=5000 --slots=1
	run -0 kmes-stat -j 0.5 3
	assert_equal "${#lines[@]}" 3
	assert_equal "$(jq -c '[.interval,.rings[0].events_per_second]' <<<"${lines[0]}")" '[null,null]'
	jq -e '.rings[0].events_per_second > 100 and .interval > 0.4' <<<"${lines[2]}"
	run -0 kmes-stat
	assert_match "${lines[1]}" ' - +- '
}

@test "stat: a resize between samples marks the row, and no figure is wrong" {
	rings_start --capacity=64K --slots=2 --load=2000
	background stat kmes-stat -j 0.3 6
	wait_for_lines stat.out 2
	kmes-resize 1M >/dev/null
	end_of "$!" 20
	assert_equal "$(jq -s -c 'map(.rings[0].reset)|index(true) != null' stat.out)" true
	while read -r line; do rows_add_up <<<"$line"; done <stat.out
	jq -s -e 'all(.[1:][]; .rings[0].events_per_second >= 0 and .rings[0].events_per_second < 1e6)' stat.out
}

@test "stat: a source that was started anew between samples marks the row" {
	simulator_only "the module cannot be unloaded while it is looked at"
	rings_start --slots=1
	kmes-emit -n 50 -t a
	background stat kmes-stat -j 1.5 3
	wait_for_lines stat.out 1
	sim_stop
	background sim2 kmes-sim --socket="$KMES_TMP/sock" --slots=1
	wait_for_line sim2.out ready
	end_of "${KMES_PIDS[1]}" 20
	assert_status 0
	assert_equal "$(jq -s -c 'map([.rings[0].reset,.rings[0].total,.rings[0].events_per_second])' stat.out | cut -c1-40)" '[[false,50,null],[true,0,null],[false,0,'
}

@test "stat: a source that does not come back ends it" {
	simulator_only "the module cannot end"
	rings_start
	background stat kmes-stat 0.3
	wait_for_lines stat.out 1
	sim_stop
	end_of "${KMES_PIDS[1]}"
	assert_status 0
	assert_match "$(cat stat.err)" 'source ended'
}

@test "stat: the beat survives a step of the wall clock and a hundred SIGWINCHs" {
	local i pid
	rings_start --slots=1
	background stat env STEP_FILE="$KMES_TMP/stepped" LD_PRELOAD="$STEPCLOCK" kmes-stat -j 0.4 5
	pid=$!
	wait_for_lines stat.out 1
	touch stepped
	for ((i = 0; i < 100; i++)); do
		kill -WINCH $pid 2>/dev/null || break
		sleep 0.005
	done
	end_of $pid 30
	assert_status 0
	assert_equal "$(wc -l <stat.out)" 5
	# Intervals by the monotonic clock: none has an hour in it, all of them add up.
	jq -s -e 'all(.[1:][]; .interval > 0 and .interval < 60) and (map(.interval // 0)|add) > 1.5' stat.out
}

@test "stat: wrong usage" {
	local text
	rings_start
	for text in 0 -1 nan inf 1e3 ""; do
		run --separate-stderr kmes-stat -- "$text"
		assert_usage_error "'$text'"
	done
	run --separate-stderr kmes-stat 1 0
	assert_usage_error "'0'"
	run --separate-stderr kmes-stat -P -j
	assert_usage_error 'exclude'
	run --separate-stderr kmes-stat -W -j
	assert_usage_error 'exclude'
	run --separate-stderr kmes-stat --textfile=x
	assert_usage_error 'INTERVAL'
	run --separate-stderr kmes-stat --nope
	assert_usage_error "'--nope'"
	run -0 kmes-stat --version
	assert_match "$output" '^kmes-stat [0-9.]+$'
	run --separate-stderr kmes-stat -S "sim:$KMES_TMP/none"
	assert_status 1
	assert_equal "${#stderr_lines[@]}" 1
}

@test "stat: a CPU whose first event comes later has its row from the start" {
	rings_start --slots=2
	background stat kmes-stat -j 0.3 4
	wait_for_lines stat.out 1
	kmes-emit -c 1 -t late
	end_of $! 20
	assert_equal "$(jq -s -c 'map(.rings[1].total)|[.[0],.[-1]]' stat.out)" '[0,1]'
}

@test "stat: slots with holes are named by CPU, -c limits, one without a ring is named" {
	rings_start --slots=6 --holes=2,4
	assert_equal "$(kmes-stat -j | jq -c '[.rings[].cpu]')" '[0,1,3,5]'
	assert_equal "$(kmes-stat -j -c 1,3-5 | jq -c '[.rings[].cpu]')" '[1,3,5]'
	run --separate-stderr kmes-stat -c 2
	assert_usage_error "'2'"
}

@test "stat: columns stay aligned with the largest numbers" {
	simulator_only "needs prepared rings"
	load prepared
	event 0 18446744073709551610 1795983682000000001 x
	event 1 1 1795983682000000001 x
	prepared_start
	run -0 kmes-stat
	local width line
	width=${#lines[0]}
	for line in "${lines[@]}"; do assert_equal "${#line}" "$width"; done
	assert_match "$output" 18446744073709551610
}

@test "stat: -P is what promtool takes" {
	[[ -x $PROMTOOL ]] || PROMTOOL=$(command -v promtool) || skip "promtool is not there"
	rings_start --slots=4 --load=1000
	kmes-stat -P >metrics
	run "$PROMTOOL" check metrics <metrics
	assert_output ""
	assert_status 0
	grep -q '^kmes_ring_events_total{cpu="3"} [0-9]' metrics
	grep -q '^kmes_source_info{source="sim",version="[0-9.]*"} 1$' metrics ||
		grep -q '^kmes_source_info{source="dev"' metrics
}

@test "stat: --textfile replaces the file whole, 0644, and a kill leaves nothing behind" {
	local i
	rings_start --slots=1
	umask 077
	mkdir dir
	run -0 kmes-stat --textfile=dir/kmes.prom 0.05 3
	assert_output ""
	assert_equal "$(stat -c %a dir/kmes.prom)" 644
	grep -q '^kmes_ring_generation{cpu="0"} 1$' dir/kmes.prom
	for ((i = 0; i < 20; i++)); do
		background stat kmes-stat --textfile=dir/kmes.prom 0.001
		sleep 0.0$((RANDOM % 9 + 1))
		kill -KILL $!
		wait $! || true
	done
	assert_equal "$(tail -n 1 dir/kmes.prom | cut -d'{' -f1 | cut -c1-5)" kmes_
	# At most what was caught between its name and its rename.
	(($(find dir -type f | wc -l) <= 2))
	run --separate-stderr kmes-stat --textfile=none/kmes.prom 0.1 1
	assert_status 1
	assert_match "$stderr" 'none/kmes.prom'
}

@test "stat: -y on a thousand types, busiest first" {
	local i
	rings_start --capacity=1M --slots=1 --exempt
	for ((i = 0; i < 1000; i++)); do echo "{\"type\":\"type.$i\",\"payload\":{}}"; done >lines
	kmes-emit -i lines
	kmes-emit -n 5 -t type.77
	kmes-emit -t $'evil\e[31m'
	run -0 kmes-stat -yj
	assert_equal "$(jq -c '[(.types|length),.types[0].type,.types[0].events]' <<<"$output")" '[1001,"type.77",6]'
	assert_equal "$(jq '[.types[].events]|add' <<<"$output")" "$(jq .totals.events <<<"$output")"
	assert_equal "$(jq '[.types[].bytes]|add' <<<"$output")" "$(jq .totals.used_bytes <<<"$output")"
	run -0 kmes-stat -y
	[[ $output != *$'\e'* ]]
	assert_match "$output" 'evil\\x1[bB]\[31m'
}

@test "stat: it does not disturb: need_wake and a sleeper's wait stay as they are [C3]" {
	rings_start --slots=1
	background follow kmes-dump -N
	wait_until 5 waits_is true
	background stat kmes-stat -j 0.1 20
	end_of $! 30
	jq -s -e 'map(.rings[0].wakeups)|max == min' stat.out
	waits_is true
	kmes-emit -t after
	wait_for_line follow.out 'after'
	# Without a sleeper nothing ever sets it.
	kill -TERM "${KMES_PIDS[1]}"
	end_of "${KMES_PIDS[1]}"
}
waits_is() { [[ $(kmes-stat -j | jq .rings[0].waiting) == "$1" ]]; }

@test "stat: a reader that goes away ends it quietly" {
	rings_start
	run --separate-stderr bash -c 'set -o pipefail; kmes-stat 0.1 | head -n 1'
	assert_status 0
	assert_equal "$stderr" ""
	run --separate-stderr bash -c 'kmes-stat >/dev/full'
	assert_status 1
	assert_match "$stderr" 'No space left'
}

# ---- the screen ----

screen_start() { # WIDTH HEIGHT
	TMUX_TMPDIR=$KMES_TMP tmux -f /dev/null new-session -d -x "$1" -y "$2" \
		"stty sane; env KMES_SOURCE=$KMES_SOURCE PATH=$PATH kmes-stat -W 0.2; echo status \$?; stty -a | tr ' ' '\n' | grep -c '^icanon\|^echo;\?$'; sleep 60"
}
screen() { TMUX_TMPDIR=$KMES_TMP tmux capture-pane -p; }
keys() { TMUX_TMPDIR=$KMES_TMP tmux send-keys "$@"; }
screen_has() { screen | grep -q -- "$1"; }
screen_end() { TMUX_TMPDIR=$KMES_TMP tmux kill-server || true; }

@test "stat: -W at three sizes, resized while it runs, left by q" {
	local size
	command -v tmux >/dev/null || skip "tmux is not installed"
	rings_start --slots=4 --load=1000
	for size in "80 24" "40 10" "200 60"; do
		# shellcheck disable=SC2086
		screen_start $size
		wait_until 10 screen_has 'total'
		screen_has '^ *3 .*%'
		screen_has 'EV/S'
		TMUX_TMPDIR=$KMES_TMP tmux resize-window -x 60 -y 15
		wait_until 10 screen_has 'total'
		keys q
		wait_until 10 screen_has 'status 0'
		# The terminal is as it was: canonical, with echo.
		wait_until 10 screen_has '^2$'
		screen_end
	done
}

@test "stat: -W restores the terminal on ^C and on SIGTERM" {
	command -v tmux >/dev/null || skip "tmux is not installed"
	rings_start --slots=1
	screen_start 80 24
	wait_until 10 screen_has 'total'
	keys C-c
	wait_until 10 screen_has 'status 0'
	wait_until 10 screen_has '^2$'
	screen_end
	screen_start 80 24
	wait_until 10 screen_has 'total'
	pkill -TERM -f "kmes-stat -W 0.2\$" || true
	wait_until 10 screen_has 'status 0'
	wait_until 10 screen_has '^2$'
	screen_end
}

@test "stat: -W scrolls 256 rings" {
	command -v tmux >/dev/null || skip "tmux is not installed"
	rings_start --slots=256 --capacity=64K
	screen_start 80 24
	wait_until 10 screen_has '^ *0 '
	keys End
	wait_until 10 screen_has '^ *255 '
	run screen_has '^ *0 '
	assert_status 1
	keys Home
	wait_until 10 screen_has '^ *0 '
	keys NPage
	wait_until 10 screen_has '^ *25 '
	keys q
	screen_end
}

@test "stat: -W needs a terminal, and says so" {
	rings_start
	run --separate-stderr env TERM=none kmes-stat -W
	assert_status 1
	assert_match "$stderr" 'terminal'
}
