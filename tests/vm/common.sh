# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Paths and functions shared by the scripts of this directory.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# Kernels, emulator and package lists; several work trees may share a cache.
VM=${KMES_VM_CACHE:-$TOP/build/vm}

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

say() {
	echo "${0##*/}: $*" >&2
}

# vm_lock PART: locks this part of the cache until the script ends or calls vm_lock again.
vm_lock() {
	mkdir -p "$VM"
	exec 9>"$VM/lock-$1"
	flock 9
}

# vm_host: the host's Debian release.
vm_host() {
	(. /etc/os-release && echo "$VERSION_CODENAME")
}

# vm_tree KVER: the unpacked Debian in which modules for that kernel are built, or nothing for the
# host.
vm_tree() {
	case $1 in
	7) echo trixie ;;
	6.1 | 6.12 | *-rt) [ "$(vm_host)" = bookworm ] || echo bookworm ;;
	esac
}

# vm_is_prebuilt: whether it is a Debian kernel; the others are built here, and slow.
vm_is_prebuilt() {
	[ "$1" != debug ] && [ "$1" != kcsan ]
}
