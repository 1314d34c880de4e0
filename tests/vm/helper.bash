# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# helper.bash - what several test files use.

# until_there FILE: waits for it, up to 60 s.
until_there() {
	for _ in $(seq 600); do
		[[ ! -e $1 ]] || return 0
		sleep 0.1
	done
	echo "no $1 within 60 s"
	return 1
}
