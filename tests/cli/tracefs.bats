#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2154 # bats assigns stderr
# The tracefs source: the tools over the running kernel's own trace events.

load helper

TRACING=/sys/kernel/tracing
INSTANCES=$TRACING/instances

setup() {
	simulator_only "the tracefs source needs no module"
	[[ $(id -u) -eq 0 ]] || skip "not root"
	[[ -d $INSTANCES ]] || skip "no tracefs at $TRACING"
	# 6.10 brought the mapping.
	[[ $(printf '6.10\n%s\n' "$(uname -r)" | sort -V | head -n 1) == 6.10 ]] ||
		skip "Linux $(uname -r) cannot map trace buffers"
	common_setup
	unset KMES_SOURCE
	MADE=()
}

teardown() {
	local instance

	for instance in "${MADE[@]}"; do
		wait_until 5 rmdir "$INSTANCES/$instance" || true
	done
	common_teardown
}

# follow NAME EVENTS [OPTION...]: a follower that has switched its events on; its pid is
# in $FOLLOWER, its instance's folder in $INSTANCE.
follow() {
	local name=$1 events=$2

	shift 2
	background "$name" kmes-dump -S "tracefs:$events" "$@"
	FOLLOWER=$!
	wait_until 10 follower_is_ready "${events%%,*}"
	INSTANCE=$(echo "$INSTANCES/kmes-$FOLLOWER-"*)
}
follower_is_ready() {
	local mapped

	mapped=$(grep -c trace_pipe_raw "/proc/$FOLLOWER/maps") || true
	[[ $mapped -eq $(getconf _NPROCESSORS_ONLN) ]]
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

@test "tracefs: known commands show with file name and pid, in time order [T2 T3 T6]" {
	local i

	for i in {01..20}; do ln -s /bin/true "prog$i"; done
	follow d sched/sched_process_exec -j -m "filename=./prog*" -n 20
	for i in {01..20}; do
		"./prog$i" &
		echo $! >>pids
		wait $!
	done
	end_of "$FOLLOWER"
	assert_status 0
	assert_equal "$(jq -r '.payload.filename' d.out)" "$(printf './prog%s\n' {01..20})"
	assert_equal "$(jq -r '.payload.pid' d.out)" "$(cat pids)"
	assert_equal "$(jq -r '.type + " " + .origin' d.out | sort -u)" "ftrace.sched.sched_process_exec trace"
	assert_equal "$(jq -r '.ts_ns' d.out)" "$(jq -r '.ts_ns' d.out | sort -n)"
}

@test "tracefs: a few events show at once, through grep too" {
	local started

	background g bash -c "kmes-dump -S tracefs:sched/sched_process_exec | grep --line-buffered '\"./three'"
	wait_until 10 has_follower_in "$!"
	sleep 0.3
	ln -s /bin/true three
	started=$(date +%s%N)
	./three && ./three && ./three
	wait_for_lines "$KMES_TMP/g.out" 3 5
	# 100 ms are the aim; a loaded machine and the looks of this test get some more.
	(($(date +%s%N) - started < 1000000000))
	kill "$(pgrep -P "${KMES_PIDS[0]}" kmes-dump)"
	end_of "${KMES_PIDS[0]}"
}
has_follower_in() { grep -q trace_pipe_raw "/proc/$(pgrep -P "$1" kmes-dump)/maps"; }

@test "tracefs: time stamps are those of the clock, to a millisecond" {
	local before after ts

	follow d sched/sched_process_exec -j -m "filename=./stamp" -n 1
	ln -s /bin/true stamp
	before=$(date +%s%N)
	./stamp
	after=$(date +%s%N)
	end_of "$FOLLOWER"
	ts=$(jq .ts_ns d.out)
	((ts > before - 1000000 && ts < after + 1000000))
}

@test "tracefs: 100000 records equal the kernel's own text of them, field by field [T4]" {
	local pid prog

	cat >calls.py <<-'END'
		import ctypes, os, time
		syscall = ctypes.CDLL(None).syscall
		print(os.getpid(), flush=True)
		open("go").read()
		for i in range(100000):
		    a = ctypes.c_ulong(i)
		    syscall(110, a, ctypes.c_ulong(i * i), ctypes.c_ulong(2**64 - 1 - i), a, a, ctypes.c_ulong(1 << i % 64))
		    if i % 1000 == 999:
		        time.sleep(0.005)
	END
	mkfifo go
	background prog python3 calls.py
	prog=$!
	wait_for_lines prog.out 1
	pid=$(cat prog.out)
	make_instance
	echo 24576 >"$OWN/buffer_size_kb"
	echo "$pid" >"$OWN/set_event_pid"
	echo 'id == 110' >"$OWN/events/raw_syscalls/sys_enter/filter"
	echo 1 >"$OWN/events/raw_syscalls/sys_enter/enable"
	follow d raw_syscalls/sys_enter -j -m "common_pid=$pid" -m id=110
	echo >go
	end_of "$prog" 60
	wait_until 20 is_drained
	kill "$FOLLOWER"
	end_of "$FOLLOWER"
	assert_status 0
	grep -q ' 0 lost' d.err || skip "too busy a machine to read all of it: $(tail -n 1 d.err)"
	echo 0 >"$OWN/events/raw_syscalls/sys_enter/enable"
	# As "NR 110 (0, 0, ffffffffffffffff, 0, 0, 1)".
	sed -n 's/.*sys_enter: NR 110 (\(.*\))$/\1/p' "$OWN/trace" >theirs
	assert_equal "$(wc -l <theirs)" 100000
	python3 - <<-'END'
		import json
		theirs = open("theirs").read().splitlines()
		ours = [json.loads(line)["payload"] for line in open("d.out")]
		assert len(ours) == len(theirs), (len(ours), len(theirs))
		for o, t in zip(ours, theirs):
		    assert [int(v, 16) for v in t.split(", ")] == o["args"], (o, t)
	END
}

@test "tracefs: a reader that was stopped twice tells what the kernel overwrote [T8]" {
	local i lost overrun

	follow d raw_syscalls/sys_enter -T none
	for i in 1 2; do
		kill -STOP "$FOLLOWER"
		dd if=/dev/zero of=/dev/null bs=1 count=150000 status=none
		kill -CONT "$FOLLOWER"
		wait_until 20 is_drained
	done
	echo 0 >"$INSTANCE/events/raw_syscalls/sys_enter/enable"
	wait_until 20 is_drained
	# Behind the last loss stands a record at the latest now.
	echo 1 >"$INSTANCE/events/raw_syscalls/sys_enter/enable"
	for i in $(getconf _NPROCESSORS_ONLN | xargs seq 0 | head -n -1); do
		taskset -c "$i" true 2>/dev/null || true
	done
	echo 0 >"$INSTANCE/events/raw_syscalls/sys_enter/enable"
	wait_until 20 is_drained
	overrun=$(sum_stats "$INSTANCE" overrun)
	kill "$FOLLOWER"
	end_of "$FOLLOWER"
	((overrun > 100000))
	lost=$(sed -n 's/^--- cpu[0-9]*: lost \([0-9]*\) events.*/\1/p' d.out | awk '{ n += $1 } END { print n + 0 }')
	assert_equal "$lost" "$overrun"
	# Each number once, none inside a gap: events and gaps follow one another exactly.
	awk '
		/^---/ { cpu = $2; sub(":", "", cpu); split($6, r, /[(#)-]+/); if (r[2] != last[cpu] + 1) bad++; last[cpu] = r[3]; next }
		{ n = substr($2, 2) + 0; if (n != last[$1] + 1) bad++; last[$1] = n }
		END { print bad + 0 }' d.out >bad
	assert_equal "$(cat bad)" 0
}

@test "tracefs: the instance is gone after each end, and its settings are as wanted [T6]" {
	local pid

	follow d sched
	pid=$FOLLOWER
	assert_equal "$(cat "$INSTANCE/buffer_percent")" 0
	assert_match "$(cat "$INSTANCE/trace_clock")" '\[mono\]'
	assert_equal "$(instances_of "$pid")" 1
	kill -INT "$pid"
	end_of "$pid"
	assert_status 0
	assert_equal "$(instances_of "$pid")" 0
	background h kmes-dump -S tracefs:sched/sched_no_such
	pid=$!
	end_of "$pid"
	assert_status 1
	assert_equal "$(instances_of "$pid")" 0
	background u kmes-dump -S tracefs:sched -c 4095
	pid=$!
	end_of "$pid"
	assert_status 2
	assert_equal "$(instances_of "$pid")" 0
}

@test "tracefs: what a kill leaves goes with the next run, a running one stays [T6]" {
	local killed running

	follow r sched/sched_process_exec -m "filename=./after" -n 1 -T none
	running=$FOLLOWER
	follow d sched
	killed=$FOLLOWER
	kill -KILL "$killed"
	status=0
	wait "$killed" || status=$?
	assert_equal "$(instances_of "$killed")" 1
	run -0 kmes-dump -S tracefs -sq
	assert_equal "$(instances_of "$killed")" 0
	assert_equal "$(instances_of "$running")" 1
	ln -s /bin/true after
	./after
	end_of "$running"
	assert_status 0
	assert_match "$(cat r.out)" 'filename: "./after"'
}

@test "tracefs: an instance that only looks like a left-over stays" {
	mkdir "$INSTANCES/kmes-x-1" "$INSTANCES/kmes-1-1x"
	MADE+=(kmes-x-1 kmes-1-1x)
	run -0 kmes-dump -S tracefs -sq
	[[ -d $INSTANCES/kmes-x-1 && -d $INSTANCES/kmes-1-1x ]]
}

@test "tracefs: unknown events, with the nearest names" {
	run --separate-stderr kmes-dump -S tracefs:sched/sched_proces_exec
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: no such event: 'sched/sched_proces_exec'; near it: sched/sched_process_exec, sched/sched_process_exit, sched/sched_process_free"
	run --separate-stderr kmes-dump -S tracefs:sched,qwertzuiop
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: no such event: 'qwertzuiop'"
	run --separate-stderr kmes-dump -S tracefs:sched,,irq
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: an empty name in 'sched,,irq'"
}

@test "tracefs: no access, and no tracefs, in one line each" {
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups kmes-dump -S tracefs
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: $TRACING: Permission denied (needs root)"
	run --separate-stderr unshare -m sh -c "mount -t tmpfs none $TRACING && mount -t tmpfs none /sys/kernel/debug && exec kmes-dump -S tracefs"
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: not mounted at $TRACING (mount -t tracefs tracefs $TRACING)"
}

@test "tracefs: kmes-resize says why a mapped buffer keeps its size [T5]" {
	run --separate-stderr kmes-resize -S tracefs 1M
	assert_status 1
	assert_equal "$stderr" "kmes-resize: tracefs: a trace buffer keeps its size while it is mapped, so it cannot be resized"
	# And it is true.
	follow d sched/sched_process_exec
	run bash -c "echo 8192 >'$INSTANCE/buffer_size_kb'"
	assert_status 1
	assert_match "$output" 'busy'
}

@test "tracefs: kmes-stat shows entries, overrun, read and sub-buffers [T1 T7]" {
	local stat

	follow d raw_syscalls/sys_enter -t none
	kill -STOP "$FOLLOWER"
	dd if=/dev/zero of=/dev/null bs=1 count=150000 status=none
	echo 0 >"$INSTANCE/events/raw_syscalls/sys_enter/enable"
	stat=$(kmes-stat -S tracefs -j | jq -c "[.rings[] | select(.buffer == \"${INSTANCE##*/}\")]")
	assert_equal "$(jq 'map(.overrun) | add' <<<"$stat")" "$(sum_stats "$INSTANCE" overrun)"
	assert_equal "$(jq 'map(.entries) | add' <<<"$stat")" "$(sum_stats "$INSTANCE" entries)"
	assert_equal "$(jq 'map(.read) | add' <<<"$stat")" "$(sum_stats "$INSTANCE" 'read events')"
	(($(jq 'map(.overrun) | add' <<<"$stat") > 10000))
	# The mapping is the first page and all sub-buffers.
	python3 - "$FOLLOWER" "$(jq '.[0].subbufs * .[0].subbuf_bytes + 4096' <<<"$stat")" <<-'END'
		import sys
		for line in open("/proc/%s/maps" % sys.argv[1]):
		    if "cpu0/trace_pipe_raw" in line:
		        a, b = line.split()[0].split("-")
		        assert int(b, 16) - int(a, 16) == int(sys.argv[2]), (line, sys.argv[2])
		        break
		else:
		    sys.exit("not mapped")
	END
	run -0 kmes-stat -S tracefs -c 0
	assert_match "${lines[0]}" '^BUFFER +CPU +ENTRIES +OVERRUN +READ +SUBBUFS +SIZE$'
	assert_match "$output" "${INSTANCE##*/} +0 +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +4096"
	run --separate-stderr kmes-stat -S tracefs -W
	assert_usage_error '-S tracefs goes with'
}

@test "tracefs: kmes-wait ends with the event that its command causes" {
	ln -s /bin/true waited
	run --separate-stderr kmes-wait -S tracefs:sched/sched_process_exec -m filename=./waited --timeout=10 ./waited
	assert_status 0
	assert_match "$output" 'ftrace.sched.sched_process_exec  .*filename: "./waited"'
}

@test "tracefs: a capture of trace events reads back as it was printed" {
	follow d sched/sched_process_exec -w t.cap --print -n 3 -m 'filename=./cap*' -T iso
	ln -s /bin/true cap
	./cap; ./cap; ./cap
	end_of "$FOLLOWER"
	run -0 kmes-dump -q -T iso t.cap
	assert_equal "$output" "$(cat d.out)"
	assert_equal "${#lines[@]}" 3
}
