#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-sim from outside: start and end, options, and clients of every kind.
# shellcheck disable=SC2030,SC2031 # bats runs each test in a subshell of its own

load helper

setup() {
	simulator_only "tests the simulator itself"
	common_setup
	SOCK=$KMES_TMP/sock
}

# python SCRIPT ARG...: with a client of the simulator's socket available.
socket_is_gone() { [[ ! -e $SOCK ]]; }
descriptors() { find "/proc/$SIM_PID/fd" -mindepth 1 | wc -l; }
has_descriptors() { [[ $(descriptors) -eq $1 ]]; }

# The sum of all rings' last sequences.
total() { kmes-stat -j | jq '[.rings[].total] | add'; }

@test "ready is printed once, the socket is private, and nothing is emitted" {
	sim_start --slots=2
	assert_equal "$(cat sim.out)" "kmes-sim: ready on $SOCK"
	assert_equal "$(stat -c %a "$SOCK")" 600
	sleep 0.3
	assert_equal "$(total)" 0
	assert_equal "$(cat sim.out)" "kmes-sim: ready on $SOCK"
	assert_equal "$(cat sim.err)" ""
}

@test "SIGTERM, SIGINT and SIGHUP end it cleanly" {
	local sig

	for sig in TERM INT HUP; do
		sim_start --slots=1 --load=1000
		kill -s "$sig" "$SIM_PID"
		end_of "$SIM_PID"
		assert_status 0
		socket_is_gone
		assert_equal "$(cat sim.err)" ""
	done
}

@test "a signal ignored at startup stays ignored" {
	background sim sh -c "trap '' INT; exec kmes-sim --slots=1 --socket=$SOCK"
	wait_for_line sim.out ready
	kill -INT $!
	sleep 0.2
	kill -0 $!
	kill -TERM $!
	end_of $!
	assert_status 0
}

@test "a stale socket is replaced" {
	sim_start --slots=1
	kill -KILL "$SIM_PID"
	wait "$SIM_PID" || true
	[[ -S $SOCK ]]
	sim_start --slots=3
	assert_equal "$(kmes-stat -j | jq '.rings | length')" 3
}

@test "a live simulator is not replaced" {
	sim_start --slots=3
	run --separate-stderr kmes-sim --slots=1 --socket="$SOCK"
	assert_status 1
	assert_equal "$stderr" "kmes-sim: $SOCK: another simulator is listening there"
	assert_equal "$(kmes-stat -j | jq '.rings | length')" 3
}

@test "of two starting at the same time over a stale socket one wins" {
	local i

	python 'socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(sys.argv[1])' "$SOCK"
	for i in 1 2 3 4; do
		background "sim$i" kmes-sim --slots=1 --socket="$SOCK"
	done
	wait_until 10 eval '(($(cat sim?.out | wc -l) + $(cat sim?.err | wc -l) == 4))'
	assert_equal "$(cat sim?.out)" "kmes-sim: ready on $SOCK"
	assert_equal "$(kmes-stat -S "sim:$SOCK" -j | jq '.rings | length')" 1
}

@test "a file that is not a socket is not replaced" {
	echo precious >"$SOCK"
	run --separate-stderr kmes-sim --socket="$SOCK"
	assert_status 1
	assert_equal "$stderr" "kmes-sim: $SOCK exists and is not a socket"
	assert_equal "$(cat "$SOCK")" precious
}

@test "a socket put in its place by another process is not removed" {
	sim_start --slots=1
	rm "$SOCK"
	background other kmes-sim --slots=1 --socket="$SOCK"
	wait_for_line other.out ready
	sim_stop
	[[ -S $SOCK ]]
}

@test "the socket is in XDG_RUNTIME_DIR by default" {
	mkdir run
	XDG_RUNTIME_DIR=$KMES_TMP/run background sim kmes-sim --slots=1
	wait_for_line sim.out "^kmes-sim: ready on $KMES_TMP/run/kmes-sim.sock\$"
	assert_equal "$(XDG_RUNTIME_DIR=$KMES_TMP/run kmes-stat -S sim -j | jq -r .source)" sim
}

