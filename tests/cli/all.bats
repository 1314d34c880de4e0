#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# all.bats - behaviour common to every tool: help, usage errors, full disks, closed pipes.
# shellcheck disable=SC2154

load helper

TOOLS=(kmes-dump kmes-stat kmes-resize kmes-wait kmes-emit kmes-sim)

# Arguments with which each reader of rings ends, and with which it would not.
ONCE=("kmes-dump -s" "kmes-dump -sj" "kmes-stat" "kmes-stat -j" "kmes-stat -P" "kmes-stat -y"
	"kmes-resize" "kmes-resize -j" "kmes-resize -n 64K" "kmes-wait --surviving -t a")
FOLLOWING=("kmes-dump" "kmes-dump -t none" "kmes-stat 0.1" "kmes-stat 60" "kmes-wait -t none"
	"kmes-wait -n 100")

@test "all: help, usage and version go to stdout in one format" {
	local tool option

	for tool in "${TOOLS[@]}"; do
		for option in --help -h --usage; do
			run -0 --separate-stderr "$tool" $option
			assert_match "${lines[0]}" "^Usage: $tool "
			assert_equal "$stderr" ""
		done
		assert_match "$("$tool" --help)" '-V, --version'
		for option in --version -V; do
			run -0 --separate-stderr "$tool" $option
			assert_match "$output" "^$tool [0-9]+\.[0-9]+\.[0-9]+\$"
			assert_equal "$stderr" ""
		done
	done
}

@test "all: an invalid option is one line and a hint, before any run-time error" {
	local tool option

	export KMES_SOURCE=sim:$KMES_TMP/none
	for tool in "${TOOLS[@]}"; do
		for option in --nope --help=1 --versio -% $'--\e[31m\n'; do
			run --separate-stderr "$tool" "$option"
			assert_usage_error "^$tool: (unknown option|option takes no value): '"
			assert_equal "${#stderr_lines[@]}" 2
			assert_match "${stderr_lines[1]}" "^$tool: '$tool --help' lists the options\$"
			[[ $stderr != *$'\e'* ]]
		done
	done
	for tool in "${ONCE[@]}"; do
		# shellcheck disable=SC2086 # several arguments
		run --separate-stderr $tool --source=nowhere
		assert_usage_error "^${tool%% *}: --source: not a source: 'nowhere'\$"
	done
}

@test "all: no source is one line with a remedy, status 1" {
	local tool

	simulator_only "a source exists"
	for tool in "${ONCE[@]}" "kmes-emit -t a"; do
		# shellcheck disable=SC2086 # several arguments
		run --separate-stderr env -u KMES_SOURCE XDG_RUNTIME_DIR="$KMES_TMP" $tool
		assert_status 1
		assert_equal "$output" ""
		assert_equal "${#stderr_lines[@]}" 1
		assert_match "$stderr" "^${tool%% *}: no source of events: native: .*; dev: .*; sim: $KMES_TMP/kmes-sim.sock does not exist .*kmes-sim"
	done
}

@test "all: a socket of another program is reported as such" {
	local file

	simulator_only "needs the simulator"
	mkfifo fifo
	mkdir folder
	touch file
	for file in fifo folder file /dev/null; do
		run --separate-stderr kmes-stat -S "sim:$file"
		assert_status 1
		assert_equal "$stderr" "kmes-stat: $file is not a simulator's socket"
	done
}

@test "all: a missing permission is one line, status 1" {
	local tool

	rings_start --deny=attach
	for tool in "${ONCE[@]}" "kmes-wait --timeout=0 touch ran"; do
		# shellcheck disable=SC2086 # several arguments
		run --separate-stderr $tool
		assert_status 1
		assert_equal "$output" ""
		assert_equal "${#stderr_lines[@]}" 1
		assert_match "$stderr" "^${tool%% *}: .*(denies|ermitted)"
	done
	[[ ! -e ran ]]
}

@test "all: a full disk is an error that names the output, with status 1" {
	local tool

	rings_start --slots=1
	kmes-emit -t a
	for tool in "${ONCE[@]}" "kmes-dump" "kmes-stat 0.1" "kmes-wait --surviving -n 100"; do
		run --separate-stderr timeout 10 bash -c "exec $tool >/dev/full"
		assert_status 1
		assert_match "$stderr" \
			"${tool%% *}: standard output: cannot write: No space left on device"
		# So is a file at its size limit.
		run timeout 10 bash -c "ulimit -f 0; exec $tool 2>&1 >file"
		assert_status 1
		assert_match "$output" "${tool%% *}: standard output: cannot write: File too large"
	done
}

@test "all: a closed pipe ends it silently with 0, SIGPIPE ignored or not" {
	local tool ignore

	rings_start --slots=1
	kmes-emit -t a
	for ignore in ":" "trap '' PIPE"; do
		for tool in "${ONCE[@]}" "${FOLLOWING[@]}" "kmes-wait --help"; do
			# Closed from the start.
			run --separate-stderr timeout 10 bash -c "$ignore
				{ sleep 0.1; $tool; } 2>err | true; echo \${PIPESTATUS[0]}"
			assert_output 0
			run ! grep -v '^kmes-dump: source\|events,' err
		done
	done
}

