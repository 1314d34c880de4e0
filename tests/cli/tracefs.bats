#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2154 # bats assigns stderr
# The tracefs source: the tools with the running kernel's trace events.

load helper
load tracefs

@test "tracefs: known commands are printed with file name and pid, in time order [T2 T3 T6]" {
	local i

	for i in {01..20}; do ln -s /bin/true "$PROG-$i"; done
	follow d sched/sched_process_exec -j -m "filename=$PROG-*" -n 20
	for i in {01..20}; do
		"$PROG-$i" &
		echo $! >>pids
		wait $!
	done
	end_of "$FOLLOWER"
	assert_status 0
	assert_equal "$(jq -r '.payload.filename' d.out)" "$(printf "%s\n" "$PROG"-{01..20})"
	assert_equal "$(jq -r '.payload.pid' d.out)" "$(cat pids)"
	assert_equal "$(jq -r '.type + " " + .origin' d.out | sort -u)" "ftrace.sched.sched_process_exec trace"
	assert_equal "$(jq -r '.ts_ns' d.out)" "$(jq -r '.ts_ns' d.out | sort -n)"
}

# stamped COMMAND...: its output with each line's time of arrival.
stamped() {
	"$@" | grep --line-buffered "\"$PROG\"" | while IFS= read -r line; do
		echo "$EPOCHREALTIME $line"
	done
}

# Groups of three events and nothing else: the latency of the best group, in ms.
best_of_groups() {
	local try

	wait_until 60 has_follower_in
	echo "filename == \"$PROG\"" >"$(echo "$INSTANCES/kmes-$(follower_in)-"*)/events/sched/sched_process_exec/filter"
	for try in {1..8}; do
		sleep 0.1
		"$PROG" && "$PROG" && "$PROG"
		wait_for_lines "$KMES_TMP/g.out" $((3 * try)) 10
	done
	awk '{ ms = ($1 - $2) * 1000; if (ms > worst) worst = ms }
		NR % 3 == 0 { if (best == "" || worst < best) best = worst; worst = 0 }
		END { print int(best) }' g.out
}
follower_in() { pgrep -P "${KMES_PIDS[0]}" kmes-dump; }
has_follower_in() { grep -q trace_pipe_raw "/proc/$(follower_in)/maps"; }

@test "tracefs: three single events are printed within 100 ms, through grep too" {
	export -f stamped

	background g bash -c "stamped kmes-dump -S tracefs:sched/sched_process_exec -T epoch -q"
	best_of_groups >best
	cat best
	(($(cat best) >= 0 && $(cat best) < 100))
}

@test "tracefs: three single events are printed within 100 ms without a wake-up" {
	export -f stamped

	needs_preload
	background g bash -c "stamped env TRACE_FAULT=poll LD_PRELOAD=$KMES_TOP/build/tests/preload/oldtrace.so kmes-dump -S tracefs:sched/sched_process_exec -T epoch -q"
	best_of_groups >best
	cat best
	(($(cat best) >= 0 && $(cat best) < 100))
}

@test "tracefs: timestamps agree with the clock, to a millisecond" {
	local before after ts

	follow d sched/sched_process_exec -j -m "filename=$PROG" -n 1
	before=$(date +%s%N)
	"$PROG"
	after=$(date +%s%N)
	end_of "$FOLLOWER"
	ts=$(jq .ts_ns d.out)
	((ts > before - 1000000 && ts < after + 1000000))
}

