#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The configuration in /sys/kernel/kmes and the replacement of rings.

@test "values have their defaults and loading emits no event [F4]" {
	config_cases defaults
}

@test "a change emits an event, setting the same value does not [F2 F4]" {
	config_cases applied
}

@test "a value that is not a number or out of range is rejected, never clamped [F1 F4]" {
	config_cases rejected
}

@test "setting a value requires CAP_AUDIT_CONTROL [F1]" {
	config_cases privilege
}

@test "invalid module parameters leave the defaults and emit events [F1 F4]" {
	rmmod kmes
	insmod "$KMES_MODULE" buffer_capacity=100000 max_event_size=none max_nesting_depth=7 \
		max_emit_rate_per_process=5 process_events=2
	config_cases parameters
	rmmod kmes
	insmod "$KMES_MODULE"
}

@test "a change that waits for another one is restarted after a signal" {
	config_cases restarted
}

@test "resizing while every CPU emits: each event is read once or reported lost [R2 R5 R9 R10]" {
	resize_cases under-emission
}

@test "rings are replaced during a flood of batches as large as the ring [R10]" {
	resize_cases under-flood
}

@test "the longest suffix is kept, starting at 0; growing keeps everything [R9 R10]" {
	resize_cases kept
}

@test "an old descriptor keeps referring to its old ring [R8 A13]" {
	resize_cases old-descriptors
}

@test "200 replacements leak no memory [R8]" {
	resize_cases no-leak
}

@test "the same capacity replaces nothing [F2]" {
	resize_cases same
}

@test "the ABI document lists exactly the files in /sys/kernel/kmes" {
	local document=$BATS_TEST_DIRNAME/../../module/Documentation/ABI/testing/sysfs-kernel-kmes
	diff <(sed -nE 's/^What:\s+(.*[^/])$/\1/p' "$document" | sort) \
		<(find /sys/kernel/kmes -type f | sed -E 's/cpu[0-9]+/cpu<N>/' | sort -u)
}
