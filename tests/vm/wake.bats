#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Waking sleepers, and events from kernel code.

@test "futex_counter is incremented once per publication if need_wake is set [P5 C1]" {
	wake_cases word
}

@test "all shared waiters in all processes are woken [N5 N7]" {
	wake_cases shared
}

@test "a private waiter is not woken [N7]" {
	wake_cases private
}

@test "a sleeper on a replaced ring is woken [R11 O9]" {
	wake_cases replaced
}

@test "need_wake of a killed sleeper is cleared" {
	wake_cases killed
}

@test "kernel code wakes in any context; interrupts have no GUID [E6]" {
	wake_cases contexts
}

@test "concurrent contexts on one CPU: no duplicate sequence, no torn event [O8]" {
	kernel_cases all-contexts
}

@test "concurrent contexts while processes start and exit: each ring's counters balance [O8]" {
	kernel_cases beside-processes
}

@test "emission in an NMI is refused and leaves no trace [O8]" {
	kernel_cases nmi
}

@test "a kernel event that cannot be written takes a sequence [E10]" {
	kernel_cases drops
}
