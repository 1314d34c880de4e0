#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Captures that are truncated, damaged or padded: the complete events, then the error.

load helper
load prepared

CUT='truncated (still being written?)'

# Six events and a loss, captured as `all` and, in three members, as `all.gz`.
prepare_small() {
	local i

	for i in 1 2 3 6 7 8; do
		event 0 "$i" $((1795983682000000000 + i)) "t$i" "81a16e0$i"
	done
	prepared_start
	kmes-dump -sq -w all
	kmes-dump -q all >want
	{
		head -c 300 all | gzip -9n
		tail -c +301 all | head -c 100 | gzip -9n
		tail -c +401 all | gzip -9n
	} >all.gz
}

# check_prefixes FILE: each proper prefix yields exactly its complete records.
check_prefixes() {
	python3 - "$1" "$CUT" <<-'END'
		import struct, subprocess, sys, zlib
		data, want = open(sys.argv[1], "rb").read(), open("want", "rb").read().splitlines(True)

		def unpacked(data):
		    """As far as it goes, over all members."""
		    if data[:2] != b"\x1f\x8b":
		        return b"" if data[:1] == b"\x1f" else data
		    out = b""
		    while data:
		        z = zlib.decompressobj(31)
		        out += z.decompress(data)
		        data = z.unused_data
		    return out

		def whole(data):
		    """How many lines the records in it make; the end record makes none."""
		    at, lines = 64, 0
		    while at + 77 <= len(data):
		        size, = struct.unpack_from("<I", data, at)
		        if at + size > len(data):
		            break
		        lines += b"\x81\xa3end" not in data[at : at + size]
		        at += size
		    return lines

		for length in range(len(data)):
		    with open("cut", "wb") as cut:
		        cut.write(data[:length])
		    run = subprocess.run(["kmes-dump", "-q", "cut"], capture_output=True)
		    message = sys.argv[2] if length else "not a KMES capture: empty file"
		    lines = want[: whole(unpacked(data[:length]))]
		    if (run.returncode != 1 or run.stderr.decode() != f"kmes-dump: cut: {message}\n" or
		        run.stdout != b"".join(lines)):
		        sys.exit(f"{sys.argv[1]}, the first {length} bytes, {len(lines)} lines: {run}")
		if lines != want:
		    sys.exit(f"the longest prefix showed {len(lines)} of {len(want)} lines")
	END
}

@test "capture cut: each prefix of a plain capture yields its complete events, then the error" {
	prepare_small
	check_prefixes all
}

@test "capture cut: each prefix of a compressed capture of three members" {
	prepare_small
	check_prefixes all.gz
}

@test "capture cut: truncation between two events, with the events before it counted" {
	local end=64

	prepare_small
	# header, six events of 83 bytes, a loss; then the end record
	end=$(($(stat -c %s all) - $(tail -c +65 all | python3 -c '
import struct, sys
data = sys.stdin.buffer.read()
at = 0
while at + struct.unpack_from("<I", data, at)[0] < len(data):
    at += struct.unpack_from("<I", data, at)[0]
print(len(data) - at)')))
	head -c $end all >short
	run -1 --separate-stderr kmes-dump short
	assert_equal "$output" "$(cat want)"
	assert_equal "$stderr" "kmes-dump: short: $CUT
kmes-dump: 6 events, 2 lost (cpu0: 2)"
	gzip -c short >short.gz
	run -1 --separate-stderr kmes-dump -q short.gz
	assert_equal "$output" "$(cat want)"
	assert_equal "$stderr" "kmes-dump: short.gz: $CUT"
	# An event missing in the middle is noticed, too.
	{ head -c 64 all; tail -c +148 all; } >short
	run -1 --separate-stderr kmes-dump -q short
	assert_equal "$output" "$(tail -n +2 want)"
	assert_equal "$stderr" "kmes-dump: short: has 5 events, but its end record says 6"
}

@test "capture cut: a truncated capture does not end the list" {
	prepare_small
	head -c 200 all >short
	run -1 --separate-stderr kmes-dump -q short all
	assert_equal "$output" "$(head -1 want; cat want)"
}

@test "capture cut: zeros or junk after the last member are skipped with a warning" {
	local what

	prepare_small
	for what in zeros junk byte many; do
		cp all.gz odd
		case $what in
		zeros) head -c 512 /dev/zero >>odd ;;
		junk) echo "some text behind it" >>odd ;;
		byte) printf '\0' >>odd ;;
		many) head -c 3000000 /dev/zero >>odd ;;
		esac
		run -0 --separate-stderr kmes-dump -q odd
		assert_equal "$output" "$(cat want)"
		assert_equal "$stderr" "kmes-dump: odd: ignoring data after the last gzip member"
		kmes-dump -q -r - <odd >got 2>err
		cmp want got
		cat odd | kmes-dump -q -r - >got 2>err
		cmp want got
		grep -q 'ignoring data' err
	done
}

