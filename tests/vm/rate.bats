#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# How fast a process may emit.

@test "a second's worth at once, then the rate [E11]" {
	rate_cases burst
}

@test "what was refused is given back [E11]" {
	rate_cases refund
}

@test "a batch takes all its tokens or none [E11]" {
	rate_cases batch
}

@test "each process has its bucket, a new one is full, threads share [E11]" {
	rate_cases process threads
}

@test "CAP_SYS_ADMIN is exempt [E11]" {
	rate_cases exempt
}

@test "a new rate holds for live buckets at once [E11]" {
	rate_cases change
}

@test "the wall clock has no influence [E11]" {
	rate_cases clock
}

@test "64 tokens are enough to overwrite a ring of the default capacity" {
	rate_cases size
}
