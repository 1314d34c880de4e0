#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Captures: which files a recorder overwrites, removes and shares.

load helper
load prepared

# prepare_keep: a capture `all`, and a file `keep` that must not change.
prepare_keep() {
	prepare_mixed
	kmes-dump -sq -w all
	head -c 5000 /dev/urandom >keep
	cp keep kept
}

assert_kept() { cmp keep kept; }

@test "capture out: a usage error does not change the file" {
	local args

	prepare_keep
	for args in '-O size' '-n 0' '-d x' '--no-such-option' '-j' '-c x' '--keep=3' \
		'--gzip-level=0' '--rotate-size=0' '-a 25:00' '-m =' '-s -N' '-S sim -r all' \
		'-r all -N' '-f all all' '-r all -c 9' '-c 9' '-s -c 0,9' '-S nothing'; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr timeout 20 kmes-dump $args -w keep
		assert_equal "$output" ""
		assert_kept
		[[ $args != --keep* ]] || continue
		# shellcheck disable=SC2086
		run -2 timeout 20 kmes-dump -w c.kmes --rotate-size=1K $args
		[[ ! -e $(echo c-*) ]]
	done
}

@test "capture out: malformed input replaces nothing, also late through a pipe" {
	local i

	prepare_keep
	echo "no capture" >text
	{ head -c 8 all; printf '\x02\0\0\0'; tail -c +13 all; } >newer
	gzip -k text
	head -c 40 all >short
	: >empty
	for i in text newer text.gz short empty; do
		run -1 --separate-stderr kmes-dump -q -r $i -w keep
		assert_equal "${#stderr_lines[@]}" 1
		assert_kept
		run -1 --separate-stderr kmes-dump -q -r - -w keep < <(sleep 0.2; cat $i)
		assert_match "$stderr" '^kmes-dump: standard input: '
		assert_equal "${#stderr_lines[@]}" 1
		assert_kept
		run -1 kmes-dump -q -r - -w c.kmes --rotate-size=1K < <(sleep 0.2; cat $i)
		[[ ! -e $(echo c-*) ]]
		run -1 kmes-dump -q $i missing . -w keep
		assert_kept
	done
	# One valid capture is enough.
	run -1 --separate-stderr kmes-dump -q text empty all missing -w keep
	kmes-dump -q keep | cmp - <(kmes-dump -q all)
	# A capture without events is valid.
	kmes-dump -sq -t nothing -c 0 -a 2030-01-01 -w none
	kmes-dump -q -r - -w keep < <(sleep 0.2; cat none)
	run -0 --separate-stderr kmes-dump keep
	assert_equal "$stderr" "$(kmes-dump none 2>&1 >/dev/null)"
}

@test "capture out: a run that ends before any input began replaces nothing" {
	prepare_keep
	mkfifo fifo
	exec {to}<>fifo
	run -0 --separate-stderr timeout 20 kmes-dump -q -d 0.3 -r fifo -w keep
	assert_equal "$stderr" ""
	assert_kept
	background dump kmes-dump -r fifo -w keep
	sleep 0.3
	kill -HUP $!
	kill -USR1 $!
	wait_for_line dump.err '^kmes-dump: 0 events, 0 lost$'
	kill -TERM $!
	end_of $!
	assert_status 143
	assert_kept
	: >grows
	background dump kmes-dump -f grows -w keep
	sleep 0.3
	kill -INT $!
	end_of $!
	assert_status 0
	assert_kept
	# Then it begins.
	background dump kmes-dump -f grows -w keep
	sleep 0.2
	assert_kept
	head -c 64 all >grows
	wait_until 10 eval '[[ $(head -c 8 keep) == KMESCAP1 ]]'
	kill -INT $!
	end_of $!
	assert_equal "$(kmes-dump keep 2>&1)" "kmes-dump: 0 events, 0 lost"
	exec {to}>&-
}

