#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# vm: --nodes 2
# A machine with two NUMA nodes.

@test "all pages of a ring are on its CPU's node, also after a replacement" {
	[ -d /sys/devices/system/node/node1 ]
	map_cases nodes
}
