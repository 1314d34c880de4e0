#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Emission from user space.

@test "the first event of each CPU is sequence 1 on a ring of generation 1 [E7]" {
	emit_cases first
}

@test "of two faults the one that is looked at earlier decides [E1]" {
	emit_cases order
}

@test "2^32-1 bytes are ENOSPC, 2^32 EINVAL, by the lengths alone [E2]" {
	emit_cases sizes
}

@test "exactly MaxEventSize is accepted, one byte more is not" {
	emit_cases largest
}

@test "others get the CPU while a payload of four million values is validated" {
	emit_cases yields
}

@test "exactly half the ring is accepted, one byte more is not [E12]" {
	emit_cases half
}

@test "a payload is one MessagePack value, 32 levels deep at most [E3]" {
	emit_cases payloads
}

@test "a type is UTF-8 [E4]" {
	emit_cases types
}

@test "bytes are stored as they came, a type as long as the event allows [E5]" {
	emit_cases verbatim
}

@test "a refused emission leaves no trace [E1 E7]" {
	emit_cases no-trace
}

@test "a pinned process's event is stamped on its CPU at the write [E6 A3]" {
	emit_cases stamps
}

@test "a batch's own arguments: privilege, count, pointers [E8]" {
	batch_cases bad-calls no-privilege
}

@test "of two faults of a batch the one that is looked at earlier decides [E1 E8]" {
	batch_cases order
}

@test "a batch ends before its first bad entry and says how many went [E8]" {
	batch_cases good-prefix
}

@test "a batch has one stamp, sequences in a row, one publication [E8]" {
	batch_cases one-publication
}

@test "of 256 events of 60000 bytes the newest that fit are kept whole [E9]" {
	batch_cases larger
}

@test "on behalf of another: its capabilities, GUID and bucket count" {
	batch_cases for-another
}

@test "on behalf of another nobody gains what one of both lacks" {
	batch_cases for-lesser
	batch_cases for-greater
	batch_cases for-equal
}

@test "a 32-bit program emits and attaches by the same calls" {
	compat_emit
}

@test "counters that are read beside emission never go back" {
	emit_cases counts
}
