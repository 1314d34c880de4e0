#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Captures: however a recorder ends, everything it read is in the file.

load helper

# The totals in a recorder's summary, and the number of events in a complete file.
summed() { sed -n 's/^kmes-dump: \([0-9]*\)\( of [0-9]*\)\? events, .*/\1/p' "$1" | tail -1; }
held() {
	kmes-dump -T none "$@" >held.out 2>held.err || { cat held.err; return 1; }
	summed held.err
}

# record NAME ARGS...: in the background, until it has printed what was emitted.
record() {
	background "$@" && PID=$!
	wait_until 10 has_bytes "$KMES_TMP/file" || wait_until 1 has_bytes "$KMES_TMP/file.gz"
}
has_bytes() { [[ -s $1 ]]; }

@test "capture end: SIGINT, SIGTERM and SIGHUP leave a complete file and the same totals" {
	local signal

	rings_start --slots=2 --load=20000
	for signal in INT TERM; do
		rm -f file
		record dump kmes-dump -w file
		sleep 0.5
		kill -$signal $PID
		kill -$signal $PID 2>/dev/null || true
		end_of $PID
		assert_status 0
		(($(summed dump.err) > 100))
		assert_equal "$(held file)" "$(summed dump.err)"
	done
	# With a terminal SIGHUP ends it, too.
	command -v script >/dev/null || skip "script(1) is not installed"
	rm -f file
	background script script -qec "exec kmes-dump -w file >/dev/null" script.log
	wait_until 10 has_bytes file
	sleep 0.3
	pkill -HUP -P $! -x kmes-dump
	end_of $!
	(($(held file) > 100))
}

@test "capture end: SIGHUP without a terminal reopens the file, without loss" {
	local i

	rings_start --slots=1 --load=20000
	record dump kmes-dump -w file
	kill -HUP $PID
	sleep 0.3
	# The name still refers to this file: appended to.
	mv file file.1
	kill -HUP $PID
	wait_until 10 has_bytes file
	sleep 0.3
	# The name refers to another file: replaced.
	mv file file.2
	echo other >file
	kill -HUP $PID
	wait_until 10 grep -q KMESCAP1 file
	kill -TERM $PID
	end_of $PID
	assert_status 0
	assert_equal "$(held file.1 file.2 file)" "$(summed dump.err)"
	for i in file.1 file.2 file; do held $i >/dev/null; done
	kmes-dump -q -T none file.1 file.2 file | sed -E 's/.*#([0-9]+) .*/\1/' >seqs
	assert_equal "$(head -1 seqs)" 1
	assert_equal "$(tail -1 seqs)" "$(wc -l <seqs)"
	[[ $(grep -aco KMESCAP1 file.1) -ge 1 && $(grep -ao KMESCAP1 file.1 | wc -l) -eq 2 ]]
}

@test "capture end: SIGHUP without a terminal loses nothing of a compressed one" {
	local i

	rings_start --slots=1 --load=20000
	record dump kmes-dump -z -w file
	for i in 1 2 3 4 5 6; do
		# Every other time the name still refers to this file.
		((i % 2)) || mv file file.$i
		kill -HUP $PID
		wait_until 10 has_bytes file
	done
	kill -TERM $PID
	end_of $PID
	assert_status 0
	assert_equal "$(held file.2 file.4 file.6 file)" "$(summed dump.err)"
	kmes-dump -q -T none file.2 file.4 file.6 file | sed -E 's/.*#([0-9]+) .*/\1/' >seqs
	cmp seqs <(seq 1 "$(summed dump.err)")
}

@test "capture end: -n, -d, -s and the source's end leave a complete file" {
	rings_start --slots=1 --load=20000
	kmes-dump -n 777 -w file 2>dump.err
	assert_equal "$(held file)" 777
	assert_equal "$(summed dump.err)" 777
	kmes-dump -d 0.5 -w file.gz 2>dump.err
	assert_equal "$(held file.gz)" "$(summed dump.err)"
	kmes-dump -s -w file 2>dump.err
	assert_equal "$(held file)" "$(summed dump.err)"
	rm file
	record dump kmes-dump -w file
	sim_stop
	end_of $PID
	assert_status 0
	assert_match "$(cat dump.err)" 'source ended'
	assert_equal "$(held file)" "$(summed dump.err)"
}

