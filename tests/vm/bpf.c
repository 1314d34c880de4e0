// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* bpf.c - loads and runs the BPF programs. */
#include "tests/vm/bpf.h"

#include "tests/vm/case.h"

#define INSN(operation, dst, src, offset, immediate)                                     \
	((struct bpf_insn){ .code = (operation),                                         \
			    .dst_reg = (dst),                                            \
			    .src_reg = (src),                                            \
			    .off = (offset),                                             \
			    .imm = (immediate) })
#define MOV(dst, src) INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define SET(dst, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define CALL(helper) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_##helper)
#define STORE(dst, offset, src) INSN(BPF_STX | BPF_MEM | BPF_DW, dst, src, offset, 0)
#define SKIP_IF_0(reg, count) INSN(BPF_JMP | BPF_JEQ | BPF_K, reg, 0, count, 0)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int bpf(int command, union bpf_attr *attr)
{
	int r = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));

	check(r >= 0);
	return r;
}

static int bpf_load(const struct bpf_insn *insns, size_t size)
{
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SCHED_CLS,
		.insns = (uintptr_t)insns,
		.insn_cnt = (uint32_t)(size / sizeof(*insns)),
		.license = (uintptr_t) "GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

int bpf_load_nothing(void)
{
	const struct bpf_insn insns[] = { SET(0, 0), EXIT };

	return bpf_load(insns, sizeof(insns));
}

int bpf_load_event(uint32_t buffer_size)
{
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_RINGBUF,
		.max_entries = buffer_size,
	};
	int buffer = bpf(BPF_MAP_CREATE, &map);
	const struct bpf_insn insns[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, buffer),
		INSN(0, 0, 0, 0, 0),
		SET(2, 8 + 64),
		SET(3, 0),
		CALL(ringbuf_reserve),
		SKIP_IF_0(0, 15),
		MOV(6, 0),
		CALL(ktime_get_ns),
		STORE(6, 0, 0),
		SET(7, 1),
		STORE(6, 8, 7),
		STORE(6, 16, 7),
		STORE(6, 24, 7),
		STORE(6, 32, 7),
		STORE(6, 40, 7),
		STORE(6, 48, 7),
		STORE(6, 56, 7),
		STORE(6, 64, 7),
		MOV(1, 6),
		SET(2, 0),
		CALL(ringbuf_submit),
		SET(0, 0),
		EXIT,
	};

	return bpf_load(insns, sizeof(insns));
}

void bpf_run(int program, uint32_t repeat)
{
	static unsigned char packet[64];
	union bpf_attr attr = {
		.test.prog_fd = (uint32_t)program,
		.test.data_in = (uintptr_t)packet,
		.test.data_size_in = sizeof(packet),
		.test.repeat = repeat,
	};

	bpf(BPF_PROG_TEST_RUN, &attr);
}
