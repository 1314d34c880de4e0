# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Debian packages without apt's system-wide state: each suite has its own sources, lists and status
# under $VM/apt, so the user's sources stay as they are and no root is needed.

# mirror_of LABEL: the mirror from which this machine's apt gets the archive with that label.
# shellcheck disable=SC2016 # fields of apt and awk
mirror_of() {
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		awk -v label="$1" '$1 == label && !found { sub("/$", "", $2); print $2; found = 1 }'
}

MIRROR=${DEBIAN_MIRROR:-$(mirror_of Debian)}
SECURITY=${DEBIAN_SECURITY:-$(mirror_of Debian-Security)}
# Mirrors have the security updates next to the archive.
SECURITY=${SECURITY:-$MIRROR-security}

# The architecture of the packages; others are kept separate.
ARCH=${ARCH:-amd64}

mirror_dir() {
	[ "$ARCH" = amd64 ] && echo "$VM/apt/$1" || echo "$VM/apt/$1-$ARCH"
}

# mirror_apt SUITE TOOL ARGS...: apt-get or apt-cache with SUITE's state.
mirror_apt() {
	local dir tool=$2
	dir=$(mirror_dir "$1")
	shift 2
	"$tool" -q -c "$dir/apt.conf" "$@"
}

# mirror_status SUITE: packages regarded as installed: for the host's own suite those of the host
# (except those that are always unpacked), for another suite none.
mirror_status() {
	[ "$1-$ARCH" = "$(. /etc/os-release && echo "$VERSION_CODENAME")-amd64" ] &&
		[ -r /var/lib/dpkg/status ] || return 0
	awk 'BEGIN { RS = ""; ORS = "\n\n" } !/^Package: (qemu-|seabios|dkms\n)/' /var/lib/dpkg/status
}

# mirror_init SUITE [release]: fetches its package lists, once; with `release`, without updates,
# backports and security, which mirrors do not always keep in sync for all architectures.
mirror_init() {
	local suite=$1 dir key=/usr/share/keyrings/debian-archive-keyring.gpg s suites=("$1")
	dir=$(mirror_dir "$suite")
	[ -e "$dir/ready" ] && return
	[ -n "$MIRROR" ] || die "apt has no source for Debian: name one in DEBIAN_MIRROR"
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	mirror_status "$suite" >"$dir/state/status"
	[ "${2-}" = release ] || suites+=("$suite-updates" "$suite-backports")
	for s in "${suites[@]}"; do
		echo "deb [signed-by=$key] $MIRROR $s main"
	done >"$dir/sources.list"
	[ "${2-}" = release ] ||
		echo "deb [signed-by=$key] $SECURITY $suite-security main" >>"$dir/sources.list"
	cat >"$dir/apt.conf" <<-CONF
		Dir::State "$dir/state";
		Dir::State::status "$dir/state/status";
		Dir::Cache "$dir/cache";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		APT::Architecture "$ARCH";
		APT::Architectures { "$ARCH"; };
		APT::Sandbox::User "";
		APT::Get::Assume-Yes "true";
		APT::Install-Recommends "false";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Debug::NoLocking "true";
		#clear APT::Update;
		#clear DPkg;
	CONF
	mirror_apt "$suite" apt-get update >"$dir/update.log" 2>&1 || {
		cat "$dir/update.log" >&2
		die "cannot read the package lists of $suite from $MIRROR"
	}
	touch "$dir/ready"
}

# mirror_newest SUITE REGEX: the newest package whose complete name matches.
mirror_newest() {
	mirror_apt "$1" apt-cache pkgnames | grep -xE "$2" | sort -V | tail -n 1
}

# mirror_unpack SUITE DEST download|install PACKAGE...: unpacks the packages, or these and all their
# dependencies that are not regarded as installed, to DEST, with a merged /usr as on an installed
# Debian.
mirror_unpack() {
	local suite=$1 dest=$2 how=$3 tmp=$2.debs d
	shift 3
	rm -rf "$tmp"
	mkdir -p "$tmp/partial" "$dest"
	(
		cd "$tmp" || exit
		if [ "$how" = download ]; then
			mirror_apt "$suite" apt-get download "$@"
		else
			mirror_apt "$suite" apt-get -o Dir::Cache::archives="$tmp" --download-only install "$@"
		fi
	) >"$dest.log" 2>&1 || {
		cat "$dest.log" >&2
		rm -f "$(mirror_dir "$suite")/ready" # the lists may be stale: read them anew at the next call
		die "cannot fetch from $suite: $*"
	}
	for d in bin sbin lib lib64; do
		mkdir -p "$dest/usr/$d"
		[ -e "$dest/$d" ] || ln -s "usr/$d" "$dest/$d"
	done
	for deb in "$tmp"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -xp --keep-directory-symlink -C "$dest" ||
			die "cannot unpack $deb"
	done
	rm -rf "$tmp" "$dest.log"
}
