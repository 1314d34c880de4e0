#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Events about processes.

@test "fork, exec and exit of a command are reported with matching GUIDs" {
	process_cases command
}

@test "the exit of a killed process reports the signal" {
	process_cases killed
}

@test "eight threads that exit together are reported as one exit, 20 times" {
	process_cases one-exit
}

@test "a process whose leader exits before eight other threads exits once, with wait(2)'s status" {
	process_cases leader-first
}

@test "a process keeps its GUID when a thread other than the leader execs" {
	process_cases exec-by-thread
}

@test "processes are not reported by default" {
	process_cases off
}

@test "an exec reports file names of up to 4095 bytes, with the directory's prefix" {
	process_cases long-names
}

@test "long file names of concurrent execs on all CPUs are not mixed up" {
	process_cases long-names-at-once
}

@test "unreaped exits hold no memory" {
	[ -r /proc/slabinfo ] && [ -e /sys/kernel/slab/kmalloc-32/shrink ] || skip "this kernel keeps no account of its objects"
	process_cases unreaped
}

@test "real-time processes of three threads exit while other tasks allocate" {
	process_cases real-time
}
