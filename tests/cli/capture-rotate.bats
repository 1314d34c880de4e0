#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Rotated captures: names, sizes, times, and how many are kept.

load helper

STEPCLOCK=$KMES_TOP/build/tests/preload/stepclock.so
NAME='c-[0-9]{6}-[0-9]{8}T[0-9]{6}Z\.kmes'

emit() { yes '{"type":"x","payload":{"fill":"0123456789012345678901234567890123456789"}}' |
	head -n "$1" | kmes-emit -i -; }

# each_once LAST FILES...: in the order of their names: sequences 1 to LAST, each file complete.
each_once() {
	local last=$1

	shift
	kmes-dump -q -T none "$@" | sed -nE 's/^cpu0  #([0-9]+) .*/\1/p' >seqs
	cmp <(seq 1 "$last") seqs || return 1
	# Each file alone.
	printf '%s\0' "$@" | xargs -0 -n 1 -P 2 kmes-dump -q >/dev/null
}

# has_recorded PID COUNT: its status reports this many events.
has_recorded() {
	kill -USR1 "$1"
	sleep 0.1
	grep -q "^kmes-dump: $2 events, 0 lost\$" dump.err
}

@test "capture rotate: over 1200 files by size, across clock steps: nothing lost or duplicated" {
	local pid count preload=$STEPCLOCK

	[[ $KMES_BIN != */asan/* ]] || preload=
	rings_start --slots=1 --exempt --capacity=4M
	background dump env STEP_FILE="$KMES_TMP/stepped" LD_PRELOAD="$preload" \
		kmes-dump -w c.kmes --rotate-size=1K
	pid=$!
	emit 3300
	wait_until 40 has_recorded $pid 3300
	touch stepped
	emit 3300
	wait_until 40 has_recorded $pid 6600
	rm stepped
	emit 3400
	wait_until 40 has_recorded $pid 10000
	kill -TERM $pid
	end_of $pid
	assert_status 0
	count=$(printf '%s\n' c-*.kmes | wc -l)
	((count > 1200))
	run ! grep -Evx "$NAME" <(printf '%s\n' c-*)
	# Names sort in the order of creation, whatever the clock does.
	assert_equal "$(printf '%s\n' c-* | LC_ALL=C sort | cut -d- -f2)" "$(seq -f %06g 1 "$count")"
	[[ -z $preload ]] || run ! sort -c <(printf '%s\n' c-* | cut -d- -f3)
	each_once 10000 c-*
	cat c-* | kmes-dump -q -T none -r - | cmp - <(kmes-dump -sq -T none)
}

@test "capture rotate: the first event after SIZE bytes opens the next file" {
	local size event

	rings_start --slots=1 --exempt
	emit 1000
	kmes-dump -sq -n 1 -w one
	kmes-dump -sq -n 2 -w two
	event=$(($(stat -c %s two) - $(stat -c %s one)))
	kmes-dump -sq -w c.kmes --rotate-size=8K
	for file in $(printf '%s\n' c-* | head -n -1); do
		size=$(stat -c %s "$file")
		# exceeds the size by less than an event, and the end record
		((size >= 8192 && size < 8192 + event + 100)) || { echo "$file: $size"; return 1; }
	done
	each_once 1000 c-*
	# A larger event has its own file; no file is empty.
	kmes-dump -sq -n 5 -w d.kmes --rotate-size=1
	assert_equal "$(printf '%s\n' d-* | wc -l)" 5
}

@test "capture rotate: compressed, all events are present" {
	rings_start --slots=1 --exempt --capacity=16M
	emit 40000
	kmes-dump -sq -w c.kmes.gz --rotate-size=20K
	(($(printf '%s\n' c-??????-????????T??????Z.kmes.gz | wc -l) >= 3))
	each_once 40000 c-*
}

@test "capture rotate: by time, and by both, during load" {
	local count pid

	rings_start --slots=1 --load=2000
	background dump kmes-dump -w c.kmes --rotate-time=0.3
	pid=$!
	wait_until 20 eval '(($(ls c-* | wc -l) >= 5))'
	kill -TERM $pid
	end_of $pid
	assert_status 0
	count=$(sed -n 's/^kmes-dump: \([0-9]*\) events, 0 lost$/\1/p' dump.err)
	each_once "$count" c-*
	background dump kmes-dump -N -w d.kmes --rotate-time=0.5 --rotate-size=20K
	pid=$!
	wait_until 20 eval '(($(ls d-* | wc -l) >= 6))'
	kill -TERM $pid
	end_of $pid
	kmes-dump -q -T none d-* >got
	assert_equal "$(wc -l <got)" "$(sed -n 's/^kmes-dump: \([0-9]*\) events, 0 lost$/\1/p' dump.err)"
	sed -E 's/.*#([0-9]+) .*/\1/' got | awk 'NR > 1 && $1 != last + 1 { exit 1 } { last = $1 }'
	for file in d-*; do (($(stat -c %s "$file") < 21000)); done
}

@test "capture rotate: idle periods create no empty files" {
	rings_start --slots=1
	kmes-emit -t x
	background dump kmes-dump -w c.kmes --rotate-time=0.1
	sleep 1.5
	kill -TERM $!
	end_of $!
	(($(printf '%s\n' c-* | wc -l) <= 2))
	assert_equal "$(kmes-dump -q c-* | wc -l)" 1
}

@test "capture rotate: numbers keep the order across a clock step" {
	local pid

	preload_only
	rings_start --slots=1 --load=2000
	background dump env STEP_FILE="$KMES_TMP/stepped" LD_PRELOAD="$STEPCLOCK" \
		kmes-dump -w c.kmes --rotate-time=0.3
	pid=$!
	wait_until 20 eval '(($(ls c-* | wc -l) >= 3))'
	touch stepped
	sleep 1
	rm stepped
	sleep 1
	kill -TERM $pid
	end_of $pid
	assert_status 0
	# In the order of names the events are ordered, their times are not.
	run ! sort -c <(printf '%s\n' c-* | cut -d- -f3)
	each_once "$(sed -n 's/^kmes-dump: \([0-9]*\) events, 0 lost$/\1/p' dump.err)" c-*
	# An hour's step ahead does not count as elapsed time.
	(($(printf '%s\n' c-* | wc -l) < 40))
}

@test "capture rotate: --keep keeps exactly that many, and ignores other names" {
	local other

	rings_start --slots=1 --exempt
	emit 500
	for other in c-000001.kmes c-1-20260101T000000Z.kmes c-000001-20260101T000000Z.kmes.gz \
		c-000001-20260101T000000.kmes xc-000001-20260101T000000Z.kmes c.kmes \
		c-0000001-20260101T000000Z.kmes c-00000a-20260101T000000Z.kmes \
		c-000001-20260101T000000Z.kmes~ cc-000001-20260101T000000Z.kmes; do
		echo mine >"$other"
	done
	mkdir c-000000-20260101T000000Z.kmes.d
	kmes-dump -sq -w c.kmes --rotate-size=2K --keep=7
	assert_equal "$(find . -regextype egrep -regex "./$NAME" | wc -l)" 7
	assert_equal "$(grep -lx mine -- * 2>/dev/null | wc -l)" 10
	# The newest ones remain.
	mapfile -t kept < <(find . -regextype egrep -regex "./$NAME" | sort)
	kmes-dump -q -T none "${kept[@]}" >got
	kmes-dump -sq -T none | tail -n "$(wc -l <got)" | cmp - got
	# There may be too many already at the start.
	kmes-dump -sq -n 1 -w c.kmes --rotate-size=2K --keep=2
	assert_equal "$(find . -regextype egrep -regex "./$NAME" | wc -l)" 2
	kmes-dump -sq -w c.kmes --rotate-size=2K --keep=1
	assert_equal "$(find . -regextype egrep -regex "./$NAME" | wc -l)" 1
}

@test "capture rotate: a rerun continues after the highest number, in any folder" {
	rings_start --slots=1 --exempt
	emit 100
	mkdir "sub dir"
	: >"sub dir/c-000041-20200101T000000Z.kmes"
	kmes-dump -sq -w "sub dir/c.kmes" --rotate-size=4K
	[[ -e $(echo "sub dir"/c-000042-*.kmes) && ! -e $(echo "sub dir"/c-000001-*.kmes) ]]
	each_once 100 "sub dir"/c-00004[2-9]-*
	# After six digits come seven.
	: >e-999999-20200101T000000Z
	kmes-dump -sq -n 1 -w e --rotate-size=4K
	[[ -e $(echo e-1000000-????????T??????Z) ]]
	kmes-dump -sq -n 1 -w e --rotate-size=4K
	[[ -e $(echo e-1000001-????????T??????Z) ]]
	# Names with and without an extension, and with dots.
	for file in plain .hidden a.b.kmes x.tar.gz; do
		kmes-dump -sq -n 1 -w $file --rotate-size=1M
	done
	ls -A >names
	grep -Eqx 'plain-000001-[0-9T]+Z' names
	grep -Eqx '\.hidden-000001-[0-9T]+Z' names
	grep -Eqx 'a\.b-000001-[0-9T]+Z\.kmes' names
	grep -Eqx 'x-000001-[0-9T]+Z\.tar\.gz' names
}

@test "capture rotate: SIGHUP continues in the next file" {
	local pid

	rings_start --slots=1 --load=2000
	background dump kmes-dump -w c.kmes --rotate-size=1G
	pid=$!
	wait_until 10 eval '[[ -s $(echo c-000001-*) ]]'
	kill -HUP $pid
	wait_until 10 eval '[[ -s $(echo c-000002-*) ]]'
	kill -TERM $pid
	end_of $pid
	each_once "$(sed -n 's/^kmes-dump: \([0-9]*\) events, 0 lost$/\1/p' dump.err)" c-*
}
