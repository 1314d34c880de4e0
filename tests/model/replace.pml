/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * replace.pml - a reader follows a ring through two replacements [A13 R0 R2 R5 R7 O10].
 *
 * The writer emits EVENTS events and replaces the ring at any two moments, each time with
 * another capacity and without any number of the oldest events. A ring's page shows its
 * birth generation until it is replaced and then, once, the next one. A reader gets rings
 * only by attaching and pages only in their current state; it ends when it has the last
 * event or knows that it is lost. Waiting forever on a dead ring is an invalid end state;
 * an event returned twice, or left unread in a ring that the reader leaves, fails an
 * assertion.
 *
 * Each define omits something, and the search must find a violation:
 *	NO_CONFIRM      attach once and trust the generation in the page
 *	POSITION_FIRST  write_pos is loaded before generation when leaving a ring
 *	NO_SEQUENCE     start a new ring at its tail instead of after the last event
 */
#ifndef EVENTS
#define EVENTS 3
#endif
#define RINGS 3

byte current = 0;
byte shown[RINGS];    /* generation in the page */
byte capacity[RINGS]; /* consecutive ones differ; the third may equal the first */
byte oldest[RINGS];   /* sequence of the oldest event */
byte newest[RINGS];   /* sequence of the newest published event */
byte written = 0;

proctype Writer()
{
	byte next;

	do
	:: written < EVENTS ->
		written++;
		newest[current] = written
	:: current < RINGS - 1 ->
		next = current + 1;
		atomic {
			newest[next] = written;
			shown[next] = next + 1;
			if
			:: next == 1 -> capacity[1] = 2
			:: next == 2 -> capacity[2] = 1
			:: next == 2 -> capacity[2] = 4
			fi;
			oldest[next] = oldest[current];
			do
			:: oldest[next] <= written -> oldest[next]++
			:: break
			od
		};
		current = next;
		shown[next - 1] = next + 1
	:: written == EVENTS && current == RINGS - 1 -> break
	od
}

/* Attach, map, check the page; repeat until two consecutive rings are the same. */
inline attach()
{
	ring = current;
	generation = shown[ring];
#ifndef NO_CONFIRM
	do
	:: second = current;
	   second_generation = shown[second];
	   if
	   :: capacity[second] == capacity[ring] && second_generation == generation -> break
	   :: else -> ring = second; generation = second_generation
	   fi
	od
#endif
}

/* One event of the ring, newer than the last one. */
inline take()
{
	if
	:: next < oldest[ring] -> next = oldest[ring] /* a gap: reported */
	:: else
	fi;
	assert(next > last);
	last = next;
	next++
}

proctype Reader()
{
	byte ring, generation, second, second_generation;
	byte last = 0;
	byte next;
	byte frozen, seen;

	attach();
	next = oldest[ring];
	do
	:: next > EVENTS -> break
	:: next <= EVENTS ->
		/* asleep until something changes */
		newest[ring] >= next || shown[ring] != generation;
#ifdef POSITION_FIRST
		frozen = newest[ring];
		seen = shown[ring];
#else
		seen = shown[ring];
		frozen = newest[ring];
#endif
		do
		:: frozen >= next -> take()
		:: else -> break
		od;
		if
		:: seen == generation
		:: else ->
			/* nothing readable is left */
			assert(newest[ring] < next);
			attach();
#ifdef NO_SEQUENCE
			next = oldest[ring]
#endif
		fi
	od
}

init
{
	atomic {
		shown[0] = 1;
		capacity[0] = 1;
		oldest[0] = 1;
		run Writer();
		run Reader()
	}
}
