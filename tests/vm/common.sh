# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Paths and words that the scripts of this folder share.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# Kernels, emulator and package lists; one cache may serve several work trees.
VM=${KMES_VM_CACHE:-$TOP/build/vm}

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

say() {
	echo "${0##*/}: $*" >&2
}

# vm_lock PART: one script at a time fills this part of the cache; until its end or the next vm_lock.
vm_lock() {
	mkdir -p "$VM"
	exec 9>"$VM/lock-$1"
	flock 9
}

# vm_host: the host's release of Debian.
vm_host() {
	(. /etc/os-release && echo "$VERSION_CODENAME")
}

# vm_tree KVER: the unpacked Debian in which the kernel's modules are built, or nothing if that is the host.
vm_tree() {
	case $1 in
	7) echo trixie ;;
	6.1 | 6.12 | *-rt) [ "$(vm_host)" = bookworm ] || echo bookworm ;;
	esac
}

# vm_is_prebuilt: whether Debian has built the kernel; the others are built here, and slow.
vm_is_prebuilt() {
	[ "$1" != debug ] && [ "$1" != kcsan ]
}
