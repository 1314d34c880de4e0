#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# install.bats - installed files are complete, usable for building, and can be uninstalled.

load helper

make_here() { make -s -C "$KMES_TOP" "$@" DESTDIR="$KMES_TMP/root" PREFIX=/usr; }

@test "install puts programs, pages and completions into the standard places" {
	make_here install
	for tool in "$KMES_TOP"/src/kmes-*/; do
		tool=$(basename "$tool")
		[[ -x root/usr/bin/$tool ]]
		[[ -f root/usr/share/man/man1/$tool.1 ]]
		[[ -f root/usr/share/bash-completion/completions/$tool ]]
	done
	[[ -f root/usr/share/man/man3/kmes.3 && -f root/usr/share/man/man4/kmes.4 ]]
}

@test "a program builds against the installed library and header" {
	make_here install
	cat >reader.c <<-'END'
		#include <kmes.h>
		#include <stdio.h>
		int main(void)
		{
			struct kmes_source *src;
			struct kmes_error err;

			if (kmes_source_open(&src, "sim:/nowhere", NULL, &err) < 0)
				puts(err.text);
			return 0;
		}
	END
	# The dependencies of a static library depend on how it was built.
	export PKG_CONFIG_PATH=$PWD/root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=
	local flags
	flags=$(pkg-config --define-prefix --static --cflags --libs kmes)
	# shellcheck disable=SC2086
	cc -Wall -Werror reader.c -o reader $flags
	run ./reader
	assert_status 0
	assert_match "$output" '/nowhere'
}

