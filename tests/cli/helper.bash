# SPDX-License-Identifier: GPL-2.0-only OR MIT
# helper.bash - what the bats files of all tools share; each begins with `load helper`.
# shellcheck shell=bash disable=SC2154
#
# The same files run over the simulator and, in a virtual machine, over the module: there
# KMES_SOURCE is `dev`, or `native`, and KMES_MODULE names kmes.ko. A test asks for its rings with
#
#	rings_start [--capacity=64K] [--slots=N] [--max-event-size=N] ...
#
# which takes kmes-sim's options. Over the module it is loaded anew with the parameters
# that correspond, and --load is made by kmes-emit; options that only a simulator can keep
# (--holes, --deny, --demo, more slots than CPUs) skip the test with that reason. With fewer slots asked for than there
# are CPUs the test is kept to the first ones: the other rings are there and stay empty; a
# test that minds asks for `exact_slots` first. For such tests take a while they run on demand
# alone (KMES_TEST_LEVEL=full). Everything is stopped by the teardown below; a file with a
# teardown of its own calls `common_teardown` in it.

bats_require_minimum_version 1.5.0

KMES_TOP=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
: "${KMES_BIN:=$KMES_TOP/build/bin}"
export KMES_BIN
PATH=$KMES_BIN:$KMES_TOP/build/tools/bin:$PATH

# Whether this run is over the module.
over_module() { [[ ${KMES_SOURCE:-} == dev* ]] || over_native_calls; }

# For a test that preloads a library into the tools.
preload_only() {
	[[ $KMES_BIN != */asan/* ]] || skip "the sanitizer comes before what is preloaded"
}

# Whether it is by the native calls: each tool is run by kmes-run.
over_native_calls() { [[ ${KMES_SOURCE:-} == native ]]; }

# tool_of PID: the tool itself; by the native calls PID is kmes-run, its parent.
tool_of() {
	if over_native_calls; then
		pgrep -P "$1" | head -n 1
	else
		echo "$1"
	fi
}

# Skip, with the reason given, what the module cannot offer.
simulator_only() { ! over_module || skip "over the module: $1"; }

# exact_slots N: skip where there is another number of rings.
exact_slots() {
	[[ $1 -eq $(nproc --all) ]] || simulator_only "exactly $1 rings"
}

common_setup() {
	KMES_TMP=$(mktemp -d "${TMPDIR:-/tmp}/kmes-test.XXXXXX")
	KMES_PIDS=()
	LOAD_PIDS=()
	over_module || unset KMES_SOURCE
	unset XDG_RUNTIME_DIR NO_COLOR
	export HOME=$KMES_TMP
	cd "$KMES_TMP" || return 1
}

common_teardown() {
	local pid

	if [[ -z ${BATS_TEST_COMPLETED:-} && -z ${BATS_TEST_SKIPPED:-} ]]; then
		show_last_run
	fi
	for pid in "${KMES_PIDS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	KMES_PIDS=()
	cd / && rm -rf "$KMES_TMP"
}

setup() { common_setup; }
teardown() { common_teardown; }

# What a failed test leaves to look at: the last command of `run`, and background output.
show_last_run() {
	local file

	if [[ -n ${BATS_RUN_COMMAND:-} ]]; then
		echo "command: $BATS_RUN_COMMAND"
		echo "status: ${status:-}"
		echo "output: ${output:-}"
		[[ -z ${stderr:-} ]] || echo "stderr: $stderr"
	fi
	for file in "$KMES_TMP"/*.err; do
		[[ ! -s $file ]] || sed "s|^|${file##*/}: |" "$file" | tail -n 20
	done
}

# background NAME COMMAND...: start it with its output in NAME.out and NAME.err; its
# process id is in $! afterwards. A background command of bash would ignore SIGINT.
background() {
	local name=$1

	shift
	# Empty now: who waits for output must not see that of an earlier one.
	: >"$KMES_TMP/$name.out"
	: >"$KMES_TMP/$name.err"
	env --default-signal=INT,QUIT,PIPE -- "$@" \
		>"$KMES_TMP/$name.out" 2>"$KMES_TMP/$name.err" 3>&- </dev/null &
	KMES_PIDS+=($!)
}

# flood_start: events without end for CPU 0, in batches larger than a ring of 64K.
flood_start() {
	# shellcheck disable=SC2016 # for the inner shell
	background flood bash -c 'while kmes-emit -c 0 -n 100000 -B 256 -t flood "fill=$0"; do :; done' \
		"$(printf '%0900d' 0)"
}

# wait_until SECONDS COMMAND...: try until it succeeds; longer where the machine is known to be slow.
wait_until() {
	local end=$((SECONDS + $1 * ${KMES_PATIENCE:-1} + 1))

	shift
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS > end)); then
			echo "not within the time: $*"
			return 1
		fi
		sleep 0.05
	done
}

# wait_for_line FILE PATTERN [SECONDS]: until a line of FILE matches (grep -E).
wait_for_line() { wait_until "${3:-10}" grep -Eq -- "$2" "$1"; }

