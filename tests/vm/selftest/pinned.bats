#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A module that cannot be unloaded.

@test "loads a module that stays" {
	insmod "$KMES_MODULES/kmes_trouble.ko" kind=pinned
}
