// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Trace records to events: each kind of field, with format files as in the kernel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef KMES_HAVE_TRACEEVENT

#include "print/format.h"
#include "base/outbuf.h"
#include "trace/trace_format.h"
#include "unit.h"

#define COMMON                                                                           \
	"format:\n"                                                                      \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"           \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"           \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"   \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"                       \
	"\n"

#define FIELD(text, offset, size, is_signed)                                             \
	"\tfield:" text ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed    \
	";\n"

#define PRINT "\nprint fmt: \"%s\", __no_such_helper(REC->x, { 0x1, \"a\" })\n"

struct record {
	_Alignas(8) uint8_t bytes[256];
	uint32_t len;
};

static struct record record_new(uint16_t id, int32_t pid)
{
	struct record r = { .len = 8 };

	memcpy(r.bytes, &id, 2);
	memcpy(r.bytes + 4, &pid, 4);
	return r;
}

static void add(struct record *r, const void *bytes, uint32_t len)
{
	memcpy(r->bytes + r->len, bytes, len);
	r->len += len;
}

static void add_int(struct record *r, uint64_t v, uint32_t len)
{
	add(r, &v, len);
}

static struct kmes_trace_formats *formats_of(const char *text)
{
	struct kmes_trace_formats *f;

	assert_int_equal(kmesp_trace_formats_new(&f), 0);
	if (text)
		assert_int_equal(kmesp_trace_formats_add(f, "test", text, strlen(text)),
				 0);
	return f;
}

/* The record as kmes-dump prints it, without the time. */
static const char *show(struct kmes_trace_formats *f, const struct record *r)
{
	const struct kmes_format_options options = { .time = KMES_TIME_NONE };
	const struct kmes_trace_stamp stamp = { .ts_ns = 1000, .seq = 7, .cpu = 3 };
	static char text[4096];
	static uint8_t bytes[4096];
	struct kmes_formatter formatter;
	struct kmes_event event;
	struct kmes_outbuf out;
	uint8_t *exact = malloc(r->len);
	uint32_t size;

	assert_non_null(exact);
	memcpy(exact, r->bytes, r->len); /* so that a sanitizer sees any overrun */
	size = kmesp_trace_convert(f, &stamp, exact, r->len, false, bytes, sizeof(bytes));
	free(exact);
	assert_true(size);
	assert_int_equal(kmes_event_parse(&event, bytes, size, size), 1);
	assert_int_equal(event.size, size);
	assert_int_equal(event.ts_ns, 1000);
	assert_int_equal(event.origin, 254);
	kmesp_formatter_init(&formatter, &kmesp_format_text, &options);
	assert_int_equal(kmesp_outbuf_init(&out), 0);
	kmesp_formatter_event(&formatter, &out, &event);
	assert_true(out.len < sizeof(text));
	memcpy(text, out.data, out.len);
	text[out.len] = '\0';
	kmesp_outbuf_fini(&out);
	kmesp_trace_formats_free(f);
	return text;
}

TEST(trace_format_integers_of_each_size_and_sign)
{
	struct kmes_trace_formats *f = formats_of(
		"name: ints\nID: 900\n" COMMON FIELD("u8 a", 8, 1, 0)
			FIELD("s8 b", 9, 1, 1) FIELD("u16 c", 10, 2, 0)
				FIELD("short d", 12, 2, 1) FIELD("bool e", 14, 1, 0)
					FIELD("u32 f", 16, 4, 0) FIELD("int g", 20, 4, 1)
						FIELD("unsigned long h", 24, 8, 0)
							FIELD("long i", 32, 8, 1) PRINT);
	struct record r = record_new(900, -5);

	add_int(&r, 0xFF, 1);
	add_int(&r, 0xFF, 1);
	add_int(&r, 0xFFFF, 2);
	add_int(&r, 0x8000, 2);
	add_int(&r, 1, 2);
	add_int(&r, 0xFFFFFFFF, 4);
	add_int(&r, 0x80000000, 4);
	add_int(&r, UINT64_MAX, 8);
	add_int(&r, 1ull << 63, 8);
	assert_string_equal(
		show(f, &r),
		"cpu3  #7  TRACE  ftrace.test.ints  {common_pid: -5, a: 255, b: -1, "
		"c: 65535, d: -32768, e: 1, f: 4294967295, g: -2147483648, "
		"h: 18446744073709551615, i: -9223372036854775808}\n");
}

