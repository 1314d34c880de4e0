#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# examples.bats - the examples in README.md and the manual pages run and print what they show.

load helper

# stub NAME COMMAND: a program that an example mentions, for this test.
stub() {
	mkdir -p stubs
	printf '#!/bin/sh\n%s\n' "$2" >"stubs/$1"
	chmod +x "stubs/$1"
}

# Each number as 0, also one that is not available, each string as "", each run of blanks as one.
shape_of() {
	sed -E 's/[0-9]+(\.[0-9]+s)?/0/g; s/"[^"]*"/""/g; s/ +/ /g; s/ (yes|no) / no /g; s/ -/ 0/g'
}

# run_example COMMAND: for two seconds, as a follower never ends. A simulator is running.
run_example() {
	local command=${1//\/var\/log\/kmes/$KMES_TMP}

	command=${command% &}
	run timeout 2 bash -o pipefail -c "${command/--daemon /}"
}

# as_expected COMMAND: checks its status, or without the module its message.
as_expected() {
	case $1:$status in
	*:0 | *:124) ;;
	kmes-run*:125) [[ $output == *'kmes.ko loaded?'* ]] ;;
	*tracefs*:1) [[ $output == *trac* ]] ;;
	*) false ;;
	esac
}

@test "each example in README and manual pages runs" {
	sim_start --slots=2 --demo --capacity=64K
	export XDG_RUNTIME_DIR=$KMES_TMP
	stub ssh 'shift; exec "$@"'
	stub systemctl 'kmes-emit -t app.ready'
	stub collector 'kmes-stat'
	stub consumer 'kmes-stat'
	PATH=$KMES_TMP/stubs:$PATH
	cp stubs/collector stubs/consumer .
	kmes-dump -s -w old.kmes

	local command failed=0
	while read -r command; do
		run_example "$command"
		as_expected "$command" && continue
		printf 'status %s: %s\n%s\n' "$status" "$command" "$output"
		failed=1
	done < <(cd "$KMES_TOP" && tests/lib/examples README.md man/*.1)
	[[ $failed == 0 ]]
}

@test "the first example of README shows what its commands print" {
	local shown
	shown=$(sed -n '/^```console$/,/^```$/{ //!p }' "$KMES_TOP/README.md")
	assert_match "$shown" 'kmes-dump: 3 of [0-9]+ events, 0 lost'
	assert_equal "$(shape_of <<<"$shown")" "$("$KMES_TOP/doc/session" | shape_of)"
}

@test "README and NEWS name the version that the programs show" {
	local version
	version=$("$KMES_BIN/kmes-dump" --version)
	version=${version##* }
	grep -q "^| Version | $version\b" "$KMES_TOP/README.md"
	assert_match "$(sed -n 3p "$KMES_TOP/NEWS")" "^$version( |\$)"
}
