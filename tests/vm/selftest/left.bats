#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A process that outlives its test.

@test "leaves a process" {
	setsid sleep 1000 3>&- </dev/null >/dev/null 2>&1 &
}
