#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-wait: conditions, timeouts, COMMAND and its signals.

load helper

STEPCLOCK=$KMES_TOP/build/tests/preload/stepclock.so

now_ms() { echo $(($(date +%s%N) / 1000000)); }

@test "wait: an event that COMMAND causes is never missed" {
	local i runs=1000
	rings_start --exempt
	# An emulated machine takes ten times longer.
	! over_module || runs=50
	for ((i = 0; i < runs; i++)); do
		timeout 10 kmes-wait -q -t app.ready sh -c 'exec kmes-emit -t app.ready' || {
			echo "run $i: status $?"
			return 1
		}
	done
}

@test "wait: prints the condition that was met, in each format" {
	rings_start
	run -0 kmes-wait -T none -t a.b sh -c 'kmes-emit -t other; kmes-emit -t a.b k=v'
	assert_match "$output" '^cpu[0-9]+  #[0-9]+  USR  a\.b  \{k: "v"\}$'
	run -0 kmes-wait -j -t a.b sh -c 'kmes-emit -t a.b k=v'
	assert_equal "$(jq -c '[.type,.payload]' <<<"$output")" '["a.b",{"k":"v"}]'
	run -0 kmes-wait -q -t a.b sh -c 'kmes-emit -t a.b k=v'
	assert_output ""
	run -0 kmes-wait -T none -n 3 -t 'a.*' -m 'k>1' -- sh -c \
		'for i in 1 2 3 4 5; do kmes-emit -t a.b k:=$i; done'
	assert_equal "$(grep -o '{.*' <<<"$output" | tr '\n' ' ')" '{k: 2} {k: 3} {k: 4} '
}

@test "wait: --resize, --loss and --idle-for" {
	rings_start --capacity=64K --slots=1 --exempt
	run -0 kmes-wait --resize sh -c 'kmes-resize 128K >/dev/null'
	assert_output "--- cpu0: resized 65536 -> 131072, generation 1 -> 2 ---"
	run -0 kmes-wait --idle-for=0.2
	assert_output "--- no event for 0.200000000 s ---"
	# Events end the idle time, except those that the filter excludes.
	background noise kmes-emit -t noise -n 100000 -R 50
	run -124 kmes-wait -q --timeout=1.5 --idle-for=0.5
	run -0 kmes-wait -q --timeout=20 --idle-for=0.5 -t "!noise"
}

@test "wait: --loss reports the first loss" {
	simulator_only "needs the simulator's drops"
	rings_start --testing --slots=1
	run -0 kmes-wait --loss --timeout=10 sh -c \
		"kmes-emit -t a; kmes-sim --socket=$KMES_TMP/sock --test=drop=0,3; kmes-emit -t a"
	assert_output "--- cpu0: lost 3 events (#2-#4) ---"
}

@test "wait: the first condition wins" {
	rings_start
	run -0 kmes-wait -T none --resize --idle-for=30 -t a sh -c 'kmes-emit -t a'
	assert_match "$output" '  a  \{\}$'
	run -0 kmes-wait --resize --idle-for=0.1 -t a
	assert_output "--- no event for 0.100000000 s ---"
}

@test "wait: --surviving includes events in the rings, otherwise from now on" {
	rings_start
	kmes-emit -t old
	run --separate-stderr kmes-wait --timeout=0 -t old
	assert_status 124
	run -0 kmes-wait --timeout=0 --surviving -T none -t old
	assert_match "$output" '  old  \{\}$'
}

@test "wait: events that do not match do not extend a timeout" {
	simulator_only "an emulated machine is slower than that"
	local start took=0 try limit=2100
	rings_start --exempt
	# There the time includes starting a shell and kmes-run.
	! over_native_calls || limit=4500
	background noise kmes-emit -t noise -n 1000000 -R 100
	# A busy machine may be late sometimes, an extended timeout always is.
	for try in 1 2 3 4 5; do
		start=$(now_ms)
		run -124 kmes-wait -q --timeout=2s -t never
		took=$(($(now_ms) - start))
		echo "try $try: $took ms"
		((took >= 2000 && took < 10000))
		((took > limit)) || break
	done
	((took <= limit))
}