@test "kmes.pc lists what programs need to link, in C and C++, and nothing else" {
	make_here install
	export PKG_CONFIG_PATH=$PWD/root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=
	local flags lib names
	flags=$(pkg-config --define-prefix --static --cflags --libs kmes)
	# A program that needs every public function.
	names=$(nm -g --defined-only root/usr/lib/libkmes.a |
		sed -n 's/.* T \(kmes_[a-z_]*\)$/(void *)\1,/p')
	cat >all.c <<-END
		#include <kmes.h>
		void *volatile all[] = { $names };
		int main(void) { return !all[0]; }
	END
	# shellcheck disable=SC2086
	{
		cc all.c -o all $flags
		c++ -std=c++17 -x c++ all.c -x none -o all $flags
		for lib in $(grep -o -- '-l[^ ]*' <<<"$flags"); do
			run ! cc all.c -o all ${flags//$lib/}
		done
	}
}

# build_installed PROGRAM FILE.c: as C11, with installed files only.
build_installed() {
	local flags

	export PKG_CONFIG_PATH=$PWD/root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=
	flags=$(pkg-config --define-prefix --static --cflags --libs kmes)
	# shellcheck disable=SC2086
	cc -std=c11 -Wall -Wextra -pedantic -Werror "$2" -o "$1" $flags
}

@test "the installed example follows the rings until it is stopped" {
	make_here install
	build_installed follow root/usr/share/doc/kmes-tools/follow.c
	sim_start --slots=2 --capacity=64K
	background follow ./follow "$KMES_SOURCE"
	kmes-emit -c 1 -n 2 -t app.login user=alice
	wait_for_lines follow.out 2
	kmes-resize 128K
	wait_for_line follow.out 'cpu0 resized to 131072 bytes'
	wait_for_line follow.out 'cpu1 resized to 131072 bytes'
	# Larger than the ring, so an event is lost in any case.
	kill -STOP "${KMES_PIDS[-1]}"
	kmes-emit -c 0 -n 3000 -t app.flood "text=$(printf '%0100d' 0)"
	kmes-emit -c 0 -t app.end
	kill -CONT "${KMES_PIDS[-1]}"
	wait_for_line follow.out ' app.end '
	kill -TERM "${KMES_PIDS[-1]}"
	end_of "${KMES_PIDS[-1]}"
	assert_status 0
	assert_match "$(sed -n 1p follow.out)" '^[0-9]+\.[0-9]{9} cpu1 #1 app\.login \(12 bytes\)$'
	assert_equal "$(grep -c 'app.login' follow.out)" 2
	local lost last
	lost=$(sed -n 's/^cpu0 lost \([0-9]*\) events$/\1/p' follow.out)
	last=$(sed -n 's/.* cpu0 #\([0-9]*\) app.end .*/\1/p' follow.out)
	assert_equal "$(($(grep -c ' cpu0 #' follow.out) + lost))" "$last"
	assert_equal "$(cat follow.err)" ''
}

@test "kmes(3) documents what the installed headers declare, and its example compiles" {
	make_here install
	sed -n 's/^\.F[no] \(kmes_[a-z_]*\).*/\1/p' root/usr/share/man/man3/kmes.3 | sort -u >documented
	sed -n '/^#define/d; s/^[a-z_].*[ *]\(kmes_[a-z_]*\)(.*/\1/p' \
		root/usr/include/kmes/kmes{,_abi,_types,_version,_view}.h | sort -u >declared
	diff documented declared
	{
		printf '#include <%s>\n' kmes.h stdio.h stdlib.h
		echo 'int main(void) {'
		sed -n '/^.Sh EXAMPLES/,/^.Ed/{ /^\./d; s/\\e/\\/; p }' root/usr/share/man/man3/kmes.3 | sed 1d
		echo '}'
	} >example.c
	build_installed example example.c
}

@test "installed headers compile as C11 and C++17, alone and together, without warnings" {
	make_here install
	cd root/usr/include/kmes
	assert_equal "$(echo *)" 'kmes.h kmes_abi.h kmes_order.h kmes_types.h kmes_version.h kmes_view.h'
	local header options
	for header in *.h; do
		echo "#include \"$header\"" | tee -a all.c >"${header%.h}.c"
	done
	local compilers=('gcc -std=c11 -x c' 'g++ -std=c++17 -x c++')
	! command -v clang || compilers+=('clang -std=c11 -x c' 'clang++ -std=c++17 -x c++')
	for options in "${compilers[@]}" \
		'gcc -fsanitize=thread -std=c11 -x c' 'g++ -fsanitize=thread -std=c++17 -x c++'; do
		for header in *.c; do
			# A translation unit has to declare something.
			# shellcheck disable=SC2086
			$options -fsyntax-only -Wall -Wextra -pedantic -Werror -I. - <<<"
				#include \"$header\"
				extern int nothing;"
		done
	done
}

@test "installed headers leave a program its own warnings" {
	make_here install
	cat >fence.c <<-'END'
		#include <kmes.h>
		void fence(void);
		void fence(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
	END
	run gcc -fsanitize=thread -O2 -Wall -Iroot/usr/include/kmes -c fence.c
	assert_match "$output" 'Wtsan'
}

@test "install follows the GNU directory variables, in names with blanks, whatever the umask" {
	make_at() {
		make -s -C "$KMES_TOP" "$@" DESTDIR="$KMES_TMP/a root" prefix=/opt/k \
			libdir=/opt/k/lib/x86_64-linux-gnu bindir=/opt/k/sbin mandir=/opt/man
	}
	umask 077
	make_at install
	cd "a root/opt"
	[[ -x k/sbin/kmes-dump && -f man/man1/kmes-dump.1 && -f k/include/kmes/kmes.h ]]
	[[ -f k/lib/x86_64-linux-gnu/libkmes.a ]]
	grep -qx "libdir=\${prefix}/lib/x86_64-linux-gnu" k/lib/x86_64-linux-gnu/pkgconfig/kmes.pc
	run ! grep -q root k/lib/x86_64-linux-gnu/pkgconfig/kmes.pc
	assert_equal "$(find . ! -perm -o=r)" ''
	make_at uninstall
	assert_equal "$(find . -type f)" ''
}

@test "uninstall removes everything that install created" {
	make_here install
	make_here uninstall
	assert_equal "$(find root -type f)" ''
}

@test "installed files are world-readable, whatever the umask, also below a folder with a blank" {
	umask 077
	mkdir root
	ln -s root 'a root'
	for target in install dkms-install; do
		make -s -C "$KMES_TOP" "$target" DESTDIR="$KMES_TMP/a root" PREFIX=/usr
	done
	assert_equal "$(find root/* ! -perm -o=r)" ''
	make -s -C "$KMES_TOP" uninstall DESTDIR="$KMES_TMP/a root" PREFIX=/usr
	assert_equal "$(find root -type f ! -path 'root/usr/src/*')" ''
}

@test "dkms-install creates a self-contained folder" {
	make_here dkms-install
	local dir
	dir=$(echo root/usr/src/kmes-*)
	assert_equal "${dir##*-}" "$(sed -n 's/PACKAGE_VERSION="\(.*\)"/\1/p' "$dir/dkms.conf")"
	for object in $(grep -Eo 'kmes_[a-z]+\.o' "$dir/Kbuild"); do
		[[ -f $dir/${object%.o}.c ]]
	done
	grep -hEo '#include "[^"]*"' "$dir"/*.c "$dir"/*.h "$dir"/shared/*.h | sort -u |
		while IFS='"' read -r _ header _; do
			[[ -f $dir/$header || -f $dir/shared/$header ]]
		done
}
