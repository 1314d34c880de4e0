#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-resize: sizes, exact reports, refusals.

load helper

# emit_on CPU COUNT: events of one kind on one CPU.
emit_on() { kmes-emit -c "$1" -n "$2" -t resize.test "n:=1"; }

# report_matches FILE: each ring's counts add up.
report_adds_up() { jq -e 'all(.rings[]; .before == .kept + .lost and .before >= .kept)' "$1" >/dev/null; }

@test "resize: shows capacity, limits and generation" {
	rings_start --capacity=64K
	run -0 kmes-resize
	assert_equal "${lines[0]}" "capacity 65536, a power of two from 65536 to 268435456"
	assert_equal "${lines[1]}" "cpu0: capacity 65536, generation 1"
	run -0 kmes-resize -j
	assert_equal "$(jq -c '[.capacity,.min,.max,.rings[0]]' <<<"$output")" \
		'[65536,65536,268435456,{"cpu":0,"capacity":65536,"generation":1}]'
}

@test "resize: sizes are exact, or a usage error and nothing is sent [F1]" {
	local size text
	rings_start --capacity=64K --slots=1
	for text in 4M:4194304 4MiB:4194304 4096K:4194304 4m:4194304 65536:65536 268435456:268435456; do
		run -0 kmes-resize -jn "${text%:*}"
		assert_equal "$(jq .new <<<"$output")" "${text#*:}"
	done
	for size in 65535 268435457 1.5M -1 0x10000 1e6 "" 18446744073709551616 17179869185G 4kb 010; do
		run --separate-stderr kmes-resize -- "$size"
		assert_status 2
		assert_equal "$output" ""
		assert_match "${stderr_lines[0]}" "'${size//./\\.}'\$"
	done
	run -0 kmes-resize -j
	assert_equal "$(jq -c '[.capacity,.rings[0].generation]' <<<"$output")" '[65536,1]'
}

@test "resize: a size that is not a power of two names the rule and the two nearest" {
	rings_start --capacity=64K
	run --separate-stderr kmes-resize 100000
	assert_status 2
	assert_equal "${stderr_lines[0]}" \
		"kmes-resize: SIZE must be a power of two from 64K to 256M; the nearest are 65536 and 131072: '100000'"
}

@test "resize: the same size has no effect [F2]" {
	rings_start --capacity=64K
	run -0 kmes-resize 64K
	assert_output "already 65536"
	run -0 kmes-resize -j
	assert_equal "$(jq .rings[0].generation <<<"$output")" 1
}

@test "resize: growing keeps all events, shrinking the newest that fit [R9 R10]" {
	rings_start --capacity=256K --slots=1 --exempt
	emit_on 0 1000
	run -0 kmes-resize 1M
	assert_equal "${lines[0]}" "cpu0: 262144 -> 1048576, generation 1 -> 2, kept 1000 of 1000 events"
	# The event about the change follows it.
	assert_equal "$(kmes-dump -sq -t resize.test | wc -l)" 1000
	run -0 kmes-resize 64K
	assert_match "${lines[0]}" '^cpu0: 1048576 -> 65536, generation 2 -> 3, kept ([0-9]+) of 1001 events$'
	local kept=${BASH_REMATCH[1]}
	# The newest ones, except those that made room for the event about this change.
	local first=$((1002 - kept)) oldest
	oldest=$(kmes-dump -sqj | jq .seq | head -n 1)
	((oldest >= first && oldest <= first + 3))
	# One more would not have fitted.
	local used
	used=$(kmes-stat -j | jq .rings[0].used_bytes)
	((used <= 65536 && used > 65536 - 300))
}

@test "resize: --dry-run has no effect, and its forecast is correct" {
	rings_start --capacity=256K --slots=2 --exempt
	emit_on 0 1500
	emit_on 1 700
	run -0 kmes-resize -nj 64K
	local forecast=$output
	run -0 kmes-resize -n 64K
	assert_match "${lines[0]}" '^cpu0: 262144 -> 65536, would keep [0-9]+ of 1500 events$'
	assert_equal "$(kmes-resize -j | jq -c '[.capacity,.rings[0,1].generation]')" '[262144,1,1]'
	run -0 kmes-resize -j 64K
	assert_equal "$(jq -c '[.rings[]|[.before,.kept,.lost]]' <<<"$output")" \
		"$(jq -c '[.rings[]|[.before,.kept,.lost]]' <<<"$forecast")"
}

