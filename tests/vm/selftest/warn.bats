#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A kernel warning that no test detects.

@test "loads a module that warns" {
	insmod "$KMES_MODULES/kmes_trouble.ko" kind=warn
}