@test "capture end: a closed pipe ends it silently, the file is complete" {
	rings_start --slots=1 --load=20000
	run -0 --separate-stderr bash -c 'kmes-dump -w file --print -T none | head -n 5; exit "${PIPESTATUS[0]}"'
	assert_equal "$stderr" ""
	assert_equal "${#lines[@]}" 5
	(($(held file) >= 5))
	run -0 --separate-stderr bash -c 'kmes-dump -w - | head -c 1000 >/dev/null; exit "${PIPESTATUS[0]}"'
	assert_equal "$stderr" ""
	run -0 --separate-stderr bash -c 'kmes-dump -z -w - | head -c 1000 >/dev/null; exit "${PIPESTATUS[0]}"'
	assert_equal "$stderr" ""
	# Also while no events arrive.
	sim_stop
	rings_start --slots=1
	run -0 --separate-stderr timeout 20 bash -c 'kmes-dump -w - | true; exit "${PIPESTATUS[0]}"'
	assert_equal "$stderr" ""
}

@test "capture end: SIGUSR1 reports the totals and continues" {
	rings_start --slots=1
	kmes-emit -n 3 -t x
	record dump kmes-dump -w file
	kill -USR1 $PID
	wait_for_line dump.err '^kmes-dump: 3 events, 0 lost$'
	kmes-emit -n 4 -t x
	sleep 0.3
	kill -TERM $PID
	end_of $PID
	assert_equal "$(summed dump.err)" 7
	assert_equal "$(held file)" 7
}

has_three() { [[ $(kmes-dump -q -T none "$1" 2>/dev/null | wc -l) -eq 3 ]]; }

@test "capture end: only three events reach the file, and kill -9 removes none" {
	local file

	rings_start --slots=1
	kmes-emit -n 3 -t x
	for file in file file.gz; do
		background dump kmes-dump -w $file
		wait_until 10 has_three $file
		kill -KILL "$(tool_of $!)"
		end_of $!
		run -1 --separate-stderr kmes-dump -q -T none $file
		assert_equal "${#lines[@]}" 3
		assert_match "$stderr" 'still being written'
	done
}

@test "capture end: kill -9 at 50 random moments loses nothing older than a second" {
	command -v python3 >/dev/null || skip "no python3 here"
	rings_start --slots=1 --load=100000 --capacity=64M
	python3 - <<-'END'
		import glob, os, random, re, subprocess, sys, threading, time
		KILLS, AT_ONCE, EXCUSES = 50, 5, 15
		event = re.compile(r"(\d+\.\d+)  cpu0  #(\d+) ")
		lock, done, excused, worst, seen = threading.Lock(), 0, 0, 0, 0
		naps = []

		def text(*args):
		    run = subprocess.run(["kmes-dump", "-q", "-T", "epoch", *args], capture_output=True, text=True)
		    return run.stdout

		def nap():
		    """Stops together with the machine."""
		    while True:
		        before = time.monotonic()
		        time.sleep(0.02)
		        naps.append((before, time.monotonic() - before))

		def waited(pid):
		    """For how long some thread of the recorder had to wait for a processor."""
		    tasks = glob.glob(f"/proc/{pid}/task/*/schedstat")
		    return max((int(open(task).read().split()[1]) / 1e9 for task in tasks), default=0)

		def age_of_first_missing(name, start, end):
		    """By its own stamp, which the ring still has; and how many events are in the file."""
		    lines = text(name)
		    if not lines:
		        return end - start, 0
		    first, last = event.match(lines), event.search(lines, lines.rindex("\n", 0, -1) + 1)
		    lost = sum(int(n) for n in re.findall(r"^--- cpu0: lost (\d+) events", lines, re.M))
		    count = len(re.findall("^[0-9]", lines, re.M))
		    if int(last[2]) - int(first[2]) + 1 != count + lost:
		        sys.exit(f"{name}: {count} events, {lost} lost, {first[2]} to {last[2]}")
		    after = [e for e in event.findall(text("-s", "-a", "@" + last[1], "-n", "20"))
		             if int(e[1]) > int(last[2])]
		    if not after or int(after[0][1]) != int(last[2]) + 1:
		        sys.exit(f"after {last[2]} the ring has {after[:1]}")
		    return end - float(after[0][0]), count

		def kill_one(name):
		    global worst, seen
		    since = time.monotonic()
		    start = time.time()
		    run = subprocess.Popen(["kmes-dump", "-N", "-w", name])
		    time.sleep(random.uniform(0.1, 2.2))
		    delay = waited(run.pid)
		    end = time.time()
		    run.kill()
		    run.wait()
		    age, count = age_of_first_missing(name, start, end) if os.path.exists(name) else (end - start, 0)
		    os.path.exists(name) and os.remove(name)
		    stood = max(length for at, length in naps if at > since - 0.1)
		    with lock:
		        seen += count
		        if age <= 1:
		            worst = max(worst, age)
		            return True
		    print(f"{name}: {age:.3f} s; the machine stood still for {stood:.3f} s, it waited {delay:.3f} s")
		    return False if stood > 0.4 or delay > 0.4 else sys.exit("nothing excuses that")

		failed = []
		def kill_some(names):
		    global done, excused
		    try:
		        while done < KILLS and excused < EXCUSES:
		            counts = kill_one(names[done % 2])
		            with lock:
		                done += counts
		                excused += not counts
		    except BaseException as error:
		        failed.append(error)
		        raise

		threading.Thread(target=nap, daemon=True).start()
		workers = [threading.Thread(target=kill_some, args=([f"file{i}", f"file{i}.gz"],))
		           for i in range(AT_ONCE)]
		for worker in workers:
		    worker.start()
		for worker in workers:
		    worker.join()
		print(f"{done} kills, {seen} events, the oldest that was missing {worst:.3f} s old, {excused} excused")
		sys.exit(failed or done < KILLS or seen < 100000)
	END
}

