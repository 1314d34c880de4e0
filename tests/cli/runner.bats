#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# runner.bats - the test runner counts failures of every kind.

load helper

# program TEXT: runs a shell script by the test runner.
program() {
	printf '#!/bin/bash\n%s\n' "$1" >"$KMES_TMP/program"
	chmod +x "$KMES_TMP/program"
	run "$KMES_TOP/tests/run" "$KMES_TMP/program"
}

# Only the sum is on the last line.
assert_sum() { assert_equal "${lines[-1]}" "$1"; }

@test "run sums up passed tests and lists skipped ones with their reasons" {
	program 'echo 1..3; echo ok 1 - a; echo "ok 2 - b # SKIP no fuel"; echo ok 3 - c'
	assert_status 0
	assert_sum '2 passed, 0 failed, 1 skipped'
	assert_match "$output" 'skipped: given/[^:]*: b \(no fuel\)'
}

@test "run fails and shows the output when a test is not ok" {
	program 'echo 1..1; echo "not ok 1 - a"; echo "# because"; echo "and why" >&2; exit 1'
	assert_status 1
	assert_sum '0 passed, 1 failed, 0 skipped'
	assert_match "$output" '# because'
	assert_match "$output" 'and why'
	assert_match "$output" 'failed: given/[^:]*: a'
}

@test "run fails on a program that runs no test" {
	program 'echo 1..0'
	assert_status 1
	assert_match "$output" 'ran no test'
}

@test "run accepts an entire program skipped with a reason" {
	program 'echo "1..0 # SKIP no module"'
	assert_status 0
	assert_sum '0 passed, 0 failed, 1 skipped'
	assert_match "$output" 'no module'
}

@test "run fails on a crash after passed tests" {
	program 'echo 1..1; echo ok 1 - a; kill -SEGV $$'
	assert_status 1
	assert_sum '1 passed, 1 failed, 0 skipped'
	assert_match "$output" 'ended by SIGSEGV'
}

@test "run fails on a nonzero status after passed tests" {
	program 'echo 1..1; echo ok 1 - a; exit 3'
	assert_status 1
	assert_match "$output" 'ended with status 3'
}

@test "run fails on fewer tests than planned and on a missing plan" {
	program 'echo 1..2; echo ok 1 - a'
	assert_status 1
	assert_match "$output" 'planned 2 tests, ran 1'
	program 'echo ok 1 - a'
	assert_status 1
	assert_match "$output" 'printed no plan'
}

@test "run ends a program that takes too long, with its children" {
	export KMES_TEST_LIMIT=1
	program 'echo 1..1; sleep 300 & echo $! >"$HOME/pid"; wait'
	assert_status 1
	assert_match "$output" 'did not end within 1 s'
	wait_until 5 process_is_gone "$(cat pid)"
}

@test "run resets ignored signals for its programs" {
	program 'echo 1..1; grep -Eq "^SigIgn:.*[0-389ab]..[08]$" /proc/self/status && echo ok 1 - a'
	run env --ignore-signal=HUP,INT,QUIT,TERM "$KMES_TOP/tests/run" "$KMES_TMP/program"
	assert_sum '1 passed, 0 failed, 0 skipped'
}

@test "run understands cmocka's skips and several groups in one program" {
	program 'echo 1..1; echo ok 1 - a; echo 1..1; echo "# no fuel"; echo "not ok 1 # SKIP b"'
	assert_status 0
	assert_sum '1 passed, 0 failed, 1 skipped'
	assert_match "$output" ': b \(no fuel\)'
}

@test "run fails if there is nothing to run" {
	run "$KMES_TOP/tests/run" ./none
	assert_status 1
	assert_sum '0 passed, 1 failed, 0 skipped'
}
