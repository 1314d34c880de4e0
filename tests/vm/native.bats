#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-run: programs for the native calls, over the module.

bats_require_minimum_version 1.5.0

load helper

setup() {
	export KMES_NATIVE=1
	AMIDCALL=$KMES_MODULES/../tests/preload/amidcall.so
	cd "$BATS_TEST_TMPDIR" || return
}

# each PROGRAM CASE...: runs each case in its own process.
each() {
	local program=$1 one

	shift
	for one; do
		echo "$one"
		kmes-run "$program" "$one" || return
	done
}

# --- calls ---

@test "kmes-run: of two faults, the one checked first determines the error [E1 A5]" {
	each native_errno_cases emit batch attach
}

@test "kmes-run: memory is accessed up to its last byte and no further" {
	kmes-run native_errno_cases pointers
}

@test "kmes-run: a batch with many copies of a large payload, within the limit and above it [E8]" {
	kmes-run native_errno_cases large
}

@test "kmes-run: 0 is stored at emitted_out before a batch is read, which may contain it [E8]" {
	kmes-run native_errno_cases overlap
}

@test "kmes-run: sizes, UTF-8 and MessagePack are checked, bytes stored verbatim [E2 E3 E4 E5]" {
	each emit_cases sizes largest half payloads types verbatim no-trace
}

@test "kmes-run: an event is in the ring of its emitter's CPU, with the emitter's identity [E6]" {
	each emit_cases stamps
}

@test "kmes-run: batches: valid prefix, one publication, larger than the ring [E8 E9]" {
	each batch_cases good-prefix one-publication larger
}

@test "kmes-run: attach: privilege, slots, pointers, name [A2 A5 A6]" {
	each attach_cases without-privilege slot-query bad-index every-slot name
}

@test "kmes-run: a program attaches, maps and reads; arguments are truncated to their width" {
	kmes-run native_cases read truncated
}

@test "kmes-run: only the three calls of 64-bit programs are intercepted" {
	kmes-run native_cases others
	kmes-run compat_native
}

@test "kmes-run: a static program without libc emits, maps, drains, and is woken [M1 N5]" {
	kmes-run bare_native
}

# --- identity and rights ---

@test "kmes-run: the program's rights are used: another user, one capability, a namespace [A2]" {
	kmes-run native_subject_cases rights
}

@test "kmes-run: works for a user with two capabilities, as far as /dev/kmes permits" {
	local user=(setpriv --reuid=65534 --regid=65534 --clear-groups)

	"${user[@]}" --inh-caps=-all,+audit_read,+audit_write --ambient-caps=-all,+audit_read,+audit_write \
		kmes-run native_cases read truncated threads
	run ! "${user[@]}" kmes-run native_cases one
	chmod 600 /dev/kmes
	run -125 --separate-stderr "${user[@]}" kmes-run touch ran
	chmod 666 /dev/kmes
	[ "$stderr" = "kmes-run: /dev/kmes: Permission denied" ]
	[ ! -e ran ]
}

@test "kmes-run: a program that may not be inspected is reported once" {
	run --separate-stderr capsh --drop=cap_sys_ptrace -- -c 'kmes-run sh -c "
		setpriv --reuid=65534 --regid=65534 --clear-groups native_cases one
		setpriv --reuid=65534 --regid=65534 --clear-groups native_cases one"'
	[ "$(grep -c "^kmes-run: cannot reach the memory of process .*CAP_SYS_PTRACE" <<<"$stderr")" -eq 1 ]
}

@test "kmes-run: an undumpable program is served with CAP_SYS_PTRACE and refused without it" {
	kmes-run native_subject_cases undumpable
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+audit_read,+audit_write \
		--ambient-caps=-all,+audit_read,+audit_write kmes-run native_subject_cases undumpable-refused
}

@test "kmes-run: a program without CAP_AUDIT_READ may not attach, its parent may [A2]" {
	kmes-run sh -c 'capsh --drop=cap_audit_read -- -c "attach_cases without-privilege" &&
		attach_cases slot-query'
}

