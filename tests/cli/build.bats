#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# build.bats - the build: reproducible, a versioned archive, clear refusals.

load helper

# Two builds take long on a busy machine.
export BATS_TEST_TIMEOUT=400

# sources DIR: a copy of the source files.
sources() {
	mkdir -p "$1"
	(cd "$KMES_TOP" && git ls-files -z -co --exclude-standard | xargs -0 cp --parents -t "$1")
}

@test "two builds in different directories are bit-identical" {
	local dir
	for dir in here "there, further"; do
		sources "$KMES_TMP/$dir"
		env -u MAKEFLAGS -u WERROR make -s -j2 -C "$KMES_TMP/$dir" CFLAGS=-g all
	done
	diff -r here/build/bin "there, further/build/bin"
	cmp here/build/lib/libkmes.a "there, further/build/lib/libkmes.a"
}

@test "NEWS and README name the version of kmes_version.h" {
	local version
	version=$("$KMES_BIN/kmes-dump" --version)
	version=${version##* }
	version=${version//./\\.}
	assert_match "$(grep -m 1 '^[0-9]' "$KMES_TOP/NEWS")" "^$version( |\$)"
	assert_match "$(grep '^| Version' "$KMES_TOP/README.md")" "^\\| Version \\| ${version}[, ]"
}

@test "dist archives what is committed under a versioned name, reproducibly" {
	cp -r "$KMES_TOP/.git" "$KMES_TMP/.git" || skip "this tree is not a git repository"
	git reset -q --hard
	local version archive
	version=$("$KMES_BIN/kmes-dump" --version)
	version=${version##* }
	archive=build/kmes-tools-$version.tar.gz
	make -s dist
	mv "$archive" first.tar.gz
	sleep 1
	make -s dist
	cmp first.tar.gz "$archive"
	assert_equal "$(tar -tzf "$archive" | grep -v "^kmes-tools-$version/")" ''
	assert_equal "$(tar -tzf "$archive" | grep -v '/$' | wc -l)" "$(git ls-files | wc -l)"
}

@test "a big-endian machine is refused at compile time, with the reason" {
	run cc -fsyntax-only -I"$KMES_TOP/module/shared" -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__ \
		-x c - <<<'#include "kmes_abi.h"'
	assert_status 1
	assert_match "$output" 'little-endian'
}

@test "a new compiler warning does not fail a user's make" {
	sources "$KMES_TMP/tree"
	echo 'int kmes_unused(void) { int unused; return 0; }' >>tree/libcommon/base/glob.c
	env -u WERROR make -s -C tree build/obj/libcommon/base/glob.o
	touch tree/libcommon/base/glob.c
	run make -s -C tree WERROR=-Werror build/obj/libcommon/base/glob.o
	assert_status 2
	assert_match "$output" 'Werror'
}

# deps_where UNKNOWN SET: tests/deps for a user of a system that has nothing installed, and whose apt knows
# all packages but for these (a regular expression).
deps_where() {
	mkdir -p bin
	printf '#!/bin/sh\necho 1000\n' >bin/id
	printf '#!/bin/sh\nexit 1\n' >bin/dpkg-query
	cat >bin/apt-cache <<-END
		#!/bin/sh
		for name; do :; done
		[ "\$1" = depends ] && echo ' Depends: gcc-14' || echo "\$name" | grep -vxE '$1'
	END
	chmod +x bin/*
	run env PATH="$PWD/bin:$PATH" "$KMES_TOP/tests/deps" "$2"
}

@test "deps prints for a user the packages that the release has" {
	local command='^missing packages; as root run: apt-get install --no-install-recommends gcc '
	deps_where 'libclang-rt-14-dev' check
	assert_status 1
	assert_match "$output" "$command.* libclang-rt-dev .* libmsgpack-c-dev .* lib32gcc-14-dev "
	deps_where 'libclang-rt-dev|libmsgpack-c-dev' check
	assert_status 1
	assert_match "$output" "$command.* libclang-rt-14-dev .* libmsgpack-dev "
	deps_where 'libclang-rt-14-dev' build
	assert_match "$output" "$command.* jq\$"
}

@test "deps asks for package lists where apt has none, and refuses an unknown set" {
	deps_where '.*' check
	assert_status 1
	assert_match "$output" '^missing packages that apt does not know: gcc .*; as root run: apt-get update$'
	deps_where nothing everything
	assert_status 2
	assert_match "$output" '^usage: tests/deps '
}
