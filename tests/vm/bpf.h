/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * bpf.h - two BPF programs, loaded without a library: one submits a time stamp and 64
 * bytes to a ring buffer, the other does nothing.
 */
#ifndef KMES_VM_BPF_H
#define KMES_VM_BPF_H

#include <linux/bpf.h>
#include <stdint.h>

/* Each returns a descriptor. The ring buffer has no reader: when full, submits fail. */
int bpf_load_nothing(void);
int bpf_load_event(uint32_t buffer_size);

/* Runs a program `repeat` times on a packet of zeros. */
void bpf_run(int program, uint32_t repeat);

#endif
