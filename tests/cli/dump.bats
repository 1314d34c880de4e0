#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-dump: output formats, usage errors.

load helper
load prepared

# 2026-11-29T20:21:22.123456789Z
TS=1795983682123456789

@test "dump: a line of text is time, cpu, sequence, origin, type, payload" {
	event 0 17 $TS app.login 82a475736572a5616c696365a3706964cd1267
	prepared_start
	run --separate-stderr kmes-dump -s
	assert_status 0
	assert_output '20:21:22.123456  cpu0  #17  USR  app.login  {user: "alice", pid: 4711}'
	assert_equal "${stderr_lines[-1]}" "kmes-dump: 1 events, 0 lost"
	assert_match "$stderr" "source sim, rings: 1"
}

@test "dump: an event without a payload ends with its type" {
	event 0 1 $TS kmes.start ""
	prepared_start
	run -0 kmes-dump -sq
	assert_output '20:21:22.123456  cpu0  #1  USR  kmes.start'
}

@test "dump: origins are words or class numbers" {
	local i=1 origin

	for origin in 0 1 2 3 254 255 77; do
		event 0 $((i++)) $TS x 80 "\"origin\": $origin"
	done
	prepared_start
	run -0 kmes-dump -sq -T none
	assert_output "cpu0  #1  USR  x  {}
cpu0  #2  KMES  x  {}
cpu0  #3  KACS  x  {}
cpu0  #4  LCS  x  {}
cpu0  #5  TRACE  x  {}
cpu0  #6  HOST  x  {}
cpu0  #7  c77  x  {}"
}

@test "dump: time styles" {
	event 0 1 $TS x
	event 0 2 $((TS + 1500000000)) x
	event 0 3 $((TS + 1400000000)) x
	prepared_start

	run -0 kmes-dump -sq
	assert_equal "${lines[0]%%  *}" 20:21:22.123456
	TZ=UTC-1 run -0 kmes-dump -sq -T local
	assert_equal "${lines[0]%%  *}" 21:21:22.123456
	run -0 kmes-dump -sq --time=iso
	assert_equal "${lines[0]%%  *}" 2026-11-29T20:21:22.123456789Z
	run -0 kmes-dump -sq --time epoch
	assert_equal "${lines[0]%%  *}" 1795983682.123456789
	run -0 kmes-dump -sq -Tdelta -Ocpu
	assert_equal "${lines[0]%%  *}" +0.000000
	assert_equal "${lines[1]%%  *}" +1.500000
	assert_equal "${lines[2]%%  *}" -0.100000
	run -0 kmes-dump -sq -T none
	assert_equal "${lines[0]%%  *}" cpu0
}

@test "dump: JSON has its keys in order, and no null GUIDs" {
	event 0 17 $TS app.login 81a475736572a5616c696365
	event 0 18 $TS app.quit "" '"process": "00112233445566778899aabbccddeeff"'
	prepared_start
	run -0 kmes-dump -sqj
	assert_equal "${lines[0]}" '{"time":"2026-11-29T20:21:22.123456789Z","ts_ns":1795983682123456789,"cpu":0,"seq":17,"origin":"userspace","type":"app.login","payload":{"user":"alice"}}'
	assert_equal "${lines[1]}" '{"time":"2026-11-29T20:21:22.123456789Z","ts_ns":1795983682123456789,"cpu":0,"seq":18,"origin":"userspace","type":"app.quit","process":"33221100-5544-7766-8899-aabbccddeeff"}'
}

@test "dump: --with-boot adds the boot id to JSON" {
	event 0 1 $TS x
	prepared_start
	run -0 kmes-dump -sqj --with-boot
	assert_equal "$(jq -r .boot <<<"$output")" "$(</proc/sys/kernel/random/boot_id)"
	run -0 kmes-dump -sq --with-boot
	assert_output '20:21:22.123456  cpu0  #1  USR  x  {}'
}

