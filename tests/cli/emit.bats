# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-emit: what it writes, what it refuses, how it ends.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

# The payloads, or the types, of all events in the rings in the order of emission.
payloads() { kmes-dump -s -j -q | jq -c .payload; }
types() { kmes-dump -s -j -q | jq -r .type; }

assert_rings_are_empty() { assert_equal "$(kmes-dump -s -j -q)" ""; }

@test "help, usage and version go to stdout, and a full disk is an error" {
	run --separate-stderr kmes-emit --help
	assert_status 0
	assert_match "$output" "Usage: kmes-emit \[OPTION\.\.\.\] -t TYPE"
	assert_match "$output" "-R, --rate=RATE"
	assert_equal "$stderr" ""
	assert_equal "$(kmes-emit -h)" "$output"
	run --separate-stderr kmes-emit --usage
	assert_status 0
	assert_match "$output" "\[-t\|--type=TYPE\]"

	run --separate-stderr kmes-emit --version
	assert_status 0
	assert_match "$output" '^kmes-emit [0-9]+\.[0-9]+\.[0-9]+$'
	assert_equal "$(kmes-emit -V)" "$output"

	run bash -c 'kmes-emit --help >/dev/full'
	assert_status 1
	assert_output "kmes-emit: standard output: cannot write: No space left on device"
	run bash -c 'kmes-emit --help >&-'
	assert_status 1
	assert_output "kmes-emit: standard output: cannot write: Bad file descriptor"
}

@test "a closed pipe ends it silently, SIGPIPE ignored or not" {
	local ignore

	for ignore in "" "trap '' PIPE;"; do
		run bash -c "$ignore set -o pipefail; kmes-emit --help | sleep 0"
		assert_status 0
		assert_output ""
	done
}

@test "invalid options, values and operands are usage errors and emit nothing" {
	local case message

	rings_start
	while IFS='|' read -r case message; do
		eval "run --separate-stderr kmes-emit $case"
		assert_usage_error "^kmes-emit: $message\$" || {
			echo "case: $case"
			return 1
		}
		assert_equal "${#stderr_lines[@]}" 2
		assert_match "${stderr_lines[1]}" "^kmes-emit: "
	done <<-'END'
		|no event: give --type=TYPE or --input=FILE
		a=1|no event: give --type=TYPE or --input=FILE
		-t ''|--type: empty: ''
		-t $'\xff'|--type: not UTF-8: '\\xff'
		-t x -n 0|--count: not between 1 and 18446744073709551615: '0'
		-t x -n -1|--count: not a number: '-1'
		-t x -n none|--count: not a number: 'none'
		-t x -n 0x1|--count: not a number: '0x1'
		-t x -n 18446744073709551616|--count: not between 1 and 18446744073709551615: '18446744073709551616'
		-t x -B 0|--batch: not between 1 and 256: '0'
		-t x -B 257|--batch: not between 1 and 256: '257'
		-t x -R 0|--rate: not a rate such as 100 or 100/s: '0'
		-t x -R inf|--rate: not a rate such as 100 or 100/s: 'inf'
		-t x -R 5/m|--rate: not a rate such as 100 or 100/s: '5/m'
		-t x -c ''|--cpu: not a number: ''
		-t x -c 0,1|--cpu: not a number: '0,1'
		-t x -c 65536|--cpu: not between 0 and 65535: '65536'
		-t x -c 9999|--cpu: this CPU has no ring: '9999'
		-t x --rate|option needs a value: '--rate'
		-t x --rat=5|unknown option: '--rat=5'
		-t x -q|unknown option: '-q'
		-t x a|not KEY=TEXT or KEY:=JSON: 'a'
		-t x =a|not KEY=TEXT or KEY:=JSON: '=a'
		-t x :=1|not KEY=TEXT or KEY:=JSON: ':=1'
		-t x a:=|the value: not JSON: ends inside a value: ''
		-t x a:=01|the value: not JSON: .*: '01'
		-t x a:=NaN|the value: not JSON: .*: 'NaN'
		-t x a:=18446744073709551616|the value: integer outside i64 and u64: '18446744073709551616'
		-t x -J "{'a':1}"|--payload: not JSON: .*: '\{'a':1\}'
		-t x -J '1 2'|--payload: not JSON: more than one value: '1 2'
		-t x -J 1 a=1|--payload and pairs exclude each other: 'a=1'
		-t x -i f|--type and --input exclude each other: 'f'
		-J 1 -i f|--payload and --input exclude each other: 'f'
		-n 1 -i f|--count and --input exclude each other: 'f'
		-i f g|unexpected operand: 'g'
		-i ''|--input: no file: ''
		-t x -S nowhere|--source: not a source: 'nowhere'
		-t x -S auto:x|--source: not a source: 'auto:x'
		-t x -S sim:|--source: not a source: 'sim:'
		-t x -S ''|--source: not a source: ''
	END
	KMES_SOURCE=nowhere run --separate-stderr kmes-emit -t x
	assert_usage_error "^kmes-emit: KMES_SOURCE: not a source: 'nowhere'\$"
	assert_rings_are_empty
}

