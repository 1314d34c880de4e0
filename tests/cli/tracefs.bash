# SPDX-License-Identifier: GPL-2.0-only OR MIT
# tracefs.bash - the running kernel's own trace events for tests: followers of them, their
# instances, and what goes again at the end.
# shellcheck shell=bash disable=SC2034,SC2154

TRACING=/sys/kernel/tracing
INSTANCES=$TRACING/instances

setup() {
	IN_VM=$(over_module && echo yes) || true
	[[ $(id -u) -eq 0 ]] || skip "not root"
	[[ -d $INSTANCES ]] || skip "no tracefs at $TRACING"
	# 6.10 brought the mapping.
	[[ $BATS_TEST_DESCRIPTION == *"too old"* ]] || is_new_enough ||
		skip "Linux $(uname -r) cannot map trace buffers"
	common_setup
	unset KMES_SOURCE
	MADE=()
	PROBES=()
	# A program that nobody else starts, these tests in another run neither.
	export PROG=./prog$$
	ln -s /bin/true "$PROG"
}
is_new_enough() { [[ $(printf '6.10\n%s\n' "$(uname -r)" | sort -V | head -n 1) == 6.10 ]]; }

teardown() {
	local made pid

	[[ -z ${OVERWRITE:-} ]] || echo "$OVERWRITE" >"$TRACING/options/overwrite"
	# Followers first, whose instances have events switched on; and those in pipes.
	for pid in "${KMES_PIDS[@]}"; do
		pkill -KILL -P "$pid" kmes-dump || true
	done
	common_teardown
	for made in "${MADE[@]}"; do
		wait_until 5 is_removed "$made" || true
	done
	for made in "${PROBES[@]}"; do
		[[ ! -d $TRACING/events/$made ]] || echo "-:$made" >>"$TRACING/uprobe_events" || true
	done
}

is_removed() { [[ ! -d $INSTANCES/$1 ]] || rmdir "$INSTANCES/$1"; }

# What killed followers have left behind: the tool removes it itself.
teardown_file() { "$KMES_BIN/kmes-dump" -S tracefs -sq >/dev/null 2>&1 || true; }

# set_overwrite 0|1: of the machine's own settings the one that new instances inherit, until
# the test ends. Others who want that wait.
set_overwrite() {
	exec 9<"$TRACING"
	flock 9
	OVERWRITE=$(cat "$TRACING/options/overwrite")
	echo "$1" >"$TRACING/options/overwrite"
}

# preloaded FAULT COMMAND...: with trace buffers that have it, see tests/preload/oldtrace.c.
preloaded() {
	local fault=$1

	shift
	TRACE_FAULT=$fault LD_PRELOAD=$KMES_TOP/build/tests/preload/oldtrace.so "$@"
}
needs_preload() {
	preload_only
	[[ -e $KMES_TOP/build/tests/preload/oldtrace.so ]] || skip "nothing to preload here"
}

# follow NAME EVENTS [OPTION...]: a follower that has switched its events on; its pid is
# in $FOLLOWER, its instance's folder in $INSTANCE.
follow() {
	local name=$1 events=$2

	shift 2
	background "$name" kmes-dump -S "tracefs:$events" "$@"
	FOLLOWER=$!
	wait_until 60 follower_is_ready "${events%%,*}"
	INSTANCE=$(echo "$INSTANCES/kmes-$FOLLOWER-"*)
}
follower_is_ready() {
	local mapped

	mapped=$(grep -c trace_pipe_raw "/proc/$FOLLOWER/maps") || true
	[[ $mapped -eq $(online_cpus | wc -l) ]]
}
online_cpus() { tr , '\n' </sys/devices/system/cpu/online | awk -F- '{ for (i = $1; i <= $NF; i++) print i }'; }

# From here on the follower's events are those of what this test starts: the machine's
# others may be more than any reader keeps up with.
only_own_events() {
	echo 1 >"$INSTANCE/options/event-fork"
	echo "$BASHPID" >"$INSTANCE/set_event_pid"
	wait_until 60 is_drained
}

# The sum of one line of per_cpu/*/stats over all CPUs.
sum_stats() { awk -v key="$2" -F': ' '$1 == key { n += $2 } END { print n + 0 }' "$1"/per_cpu/*/stats; }

# The follower has read nearly all there is; what it has not is its own doing's.
is_drained() { (($(sum_stats "$INSTANCE" entries) < 2000)); }

# Makes an instance of the test's own; its folder is in $OWN.
make_instance() {
	OWN=$INSTANCES/test-$$-$BATS_TEST_NUMBER
	mkdir "$OWN"
	MADE+=("${OWN##*/}")
}

instances_of() { find "$INSTANCES" -maxdepth 1 -name "kmes-$1-*" | wc -l; }
