#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# run.bats - kmes-run without the module; tests/vm/native.bats has the rest.

load helper

setup() {
	common_setup
	[[ ! -e /dev/kmes ]] || skip "/dev/kmes exists"
}

@test "kmes-run without the module prints one line, returns 125 and runs nothing" {
	run --separate-stderr kmes-run touch ran
	assert_status 125
	assert_output ""
	assert_equal "$stderr" "kmes-run: /dev/kmes: No such file or directory (is kmes.ko loaded?)"
	[[ ! -e ran ]]
}

@test "kmes-run returns 125 for usage errors and other failures" {
	run --separate-stderr kmes-run
	assert_status 125
	assert_output ""
	assert_equal "${stderr_lines[0]}" "kmes-run: no program is given"
	run --separate-stderr kmes-run --no-such-option touch ran
	assert_status 125
	assert_match "${stderr_lines[0]}" "--no-such-option"
	[[ ! -e ran ]]
}

@test "kmes-run parses options only up to the program's name" {
	run --separate-stderr kmes-run touch --help
	assert_status 125
	assert_match "$stderr" "is kmes.ko loaded"
	run kmes-run --version
	assert_status 0
	assert_match "$output" '^kmes-run [0-9.]+$'
}