@test "resize: under load the report agrees with a follower [R9 R10]" {
	local size pid
	rings_start --capacity=1M --slots=2 --load=20000
	background follow kmes-dump -N -T none
	pid=$!
	wait_for_lines follow.out 10
	for size in 64K 4M 128K 1M 64K; do
		run -0 kmes-resize -j $size
		echo "$output" >>reports
	done
	sleep 0.5
	kill -TERM $pid
	end_of $pid
	report_adds_up reports
	# Each sequence once, or reported as lost.
	awk '/^--- cpu/ { lost[substr($2, 1, length($2) - 1)] += $4 }
		/^cpu/ {
			seq = substr($2, 2) + 0
			if (!($1 in last))
				first[$1] = seq
			else if (seq <= last[$1])
				bad = "twice: " $0
			last[$1] = seq
			count[$1]++
		}
		END {
			for (cpu in last)
				if (last[cpu] - first[cpu] + 1 != count[cpu] + lost[cpu])
					bad = cpu ": " first[cpu] " to " last[cpu] ", " count[cpu] " and " lost[cpu]
			print bad
			exit bad != "" || length(last) != 2
		}' follow.out
	jq -e -s 'map(.rings[0].generation) == [[1,2],[2,3],[3,4],[4,5],[5,6]]' reports
}

@test "resize: under load the counts agree with the frozen rings [R9 R10]" {
	simulator_only "reads the simulator's rings"
	rings_start --capacity=1M --slots=2 --load=20000
	sleep 0.3
	run python '
import json, subprocess
c = Client(sys.argv[1])
for size in 65536, 4194304, 131072, 1048576, 65536:
    old = [c.ring(cpu) for cpu in (0, 1)]
    text = subprocess.run(["kmes-resize", "-j", str(size)], stdout=-1, check=True).stdout
    rings = json.loads(text)["rings"]
    for cpu in (0, 1):
        events = events_of(old[cpu])
        total, kept = 0, 0
        for event in reversed(events):
            total += event[0][0]
            kept += total <= size
        r = rings[cpu]
        assert (r["before"], r["kept"], r["lost"]) == (len(events), kept, len(events) - kept), r
        assert r["before"] > 20 and (size > 65536 or r["lost"] > 0 or total <= size)
        # The new ring continues where the old one ends.
        new = c.counters(cpu)
        assert new["overwritten"] >= r["lost"]
    time.sleep(0.3)
' "$KMES_TMP/sock"
	assert_status 0
}

@test "resize: a refusal by the source has no effect" {
	[[ $(id -u) -eq 0 ]] || skip "needs root to change the user"
	simulator_only "the module has a test of its own"
	rings_start --capacity=64K --slots=2
	chmod 755 "$KMES_TMP"
	chmod 666 "$KMES_TMP/sock"
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups kmes-resize 4M
	assert_status 1
	assert_equal "$output" ""
	assert_equal "${#stderr_lines[@]}" 1
	assert_match "$stderr" '^kmes-resize: .*Operation not permitted.*denies'
	assert_equal "$(kmes-resize -j | jq -c '[.capacity,.rings[].generation]')" '[65536,1,1]'
}

@test "resize: a source without memory has no effect [F3]" {
	simulator_only "the module has a test of its own"
	rings_start --capacity=64K --slots=3 --testing
	kmes-sim --socket="$KMES_TMP/sock" --test=fail-resize=2
	run --separate-stderr kmes-resize 4M
	assert_status 1
	assert_match "$stderr" 'Cannot allocate memory'
	assert_equal "$output" ""
	assert_equal "$(kmes-resize -j | jq -c '[.capacity,.rings[].generation]')" '[65536,1,1,1]'
	run -0 kmes-resize 4M
}

@test "resize: help, version, usage errors, no source" {
	run -0 kmes-resize --version
	assert_match "$output" '^kmes-resize [0-9.]+$'
	run -0 kmes-resize --help
	run --separate-stderr kmes-resize --nope
	assert_usage_error "unknown option: '--nope'"
	run --separate-stderr kmes-resize 64K 128K
	assert_usage_error "'128K'"
	run --separate-stderr kmes-resize -n
	assert_usage_error "dry-run"
	run --separate-stderr kmes-resize -S "sim:$KMES_TMP/none" 64K
	assert_status 1
	assert_equal "${#stderr_lines[@]}" 1
	assert_match "$stderr" 'none'
}

@test "resize: a forecast for a ring that is constantly lapped is still a count" {
	local flood i
	rings_start --capacity=64K --slots=1 --exempt
	# Batches larger than the ring: its tail is sometimes ahead of its end.
	flood_start
	flood=$!
	wait_until 5 kmes-emit -t warm
	for ((i = 0; i < 60; i++)); do
		kmes-resize -nj 128K >forecast
		report_adds_up forecast
	done
	kill -KILL $flood
}

