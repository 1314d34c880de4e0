#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-run: programs for the native calls, over the module.

bats_require_minimum_version 1.5.0

setup() {
	export KMES_NATIVE=1
	AMIDCALL=$KMES_MODULES/../tests/preload/amidcall.so
	cd "$BATS_TEST_TMPDIR" || return
}

# each PROGRAM CASE...: each case in a process of its own.
each() {
	local program=$1 one

	shift
	for one; do
		echo "$one"
		kmes-run "$program" "$one" || return
	done
}

# until_there FILE: within 20 s.
until_there() {
	for _ in $(seq 200); do
		[[ ! -e $1 ]] || return 0
		sleep 0.1
	done
	echo "no $1 within the time"
	return 1
}

# --- calls ---

@test "kmes-run: of two faults the one that is looked at earlier decides [E1 A5]" {
	each native_errno_cases emit batch attach
}

@test "kmes-run: addresses are good up to the last byte, and no further" {
	kmes-run native_errno_cases pointers
}

@test "kmes-run: a batch of one large text many times, allowed and not [E8]" {
	kmes-run native_errno_cases large
}

@test "kmes-run: 0 is stored before a batch is read, so it may lie in it [E8]" {
	kmes-run native_errno_cases overlap
}

@test "kmes-run: sizes, UTF-8, MessagePack, bytes verbatim [E2 E3 E4 E5]" {
	each emit_cases sizes largest half payloads types verbatim no-trace
}

@test "kmes-run: an event is on the ring of its emitter's CPU, with his stamps [E6]" {
	each emit_cases stamps
}

@test "kmes-run: batches: prefix, one publication, larger than the ring [E8 E9]" {
	each batch_cases good-prefix one-publication larger
}

@test "kmes-run: attach: privilege, slots, pointers, name [A2 A5 A6]" {
	each attach_cases without-privilege slot-query bad-index every-slot name
}

@test "kmes-run: attach, map, read in one program; arguments are cut to their width" {
	kmes-run native_cases read truncated
}

@test "kmes-run: it is asked for the three calls alone, and by 64-bit programs alone" {
	kmes-run native_cases others
	kmes-run compat_native
}

@test "kmes-run: a static program without libc emits, maps, drains, and is woken [M1 N5]" {
	kmes-run bare_native
}

# --- whose account ---

@test "kmes-run: rights are the program's: another user, one capability, a namespace [A2]" {
	kmes-run native_subject_cases rights
}

