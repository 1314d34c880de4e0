# SPDX-License-Identifier: GPL-2.0-only OR MIT
# tracefs.bash - the running kernel's trace events for tests: followers, their instances,
# and cleanup.
# shellcheck shell=bash disable=SC2034,SC2154

TRACING=/sys/kernel/tracing
INSTANCES=$TRACING/instances

setup() {
	IN_VM=$(over_module && echo yes) || true
	[[ $(id -u) -eq 0 ]] || skip "not root"
	[[ -d $INSTANCES ]] || skip "no tracefs at $TRACING"
	# Mapping is new in 6.10.
	[[ $BATS_TEST_DESCRIPTION == *"too old"* ]] || is_new_enough ||
		skip "Linux $(uname -r) cannot map trace buffers"
	common_setup
	unset KMES_SOURCE
	MADE=()
	PROBES=()
	# A program that nothing else runs, not even another run of these tests.
	export PROG=./prog$$
	ln -s /bin/true "$PROG"
}
is_new_enough() { [[ $(printf '6.10\n%s\n' "$(uname -r)" | sort -V | head -n 1) == 6.10 ]]; }

teardown() {
	local made pid

	[[ -z ${OVERWRITE:-} ]] || echo "$OVERWRITE" >"$TRACING/options/overwrite"
	# Followers first, whose instances have enabled events; and those in pipes.
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

# Leftovers of killed followers: the tool removes them itself.
teardown_file() { "$KMES_BIN/kmes-dump" -S tracefs -sq >/dev/null 2>&1 || true; }

# set_overwrite 0|1: the global setting that new instances inherit, until the test ends.
# Concurrent tests wait for it.
set_overwrite() {
	exec 9<"$TRACING"
	flock 9
	OVERWRITE=$(cat "$TRACING/options/overwrite")
	echo "$1" >"$TRACING/options/overwrite"
}

# preloaded FAULT COMMAND...: with trace buffers of that fault, see tests/preload/oldtrace.c.
preloaded() {
	local fault=$1

	shift
	TRACE_FAULT=$fault LD_PRELOAD=$KMES_TOP/build/tests/preload/oldtrace.so "$@"
}
needs_preload() {
	preload_only
	[[ -e $KMES_TOP/build/tests/preload/oldtrace.so ]] || skip "the library to preload is not built"
}

# follow NAME EVENTS [OPTION...]: a follower that has enabled its events; its pid is
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

# From here on the follower's events are those of processes of this test: the machine's
# other events may be more than any reader can follow.
only_own_events() {
	echo 1 >"$INSTANCE/options/event-fork"
	echo "$BASHPID" >"$INSTANCE/set_event_pid"
	wait_until 60 is_drained
}

# The sum of one line of per_cpu/*/stats over all CPUs.
sum_stats() { awk -v key="$2" -F': ' '$1 == key { n += $2 } END { print n + 0 }' "$1"/per_cpu/*/stats; }

# The follower has read nearly everything; the rest are its own events.
is_drained() { (($(sum_stats "$INSTANCE" entries) < 2000)); }

# Creates an instance for the test; its folder is in $OWN.
make_instance() {
	OWN=$INSTANCES/test-$$-$BATS_TEST_NUMBER
	mkdir "$OWN"
	MADE+=("${OWN##*/}")
}

instances_of() { find "$INSTANCES" -maxdepth 1 -name "kmes-$1-*" | wc -l; }
