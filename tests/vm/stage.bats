#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# vm: --mem 256M --append "maxcpus=3 rootfstype=ramfs"
# Limits of staged memory, in a machine that has little memory.

# calm CASE: the case passes, and no allocation of the kernel failed.
calm() {
	stage_cases "$1"
	! dmesg | grep -i 'out of memory\|oom-kill\|invoked oom\|allocation failure'
}

@test "150 threads stopped in a batch have at most one ring's capacity staged" {
	calm threads-stopped
}

@test "so do 150 threads that emit large single events, exempt from the rate" {
	calm large-events-stopped
}

@test "150 processes stopped in a batch have at most their share of memory staged" {
	calm processes-stopped
}

@test "150 flooding threads leave other processes their memory and events" {
	calm threads
}

@test "150 flooding processes leave other processes their memory and events" {
	calm processes
}
