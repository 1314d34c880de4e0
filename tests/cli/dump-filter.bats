#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kmes-dump: filters by type, origin, CPU, field and time.

load helper
load prepared

T=1795983682 # 2026-11-29T20:21:22Z

# The sequences of the events that pass, on one line.
passing() {
	run -0 --separate-stderr kmes-dump -s -j "$@"
	jq -r 'select(.type) | .seq' <<<"$output" | paste -sd' '
}

# An event per second: app.login, app.logout, db.query, net.open, kernel, Application.
sample() {
	event 0 1 ${T}000000000 app.login 82a475736572a5616c696365a3706964cd1267
	event 0 2 $((T + 1))123456789 app.logout 82a475736572a3626f62a370696407
	event 0 3 $((T + 2))000000000 db.query 81a76c6174656e6379cb3ff8000000000000
	event 0 4 $((T + 3))000000000 net.open 80 '"origin": 77'
	event 0 5 $((T + 4))000000000 kernel 80 '"origin": 255'
	event 0 6 $((T + 5))000000000 App.x 80 '"origin": 1'
	prepared_start
}

@test "dump filters: types are globs, alternatives, and exclusions win" {
	sample
	assert_equal "$(passing -t app.login)" 1
	assert_equal "$(passing -t 'app.*')" "1 2"
	assert_equal "$(passing -t 'app.*' -t '*.query')" "1 2 3"
	assert_equal "$(passing -t 'app.*' -t '!*.logout')" 1
	assert_equal "$(passing -t '^*.logout' -t 'app.*')" 1
	assert_equal "$(passing -t '!app.*')" "3 4 5 6"
	assert_equal "$(passing -t '[ad]?[p.]*')" "1 2 3"
	assert_equal "$(passing --type='*n*e*')" "4 5"
}

@test "dump filters: matching does not depend on the locale" {
	sample
	export LC_ALL=tr_TR.UTF-8
	assert_equal "$(passing -t '[A-Z]*')" 6
	assert_equal "$(passing -t '[a-z]*.*')" "1 2 3 4"
	assert_equal "$(passing -o HOST -o KMES)" "5 6"
}

@test "dump filters: origins by word and by number" {
	sample
	assert_equal "$(passing -o user)" "1 2 3"
	assert_equal "$(passing -o c77)" 4
	assert_equal "$(passing -o 77 -o Host)" "4 5"
	assert_equal "$(passing -o usr -o KMES)" "1 2 3 6"
}

@test "dump filters: fields by presence, text and number" {
	sample
	assert_equal "$(passing -m user)" "1 2"
	assert_equal "$(passing -m 'user=a*')" 1
	assert_equal "$(passing -m 'user!=alice')" 2
	assert_equal "$(passing -m 'pid>7')" 1
	assert_equal "$(passing -m 'pid>=7')" "1 2"
	assert_equal "$(passing -m 'latency<1.75')" 3
	assert_equal "$(passing -m 'user' -m 'pid=7')" 2
	assert_equal "$(passing -m '*=alice')" 1
}

@test "dump filters: kinds of conditions must all hold" {
	sample
	assert_equal "$(passing -t 'app.*' -m 'user=bob' -o user)" 2
	assert_equal "$(passing -t 'app.*' -o host)" ""
}

@test "dump filters: the summary reports what was read, with filters only" {
	sample
	run --separate-stderr kmes-dump -s -t app.login
	assert_equal "${stderr_lines[-1]}" "kmes-dump: 1 of 6 events, 0 lost"
	run --separate-stderr kmes-dump -s
	assert_equal "${stderr_lines[-1]}" "kmes-dump: 6 events, 0 lost"
	run --separate-stderr kmes-dump -s -q
	assert_equal "$stderr" ""
}

@test "dump filters: since and until include both ends" {
	sample
	assert_equal "$(passing -a 2026-11-29T20:21:24Z)" "3 4 5 6"
	assert_equal "$(passing -b 2026-11-29T20:21:24Z)" "1 2 3"
	assert_equal "$(passing -a "@$((T + 1))" -b "@$((T + 3))")" "2 3 4"
	assert_equal "$(passing --since='2026-11-29 21:21:25+01:00' --until=2026-11-29T20:21:25)" 4
	TZ=CET-1 assert_equal "$(TZ=CET-1 passing -T local -a '2026-11-29 21:21:27')" 6
}

@test "dump filters: a time copied from any output selects its line" {
	local style time

	sample
	for style in iso epoch; do
		time=$(kmes-dump -sq -T $style -t app.logout)
		time=${time%%  *}
		assert_equal "$(passing -a "$time" -b "$time")" 2
	done
	time=$(kmes-dump -sqj -t app.logout)
	assert_equal "$(passing -a "$(jq -r .time <<<"$time")" -b "$(jq -r .time <<<"$time")")" 2
	assert_equal "$(passing -a 1795983683123456789 -b 1795983683123456789)" 2
}

@test "dump filters: a time of day is the latest one before now" {
	local now time other

	now=$(date +%s)
	event 0 1 $((now - 90000))000000000 yesterday
	event 0 2 $((now - 600))123456789 now
	event 0 3 $((now - 300))000000000 later
	prepared_start
	time=$(kmes-dump -sq -t now)
	time=${time%%  *}
	assert_equal "$(passing -a "$time")" "2 3"
	assert_equal "$(passing -a "$time" -b "$time")" 2
	other=$(TZ=XYZ-5:30 kmes-dump -sq -t now -T local)
	assert_equal "$(TZ=XYZ-5:30 passing -T local -a "${other%%  *}" -b "${other%%  *}")" 2
	assert_equal "$(passing -a 8m)" 3
	assert_equal "$(passing -b 400s)" "1 2"
}

@test "dump filters: -c reads these CPUs only, one without a ring is a usage error [A5 A7 A8]" {
	local cpu

	for cpu in 0 1 3 5; do
		event $cpu 1 $((T + cpu))000000000 x
	done
	prepared_start --slots=6
	run -0 --separate-stderr kmes-dump -s -T none
	assert_equal "$(cut -d' ' -f1 <<<"$output" | paste -sd' ')" "cpu0 cpu1 cpu3 cpu5"
	run -0 kmes-dump -s -q -T none -c 1-4
	assert_equal "$(cut -d' ' -f1 <<<"$output" | paste -sd' ')" "cpu1 cpu3"
	run -0 kmes-dump -s -q -T none -c 5 -c 0,1
	assert_equal "$(cut -d' ' -f1 <<<"$output" | paste -sd' ')" "cpu0 cpu1 cpu5"
	run --separate-stderr kmes-dump -s -c 2
	assert_usage_error "no ring.*'2'"
	run --separate-stderr kmes-dump -s -c 0,2
	assert_usage_error "'2'"
	run --separate-stderr kmes-dump -s -c 6-9
	assert_usage_error "'6-9'"
}

@test "dump filters: a source with only holes is an error" {
	: >"$KMES_TMP/events"
	prepared_start --slots=4
	run --separate-stderr kmes-dump -s
	assert_status 1
	assert_match "$stderr" "^kmes-dump: sim: no ring"
}

@test "dump filters: -n counts printed events" {
	sample
	assert_equal "$(passing -n 2)" "1 2"
	assert_equal "$(passing -n 1 -t db.query)" 3
	run --separate-stderr kmes-dump -s -n 1 -t db.query
	assert_equal "${stderr_lines[-1]}" "kmes-dump: 1 of 3 events, 0 lost"
}