TEST(trace_format_strings_fixed_dynamic_and_relative)
{
	struct kmes_trace_formats *f = formats_of(
		"name: texts\nID: 901\n" COMMON FIELD("char comm[16]", 8, 16, 0)
			FIELD("__data_loc char[] name", 24, 4, 0)
				FIELD("__rel_loc char[] rel", 28, 4, 0) PRINT);
	struct record r = record_new(901, 1);

	add(&r, "bash\0rubbish....", 16);
	add_int(&r, 32 | 6 << 16, 4);
	add_int(&r, 6 | 4 << 16, 4); /* after its own word, which ends at 32 */
	add(&r, "/bin/x", 6);
	add(&r, "abc", 4);
	assert_string_equal(show(f, &r),
			    "cpu3  #7  TRACE  ftrace.test.texts  {common_pid: 1, "
			    "comm: \"bash\", name: \"/bin/x\", rel: \"abc\"}\n");
}

TEST(trace_format_arrays_pointers_and_masks)
{
	struct kmes_trace_formats *f = formats_of(
		"name: lists\nID: 902\n" COMMON FIELD("unsigned long args[2]", 8, 16, 0)
			FIELD("void * ptr", 24, 8, 0) FIELD("u8 mac[6]", 32, 6, 0) FIELD(
				"__data_loc int[] ints", 40, 4,
				1) FIELD("__data_loc unsigned long[] mask", 44, 4, 0)
				FIELD("__data_loc cpumask_t cpus", 48, 4, 0)
					FIELD("__data_loc u8[] bytes", 52, 4, 0) PRINT);
	struct record r = record_new(902, 1);

	add_int(&r, 1, 8);
	add_int(&r, UINT64_MAX, 8);
	add_int(&r, 0xffffffff81000000, 8);
	add(&r, "\x01\x02\x03\x04\x05\xff\0\0", 8);
	add_int(&r, 56 | 8 << 16, 4);
	add_int(&r, 64 | 16 << 16, 4);
	add_int(&r, 64 | 8 << 16, 4);
	add_int(&r, 80 | 3 << 16, 4);
	add_int(&r, 0xFFFFFFFF, 4);
	add_int(&r, 2, 4);
	add_int(&r, 5, 8);
	add_int(&r, 6, 8);
	add(&r, "\xaa\xbb\xcc\0", 4);
	assert_string_equal(
		show(f, &r),
		"cpu3  #7  TRACE  ftrace.test.lists  {common_pid: 1, "
		"args: [1, 18446744073709551615], ptr: 18446744071578845184, "
		"mac: 0x0102030405ff, ints: [-1, 2], mask: [5, 6], cpus: [5], "
		"bytes: 0xaabbcc}\n");
}

/* A probe's lists: empty brackets, and the size in a field of its own. */
TEST(trace_format_lists_with_only_a_size)
{
	struct kmes_trace_formats *f = formats_of(
		"name: probe\nID: 907\n" COMMON FIELD("u64 longs[]", 8, 16, 0)
			FIELD("s16 shorts[]", 24, 4, 1) FIELD("u8 bytes[]", 28, 3, 0)
				FIELD("struct pair pairs[]", 31, 2, 0)
					FIELD("s32 odd[]", 33, 6, 1) PRINT);
	struct record r = record_new(907, 1);

	add_int(&r, 1, 8);
	add_int(&r, UINT64_MAX, 8);
	add_int(&r, 0xFFFE0002, 4);
	add(&r, "\x01\x02\x03", 3);
	add(&r, "\x04\x05", 2);
	add(&r, "\xff\xff\xff\xff\x09\x09", 6);
	assert_string_equal(
		show(f, &r),
		"cpu3  #7  TRACE  ftrace.test.probe  {common_pid: 1, "
		"longs: [1, 18446744073709551615], shorts: [2, -2], bytes: 0x010203, "
		"pairs: 0x0405, odd: 0xffffffff0909}\n");
}

