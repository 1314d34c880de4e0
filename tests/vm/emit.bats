#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Emission from user space.

@test "the first event of each CPU has sequence 1 in a ring of generation 1 [E7]" {
	emit_cases first
}

@test "of two faults, the one checked first determines the error [E1]" {
	emit_cases order
}

@test "2^32-1 bytes are ENOSPC and 2^32 EINVAL, without following pointers [E2]" {
	emit_cases sizes
}

@test "exactly MaxEventSize is accepted, one byte more is not" {
	emit_cases largest
}

@test "validating a payload of four million values does not monopolize the CPU" {
	emit_cases yields
}

@test "exactly half the ring is accepted, one byte more is not [E12]" {
	emit_cases half
}

@test "a payload must be one MessagePack value, at most 32 levels deep [E3]" {
	emit_cases payloads
}

@test "a type must be UTF-8 [E4]" {
	emit_cases types
}

@test "bytes are stored verbatim, also a type as long as the event allows [E5]" {
	emit_cases verbatim
}

@test "a refused emission leaves no trace [E1 E7]" {
	emit_cases no-trace
}

@test "an event of a pinned process is stamped on its CPU at the write [E6 A3]" {
	emit_cases stamps
}

@test "a batch's own arguments are checked: privilege, count, pointers [E8]" {
	batch_cases bad-calls no-privilege
}

@test "of two faults of a batch, the one checked first determines the error [E1 E8]" {
	batch_cases order
}

@test "a batch ends before its first invalid entry and returns the number emitted [E8]" {
	batch_cases good-prefix
}

@test "a batch has one timestamp, consecutive sequences and one publication [E8]" {
	batch_cases one-publication
}

@test "of 256 events of 60000 bytes, the newest that fit survive complete [E9]" {
	batch_cases larger
}

@test "on behalf of another process: its capabilities, GUID and bucket are used" {
	batch_cases for-another
}

@test "on behalf of another process: both need the capability" {
	batch_cases for-lesser
	batch_cases for-greater
	batch_cases for-equal
}

@test "a 32-bit program emits and attaches with the same calls" {
	compat_emit
}

@test "counters read during emission never decrease" {
	emit_cases counts
}