@test "kmes-run: for a user who has two capabilities and no more, as far as /dev/kmes lets him" {
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

@test "kmes-run: where it may not look into a program it says so once" {
	run --separate-stderr capsh --drop=cap_sys_ptrace -- -c 'kmes-run sh -c "
		setpriv --reuid=65534 --regid=65534 --clear-groups native_cases one
		setpriv --reuid=65534 --regid=65534 --clear-groups native_cases one"'
	[ "$(grep -c "^kmes-run: cannot reach the memory of process .*CAP_SYS_PTRACE" <<<"$stderr")" -eq 1 ]
}

@test "kmes-run: a program that is not dumpable is served with CAP_SYS_PTRACE, and else refused" {
	kmes-run native_subject_cases undumpable
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+audit_read,+audit_write \
		--ambient-caps=-all,+audit_read,+audit_write kmes-run native_subject_cases undumpable-refused
}

@test "kmes-run: a program without CAP_AUDIT_READ may not attach, its parent may [A2]" {
	kmes-run sh -c 'capsh --drop=cap_audit_read -- -c "attach_cases without-privilege" &&
		attach_cases slot-query'
}

@test "kmes-run: the GUID is that of the process which emits, as its fork has told [E6]" {
	kmes-run native_subject_cases guid
}

@test "kmes-run: each program process has a bucket, its threads share it [E11]" {
	kmes-run native_subject_cases buckets exempt
	# Nor is it kmes-run's own, which is not exempt here.
	capsh --drop=cap_sys_admin -- -c 'kmes-run native_subject_cases buckets'
}

# --- in the middle of calls ---

@test "kmes-run: 1000 emissions under a 1 ms timer are 1000 events" {
	each native_cases timer plain-timer
}

@test "kmes-run: threads and children" {
	kmes-run native_cases threads
}

@test "kmes-run: killed callers disturb nobody and leave nothing" {
	kmes-run native_cases killed
}

@test "kmes-run: a thread executes a program while others call" {
	kmes-run native_cases exec
}

@test "kmes-run: refused calls leave no descriptor, a full table is EMFILE" {
	kmes-run native_cases descriptors
}

# amid STEP CASE...: kmes-run stands still at that step of a call.
amid() {
	local step=$1 one

	shift
	for one; do
		echo "$one, $step"
		AMID_WAIT=$step LD_PRELOAD=$AMIDCALL kmes-run native_amid_cases "$one" || return
	done
}

@test "kmes-run: a caller's number becomes another process's amid its call" {
	amid received attach emit batch
	amid behind attach behind-batch
}

@test "kmes-run: a batch that is refused stores nothing, whatever stands there meanwhile" {
	amid asking refused
}

@test "kmes-run: the limit is raised amid a batch that was too large" {
	amid before limit
}

@test "kmes-run: it is stopped amid calls, by a user or by one that traces it" {
	each native_hostile_cases stopped
	AMID_FAULT=eintr LD_PRELOAD=$AMIDCALL kmes-run native_cases read truncated
}

@test "kmes-run: what outlives the program keeps its calls, also when kmes-run is stopped amid them" {
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

@test "kmes-run: statuses and signals" {
	run -7 kmes-run sh -c 'exit 7'
	run -143 kmes-run sh -c 'kill -TERM $$'
	run -137 kmes-run sh -c 'kill -KILL $$'
	run -139 kmes-run sh -c 'kill -SEGV $$'
	run -127 --separate-stderr kmes-run /none/such
	[ "$stderr" = "kmes-run: cannot run /none/such: No such file or directory" ]
	run -126 --separate-stderr kmes-run /etc/passwd
	[ "$stderr" = "kmes-run: cannot run /etc/passwd: Permission denied" ]
	run -125 kmes-run
	# An ignored SIGCHLD hides no status.
	run -7 bash -c 'trap "" CHLD; exec kmes-run sh -c "exit 7"'
}

@test "kmes-run: what is ignored and blocked is so in the program, as we were given it" {
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

@test "kmes-run: it dies as the program did, but leaves no core of its own" {
	ulimit -Sc unlimited
	[ "$(cat /proc/sys/kernel/core_pattern)" = core ]
	run -139 sh -c 'kill -SEGV $$'
	[ -e core ]
	rm core
	run -139 kmes-run sh -c 'ulimit -Sc 0; kill -SEGV $$'
	[ ! -e core ]
}

@test "kmes-run: standard streams are the program's alone" {
	head -c 300000 /dev/urandom >in
	kmes-run cat <in >out 2>err
	cmp in out
	[ ! -s err ]
	# What the program leaves unread is there for the next one.
	[ "$({ kmes-run true; cat; } <<<text)" = text ]
	run -0 --separate-stderr kmes-run sh -c 'echo to stderr >&2'
	[ "$output" = "" ]
	[ "$stderr" = "to stderr" ]
}

@test "kmes-run: the program has the descriptors that we were given" {
	local with without

	without=$(bash -c 'cd /proc/self/fd && echo *' 4</dev/null)
	with=$(kmes-run bash -c 'cd /proc/self/fd && echo *' 4</dev/null)
	[ "$with" = "$without" ]
	without=$(bash -c 'cd /proc/self/fd && echo *' <&-)
	with=$(kmes-run bash -c 'cd /proc/self/fd && echo *' <&-)
	[ "$with" = "$without" ]
}

@test "kmes-run: what the program has closed is closed" {
	local program='exec >&- 9>&-; for _ in $(seq 200); do [[ ! -e seen ]] || exit 0; sleep 0.1; done; exit 1'

	# The reader sees the end of the pipe before the program's.
	kmes-run bash -c "$program" 3>&- 9>&1 | { cat; : >seen; }
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

@test "kmes-run: the program's limit of descriptors is not that of its calls" {
	bash -c 'ulimit -Sn 7; exec kmes-run native_cases one 3>&- 4>&-'
	kmes-run native_hostile_cases limit
}

@test "kmes-run: a thread that gave up a capability has it no more [A2]" {
	kmes-run native_hostile_cases thread-rights
}

@test "kmes-run: the first thread ends and others go on" {
	kmes-run native_hostile_cases first-ends
}

@test "kmes-run: texts in a ring's own mapping, changing memory, shared tables, vfork" {
	each native_hostile_cases ring-text moving files vfork
}

@test "kmes-run: callers that are traced, and one that traces kmes-run" {
	each native_hostile_cases traced tracer
}

@test "kmes-run: signals sent to it reach the program, with their values" {
	kmes-run native_cases signals
}

@test "kmes-run: a signal sent to it while the program runs" {
	kmes-run bash -c 'trap "exit 9" USR1; >ready; while :; do sleep 0.1; done' 3>&- &
	until_there ready
	kill -USR1 $!
	status=0
	wait $! || status=$?
	[ "$status" -eq 9 ]
}

@test "kmes-run: what outlives the program keeps its calls, and nobody waits for it" {
	mkfifo gate
	# With no descriptors but the first three, as from a shell.
	run -5 bash -c 'exec kmes-run bash -c "$1" 3>&- 4>&-' - '
		{ read -r <gate; native_cases one && >emitted; } >/dev/null 2>&1 &
		exit 5'
	[ ! -e emitted ]
	echo go >gate
	until_there emitted
	# Then kmes-run's own is gone, too, as nothing else may hold the module.
	for _ in $(seq 100); do rmmod kmes 2>/dev/null && break; sleep 0.1; done
	[ ! -e /dev/kmes ]
	insmod "$KMES_MODULE"
}

@test "kmes-run: what outlives the program holds no folder by it" {
	mkdir folder
	mkfifo gate
	mount -t tmpfs folder folder
	(cd folder && kmes-run bash -c 'cd / && read -r <"$1" >/dev/null 2>&1 3>&- &' - "$BATS_TEST_TMPDIR/gate")
	status=0
	umount folder || status=$?
	echo go >gate
	[ "$status" -eq 0 ]
}

@test "kmes-run: who kills it kills the program; a child of that finds no calls any more" {
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

@test "kmes-run: in pid namespaces, its own or the program's; without their /proc it does not start" {
	unshare --pid --fork --mount-proc kmes-run native_cases threads
	kmes-run unshare --pid --fork --mount-proc native_cases threads
	kmes-run unshare --pid --fork native_cases threads
	run -125 --separate-stderr unshare --pid --fork kmes-run touch ran
	[ "$stderr" = "kmes-run: /proc does not show this process: mount that of this pid namespace" ]
	run -125 unshare --mount sh -c 'umount -l /proc && exec kmes-run touch ran'
	[ ! -e ran ]
}

@test "kmes-run: as the first process of a pid namespace it reaps what is orphaned there" {
	unshare --pid --fork --mount-proc kmes-run bash -c '
		for _ in 1 2 3; do (sleep 0.2 &); done
		for _ in $(seq 100); do
			[ "$(pgrep -P 1)" != $$ ] || exit 0
			sleep 0.1
		done
		exit 1'
}

# --- a terminal ---

@test "kmes-run: what is typed at a terminal reaches the program once" {
	native_terminal_cases typed-signals
}

@test "kmes-run: a job is stopped and goes on, by its terminal or by itself" {
	native_terminal_cases typed-stop
	native_terminal_cases stop-of-its-own
	native_terminal_cases stop-in-background
	native_terminal_cases stop-of-the-script
}

@test "kmes-run: a hang-up that it is told of as a session's leader reaches the program" {
	native_terminal_cases hang-up
}

# --- where it cannot be ---

@test "kmes-run: a program that wants a listener of its own is told why it has none" {
	run -0 --separate-stderr kmes-run native_cases listener
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "kmes-run: process "*" (native_cases) cannot install a seccomp listener: "* ]]
}

@test "kmes-run: a full standard error, which it might complain on, holds up no call" {
	mkfifo full
	# Both ends are here, and nobody reads.
	exec 9<>full
	dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>/dev/null || true
	timeout -s KILL 60 kmes-run native_cases listener 2>&9
	exec 9>&-
}

@test "kmes-run: within itself it says why not, 125" {
	run -125 --separate-stderr kmes-run kmes-run touch ran
	[[ ${stderr_lines[-1]} == "kmes-run: a seccomp listener is already installed"* ]]
	[ ! -e ran ]
}

@test "kmes-run: on a kernel before 5.19 one line, 125, and nothing is run" {
	run -125 --separate-stderr native_cases 5.18
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "kmes-run: "*"Linux 5.19 or later"* ]]
	[ "$output" = "" ]
	[ ! -e ran ]
}

@test "kmes-run: without the module one line, 125, and nothing is run" {
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
