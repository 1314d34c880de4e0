#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# vm: --mem 192M --append "maxcpus=3 rootfstype=ramfs"
# A machine with little memory and a CPU that is off.

@test "a CPU that is off at the load has a ring, its first event is 1 [A4 E7]" {
	life_cases off-at-load
}

@test "rings that memory cannot hold are refused and nothing changes [F3 F4]" {
	config_cases no-memory
	! dmesg | grep -i 'out of memory\|oom-kill'
}
