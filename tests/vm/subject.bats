#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Calls on behalf of another process: nobody gains by them what is not his.

setup() {
	NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
	cd "$BATS_TEST_TMPDIR" || return
}

# as_nobody COMMAND...: as a user of its own with the capabilities of the calls alone.
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+audit_read,+audit_write \
		--ambient-caps=-all,+audit_read,+audit_write "$@"
}

emitted() {
	cat /sys/kernel/kmes/cpu*/emitted_events
}

@test "a set-user-ID program executed amid calls on its behalf lends them nothing [A2]" {
	local before

	for cpu in 0 1 2 3; do taskset -c "$cpu" kmes-emit -t subject.secret k=v; done
	chmod 755 .
	install -m 4755 "$(type -P true)" as_root
	before=$(emitted)
	SET_USER_ID=./as_root "${NOBODY[@]}" subject_cases set-user-id
	[ "$(emitted)" = "$before" ]
}

@test "for a dumpable process of the same user, and for no other" {
	as_nobody subject_cases same-user
	subject_cases tracer
}

@test "not for a process that has given up privileges [A2]" {
	subject_cases gave-up
}

@test "not for a process without memory: a zombie, or one whose first thread has ended" {
	as_nobody subject_cases zombie headless
}

@test "capabilities of a user namespace lend nothing [A2]" {
	as_nobody subject_cases outside
}

@test "a process has one GUID while the module is loaded, and another after a reload [E6]" {
	subject_cases reload
}

@test "events of two processes by turns carry their own GUIDs [E6]" {
	subject_cases turns
}
