#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-run: programs for the native calls, over the module.

bats_require_minimum_version 1.5.0

setup() {
	export KMES_NATIVE=1
	cd "$BATS_TEST_TMPDIR" || return
}

# each PROGRAM CASE...: each case in a process of its own.
each() {
	local program=$1 one

	shift
	for one; do
		echo "$one"
		kmes-run "$program" "$one" || return
	done
}

@test "kmes-run: sizes, UTF-8, MessagePack, bytes verbatim [E2 E3 E4 E5]" {
	each emit_cases sizes largest half payloads types verbatim no-trace
}

@test "kmes-run: an event is on the ring of its emitter's CPU, with his stamps [E6]" {
	each emit_cases stamps
}

@test "kmes-run: batches: prefix, one publication, larger than the ring [E8 E9]" {
	each batch_cases good-prefix one-publication larger
}

@test "kmes-run: attach: privilege, slots, pointers, name [A2 A5 A6]" {
	each attach_cases without-privilege slot-query bad-index every-slot name
	each native_cases fault
}

@test "kmes-run: attach, map, read in one program" {
	kmes-run native_cases read truncated
}

@test "kmes-run: 1000 emissions under a 1 ms timer are 1000 events" {
	kmes-run native_cases timer
}

@test "kmes-run: threads and children" {
	kmes-run native_cases threads
}

@test "kmes-run: killed callers disturb nobody" {
	kmes-run native_cases killed
}

@test "kmes-run: the tools work with -S native" {
	kmes-run kmes-emit -S native -t run.native k=v
	run -0 kmes-run kmes-dump -S native -sq -T none -t run.native
	[[ $output == *'  run.native  {k: "v"}' ]]
	run -0 kmes-run kmes-wait -S native -q --timeout=20 -t run.wait kmes-emit -S native -t run.wait
	run -1 kmes-run kmes-resize -S native 128K
	[[ $output == *BufferCapacity* ]]
}

@test "kmes-run: statuses, signals, standard streams" {
	run kmes-run sh -c 'exit 7'
	[ "$status" -eq 7 ]
	run kmes-run sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
	run -127 kmes-run /none/such
	run -126 kmes-run /etc/passwd
	run -125 kmes-run
	[ "$(echo text | kmes-run cat)" = text ]
}

@test "kmes-run: a signal sent to it reaches the program" {
	kmes-run bash -c 'trap "exit 9" USR1; echo ready >ready; while :; do sleep 0.1; done' 3>&- &
	for _ in $(seq 100); do [[ -e ready ]] && break; sleep 0.1; done
	kill -USR1 $!
	status=0
	wait $! || status=$?
	[ "$status" -eq 9 ]
}

@test "kmes-run: within itself it says why not, 125" {
	run kmes-run kmes-run true
	[ "$status" -eq 125 ]
	[[ $output == *"listener"* ]]
}

@test "kmes-run: processes gain no privileges" {
	run -0 kmes-run grep NoNewPrivs /proc/self/status
	[[ $output == *1 ]]
}
