#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# vm: --mem 768M
# A machine that suspends and is woken by its clock; a very slow one may oversleep.

@test "rings survive suspend and resume of the machine" {
	grep -qw mem /sys/power/state
	life_cases suspend
}
