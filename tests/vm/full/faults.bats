#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Each allocation fails in turn. Needs a kernel with fault injection.

setup() {
	local fault
	[ -e /proc/self/fail-nth ] || skip "this kernel injects no faults"
	# Memory checkers may run out of memory, too, and print that under a lock of their own: keep it off
	# the console, whose locks are taken in another order.
	dmesg -n 1
	for fault in /sys/kernel/debug/{failslab,fail_page_alloc}; do
		echo 0 >"$fault/verbose"
		echo N >"$fault/ignore-gfp-wait"
		# The address range of modules: allocations by the kernel itself are not the subject.
		echo 0xffffffffa0000000 >"$fault/require-start"
		echo 0xffffffffff000000 >"$fault/require-end"
	done
	echo 0 >/sys/kernel/debug/fail_page_alloc/min-order
}

teardown() {
	dmesg -n 7
}

@test "attaching, mapping and emitting with each allocation failing" {
	fault_cases attach emit batch
}

@test "replacing rings with each allocation failing: all or nothing [F3]" {
	fault_cases resize
}

@test "turning process events on and off with each allocation failing" {
	fault_cases process-events
}

@test "loading with each allocation failing" {
	rmmod kmes
	fault_cases load
	[ -e /sys/module/kmes ] || insmod "$KMES_MODULE"
}

@test "the module does not load if the waking thread gets no mm" {
	local slab=/sys/kernel/debug/failslab
	rmmod kmes
	# Every allocation of kernel threads created from now on.
	echo 1 >/proc/2/make-it-fail
	echo Y >$slab/task-filter
	echo -1 >$slab/times
	echo 100 >$slab/probability
	status=0
	insmod "$KMES_MODULE" || status=$?
	echo 0 >$slab/probability
	echo N >$slab/task-filter
	echo 0 >/proc/2/make-it-fail
	[ "$status" -ne 0 ]
	[ ! -e /sys/module/kmes ]
	dmesg | tail -n 20 | grep 'kmes: cannot map the pages to wake consumers through: -12'
	insmod "$KMES_MODULE"
}
