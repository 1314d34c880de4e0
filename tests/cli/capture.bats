#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Captures: -r prints what the live run printed, with every filter option.

load helper
load prepared

# same ARGS...: a snapshot prints the same as the capture `all`, except the source in the summary.
same() {
	kmes-dump -s "$@" >live.out 2>live.err
	kmes-dump -r all "$@" >back.out 2>back.err
	[[ -s live.out ]] || { echo "nothing printed: $*"; return 1; }
	cmp live.out back.out || { echo "differs: $*"; return 1; }
	assert_equal "$(cat back.err)" "$(grep -v ': source ' live.err)"
}

@test "capture: text and JSON equal those of the live run, byte for byte" {
	prepare_mixed
	kmes-dump -sq -w all
	same
	grep -q '^--- cpu0: lost 1 events (#7-#7) ---$' back.out
	grep -q '^--- cpu1: lost 10 events (#10-#19) ---$' back.out
	same -j
	same -p
	same -x
	for style in clock local iso epoch delta none; do
		same -T $style
	done
	same -j --with-boot
	same --width=40
}

@test "capture: --print prints the same with -w as without" {
	prepare_mixed
	kmes-dump -s >live 2>live.err
	kmes-dump -s -w all --print >both 2>both.err
	cmp live both
	cmp live.err both.err
	run -0 kmes-dump -sq -w quiet
	assert_output ""
	cmp <(kmes-dump -q all) <(kmes-dump -q quiet)
}

@test "capture: filters select the same events as live" {
	prepare_mixed
	kmes-dump -sq -w all
	same -t 'app.*'
	same -t '!app.*'
	same -o userspace
	same -m n=3
	same -m 'n>20' -t '*.t0'
	same -c 1
	same -n 5
	same -a '@1795983683' -b '@1795983684.5'
	same -a 2026-11-29T20:21:24Z
	same -b 2026-11-29T20:21:24Z
	run -0 kmes-dump -q all -t nothing
	assert_output "$(kmes-dump -sq -t nothing)"
}

@test "capture: a time of day is the first one after the capture's first event" {
	prepare_mixed
	kmes-dump -sq -w all
	run -0 kmes-dump -q -T iso all -a 20:21:23 -b 20:21:23.5
	assert_equal "$(grep -v '^---' <<<"$output" | cut -c -20 | sort -u)" "2026-11-29T20:21:23."
	assert_equal "$(grep -c '^2026' <<<"$output")" \
		"$(kmes-dump -sqj | jq 'select(.type and .ts_ns >= 1795983683000000000 and
			.ts_ns <= 1795983683500000000).seq' | wc -l)"
	# A time before the first event is on the next day.
	run -0 kmes-dump -q all -a 20:21:21 -T none
	assert_equal "$(grep -vc '^---' <<<"$output" || true)" 0
}

@test "capture: a filtered capture has the real losses and no others" {
	prepare_mixed
	kmes-dump -sq -w some -t 'app.t1'
	kmes-dump -s -t 'app.t1' >live 2>live.err
	kmes-dump some >back 2>back.err
	cmp live back
	assert_match "$(cat live.err)" 'events, 15 lost \(cpu0: 5, cpu1: 10\)$'
	assert_match "$(cat back.err)" 'events, 15 lost \(cpu0: 5, cpu1: 10\)$'
	run -3 kmes-dump -qL some
	kmes-dump -sq -c 0 -n 3 -w few
	run -0 kmes-dump -qL few
}

