#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A guest that never finishes.

@test "sleeps forever" {
	unset BATS_TEST_TIMEOUT
	kill -STOP 1 $PPID $$
	sleep 1000
}
