#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# vm: --mem 256M --append "maxcpus=3 rootfstype=ramfs"
# Limits of staged memory, in a machine that has little memory.

# calm CASE: the case passes, and no allocation of the kernel failed.
calm() {
	stage_cases "$1"
	! dmesg | grep -i 'out of memory\|oom-kill\|invoked oom\|allocation failure'
}

# stops CASE: calm, for a case that stops its callers by userfaultfd.
stops() {
	[ -e /proc/sys/vm/unprivileged_userfaultfd ] || skip "this kernel has no userfaultfd"
	calm "$1"
}

# may_invoke_oom CAPACITY: how many allocations of a resize may invoke the OOM killer.
may_invoke_oom() {
	local event=/sys/kernel/tracing/events/kmem/mm_page_alloc
	echo "common_pid == $BASHPID" >"$event/filter"
	echo 1 >"$event/enable"
	echo "$1" >/sys/kernel/kmes/buffer_capacity
	echo 0 >"$event/enable"
	awk '!/RETRY_MAYFAIL|NORETRY/ && /GFP_KERNEL/ { n++ } END { print 0 + n }' \
		/sys/kernel/tracing/trace
}

# First in this boot: page tables that an earlier test needed are kept.
@test "pages and page tables for new rings never invoke the OOM killer [F3]" {
	local count
	count=$(may_invoke_oom 8388608)
	[ "$(cat /sys/kernel/kmes/buffer_capacity)" = 8388608 ]
	echo 4194304 >/sys/kernel/kmes/buffer_capacity
	echo "$count pages"
	# The page tables of four rings, mapped twice, are 32 pages.
	[ "$count" -lt 16 ]
}

@test "150 threads stopped in a batch have at most one ring's capacity staged" {
	stops threads-stopped
}

@test "so do 150 threads that emit large single events, exempt from the rate" {
	stops large-events-stopped
}

@test "memory that a call returns wakes every waiting thread that fits into it" {
	stops siblings-woken
}

@test "150 processes stopped in a batch have at most their share of memory staged" {
	stops processes-stopped
}

@test "150 flooding threads leave other processes their memory and events" {
	calm threads
}

@test "150 flooding processes leave other processes their memory and events" {
	calm processes
}