@test "dump: -p prints the payload as a block of four spaces" {
	event 0 1 $TS x 82a16101a162a163
	prepared_start
	run -0 kmes-dump -sqp
	assert_equal "${lines[0]}" '20:21:22.123456  cpu0  #1  USR  x'
	assert_equal "${lines[1]}" '    a: 1'
	assert_equal "${lines[2]}" '    b: "c"'
	[[ ${#lines[@]} -eq 3 ]]
}

@test "dump: -x prints the payload's bytes" {
	event 0 1 $TS x 82a16101a162a163
	prepared_start
	run -0 kmes-dump -sqx
	assert_output '20:21:22.123456  cpu0  #1  USR  x  0x82a16101a162a163'
}

@test "dump: a payload that is not MessagePack is printed with the reason [E3]" {
	event 0 1 $TS x c1ff
	event 0 2 $TS x 81a161
	prepared_start
	run -0 kmes-dump -sq -T none
	assert_equal "${lines[0]}" 'cpu0  #1  USR  x  <2 bytes, not MessagePack: reserved byte 0xc1> 0xc1ff'
	assert_match "${lines[1]}" '^cpu0  #2  USR  x  <3 bytes, not MessagePack: .*> 0x81a161$'
	run -0 kmes-dump -sqj
	assert_equal "$(jq -r '.payload."$raw"' <<<"${lines[0]}" | base64 -d | od -An -tx1)" " c1 ff"
}

@test "dump: integers are exact, beyond doubles too" {
	event 0 1 $TS x 83a161cf0020000000000001a162cfffffffffffffffffa163d38000000000000000
	prepared_start
	run -0 kmes-dump -sq -T none
	assert_output 'cpu0  #1  USR  x  {a: 9007199254740993, b: 18446744073709551615, c: -9223372036854775808}'
	run -0 kmes-dump -sqj
	assert_match "$output" '"payload":\{"a":9007199254740993,"b":18446744073709551615,"c":-9223372036854775808\}'
}

@test "dump: numbers without a JSON form are null, text names them" {
	event 0 1 $TS x 94cb7ff8000000000000cb7ff0000000000000cbfff0000000000000ca7fc00000
	prepared_start
	run -0 kmes-dump -sqj
	assert_equal "$(jq -c .payload <<<"$output")" '[null,null,null,null]'
	run -0 kmes-dump -sq -T none
	assert_output 'cpu0  #1  USR  x  [nan, inf, -inf, nan]'
}

@test "dump: untrusted text cannot move the cursor or forge a line" {
	# ESC, newline, DEL, C1, a bidi override, a byte of invalid UTF-8, a backslash, a quote
	event 0 1 $TS x aa1b5b324a0a7fc29b5c22
	event 0 2 $TS x a5e280aeff41
	printf '{"cpu": 0, "seq": 3, "ts": %s, "type_hex": "%s", "payload": "80"}\n' \
		$TS 61201b0a5cff >>"$KMES_TMP/events"
	prepared_start
	run -0 kmes-dump -sq -T none
	assert_equal "${lines[0]}" 'cpu0  #1  USR  x  "\x1b[2J\n\x7f\u009b\\\""'
	assert_equal "${lines[1]}" 'cpu0  #2  USR  x  "\u202e\xffA"'
	assert_equal "${lines[2]}" 'cpu0  #3  USR  a\x20\x1b\n\\\xff  {}'
	[[ ${#lines[@]} -eq 3 ]]
	run -0 kmes-dump -sqj
	[[ ${#lines[@]} -eq 3 ]]
	run -0 bash -c 'kmes-dump -sqj | jq -e . | grep -c type'
	assert_output 3
	run -0 bash -c 'kmes-dump -sqj | LC_ALL=C grep -P "[\x00-\x09\x0b-\x1f\x7f]"; [[ $? -eq 1 ]]'
}

@test "dump: signed and unsigned bytes print alike" {
	event 0 1 $TS x 81a16da5e29494c3a9
	prepared_start
	run -0 kmes-dump -sqj
	assert_equal "$(jq -r .payload.m <<<"$output")" '└é'
}

@test "dump: 250 levels of nesting pass jq, 256 pass python's json, text closes each" {
	local levels seq=1
	for levels in 250 256; do
		# This many nested containers, the innermost an empty map.
		event 0 $((seq++)) $TS deep "$(printf '91%.0s' $(seq $((levels - 1))))80"
	done
	prepared_start
	kmes-dump -sqj >lines
	assert_equal "$(sed -n 1p lines | jq -c '[.payload|recurse(.[]?)]|length')" 250
	run -0 python3 -c 'import json, sys
sys.setrecursionlimit(10000)
value, levels = json.loads(open("lines").readlines()[1])["payload"], 0
while value != {}:
    (value,), levels = value, levels + 1
print(levels)'
	assert_output 255
	kmes-dump -sq | sed -n 2p | grep -Eq "  \[{255}\{\}\]{255}\$"
}

@test "dump: a longer header is read by its size [D6]" {
	event 0 1 $TS x 81a16101 '"grow": 8'
	event 0 2 $TS y 81a16102
	prepared_start
	run -0 kmes-dump -sq -T none
	assert_output $'cpu0  #1  USR  x  {a: 1}\ncpu0  #2  USR  y  {a: 2}'
}

@test "dump: events of megabytes and types of 65000 bytes are printed completely" {
	local type text

	type=$(printf '%065000d' 7)
	text=$(printf '%02500000d' 0 | sed 's/../61/g')
	event 0 1 $TS "$type"
	event 0 2 $TS x "db001312d0$text" # 1250000 times an a
	event 0 3 $TS y
	prepared_start --capacity=8388608
	kmes-dump -sq -T none >printed
	assert_equal "$(wc -l <printed)" 3
	assert_equal "$(sed -n 1p printed | sha1sum)" "$(echo "cpu0  #1  USR  $type  {}" | sha1sum)"
	assert_equal "$(sed -n 2p printed | tr -d '\n' | wc -c)" $((18 + 2 + 1250000))
	kmes-dump -sqj | jq -r '.payload | length' >lengths
	assert_equal "$(paste -sd' ' lengths)" "0 1250000 0"
}

@test "dump: --width truncates lines of text, never JSON" {
	event 0 1 $TS app.login 81a475736572a5616c696365
	prepared_start
	run -0 kmes-dump -sq --width=20
	assert_output '20:21:22.123456  cpu'
	run -0 kmes-dump -sqj --width=20
	run -0 jq -c .payload <<<"$output"
	assert_output '{"user":"alice"}'
}

@test "dump: colors by --color, none in a pipe, and NO_COLOR is honored" {
	export TERM=xterm # a dumb terminal gets no colors
	event 0 1 $TS x
	prepared_start
	run -0 kmes-dump -sq
	assert_match "$output" '^20:'
	run -0 kmes-dump -sq --color=always
	assert_match "$output" $'\e\\['
	NO_COLOR=1 run -0 kmes-dump -sq -C always
	assert_match "$output" $'\e\\['
	run -0 script -qec 'kmes-dump -sq' /dev/null
	assert_match "$output" $'\e\\['
	NO_COLOR=1 run -0 script -qec 'kmes-dump -sq' /dev/null
	[[ $output != *$'\e'* ]]
	run -0 script -qec 'kmes-dump -sq -C never' /dev/null
	[[ $output != *$'\e'* ]]
}

@test "dump: numbers do not depend on the locale" {
	event 0 1 $TS x 81a172cb3ff8000000000000
	prepared_start
	localedef -i de_DE -f UTF-8 "$KMES_TMP/de_DE.UTF-8" || skip "no locale sources (package locales)"
	LOCPATH=$KMES_TMP LC_ALL=de_DE.UTF-8 run -0 kmes-dump -sq -T none -m 'r>1.25'
	assert_output 'cpu0  #1  USR  x  {r: 1.5}'
}

@test "dump: a usage error names the argument and opens nothing" {
	local words arguments

	export KMES_SOURCE=sim:/nonexistent
	while read -r arguments words; do
		# shellcheck disable=SC2086 # several arguments
		run --separate-stderr kmes-dump ${arguments//+/ }
		assert_usage_error "^kmes-dump: " || { echo "$arguments"; return 1; }
		[[ ${stderr_lines[0]} == *"$words"* ]] || { echo "$arguments"; return 1; }
	done <<-'END'
		--count=0 '0'
		--count=-1 '-1'
		--count=inf 'inf'
		-n+010x '010x'
		--duration=1y '1y'
		--duration= ''
		-t+[ '['
		-o+other 'other'
		-m+a>x 'a>x'
		-m+=x '=x'
		-a+yesterday 'yesterday'
		-b+25:00 '25:00'
		-b+1795983682 '1795983682'
		-a+@20+-b+@10 '@10'
		-T+never 'never'
		-O+seq 'seq'
		-C+sometimes 'sometimes'
		--width=0 '0'
		-c+x 'x'
		-S+nowhere 'nowhere'
		-j+-x exclude
		-p+-j exclude
		-s+-f exclude
		-s+-N exclude
		--snap --snap
		-f=x =x
		--quiet=1 quiet
	END
}

@test "dump: help and version go to stdout" {
	run --separate-stderr -0 kmes-dump --help
	assert_match "$output" '--snapshot'
	assert_equal "$stderr" ""
	run -0 kmes-dump --version
	assert_match "$output" '^kmes-dump [0-9.]+$'
}