@test "a directory that does not exist and a name that is too long are errors" {
	run --separate-stderr kmes-sim --socket=none/sock
	assert_status 1
	assert_equal "$stderr" "kmes-sim: none: cannot open the directory: No such file or directory"
	run --separate-stderr kmes-sim --socket="$(printf 'x%.0s' {1..108})"
	assert_usage_error "^kmes-sim: --socket: too long: 'xxxx"
	XDG_RUNTIME_DIR=/$(printf 'x%.0s' {1..108}) run --separate-stderr kmes-sim
	assert_status 1
	assert_match "$stderr" 'XDG_RUNTIME_DIR is too long'
}

@test "a full standard output is an error, a closed one is not" {
	run --separate-stderr bash -c 'kmes-sim --socket="$1" --slots=1 >/dev/full' - "$SOCK"
	assert_status 1
	assert_equal "$stderr" "kmes-sim: cannot write to standard output: No space left on device"
	socket_is_gone
}

@test "standard output is released after the ready line" {
	# cat ends while the simulator continues
	bash -c 'kmes-sim --socket="$1" --slots=1 & echo $! >pid' - "$SOCK" 3>&- | timeout 20 cat >out
	KMES_PIDS+=("$(cat pid)")
	assert_equal "$(cat out)" "kmes-sim: ready on $SOCK"
	kill -0 "$(cat pid)"
}

@test "--daemon returns when the simulator is ready" {
	run --separate-stderr kmes-sim --daemon --slots=2 --socket="$SOCK"
	assert_status 0
	assert_output "kmes-sim: ready on $SOCK"
	KMES_PIDS+=("$(pgrep -f -- "--socket=$SOCK")")
	assert_equal "$(kmes-stat -S "sim:$SOCK" -j | jq '.rings | length')" 2
	# and its failures are the caller's
	run --separate-stderr kmes-sim --daemon --socket="$SOCK"
	assert_status 1
	assert_match "$stderr" 'another simulator'
	kill "${KMES_PIDS[0]}"
	wait_until 10 socket_is_gone
}

@test "--daemon leaves nothing running if it is ended before it is ready" {
	mkfifo full
	exec 5<>full
	dd if=/dev/zero of=full oflag=nonblock bs=4096 2>/dev/null || true
	# It has its socket, and cannot report it yet.
	kmes-sim --daemon --slots=1 --socket="$SOCK" >full &
	wait_until 10 test -S "$SOCK"
	kill -TERM $!
	status=0
	wait $! || status=$?
	assert_status 143
	dd of=/dev/null iflag=nonblock bs=4096 <&5 2>/dev/null || true
	wait_until 10 socket_is_gone
}

@test "a usage error names the argument" {
	local option

	for option in --slots=0 --slots=1025 --slots=010x --holes=9 --holes=x --holes= --capacity=64 \
		--capacity=100000 --capacity=512M --capacity=64kb --load=0 --load=-1 --load=1.5 \
		--load=200000000 --max-emit-rate=99 --max-emit-rate=1000001 --max-event-size=1023 \
		--max-event-size=5M --max-nesting-depth=3 --max-nesting-depth=257 --deny=all \
		--deny= "--deny=attach," --test=fly --socket=; do
		run --separate-stderr kmes-sim --socket="$SOCK" --slots=4 "$option"
		assert_usage_error "^kmes-sim: ${option%%=*}: .*: '${option#*=}'\$" || {
			echo "for $option"
			return 1
		}
		socket_is_gone
	done
	run --separate-stderr kmes-sim --slots=2 --holes=0-1 --load=5
	assert_usage_error 'need a slot with a ring'
	run --separate-stderr kmes-sim operand
	assert_usage_error "'operand'"
}

@test "the last one of an option wins" {
	sim_start --slots=9 --slots=4 --holes=0 --holes=1 --deny=attach,emit --deny=emit
	assert_equal "$(kmes-stat -j | jq -c '[.rings[].cpu]')" '[0,2,3]'
}

