#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# vm: --cpus 1 --accel "tcg,thread=single -icount shift=0,sleep=off"
# Instructions per event: `tests/vm/cost`.

# Compares the counts with the committed ones, allowing 5 % more; prints both to descriptor 3.
compare() {
	awk -v known="$1" '
		BEGIN { while ((getline line < known) > 0) { split(line, f); old[f[1]] = f[2] } }
		!($1 in old) { printf "# cost: %-16s %6d\n", $1, $2; next }
		{
			printf "# cost: %-16s %6d %6d %+6.1f %%\n", $1, $2, old[$1], 100 * $2 / old[$1] - 100
			if ($2 > 1.05 * old[$1]) worse = worse " " $1
		}
		END {
			if (worse) print "# these cost more than they did:" worse
			exit worse != ""
		}' >&3
}

@test "an event costs no more instructions than it did" {
	local release known
	release=$(uname -r)
	known=tests/vm/cost.$(cut -d. -f1-2 <<<"$release")
	insmod "$KMES_MODULES/kmes_cost.ko"
	if [ -n "${KMES_COST_FOREVER:-}" ]; then # see tests/vm/cost_profile
		grep -i ' t ' /proc/kallsyms | gzip | base64 -w 900 | sed 's/^/# symbols: /' >&3
		echo "# repeating $KMES_COST" >&3
	fi
	# shellcheck disable=SC2086 # names
	cost_count ${KMES_COST//,/ } >counted
	compare "$known" <counted
}