@test "a CPU without a ring is a usage error that names it [A5]" {
	rings_start --slots=4 --holes=2
	run --separate-stderr kmes-emit -t x -c 2
	assert_usage_error "^kmes-emit: --cpu: this CPU has no ring: '2'\$"
	run --separate-stderr kmes-emit -t x -c 4
	assert_usage_error "^kmes-emit: --cpu: this CPU has no ring: '4'\$"
	assert_rings_are_empty
}

@test "popt aliases work, exec lines do not, and popt's placeholder is text" {
	rings_start
	cat >"$HOME/.popt" <<-'END'
		kmes-emit alias --login -t app.login
		kmes-emit exec --run /bin/false
	END
	run kmes-emit --login --run 'a=!#:+' -J5
	assert_status 2
	run kmes-emit --login --run 'a=!#:+' b=c
	assert_status 0
	run kmes-emit -t '!#:+' b=c
	assert_status 0
	assert_equal "$(types)" $'app.login\n!#:+'
	assert_equal "$(payloads)" $'{"a":"!#:+","b":"c"}\n{"b":"c"}'
}

@test "pairs of key and text become a map, literally and in order" {
	rings_start
	kmes-emit -t app.x
	kmes-emit -t app.x b=1 a.b.c=text 'a=b=c:=d' 'x:y=z' n:=5 'l:=[1.0, null, {"$$k": true}]' b=2 \
		'$bin=/w==' 'e=' $'bytes=\xff'
	kmes-emit -t app.x -- -dash=1
	run kmes-dump -s -T none
	assert_status 0
	assert_equal "${lines[0]##*  }" "{}"
	assert_equal "${lines[1]##*  }" \
		'{b: "1", a.b.c: "text", a: "b=c:=d", "x:y": "z", n: 5, l: [1.0, nil, {"$k": true}], b: "2", "$bin": "/w==", e: "", bytes: "\xff"}'
	assert_equal "${lines[2]##*  }" '{"-dash": "1"}'
}

@test "any JSON value is a payload" {
	local json

	rings_start
	for json in null true 0 -9223372036854775808 18446744073709551615 1.5 '"text"' '[]' '{}' \
		'{"b":1,"a":[{"b":2}]}'; do
		kmes-emit -t app.x -J "$json"
		echo "$json" >>expected
	done
	kmes-dump -s -j -q | sed 's/.*"payload"://; s/}$//' | diff - expected
}

@test "real records round-trip [E5]" {
	command -v dpkg-query >/dev/null || skip "dpkg is not installed"
	rings_start --capacity=16M --exempt
	dpkg-query -W -f '{"type":"dpkg.package","payload":{"name":"${Package}","version":"${Version}","size":${Installed-Size}}}\n' |
		grep -v ':}' >records
	[[ $(wc -l <records) -gt 50 ]]
	kmes-emit -c 0 -i - <records
	kmes-dump -s -j -q -t dpkg.package | jq -c .payload >actual
	jq -c .payload records | diff - actual
	kmes-dump -s -q | grep -c 'dpkg\.package  {name: "bash", version: "' | grep -x 1
	assert_equal "$(kmes-dump -s -q | grep -c '  dpkg\.package  ')" "$(wc -l <records)"
}