@test "capture: the same output in another time zone, locale and boot" {
	local boot=00112233-4455-6677-8899-aabbccddeeff

	localedef -i tr_TR -f UTF-8 "$KMES_TMP/tr_TR.UTF-8" || skip "no locale sources (package locales)"
	export LOCPATH=$KMES_TMP
	# What that locale would print or compare differently: 1.5, and "I" and "i".
	event 2 1 1795983690000000000 floats.I 82a178cb3ff8000000000000a169a149
	prepare_mixed
	kmes-dump -sq -w all
	kmes-dump -sq -j --with-boot >live
	TZ=Asia/Kolkata LC_ALL=tr_TR.UTF-8 kmes-dump -q -j --with-boot all >back
	cmp live back
	kmes-dump -sq >live
	TZ=America/St_Johns LC_ALL=tr_TR.UTF-8 kmes-dump -q all >back
	cmp live back
	grep -F 'floats.I  {x: 1.5, i: "I"}' back
	TZ=America/St_Johns kmes-dump -sq -T local >live
	TZ=America/St_Johns LC_ALL=tr_TR.UTF-8 kmes-dump -q -T local all >back
	cmp live back
	run ! cmp -s live <(TZ=Asia/Kolkata kmes-dump -q -T local all)
	LC_ALL=tr_TR.UTF-8 run -0 kmes-dump -q -T none all -m 'x>1.25' -t '*.I' -o USERSPACE
	assert_equal "$(grep -v ^--- <<<"$output")" 'cpu2  #1  USR  floats.I  {x: 1.5, i: "I"}'
	# As if written by another boot, whose id is at byte 32.
	cp all other
	sed 's/-//g; s/../\\x&/g' <<<"$boot" | xargs -0 printf '%b' | head -c 16 |
		dd of=other bs=1 seek=32 conv=notrunc status=none
	kmes-dump -q -j --with-boot other >back
	assert_equal "$(jq -r .boot back | sort -u)" $boot
	# Recorded again after a capture of this boot, events keep their id.
	kmes-dump -q -r all -r other -w again
	kmes-dump -q -j --with-boot all other >want
	kmes-dump -q -j --with-boot again >got
	cmp want got
}

@test "capture: events of 4 MiB and types of 65000 bytes" {
	rings_start --slots=1 --capacity=32M --max-event-size=4M
	{
		printf '{"type": "%s", "payload": {"n": 1}}\n' "$(printf '%065000d' 0 | tr 0 t)"
		printf '{"type": "big", "payload": {"x": "'
		head -c $(((4 << 20) - 200)) /dev/zero | tr '\0' a
		printf '"}}\n{"type": "small", "payload": {}}\n'
	} >lines
	kmes-emit -B 1 -i lines
	kmes-dump -s >live
	assert_equal "$(wc -l <live)" 3
	for file in plain packed.gz; do
		kmes-dump -sq -w $file
		kmes-dump $file >back
		cmp live back
	done
	kmes-dump -sq -w - | kmes-dump -q -r - >back
	cmp live back
}

@test "capture: several captures are read as one stream, in the order given" {
	prepare_mixed
	kmes-dump -sq -c 0 -w a
	kmes-dump -sq -c 1 -w b.gz
	kmes-dump -sq -c 0 >want
	kmes-dump -sq -c 1 >>want
	kmes-dump a b.gz >back 2>err
	cmp want back
	assert_equal "$(cat err)" "$(kmes-dump -s 2>&1 >/dev/null | tail -1)"
	kmes-dump -q -r a -r b.gz >back
	cmp want back
	kmes-dump -q - b.gz <a >back
	cmp want back
	kmes-dump -sq -c 1 -w b
	cat a b | kmes-dump -q -r - >back
	cmp want back
	gzip -c a | cat - b.gz | kmes-dump -q -r - >back
	cmp want back
	# A plain capture after a compressed one is not a member.
	run --separate-stderr kmes-dump -q <(cat b.gz a)
	assert_match "$stderr" 'ignoring data after the last gzip member'
}

@test "capture: an unreadable one is reported, and the others are printed" {
	prepare_mixed
	kmes-dump -sq -w all
	kmes-dump -q all >want
	echo "this is no capture at all" >other
	{ head -c 8 all; printf '\x02\0\0\0'; tail -c +13 all; } >newer
	run -1 --separate-stderr kmes-dump -q all other newer missing all
	assert_equal "$output" "$(cat want want)"
	assert_equal "$stderr" "kmes-dump: other: not a KMES capture
kmes-dump: newer: capture version 2, this program reads 1
kmes-dump: missing: No such file or directory"
	: >empty
	run -1 --separate-stderr kmes-dump -q empty
	assert_equal "$stderr" "kmes-dump: empty: not a KMES capture: empty file"
	printf '\x28\xb5\x2f\xfd\x04\x00' >other
	run -1 --separate-stderr kmes-dump -q other
	assert_equal "$stderr" "kmes-dump: other: not a KMES capture, but zstd (use zstdcat)"
	printf '\xd4\xc3\xb2\xa1\x02\x00' >other
	run -1 --separate-stderr kmes-dump -q other
	assert_equal "$stderr" "kmes-dump: other: not a KMES capture, but pcap"
	run -1 --separate-stderr kmes-dump -q .
	assert_equal "$stderr" "kmes-dump: .: cannot read: Is a directory"
	# -w does not replace a file if there is nothing to write.
	cp all keep
	run -1 kmes-dump -q -r other -w keep
	cmp all keep
}