@test "tracefs: 100000 records equal the kernel's text, field by field [T4]" {
	local pid i reads=2500

	# An emulated machine is slow: only a fifth.
	[[ ! $IN_VM ]] || reads=500
	make_instance
	echo 24576 >"$OWN/buffer_size_kb"
	follow d raw_syscalls/sys_enter -T none -q
	echo 0 >"$INSTANCE/events/raw_syscalls/sys_enter/enable"
	mkfifo feed
	# One byte per read and write; on one CPU, so that the order is unique.
	background prog taskset -c 0 dd if=feed of=/dev/null bs=1 status=none
	pid=$!
	wait_until 10 is_named_dd "$pid"
	for i in "$OWN" "$INSTANCE"; do
		echo "$pid" >"$i/set_event_pid"
		echo 1 >"$i/events/raw_syscalls/sys_enter/enable"
	done
	background pipe cat "$OWN/trace_pipe"
	exec 7>feed
	# Never more than the buffers hold, however slow a reader is.
	for i in {1..20}; do
		head -c "$reads" /dev/zero >&7
		wait_until 60 has_records $((i * 2 * reads))
	done
	exec 7>&-
	end_of "$pid"
	assert_status 0
	wait_until 60 has_text_of "$(sum_stats "$OWN" 'read events')"
	wait_until 60 is_empty "$INSTANCE"
	kill "$FOLLOWER"
	end_of "$FOLLOWER"
	assert_status 0
	# Records of the whole machine precede the program's; some of them may be lost.
	assert_equal "$(awk "/common_pid: $pid,/ { seen = 1 } /^---/ && seen" d.out)" ""
	# As "dd-4711 [000] ..... 0.123: sys_enter: NR 1 (1, 55b0, 1, 0, 0, 1)".
	awk '/: sys_enter: NR / { print substr($2, 2) + 0, substr($1, 4), substr($0, index($0, " NR ") + 4) }' pipe.out >theirs
	# As "cpu0 #1 TRACE TYPE {common_pid: 4711, id: 1, args: [1, 21936, 1, 0, 0, 1]}".
	tr -d ',{}[]' <d.out | awk -v pid="$pid" '$6 == pid { $2 = $3 = $4 = $5 = $7 = $9 = ""; print substr($0, 4) }' |
		xargs -n 9000 printf '%s %s %s (%x, %x, %x, %x, %x, %x)\n' >ours
	grep -c "^0 $pid 0 (0, " ours >reads
	grep -c "^0 $pid 1 (1, " ours >writes
	assert_equal "$(cat reads writes)" "$((20 * reads + 1))"$'\n'"$((20 * reads))" # the last one is at end of file
	cmp ours theirs
	assert_equal "$(wc -l <ours)" "$(sum_stats "$OWN" 'read events')"
}
is_named_dd() { [[ $(cat "/proc/$1/comm") == dd ]] && [[ $(cut -d' ' -f1 "/proc/$1/syscall") != running ]]; }
has_records() { (($(sum_stats "$OWN" 'read events') >= $1)) && is_empty "$INSTANCE"; }
has_text_of() { (($(grep -c sys_enter: "$KMES_TMP/pipe.out") >= $1)); }
is_empty() { (($(sum_stats "$1" entries) == 0)); }