@test "capture out: a CPU that no capture has is a usage error, an idle one is not" {
	prepare_mixed
	kmes-dump -sq -w all
	for args in '-c 9' '-c 0,9' '-c 2-9' '-c 1 -c 9' '-c 9 -f' '-c 9 -O cpu' '-c 9 -w x'; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr timeout 20 kmes-dump $args all
		assert_usage_error 'this CPU has no ring: .9.$|none of these CPUs has a ring: .2-9.$'
	done
	run --separate-stderr kmes-dump -c 9 - <all
	assert_usage_error "this CPU has no ring: '9'"
	[[ ! -e x ]]
	run -0 kmes-dump -q -c 1-9 all
	assert_output "$(kmes-dump -sq -c 1)"
	# Its ring may have existed and been empty.
	kmes-dump -sq -c 1 -w one
	run -0 kmes-dump -q -c 0 one
	assert_output ""
	# A later capture may have more.
	python3 -c '
data = bytearray(open("all", "rb").read())
data[56] = 12
open("more", "wb").write(data)'
	run -0 kmes-dump -q -c 9 all more
	run -0 kmes-dump -q -c 9 <(cat all more)
	assert_output ""
	run --separate-stderr kmes-dump -c 12 all more
	assert_usage_error "this CPU has no ring: '12'"
	# A capture of an unknown number of CPUs refuses none.
	dd if=/dev/zero of=more bs=1 seek=56 count=4 conv=notrunc status=none
	run -0 kmes-dump -q -c 9 more
	run --separate-stderr kmes-stat -r all -c 9
	assert_usage_error "this CPU has no ring: '9'"
	run -0 kmes-stat -j -r all -c 0
	assert_equal "$(jq .events <<<"$output")" "$(kmes-dump -sq -c 0 | grep -vc ^---)"
}

@test "capture out: --keep removes no pending input" {
	local name

	rings_start --slots=1 --exempt
	kmes-emit -n 300 -t x
	kmes-dump -sq -w c.kmes --rotate-size=4K
	mkdir apart
	cp c-* apart/
	ln "$(echo c-000003-*)" hard
	ln -s "$(echo c-000002-*)" soft
	for name in c-000001-* hard soft; do
		run -1 --separate-stderr kmes-dump -r "$(echo "$name")" -w c.kmes --rotate-size=1K --keep=1
		assert_match "$stderr" '^kmes-dump: c-00000[123]-[0-9TZ]+\.kmes: is an input, and --keep could remove it$'
		for file in c-*; do cmp "$file" "apart/$file"; done
	done
	run -1 kmes-dump -r - -w ./c.kmes --rotate-size=1K --keep=2 <"$(echo c-000001-*)"
	diff -r <(ls c-*) <(cd apart && ls)
	# Without it they are safe, and --keep works in other folders.
	kmes-dump -q c-000001-* c-000002-* -w c.kmes --rotate-size=1K
	kmes-dump -q apart/c-* -w c.kmes --rotate-size=1K --keep=3
	assert_equal "$(printf '%s\n' c-* | wc -l)" 3
	kmes-dump -q -T none c-* | cmp - <(kmes-dump -sq -T none | tail -n "$(kmes-dump -q c-* | wc -l)")
}

@test "capture out: --keep skips files of other recorders, and what is not a file" {
	local pid

	rings_start --slots=1 --exempt
	kmes-emit -n 300 -t x
	mkdir c-000001-20260101T000000Z.kmes
	ln -s nowhere c-000002-20260101T000000Z.kmes
	background dump kmes-dump -w c.kmes --rotate-size=1G
	pid=$!
	wait_until 10 eval '[[ -s $(echo c-000001-20261*) || -s $(echo c-00000[123]-2026112*) ]]'
	kmes-dump -sq -w c.kmes --rotate-size=2K --keep=3
	assert_equal "$(find . -type f -name 'c-??????-*' | wc -l)" 3
	[[ -d c-000001-20260101T000000Z.kmes && -h c-000002-20260101T000000Z.kmes ]]
	kmes-emit -n 3 -t more
	sleep 0.5
	kill -TERM $pid
	end_of $pid
	assert_status 0
	# The oldest one is the other recorder's, and complete.
	assert_equal "$(find . -type f -name 'c-??????-*' | sort | head -n 1 | xargs kmes-dump -q -T none | tail -n 1)" \
		'cpu0  #303  USR  more  {}'
}

