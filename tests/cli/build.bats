#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# build.bats - what make promises: the same bytes anywhere, a versioned archive, clear refusals.

load helper

# sources DIR: a copy of the tree's own files, without what was built.
sources() {
	mkdir -p "$1"
	(cd "$KMES_TOP" && git ls-files -z -co --exclude-standard | xargs -0 cp --parents -t "$1")
}

@test "two builds in different directories are bit-identical" {
	local dir
	for dir in here "there, further"; do
		sources "$KMES_TMP/$dir"
		env -u MAKEFLAGS make -s -j2 -C "$KMES_TMP/$dir" all
	done
	diff -r here/build/bin "there, further/build/bin"
	cmp here/build/lib/libkmes.a "there, further/build/lib/libkmes.a"
}

@test "dist packs what is committed under a versioned name, twice the same" {
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

@test "a big-endian machine is refused when compiling, with the reason" {
	run cc -fsyntax-only -I"$KMES_TOP/module/shared" -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__ \
		-x c - <<<'#include "kmes_abi.h"'
	assert_status 1
	assert_match "$output" 'little-endian'
}

@test "a compiler's new warning does not stop a user's make" {
	sources "$KMES_TMP/tree"
	echo 'int kmes_unused(void) { int unused; return 0; }' >>tree/libcommon/base/glob.c
	env -u WERROR make -s -C tree build/obj/libcommon/base/glob.o
	touch tree/libcommon/base/glob.c
	run make -s -C tree WERROR=-Werror build/obj/libcommon/base/glob.o
	assert_status 2
	assert_match "$output" 'Werror'
}
