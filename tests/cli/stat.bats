#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-stat: exact rows, intervals, output formats, the screen.

load helper

STEPCLOCK=$KMES_TOP/build/tests/preload/stepclock.so
PROMTOOL=${PROMTOOL:-$KMES_TOP/build/tools/bin/promtool}

# rows_add_up: checks the identity of each row, and that no counter is negative or huge. Only
# with native calls, which have no counters, may a value be unknown.
rows_add_up() {
	jq -e --arg source "$KMES_SOURCE" '[.rings[], .totals]
		| all([.total, .overwritten, .events, .dropped]
			| if index(null) then $source == "native" else .[0] == (.[1:] | add) end)
		and all(.[]|numbers; . >= 0 and . < 1e15)' >/dev/null
}

# ends_with FILTER: ends the one in the background two samples after jq's FILTER of all
# samples becomes true.
ends_with() {
	wait_until 20 jq -s -e "$1" stat.out
	wait_for_lines stat.out $(($(wc -l <stat.out) + 2))
	kill "${KMES_PIDS[-1]}"
	end_of "${KMES_PIDS[-1]}" 20
	jq -s -e "$1" stat.out >/dev/null
}

@test "stat: a million events, ten resizes, laps and drops: rows are the source's counters" {
	local size
	simulator_only "needs the simulator's drops"
	rings_start --capacity=256K --slots=2 --exempt --testing
	for size in 64K 1M 128K 2M 64K 256K 512K 64K 1M 64K; do
		kmes-emit -c 0 -n 80000 -B 256 -t stat.test n:=1
		kmes-emit -c 1 -n 20000 -B 256 -t stat.test n:=1
		kmes-sim --socket="$KMES_TMP/sock" --test=drop=1,7
		kmes-resize $size >/dev/null
	done
	run -0 kmes-stat -j
	rows_add_up <<<"$output"
	# At each of ten resizes as many, 7 drops, and the event about the resize on some CPU.
	assert_equal "$(jq -c '[.totals.total,.totals.dropped]' <<<"$output")" '[1000080,70]'
	# Row by row the simulator's counters, and its rings' content.
	echo "$output" >stat.json
	run python '
import json
c = Client(sys.argv[1])
for row in json.load(open("stat.json"))["rings"]:
    counted, events = c.counters(row["cpu"]), c.events(row["cpu"])
    assert row["total"] == counted["emitted"] + counted["dropped"], (row, counted)
    assert row["events"] == len(events) == counted["emitted"] - counted["overwritten"]
    assert row["overwritten"] == counted["overwritten"] > 150000
    assert row["dropped"] == counted["dropped"]
    assert row["wakeups"] == counted["wakes"]
    assert row["used_bytes"] == sum(e[0][0] for e in events)
    assert row["generation"] == 11
' "$KMES_TMP/sock"
	assert_status 0
}

@test "stat: three laps of a ring, to the event" {
	rings_start --capacity=64K --slots=1 --exempt
	kmes-emit -n 3000 -B 256 -t stat.laps n:=1
	run -0 kmes-stat -j
	rows_add_up <<<"$output"
	assert_equal "$(jq .rings[0].total <<<"$output")" 3000
	assert_equal "$(jq .rings[0].events <<<"$output")" "$(kmes-dump -sq | wc -l)"
	assert_equal "$(jq .rings[0].overwritten <<<"$output")" $(($(kmes-dump -sqj | head -n 1 | jq .seq) - 1))
}

@test "stat: rows add up while the rings overflow" {
	local flood i
	rings_start --capacity=64K --slots=1 --exempt
	flood_start
	flood=$!
	wait_until 5 kmes-emit -t warm
	for ((i = 0; i < 40; i++)); do
		kmes-stat -j >one
		rows_add_up <one
	done
	kill -KILL $flood
}

