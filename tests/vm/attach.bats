#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Attaching to a CPU's ring and mapping it.

@test "attach and slot query need CAP_AUDIT_READ [A2]" {
	attach_cases without-privilege
}

@test "root of a user namespace may neither attach nor emit [A2]" {
	attach_cases namespace-root
}

@test "the slot query returns the slot count and opens nothing [A4 A6]" {
	attach_cases slot-query
}

@test "an index past the slots, 0xFFFFFFFE or a nonzero reserved field is EINVAL [A5]" {
	attach_cases bad-index
}

@test "a bad pointer is EFAULT and leaves no descriptor, 400 times [A1]" {
	attach_cases bad-pointer
}

@test "each slot's ring has its CPU's id and all fields at their offsets [A3 P1 P2]" {
	attach_cases every-slot
}

@test "two descriptors of a CPU see one ring [A9]" {
	attach_cases two-descriptors
}

@test "the descriptor is named after its CPU, read-write and close-on-exec [A1]" {
	attach_cases name
}

@test "a descriptor can only be mapped and closed [A11]" {
	attach_cases two-operations
}

@test "a mapping must be shared, at offset 0 and of the exact length [M1 M2]" {
	map_cases one-shape
}

@test "only the consumer page can be written, also after mprotect [M4 M5]" {
	map_cases read-only
}

@test "system calls cannot store to read-only pages either [M4]" {
	map_cases kernel-stores
}

@test "a tracer can store to the consumer page only [M4]" {
	map_cases tracer-stores
}

@test "the data is mapped twice, so events that cross the end are contiguous [M3 M7]" {
	map_cases data-twice
}

@test "pages are mapped at the first access, or all with MAP_POPULATE; none is dumped" {
	map_cases touched-pages
}

@test "huge pages of shared memory do not affect a mapping [M3 M4]" {
	local setting=/sys/kernel/mm/transparent_hugepage/shmem_enabled kind was

	[ -e $setting ] || skip "this kernel has no huge pages"
	was=$(sed 's/.*\[\(.*\)\].*/\1/' $setting)
	for kind in always force; do
		rmmod kmes
		echo $kind >$setting
		insmod "$KMES_MODULE"
		map_cases huge-pages
		wake_cases shared replaced
	done
	rmmod kmes
	echo "$was" >$setting
	insmod "$KMES_MODULE"
}

@test "a mapping can neither be split nor moved [M1]" {
	map_cases one-piece
}

@test "no madvise(2) removes anything from a mapping [M4]" {
	map_cases advice
}

@test "need_wake is cleared after consumers that are killed, exec or exit" {
	map_cases sudden-ends
}

@test "mapping and descriptor can be closed in either order [R8]" {
	map_cases either-order
}
