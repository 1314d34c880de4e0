#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# vm: --mem 192M --append "maxcpus=3 rootfstype=ramfs"
# A machine with little memory and an offline CPU.

@test "a CPU that is offline at load time has a ring; its first event has sequence 1 [A4 E7]" {
	life_cases off-at-load
}

@test "rings that do not fit in memory are refused and nothing changes [F3 F4]" {
	config_cases no-memory
	! dmesg | grep -i 'out of memory\|oom-kill'
}
