#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Consumers that follow the published steps to the letter, and rings that are replaced meanwhile.

@test "a client that is stopped between attach and map is not left on a ring replaced meanwhile" {
	heal_cases stopped-before-map
}

@test "a client that is stopped for 3 s before its first look at the generation is not left there" {
	heal_cases stopped-before-look
}

@test "a client whose new ring is replaced while it follows a replacement is not left there" {
	heal_cases stopped-while-following
}

@test "a dead ring's generation is stepped after 1, 2 and 4 s, a sleeper woken each time [P5]" {
	heal_cases steps
}

@test "a dead ring that nobody maps any more does not hold the module" {
	heal_cases unmapped
	rmmod kmes
	insmod "$KMES_MODULE"
}
