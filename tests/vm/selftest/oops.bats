#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A kernel that panics on a BUG.

@test "loads a module that stops the kernel" {
	insmod "$KMES_MODULES/kmes_trouble.ko" kind=oops
}

@test "is never reached" {
	true
}
