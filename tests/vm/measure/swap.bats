#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# vm: --mem 1G --cpus 1
# Time with interrupts off during a replacement: `tests/vm/run 6.1 tests/vm/measure/swap.bats`.

@test "replacing rings of 4 MiB" {
	resize_cases measure-4m >&3
}

@test "replacing rings of 256 MiB" {
	rmmod kmes
	insmod "$KMES_MODULE"
	resize_cases measure-256m >&3
}