@test "kmes-dump's output can be emitted again and is the same" {
	rings_start --exempt
	cat >lines <<-'END'
		{"type":"a","payload":{"big":18446744073709551615,"low":-9223372036854775808,"b":1,"b":2}}
		{"type":"b.ü","payload":[1.0,1e300,-0.0,0.1,5e-324,1e3,"\u0000\u001b\ud83d\ude00",true,null]}
		{"type":"c","payload":{"user_sid":{"$sid":"S-1-5-21-1-2-3-500"},"sids":[{"$sid":"S-1-0x0123456789ab-7"}]}}
		{"type":"d","payload":{"guid":{"$guid":"00112233-4455-6677-8899-aabbccddeeff"},"$$real":{"$$$x":1}}}
		{"type":"e","payload":[{"$time":"1969-12-31T23:59:59.000000001Z"},{"$time":"2026-11-29T20:21:22.5Z"},{"$ext":[-7,"AAEC"]},{"$bin":""},{"$bin":"AAECAwQ="}]}
		{"type":"f"}
		{"type":"g","payload":{"access":131072,"$bin":"not alone","x":{"$bin":"/w=="}}}
	END
	kmes-emit -i lines
	kmes-dump -s -j -q >first
	has_lines first 7
	kmes-emit -i first
	kmes-dump -s -j -q >both
	cut_stamps() { sed 's/.*"type":/"type":/; s/"process":"[^"]*",//'; }
	has_lines both 14
	diff <(head -n 7 both | cut_stamps) <(tail -n 7 both | cut_stamps)
	sed -n 2p first | grep -F '"payload":[1.0,1e300,-0.0,0.1,5e-324,1000.0,"\u0000\u001b'
	sed -n 4p first | grep -F '"guid":{"$guid":"00112233-4455-6677-8899-aabbccddeeff"},"$$real":{"$$$x":1}'
	sed -n 7p first | grep -F '{"access":131072,"$$bin":"not alone","x":{"$bin":"/w=="}}'
}

@test "loss records and blank lines are skipped" {
	rings_start
	printf '%s\n' '{"time":"2026-11-29T20:21:22.1Z","ts_ns":1,"cpu":2,"lost":37,"first":101,"last":137}' \
		'' '  ' '{"type":"a"}' >lines
	run --separate-stderr kmes-emit -i lines
	assert_status 0
	assert_equal "$stderr" ""
	assert_equal "$(types)" a
}

@test "bad lines are refused by number and reason, the others are emitted" {
	rings_start
	printf '%b\n' '{"type":"one"}' \
		'{"type":"x","payload":NaN}' \
		"{'type':'x'}" \
		'{"type":"x","payload":01}' \
		'{"type":"\xff"}' \
		'{"type":"x","payload":"\\ud800"}' \
		'{"type":"x","payload":9223372036854775808}' \
		'{"type":"x","payload":-9223372036854775809}' \
		'{"type":"x","payload":1e400}' \
		'{"type":"","payload":1}' \
		'{"payload":1}' \
		'{"type":"x"' \
		'[1]' \
		'{"type":"x"}{"type":"y"}' \
		'{"type":"x","\033[31m":1}' \
		'{"type":"x","payload":{"$raw":"/w=="}}' >lines
	printf '{"type":"two"}' >>lines
	run --separate-stderr kmes-emit -i lines
	assert_status 1
	assert_equal "$output" ""
	diff - <(printf '%s\n' "${stderr_lines[@]}" | sed -E 's/(not JSON): (lexical|parse|unall).*/\1/') <<-'END'
		kmes-emit: lines: line 2: not JSON
		kmes-emit: lines: line 3: not JSON
		kmes-emit: lines: line 4: not JSON
		kmes-emit: lines: line 5: not JSON: not UTF-8
		kmes-emit: lines: line 6: not JSON: lone surrogate
		kmes-emit: lines: line 8: integer outside i64 and u64
		kmes-emit: lines: line 9: number too large for a float
		kmes-emit: lines: line 10: 'type' is empty
		kmes-emit: lines: line 11: no 'type'
		kmes-emit: lines: line 12: not JSON: ends inside a value
		kmes-emit: lines: line 13: not an object
		kmes-emit: lines: line 14: not JSON: more than one value
		kmes-emit: lines: line 15: not JSON: control character
		kmes-emit: lines: line 16: $raw is no MessagePack and cannot be emitted
	END
	assert_equal "$(types)" $'one\nx\ntwo'
}

