#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Captures from pipes, or growing while they are read.

load helper

summed() { sed -n 's/^kmes-dump: \([0-9]*\)\( of [0-9]*\)\? events, .*/\1/p' "$1" | tail -1; }

# write_slowly FILE: byte by byte, with pauses.
write_slowly() {
	local size

	size=$(stat -c %s "$1")
	for ((; size > 0; size -= 1000)); do
		dd bs=1 count=1000 status=none
		sleep 0.001
	done <"$1"
}

@test "capture pipe: from cat, gzip and a writer of single bytes" {
	rings_start --slots=2 --exempt
	kmes-emit -n 200 -t x "text=some words"
	kmes-dump -sq >want
	kmes-dump -sq -w f.gz
	kmes-dump -sq -w f
	cat f.gz | kmes-dump -q -r - | cmp want -
	gzip -dc f.gz | kmes-dump -q - | cmp want -
	kmes-dump -q -r /dev/stdin <f.gz | cmp want -
	for file in f f.gz; do
		write_slowly $file | kmes-dump -q -r - | cmp want -
	done
}

@test "capture pipe: a FIFO opened late, written in pieces, and truncated" {
	local size

	rings_start --slots=1 --exempt
	kmes-emit -n 10 -t x
	kmes-dump -sq -w f
	kmes-dump -sq >want
	size=$(stat -c %s f)
	mkfifo fifo
	background dump kmes-dump -r fifo
	sleep 0.3
	exec {to}>fifo
	head -c 400 f >&"$to"
	wait_for_lines dump.out 3
	tail -c +401 f >&"$to"
	exec {to}>&-
	end_of $!
	assert_status 0
	cmp want dump.out
	background dump kmes-dump -q fifo
	head -c $((size - 1)) f >fifo
	end_of $!
	assert_status 1
	cmp want dump.out
	assert_equal "$(cat dump.err)" \
		"kmes-dump: fifo: truncated (still being written?)"
}

@test "capture pipe: written and read live, each event arrives at once" {
	local i option

	rings_start --slots=2
	for option in '' -z; do
		rm -f back.out
		# shellcheck disable=SC2016,SC2086
		background back bash -c "kmes-dump -N $option -w - 2>write.err | kmes-dump -r -"
		sleep 0.5
		for i in 1 2 3; do
			kmes-emit -t e$i
			wait_for_line back.out " e$i " 5
		done
		pkill -TERM -P $! -f -- '-w -'
		end_of $!
		assert_status 0
		assert_equal "$(summed back.err)" 3
		assert_equal "$(summed write.err)" 3
	done
}

@test "capture pipe: a flood through a live pipe arrives completely" {
	rings_start --slots=2 --load=50000
	kmes-dump -d 2 -w - 2>write.err | kmes-dump -T none -r - >got 2>read.err
	assert_equal "$(summed read.err)" "$(summed write.err)"
	(($(summed read.err) > 10000))
	assert_equal "$(grep -vc '^---' got)" "$(summed read.err)"
}

# has_opened PID FILE
has_opened() {
	local fd

	for fd in "/proc/$(tool_of "$1")/fd"/*; do
		[[ ! $fd -ef $2 ]] || return 0
	done
	return 1
}

@test "capture pipe: an idle pipe does not delay signals, -d and a closed stdout" {
	mkfifo fifo
	exec {keep}<>fifo
	background dump kmes-dump -r fifo
	sleep 0.3
	kill -USR1 $!
	wait_for_line dump.err '^kmes-dump: 0 events'
	kill -INT $!
	end_of $!
	assert_status 130
	run -0 --separate-stderr timeout 20 kmes-dump -q -d 0.3 -r fifo
	run -0 --separate-stderr timeout 20 bash -c 'kmes-dump -r fifo | true; exit "${PIPESTATUS[0]}"'
	assert_equal "$stderr" ""
	background stat kmes-stat -r fifo
	sleep 0.3
	kill -TERM $!
	end_of $!
	assert_status 143
	exec {keep}>&-
	# The other end is not open.
	background dump kmes-dump -r fifo
	wait_until 10 has_opened $! fifo
	kill -USR1 $!
	wait_for_line dump.err '^kmes-dump: 0 events'
	kill -INT $!
	end_of $!
	assert_status 130
	assert_equal "$(wc -l <dump.err)" 2
	run -0 --separate-stderr timeout 20 kmes-dump -q -d 0.3 -r fifo
	run -0 --separate-stderr timeout 20 bash -c 'kmes-dump -r fifo | true; exit "${PIPESTATUS[0]}"'
	assert_equal "$stderr" ""
	background stat kmes-stat -r fifo
	wait_until 10 has_opened $! fifo
	kill -TERM $!
	end_of $!
	assert_status 143
}

@test "capture pipe: -f prints what another kmes-dump writes, as it is written" {
	local reader file i

	rings_start --slots=2 --exempt
	for file in f f.gz; do
		: >$file
		background write kmes-dump -N -w $file
		WRITER=$!
		background read kmes-dump -f $file
		reader=$!
		sleep 0.5
		for i in 1 2 3; do
			kmes-emit -t e$i
			wait_for_line read.out " e$i " 10
		done
		kmes-emit -n 1000 -t flood
		wait_for_lines read.out 1003 10
		kill -TERM $WRITER
		end_of $WRITER
		# The end of the capture does not end the follower.
		sleep 0.3
		kill -INT $reader
		end_of $reader
		assert_status 0
		kmes-dump -q $file | cmp read.out -
		assert_equal "$(cat read.err)" "kmes-dump: 1003 events, 0 lost"
	done
}

@test "capture pipe: -f ends by -n, -d and -b, and when the file is overwritten" {
	local reader

	rings_start --slots=1
	kmes-emit -n 5 -t x
	kmes-dump -sq -w f
	run -0 timeout 20 kmes-dump -q -f -n 3 f
	assert_equal "${#lines[@]}" 3
	run -0 timeout 20 kmes-dump -q -f -d 0.3 f
	assert_equal "${#lines[@]}" 5
	run -0 timeout 20 kmes-dump -q -f -b "@$(date -d '+1 second' +%s)" f
	assert_equal "${#lines[@]}" 5
	background read kmes-dump -f f
	reader=$!
	wait_for_lines read.out 5
	head -c 70 f >g
	cat g >f
	end_of $reader
	assert_status 1
	assert_match "$(cat read.err)" '^kmes-dump: f: was truncated or replaced while followed'
	# A capture through a pipe ends with it, followed or not.
	kmes-dump -sq -w - | timeout 20 kmes-dump -q -f -r - >got
	assert_equal "$(wc -l <got)" 5
}

@test "capture pipe: a read ends by a signal even while it skips events" {
	rings_start --slots=1 --exempt --capacity=16M
	kmes-emit -n 50000 -t x
	kmes-dump -sq -w f
	for i in {1..5000}; do echo f; done >names
	for options in '-c 9' '-t nothing'; do
		# shellcheck disable=SC2046,SC2086 # words
		background dump kmes-dump $options $(cat names)
		sleep 0.2
		kill -INT $!
		end_of $!
		assert_status 130
	done
}
