#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The guest itself: what the other files depend on.

bats_require_minimum_version 1.5.0

@test "four CPUs are online" {
	[ "$(nproc)" -eq 4 ]
}

@test "test modules can be loaded and unloaded" {
	insmod "$KMES_MODULES/kmes_trouble.ko"
	rmmod kmes_trouble
}

@test "the commands used by tests are installed" {
	[ "$(comm -12 <(printf '%s\n' a b) <(jq -r .x <<<'{"x":"b"}'))" = b ]
	[ "$(setpriv --reuid 65534 --clear-groups --inh-caps=-all id -u)" = 65534 ]
	strace -e trace=exit_group true 2>&1 | grep -q '^exit_group(0)'
	run -124 timeout 0.2 sleep 5
}

@test "tracefs, cgroups and shared memory are mounted" {
	[ -w /sys/kernel/tracing/trace_marker ]
	[ -e /sys/fs/cgroup/cgroup.procs ]
	echo x >/dev/shm/x
}
