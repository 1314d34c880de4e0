#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-dump: following - several at once, ending, pipes, full disks, idle rings, floods.

load helper

# Milliseconds since some start.
now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

@test "dump follow: two followers and a snapshot see every event once [A9 A10]" {
	local first second

	rings_start --slots=2 --exempt
	background one kmes-dump -T none
	first=$!
	background two kmes-dump -T none
	second=$!
	sleep 0.3
	kmes-emit -n 500 -c 0 -t a i=x
	kmes-emit -n 500 -c 1 -t b i=x
	wait_for_lines "$KMES_TMP/one.out" 1000
	wait_for_lines "$KMES_TMP/two.out" 1000
	kmes-dump -sq -T none >snapshot
	kill -INT $first $second
	end_of $first
	assert_status 0
	end_of $second
	assert_status 0
	for file in one.out two.out snapshot; do
		assert_equal "$(sort -u $file | wc -l)" 1000
		assert_equal "$(wc -l <$file)" 1000
	done
}

@test "dump follow: starts at the oldest event, or with --new after the newest [D0 R10]" {
	rings_start --slots=1
	kmes-emit -t old
	background all kmes-dump
	background new kmes-dump -N
	wait_for_line all.out old
	sleep 0.3
	kmes-emit -t young
	wait_for_line all.out young
	wait_for_line new.out young
	run ! grep old new.out
}

@test "dump follow: --count and --duration end it with status 0" {
	rings_start --slots=1
	kmes-emit -n 5 -t x
	run -0 timeout 10 kmes-dump -q -n 3
	assert_equal "${#lines[@]}" 3
	run -0 timeout 10 kmes-dump -q -d 0.3s
	assert_equal "${#lines[@]}" 5
	run -0 timeout 10 kmes-dump -q -d 20ms -t nothing
	assert_output ""
}

@test "dump follow: --until ends it once the clock has passed" {
	local start

	rings_start --slots=1
	kmes-emit -t x
	start=$(now_ms)
	run -0 timeout 10 kmes-dump -q -b "@$(date -d '+1 second' +%s.%N)"
	assert_match "$output" ' x '
	(($(now_ms) - start >= 1000 && $(now_ms) - start < 5000))
	run -0 timeout 10 kmes-dump -q -b 10m
	assert_output ""
}

@test "dump follow: one or more signals end a follower cleanly" {
	local signal

	rings_start --slots=1
	kmes-emit -t x
	for signal in INT TERM HUP; do
		background dump kmes-dump
		wait_for_line dump.out ' x '
		kill -$signal $!
		kill -$signal $! 2>/dev/null || true
		end_of $!
		assert_status 0
		assert_equal "$(tail -1 dump.err)" "kmes-dump: 1 events, 0 lost"
	done
}

@test "dump follow: signals ignored at startup stay ignored" {
	rings_start --slots=1
	kmes-emit -t x
	background dump env --ignore-signal=INT kmes-dump
	wait_for_line dump.out ' x '
	kill -INT $!
	sleep 0.3
	kmes-emit -t y
	wait_for_line dump.out ' y '
}

@test "dump follow: an interrupted snapshot ends by the signal" {
	rings_start --slots=1 --exempt
	kmes-emit -n 3000 -t x "fill=$(printf '%0500d' 0)"
	# The pipe is not read, so the snapshot cannot finish.
	mkfifo full
	exec {keep}<>full
	env --default-signal=INT kmes-dump -s >full 2>dump.err 3>&- &
	KMES_PIDS+=($!)
	sleep 0.5
	kill -INT $!
	(timeout 5 cat <full >drained 3>&- &)
	end_of $!
	exec {keep}>&-
	assert_status 130
}

@test "dump follow: a blocked stdout is given up a second after the signal" {
	local start pid

	rings_start --slots=1 --exempt
	kmes-emit -n 3000 -t x "fill=$(printf '%0500d' 0)"
	mkfifo full
	exec {keep}<>full
	env --default-signal=INT kmes-dump >full 2>dump.err 3>&- &
	pid=$!
	KMES_PIDS+=("$pid")
	sleep 0.5
	start=$(now_ms)
	kill -INT $pid
	end_of $pid
	exec {keep}>&-
	assert_status 1
	(($(now_ms) - start < 5000))
	assert_match "$(cat dump.err)" 'standard output'
}

