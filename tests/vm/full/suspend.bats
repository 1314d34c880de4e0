#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# vm: --mem 768M
# A machine that sleeps and is woken by its clock; one that is slow beyond measure may oversleep.

@test "the machine suspends and resumes with the module, its rings go on" {
	grep -qw mem /sys/power/state
	life_cases suspend
}
