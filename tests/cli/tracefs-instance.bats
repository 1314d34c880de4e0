#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2154 # bats assigns stderr
# The tracefs source: what it sets up in the kernel and removes again, and what it lacks.

load helper
load tracefs

@test "tracefs: the instance is removed at each end, and its settings are correct [T6]" {
	local pid

	set_overwrite 0
	follow d sched
	pid=$FOLLOWER
	assert_equal "$(cat "$INSTANCE/buffer_percent")" 0
	assert_match "$(cat "$INSTANCE/trace_clock")" '\[mono\]'
	assert_equal "$(cat "$INSTANCE/options/overwrite")" 1
	[[ $(readlink /proc/self/ns/pid) != "pid:[4026531836]" ]] ||
		assert_equal "$(cat "$INSTANCE/set_event_notrace_pid")" "$pid"
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

@test "tracefs: a killed run's instance is removed by the next, a running one's is not [T6]" {
	local killed running

	follow r sched/sched_process_exec -m "filename=$PROG" -n 1 -T none
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
	"$PROG"
	end_of "$running"
	assert_status 0
	assert_match "$(cat r.out)" "filename: \"$PROG\""
}

@test "tracefs: an instance that only looks like a leftover is kept" {
	MADE+=("kmes-x-$$" "kmes-1-$$"x)
	mkdir "${MADE[@]/#/$INSTANCES/}"
	run -0 kmes-dump -S tracefs -sq
	[[ -d $INSTANCES/${MADE[0]} && -d $INSTANCES/${MADE[1]} ]]
}

@test "tracefs: unknown events, with similar names" {
	run --separate-stderr kmes-dump -S tracefs:sched/sched_proces_exec
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: no such event: 'sched/sched_proces_exec'; similar: sched/sched_process_exec, sched/sched_process_exit, sched/sched_process_free"
	run --separate-stderr kmes-dump -S tracefs:sched,qwertzuiop
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: no such event: 'qwertzuiop'"
	run --separate-stderr kmes-dump -S tracefs:sched,,irq
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: an empty name in 'sched,,irq'"
}

@test "tracefs: no access, and no tracefs, one line each" {
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups kmes-dump -S tracefs
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: $TRACING: Permission denied (needs root)"
	unshare -m true || skip "no mount namespaces"
	run --separate-stderr unshare -m sh -c "mount -t tmpfs none $TRACING && { [ ! -d /sys/kernel/debug ] || mount -t tmpfs none /sys/kernel/debug; } && exec kmes-dump -S tracefs"
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: not mounted at $TRACING (mount -t tracefs tracefs $TRACING)"
}

@test "tracefs: a kernel that is too old, or a busy buffer, one line each" {
	if ! is_new_enough; then
		run --separate-stderr kmes-dump -S tracefs
		assert_status 1
		assert_match "$stderr" '^kmes-dump: tracefs: this kernel (has no [a-z_]+|cannot map trace buffers) \(needs Linux 6\.10\)$'
		assert_equal "$(find "$INSTANCES" -name 'kmes-*' | wc -l)" 0
		return
	fi
	needs_preload
	run --separate-stderr preloaded 19 kmes-dump -S tracefs
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: this kernel cannot map trace buffers (needs Linux 6.10)"
	run --separate-stderr preloaded 16 kmes-dump -S tracefs
	assert_status 1
	assert_equal "$stderr" "kmes-dump: cpu0: the trace buffer is busy (a snapshot, or a tracer that reads it)"
	run --separate-stderr preloaded 13 kmes-wait -S tracefs
	assert_status 1
	assert_equal "$stderr" "kmes-wait: cpu0: cannot map the trace buffer: Permission denied (needs root)"
}

# The kernel uses global process ids: the namespace's own id is another process's.
@test "tracefs: in its own pid namespace the reader hides no other process" {
	unshare --pid --fork --mount-proc true || skip "no pid namespaces of our own here"
	run -0 unshare --pid --fork --mount-proc bash -c '
		kmes-dump -S tracefs:sched/sched_process_exec >/dev/null 2>&1 &
		until grep -q trace_pipe_raw /proc/$!/maps; do sleep 0.05; done
		cat '"$INSTANCES"'/kmes-$!-*/set_event_notrace_pid'
	assert_output ""
}

@test "tracefs: events are printed from when all are enabled" {
	needs_preload
	background d env TRACE_FAULT=early LD_PRELOAD="$KMES_TOP/build/tests/preload/oldtrace.so" \
		kmes-dump -S tracefs:sched/sched_process_exec,sched/sched_process_exit -m "filename=$PROG*" -n 1
	FOLLOWER=$!
	wait_until 60 follower_is_ready
	ln -s /bin/true "$PROG-late"
	"$PROG-late"
	end_of "$FOLLOWER"
	assert_match "$(cat d.out)" "filename: \"$PROG-late\""
}

@test "tracefs: a run in another pid namespace keeps an instance that is being set up [T6]" {
	needs_preload
	unshare --pid --fork --mount-proc true || skip "no pid namespaces of our own here"
	export PROG=./other
	cat >other <<-END
		#!/bin/sh
		unset LD_PRELOAD
		exec unshare --pid --fork --mount-proc kmes-dump -S tracefs -sq
	END
	chmod +x other
	run -0 --separate-stderr preloaded early kmes-dump -S tracefs -sq
	assert_equal "$stderr" ""
}

@test "tracefs: one of several events that just disappeared is skipped" {
	needs_preload
	run -0 --separate-stderr preloaded gone kmes-dump -S 'tracefs:sched/sched_process_*' -sq
	assert_equal "$stderr" ""
	run --separate-stderr preloaded gone kmes-dump -S tracefs:sched/sched_process_exit -sq
	assert_status 1
	assert_equal "$stderr" "kmes-dump: tracefs: cannot enable sched/sched_process_exit: No such file or directory"
}

@test "tracefs: the size of sub-buffers cannot change while they are being mapped [T5]" {
	needs_preload
	run -0 --separate-stderr preloaded resize kmes-dump -S tracefs -s
	assert_match "${stderr_lines[0]}" "^kmes-dump: source tracefs, rings: $(online_cpus | wc -l)\$"
}

@test "tracefs: kmes-resize reports why a mapped buffer keeps its size [T5]" {
	run --separate-stderr kmes-resize -S tracefs 1M
	assert_status 1
	assert_equal "$stderr" "kmes-resize: tracefs: a trace buffer keeps its size while it is mapped, so it cannot be resized"
	# And this is correct.
	follow d sched/sched_process_exec
	run bash -c "echo 8192 >'$INSTANCE/buffer_size_kb'"
	assert_status 1
	assert_match "$output" 'busy'
}

@test "tracefs: two at once each have all events and their own instance [T6]" {
	local first second

	follow a sched/sched_process_exec -m "filename=$PROG" -n 3 -j
	first=$FOLLOWER
	follow b sched/sched_process_exec -m "filename=$PROG" -n 3 -j
	second=$FOLLOWER
	assert_equal "$(instances_of "$first")$(instances_of "$second")" 11
	"$PROG"; "$PROG"; "$PROG"
	end_of "$first"
	end_of "$second"
	assert_equal "$(jq .payload.pid a.out)" "$(jq .payload.pid b.out)"
	assert_equal "$(wc -l <a.out)" 3
}

@test "tracefs: leftovers are found by pid and start time, and kept while being read [T6]" {
	local held

	# An instance of another process with the same pid; and one of no process that is
	# held open, as soon as it is there: other runs sweep, too.
	MADE+=("kmes-$$-1" "kmes-$((4194304 + $$))-7")
	held=$INSTANCES/${MADE[1]}
	wait_until 10 eval 'mkdir "$held"; exec 8<"$held/trace_pipe"'
	mkdir "$INSTANCES/kmes-$$-1"
	run -0 --separate-stderr kmes-dump -S tracefs -sq
	assert_equal "$stderr" ""
	[[ ! -d $INSTANCES/kmes-$$-1 && -d $held ]]
	exec 8<&-
	run -0 kmes-dump -S tracefs -sq
	[[ ! -d $held ]]
}