@test "holes have no ring, and the others keep their numbers [A3 A4 A5 A7]" {
	sim_start --slots=6 --holes=2,4
	assert_equal "$(kmes-stat -j | jq -c '[.rings[].cpu]')" '[0,1,3,5]'
	run python '
c = Client(sys.argv[1])
assert c.ask(SLOTS)["capacity"] == 6
assert [c.ask(ATTACH, cpu=i)["error"] for i in range(7)] == [0, 0, EINVAL, 0, EINVAL, 0, EINVAL]
assert c.emit([(b"t", b"\xc0")], cpu=2) == (EINVAL, 0)
assert c.emit([(b"t", b"\xc0")], cpu=5) == (0, 1)
for i in range(4): assert c.emit([(b"t", b"\xc0")]) == (0, 1)
assert [len(c.events(i)) for i in (0, 1, 3, 5)] == [1, 1, 1, 2]
(header, type, payload) = c.events(5)[0]
assert (header[3], header[4], type, payload) == (1, 5, b"t", b"\xc0")
' "$SOCK"
	assert_status 0
}

@test "all slots may be holes" {
	sim_start --slots=2 --holes=0-1
	run python '
c = Client(sys.argv[1])
assert c.ask(SLOTS)["capacity"] == 2
assert c.emit([(b"t", b"\xc0")]) == (EINVAL, 0)
' "$SOCK"
	assert_status 0
}

@test "256 slots work with 1024 open files" {
	ulimit -n 1024
	sim_start --slots=256 --capacity=64K
	run python '
c = Client(sys.argv[1])
assert c.ask(SLOTS)["capacity"] == 256
for i in range(256): assert c.emit([(b"t", b"\xc0")], cpu=i) == (0, 1)
assert len(c.events(255)) == 1
' "$SOCK"
	assert_status 0
	assert_equal "$(kmes-stat -j | jq '.rings | length')" 256
}

@test "every start has a new stream id" {
	sim_start --slots=1
	python 'print(Client(sys.argv[1]).stream_id.hex())' "$SOCK" >first
	python 'print(Client(sys.argv[1]).stream_id.hex())' "$SOCK" >again
	sim_stop
	sim_start --slots=1
	python 'print(Client(sys.argv[1]).stream_id.hex())' "$SOCK" >second
	cmp first again
	run ! cmp -s first second
	assert_match "$(cat first)" '^[0-9a-f]{32}$'
}

@test "--load sends at its rate, round-robin, each with a number" {
	local before after

	before=$(date +%s%N)
	sim_start --slots=4 --holes=1 --load=20000/s --testing
	sleep 1
	kill -STOP "$SIM_PID"
	after=$(date +%s%N)
	kill -CONT "$SIM_PID"
	run python '
c = Client(sys.argv[1])
(before, after) = map(int, sys.argv[2:])
events = [c.events(i) for i in (0, 2, 3)]
assert all(e[0][5] == 0 and e[1] == b"sim.load" for ring in events for e in ring)
# numbers are unique, and those of one ring are three apart
for ring in events:
    numbers = [count(e[2]) for e in ring]
    assert numbers == list(range(numbers[0], numbers[0] + 3 * len(numbers), 3))
    assert [e[0][3] for e in ring] == list(range(1, len(ring) + 1))
assert sorted(count(ring[0][2]) for ring in events) == [1, 2, 3]
stopped = [e for ring in events for e in ring if e[0][2] <= after]
# no more than the time allows, and not far less
assert len(stopped) <= (after - before) * 20000 / 1e9 + 1, len(stopped)
assert len(stopped) >= 2000, len(stopped)
' "$SOCK" "$before" "$after"
	assert_status 0
}

@test "a stopped load catches up for a second at most" {
	sim_start --slots=1 --load=1000
	kill -STOP "$SIM_PID"
	sleep 2.5
	kill -CONT "$SIM_PID"
	sleep 0.3
	run python '
c = Client(sys.argv[1])
stamps = [e[0][2] for e in c.events(0)]
burst = max(sum(s <= t < s + 20_000_000 for t in stamps) for s in stamps)
assert 300 <= burst <= 1030, burst
' "$SOCK"
	assert_status 0
}