@test "dump follow: SIGUSR1 reports the totals and continues" {
	rings_start --slots=1
	kmes-emit -t x
	background dump kmes-dump
	wait_for_line dump.out ' x '
	kill -USR1 $!
	wait_for_line dump.err '^kmes-dump: 1 events, 0 lost$'
	kmes-emit -t y
	wait_for_line dump.out ' y '
}

@test "dump follow: | head ends it silently with status 0, SIGPIPE ignored or not" {
	rings_start --slots=1 --load=1000
	run -0 bash -c 'set -o pipefail; kmes-dump 2>err | head -1 >/dev/null; echo "${PIPESTATUS[0]}"'
	assert_output 0
	[[ ! -s err ]]
	run -0 bash -c 'set -o pipefail; trap "" PIPE; kmes-dump 2>err | head -1 >/dev/null; echo "${PIPESTATUS[0]}"'
	assert_output 0
	[[ ! -s err ]]
	# If everything was printed before head exited, there is a summary.
	run -0 bash -c 'set -o pipefail; kmes-dump -s 2>err | true'
	run grep -Ev '^kmes-dump: (source sim, rings: 1|[0-9]+ events, 0 lost)$' err
	assert_output ""
}

# ends_with_its_reader ARGS...: kmes-dump writes to a pipe, which is then closed.
ends_with_its_reader() {
	mkfifo pipe
	env --default-signal=PIPE kmes-dump "$@" >pipe 2>dump.err 3>&- &
	KMES_PIDS+=($!)
	exec {reader}<pipe
	sleep 0.3
	exec {reader}<&-
	end_of $! 2
	assert_status 0
	rm pipe
}

@test "dump follow: ends within a second of its reader even if nothing is printed" {
	local type

	# On idle rings, and while other events pass.
	rings_start --slots=2 --load=500
	for type in nothing '!*'; do
		ends_with_its_reader -t "$type"
		[[ ! -s dump.err ]]
	done
	sim_stop
	rings_start --slots=2
	ends_with_its_reader
}

@test "dump follow: a line passes a pipe within 100 ms" {
	simulator_only "an emulated machine is slower than that"
	local i late=0 start

	rings_start --slots=2
	background grep bash -c 'kmes-dump -q -T none | grep --line-buffered x'
	sleep 0.3
	for i in {1..10}; do
		kmes-emit -t x
		start=$(now_ms)
		until has_lines grep.out "$i"; do
			(($(now_ms) - start < 5000)) || return 1
			sleep 0.005
		done
		(($(now_ms) - start <= 100)) || late=$((late + 1))
		sleep 0.05
	done
	# A busy machine may be late sometimes, a buffer always is.
	((late <= 5))
}

@test "dump follow: a full disk is an error with status 1" {
	rings_start --slots=1 --exempt
	kmes-emit -n 10 -t x
	run --separate-stderr bash -c 'kmes-dump -s >/dev/full'
	assert_status 1
	assert_match "$stderr" 'kmes-dump: standard output: cannot write: No space left on device'
	run --separate-stderr bash -c 'timeout 10 kmes-dump >/dev/full'
	assert_status 1
	run --separate-stderr bash -c 'kmes-dump --help >/dev/full'
	assert_status 1
	kmes-emit -n 2000 -t x "fill=$(printf '%0500d' 0)"
	run --separate-stderr bash -c 'kmes-dump -sj >/dev/full'
	assert_status 1
}

@test "dump follow: a disk filling up is reported, and what fitted is kept" {
	rings_start --slots=1 --exempt
	kmes-emit -n 5000 -t x
	mkdir small
	mount -t tmpfs -o size=64k none small || skip "mount needs more privileges"
	run --separate-stderr bash -c 'kmes-dump -s >small/file'
	cp small/file file
	umount small
	assert_status 1
	assert_match "$stderr" 'standard output: cannot write: No space left on device'
	assert_equal "$(wc -c <file)" 65536
}

@test "dump follow: a closed stdout is an error" {
	rings_start --slots=1
	kmes-emit -t x
	run --separate-stderr bash -c 'kmes-dump -s >&-'
	assert_status 1
}

