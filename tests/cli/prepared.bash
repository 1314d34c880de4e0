# SPDX-License-Identifier: GPL-2.0-only OR MIT
# prepared.bash - rings with events of any content and timestamp, served by rings.py.
# shellcheck shell=bash disable=SC2154

# event CPU SEQ TS TYPE [PAYLOAD-HEX [MORE-JSON]]: one more prepared event.
event() {
	printf '{"cpu": %s, "seq": %s, "ts": %s, "type": "%s", "payload": "%s"%s}\n' \
		"$1" "$2" "$3" "$4" "${5-80}" "${6:+, $6}" >>"$KMES_TMP/events"
}

# an empty ring of a CPU
empty_ring() { echo "{\"cpu\": $1}" >>"$KMES_TMP/events"; }

# prepared_start [--slots=N] [--capacity=BYTES]: serves the prepared events.
# shellcheck disable=SC2120
prepared_start() {
	simulator_only "needs prepared rings"
	background rings "$KMES_TOP/tests/cli/rings.py" "$KMES_TMP/prepared" "$KMES_TMP/events" "$@"
	wait_for_line "$KMES_TMP/rings.out" '^ready$' || return 1
	export KMES_SOURCE=sim:$KMES_TMP/prepared
}

# live_start ...: the same, and later `event` calls write to the rings, through a FIFO.
live_start() {
	mv "$KMES_TMP/events" "$KMES_TMP/events.first"
	mkfifo "$KMES_TMP/events"
	simulator_only "needs prepared rings"
	background rings "$KMES_TOP/tests/cli/rings.py" "$KMES_TMP/prepared" "$KMES_TMP/events" "$@"
	exec {LIVE_FD}>"$KMES_TMP/events"
	cat "$KMES_TMP/events.first" >&"$LIVE_FD"
	echo '{"serve": true}' >&"$LIVE_FD"
	wait_for_line "$KMES_TMP/rings.out" '^ready$' || return 1
	export KMES_SOURCE=sim:$KMES_TMP/prepared
}

# Events of two CPUs with losses on both, from around 2026-11-29T20:21:22Z.
# shellcheck disable=SC2119
prepare_mixed() {
	local i at=1795983682000000000

	for i in {1..40}; do
		((i % 7)) || continue
		event 0 "$i" $((at + i * 100000000)) "app.t$((i % 3))" "81a16e$(printf %02x "$i")"
	done
	for i in {1..30}; do
		((i < 10 || i > 19)) || continue
		event 1 "$i" $((at + i * 130000000)) "sys.t$((i % 2))" "81a16e$(printf %02x "$i")"
	done
	prepared_start
}