# wait_for_lines FILE COUNT [SECONDS]: until FILE has at least COUNT lines.
wait_for_lines() { wait_until "${3:-10}" has_lines "$1" "$2"; }
has_lines() { (($(wc -l <"$1") >= $2)); }

# end_of PID [SECONDS]: wait for a background process; its status is in $status. One that
# does not end in time fails the test.
end_of() {
	wait_until "${2:-10}" process_is_gone "$1" || return 1
	status=0
	wait "$1" || status=$?
}
process_is_gone() {
	[[ ! -e /proc/$1 || $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) == Z* ]]
}

assert_status() {
	if [[ $status -ne $1 ]]; then
		echo "expected status $1, got $status"
		return 1
	fi
}

# assert_equal ACTUAL EXPECTED
assert_equal() {
	if [[ $1 != "$2" ]]; then
		printf 'expected: %s\nactual:   %s\n' "$2" "$1"
		return 1
	fi
}

assert_output() { assert_equal "$output" "$1"; }

# assert_match TEXT REGEX
assert_match() {
	if ! [[ $1 =~ $2 ]]; then
		printf 'expected a match of: %s\nactual: %s\n' "$2" "$1"
		return 1
	fi
}

# A usage error: status 2, one line about what is wrong naming the text given, nothing on
# stdout. Run the command with `run --separate-stderr`.
assert_usage_error() {
	assert_status 2 && assert_equal "$output" "" && assert_match "${stderr_lines[0]}" "$1"
}

rings_start() {
	if over_module; then
		module_start "$@"
	else
		sim_start "$@"
	fi
}

sim_start() {
	simulator_only "needs the simulator"
	background sim "$KMES_BIN/kmes-sim" --socket="$KMES_TMP/sock" "$@"
	SIM_PID=$!
	wait_until 10 sim_is_ready_or_gone || return 1
	grep -q '^kmes-sim: ready on ' "$KMES_TMP/sim.out" || return 1
	export KMES_SOURCE=sim:$KMES_TMP/sock
}

sim_is_ready_or_gone() {
	grep -q '^kmes-sim: ready on ' "$KMES_TMP/sim.out" || process_is_gone "$SIM_PID"
}

# python SCRIPT [ARG...]: with the simulator's protocol at hand, see tests/lib/simsock.py.
python() {
	local script=$1

	shift
	PYTHONPATH=$KMES_TOP/tests/lib python3 -c "from simsock import *; import sys, time
$script" "$@"
}

sim_stop() {
	simulator_only "the module cannot end"
	kill -TERM "$SIM_PID"
	end_of "$SIM_PID"
}

# module_slots N: what this test starts from here on emits on the first N CPUs alone.
module_slots() {
	local cpus

	cpus=$(nproc --all)
	[[ $1 -le $cpus ]] || skip "over the module: --slots=$1 on $cpus CPUs"
	[[ $1 -eq $cpus || ${KMES_TEST_LEVEL:-} == full ]] || skip "over the module: on demand"
	taskset -cp "0-$(($1 - 1))" "$BASHPID" >/dev/null
}

# load_start RATE SLOTS: so many events a second, over the first SLOTS CPUs.
load_start() {
	local cpu

	for ((cpu = 0; cpu < $2; cpu++)); do
		background "load$cpu" kmes-emit -c "$cpu" -R $(($1 / $2)) -n 1000000000 -t sim.load n:=1
		LOAD_PIDS+=($!)
	done
}

load_stop() {
	local pid

	for pid in "${LOAD_PIDS[@]}"; do
		kill "$pid" && end_of "$pid"
	done
	LOAD_PIDS=()
}

module_start() {
	local option value load=0 slots params=()

	slots=$(nproc --all)

	for option; do
		value=${option#*=}
		case $option in
		--capacity=*) params+=("buffer_capacity=$(numfmt --from=iec "${value%iB}")") ;;
		--max-event-size=*) params+=("max_event_size=$(numfmt --from=iec "${value%iB}")") ;;
		--max-nesting-depth=*) params+=("max_nesting_depth=$value") ;;
		--max-emit-rate=*) params+=("max_emit_rate_per_process=$value") ;;
		--slots=*) slots=$value && module_slots "$value" ;;
		--load=*) load=$value ;;
		--exempt) ;;
		*) skip "over the module: $option" ;;
		esac
	done
	if [[ -z ${KMES_MODULE:-} ]]; then
		echo "KMES_MODULE does not name the module"
		return 1
	fi
	load_stop
	# What an earlier test has killed may take a moment to end.
	[[ ! -e /sys/module/kmes ]] || wait_until 30 rmmod kmes || return 1
	insmod "$KMES_MODULE" "${params[@]}" || return 1
	[[ $load == 0 ]] || load_start "$load" "$slots"
	! over_native_calls || assert_equal "$(kmes-stat -j | jq -r .source)" native
}
