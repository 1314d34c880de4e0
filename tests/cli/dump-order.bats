#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-dump: the order of events across CPUs, idle CPUs, clock steps, holes.

load helper
load prepared

# What was printed, as cpu#seq on one line.
order() { sed -E 's/^cpu([0-9]+)  #([0-9]+).*/\1#\2/' | paste -sd' '; }

@test "dump order: by timestamp across CPUs, ties by CPU, then sequence" {
	event 0 1 30 x
	event 1 1 10 x
	event 1 2 20 x
	event 1 3 30 x
	event 0 2 30 x
	prepared_start
	run -0 kmes-dump -sq -T none
	assert_equal "$(order <<<"$output")" "1#1 1#2 0#1 0#2 1#3"
	run -0 kmes-dump -sq -T none -O cpu
	assert_equal "$(order <<<"$output")" "0#1 0#2 1#1 1#2 1#3"
}

@test "dump order: eight CPUs are merged by prepared timestamps" {
	local cpu i

	for cpu in {0..7}; do
		for i in {1..20}; do
			event "$cpu" "$i" $((i * 1000 + (cpu * 37) % 8)) x
		done
	done
	prepared_start
	kmes-dump -sqj | jq '.ts_ns' >stamps
	assert_equal "$(wc -l <stamps)" 160
	sort -n -c stamps
}

@test "dump order: within a CPU always by sequence, whatever the clock does" {
	event 0 1 5000 x
	event 0 2 1000 x
	event 0 3 6000 x
	event 1 1 5500 x
	prepared_start
	run -0 kmes-dump -sq -T none
	assert_equal "$(order <<<"$output" | tr ' ' '\n' | grep '^0' | paste -sd' ')" "0#1 0#2 0#3"
}

@test "dump order: a clock set back an hour delays nothing" {
	local now

	now=$(date +%s%N)
	event 0 1 $((now + 3600000000000)) ahead
	event 1 1 $((now - 1000000000)) behind
	prepared_start
	run -0 --separate-stderr timeout 10 kmes-dump -n 2 -T none
	assert_equal "$(sort <<<"$output" | order)" "0#1 1#1"
}

@test "dump order: idle CPUs do not delay a busy one" {
	local i late=0 start

	rings_start --slots=8
	background dump kmes-dump -q -T none
	sleep 0.3
	for i in {1..10}; do
		kmes-emit -c 7 -t x
		start=${EPOCHREALTIME/[.,]/}
		until has_lines dump.out "$i"; do
			((${EPOCHREALTIME/[.,]/} - start < 5000000)) || return 1
			sleep 0.005
		done
		((${EPOCHREALTIME/[.,]/} - start <= 50000)) || late=$((late + 1))
		sleep 0.03
	done
	echo "$late of 10 came later than 50 ms"
	((late <= 5))
}

@test "dump order: live events of two CPUs are in order of timestamps" {
	rings_start --slots=2 --load=2000
	run -0 --separate-stderr timeout 20 kmes-dump -j -n 4000
	jq .ts_ns <<<"$output" >stamps
	assert_equal "$(wc -l <stamps)" 4000
	sort -n -c stamps
}

@test "dump order: slots with holes are read to the end and named by CPU [A3 A5 A7 A8]" {
	local cpu

	rings_start --slots=6 --holes=2,4
	for cpu in 0 1 3 5; do
		kmes-emit -c $cpu -t on$cpu
	done
	run -0 kmes-dump -sq -T none
	assert_output "cpu0  #1  USR  on0  {}
cpu1  #1  USR  on1  {}
cpu3  #1  USR  on3  {}
cpu5  #1  USR  on5  {}"
	run -0 kmes-dump -sq -T none -c 3
	assert_output "cpu3  #1  USR  on3  {}"
	run --separate-stderr kmes-dump -s -c 2
	assert_usage_error "no ring.*'2'"
}