@test "kmes-run: the GUID is that of the emitting process, as in its fork event [E6]" {
	kmes-run native_subject_cases guid
}

@test "kmes-run: each process of a program has a bucket, which its threads share [E11]" {
	kmes-run native_subject_cases buckets exempt
	# kmes-run's own bucket, which is not exempt here, is not used either.
	capsh --drop=cap_sys_admin -- -c 'kmes-run native_subject_cases buckets'
}

# --- during calls ---

@test "kmes-run: 1000 emissions under a 1 ms timer are 1000 events" {
	each native_cases timer plain-timer
}

@test "kmes-run: threads and children emit" {
	kmes-run native_cases threads
}

@test "kmes-run: killed callers do not disturb others and leak nothing" {
	kmes-run native_cases killed
}

@test "kmes-run: a thread executes a program while others are in calls" {
	kmes-run native_cases exec
}

@test "kmes-run: refused calls leave no descriptor, a full table is EMFILE" {
	kmes-run native_cases descriptors
}

# amid STEP CASE...: kmes-run pauses at that step of a call.
amid() {
	local step=$1 one

	shift
	for one; do
		echo "$one, $step"
		AMID_WAIT=$step LD_PRELOAD=$AMIDCALL kmes-run native_amid_cases "$one" || return
	done
}

@test "kmes-run: a caller's pid is reused during its call" {
	amid received attach emit batch
	amid behind attach after-batch
}

@test "kmes-run: a refused batch stores nothing, whatever is there in the meantime" {
	amid asking refused
}

@test "kmes-run: the limit is raised during a batch that was too large" {
	amid before limit
}

@test "kmes-run: is stopped during calls, by a user or a tracer" {
	each native_hostile_cases stopped
	AMID_FAULT=eintr LD_PRELOAD=$AMIDCALL kmes-run native_cases read truncated
}

@test "kmes-run: processes that outlive the program keep the calls, also if kmes-run is stopped during one" {
	mkfifo gate
	AMID_FAULT=eintr LD_PRELOAD=$AMIDCALL kmes-run bash -c '
		{ read -r <gate; native_cases read truncated && >emitted; } >/dev/null 2>&1 3>&- &'
	echo go >gate
	until_there emitted
}

# --- the program's life ---

@test "kmes-run: the tools work with -S native" {
	kmes-run kmes-emit -S native -t run.native k=v
	run -0 kmes-run kmes-dump -S native -sq -T none -t run.native
	[[ $output == *'  run.native  {k: "v"}' ]]
	run -0 kmes-run kmes-wait -S native -q --timeout=20 -t run.wait kmes-emit -S native -t run.wait
	run -1 kmes-run kmes-resize -S native 128K
	[[ $output == *BufferCapacity* ]]
}

@test "kmes-run: exit statuses and signals are passed on" {
	run -7 kmes-run sh -c 'exit 7'
	run -143 kmes-run sh -c 'kill -TERM $$'
	run -137 kmes-run sh -c 'kill -KILL $$'
	run -139 kmes-run sh -c 'kill -SEGV $$'
	run -127 --separate-stderr kmes-run /none/such
	[ "$stderr" = "kmes-run: cannot run /none/such: No such file or directory" ]
	run -126 --separate-stderr kmes-run /etc/passwd
	[ "$stderr" = "kmes-run: cannot run /etc/passwd: Permission denied" ]
	run -125 kmes-run
	# An ignored SIGCHLD does not hide the status.
	run -7 bash -c 'trap "" CHLD; exec kmes-run sh -c "exit 7"'
}

@test "kmes-run: ignored and blocked signals are inherited by the program" {
	local signals with without

	for signals in "" "CHLD PIPE HUP" "INT QUIT TERM TSTP ALRM XFSZ USR1"; do
		with=$(trap "" $signals; exec kmes-run grep ^Sig[BIC] /proc/self/status)
		without=$(trap "" $signals; exec grep ^Sig[BIC] /proc/self/status)
		[ "$with" = "$without" ]
	done
	with=$(env --block-signal=USR2,TERM kmes-run grep ^Sig[BIC] /proc/self/status)
	without=$(env --block-signal=USR2,TERM grep ^Sig[BIC] /proc/self/status)
	[ "$with" = "$without" ]
}