@test "--load at a high rate starves no client" {
	sim_start --slots=2 --load=100000000
	run python '
c = Client(sys.argv[1])
start = time.monotonic()
for i in range(50): assert c.ask(CAPACITY)["error"] == 0
assert time.monotonic() - start < 10
' "$SOCK"
	assert_status 0
}

@test "--demo sends a mix on all slots" {
	sim_start --slots=3 --demo
	wait_until 20 eval '(($(total) >= 40))'
	run python '
c = Client(sys.argv[1])
events = [e for i in range(3) for e in c.events(i)]
assert len({e[1] for e in events}) >= 5
assert {e[0][4] for e in events} == {0, 1, 2}
assert {e[0][5] for e in events} <= {0, 2, 3}
' "$SOCK"
	assert_status 0
}

@test "--deny refuses attach and slot query, or emit" {
	sim_start --slots=1 --deny=attach
	run python '
c = Client(sys.argv[1])
assert c.ask(ATTACH)["error"] == EPERM
assert c.ask(SLOTS)["error"] == EPERM
assert c.emit([(b"t", b"\xc0")]) == (0, 1)
' "$SOCK"
	assert_status 0
	sim_stop
	sim_start --slots=1 --deny=emit
	run python '
c = Client(sys.argv[1])
assert c.ask(SLOTS)["error"] == 0
assert c.emit([(b"", b"")]) == (EPERM, 0)
assert c.events(0) == []
' "$SOCK"
	assert_status 0
}

@test "the rate applies to a process, with any number of connections [E11]" {
	sim_start --slots=1 --max-emit-rate=100
	run python '
c = Client(sys.argv[1])
t = [(b"t", b"\xc0")]
assert c.emit(101 * t) == (EAGAIN, 0)
assert c.emit(99 * t + [(b"t", b"\xc1")]) == (EINVAL, 99)
assert c.emit(2 * t) in ((EAGAIN, 0), (0, 2))
start = time.monotonic()
sent = 0
while time.monotonic() < start + 1:
    d = Client(sys.argv[1])
    sent += d.emit(t)[1]
    d.socket.close()
assert sent <= 110, sent
if os.fork() == 0:
    # a child has its own bucket
    d = Client(sys.argv[1])
    os._exit(d.emit(99 * t) != (0, 99))
assert os.wait()[1] == 0
' "$SOCK"
	assert_status 0
}

@test "--exempt lifts the rate [E11]" {
	sim_start --slots=1 --max-emit-rate=100 --exempt
	run python '
c = Client(sys.argv[1])
for i in range(20): assert c.emit(256 * [(b"t", b"\xc0")]) == (0, 256)
' "$SOCK"
	assert_status 0
}

@test "the limits of size and depth are set by options [E2 E3 E12]" {
	sim_start --slots=1 --max-event-size=1K --max-nesting-depth=4 --capacity=64K
	run python '
c = Client(sys.argv[1])
bin = lambda n: b"\xc5" + (n - 3).to_bytes(2, "big") + bytes(n - 3)
assert c.emit([(b"t", bin(1024 - 78))]) == (0, 1)
assert c.emit([(b"t", bin(1024 - 77))]) == (ENOSPC, 0)
assert c.emit([(b"t", b"\x91\x91\x91\x90")]) == (0, 1)
assert c.emit([(b"t", b"\x91\x91\x91\x91\x90")]) == (EINVAL, 0)
' "$SOCK"
	assert_status 0
	sim_stop
	sim_start --slots=1 --max-event-size=4M --capacity=64K
	run python '
c = Client(sys.argv[1])
bin = lambda n: b"\xc6" + (n - 5).to_bytes(4, "big") + bytes(n - 5)
assert c.emit([(b"t", bin(32768 - 78))]) == (0, 1)
assert c.emit([(b"t", bin(32768 - 77))]) == (ENOSPC, 0)
' "$SOCK"
	assert_status 0
}

