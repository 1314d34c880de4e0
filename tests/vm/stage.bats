#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# vm: --mem 256M --append "maxcpus=3 rootfstype=ramfs"
# How much memory emitters can have staged at once, in a machine that has little.

# calm CASE: the case passes, and the kernel was not short of memory for anybody.
calm() {
	stage_cases "$1"
	! dmesg | grep -i 'out of memory\|oom-kill\|invoked oom\|allocation failure'
}

@test "150 threads that are stopped in a batch have one ring's worth staged" {
	calm threads-stopped
}

@test "so have 150 threads that emit large single events, and are exempt from the rate" {
	calm large-events-stopped
}

@test "150 processes that are stopped in a batch have their share of the memory staged" {
	calm processes-stopped
}

@test "150 threads that flood leave others their memory and their events" {
	calm threads
}

@test "150 processes that flood leave others their memory and their events" {
	calm processes
}