/* As a probe of several strings writes, and as no kernel does; later fields are read. */
TEST(trace_format_odd_declarations_are_bytes)
{
	static const char *const odd[] = {
		"__data_loc char[][2] x",
		"int x[2][3]",
		"char x[1 + 2]",
		"struct { int y; } x",
		"void (*)(int[2]) x",
		"u8 x[sizeof(int)]",
		"int @ x",
		"__attribute__((a)) u8 x",
		"__bitwise(4) int x",
		"int:3 x",
		"int x[",
		"int ]x",
		"\"a\" x",
	};
	struct record r = record_new(908, 1);
	char text[1024];
	size_t i;

	add_int(&r, 0x04030201, 4);
	add_int(&r, 7, 4);
	for (i = 0; i < COUNT(odd); i++) {
		snprintf(text, sizeof(text),
			 "name: odd\nID: 908\n" COMMON
			 "\tfield:%s;\toffset:8;\tsize:4;\tsigned:0;\n" FIELD(
				 "u32 last", 12, 4, 0) "\nprint fmt: \"\"\n",
			 odd[i]);
		assert_string_equal(show(formats_of(text), &r),
				    "cpu3  #7  TRACE  ftrace.test.odd  {common_pid: 1, "
				    "x: 0x01020304, last: 7}\n");
	}
}

TEST(trace_format_structures_are_bytes)
{
	struct kmes_trace_formats *f =
		formats_of("name: odd\nID: 903\n" COMMON FIELD("struct key k", 8, 3, 0)
				   FIELD("struct big b", 12, 12, 0)
					   FIELD("struct charge c[]", 24, 3, 0) PRINT);
	struct record r = record_new(903, 1);

	add(&r, "\x01\x02\x03\0", 4);
	add(&r, "0123456789ab", 12);
	add(&r, "cde", 3);
	assert_string_equal(
		show(f, &r),
		"cpu3  #7  TRACE  ftrace.test.odd  {common_pid: 1, k: 0x010203, "
		"b: 0x303132333435363738396162, c: 0x636465}\n");
}

TEST(trace_format_field_without_size_extends_to_the_end)
{
	struct kmes_trace_formats *f = formats_of("name: print\nID: 5\n" COMMON FIELD(
		"unsigned long ip", 8, 8, 0) FIELD("char buf[]", 16, 0, 0) PRINT);
	struct record r = record_new(5, 1);

	add_int(&r, 1, 8);
	add(&r, "hello\n\0\0", 8);
	assert_string_equal(show(f, &r),
			    "cpu3  #7  TRACE  ftrace.test.print  {common_pid: 1, "
			    "ip: 1, buf: \"hello\\n\"}\n");
}

/* A word that points out of the record, and a record that ends before its fields. */
TEST(trace_format_fields_outside_the_record_are_bytes)
{
	static const char text[] =
		"name: out\nID: 904\n" COMMON FIELD("__data_loc char[] name", 8, 4, 0)
			FIELD("u32 n", 12, 4, 0) FIELD("__rel_loc char[] rel", 16, 4, 0)
				PRINT;
	struct record r = record_new(904, 1);
	uint32_t whole;

	add_int(&r, 20 | 1 << 16, 4);
	add_int(&r, 9, 4);
	add_int(&r, 0xFFFF | 0xFFFFu << 16, 4);
	assert_string_equal(show(formats_of(text), &r),
			    "cpu3  #7  TRACE  ftrace.test.out  {common_pid: 1, "
			    "name: 0x14000100, n: 9, rel: 0xffffffff}\n");
	whole = r.len;
	r.len = 14;
	assert_string_equal(show(formats_of(text), &r),
			    "cpu3  #7  TRACE  ftrace.test.out  {common_pid: 1, "
			    "name: 0x14000100, n: 0x0900, rel: 0x}\n");
	r.len = 2;
	assert_string_equal(
		show(formats_of(text), &r),
		"cpu3  #7  TRACE  ftrace.test.out  {common_pid: 0x, name: 0x, "
		"n: 0x, rel: 0x}\n");
	assert_int_equal(whole, 20);
}

