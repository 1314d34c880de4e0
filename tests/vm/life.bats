#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Loading, unloading, CPU hotplug.

bats_require_minimum_version 1.5.0

@test "unloading is refused while device, ring or mapping is in use" {
	life_cases held
}

@test "a process without any capability pins the module, too" {
	life_cases held-by-anybody
}

@test "loading twice is refused" {
	run ! insmod "$KMES_MODULE"
	[ -e /sys/kernel/kmes/stream_id ]
}

@test "the module is loaded and unloaded up to 50 times during emission" {
	life_cases under-emission
}

@test "each load has another stream id" {
	life_cases stream-ids
}

@test "the ring of an offline CPU is unchanged, readable and replaced like others" {
	life_cases hotplug
}

@test "rings are replaced while an emitting CPU goes offline and online" {
	life_cases hotplug-resize
}
