#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Captures: the order in which -r prints them.

load helper
load prepared

# The mixed events by time and by CPU, live and recorded.
record_both() {
	prepare_mixed
	kmes-dump -sq >live.time
	kmes-dump -sq -O cpu >live.cpu
	run ! cmp -s live.time live.cpu
	kmes-dump -sq -w by.time
	kmes-dump -sq -O cpu -w by.cpu
}

@test "capture order: as recorded, unless another is requested" {
	record_both
	kmes-dump -q by.time | cmp live.time -
	kmes-dump -q by.cpu | cmp live.cpu -
	for file in by.time by.cpu; do
		gzip -k $file
		for order in time cpu; do
			kmes-dump -q -O $order $file | cmp live.$order -
			kmes-dump -q -O $order $file.gz | cmp live.$order -
			kmes-dump -q -O $order -r - <$file | cmp live.$order -
			cat $file | kmes-dump -q -O $order - | cmp live.$order -
		done
	done
	# Also without a recorded order.
	dd if=/dev/zero of=by.cpu bs=1 seek=12 count=4 conv=notrunc status=none
	kmes-dump -q by.cpu | cmp live.cpu -
	for order in time cpu; do
		kmes-dump -q -O $order by.cpu | cmp live.$order -
	done
}

@test "capture order: filters, counts and times apply to the ordered events" {
	local args

	record_both
	for args in '-n 5' '-t app.*' '-c 1' '-m n>20' '-j' '-T delta -n 30' \
		'-a @1795983683 -b @1795983684.5' '-x -t sys.t0' '-c 0 -n 3'; do
		for order in time cpu; do
			# shellcheck disable=SC2086 # words
			kmes-dump -sq -O $order $args >live
			for file in by.time by.cpu; do
				# shellcheck disable=SC2086
				kmes-dump -q -O $order $args $file | cmp live - || {
					echo "$file -O $order $args"
					return 1
				}
			done
		done
	done
	run -0 --separate-stderr kmes-dump -O time by.cpu
	assert_equal "$stderr" "$(kmes-dump -s 2>&1 >/dev/null | tail -1)"
}

@test "capture order: recorded again, it is the new order, and each event keeps its boot" {
	local boot=00112233445566778899aabbccddeeff

	record_both
	kmes-dump -q -O time by.cpu -w again
	kmes-dump -q again | cmp live.time -
	kmes-dump -q -O time by.cpu -w - --gzip | kmes-dump -q -O time - | cmp live.time -
	# Two boots, merged.
	kmes-dump -sq -c 0 -w a
	kmes-dump -sq -c 1 -w b
	python3 -c 'import sys
with open("b", "r+b") as b:
    b.seek(32)
    b.write(bytes.fromhex(sys.argv[1]))' $boot
	kmes-dump -q -j --with-boot -O time a b >want
	assert_equal "$(jq -r 'select(.cpu == 1).boot' want | tr -d - | sort -u)" $boot
	assert_equal "$(jq -r 'select(.cpu == 0).boot' want | tr -d - | grep -c $boot || true)" 0
	kmes-dump -q -O time a b -w again
	kmes-dump -q -j --with-boot again >got
	cmp want got
}

@test "capture order: recordings of one CPU each are merged by time" {
	record_both
	kmes-dump -sq -c 0 -w a
	kmes-dump -sq -c 1 -w b.gz
	kmes-dump -q -O time a b.gz | cmp live.time -
	kmes-dump -q -O time b.gz a | cmp live.time -
	cat a <(gzip -dc b.gz) | kmes-dump -q -O time - | cmp live.time -
	kmes-dump -q -O cpu a b.gz | cmp live.cpu -
	kmes-dump -q a b.gz | cmp live.cpu -
}

@test "capture order: a follower's flood is replayed as printed, in either order" {
	rings_start --slots=3 --load=60000 --capacity=256K
	for options in '' '-O time' '-O cpu'; do
		# shellcheck disable=SC2086 # words
		kmes-dump -q $options -n 20000 --print -w file >live
		assert_equal "$(grep -vc '^---' live)" 20000
		# shellcheck disable=SC2086
		kmes-dump -q $options file | cmp live -
		kmes-dump -q file | cmp live -
	done
	# In the other order nothing is lost, and each CPU keeps its sequence.
	for order in cpu time; do
		kmes-dump -q -T none -O $order file >got
		cmp <(sort got) <(kmes-dump -q -T none file | sort)
		for cpu in 0 1 2; do
			grep "^cpu$cpu " got | cmp - <(kmes-dump -q -T none file | grep "^cpu$cpu ")
		done
	done
	kmes-dump -q -T epoch -O time file | grep -v '^---' | cut -d' ' -f1 | LC_ALL=C sort -c
}