@test "dump follow: when the source ends it drains the rest, reports it, and ends with 0" {
	local pid

	rings_start --slots=2
	simulator_only "the module cannot end under a reader"
	background dump kmes-dump
	pid=$!
	kmes-emit -t x
	wait_for_line dump.out ' x '
	kill -STOP $pid
	kmes-emit -n 100 -t y
	sim_stop
	kill -CONT $pid
	end_of $pid 5
	assert_status 0
	assert_equal "$(grep -c ' y ' dump.out)" 100
	assert_match "$(cat dump.err)" 'kmes-dump: source ended'
}

@test "dump follow: an idle follower on 8 rings makes fewer than 30 system calls a second [N9]" {
	local calls

	rings_start --slots=8
	command -v strace >/dev/null || skip "no strace"
	export ASAN_OPTIONS=detect_leaks=0 # no leak detection under strace
	background dump strace -f -c -o "$KMES_TMP/calls" -e signal=none kmes-dump -d 10
	end_of $! 20
	calls=$(awk '$NF == "total" { print $4 }' calls)
	# Startup takes about 200 calls; idling 10 s at 30 per second would be 300 more.
	background start strace -f -c -o "$KMES_TMP/calls0" -e signal=none kmes-dump -d 0
	end_of $! 20
	calls=$((calls - $(awk '$NF == "total" { print $4 }' calls0)))
	echo "$calls calls in 10 s"
	((calls < 300))
}

@test "dump follow: under load there are no futex calls [N8]" {
	! over_native_calls || skip "kmes-run and its program make some at startup"
	rings_start --slots=1 --capacity=64M --exempt
	command -v strace >/dev/null || skip "no strace"
	export ASAN_OPTIONS=detect_leaks=0 # no leak detection under strace
	kmes-emit -n 50000 -t x "fill=$(printf '%0100d' 0)"
	# 50000 events are available: only writes until they are printed.
	strace -f -c -o calls kmes-dump -q -n 50000 -o user >printed
	run ! grep futex calls
	run -0 awk '$NF == "write" { print $4 }' calls
	((output < 250))
}

@test "dump follow: a flood on one CPU neither starves another nor delays the end" {
	local start pid

	rings_start --slots=2 --exempt
	background flood bash -c 'while kmes-emit -c 0 -n 100000 -t flood fill=xxxxxxxxxxxxxxxxxxxx; do :; done'
	pid=$!
	background dump kmes-dump -T none -t marker
	wait_until 5 kmes-emit -c 1 -t warm
	sleep 0.3
	start=$(now_ms)
	kmes-emit -c 1 -t marker
	wait_for_line dump.out marker
	(($(now_ms) - start < 3000))
	start=$(now_ms)
	kill -INT $!
	end_of $!
	assert_status 0
	(($(now_ms) - start < 3000))
	start=$(now_ms)
	run -0 timeout 10 kmes-dump -q -t nothing -d 0.5
	(($(now_ms) - start < 3000))
	kill $pid
}

@test "dump follow: a resize while idle is followed, the next event printed [R0 R3 R11]" {
	rings_start --slots=1
	background dump kmes-dump -T none -o user
	wait_until 5 kmes-emit -t before
	wait_for_line dump.out before
	kmes-resize 64K
	kmes-emit -t after
	wait_for_line dump.out after
	# The change's own event is in between.
	assert_equal "$(cat dump.out)" $'cpu0  #1  USR  before  {}\ncpu0  #3  USR  after  {}'
}

@test "dump follow: memory stays small, except mappings" {
	local kib

	rings_start --slots=8 --exempt
	background dump kmes-dump
	simulator_only "one slot per CPU"
	# Events of about 60 KB on each ring, more than a ring holds.
	for cpu in {0..7}; do
		kmes-emit -c "$cpu" -n 100 -t big "fill=$(printf '%060000d' 0)"
	done
	wait_until 10 grep -q cpu7 dump.out
	kib=$(awk '/^RssAnon/ { print $2 }' /proc/$!/status)
	echo "$kib KiB"
	((kib > 0 && kib < 4096 + 8 * 512))
}

@test "dump follow: 256 rings with 1024 descriptors [A8]" {
	rings_start --slots=256 --capacity=64K
	background dump bash -c 'ulimit -n 1024; exec kmes-dump -T none'
	sleep 0.5
	kmes-emit -c 0 -t first
	kmes-emit -c 255 -t last
	wait_for_line dump.out 'cpu0 .*first'
	wait_for_line dump.out 'cpu255 .*last'
	kill -INT $!
	end_of $!
	assert_status 0
}