@test "wait: a flood that does not match ends at the timeout, too" {
	rings_start --load=100000
	run -124 timeout 20 kmes-wait -q --timeout=1s -t never
}

@test "wait: a wall clock step does not change a timeout" {
	local start end toucher
	preload_only
	rings_start
	(sleep 0.3 && touch stepped) 3>&- &
	toucher=$!
	start=$(now_ms)
	run -124 env STEP_FILE="$KMES_TMP/stepped" LD_PRELOAD="$STEPCLOCK" kmes-wait -q --timeout=1s
	end=$(now_ms)
	wait $toucher
	((end - start >= 1000 && end - start < 6000))
	# The step did happen: an hour ahead no old event is within the last minutes.
	kmes-emit -t x
	run -0 env STEP_FILE="$KMES_TMP/stepped" LD_PRELOAD="$STEPCLOCK" kmes-dump -sq -a 50m
	assert_output ""
	run -0 kmes-dump -sq -a 50m
	assert_match "$output" ' x '
}

is_stopped() { [[ $(sed 's/.*) //' "/proc/$1/stat") == T* ]]; }

@test "wait: an event without a wake is found by the last check before a timeout" {
	local at
	preload_only
	simulator_only "needs prepared rings"
	load prepared
	empty_ring 0
	empty_ring 1
	live_start
	# At any point of its loop when the timeout passes and the event arrives, unwoken: also
	# between finding the rings empty and checking the time.
	for at in 1 2 3 4 5; do
		rm -f stop
		background waiting env STOP_FILE="$KMES_TMP/stop" STOP_AT=$at \
			LD_PRELOAD="$KMES_TOP/build/tests/preload/stopclock.so" \
			kmes-wait -T none --timeout=1 -t late
		sleep 0.3
		touch stop
		wait_until 5 is_stopped $!
		event 1 $at 179598368200000000$at late
		sleep 1
		kill -CONT $!
		end_of $!
		assert_status 0
		assert_equal "$(cat waiting.out)" "cpu1  #$at  USR  late  {}"
	done
	exec {LIVE_FD}>&-
}

@test "wait: timeouts, valid and invalid" {
	local text
	rings_start
	for text in 0 0.0001 10ms 0.01s; do
		run --separate-stderr kmes-wait -q --timeout="$text"
		assert_status 124
		assert_equal "$stderr" ""
	done
	for text in 1e20 inf nan none -1 5x ""; do
		run --separate-stderr kmes-wait --timeout="$text"
		assert_usage_error "--timeout: .*'$text'"
		run --separate-stderr kmes-wait --idle-for="$text"
		assert_usage_error "--idle-for: .*'$text'"
	done
}

@test "wait: exit codes of COMMAND" {
	rings_start
	run --separate-stderr kmes-wait sh -c 'exit 7'
	assert_status 3
	assert_equal "$stderr" "kmes-wait: sh exited with status 7 first"
	run --separate-stderr kmes-wait sh -c 'kill -9 $$'
	assert_status 3
	assert_equal "$stderr" "kmes-wait: sh was killed by signal 9 first"
	run --separate-stderr -127 kmes-wait "$KMES_TMP/none"
	run --separate-stderr -126 kmes-wait /etc/passwd
	# It succeeded, which is not a condition.
	run -124 kmes-wait -q --timeout=0.3 true
	# The event before a failure counts.
	run -0 kmes-wait -q -t a sh -c 'kmes-emit -t a; exit 1'
}

@test "wait: on timeout COMMAND is left running, and its pid is printed" {
	rings_start
	run --separate-stderr kmes-wait --timeout=0.2 sh -c 'exec sleep 100 >/dev/null 2>&1 3>&-'
	assert_status 124
	assert_match "$stderr" '^kmes-wait: timed out; sh still runs as process ([0-9]+)$'
	kill "${BASH_REMATCH[1]}"
}