@test "stat: values from the ring alone are exact, and the rest is unknown" {
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
	# Gaps leave the ring again, so this is not a counter.
	[[ $output != *dropped* ]]
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

@test "stat: a resize between samples marks the row, and all values are correct" {
	rings_start --capacity=64K --slots=2 --load=2000
	background stat kmes-stat -j 0.3
	wait_for_lines stat.out 2
	kmes-resize 1M >/dev/null
	ends_with 'map(.rings[0].reset) | index(true)'
	while read -r line; do rows_add_up <<<"$line"; done <stat.out
	jq -s -e --arg source "$KMES_SOURCE" 'all(.[1:][].rings[0].events_per_second;
		if . == null then $source == "native" else . >= 0 and . < 1e6 end)' stat.out
}

@test "stat: a restarted source marks the row" {
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

@test "stat: a source that does not restart ends it" {
	simulator_only "the module cannot end"
	rings_start
	background stat kmes-stat 0.3
	wait_for_lines stat.out 1
	sim_stop
	end_of "${KMES_PIDS[1]}"
	assert_status 0
	assert_match "$(cat stat.err)" 'source ended'
}

@test "stat: a source that ends while its rings are replaced has ended" {
	simulator_only "needs prepared rings"
	load prepared
	empty_ring 0
	live_start
	background stat kmes-stat 0.1
	wait_for_lines stat.out 3
	echo '{"cpu": 0, "gone": true}' >&"$LIVE_FD"
	end_of $!
	assert_status 0
	assert_equal "$(cat stat.err)" "kmes-stat: source ended"
}

@test "stat: the interval survives a wall clock step and a hundred SIGWINCHs" {
	local i pid
	preload_only
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
	# Intervals follow the monotonic clock: none includes the hour, and they add up.
	jq -s -e 'all(.[1:][]; .interval > 0 and .interval < 60) and (map(.interval // 0)|add) > 1.5' stat.out
	# The step did happen.
	jq -s -e '[.[].time|.[0:19]+"Z"|fromdateiso8601]|.[-1] - .[0] > 3500' stat.out
}

@test "stat: usage errors" {
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

@test "stat: a CPU without events has its row from the start" {
	rings_start --slots=2
	background stat kmes-stat -j 0.3
	wait_for_lines stat.out 1
	kmes-emit -c 1 -t late
	ends_with 'map(.rings[1].total) | .[0] == 0 and .[-1] == 1'
}

@test "stat: slots with holes are named by CPU, -c selects, one without a ring is named" {
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

@test "stat: promtool accepts -P" {
	[[ -x $PROMTOOL ]] || PROMTOOL=$(command -v promtool) || skip "promtool is not installed"
	rings_start --slots=4 --load=1000
	kmes-stat -P >metrics
	run "$PROMTOOL" check metrics <metrics
	assert_output ""
	assert_status 0
	grep -q '^kmes_ring_events_total{cpu="3"} [0-9]' metrics
	grep -q '^kmes_source_info{source="sim",version="[0-9.]*"} 1$' metrics ||
		grep -q '^kmes_source_info{source="dev"' metrics
}

@test "stat: --textfile replaces the file atomically, 0644" {
	simulator_only "the guest has no python"
	rings_start --slots=1
	umask 077
	mkdir dir
	run -0 kmes-stat --textfile=dir/kmes.prom 0.05 3
	assert_output ""
	assert_equal "$(stat -c %a dir/kmes.prom)" 644
	grep -q '^kmes_ring_generation{cpu="0"} 1$' dir/kmes.prom
	background stat kmes-stat --textfile=dir/kmes.prom 0.001
	# A concurrent reader never sees a partial file.
	run python '
whole, inodes = open("dir/kmes.prom").read(), set()
names = [line.split(" ")[0] for line in whole.splitlines()]
end = time.monotonic() + 1
while time.monotonic() < end or len(inodes) < 5:
    with open("dir/kmes.prom") as f:
        text = f.read()
        inodes.add(os.fstat(f.fileno()).st_ino)
    assert text.endswith("\n")
    assert [line.split(" ")[0] for line in text.splitlines()] == names
'
	assert_status 0
	kill -TERM $!
	end_of $!
	assert_status 0
	assert_equal "$(ls -A dir)" kmes.prom
}

@test "stat: monotonic metrics do not decrease while the source stalls" {
	local counters='^kmes_ring_[a-z_]*_total'

	simulator_only "the module does not stall"
	rings_start --slots=1 --capacity=64K --testing
	kmes-emit -n 2000 -t a
	kmes-sim --socket=sock --test=drop=0,50
	kmes-emit -n 1 -t a
	kmes-sim --socket=sock --test=drop=0,20
	background stat kmes-stat --textfile=kmes.prom 0.2
	wait_until 10 grep -qx 'kmes_ring_events_total{cpu="0"} 2071' kmes.prom
	grep "$counters" kmes.prom >before
	kill -STOP "$SIM_PID"
	wait_until 15 eval '[ -s kmes.prom ] && ! grep -q wakeups kmes.prom'
	run -0 grep "$counters" kmes.prom
	assert_output 'kmes_ring_events_total{cpu="0"} 2071'
	kill -CONT "$SIM_PID"
	wait_until 15 grep -q wakeups kmes.prom
	run -0 grep "$counters" kmes.prom
	assert_output "$(cat before)"
}

@test "stat: --textfile leaves nothing behind after a kill" {
	local i dead name
	rings_start --slots=1
	mkdir dir
	for ((i = 0; i < 20; i++)); do
		background stat kmes-stat --textfile=dir/kmes.prom 0.001
		sleep 0.0$((RANDOM % 9 + 1))
		kill -KILL $!
		wait $! || true
	done
	# A leftover of a run killed before the rename; other files are not touched.
	true &
	dead=$(printf %06x $!)
	wait $!
	name=$(printf '.kmes.prom.%06x' $$)
	touch "dir/.kmes.prom.$dead" "dir/.other.prom.$dead" "dir/.kmes.prom.${dead}0" "dir/$name" \
		dir/.kmes.prom.abcxyz
	kmes-stat --textfile=dir/kmes.prom 0.01 2
	assert_equal "$(ls -A dir | sort | paste -sd' ')" "$(printf '%s\n' "$name" ".kmes.prom.${dead}0" \
		.kmes.prom.abcxyz ".other.prom.$dead" kmes.prom | sort | paste -sd' ')"
}

@test "stat: --textfile replaces files and links, and nothing else" {
	local text
	rings_start --slots=1
	echo mine >target
	ln -s target link
	kmes-stat --textfile=link 0.01 1
	assert_equal "$(cat target)" mine
	[[ -f link && ! -L link ]]
	mkfifo fifo
	mkdir folder
	mknod null c 1 3 || skip "mknod needs more privileges"
	for text in fifo folder null; do
		run --separate-stderr timeout 5 kmes-stat --textfile=$text 0.01 1
		assert_status 1
		assert_equal "$stderr" "kmes-stat: $text exists and is not a file"
	done
	[[ -p fifo && -c null ]]
	for text in "" - folder/; do
		run --separate-stderr timeout 5 kmes-stat --textfile="$text" 0.01 1
		assert_usage_error "--textfile: .*: '$text'\$"
	done
	run --separate-stderr kmes-stat --textfile=none/kmes.prom 0.1 1
	assert_status 1
	assert_match "$stderr" 'none/kmes.prom'
}

@test "stat: --textfile is written without /proc, too" {
	[[ $KMES_BIN != */asan/* ]] || skip "the sanitizer needs /proc itself"
	rings_start --slots=1
	unshare -m true || skip "no mount namespaces"
	mkdir dir
	run -0 unshare -m sh -c 'mount -t tmpfs none /proc && exec kmes-stat --textfile=dir/kmes.prom 0.01 2'
	assert_output ""
	grep -q '^kmes_ring_generation{cpu="0"} 1$' dir/kmes.prom
	assert_equal "$(ls -A dir)" kmes.prom
}

@test "stat: --textfile on a full disk keeps the old file, and reports it" {
	rings_start --slots=1
	mkdir small
	mount -t tmpfs -o size=4k none small || skip "mount needs more privileges"
	echo old >small/kmes.prom
	run --separate-stderr kmes-stat --textfile=small/kmes.prom 0.01 2
	cp small/kmes.prom kept
	ls -A small >names
	umount small
	assert_status 1
	assert_equal "$stderr" "kmes-stat: small/kmes.prom: No space left on device"
	assert_equal "$(cat kept)" old
	assert_equal "$(cat names)" kmes.prom
}

@test "stat: -y with a thousand types, busiest first" {
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

@test "stat: -y distinguishes types, as kmes-dump prints them" {
	local type long

	rings_start --slots=1
	long=$(printf '%02000d' 0)
	for type in 'a\nb' $'a\nb' 'a b' 'a\x20b' "${long}1" "${long}2"; do
		kmes-emit -t "$type"
	done
	kmes-dump -sq -T none | awk '{ print $4 }' | sort >printed
	assert_equal "$(sort -u printed | wc -l)" 6
	run -0 kmes-stat -y
	assert_equal "$(awk 'NF == 3 && $1 == 1 { print $3 }' <<<"$output" | sort)" "$(cat printed)"
}

@test "stat: it does not interfere with sleepers [C3]" {
	simulator_only "reads the simulator's pages"
	rings_start --slots=1
	background stat kmes-stat -j 0.1
	# Without a sleeper need_wake keeps its value.
	run python '
page = Client(sys.argv[1]).consumer_page(0)
for value in 0, 1, 7, 0:
    page[0] = value
    for i in range(150):
        assert page[:4096] == bytes([value]) + bytes(4095)
        time.sleep(0.002)
' "$KMES_TMP/sock"
	assert_status 0
	# A sleeper: each event wakes it, once, and is seen as fast as without kmes-stat.
	background follow kmes-dump -q -N -T none
	run python '
c = Client(sys.argv[1])
page, late, before = c.consumer_page(0), [], c.counters(0)["wakes"]
for i in range(30):
    deadline = time.monotonic() + 10
    while page[0] != 1:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    time.sleep(0.03)
    start = time.monotonic()
    assert c.emit([(b"t", b"\xc0")], cpu=0) == (0, 1)
    while open("follow.out").read().count("\n") <= i:
        assert time.monotonic() < start + 10
        time.sleep(0.001)
    late.append(time.monotonic() - start)
print(sorted(late))
assert c.counters(0)["wakes"] - before == 30
# A lost wake would only be noticed by the bound of sleeps, 100 ms later.
assert sorted(late)[15] < 0.05
' "$KMES_TMP/sock"
	assert_status 0
	kill -TERM "${KMES_PIDS[1]}"
	end_of "${KMES_PIDS[1]}"
	(($(wc -l <stat.out) > 10))
}

@test "stat: a closed pipe ends it silently" {
	rings_start
	run --separate-stderr bash -c 'set -o pipefail; kmes-stat 0.1 | head -n 1'
	assert_status 0
	assert_equal "$stderr" ""
	run --separate-stderr bash -c 'kmes-stat >/dev/full'
	assert_status 1
	assert_match "$stderr" 'No space left'
}

# ---- the screen ----

screen_start() { # WIDTH HEIGHT [INTERVAL]
	cat >screen.sh <<-END
		stty sane
		sh -c 'echo \$\$ >screen.pid; exec kmes-stat -W ${3:-0.2}'
		echo "status \$?"
		stty -a | tr ' ' '\n' | grep -c '^icanon\|^echo;\?\$'
		sleep 60
	END
	# A server that is exiting accepts no client.
	wait_until 10 env TMUX_TMPDIR="$KMES_TMP" tmux -f /dev/null new-session -d -x "$1" -y "$2" \
		"env KMES_SOURCE=$KMES_SOURCE PATH=$PATH bash screen.sh"
}
screen() { TMUX_TMPDIR=$KMES_TMP tmux capture-pane -p; }
keys() { TMUX_TMPDIR=$KMES_TMP tmux send-keys "$@"; }
screen_has() { screen | grep -q -- "$1"; }
screen_line_has() { screen | sed -n "$1p" | grep -q -- "$2"; }
screen_end() { TMUX_TMPDIR=$KMES_TMP tmux kill-server || true; }
# It has exited with this status, and the terminal is restored: canonical, with echo.
screen_was_left() {
	wait_until 10 screen_has "status $1" && wait_until 10 screen_has '^2$' &&
		! screen_has 'total'
}

@test "stat: -W at three sizes, resized while it runs, quit by q" {
	local size width height
	command -v tmux >/dev/null || skip "tmux is not installed"
	rings_start --slots=4 --load=1000
	for size in "80 24" "40 10" "200 60"; do
		read -r width height <<<"$size"
		screen_start "$width" "$height"
		# Header, rings, and at the bottom the totals above the keys.
		wait_until 10 screen_line_has $((height - 1)) '^total'
		screen_line_has "$height" '^q quit'
		screen_line_has 2 'CPU .*USED.*EV/S.*REACH.*LOST *$'
		screen_line_has 3 '^ *0 .*% .*[0-9]'
		screen_line_has 6 '^ *3 .*%'
		if ((width > 40)); then
			screen_line_has 3 '\[[ #]*\]'
		fi
		TMUX_TMPDIR=$KMES_TMP tmux resize-window -x 60 -y 15
		wait_until 10 screen_line_has 14 '^total'
		wait_until 10 screen_line_has 15 '^q quit'
		wait_until 10 screen_line_has 3 '\[[ #]*\]'
		keys q
		screen_was_left 0
		screen_end
	done
}

@test "stat: -W restores the terminal on ^C and on SIGTERM" {
	local way
	command -v tmux >/dev/null || skip "tmux is not installed"
	rings_start --slots=1
	for way in key signal; do
		screen_start 80 24
		wait_until 10 screen_has 'total'
		if [[ $way == key ]]; then
			keys C-c
		else
			kill -TERM "$(cat screen.pid)"
		fi
		screen_was_left 0
		screen_end
	done
}

@test "stat: -W is quit by q also if samples are faster than the screen" {
	command -v tmux >/dev/null || skip "tmux is not installed"
	rings_start --slots=1
	screen_start 80 24 0.000000001
	wait_until 10 screen_has 'total'
	keys q
	screen_was_left 0
	screen_end
}

@test "stat: -W ends with its terminal, also where SIGHUP is ignored" {
	simulator_only "the guest has no python"
	rings_start --slots=1
	run -0 python '
import pty, subprocess
ours, theirs = pty.openpty()
tool = subprocess.Popen(["env", "--ignore-signal=HUP", "TERM=xterm", "kmes-stat", "-W"],
                        stdin=theirs, stdout=theirs, stderr=subprocess.PIPE)
os.close(theirs)
shown = b""
while b"total" not in shown:
    shown += os.read(ours, 65536)
os.close(ours)
try:
    print(tool.wait(20), tool.stderr.read())
finally:
    tool.kill()
'
	assert_output "0 b''"
}

@test "stat: -W scrolls 256 rings" {
	command -v tmux >/dev/null || skip "tmux is not installed"
	rings_start --slots=256 --capacity=64K
	screen_start 80 24
	wait_until 10 screen_line_has 3 '^ *0 '
	keys End
	wait_until 10 screen_line_has 22 '^ *255 '
	screen_line_has 3 '^ *236 '
	keys Home
	wait_until 10 screen_line_has 3 '^ *0 '
	keys NPage
	wait_until 10 screen_line_has 3 '^ *20 '
	keys Up
	wait_until 10 screen_line_has 3 '^ *19 '
	keys Down Down
	wait_until 10 screen_line_has 3 '^ *21 '
	keys PPage
	wait_until 10 screen_line_has 3 '^ *1 '
	keys q
	screen_was_left 0
	screen_end
}

@test "stat: -W follows a restarted source, and ends if it does not restart" {
	command -v tmux >/dev/null || skip "tmux is not installed"
	simulator_only "the module cannot be unloaded while it is looked at"
	rings_start --slots=8
	screen_start 80 24
	wait_until 10 screen_line_has 10 '^ *7 '
	# While it is stopped, so that it takes no sample in between.
	kill -STOP "$(cat screen.pid)"
	sim_stop
	rings_start --slots=3
	kill -CONT "$(cat screen.pid)"
	wait_until 10 screen_line_has 1 '3 rings'
	wait_until 10 screen_line_has 5 '^ *2 '
	sim_stop
	wait_until 10 screen_has '^kmes-stat: source ended'
	screen_was_left 0
	screen_end
}

@test "stat: -W survives terminals of any size" {
	local size
	command -v python3 >/dev/null || skip "python3 is not installed"
	rings_start --slots=4
	for size in "1 1" "1 200" "200 1" "2 2" "4 5" "3 34"; do
		read -r rows columns <<<"$size"
		run timeout 20 env TERM=xterm python3 -c '
import fcntl, os, pty, select, struct, sys, termios, time
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", int(sys.argv[1]), int(sys.argv[2]), 0, 0))
    os.execvp("kmes-stat", ["kmes-stat", "-W", "0.05"])
os.read(fd, 65536)
for key in b"", b"\x1b[B", b" ", b"\x1b[A":
    os.write(fd, key)
    end = time.monotonic() + 0.1
    while time.monotonic() < end and select.select([fd], [], [], 0.02)[0]:
        os.read(fd, 65536)
assert os.waitpid(pid, os.WNOHANG) == (0, 0)
os.write(fd, b"q")
try:
    while os.read(fd, 65536):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
' "$rows" "$columns"
		assert_status 0
	done
}

@test "stat: -W requires a terminal as stdin and stdout" {
	command -v script >/dev/null || skip "script(1) is not installed"
	rings_start
	run --separate-stderr env TERM=none kmes-stat -W
	assert_status 1
	assert_equal "$stderr" "kmes-stat: --watch needs a terminal (see TERM)"
	# Without keys, and without a visible screen.
	run -0 script -qec 'env TERM=xterm timeout 5 kmes-stat -W </dev/null; echo "status $?"' /dev/null
	assert_match "$output" 'needs a terminal.*status 1'
	run -0 script -qec 'env TERM=xterm timeout 5 kmes-stat -W >file; echo "status $?"' /dev/null
	assert_match "$output" 'needs a terminal.*status 1'
	[[ ! -s file ]]
}

@test "stat: a corrupt ring costs its own values alone and is reported once, at its position" {
	load prepared
	event 0 1 1795983682000000000 app.one
	event 1 1 1795983682000000000 app.two
	echo '{"cpu": 1, "raw": "ffffffffffffffffffffffffffffffff"}' >>"$KMES_TMP/events"
	prepared_start
	run -0 --separate-stderr kmes-stat -j -y
	assert_equal "$(jq -c '[.rings[] | .cpu, .events, .capacity_bytes]' <<<"$output")" '[0,1,1048576,1,null,1048576]'
	assert_match "$stderr" '^kmes-stat: cpu1: not an event at position [1-9][0-9]*; its events are not counted$'
	run -0 --separate-stderr kmes-stat -P
	assert_match "$output" 'kmes_ring_buffered_events\{cpu="0"\} 1'
	run -0 --separate-stderr kmes-stat 0.01 3
	assert_equal "${#stderr_lines[@]}" 1
	run -0 --separate-stderr kmes-stat --textfile=m.prom 0.01 1
	grep -q 'kmes_ring_buffered_events{cpu="0"} 1' m.prom
}
