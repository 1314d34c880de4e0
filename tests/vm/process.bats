#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Events about processes.

@test "fork, exec and exit of a command are reported; GUIDs agree" {
	process_cases command
}

@test "the exit of a killed process reports the signal" {
	process_cases killed
}

@test "eight threads that end together are one exit, 20 times" {
	process_cases one-exit
}

@test "a process whose leader dies before its eight others exits once, with the status that wait(2) reports" {
	process_cases leader-first
}

@test "a thread that execs is the same process: its GUID stays" {
	process_cases exec-by-thread
}

@test "processes are not reported unless it is turned on" {
	process_cases off
}

@test "an exec reports file names of up to 4095 bytes, and the folder in front of one" {
	process_cases long-names
}

@test "long file names of execs on all CPUs at once are not mixed up" {
	process_cases long-names-at-once
}

@test "exits that nobody has reaped yet hold no memory" {
	[ -r /proc/slabinfo ] && [ -e /sys/kernel/slab/kmalloc-32/shrink ] || skip "this kernel keeps no account of its objects"
	process_cases unreaped
}

@test "real-time processes of three threads end beside tasks that allocate" {
	process_cases real-time
}
