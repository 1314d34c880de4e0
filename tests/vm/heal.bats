#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Consumers that follow exactly the published steps while rings are replaced.

@test "a client stopped between attach and map is healed if its ring is replaced meanwhile" {
	heal_cases stopped-before-map
}

@test "a client stopped for 3 s before it first loads the generation is healed" {
	heal_cases stopped-before-look
}

@test "a client whose new ring is replaced while it follows a replacement is healed" {
	heal_cases stopped-while-following
}

@test "a dead ring's generation is incremented after 1, 2 and 4 s, with a wake each time [P5]" {
	heal_cases steps
}

@test "a dead ring without mappings does not pin the module" {
	heal_cases unmapped
	rmmod kmes
	insmod "$KMES_MODULE"
}