@test "what the source refuses is reported by line, the rest of the batch is emitted [E1 E8]" {
	local deep=1 i big

	rings_start --max-event-size=1024 --max-nesting-depth=4
	for ((i = 0; i < 5; i++)); do deep="[$deep]"; done
	big=$(printf '%01000d' 0)
	{
		echo '{"type":"a","payload":[[[[4]]]]}'
		echo "{\"type\":\"b\",\"payload\":$deep}"
		echo '{"type":"c"}'
		echo "{\"type\":\"d\",\"payload\":\"$big\"}"
		echo "{\"type\":\"e\",\"payload\":$deep}"
		echo '{"type":"f"}'
	} >lines
	run --separate-stderr kmes-emit -c 0 -i - <lines
	assert_status 1
	assert_equal "${stderr_lines[0]}" \
		"kmes-emit: standard input: line 2: refused: nested too deep for the source, or the type is not UTF-8"
	assert_equal "${stderr_lines[1]}" \
		"kmes-emit: standard input: line 4: refused: larger than the limit of this source"
	assert_match "${stderr_lines[2]}" "line 5: refused: nested too deep"
	assert_equal "${#stderr_lines[@]}" 3
	assert_equal "$(types)" $'a\nc\nf'
	# none of them used a sequence [E7]
	assert_equal "$(kmes-dump -s -j -q | jq -c .seq)" $'1\n2\n3'

	run --separate-stderr kmes-emit -t a -n 1000 -J "$deep"
	assert_status 1
	assert_equal "$stderr" \
		"kmes-emit: refused: nested too deep for the source, or the type is not UTF-8"
}

@test "events are written on the given CPU, the given number of times" {
	rings_start --slots=4 --exempt
	simulator_only "needs four CPUs"
	kmes-emit -t app.x -c 3 -n 1000 a:=1
	kmes-emit -t app.y -c 1 -B 7 -n 100
	echo '{"type":"app.z"}' | kmes-emit -c 2 -i -
	kmes-dump -s -j -q >all
	assert_equal "$(jq -c 'select(.type == "app.x") | [.cpu, .seq]' all | sort -u | wc -l)" 1000
	assert_equal "$(jq -c 'select(.type == "app.x") | .cpu' all | sort -u)" 3
	assert_equal "$(jq -c 'select(.type == "app.y") | .cpu' all | sort | uniq -c | tr -s ' ')" " 100 1"
	# the seven events of a batch share a timestamp
	assert_equal "$(jq -c 'select(.type == "app.y") | .ts_ns' all | uniq -c | awk '{ print $1 }' | sort -rn | head -n 1)" 7
	assert_equal "$(jq -c 'select(.type == "app.z") | .cpu' all)" 2
}

@test "the rate limit is waited out, asleep [E11]" {
	local start took

	simulator_only "root is exempt"
	rings_start --max-emit-rate=100
	start=${EPOCHREALTIME/./}
	background emit bash -c 'kmes-emit -t app.x -n 180; times >times'
	end_of $! 30
	assert_status 0
	took=$((${EPOCHREALTIME/./} - start))
	# 100 at once, the others at 100 a second
	((took > 700000))
	assert_equal "$(types | wc -l)" 180
	# almost no CPU time
	tail -n 1 times | awk -F '[ms ]+' '{ print; exit !($2 + $4 < 0.2) }'
}