@test "capture out: one file has one recorder" {
	rings_start --slots=1
	kmes-emit -n 5 -t x
	for file in file file.gz; do
		background dump kmes-dump -w $file
		wait_until 10 test -s $file
		run -1 --separate-stderr kmes-dump -s -w $file
		assert_equal "$stderr" "kmes-dump: $file: another recorder is writing it; 0 events are safe"
		kill -HUP $!
		kmes-emit -t y
		sleep 0.3
		kill -TERM $!
		end_of $!
		assert_status 0
		kmes-dump -q -T none $file | tail -n 1 | grep ' y '
		# A killed recorder releases its lock.
		background dump kmes-dump -w $file
		wait_until 10 test -s $file
		kill -KILL $!
		end_of $!
		kmes-dump -sq -w $file
		kmes-dump -q $file >/dev/null
	done
	# What is not a regular file is shared.
	kmes-dump -sq -w /dev/null
}

# catches PID SIGNAL: it has a handler for that number.
catches() {
	(((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$(tool_of "$1")/status") >> ($2 - 1)) & 1))
}

@test "capture out: a FIFO waits for its reader, and a signal ends that" {
	rings_start --slots=1
	kmes-emit -n 5 -t x
	mkfifo fifo
	background dump kmes-dump -w fifo
	sleep 0.3
	kill -USR1 $!
	kill -HUP $!
	sleep 0.1
	kill -TERM $!
	end_of $!
	assert_status 0
	run ! grep -v -e ' events, 0 lost' -e ': source ' dump.err
	background dump kmes-dump -s -w fifo
	sleep 0.3
	kill -INT $!
	end_of $!
	assert_status 130
	# So does -d, and totals are printed.
	run -0 --separate-stderr timeout 20 kmes-dump -q -d 0.3 -w fifo
	assert_equal "$stderr" ""
	run -0 timeout 20 kmes-dump -q -b "@$(date -d '+1 second' +%s)" -w fifo
	background dump kmes-dump -w fifo
	# Uncaught it would kill the program.
	wait_until 10 catches $! 10
	kill -USR1 $!
	wait_for_line dump.err '^kmes-dump: 0 events, 0 lost$'
	kill -TERM $!
	end_of $!
	background dump kmes-dump -s -w fifo
	timeout 20 kmes-dump -q -T none fifo >got
	end_of $!
	assert_status 0
	assert_equal "$(wc -l <got)" 5
}

@test "capture out: names of any bytes" {
	local name=$'new\nline \e[31m-000001-20260101T000000Z.kmes' file

	rings_start --slots=1 --exempt
	kmes-emit -n 100 -t x
	kmes-dump -sq -w "$name"
	kmes-dump -q "$name" | cmp - <(kmes-dump -sq)
	kmes-dump -sq -w "$name" --rotate-size=4K --keep=2
	for file in new*Z-00000?-*.kmes; do kmes-dump -q "$file" >/dev/null; done
	[[ $(find . -name 'new*Z-00000?-*.kmes' -printf x) == xx ]]
	run -1 --separate-stderr kmes-dump -r "$name" -w "$name"
	assert_equal "$stderr" 'kmes-dump: new\x0aline \x1b[31m-000001-20260101T000000Z.kmes: is an input, and would be overwritten'
	run -0 kmes-dump -sq -w "$(printf 'a%.0s' {1..255})"
	run -1 --separate-stderr kmes-dump -s -w "$(printf 'a%.0s' {1..255})" --rotate-size=1K
	assert_match "$stderr" 'aaaa-000001-[0-9TZ]+: File name too long; 0 events are safe$'
}