@test "capture order: a follower's losses are replayed as printed, with filters, too" {
	local args

	rings_start --slots=2 --load=40000 --capacity=64K
	for args in '' '-m n=*1' '-O cpu -j -c 1'; do
		# shellcheck disable=SC2086 # words
		background dump kmes-dump $args --print -w file
		wait_until 10 test -s dump.out
		# While it is stopped the rings wrap.
		kill -STOP "$(tool_of $!)"
		sleep 1
		kill -CONT "$(tool_of $!)"
		wait_until 10 grep -q lost dump.out
		kill -TERM $!
		end_of $!
		assert_status 0
		# shellcheck disable=SC2086
		kmes-dump $args file >back 2>back.err
		cmp dump.out back
		assert_equal "$(sed 's/ of [0-9]*//' back.err)" "$(sed '1d; s/ of [0-9]*//' dump.err)"
		# Events that the filter excludes are not lost.
		assert_equal "$(kmes-dump file 2>&1 >/dev/null)" "$(sed 's/ of [0-9]*//' back.err)"
	done
}

# far_apart MIB: a capture with this much of CPU 1 before the one event of CPU 0, the earliest.
far_apart() {
	command -v python3 >/dev/null || skip "no python3 here"
	python3 - "$1" <<-'END'
		import struct, sys
		def record(cpu, seq, ts, kind, payload):
		    head = 77 + len(kind)
		    return struct.pack("<IIQQHB48xH", head + len(payload), head, ts, seq, cpu, 0,
		                       len(kind)) + kind + payload
		count = int(sys.argv[1]) * 16
		text = b"\xda\xff\x00" + b"x" * 0xff00
		with open("far", "wb") as far:
		    far.write(struct.pack("<8sII32xQI4x", b"KMESCAP1", 1, 0, 1, 2))
		    for i in range(count):
		        far.write(record(1, i + 1, 1000 + i, b"flood", text))
		    far.write(record(0, 1, 999, b"early", b"\x80"))
		    far.write(record(0, 0, 0, b"", b"\x81\xa3end\xcd" + struct.pack(">H", count + 1)))
	END
}

@test "capture order: events farther apart than the window are not reordered, with a note" {
	far_apart 60
	run -0 --separate-stderr kmes-dump -q -T none --width=12 -O time far
	assert_equal "$stderr" ""
	assert_equal "${#lines[@]} ${lines[0]}" "961 cpu0  #1  US"
	far_apart 80
	run -0 --separate-stderr kmes-dump -q -T none --width=12 -O time far
	assert_equal "$stderr" "kmes-dump: 1 events were too far apart to be sorted"
	assert_equal "${#lines[@]} ${lines[0]}" "1281 cpu1  #1  US"
	# No more memory than that is used.
	[[ $KMES_BIN == */asan/* ]] || ulimit -v 250000
	kmes-dump -q -O cpu far >/dev/null
}

# has_read PID FILE: entirely.
has_read() {
	local fd

	for fd in "/proc/$1/fd"/*; do
		[[ $fd -ef $2 ]] && grep -Eq "^pos:[[:space:]]+$(stat -c %s "$2")\$" "/proc/$1/fdinfo/${fd##*/}" &&
			return 0
	done
	return 1
}

@test "capture order: of an idle pipe and a growing file no event is held for long" {
	local end

	record_both
	end=$(($(stat -c %s by.time) - 100))
	mkfifo fifo
	background dump kmes-dump -q -O cpu -r fifo
	exec {to}>fifo
	head -c $end by.time >&"$to"
	wait_for_lines dump.out 50 10
	tail -c +$((end + 1)) by.time >&"$to"
	exec {to}>&-
	end_of $!
	assert_status 0
	cmp <(sort dump.out) <(sort live.cpu)
	# When it ends, held events are printed, too.
	head -c $end by.time >grows
	for args in '-d 1' '-b @1795983690'; do
		# shellcheck disable=SC2086 # words
		run -0 timeout 20 kmes-dump -q -f -O cpu $args grows
		assert_equal "$output" "$(kmes-dump -q -O cpu grows 2>/dev/null)"
	done
	background dump kmes-dump -q -f -O cpu grows
	wait_until 10 has_read $! grows
	kill -INT $!
	end_of $!
	assert_status 0
	cmp dump.out <(kmes-dump -q -O cpu grows 2>/dev/null)
}