@test "resize: a concurrent change by another process does not block it" {
	local i
	command -v strace >/dev/null || skip "strace is not installed"
	simulator_only "delays requests to the simulator"
	export ASAN_OPTIONS=detect_leaks=0 # no leak detection under strace
	rings_start --capacity=1M --slots=1
	# Before each of its requests in turn, another process makes the same change.
	for i in 2 3 4 5; do
		kmes-resize 1M >/dev/null
		background slow strace -o /dev/null -e trace=sendmsg \
			-e "inject=sendmsg:delay_enter=1000000:when=$i" kmes-resize --timeout=2s 64K
		sleep 0.5
		kmes-resize 64K >/dev/null
		end_of $! 20
		assert_status 0
	done
}

@test "resize: a stalled simulator is given up, or left at once by a signal" {
	simulator_only "needs the simulator"
	rings_start --capacity=64K --slots=1
	kill -STOP "$SIM_PID"
	background one kmes-resize 1M
	sleep 0.5
	kill -INT $!
	end_of $! 2
	assert_status 130
	run --separate-stderr kmes-resize 1M
	assert_status 1
	assert_equal "$stderr" "kmes-resize: $KMES_TMP/sock: the simulator does not answer"
	kill -CONT "$SIM_PID"
	# The abandoned request was executed or not; the state is consistent in either case.
	run -0 kmes-resize -j
	jq -e '.capacity as $c | all(.rings[]; .capacity == $c)' <<<"$output"
	# So is it when it stalls while it is asked: strace holds the request back.
	if command -v strace >/dev/null; then
		background two strace -o /dev/null -e trace=sendmsg \
			-e inject=sendmsg:delay_enter=1000000:when=5 kmes-resize 2M
		sleep 0.5
		kill -STOP "$SIM_PID"
		sleep 1
		kill -INT "$(pgrep -P $! kmes-resize)"
		end_of $! 3
		assert_status 130
		kill -CONT "$SIM_PID"
	fi
}

@test "resize: a different concurrent change is reported" {
	command -v strace >/dev/null || skip "strace is not installed"
	simulator_only "delays requests to the simulator"
	export ASAN_OPTIONS=detect_leaks=0 # no leak detection under strace
	rings_start --capacity=1M --slots=1
	kmes-emit -n 5000 -t a
	# The sixth request is the change itself.
	background slow strace -o requests -e trace=sendmsg \
		-e "inject=sendmsg:delay_enter=6000000:when=6" kmes-resize 4M
	wait_until 20 has_lines requests 5
	kmes-resize 64K >/dev/null
	end_of $! 20
	assert_status 0
	assert_match "$(cat slow.out)" 'generation 1 -> 3'
	assert_equal "$(cat slow.err)" \
		"kmes-resize: another process changed the capacity, too: less may be kept"
}

@test "resize: two at a time, and a reader without loss" {
	local first second
	simulator_only "needs a slot a CPU"
	rings_start --slots=2 --capacity=64K --load=1000
	background follow kmes-dump -q -L -N -T none
	wait_for_lines follow.out 10
	background one bash -c 'for i in {1..15}; do kmes-resize 1M || exit; done'
	first=$!
	background two bash -c 'for i in {1..15}; do kmes-resize 64K || exit; done'
	second=$!
	end_of $first 60
	assert_status 0
	end_of $second 60
	assert_status 0
	kill -TERM "${KMES_PIDS[1]}"
	end_of "${KMES_PIDS[1]}"
	# With -L a loss would be status 3.
	assert_status 0
}

@test "resize: a simulator killed meanwhile is reported by all readers" {
	local i dump stat wait
	simulator_only "the module cannot end under a reader"
	for i in 1 2 3; do
		rings_start --slots=64 --capacity=64K --load=2000
		background dump kmes-dump -q
		dump=$!
		background stat kmes-stat 0.05
		stat=$!
		background wait kmes-wait --idle-for=60
		wait=$!
		wait_for_lines stat.out 60
		background resize kmes-resize 4M
		sleep "0.0$i"
		kill -KILL "$SIM_PID"
		end_of $!
		# On a busy machine it may have got no further than its greeting, or not even there.
		[[ $status -eq 0 ]] ||
			assert_match "$(cat resize.err)" '^kmes-resize: .*(has ended|is ending|no simulator is listening there)$'
		end_of $dump
		assert_status 0
		assert_match "$(tail -n 1 dump.err)" 'source ended'
		end_of $stat
		assert_status 0
		assert_match "$(tail -n 1 stat.err)" 'source ended'
		end_of $wait
		assert_status 1
	done
}
