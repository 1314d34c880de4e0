#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Rate limiting.

@test "a full bucket can be emitted at once, then the rate applies [E11]" {
	rate_cases burst
}

@test "a refused emission returns its tokens [E11]" {
	rate_cases refund
}

@test "a batch takes all its tokens or none [E11]" {
	rate_cases batch
}

@test "each process has a bucket, full at first and shared by its threads [E11]" {
	rate_cases process threads
}

@test "CAP_SYS_ADMIN is exempt [E11]" {
	rate_cases exempt
}

@test "a new rate applies to existing buckets at once [E11]" {
	rate_cases change
}

@test "the wall clock has no influence [E11]" {
	rate_cases clock
}

@test "64 tokens are enough to overwrite a ring of the default capacity" {
	rate_cases size
}
