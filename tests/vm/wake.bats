#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Waking sleepers, and events that kernel code emits.

@test "the futex word moves by one a publication, if need_wake is not 0 [P5 C1]" {
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

@test "need_wake of a killed sleeper does not stay set" {
	wake_cases killed
}

@test "kernel code in any context wakes; interrupts have no GUID [E6]" {
	wake_cases contexts
}

@test "all contexts at once on one CPU: no sequence twice, no torn event [O8]" {
	kernel_cases all-contexts
}

@test "all contexts at once while processes start and end: each ring's account balances [O8]" {
	kernel_cases beside-processes
}

@test "emission in an NMI is refused and leaves no trace [O8]" {
	kernel_cases nmi
}

@test "an event that the kernel cannot store spends its sequence [E10]" {
	kernel_cases drops
}
