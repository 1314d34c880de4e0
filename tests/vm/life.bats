#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Loading, unloading, CPUs that come and go.

bats_require_minimum_version 1.5.0

@test "unloading is refused while device, ring or mapping is in use" {
	life_cases held
}

@test "a process without any capability holds the module, too" {
	life_cases held-by-anybody
}

@test "loading twice is refused" {
	run ! insmod "$KMES_MODULE"
	[ -e /sys/kernel/kmes/stream_id ]
}

@test "loaded and unloaded 50 times under emission" {
	life_cases under-emission
}

@test "each load is another stream" {
	life_cases stream-ids
}

@test "the ring of a CPU that is off is quiet, readable and replaced like others" {
	life_cases hotplug
}

@test "replacements while an emitting CPU goes and comes" {
	life_cases hotplug-resize
}
