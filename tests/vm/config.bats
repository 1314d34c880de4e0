#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Values under /sys/kernel/kmes and the replacement of rings.

@test "values have their defaults and the load sends no event [F4]" {
	config_cases defaults
}

@test "a change is told, the same value is none [F2 F4]" {
	config_cases applied
}

@test "a value that is no number or out of range is refused, never bent [F1 F4]" {
	config_cases rejected
}

@test "setting a value needs CAP_AUDIT_CONTROL [F1]" {
	config_cases privilege
}

@test "bad module parameters leave the defaults and are told [F1 F4]" {
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

@test "resized under emission on every CPU: each event seen once or known lost [R2 R5 R9 R10]" {
	resize_cases under-emission
}

@test "replaced under a flood of batches as large as the ring [R10]" {
	resize_cases under-flood
}

@test "what is kept is the longest suffix, from 0; growing keeps all [R9 R10]" {
	resize_cases kept
}

@test "an old descriptor stays with its old ring [R8 A13]" {
	resize_cases old-descriptors
}

@test "200 replacements leave no memory behind [R8]" {
	resize_cases no-leak
}

@test "the same capacity replaces nothing [F2]" {
	resize_cases same
}

@test "the ABI document names each file in /sys/kernel/kmes and no other" {
	local document=$BATS_TEST_DIRNAME/../../module/Documentation/ABI/testing/sysfs-kernel-kmes
	diff <(sed -nE 's/^What:\s+(.*[^/])$/\1/p' "$document" | sort) \
		<(find /sys/kernel/kmes -type f | sed -E 's/cpu[0-9]+/cpu<N>/' | sort -u)
}