TEST(trace_format_unknown_records_are_bytes)
{
	struct record r = record_new(905, 1);

	assert_string_equal(
		show(formats_of(NULL), &r),
		"cpu3  #7  TRACE  ftrace.unknown.905  {raw: 0x8903000001000000}\n");
	r.len = 1;
	assert_string_equal(show(formats_of(NULL), &r),
			    "cpu3  #7  TRACE  ftrace.unknown.0  {raw: 0x89}\n");
}

TEST(trace_format_malformed_is_refused)
{
	static const char *const bad[] = {
		"",
		"name: x\n",
		"name: x\nID: x\n" COMMON PRINT,
		"name: x\nID: 70000\n" COMMON PRINT,
	};
	struct kmes_trace_formats *f = formats_of(NULL);
	size_t i;

	for (i = 0; i < COUNT(bad); i++)
		assert_int_equal(kmesp_trace_formats_add(f, "test", bad[i],
							 strlen(bad[i])),
				 -EBADMSG);
	kmesp_trace_formats_free(f);
}

/*
 * Nothing is written past the buffer, as a sanitizer checks; an event is complete or
 * omitted, and omitted only where it would nearly fill the buffer.
 */
TEST(trace_format_event_without_room_is_omitted)
{
	const struct kmes_trace_stamp stamp = { .ts_ns = 1, .seq = 1 };
	struct kmes_trace_formats *f =
		formats_of("name: room\nID: 5\n" COMMON FIELD("u64 n", 8, 8, 0)
				   FIELD("u16 list[4]", 16, 8, 0)
					   FIELD("char buf[]", 24, 0, 0) PRINT);
	struct record r = record_new(5, 1);
	uint32_t room, whole, size;
	bool raw = false;

	add_int(&r, UINT64_MAX, 8);
	add_int(&r, UINT64_MAX, 8);
	add(&r, "hello", 6);
	do {
		uint8_t *to = malloc(1024), *first = to;

		assert_non_null(to);
		whole = kmesp_trace_convert(f, &stamp, r.bytes, r.len, raw, to, 1024);
		assert_true(whole > 0);
		for (room = 0; room <= whole + 64; room++) {
			to = malloc(room ? room : 1);
			assert_non_null(to);
			size = kmesp_trace_convert(f, &stamp, r.bytes, r.len, raw, to,
						   room);
			assert_true(size == 0 || size == whole);
			assert_true(size == whole || room < whole + 64);
			assert_true(size == 0 || room >= whole);
			if (size)
				assert_memory_equal(to, first, whole);
			free(to);
		}
		free(first);
		raw = !raw;
	} while (raw);
	kmesp_trace_formats_free(f);
}

/* The name and number are known, the fields are malformed. */
TEST(trace_format_event_of_unknown_fields_has_its_name)
{
	static const char *const fields[] = {
		"format:\n\tfield:(((;\toffset:0;\n",
		/* Malformed after some valid fields. */
		COMMON FIELD("u8 a", 8, 1, 0) FIELD("u8 b", 9, 1, 0)
			FIELD("u8 c", 10, 1, 0)
				FIELD("u8 d", 11, 1, 0) "\tfield:int e[2][3];\n",
	};
	struct record r = record_new(906, 1);
	char text[1024];
	size_t i;

	for (i = 0; i < COUNT(fields); i++) {
		snprintf(text, sizeof(text), "name: strange\nID: 906\n%s", fields[i]);
		assert_string_equal(show(formats_of(text), &r),
				    "cpu3  #7  TRACE  ftrace.test.strange  "
				    "{raw: 0x8a03000001000000}\n");
	}
}

#endif