@test "tracefs: a reader stopped twice reports what the kernel overwrote [T8]" {
	local i lost overrun

	follow d raw_syscalls/sys_enter -T none
	only_own_events
	for i in 1 2; do
		kill -STOP "$FOLLOWER"
		overrun=$(sum_stats "$INSTANCE" overrun)
		dd if=/dev/zero of=/dev/null bs=1 count=150000 status=none
		(($(sum_stats "$INSTANCE" overrun) > overrun + 100000))
		kill -CONT "$FOLLOWER"
		wait_until 60 is_drained
	done
	echo 0 >"$INSTANCE/events/raw_syscalls/sys_enter/enable"
	wait_until 60 is_drained
	# Now at the latest a record follows the last loss.
	echo 1 >"$INSTANCE/events/raw_syscalls/sys_enter/enable"
	for i in $(online_cpus); do
		taskset -c "$i" true 2>/dev/null || true
	done
	echo 0 >"$INSTANCE/events/raw_syscalls/sys_enter/enable"
	wait_until 60 is_drained
	overrun=$(sum_stats "$INSTANCE" overrun)
	kill "$FOLLOWER"
	end_of "$FOLLOWER"
	lost=$(sed -n 's/^--- cpu[0-9]*: lost \([0-9]*\) events.*/\1/p' d.out | awk '{ n += $1 } END { print n + 0 }')
	assert_equal "$lost" "$overrun"
	# Each number once, none inside a gap: events and gaps follow one another exactly.
	awk '
		/^---/ { cpu = $2; sub(":", "", cpu); split($6, r, /[(#)-]+/); if (r[2] != last[cpu] + 1) bad++; last[cpu] = r[3]; next }
		{ n = substr($2, 2) + 0; if (n != last[$1] + 1) bad++; last[$1] = n }
		END { print bad + 0 }' d.out >bad
	assert_equal "$(cat bad)" 0
}

@test "tracefs: kmes-stat prints entries, overrun, read and sub-buffers [T1 T7]" {
	local stat

	follow d raw_syscalls/sys_enter -t none
	only_own_events
	kill -STOP "$FOLLOWER"
	dd if=/dev/zero of=/dev/null bs=1 count=150000 status=none
	echo 0 >"$INSTANCE/events/raw_syscalls/sys_enter/enable"
	stat=$(kmes-stat -S tracefs -j | jq -c "[.rings[] | select(.buffer == \"${INSTANCE##*/}\")]")
	assert_equal "$(jq 'map(.overrun) | add' <<<"$stat")" "$(sum_stats "$INSTANCE" overrun)"
	assert_equal "$(jq 'map(.entries) | add' <<<"$stat")" "$(sum_stats "$INSTANCE" entries)"
	assert_equal "$(jq 'map(.read) | add' <<<"$stat")" "$(sum_stats "$INSTANCE" 'read events')"
	(($(jq 'map(.overrun) | add' <<<"$stat") > 10000))
	# The mapping is the meta page, in a sub-buffer's space, and all sub-buffers.
	assert_equal "$(mapped_bytes "$FOLLOWER")" "$(jq '(.[0].subbufs + 1) * .[0].subbuf_bytes' <<<"$stat")"
	run -0 kmes-stat -S tracefs -c 0
	assert_match "${lines[0]}" '^BUFFER +CPU +ENTRIES +OVERRUN +READ +EV/S +LOST/S +SUBBUFS +SIZE$'
	assert_match "$output" "${INSTANCE##*/} +0 +[0-9]+ +[0-9]+ +[0-9]+ +- +- +[0-9]+ +16384"
	run --separate-stderr kmes-stat -S tracefs -W
	assert_usage_error '-S tracefs goes with'
}

# Of the mapping of CPU 0's buffer.
mapped_bytes() {
	local range

	range=$(sed -n '/cpu0\/trace_pipe_raw/s/ .*//p' "/proc/$1/maps")
	echo $((16#${range#*-} - 16#${range%-*}))
}

@test "tracefs: kmes-stat prints rates at intervals [T7]" {
	local name

	follow d raw_syscalls/sys_enter -t none
	only_own_events
	name=${INSTANCE##*/}
	kill -STOP "$FOLLOWER"
	background load dd if=/dev/zero of=/dev/null bs=1 status=none
	wait_until 30 has_overrun
	run -0 kmes-stat -S tracefs -j 0.3 3
	kill -KILL "${KMES_PIDS[-1]}"
	assert_equal "${#lines[@]}" 3
	assert_equal "$(jq -c '.interval, (.rings[] | .events_per_second, .lost_per_second)' <<<"${lines[0]}" | sort -u)" null
	# Rates are the differences of counters divided by the interval.
	jq -se --arg name "$name" 'map(. as {$interval, $rings} | $rings | map(select(.buffer == $name) + {$interval})) |
		. as $t | [range(1; length) | . as $i | range($t[0] | length) | . as $c |
		$t[$i][$c] as $now | $t[$i - 1][$c] as $old |
		(($now | .entries + .overrun + .read) - ($old | .entries + .overrun + .read)) / $now.interval - $now.events_per_second,
		($now.overrun - $old.overrun) / $now.interval - $now.lost_per_second] |
		all(fabs < 0.01)' <<<"$output"
	jq -e --arg name "$name" '[.rings[] | select(.buffer == $name) | .events_per_second, .lost_per_second] | min >= 0 and max > 100' <<<"${lines[1]}"
}
has_overrun() { (($(sum_stats "$INSTANCE" overrun) > 0)); }

@test "tracefs: kmes-wait ends with the event that its command causes" {
	run --separate-stderr kmes-wait -S tracefs:sched/sched_process_exec -m "filename=$PROG" --timeout=10 "$PROG"
	assert_status 0
	assert_match "$output" "ftrace.sched.sched_process_exec  .*filename: \"$PROG\""
}

@test "tracefs: a capture of trace events is read back as printed" {
	follow d sched/sched_process_exec -w t.cap --print -n 3 -m "filename=$PROG" -T iso
	"$PROG"; "$PROG"; "$PROG"
	end_of "$FOLLOWER"
	run -0 kmes-dump -q -T iso t.cap
	assert_equal "$output" "$(cat d.out)"
	assert_equal "${#lines[@]}" 3
}

# A probe on a program's first instruction, with fields that no other event has.
make_probe() {
	local entry

	[[ -e $TRACING/uprobe_events ]] || skip "this kernel has no uprobes"
	entry=$(od -An -tx8 -j24 -N8 "$1" | tr -d ' ')
	PROBES+=("kmes_$$/$2")
	echo "p:kmes_$$/$2 $1:0x$entry small=\\5:s8 neg=\\-5:s64 hex=\\255:x16 bits=\\12:b4@2/32" \
		"longs=+0(\$stack):x64[2] text=+0(+8(\$stack)):ustring name=\$comm odd_=\\65:char texts=+0(+8(\$stack)):ustring[1] last=\\7:u8" \
		>>"$TRACING/uprobe_events"
}

@test "tracefs: events that appear and disappear while others are read" {
	local prog

	# A private program: others run /bin/true, too.
	prog=$KMES_TMP/prog
	cp /bin/true "$prog"
	make_probe "$prog" first
	follow d "kmes_$$" -T none
	"$prog"
	wait_for_lines d.out 1
	assert_match "$(cat d.out)" "ftrace.kmes_$$.first  \{common_pid: [0-9]+, __probe_ip: [0-9]+, small: 5, neg: -5, hex: 255, bits: 3, longs: \[1, [0-9]+\], text: \"$prog\", name: \"prog\", odd_: 65, texts: 0x[0-9a-f]{8}, last: 7\}"
	# Another event in its group, which is not selected.
	make_probe "$prog" second
	"$prog"
	wait_for_lines d.out 2
	# An event being read cannot be removed. Disabled under the reader it can; the kernel then
	# clears the buffers of all instances, so that its records are not mistaken for another's.
	run bash -c "echo '-:kmes_$$/first' >>'$TRACING/uprobe_events'"
	assert_status 1
	echo 0 >"$INSTANCE/events/kmes_$$/first/enable"
	echo "-:kmes_$$/first" >>"$TRACING/uprobe_events"
	[[ ! -d $TRACING/events/kmes_$$/first ]]
	echo 1 >"$INSTANCE/events/kmes_$$/second/enable"
	"$prog"
	# Its format is unknown: it is printed as bytes.
	wait_for_lines d.out 3
	assert_match "$(tail -n 1 d.out)" 'ftrace\.unknown\.[0-9]+  \{raw: 0x[0-9a-f]+\}$'
	kill "$FOLLOWER"
	end_of "$FOLLOWER"
	assert_status 0
	assert_match "$(cat d.err)" 'another process cleared the trace buffer'
	assert_equal "$(grep -c "ftrace.kmes_$$.first " d.out)" 2
}

@test "tracefs: marks and stacks written to the instance by others are decoded" {
	follow d sched/sched_process_exec -T none
	echo "by hand" >"$INSTANCE/trace_marker"
	wait_for_line d.out 'TRACE  ftrace\.ftrace\.print  \{common_pid: [0-9]+, ip: [0-9]+, buf: "by hand\\n"\}$'
	echo 1 >"$INSTANCE/options/stacktrace"
	/bin/true
	wait_for_line d.out 'TRACE  ftrace\.ftrace\.kernel_stack  \{common_pid: [0-9]+, size: [0-9]+, caller: '
}

@test "tracefs: reading continues after others clear the buffer or stop tracing" {
	follow d raw_syscalls/sys_enter,sched/sched_process_exec -j -m "filename=$PROG"
	only_own_events
	"$PROG"
	wait_until 20 has_seen 1
	kill -STOP "$FOLLOWER"
	wait_until 10 has_entries
	echo >"$INSTANCE/trace"
	kill -CONT "$FOLLOWER"
	wait_for_line d.err 'another process cleared the trace buffer'
	"$PROG"
	wait_until 20 has_seen 2
	echo 0 >"$INSTANCE/tracing_on"
	"$PROG"
	wait_until 10 is_empty "$INSTANCE"
	echo 1 >"$INSTANCE/tracing_on"
	"$PROG"
	wait_until 20 has_seen 3
	kill "$FOLLOWER"
	end_of "$FOLLOWER"
	assert_status 0
	# There may also be losses of other events at the start.
	jq 'select(.type).ts_ns' d.out >stamps
	assert_equal "$(wc -l <stamps)" 3
	sort -nc stamps
}
has_seen() { (($(grep -c "\"filename\":\"$PROG\"" "$KMES_TMP/d.out") >= $1)); }
has_entries() { (($(sum_stats "$INSTANCE" entries) > 100)); }

@test "tracefs: a CPU that goes offline and back online is read on" {
	local last online

	[[ $IN_VM ]] || skip "changes the machine: in the virtual machine only"
	last=$(($(nproc) - 1))
	online=/sys/devices/system/cpu/cpu$last/online
	follow d sched/sched_process_exec -j -m "filename=$PROG" -n 3
	taskset -c "$last" "$PROG"
	echo 0 >"$online"
	"$PROG"
	echo 1 >"$online"
	taskset -c "$last" "$PROG"
	end_of "$FOLLOWER" 20
	assert_status 0
	assert_equal "$(jq -s "[.[0].cpu, .[1].cpu != $last, .[2].cpu] | tostring" d.out)" "\"[$last,true,$last]\""
}
