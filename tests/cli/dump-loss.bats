#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-dump: lost events - position of the mark, exact counts, the exit status.

load helper
load prepared

T=1795983682

@test "dump loss: a mark precedes the next event, and the starting point is not a loss [L1 L2 L3]" {
	event 0 1 ${T}000000001 x
	event 0 2 ${T}000000002 x
	event 1 10 ${T}000000003 x
	event 1 11 ${T}000000004 x
	event 0 6 ${T}000000005 x
	prepared_start
	run --separate-stderr kmes-dump -s -T none
	assert_status 0
	assert_output "cpu0  #1  USR  x  {}
cpu0  #2  USR  x  {}
cpu1  #10  USR  x  {}
cpu1  #11  USR  x  {}
--- cpu0: lost 3 events (#3-#5) ---
cpu0  #6  USR  x  {}"
	assert_equal "${stderr_lines[-1]}" "kmes-dump: 5 events, 3 lost (cpu0: 3)"
}

@test "dump loss: counts beyond 32 bits are exact [L2]" {
	event 0 1 ${T}000000001 x
	event 0 5000000001 ${T}000000002 x
	prepared_start
	run --separate-stderr kmes-dump -s -T none
	assert_equal "${lines[1]}" "--- cpu0: lost 4999999999 events (#2-#5000000000) ---"
	assert_equal "${stderr_lines[-1]}" "kmes-dump: 2 events, 4999999999 lost (cpu0: 4999999999)"
	run -0 kmes-dump -sqj
	assert_equal "${lines[1]}" '{"time":"2026-11-29T20:21:22.000000002Z","ts_ns":1795983682000000002,"cpu":0,"lost":4999999999,"first":2,"last":5000000000}'
}

@test "dump loss: sums of counts beyond 64 bits do not wrap [L2]" {
	event 0 1 ${T}000000001 x
	event 0 18446744073709551615 ${T}000000002 x
	event 1 1 ${T}000000001 x
	event 1 5 ${T}000000002 x
	prepared_start
	run -3 --separate-stderr kmes-dump -s -T none -L -w file
	assert_equal "${stderr_lines[-1]}" "kmes-dump: 4 events, 18446744073709551615 lost (cpu0: 18446744073709551613, cpu1: 3)"
	run -3 --separate-stderr kmes-dump -L file
	assert_equal "${stderr_lines[-1]}" "kmes-dump: 4 events, 18446744073709551615 lost (cpu0: 18446744073709551613, cpu1: 3)"
	run -0 kmes-stat -j -r file
	assert_match "$output" '"lost":18446744073709551615,'
}

@test "dump loss: a filter that hides the next event does not hide the mark" {
	event 0 1 ${T}000000001 x
	event 0 9 ${T}000000002 hidden
	event 2 4 ${T}000000003 x
	event 2 6 ${T}000000004 x
	prepared_start
	run --separate-stderr kmes-dump -s -T none -t x
	assert_output "cpu0  #1  USR  x  {}
--- cpu0: lost 7 events (#2-#8) ---
cpu2  #4  USR  x  {}
--- cpu2: lost 1 events (#5-#5) ---
cpu2  #6  USR  x  {}"
	assert_equal "${stderr_lines[-1]}" "kmes-dump: 3 of 4 events, 8 lost (cpu0: 7, cpu2: 1)"
}

@test "dump loss: bytes that are not an event are reported once, and reading continues [D6]" {
	event 0 1 ${T}000000001 x
	event 1 1 ${T}000000001 x
	live_start
	background dump kmes-dump -T none
	wait_for_line dump.out 'cpu1  #1 '
	# An event_size of 0, of 76, and one past write_pos; each time more events follow.
	local raw seq=2
	for raw in 00000000 4c000000 ffffff00; do
		echo "{\"cpu\": 0, \"raw\": \"$raw$(printf '%0200d' 0)\"}" >>events
		wait_until 5 has_lines dump.err $((seq / 2))
		event 0 $((seq + 1)) ${T}00000000$seq after
		wait_for_line dump.out "cpu0  #$((seq + 1)) "
		seq=$((seq + 2))
	done
	event 1 2 ${T}000000009 y
	wait_for_line dump.out 'cpu1  #2 '
	kill -INT $!
	end_of $!
	assert_status 0
	assert_equal "$(cat dump.out | grep -v cpu1)" "cpu0  #1  USR  x  {}
--- cpu0: lost 1 events (#2-#2) ---
cpu0  #3  USR  after  {}
--- cpu0: lost 1 events (#4-#4) ---
cpu0  #5  USR  after  {}
--- cpu0: lost 1 events (#6-#6) ---
cpu0  #7  USR  after  {}"
	assert_equal "$(grep -c '^kmes-dump: cpu0: .*position' dump.err)" 3
	assert_equal "$(tail -1 dump.err)" "kmes-dump: 6 events, 3 lost (cpu0: 3)"
}

@test "dump loss: --fail-on-loss exits 3, and only when something was lost" {
	event 0 1 ${T}000000001 x
	event 1 1 ${T}000000001 x
	event 1 3 ${T}000000002 x
	prepared_start
	run kmes-dump -sq -L
	assert_status 3
	run kmes-dump -sq -L -c 0
	assert_status 0
}

@test "dump loss: stopped while 100 MB pass a 64K ring, it continues at the oldest event [D2 L2]" {
	local total=0 lost printed

	rings_start --slots=1 --capacity=64K --exempt
	background dump kmes-dump -T none
	wait_until 5 kmes-emit -t first
	pid=$!
	wait_for_line "$KMES_TMP/dump.out" ' first '
	kill -STOP "$(tool_of $pid)"
	kmes-emit -n 100000 -t flood "fill=$(printf '%0900d' 0)"
	kmes-emit -t last
	kill -CONT "$(tool_of $pid)"
	wait_for_line "$KMES_TMP/dump.out" ' last '
	kill -INT $pid
	end_of $pid
	assert_status 0

	# The sequence of the last event is their number.
	total=$(sed -n 's/.*#\([0-9]*\)  USR  last.*/\1/p' "$KMES_TMP/dump.out")
	lost=$(sed -n 's/^--- cpu0: lost \([0-9]*\) events.*/\1/p' "$KMES_TMP/dump.out" | awk "{ sum += \$1 } END { print sum }")
	printed=$(grep -c USR "$KMES_TMP/dump.out")
	((lost > 90000))
	assert_equal $((printed + lost)) "$total"
	assert_equal "$(tail -1 "$KMES_TMP/dump.err")" "kmes-dump: $printed events, $lost lost (cpu0: $lost)"
	# No sequence twice, no unreported gap.
	awk '/^---/ { gsub(/[^0-9-]/, " "); split($0, n, "-"); next }
		{ sub("#", "", $2); if ($2 + 0 <= last) exit 1; last = $2 + 0 }' "$KMES_TMP/dump.out"
	[[ $(grep -vc 'source\|events,' "$KMES_TMP/dump.err") -eq 0 ]]
}

@test "dump loss: resizes under load lose nothing for a reader that keeps up [R2 R5 R9 R10]" {
	local i sizes=(64K 4M) pid

	rings_start --slots=2 --capacity=1M --load=2000
	background dump kmes-dump -T none
	pid=$!
	wait_for_line "$KMES_TMP/dump.out" 'sim.load'
	for i in {0..9}; do
		kmes-resize "${sizes[i % 2]}" >/dev/null
		sleep 0.1
	done
	kill -INT $pid
	end_of $pid
	assert_status 0
	awk '{ cpu = $1; sub("#", "", $2); if (cpu in last && $2 != last[cpu] + 1) exit 1; last[cpu] = $2 }' \
		"$KMES_TMP/dump.out"
	assert_match "$(tail -1 "$KMES_TMP/dump.err")" ' events, 0 lost$'
}

@test "dump loss: a stopped reader of a shrunk ring misses only the oldest events [R10 D2]" {
	local pid

	rings_start --slots=1 --capacity=1M --exempt
	background dump kmes-dump -T none
	pid=$!
	wait_until 5 kmes-emit -t first
	wait_for_line "$KMES_TMP/dump.out" ' first '
	kill -STOP "$(tool_of $pid)"
	kmes-emit -n 2000 -t x "fill=$(printf '%0200d' 0)"
	kmes-resize 64K
	kmes-emit -t last
	kill -CONT "$(tool_of $pid)"
	wait_for_line "$KMES_TMP/dump.out" ' last '
	kill -INT $pid
	end_of $pid
	# The old ring was still complete: the reader drains it, so nothing is lost.
	assert_match "$(tail -1 "$KMES_TMP/dump.err")" ' events, 0 lost$'

	# A later reader finds what the small ring kept, and no loss.
	run -0 --separate-stderr kmes-dump -s -T none
	assert_match "${stderr_lines[-1]}" ' events, 0 lost$'
	((${#lines[@]} < 300))
}
