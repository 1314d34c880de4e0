#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A guest that never comes to its end.

@test "does nothing for ever" {
	unset BATS_TEST_TIMEOUT
	kill -STOP 1 $PPID $$
	sleep 1000
}