@test "all: a closed terminal ends it silently with 0, also while it prints" {
	local tool

	simulator_only "the guest has no python"
	rings_start --slots=1 --load=1000
	for tool in "kmes-dump -q" "kmes-wait -n 1000000" "kmes-stat 0.001"; do
		# Unread output fills the terminal, so that the tool blocks in write(2).
		# shellcheck disable=SC2086 # several arguments
		run --separate-stderr python '
import pty, subprocess
ours, theirs = pty.openpty()
tool = subprocess.Popen(["env", "--ignore-signal=HUP"] + sys.argv[1:], stdin=theirs, stdout=theirs)
os.close(theirs)
assert os.read(ours, 1)
time.sleep(0.5)
os.close(ours)
try:
    sys.exit(tool.wait(20))
finally:
    tool.kill()
' $tool
		assert_status 0
		assert_equal "$stderr" ""
	done
}

@test "all: descriptors closed at startup are not reused for others" {
	local tool

	rings_start --slots=1
	kmes-emit -t a
	for tool in "${ONCE[@]}"; do
		run --separate-stderr bash -c "exec $tool >&-"
		assert_status 1
		assert_match "$stderr" 'standard output: cannot write: Bad file descriptor'
		run -0 --separate-stderr bash -c "exec $tool 2>&- <&-"
		[[ -n $output ]]
		run --separate-stderr bash -c "exec $tool >&- 2>&- <&-"
		assert_status 1
	done
	# Nothing was written into a ring.
	assert_equal "$(kmes-stat -j | jq .totals.total)" 1
}

@test "all: more rings than the usual limit of open files" {
	local tool

	simulator_only "too few CPUs"
	(($(ulimit -Hn) >= 4096)) || skip "the limit cannot be raised"
	rings_start --slots=1024 --capacity=64K
	ulimit -Sn 1024
	for tool in "kmes-stat -j" "kmes-resize -n 128K" "kmes-dump -sq" "kmes-emit -t a" "kmes-wait --idle-for=0"; do
		# shellcheck disable=SC2086 # several arguments
		run --separate-stderr -0 $tool
		assert_equal "$stderr" ""
	done
	# Commands do not inherit it.
	run -124 kmes-wait -q --timeout=0.5 sh -c 'ulimit -Sn'
	assert_output 1024
}

@test "all: signals ignored at startup stay ignored" {
	local tool

	rings_start --slots=1
	for tool in "kmes-dump -d 1" "kmes-stat 0.3 4" "kmes-wait --idle-for=1" "kmes-emit -t a -n 11 -R 10"; do
		# shellcheck disable=SC2086 # several arguments
		background one env --ignore-signal=INT,TERM $tool
		wait_until 10 grep -qx -e "${tool%% *}" -e kmes-run "/proc/$!/comm"
		sleep 0.3
		kill -INT $!
		kill -TERM $!
		end_of $!
		assert_status 0
	done
}

@test "all: a signal ends it while it waits for a stalled simulator" {
	local tool pid

	simulator_only "needs the simulator"
	rings_start --slots=40
	for tool in "kmes-stat 0.2" "kmes-stat -j 0.2" "kmes-dump" "kmes-wait -t none"; do
		# shellcheck disable=SC2086 # several arguments
		background one $tool
		pid=$!
		sleep 0.5
		kill -STOP "$SIM_PID"
		# Long enough for kmes-stat to send a request, which would time out after 5 s.
		sleep 0.5
		kill -INT $pid
		end_of $pid 3
		kill -CONT "$SIM_PID"
		case $tool in
		kmes-wait*) assert_status 130 ;;
		*) assert_status 0 ;;
		esac
		run ! grep -v '^kmes-dump: ' one.err
	done
}

@test "all: a signal ends it while a simulator stalls before its greeting" {
	local tool

	simulator_only "needs the simulator"
	rings_start --slots=1
	kill -STOP "$SIM_PID"
	for tool in "kmes-stat" "kmes-stat 1" "kmes-dump" "kmes-dump -s" "kmes-wait" "kmes-resize" "kmes-emit -t a"; do
		# shellcheck disable=SC2086 # several arguments
		background one $tool
		wait_until 10 grep -qx "${tool%% *}" "/proc/$!/comm"
		sleep 0.3
		kill -INT $!
		end_of $! 3
		assert_status 130
		[ ! -s one.err ]
	done
	kill -CONT "$SIM_PID"
}

@test "all: a stalled simulator is reported once, and a table waits for it once per sample" {

	simulator_only "needs the simulator"
	rings_start --slots=20
	background stat kmes-stat -j 0.5 3
	wait_for_lines stat.out 1
	kill -STOP "$SIM_PID"
	# 5 s for the sample, not for each of its rings.
	wait_for_lines stat.out 2 15
	kill -CONT "$SIM_PID"
	end_of $! 10
	assert_status 0
	assert_equal "$(jq -c '[.rings[19]|.total,.wakeups]' stat.out | paste -sd' ')" '[0,0] [0,null] [0,0]'
}

@test "all: output that fails only at close is an error" {
	local tool

	preload_only
	rings_start --slots=1
	kmes-emit -t a
	export FAIL_CALL=close FAIL_NAME=/printed
	for tool in "${ONCE[@]}" "kmes-dump --help"; do
		# shellcheck disable=SC2086 # several arguments
		run --separate-stderr bash -c "exec env LD_PRELOAD=$KMES_TOP/build/tests/preload/failio.so $tool >printed"
		assert_status 1
		assert_match "$stderr" "${tool%% *}: standard output: cannot write: Input/output error"
		[ -s printed ]
	done
}