@test "capture cut: junk after a plain capture, and false sizes, are reported by offset" {
	local size

	prepare_small
	size=$(stat -c %s all)
	{ cat all; head -c 200 /dev/zero; } >odd
	run -1 --separate-stderr kmes-dump -q odd
	assert_equal "$output" "$(cat want)"
	assert_equal "$stderr" "kmes-dump: odd: not an event at byte $size"
	# An event that claims 128 MiB: no memory is allocated for it.
	{ cat all; printf '\0\0\0\x08'; head -c 100 /dev/zero; } >odd
	# The sanitizer reserves more than that.
	[[ $KMES_BIN == */asan/* ]] || ulimit -v 100000
	run -1 --separate-stderr kmes-dump -q odd
	assert_equal "$output" "$(cat want)"
	{ cat all; printf '\0\0\0\x80'; head -c 100 /dev/zero; } >odd
	run -1 --separate-stderr kmes-dump -q odd
	assert_match "$stderr" 'not an event at byte'
}

# own_record PAYLOAD-HEX...: capture records, of CPU 0.
own_record() {
	python3 -c '
import struct, sys
for payload in map(bytes.fromhex, sys.argv[1:]):
    sys.stdout.buffer.write(struct.pack("<IIQQHB50x", 77 + len(payload), 77, 5, 1, 0, 0) + payload)' "$@"
}

@test "capture cut: truncation between two events is reported after cat(1), too" {
	local file

	prepare_small
	head -c 147 all >short
	cat short all >odd
	gzip -k odd
	for file in odd odd.gz; do
		run -1 --separate-stderr kmes-dump -q $file
		assert_equal "$output" "$(head -1 want; cat want)"
		assert_equal "$stderr" "kmes-dump: $file: has no end before the capture that begins at byte 147"
		run -1 kmes-dump -q -O time - <$file
		run -1 kmes-stat -j -r $file
		assert_match "$output" '"truncated":true'
	done
	# Recorded again, each capture in the list has its own end.
	cp all other
	printf '\377' | dd of=other bs=1 seek=32 conv=notrunc status=none
	kmes-dump -q all other all -w again
	run -0 kmes-dump -q again
	assert_output "$(cat want want want)"
	head -c $(($(stat -c %s again) / 2)) again >odd
	run -1 kmes-dump -q odd
}

@test "capture cut: an impossible loss is damage" {
	local loss

	prepare_small
	# From 0, of which the length would wrap to 0; and backwards.
	for loss in 82a5666972737400a46c617374cfffffffffffffffff 82a5666972737405a46c61737404; do
		{ head -c 147 all; own_record $loss; tail -c +148 all; } >odd
		run -1 --separate-stderr kmes-dump -q odd
		assert_equal "$output" "$(head -1 want)"
		assert_equal "$stderr" "kmes-dump: odd: invalid loss record before byte $((147 + 77 + ${#loss} / 2))"
	done
	# Unknown records are ignored.
	{ head -c 147 all; own_record 81a16101; tail -c +148 all; } >odd
	run -0 kmes-dump -q odd
	assert_output "$(cat want)"
}

@test "capture cut: damage in a member is reported after the events before it" {
	prepare_small
	gzip -9nc all >one.gz
	# A wrong checksum: all data is intact, which cannot be known.
	{ head -c -8 one.gz; printf 'XXXX'; tail -c 4 one.gz; } >odd
	run -1 --separate-stderr kmes-dump -q odd
	assert_equal "$output" "$(cat want)"
	assert_match "$stderr" '^kmes-dump: odd: damaged gzip data after byte [0-9]+; the 6 events before it may be wrong$'
	# The same where the end record is wrong first.
	{ head -c 147 all; tail -c +231 all; } | gzip -nc >one.gz
	{ head -c -8 one.gz; printf 'XXXX'; tail -c 4 one.gz; } >odd
	run -1 --separate-stderr kmes-dump -q odd
	assert_equal "$stderr" "kmes-dump: odd: has 5 events, but its end record says 6; the 5 events before it may be wrong"
	# The first of three members is intact.
	size=$(head -c 300 all | gzip -9n | wc -c)
	{ head -c "$size" all.gz; head -c 10 <(tail -c +$((size + 1)) all.gz); head -c 40 /dev/zero; } >odd
	run -1 --separate-stderr kmes-dump -q odd
	assert_equal "$output" "$(head -n 2 want)"
}

@test "capture cut: reading continues after a damaged member, and missing events are counted" {
	local missing

	rings_start --slots=1 --exempt --capacity=16M
	yes '{"type":"x","payload":{"fill":"0123456789"}}' | head -n 20000 | kmes-emit -i -
	kmes-dump -sq -w all.gz
	kmes-dump -sq >want
	cp all.gz odd.gz
	# Its members contain 128 KiB each.
	(($(stat -c %s odd.gz) > 40000))
	printf '\377%.0s' {1..64} |
		dd of=odd.gz bs=1 seek=$(($(stat -c %s odd.gz) / 2)) conv=notrunc status=none
	run -1 --separate-stderr kmes-dump -q odd.gz
	printf '%s\n' "${lines[@]}" | grep -Fxf - want >got
	missing=$((20000 - $(wc -l <got)))
	((missing > 0 && missing < 2500)) || { echo "$missing are missing"; return 1; }
	assert_equal "$(head -n 1 got) $(tail -n 1 got)" "$(head -n 1 want) $(tail -n 1 want)"
	assert_equal "${#stderr_lines[@]}" 2
	assert_match "${stderr_lines[0]}" '^kmes-dump: odd.gz: .* byte [0-9]+(; the [0-9]+ events before it may be wrong)?; continues with the next valid member$'
	assert_match "${stderr_lines[1]}" '^kmes-dump: odd.gz: [0-9]+ of 20000 events are missing$'
	run -1 --separate-stderr kmes-stat -j -r odd.gz
	assert_equal "$(jq .truncated <<<"$output")" true
	assert_match "$stderr" '^kmes-stat: odd.gz: .*next valid member'
	# The next capture is not affected; a pipe is not seekable.
	run -1 --separate-stderr kmes-dump odd.gz all.gz
	assert_equal "$(tail -n 20000 <<<"$output")" "$(cat want)"
	run -1 --separate-stderr kmes-dump -q - < <(cat odd.gz)
	assert_equal "${#stderr_lines[@]}" 1
}

@test "capture cut: empty members and empty captures are accepted" {
	local i

	prepare_small
	gzip -nc </dev/null >empties
	for i in {1..12}; do
		cat empties empties >twice
		mv twice empties
	done
	cat empties all.gz empties >odd
	run -0 --separate-stderr kmes-dump -q odd
	assert_equal "$output" "$(cat want)"
	assert_equal "$stderr" ""
	kmes-dump -sq -t nothing -c 0 -a 2030-01-01 -w none
	run -0 kmes-dump -q none all none
	assert_equal "$(grep -vc '^---' <<<"$output")" 6
}