@test "a process has one identity in all its connections" {
	sim_start --slots=1
	run python '
for i in range(2): assert Client(sys.argv[1]).emit([(b"t", b"\xc0")]) == (0, 1)
if os.fork() == 0:
    Client(sys.argv[1]).emit([(b"t", b"\xc0")])
    os._exit(0)
os.wait()
guids = [e[0][8] for e in Client(sys.argv[1]).events(0)]
assert guids[0] == guids[1] != guids[2]
for g in guids: assert g[7] >> 4 == 8 and g[8] >> 6 == 2, g.hex()
' "$SOCK"
	assert_status 0
}

@test "a large event is sent as a file [E5]" {
	sim_start --slots=1 --max-event-size=1M
	python3 -c 'import json; print(json.dumps({"type": "t", "payload": "x" * 300000}))' |
		kmes-emit -i -
	run python '
((header, type, payload),) = Client(sys.argv[1]).events(0)
assert payload == b"\xdb" + (300000).to_bytes(4, "big") + 300000 * b"x"
' "$SOCK"
	assert_status 0
}

@test "a resize without memory has no effect and is reported [F3 F4]" {
	sim_start --slots=3 --capacity=64K --testing
	kmes-sim --socket="$SOCK" --test=fail-resize=2
	run --separate-stderr kmes-resize 1M
	assert_status 1
	assert_match "$stderr" 'Cannot allocate memory'
	run python '
c = Client(sys.argv[1])
assert c.ask(CAPACITY)["capacity"] == 65536
((header, type, payload),) = [e for i in range(3) for e in c.events(i)]
assert header[5] == 1 and type == b"kmes.buffer.swap.failed"
' "$SOCK"
	assert_status 0
	run kmes-resize 1M
	assert_status 0
}

@test "more memory than is available is refused [F3]" {
	sim_start --slots=1024 --capacity=64K
	run --separate-stderr kmes-resize 256M
	assert_status 1
	assert_match "$stderr" 'Cannot allocate memory'
	assert_equal "$(kmes-stat -j | jq -c '[.rings[].capacity_bytes] | unique')" '[65536]'
	run --separate-stderr kmes-sim --socket="$SOCK.2" --slots=1024 --capacity=256M
	assert_status 1
	assert_match "$stderr" 'Cannot allocate memory'
}

@test "a swap during an attach is noticed by the library [A13]" {
	local i

	sim_start --slots=2 --capacity=64K --testing
	for i in 128K 256K 512K; do
		kmes-sim --socket="$SOCK" --test=swap=$i
		kmes-stat -j >"stat.$i"
	done
	assert_equal "$(jq -c '[.rings[].capacity_bytes]' stat.512K)" '[524288,524288]'
	assert_equal "$(jq -c '[.rings[].generation]' stat.512K)" '[4,4]'
}

@test "test actions need --testing" {
	sim_start --slots=1
	run --separate-stderr kmes-sim --socket="$SOCK" --test=drop=0,5
	assert_status 1
	assert_match "$stderr" 'Operation not permitted'
	assert_equal "$(total)" 0
	sim_stop
	sim_start --slots=1 --testing
	kmes-sim --socket="$SOCK" --test=drop=0,5
	kmes-emit -t t
	assert_equal "$(kmes-stat -j | jq -c '.rings[0] | [.total, .dropped]')" '[6,5]'
	kmes-sim --socket="$SOCK" --test=clock=-1h
	kmes-emit -t t
	run python '
(a, b) = [e[0][2] for e in Client(sys.argv[1]).events(0)]
assert 3590e9 < a - b < 3600e9 + 1
' "$SOCK"
	assert_status 0
	kmes-sim --socket="$SOCK" --test=stamp=1234567890123456789
	kmes-emit -t t
	kmes-emit -t t
	kmes-sim --socket="$SOCK" --test=stamp=0
	kmes-emit -t t
	run python '
stamps = [e[0][2] for e in Client(sys.argv[1]).events(0)]
assert stamps[2:4] == 2 * [1234567890123456789] and stamps[4] != stamps[3]
' "$SOCK"
	assert_status 0
}