@test "the pace follows the monotonic clock" {
	rings_start --exempt
	kmes-emit -t app.x -n 21 -R 50/s
	kmes-dump -s -j -q | jq -c .ts_ns >stamps
	has_lines stamps 21
	awk 'NR == 1 { first = $1 } END { exit !($1 - first > 390e6 && $1 - first < 5e9) }' stamps
	# not all at once; after a stall of the machine some catch up together
	(($(uniq stamps | wc -l) > 3))
	(for _ in 1 2 3 4 5 6; do echo '{"type":"line"}'; done) | kmes-emit -i - -R 20
	kmes-dump -s -j -q -t line | jq -c .ts_ns |
		awk 'NR == 1 { first = $1 } END { exit !(NR == 6 && $1 - first > 240e6) }'
}

@test "a line from a pipe is emitted when it arrives, not at the end" {
	rings_start
	mkfifo pipe
	background emit bash -c 'exec kmes-emit -i - <pipe'
	exec 7>pipe
	echo '{"type":"first"}' >&7
	wait_until 10 bash -c '[[ $(kmes-dump -s -j -q | jq -r .type) == first ]]'
	printf '{"type":"sec' >&7
	sleep 0.2
	printf 'ond"}\n' >&7
	wait_until 10 bash -c '[[ $(kmes-dump -s -j -q | jq -r .type) == *second ]]'
	exec 7>&-
	end_of "${KMES_PIDS[-1]}"
	assert_status 0
}

@test "a signal ends it by that signal, after emitting what was read" {
	local name

	rings_start --exempt
	mkfifo pipe
	for name in INT TERM; do
		background emit bash -c 'exec kmes-emit -i - <pipe'
		exec 7>pipe
		echo "{\"type\":\"read.$name\"}" >&7
		wait_until 10 bash -c "kmes-dump -s -j -q | grep -q read.$name"
		kill -$name "${KMES_PIDS[-1]}"
		kill -$name "${KMES_PIDS[-1]}" || true
		end_of "${KMES_PIDS[-1]}"
		assert_status $((128 + $(kill -l $name)))
		exec 7>&-
		cat emit.err
		assert_equal "$(cat emit.err)" ""
	done

	background emit kmes-emit -t tick -n 1000000 -R 20
	wait_until 10 bash -c 'kmes-dump -s -j -q | grep -q tick'
	kill -INT "${KMES_PIDS[-1]}"
	end_of "${KMES_PIDS[-1]}"
	assert_status 130
	assert_match "$(cat emit.err)" '^kmes-emit: stopped: 999[0-9]+ events were not emitted$'

	# the pace does not delay what was read
	for _ in {1..50}; do echo '{"type":"paced"}'; done >lines
	(cat lines; sleep 20) >pipe &
	KMES_PIDS+=($!)
	background emit bash -c 'exec kmes-emit -i - -R 2 <pipe'
	wait_until 10 bash -c 'kmes-dump -s -j -q | grep -q paced'
	kill -TERM "${KMES_PIDS[-1]}"
	end_of "${KMES_PIDS[-1]}"
	assert_status 143
	assert_equal "$(kmes-dump -s -j -q -t paced | wc -l)" 50
}

@test "a signal ignored at startup stays ignored" {
	rings_start --exempt
	background emit bash -c "trap '' INT; exec kmes-emit -t tick -n 40 -R 20"
	wait_until 10 bash -c 'kmes-dump -s -j -q | grep -q tick'
	kill -INT "${KMES_PIDS[-1]}"
	end_of "${KMES_PIDS[-1]}"
	assert_status 0
	assert_equal "$(types | wc -l)" 40
}

@test "an endless line and endless nesting use bounded memory" {
	local pid peak

	rings_start
	mkfifo pipe
	background emit bash -c 'exec kmes-emit -i - <pipe'
	pid=$!
	exec 7>pipe
	head -c 150000000 /dev/zero | tr '\0' '[' >&7
	printf '\n{"type":"x","payload":' >&7
	head -c 1000000 /dev/zero | tr '\0' '[' >&7
	printf '\n{"type":"after"}\n' >&7
	wait_until 60 bash -c 'kmes-dump -s -j -q | grep -q after'
	peak=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
	exec 7>&-
	end_of "$pid"
	assert_status 1
	assert_equal "$(cat emit.err)" "kmes-emit: standard input: line 1: longer than 32 MiB
kmes-emit: standard input: line 2: nested deeper than 256"
	echo "peak: $peak kB"
	[[ $KMES_BIN == *asan* ]] || ((peak < 60000))
}

