#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# completion.bats - bash completion of the tools' arguments.

load helper

offer() { run "$KMES_TOP/tests/lib/complete" "$@"; }

@test "completion offers the options with the word's prefix" {
	offer kmes-dump --rot
	assert_output $'--rotate-size=\n--rotate-time='
}

@test "completion offers an option's values after = and after its letter" {
	offer kmes-dump --order = ''
	assert_output $'time\ncpu'
	offer kmes-dump -O t
	assert_output time
}

@test "completion offers files where a capture is expected" {
	touch day.kmes
	offer kmes-dump d
	assert_output day.kmes
	offer kmes-dump -w d
	assert_output day.kmes
}

@test "completion offers sizes to kmes-resize and nothing after a free value" {
	offer kmes-resize 6
	assert_output $'64K\n64M'
	offer kmes-dump -n ''
	assert_output ''
}
