#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Faults that only a debug kernel detects.

@test "leaks memory" {
	insmod "$KMES_MODULES/kmes_trouble.ko" kind=leak
}
