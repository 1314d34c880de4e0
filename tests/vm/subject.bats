#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Calls on behalf of another process: no process gains privileges by them.

setup() {
	NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
	cd "$BATS_TEST_TMPDIR" || return
}

# as_nobody COMMAND...: runs it as an ordinary user with only the capabilities that the calls need.
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+audit_read,+audit_write \
		--ambient-caps=-all,+audit_read,+audit_write "$@"
}

emitted() {
	cat /sys/kernel/kmes/cpu*/emitted_events
}

@test "calls on behalf of a process gain nothing from its exec of a set-user-ID program [A2]" {
	local before

	for cpu in 0 1 2 3; do taskset -c "$cpu" kmes-emit -t subject.secret k=v; done
	chmod 755 .
	install -m 4755 "$(type -P true)" as_root
	before=$(emitted)
	SET_USER_ID=./as_root "${NOBODY[@]}" subject_cases set-user-id
	[ "$(emitted)" = "$before" ]
}

@test "calls are allowed on behalf of a dumpable process of the same user, and no other" {
	as_nobody subject_cases same-user
	subject_cases tracer
}

@test "not on behalf of a process that has given up privileges [A2]" {
	subject_cases gave-up
}

@test "not on behalf of a process without an mm: a zombie, or one whose first thread has exited" {
	as_nobody subject_cases zombie headless
}

@test "capabilities in a user namespace have no effect [A2]" {
	as_nobody subject_cases outside
}

@test "a process has one GUID while the module is loaded, and another after a reload [E6]" {
	subject_cases reload
}

@test "alternating events of two processes have the right GUIDs [E6]" {
	subject_cases turns
}