@test "garbage, killed and stalled clients do not affect others" {
	sim_start --slots=2
	before=$(descriptors)
	run python '
import random
random.seed(1)
path = sys.argv[1]
good = Client(path)
held = []
for i in range(300):
    c = Client(path, hello=random.random() < 0.7)
    kind = i % 6
    try:
        if kind == 0: c.socket.send(random.randbytes(random.randrange(200)))
        elif kind == 1: c.socket.send(random.randbytes(32 + random.randrange(60000)))
        elif kind == 2: c.send(random.randrange(10), cpu=random.randrange(-3, 5), count=random.randrange(300))
        elif kind == 3: socket.send_fds(c.socket, [REQUEST.pack(EMIT, 1, 0, 1, 0, 100)], [0, 1, 2])
        elif kind == 4:
            # killed in the middle of an emit
            if os.fork() == 0:
                c.send(EMIT, count=256, body=bytes(60000))
                os.kill(os.getpid(), 9)
        elif kind == 5: c.send(ATTACH, cpu=0); held.append(c)
    except (BrokenPipeError, ConnectionResetError):
        pass
    if i % 10 == 0: assert good.emit([(b"t", b"\xc0")], cpu=0) == (0, 1)
# one that sends requests and never reads
stalled = Client(path)
stalled.socket.settimeout(0.2)
try:
    for i in range(100000): stalled.send(ATTACH, cpu=1)
    raise SystemExit("never cut off")
except (BrokenPipeError, ConnectionResetError, TimeoutError):
    pass
assert good.emit([(b"t", b"\xc0")], cpu=0) == (0, 1)
assert sum(e[1] == b"t" for e in good.events(0)) == 31
' "$SOCK"
	assert_status 0
	wait_until 10 has_descriptors "$before"
}

@test "thousands of connections of one process leave room for others" {
	background sim bash -c 'ulimit -n 400 && exec kmes-sim --slots=2 --socket="$1"' - "$SOCK"
	SIM_PID=$!
	wait_for_line sim.out ready
	export KMES_SOURCE=sim:$SOCK
	background crowd env PYTHONPATH="$KMES_TOP/tests/lib" python3 -c '
from simsock import *
import sys, time
held = []
for i in range(3000):
    try: held.append(Client(sys.argv[1]))
    except (AssertionError, OSError, EOFError): pass
print("holds", len(held), flush=True)
time.sleep(1000)' "$SOCK"
	wait_for_line crowd.out '^holds ' 60
	assert_match "$(cat crowd.out)" '^holds 1[0-9][0-9]$'
	assert_equal "$(kmes-stat -j | jq '.rings | length')" 2
	run kmes-emit -t t
	assert_status 0
	kill -KILL $!
	wait_until 10 eval '(($(descriptors) < 30))'
	run kmes-resize 1M
	assert_status 0
}

@test "another user can neither connect nor use a connection" {
	[[ $(id -u) -eq 0 ]] || skip "needs root to change the user"
	sim_start --slots=1
	# the tree may be readable by root only
	cp "$KMES_BIN/kmes-stat" "$KMES_TOP/tests/lib/simsock.py" "$KMES_TMP"
	chmod 755 "$KMES_TMP"
	run setpriv --reuid=65534 --clear-groups --regid=65534 "$KMES_TMP/kmes-stat" -j
	assert_status 1
	assert_match "$output" "$SOCK: .*Permission denied"
	chmod 666 "$SOCK"
	run env PYTHONPATH="$KMES_TMP" setpriv --reuid=65534 --clear-groups --regid=65534 \
		/usr/bin/python3 -c 'from simsock import *; import sys
c = Client(sys.argv[1])
assert c.ask(ATTACH)["error"] == EPERM
assert c.ask(SLOTS)["error"] == EPERM
assert c.ask(SET_CAPACITY, value=65536)["error"] == EPERM
assert c.emit([(b"t", b"\xc0")]) == (EPERM, 0)
' "$SOCK"
	assert_status 0
}