@test "kmes-run: dies by the program's signal, but dumps no core" {
	ulimit -Sc unlimited
	[ "$(cat /proc/sys/kernel/core_pattern)" = core ]
	run -139 sh -c 'kill -SEGV $$'
	[ -e core ]
	rm core
	run -139 kmes-run sh -c 'ulimit -Sc 0; kill -SEGV $$'
	[ ! -e core ]
}

@test "kmes-run: does not keep the program's standard streams open" {
	head -c 300000 /dev/urandom >in
	kmes-run cat <in >out 2>err
	cmp in out
	[ ! -s err ]
	# Unread input is left for the next program.
	[ "$({ kmes-run true; cat; } <<<text)" = text ]
	run -0 --separate-stderr kmes-run sh -c 'echo to stderr >&2'
	[ "$output" = "" ]
	[ "$stderr" = "to stderr" ]
}

@test "kmes-run: the program inherits descriptors" {
	local with without

	without=$(bash -c 'cd /proc/self/fd && echo *' 4</dev/null)
	with=$(kmes-run bash -c 'cd /proc/self/fd && echo *' 4</dev/null)
	[ "$with" = "$without" ]
	without=$(bash -c 'cd /proc/self/fd && echo *' <&-)
	with=$(kmes-run bash -c 'cd /proc/self/fd && echo *' <&-)
	[ "$with" = "$without" ]
}

@test "kmes-run: a descriptor closed by the program is closed" {
	local program='exec >&- 9>&-; for _ in $(seq 200); do [[ ! -e seen ]] || exit 0; sleep 0.1; done; exit 1'

	# The reader sees the end of the pipe before the program exits.
	kmes-run bash -c "$program" 3>&- 9>&1 | { cat; : >seen; }
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

@test "kmes-run: the program's descriptor limit does not restrict its calls" {
	bash -c 'ulimit -Sn 7; exec kmes-run native_cases one 3>&- 4>&-'
	kmes-run native_hostile_cases limit
}

@test "kmes-run: a capability that a thread has given up is gone [A2]" {
	kmes-run native_hostile_cases thread-rights
}

@test "kmes-run: the first thread exits and others continue" {
	kmes-run native_hostile_cases first-ends
}

@test "kmes-run: payloads in a ring's mapping, changing memory, shared tables, vfork" {
	each native_hostile_cases ring-payload moving files vfork
}

@test "kmes-run: traced callers, and one that traces kmes-run" {
	each native_hostile_cases traced tracer
}

@test "kmes-run: queued signals are forwarded to the program with their values" {
	kmes-run native_cases signals
}

@test "kmes-run: a signal is forwarded while the program runs" {
	kmes-run bash -c 'trap "exit 9" USR1; >ready; while :; do sleep 0.1; done' 3>&- &
	until_there ready
	kill -USR1 $!
	status=0
	wait $! || status=$?
	[ "$status" -eq 9 ]
}

@test "kmes-run: processes that outlive the program keep the calls, and the caller does not wait for them" {
	mkfifo gate
	# With only the first three descriptors, as from a shell.
	run -5 bash -c 'exec kmes-run bash -c "$1" 3>&- 4>&-' - '
		{ read -r <gate; native_cases one && >emitted; } >/dev/null 2>&1 &
		exit 5'
	[ ! -e emitted ]
	echo go >gate
	until_there emitted
	# Then kmes-run exits, too: nothing pins the module.
	for _ in $(seq 100); do rmmod kmes 2>/dev/null && break; sleep 0.1; done
	[ ! -e /dev/kmes ]
	insmod "$KMES_MODULE"
}

@test "kmes-run: keeps no directory busy after the program has exited" {
	mkdir folder
	mkfifo gate
	mount -t tmpfs folder folder
	(cd folder && kmes-run bash -c 'cd / && read -r <"$1" >/dev/null 2>&1 3>&- &' - "$BATS_TEST_TMPDIR/gate")
	status=0
	umount folder || status=$?
	echo go >gate
	[ "$status" -eq 0 ]
}

@test "kmes-run: killing it kills the program; the program's children get ENOSYS" {
	kmes-run bash -c '
		{ native_cases until; echo $? >end.new; mv end.new end; } >/dev/null 2>&1 &
		sleep 100 &
		echo $! >child
		echo $$ >pid.new
		mv pid.new pid
		wait' 3>&- &
	until_there pid
	kill -KILL $!
	until_there end
	[ "$(cat end)" -eq 0 ]
	for _ in $(seq 100); do [[ -e /proc/$(cat pid) ]] || break; sleep 0.1; done
	[[ ! -e /proc/$(cat pid) ]]
	kill "$(cat child)"
}

@test "kmes-run: works in pid namespaces, its own or the program's; does not start without their /proc" {
	unshare --pid --fork --mount-proc kmes-run native_cases threads
	kmes-run unshare --pid --fork --mount-proc native_cases threads
	kmes-run unshare --pid --fork native_cases threads
	run -125 --separate-stderr unshare --pid --fork kmes-run touch ran
	[ "$stderr" = "kmes-run: /proc does not show this process: mount that of this pid namespace" ]
	run -125 unshare --mount sh -c 'umount -l /proc && exec kmes-run touch ran'
	[ ! -e ran ]
}

@test "kmes-run: as init of a pid namespace, it reaps orphans" {
	unshare --pid --fork --mount-proc kmes-run bash -c '
		for _ in 1 2 3; do (sleep 0.2 &); done
		for _ in $(seq 100); do
			[ "$(pgrep -P 1)" != $$ ] || exit 0
			sleep 0.1
		done
		exit 1'
}

# --- a terminal ---

@test "kmes-run: signals from the terminal reach the program once" {
	native_terminal_cases typed-signals
}

@test "kmes-run: a job is stopped and continued, by its terminal or by itself" {
	native_terminal_cases typed-stop
	native_terminal_cases stop-of-its-own
	native_terminal_cases stop-in-background
	native_terminal_cases stop-of-the-script
}

@test "kmes-run: a hangup that it receives as a session leader reaches the program" {
	native_terminal_cases hang-up
}

# --- where it cannot run ---

@test "kmes-run: a program's own seccomp listener is refused with a message" {
	run -0 --separate-stderr kmes-run native_cases listener
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "kmes-run: process "*" (native_cases) cannot install a seccomp listener: "* ]]
}

