#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Captures: however a recorder ends, what it has read is in the file.

load helper

# The totals that a recorder's summary names, and how many events a file has, complete.
summed() { sed -n 's/^kmes-dump: \([0-9]*\)\( of [0-9]*\)\? events, .*/\1/p' "$1" | tail -1; }
held() {
	kmes-dump -T none "$@" >held.out 2>held.err || { cat held.err; return 1; }
	summed held.err
}

# record NAME ARGS...: in the background, until it has shown what was emitted.
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
	# On a terminal SIGHUP ends it, too.
	rm -f file
	background script script -qec "exec kmes-dump -w file >/dev/null" script.log
	wait_until 10 has_bytes file
	sleep 0.3
	pkill -HUP -P $! -x kmes-dump
	end_of $!
	(($(held file) > 100))
}

@test "capture end: SIGHUP without a terminal reopens the file, and nothing is missing" {
	local i

	rings_start --slots=1 --load=20000
	record dump kmes-dump -w file
	kill -HUP $PID
	sleep 0.3
	# The name still holds our file: appended to.
	mv file file.1
	kill -HUP $PID
	wait_until 10 has_bytes file
	sleep 0.3
	# The name holds another one: replaced.
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

@test "capture end: a reader that goes away ends it quietly, the file is complete" {
	rings_start --slots=1 --load=20000
	run -0 --separate-stderr bash -c 'kmes-dump -w file --print -T none | head -n 5; exit "${PIPESTATUS[0]}"'
	assert_equal "$stderr" ""
	assert_equal "${#lines[@]}" 5
	(($(held file) >= 5))
	run -0 --separate-stderr bash -c 'kmes-dump -w - | head -c 1000 >/dev/null; exit "${PIPESTATUS[0]}"'
	assert_equal "$stderr" ""
	run -0 --separate-stderr bash -c 'kmes-dump -z -w - | head -c 1000 >/dev/null; exit "${PIPESTATUS[0]}"'
	assert_equal "$stderr" ""
	# Also while nothing comes.
	sim_stop
	rings_start --slots=1
	run -0 --separate-stderr timeout 20 bash -c 'kmes-dump -w - | true; exit "${PIPESTATUS[0]}"'
	assert_equal "$stderr" ""
}

@test "capture end: SIGUSR1 tells the totals and goes on" {
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

@test "capture end: three events, two seconds, kill -9: all three, packed or not" {
	local file

	rings_start --slots=1
	kmes-emit -n 3 -t x
	for file in file file.gz; do
		background dump kmes-dump -w $file
		sleep 2
		kill -KILL $!
		end_of $!
		run -1 --separate-stderr kmes-dump -q -T none $file
		assert_equal "${#lines[@]}" 3
		assert_match "$stderr" 'still being written'
	done
}

@test "capture end: kill -9 at 50 random moments costs no more than the last second" {
	rings_start --slots=1 --load=100000 --capacity=16M
	python3 - <<-'END'
		import os, random, re, subprocess, sys, time
		line = re.compile(r"(\d+\.\d+)  cpu0  #(\d+) ")
		late, worst = 0, 0
		for i in range(50):
		    name = "file.gz" if i % 2 else "file"
		    start = time.time()
		    run = subprocess.Popen(["kmes-dump", "-N", "-w", name])
		    time.sleep(random.uniform(0.05, 0.9))
		    end = time.time()
		    run.kill()
		    run.wait()
		    text = subprocess.run(["kmes-dump", "-q", "-T", "epoch", name], capture_output=True,
		                          text=True).stdout if os.path.exists(name) else ""
		    events = line.findall(text)
		    lost = sum(int(n) for n in re.findall(r"lost (\d+) events", text))
		    if events and int(events[-1][1]) - int(events[0][1]) + 1 != len(events) + lost:
		        sys.exit(f"{name}: {len(events)} events, {lost} lost, {events[0]} to {events[-1]}")
		    gap = end - (float(events[-1][0]) if events else start)
		    worst = max(worst, gap)
		    late += gap > 1
		    if os.path.exists(name):
		        os.remove(name)
		print(f"at worst {worst:.3f} s were missing, {late} times more than one")
		# Twice the machine may have stood still.
		sys.exit(late > 2 or worst > 5)
	END
}

@test "capture end: who is slow to read what is printed keeps nothing from the file" {
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

@test "capture end: a pipe that takes nothing is given up a second after the signal" {
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
		assert_match "$(cat dump.err)" '^kmes-dump: -: takes no data, given up; [0-9]+ events are safe'
	done
}