@test "wait: the end of COMMAND is noticed also if SIGCHLD is blocked or ignored" {
	local how

	rings_start
	for how in --block-signal=CHLD --ignore-signal=CHLD; do
		run --separate-stderr env "$how" kmes-wait --timeout=10 sh -c 'exit 7'
		assert_status 3
		assert_equal "$stderr" "kmes-wait: sh exited with status 7 first"
	done
}

@test "wait: COMMAND inherits the original signal dispositions" {
	rings_start
	local plain
	plain=$(env --default-signal --ignore-signal=HUP,PIPE grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status)
	run env --default-signal --ignore-signal=HUP,PIPE kmes-wait -q --timeout=0.5 grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status
	assert_equal "$output" "$plain"
	plain=$(env --default-signal grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status)
	run env --default-signal kmes-wait -q --timeout=0.5 grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status
	assert_equal "$output" "$plain"
}

group_is_gone() { ! pgrep -g "$1"; }

@test "wait: SIGINT is forwarded, and ends it by the signal so that a loop stops" {
	local loop name
	rings_start
	cat >child <<-'END'
		trap 'echo got; exit 0' INT
		echo started
		for i in {1..300}; do sleep 0.1; done
	END
	# To all of them, as from a terminal; a tool that exits 130 would not end the loop.
	background loop setsid bash -c 'while :; do echo round; kmes-wait bash ./child; done'
	loop=$!
	wait_for_line loop.out started
	kill -INT -- -$loop
	end_of $loop
	assert_status 130
	wait_for_line loop.out got
	assert_equal "$(grep -c round loop.out)" 1
	# To the tool only: it is forwarded.
	for name in INT TERM HUP; do
		sed "s/INT/$name/" child >other
		background one kmes-wait bash ./other
		wait_for_line one.out started
		kill -$name $!
		end_of $!
		assert_status $((128 + $(kill -l $name)))
		wait_for_line one.out got
	done
}

# calls_of FILE: the number of system calls counted by strace -c.
calls_of() { awk '$NF == "total" { print $4 }' "$1"; }

@test "wait: asleep it makes fewer than 30 system calls per second" {
	local calls start
	command -v strace >/dev/null || skip "strace is not installed"
	export ASAN_OPTIONS=detect_leaks=0 # no leak detection under strace
	rings_start --slots=8
	run -124 strace -f -c -o calls kmes-wait --timeout=4
	# A run without waiting measures the calls of startup.
	run -124 strace -f -c -o start kmes-wait --timeout=0
	calls=$(calls_of calls) start=$(calls_of start)
	echo "calls $calls start $start"
	((start > 0 && calls > start && calls - start < 120))
}

@test "wait: a source that ends first is a failure" {
	simulator_only "the module cannot end under a reader"
	rings_start
	background waiting kmes-wait
	sleep 0.3
	sim_stop
	end_of "${KMES_PIDS[1]}"
	assert_status 1
	assert_equal "$(cat waiting.err)" "kmes-wait: source ended"
}

@test "wait: help, version, usage errors, no source, no permission" {
	run -0 kmes-wait --version
	assert_match "$output" '^kmes-wait [0-9.]+$'
	run --separate-stderr kmes-wait --nope
	assert_usage_error "unknown option: '--nope'"
	run --separate-stderr kmes-wait -n 0
	assert_usage_error "'0'"
	run --separate-stderr kmes-wait -S "sim:$KMES_TMP/none" -- touch ran
	assert_status 1
	[[ ! -e ran ]]
	rings_start --deny=attach
	run --separate-stderr kmes-wait -- touch ran
	assert_status 1
	assert_match "$stderr" 'denies|ermission|permitted'
	[[ ! -e ran ]]
}

@test "wait: a CPU without a ring is named" {
	rings_start --slots=6 --holes=2,4
	run --separate-stderr kmes-wait -c 2
	assert_usage_error "'?2'?"
}