@test "kmes-run: a full standard error does not block calls" {
	mkfifo full
	# The shell has both ends and does not read.
	exec 9<>full
	dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>/dev/null || true
	timeout -s KILL 60 kmes-run native_cases listener 2>&9
	exec 9>&-
}

@test "kmes-run: nested in itself it fails with a message and status 125" {
	run -125 --separate-stderr kmes-run kmes-run touch ran
	[[ ${stderr_lines[-1]} == "kmes-run: a seccomp listener is already installed"* ]]
	[ ! -e ran ]
}

@test "kmes-run: on a kernel before 5.19 it prints one line, exits with 125 and runs nothing" {
	run -125 --separate-stderr native_cases 5.18
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "kmes-run: "*"Linux 5.19 or later"* ]]
	[ "$output" = "" ]
	[ ! -e ran ]
}

@test "kmes-run: without the module it prints one line, exits with 125 and runs nothing" {
	rmmod kmes
	run -125 --separate-stderr kmes-run touch ran
	[ "$stderr" = "kmes-run: /dev/kmes: No such file or directory (is kmes.ko loaded?)" ]
	[ ! -e ran ]
	insmod "$KMES_MODULE"
}

@test "kmes-run: processes gain no privileges" {
	run -0 kmes-run grep NoNewPrivs /proc/self/status
	[[ $output == *1 ]]
	cp "$(command -v id)" as_root
	chmod 4755 as_root
	chmod 755 .
	run -0 setpriv --reuid=65534 --regid=65534 --clear-groups ./as_root -u
	[ "$output" = 0 ]
	run -0 kmes-run setpriv --reuid=65534 --regid=65534 --clear-groups ./as_root -u
	[ "$output" = 65534 ]
}
