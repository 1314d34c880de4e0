/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * sleep.pml - one ring's writer and its sleepers, with store buffers [N1 N2 N3 N9 R11].
 *
 * Each process stores through a buffer of one entry that is flushed at any later time, as
 * on real machines; a full fence waits for it. The writer emits EVENTS events and, with
 * REPLACE, moves to a new ring meanwhile. A reader drains, arms, fences, samples the futex
 * word, checks again and sleeps while the word has its sampled value. It ends when it has
 * seen every event, so a lost wake-up is an invalid end state.
 *
 * Each define omits something, and the search must find a violation:
 *	NO_WRITER_FENCE, NO_READER_FENCE   the fences of E, I and of F
 *	SAMPLE_LAST                        the word is sampled after the check
 *	NO_GENERATION_LOOK                 only write_pos is checked (needs REPLACE)
 * Two READERS share need_wake, and one can clear the other's flag: unless sleeps are
 * BOUNDED a wake-up is lost.
 */
#ifndef READERS
#define READERS 1
#endif
#ifndef EVENTS
#define EVENTS 3
#endif
#define RINGS 2

byte write_pos[RINGS];
bool replaced[RINGS];
bool need_wake[RINGS];
byte futex_word[RINGS];
byte asleep_on[READERS]; /* ring + 1, 0: awake */

/* The writer's store buffer. */
bool writer_holds;
bool holds_replaced;
byte held_ring;
byte held_pos;

/* The readers' store buffers, for need_wake only. */
bool reader_holds[READERS];
byte flag_ring[READERS];
bool flag_value[READERS];

active proctype WriterBuffer()
{
end:
	do
	:: atomic {
		writer_holds ->
			if
			:: holds_replaced -> replaced[held_ring] = true
			:: else -> write_pos[held_ring] = held_pos
			fi;
			writer_holds = false
	}
	od
}

proctype ReaderBuffer(byte me)
{
end:
	do
	:: atomic {
		reader_holds[me] ->
			need_wake[flag_ring[me]] = flag_value[me];
			reader_holds[me] = false
	}
	od
}

inline store_write_pos(r, n)
{
	atomic {
		!writer_holds -> held_ring = r; held_pos = n; holds_replaced = false;
		writer_holds = true
	}
}

inline store_replaced(r)
{
	atomic {
		!writer_holds -> held_ring = r; holds_replaced = true; writer_holds = true
	}
}

inline store_need_wake(me, r, v)
{
	atomic {
		!reader_holds[me] -> flag_ring[me] = r; flag_value[me] = v;
		reader_holds[me] = true
	}
}

/* After a publication. Entering the kernel to wake orders like a fence. */
inline wake_if_needed(r)
{
#ifndef NO_WRITER_FENCE
	!writer_holds;
#endif
	if
	:: need_wake[r] ->
		!writer_holds;
		futex_word[r]++;
		d_step {
			i = 0;
			do
			:: i < READERS ->
				if
				:: asleep_on[i] == r + 1 -> asleep_on[i] = 0
				:: else
				fi;
				i++
			:: else -> break
			od
		}
	:: else
	fi
}

active proctype Writer()
{
	byte n = 0;
	byte ring = 0;
	byte i;

	do
	:: n < EVENTS ->
		n++;
		store_write_pos(ring, n);
		wake_if_needed(ring)
#ifdef REPLACE
	:: ring == 0 ->
		/* the events move, too, before a reader can attach */
		atomic { !writer_holds -> write_pos[1] = n };
		store_replaced(0);
		wake_if_needed(0);
		ring = 1
	:: n == EVENTS && ring == 1 -> break
#else
	:: n == EVENTS -> break
#endif
	od
}

inline drain()
{
	if
	:: write_pos[ring] > seen -> seen = write_pos[ring]; came = true
	:: else -> came = false
	fi
}

inline arm()
{
	store_need_wake(me, ring, true);
#ifndef NO_READER_FENCE
	!reader_holds[me];
#endif
}

inline look()
{
#ifdef NO_GENERATION_LOOK
	moved = write_pos[ring] > seen;
#else
	moved = write_pos[ring] > seen || replaced[ring];
#endif
}

proctype Reader(byte me)
{
	byte seen = 0;
	byte ring = 0;
	byte sampled;
	bool moved;
	bool came;

	do
	:: drain();
	   if
	   :: seen == EVENTS -> break
	   :: else
	   fi;
	   if
	   :: !came && replaced[ring] ->
		drain(); /* up to the frozen position */
		ring = 1
	   :: came -> skip
	   :: else ->
		arm();
#ifdef SAMPLE_LAST
		look();
		sampled = futex_word[ring];
#else
		sampled = futex_word[ring];
		look();
#endif
		if
		:: moved
		:: else ->
			/* the kernel compares and queues in one step */
			!reader_holds[me];
			atomic {
				if
				:: futex_word[ring] == sampled -> asleep_on[me] = ring + 1
				:: else
				fi
			};
#ifdef BOUNDED
			if
			:: asleep_on[me] == 0
			:: timeout -> asleep_on[me] = 0
			fi
#else
			asleep_on[me] == 0
#endif
		fi;
		/* clear only on rings with events: others may be asleep */
		if
		:: write_pos[ring] > seen -> store_need_wake(me, ring, false)
		:: else
		fi
	   fi
	od
}

init
{
	byte n = 0;

	do
	:: n < READERS ->
		run ReaderBuffer(n);
		run Reader(n);
		n++
	:: else -> break
	od
}