@test "the largest event is accepted, one byte more is not [E12]" {
	local room=$((65536 / 2 - 77 - 1 - 3))

	rings_start --capacity=64K --exempt
	printf '{"type":"a","payload":"%0*d"}\n{"type":"b","payload":"%0*d"}\n' $room 0 $((room + 1)) 0 >lines
	run --separate-stderr kmes-emit -i lines
	assert_status 1
	assert_equal "$stderr" "kmes-emit: lines: line 2: refused: larger than the limit of this source"
	assert_equal "$(kmes-dump -s -j -q | jq -c '.payload | length')" $room

	# base64 is a third longer than its content
	simulator_only "needs another capacity"
	sim_stop
	rings_start --capacity=16M --max-event-size=4M --exempt
	{
		printf '{"type":"big","payload":{"$bin":"'
		head -c 4194000 /dev/zero | base64 -w 0
		printf '"}}\n'
	} >lines
	kmes-emit -i lines
	assert_equal "$(kmes-dump -s -j -q | jq -c '.payload["$bin"] | length')" 5592000
}

@test "files that cannot be read are named" {
	rings_start
	run --separate-stderr kmes-emit -i no/such
	assert_status 1
	assert_equal "$stderr" "kmes-emit: no/such: cannot open: No such file or directory"
	run --separate-stderr kmes-emit -i .
	assert_status 1
	assert_equal "$stderr" "kmes-emit: .: cannot read: Is a directory"
	run --separate-stderr bash -c 'kmes-emit -i - <&-'
	assert_status 1
	assert_equal "$stderr" "kmes-emit: standard input: cannot read: Bad file descriptor"
	run --separate-stderr kmes-emit -i /dev/null
	assert_status 0
	assert_rings_are_empty
}

@test "a missing privilege is named" {
	rings_start --deny=emit
	run --separate-stderr kmes-emit -t x
	assert_status 1
	assert_equal "$stderr" "kmes-emit: sim: not allowed to emit: Operation not permitted (needs CAP_AUDIT_WRITE)"
	printf '{"type":"a"}\n{"type":"b"}\n' >lines
	run --separate-stderr kmes-emit -i lines
	assert_status 1
	assert_equal "${#stderr_lines[@]}" 1
	assert_rings_are_empty
}

@test "the end of the simulator is an error" {
	rings_start --exempt
	simulator_only "the module cannot be unloaded while it is used"
	background emit kmes-emit -t tick -n 1000000 -R 50
	wait_until 10 bash -c 'kmes-dump -s -j -q | grep -q tick'
	sim_stop
	end_of "${KMES_PIDS[-1]}"
	assert_status 1
	assert_equal "$(cat emit.err)" "kmes-emit: sim: the source ended"
	run --separate-stderr kmes-emit -t x
	assert_status 1
	assert_equal "${#stderr_lines[@]}" 1
}

@test "an automatically chosen simulator is reported once" {
	simulator_only "the module is chosen"
	[[ ! -e /dev/kmes ]] || skip "/dev/kmes exists"
	sim_start
	unset KMES_SOURCE
	export XDG_RUNTIME_DIR=$KMES_TMP
	ln -s sock kmes-sim.sock
	run --separate-stderr kmes-emit -t x
	assert_status 0
	assert_equal "${#stderr_lines[@]}" 1
	assert_match "$stderr" "^kmes-emit: .*simulator"
	run --separate-stderr kmes-emit -S sim -t x
	assert_status 0
	assert_equal "$stderr" ""

	rm kmes-sim.sock
	run --separate-stderr kmes-emit -t x
	assert_status 1
	assert_equal "${#stderr_lines[@]}" 1
	assert_match "$stderr" "^kmes-emit: .*native.*dev.*sim.*kmes-sim"
}
