#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A fault that only KCSAN detects.

@test "two threads change a word without a lock" {
	insmod "$KMES_MODULES/kmes_trouble.ko" kind=race
}
