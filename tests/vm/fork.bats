#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Consumers that fork: children inherit the mapping, with the ioctls and the native calls.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# until_unused: waits until nothing pins the module.
until_unused() {
	for _ in $(seq 100); do
		rmmod kmes 2>/dev/null && break
		sleep 0.1
	done
	[ ! -e /dev/kmes ]
	insmod "$KMES_MODULE"
}

@test "a child inherits the mapping, read-only where its parent's is read-only [M4 M5]" {
	fork_cases inherited
}

@test "need_wake is cleared with the last mapping, including those of children" {
	fork_cases counted
}

@test "a child is woken on an inherited mapping [N5]" {
	fork_cases woken
}

@test "parent and child follow a ring through two replacements [R2 R8]" {
	fork_cases followed
}

@test "a daemon continues with a ring attached to before daemon(3) [R8]" {
	fork_cases daemonized 3>&-
	until_there followed
	until_unused
}

@test "kmes-run: children inherit mappings, are woken and follow replacements" {
	export KMES_NATIVE=1
	kmes-run fork_cases inherited
	kmes-run fork_cases woken
	kmes-run fork_cases followed
}

@test "kmes-run: a program attaches, becomes a daemon and continues" {
	export KMES_NATIVE=1
	kmes-run fork_cases daemonized 3>&-
	until_there followed
	until_unused
}
