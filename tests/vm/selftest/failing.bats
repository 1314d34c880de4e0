#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A test that fails, one that hangs, one that passes, and one that is skipped.

@test "fails" {
	false
}

@test "does not end" {
	sleep 1000
}

@test "passes" {
	true
}

@test "is skipped" {
	skip "for a reason"
}
