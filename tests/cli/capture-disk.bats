#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Captures on full or failing disks: reported by name, with the number of safe events.

load helper

teardown() {
	umount "$KMES_TMP/small" 2>/dev/null || true
	common_teardown
}

# small_disk BYTES [OPTIONS]: at small/, of that size.
small_disk() {
	mkdir small
	mount -t tmpfs -o size="$1${2:+,$2}" none small 2>/dev/null || skip "tmpfs cannot be mounted here"
}

# About 1.6 MB of incompressible events.
fill_rings() {
	rings_start --slots=1 --exempt --capacity=4M
	base64 -w 600 </dev/urandom | head -n 2000 |
		sed 's/.*/{"type":"x","payload":{"fill":"&"}}/' | kmes-emit -i -
}

# check_safe FILE STDERR: it is readable up to there, and has the events reported safe.
check_safe() {
	local safe

	assert_match "$2" "^kmes-dump: $1: No space left on device; ([0-9]+) events are safe"
	safe=${BASH_REMATCH[1]}
	((safe > 100 && safe < 2000)) || { echo "$safe are safe"; return 1; }
	run -1 --separate-stderr kmes-dump -q -T none "$1"
	assert_match "$stderr" "^kmes-dump: $1: truncated"
	((${#lines[@]} >= safe)) || { echo "$safe are safe, ${#lines[@]} are there"; return 1; }
	cmp <(printf '%s\n' "${lines[@]}") <(kmes-dump -sq -T none | head -n ${#lines[@]})
}

@test "capture disk: a full disk is reported, and what was written is readable" {
	fill_rings
	small_disk 512K
	run -1 --separate-stderr kmes-dump -sq -w small/plain
	assert_equal "${#stderr_lines[@]}" 1
	check_safe small/plain "$stderr"
	rm small/plain
	run -1 --separate-stderr kmes-dump -sq -w small/packed.gz
	assert_equal "${#stderr_lines[@]}" 1
	check_safe small/packed.gz "$stderr"
}

@test "capture disk: a follower ends at once on a full disk, with compression, too" {
	fill_rings
	small_disk 512K
	for file in plain packed.gz; do
		background dump kmes-dump -w small/$file
		end_of $!
		assert_status 1
		assert_match "$(cat dump.err)" "small/$file: No space left on device"
		rm small/$file
	done
}

@test "capture disk: full from the first byte" {
	fill_rings
	for option in '' -z; do
		# shellcheck disable=SC2086 # none or one
		run -1 --separate-stderr kmes-dump -sq $option -w /dev/full
		assert_equal "$stderr" "kmes-dump: /dev/full: No space left on device; 0 events are safe"
		# shellcheck disable=SC2086
		run -1 --separate-stderr bash -c "kmes-dump -sq $option -w - >/dev/full"
		assert_equal "$stderr" "kmes-dump: -: No space left on device; 0 events are safe"
	done
	# An empty capture fails at its end at the latest.
	run -1 --separate-stderr kmes-dump -sq -t nothing -w /dev/full
	assert_match "$stderr" '/dev/full: No space left'
	# Printed output was not affected.
	run -1 --separate-stderr kmes-dump -sq -n 1 -T none -w /dev/full --print
	assert_match "$output" '^cpu0  #1  USR  x'
}

@test "capture disk: with --keep the oldest file is removed first" {
	fill_rings
	small_disk 1M
	run -0 --separate-stderr kmes-dump -sq -w small/c.kmes --rotate-size=200K --keep=100
	assert_equal "$stderr" ""
	[[ ! -e $(echo small/c-000001-*.kmes) ]]
	[[ -e $(echo small/c-000007-*.kmes) ]]
	# The remaining files are complete, and the newest.
	kmes-dump -q -T none small/c-* >back
	kmes-dump -sq -T none | tail -n "$(wc -l <back)" | cmp - back
	(($(wc -l <back) > 700))
}

@test "capture disk: --keep does not help without older files" {
	fill_rings
	small_disk 512K
	head -c 200000 /dev/zero >small/c-000001-20260101T000000Z.kmes.bak
	run -1 --separate-stderr kmes-dump -sq -w small/c.kmes --rotate-size=4M --keep=3
	assert_match "$stderr" '^kmes-dump: small/c-000001-[0-9TZ]+.kmes: No space left on device; [0-9]+ events are safe$'
	assert_equal "$(stat -c %s small/c-000001-20260101T000000Z.kmes.bak)" 200000
}

# failing CALL NAME ERRNO[:TIMES] ARGS...: run kmes-dump, CALL of which fails for files NAME.
failing() {
	local call=$1 name=$2 error=${3%:*} times=${3#*:}

	shift 3
	[[ $times != "$error" ]] || times=1000000
	FAIL_CALL=$call FAIL_NAME=$name FAIL_ERRNO=$error FAIL_TIMES=$times run --separate-stderr \
		env LD_PRELOAD="$KMES_TOP/build/tests/preload/failio.so" kmes-dump "$@"
}

@test "capture disk: errors of write, sync and close are all reported" {
	local call error file safe text

	preload_only
	fill_rings
	kmes-dump -sq -T none >want
	for call in write fdatasync close; do
		for error in EIO EDQUOT; do
			text='Input/output error'
			[[ $error == EIO ]] || text='Disk quota exceeded'
			for file in plain packed.gz; do
				# Events are safe only after a successful sync, or where none is possible.
				safe=0
				[[ $call != close ]] || safe=2000
				failing $call /$file $error -sq -w $file
				assert_status 1
				assert_equal "$stderr" "kmes-dump: $file: $text; $safe events are safe"
				# The content is complete, even if it is not reported safe.
				[[ $call == write ]] || kmes-dump -q -T none $file | cmp want -
			done
		done
	done
	# A rotation syncs, too.
	failing fdatasync c-000001- EIO -sq -w c.kmes --rotate-size=200K
	assert_status 1
	assert_match "$stderr" '^kmes-dump: c-000001-[0-9TZ]+.kmes: Input/output error; 0 events are safe$'
	rm c-*
	# If that fails at a rotation nothing more is written.
	failing close c-000002- EIO -sq -w c.kmes --rotate-size=200K
	assert_status 1
	assert_match "$stderr" '^kmes-dump: c-000002-[0-9TZ]+.kmes: Input/output error; [0-9]+ events are safe$'
	assert_equal "$(printf '%s\n' c-* | wc -l)" 2
	kmes-dump -q c-* >back
	assert_match "$stderr" "; $(wc -l <back) events are safe"
}

@test "capture disk: full, and written data lost at the sync" {
	local file

	preload_only
	fill_rings
	small_disk 512K
	for file in plain packed.gz; do
		failing fdatasync small/$file EIO -sq -w small/$file
		assert_status 1
		assert_equal "$stderr" "kmes-dump: small/$file: No space left on device; 0 events are safe"
		rm small/$file
	done
}

@test "capture disk: failing to create the next file is reported, earlier files are complete" {
	local error events

	preload_only
	fill_rings
	for error in ENOSPC EDQUOT EACCES EMFILE EROFS; do
		rm -f c-*
		failing open c-000003- $error -sq -w c.kmes --rotate-size=200K
		assert_status 1
		assert_equal "${#stderr_lines[@]}" 1
		assert_match "$stderr" '^kmes-dump: c-000003-[0-9TZ]+.kmes: [A-Z][^;]+; ([0-9]+) events are safe$'
		events=${BASH_REMATCH[1]}
		assert_equal "$(printf '%s\n' c-* | wc -l)" 2
		kmes-dump -q -T none c-* | cmp - <(kmes-dump -sq -T none | head -n "$events")
	done
}

@test "capture disk: with --keep the oldest is removed also when the next cannot be created" {
	local error

	preload_only
	fill_rings
	for error in ENOSPC EDQUOT; do
		rm -f c-*
		failing open c-000005- $error:2 -sq -w c.kmes --rotate-size=200K --keep=50
		assert_status 0
		assert_equal "$stderr" ""
		[[ ! -e $(echo c-000002-*) && -e $(echo c-000003-*) && -e $(echo c-000005-*) ]]
		kmes-dump -q -T none c-* | cmp - <(kmes-dump -sq -T none | tail -n "$(kmes-dump -q c-* | wc -l)")
		# Nor does it if writing fails; other errors remove no file.
		failing write c-0000 $error:3 -sq -w c.kmes --rotate-size=100M --keep=50
		assert_status 0
		[[ ! -e $(echo c-000005-*) && -e $(echo c-000006-*) ]]
	done
	# Removed events are not reported safe.
	rm -f c-*
	failing write c-000006- EIO -sq -w c.kmes --rotate-size=200K --keep=2
	assert_status 1
	assert_match "$stderr" '; [0-9]+ events are safe, less those in files that --keep removed$'
	failing open c-0000 EACCES -sq -w c.kmes --rotate-size=200K --keep=50
	assert_status 1
	[[ -e $(echo c-000006-*) ]]
	# Nothing is left to remove.
	rm c-*
	failing open c-0000 ENOSPC -sq -w c.kmes --rotate-size=200K --keep=50
	assert_status 1
	assert_match "$stderr" '^kmes-dump: c-000001-[0-9TZ]+.kmes: No space left on device; 0 events are safe$'
}

@test "capture disk: without space for another directory entry, with and without --keep" {
	fill_rings
	small_disk 8M nr_inodes=5
	run -1 --separate-stderr kmes-dump -sq -w small/c.kmes --rotate-size=200K
	assert_match "$stderr" '^kmes-dump: small/c-000005-[0-9TZ]+.kmes: No space left on device; ([0-9]+) events are safe$'
	assert_equal "$(kmes-dump -q small/c-* | wc -l)" "${BASH_REMATCH[1]}"
	run -0 --separate-stderr kmes-dump -sq -w small/c.kmes --rotate-size=200K --keep=100
	assert_equal "$(printf '%s\n' small/c-* | wc -l)" 4
	kmes-dump -q -T none small/c-* | cmp - <(kmes-dump -sq -T none | tail -n "$(kmes-dump -q small/c-* | wc -l)")
}

@test "capture disk: a removed folder or an existing name ends the run with an error" {
	local pid

	rings_start --slots=1 --load=20000
	mkdir gone
	background dump kmes-dump -w gone/c.kmes --rotate-size=100K
	pid=$!
	wait_until 10 eval '[[ -e $(echo gone/c-000002-*) ]]'
	mv gone went
	end_of $pid
	assert_status 1
	assert_match "$(grep -v ', 0 lost$\|: source ' dump.err)" \
		'^kmes-dump: gone/c-00[0-9]+-[0-9TZ]+.kmes: No such file or directory; [0-9]+ events are safe$'
	assert_equal "$(kmes-dump -q went/c-* | wc -l)" "$(sed -n 's/.*; \([0-9]*\) events are safe/\1/p' dump.err)"
	# At a reopening.
	background dump kmes-dump -N -w file
	pid=$!
	wait_until 10 test -s file
	mv file moved
	mkdir file
	kill -HUP $pid
	end_of $pid
	assert_status 1
	assert_match "$(cat dump.err)" 'kmes-dump: file: Is a directory; [0-9]+ events are safe'
	assert_equal "$(kmes-dump -q moved | wc -l)" "$(sed -n 's/.*; \([0-9]*\) events are safe/\1/p' dump.err)"
}

@test "capture disk: a folder that is missing or not writable" {
	rings_start --slots=1
	run -1 --separate-stderr kmes-dump -s -w missing/file
	assert_equal "$stderr" "kmes-dump: missing/file: No such file or directory; 0 events are safe"
	run -1 --separate-stderr kmes-dump -s -w missing/file --rotate-size=1M
	assert_equal "$stderr" "kmes-dump: missing/file: No such file or directory"
	run -1 --separate-stderr kmes-dump -s -w .
	assert_match "$stderr" '^kmes-dump: .: Is a directory'
}