@test "capture: is never written over the file being read" {
	prepare_mixed
	kmes-dump -sq -w all
	cp all copy
	ln all link
	ln -s all symlink
	for name in all link symlink ./all; do
		run -1 --separate-stderr kmes-dump -r all -w $name
		assert_equal "$stderr" "kmes-dump: $name: is an input, and would be overwritten"
		cmp all copy
	done
	run -1 --separate-stderr kmes-dump -r - -w all <all
	assert_match "$stderr" 'is an input'
	run -1 --separate-stderr bash -c 'kmes-dump -r all -w - >>all'
	assert_match "$stderr" 'is an input'
	run -1 --separate-stderr kmes-dump copy all -w all
	assert_match "$stderr" 'is an input'
	cmp all copy
}

@test "capture: new files are private to their owner, an existing one is replaced" {
	prepare_mixed
	(umask 0 && kmes-dump -sq -w new && kmes-dump -sq -w r.kmes --rotate-size=1K)
	assert_equal "$(stat -c %a new r-* | sort -u)" 600
	head -c 100000 /dev/urandom >old
	chmod 640 old
	kmes-dump -sq -w old
	cmp <(kmes-dump -q old) <(kmes-dump -q new)
	assert_equal "$(stat -c %a old)" 640
	# Not before the source is opened.
	KMES_SOURCE=sim:/nonexistent run -1 kmes-dump -s -w new
	kmes-dump -q new >/dev/null
}

@test "capture: gzip by -z, by level, by the name's extension" {
	prepare_mixed
	kmes-dump -sq >want
	kmes-dump -sq -z -w one
	kmes-dump -sq --gzip-level=9 -w two
	kmes-dump -sq -w three.gz
	for file in one two three.gz; do
		gzip -t <$file
		kmes-dump -q $file >back
		cmp want back
		gzip -dc <$file | kmes-dump -q -r - >back
		cmp want back
	done
	run kmes-dump -sq -w plain
	run ! gzip -t <plain
}

@test "capture: usage errors" {
	run --separate-stderr kmes-dump -S sim -r x
	assert_usage_error "captures.*'x'"
	run --separate-stderr kmes-dump -N x
	assert_usage_error "'x'"
	run --separate-stderr kmes-dump -f x y
	assert_usage_error "'y'"
	for option in --print -z --gzip-level=3 --rotate-size=1M --rotate-time=1h --keep=2; do
		run --separate-stderr kmes-dump $option
		assert_usage_error 'need --write'
	done
	for option in --gzip-level=0 --gzip-level=10 --rotate-size=0 --rotate-size=1kb \
		--rotate-time=0 --rotate-time=none --keep=0 --keep=-1; do
		run --separate-stderr kmes-dump -w x $option
		assert_usage_error "'${option#*=}'"
	done
	run --separate-stderr kmes-dump -w x --keep=2
	assert_usage_error 'keep needs'
	for option in -j -p -x; do
		run --separate-stderr kmes-dump -w x $option
		assert_usage_error 'only by --print'
	done
	run --separate-stderr kmes-dump -w - --print
	assert_usage_error 'standard output'
	[[ ! -e x ]]
}

@test "capture: kmes-stat -r summarizes it" {
	prepare_mixed
	kmes-dump -sq -w all
	run -0 kmes-stat -j -r all
	assert_equal "$(jq -c '[.events, .lost, .truncated, .first, .last, (.types | length)]' <<<"$output")" \
		'[55,15,false,"2026-11-29T20:21:22.100000000Z","2026-11-29T20:21:26.000000000Z",5]'
	assert_equal "$(jq -c '.types | map(.events) | add' <<<"$output")" 55
	head -c -1 all >short
	run -1 --separate-stderr kmes-stat -j -r short
	assert_equal "$(jq -c '[.events, .lost, .truncated]' <<<"$output")" '[55,15,true]'
	assert_match "$stderr" '^kmes-stat: short: truncated'
	run -0 kmes-stat -r - <all
	assert_match "$output" 'events  55'
}