@test "capture end: a slow reader of stdout does not delay the file" {
	rings_start --slots=1 --exempt
	mkfifo slow
	exec {keep}<>slow
	env --default-signal=PIPE kmes-dump -w file --print >slow 2>dump.err 3>&- &
	KMES_PIDS+=($!)
	kmes-emit -n 1000 -t x "fill=$(printf '%0200d' 0)"
	wait_until 10 eval '(($(kmes-dump -q file 2>/dev/null | wc -l) >= 200))'
	sleep 1
	kill -KILL $!
	end_of $!
	timeout 1 cat <slow >printed || true
	exec {keep}>&-
	run -1 kmes-dump -q file
	(($(grep -c '#' <<<"$output") >= $(wc -l <printed)))
}

@test "capture end: a blocked pipe is given up a second after the signal" {
	local option

	rings_start --slots=1 --load=20000
	for option in '' -z; do
		mkfifo full
		exec {keep}<>full
		# shellcheck disable=SC2086 # none or one
		env --default-signal=INT kmes-dump $option -w - >full 2>dump.err 3>&- &
		KMES_PIDS+=($!)
		sleep 1.5
		kill -INT $!
		end_of $!
		exec {keep}>&-
		rm full
		assert_status 1
		assert_match "$(cat dump.err)" '^kmes-dump: -: accepts no data, gave up; [0-9]+ events are safe'
	done
}

@test "capture end: a stopped terminal is given up, too" {
	command -v python3 >/dev/null || skip "no python3 here"
	[[ -e /dev/ptmx ]] || skip "no pseudoterminals"
	rings_start --slots=1 --load=20000
	run -0 --separate-stderr timeout 60 python3 - <<-'END'
		import os, subprocess, time, tty
		# They are not read; the last write to one may be partial.
		pairs = [os.openpty() for _ in range(12)]
		runs = []
		for i, (_, other) in enumerate(pairs):
		    tty.setraw(other)
		    os.write(other, b"." * (i * 333))
		    runs.append(subprocess.Popen(["kmes-dump", "-q", "-w", os.ttyname(other)]))
		time.sleep(2)
		for run in runs:
		    run.terminate()
		print(*[run.wait() for run in runs])
	END
	assert_output '1 1 1 1 1 1 1 1 1 1 1 1'
	assert_match "${stderr_lines[0]}" '^kmes-dump: /dev/pts/[0-9]+: accepts no data, gave up; [0-9]+ events are safe$'
}
