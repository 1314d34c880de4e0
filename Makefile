# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Builds everything under build/: programs in bin/, the library in lib/, tests in tests/.
# `make help` lists the targets.

CC      ?= cc
CFLAGS  ?= -O2 -g
WERROR  ?=
PREFIX  ?= /usr/local
DESTDIR ?=
KDIR    ?= /lib/modules/$(shell uname -r)/build
TIME    ?= 60
KERNEL  ?= 6.1
SOURCE  ?= dev
SUITE   ?= bookworm
VERSION := $(shell sed -n 's/.* KMES_VERSION "\(.*\)"/\1/p' module/shared/kmes_version.h)

# Sanitized builds have folders of their own: make SAN=address, make SAN=thread.
B := build
ifeq ($(SAN),address)
B := build/asan
SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else ifeq ($(SAN),thread)
B := build/tsan
SAN_FLAGS := -fsanitize=thread
else ifneq ($(SAN),)
$(error SAN is 'address' or 'thread', not '$(SAN)')
endif
# The other signedness of char than this machine's: make CHAR=other.
ifneq ($(CHAR),)
B := build/char
SAN_FLAGS := $(if $(shell echo | $(CC) -dM -E - | grep CHAR_UNSIGNED),-fsigned-char,-funsigned-char)
endif

# The library, libcommon/NAME.c, one a line: the rings first, then folder by folder.
LIB_OBJS := \
	boot_id \
	error \
	event \
	mapping \
	payload \
	reader \
	ring \
	ring_mapped \
	ring_walk \
	sim_client \
	slots \
	source \
	source_dev \
	source_kernel \
	source_native \
	source_open \
	source_sim \
	wait \
	wait_group \
	base/escape \
	base/float \
	base/glob \
	base/json_out \
	base/outbuf \
	base/process \
	capture/block \
	capture/capture_read \
	capture/capture_write \
	capture/gzip \
	capture/inflate \
	capture/member \
	capture/store \
	filter/filter \
	filter/match \
	filter/match_walk \
	filter/number \
	print/columns \
	print/format \
	print/format_json \
	print/format_text \
	print/origin \
	print/sid_guid \
	print/time_text \
	print/value \
	trace/subbuf \
	trace/trace_instance \
	trace/trace_select \

# The tracefs source, where libtraceevent is installed.
TRACEFS_OBJS := \
	trace/source_tracefs \
	trace/trace_format \
	trace/trace_record \
	trace/trace_ring \
	trace/trace_text \

# What the tools share and do not install, libcommon/cli/NAME.c.
CLI_OBJS := \
	cli \
	cli_cpus \
	cli_events \
	cli_message \
	cli_out \
	cli_print \
	cli_signal \
	cli_source \
	cli_value \
	when \

# What the tools are made of, src/TOOL/NAME.c; one that lists nothing is not built.
ALL_TOOLS := kmes-dump kmes-emit kmes-resize kmes-run kmes-sim kmes-stat kmes-wait

OBJS_kmes-dump := \
	input \
	main \
	options \
	order \
	playback \
	record \
	rotation \
	run \
	tally \

OBJS_kmes-emit := \
	build \
	event \
	input \
	json \
	lines \
	main \
	sender \
	strict \
	tags \

OBJS_kmes-resize := \
	main \
	report \
	resize \

OBJS_kmes-run := \
	call \
	emit \
	fds \
	loop \
	main \
	program \
	seccomp \
	serve \
	signals \
	target \

OBJS_kmes-sim := \
	client \
	daemon \
	demo \
	emit \
	load \
	main \
	memory \
	options \
	peers \
	poke \
	requests \
	server \
	slots \

OBJS_kmes-stat := \
	capture \
	interval \
	json \
	main \
	options \
	print \
	prometheus \
	rings \
	sample \
	table \
	textfile \
	trace \
	trace_sample \
	types \
	walk \
	watch \

OBJS_kmes-wait := \
	command \
	main \
	options \
	wait \

# kmes-run is for the architectures that the module knows.
MACHINE  := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
NO_RUN   := $(if $(filter-out x86_64 aarch64,$(MACHINE)),yes)
TOOLS    := $(filter-out $(if $(NO_RUN),kmes-run),$(ALL_TOOLS))

# What public functions of the library need, and what else its objects and the tools do.
LIBS_KMES :=
LIBS := -lpopt -lz
LIBS_kmes-emit := -lyajl
LIBS_kmes-stat := -lsmartcols

# Optional: trace events of stock kernels, and the screen of kmes-stat --watch.
HAVE = $(shell pkg-config --exists $(1) 2>/dev/null && echo yes)
ifeq ($(call HAVE,libtraceevent),yes)
LIB_OBJS += $(TRACEFS_OBJS)
OPT_CFLAGS += $(if $(strip $(TRACEFS_OBJS)),-DKMES_HAVE_TRACEEVENT)
OPT_CFLAGS += $(shell pkg-config --cflags libtraceevent)
LIBS_KMES += $(shell pkg-config --libs libtraceevent)
else
MISSING += libtraceevent
endif
ifeq ($(call HAVE,ncursesw),yes)
OPT_CFLAGS += -DKMES_HAVE_NCURSES $(shell pkg-config --cflags ncursesw)
LIBS_kmes-stat += $(shell pkg-config --libs ncursesw)
else
MISSING += ncursesw
endif
LIBS += $(LIBS_KMES)
# msgpack-c from 6 on has another name than before.
MSGPACK   := $(if $(call HAVE,msgpack-c),-lmsgpack-c,-lmsgpackc)
TEST_LIBS := -lcmocka $(MSGPACK) $(LIBS_kmes-emit) $(LIBS_kmes-stat)

WARN := -Wall -Wextra $(WERROR) -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OWN  := -std=c11 -D_GNU_SOURCE $(WARN) $(SAN_FLAGS) \
	-Imodule/shared -Ilibcommon $(OPT_CFLAGS) -ffile-prefix-map='$(CURDIR)'=. -MMD -MP -pthread
LINK  = $(CC) -pthread $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@
Q    := $(if $(V),,@)
SILENT := $(findstring s,$(firstword -$(MAKEFLAGS)))
say   = $(if $(V)$(SILENT),,@printf '  %-8s%s\n' $(1) $@)

LIBKMES  := $(B)/lib/libkmes.a
LIBCLI   := $(B)/lib/libcli.a
LIBS_OWN := $(LIBCLI) $(LIBKMES)
PROGRAMS := $(TOOLS:%=$(B)/bin/%)

all: $(LIBKMES) $(PROGRAMS) #: programs in build/bin, library in build/lib
	$(if $(MISSING),@echo "built without what needs $(MISSING): not installed")

# Other flags than last time: build everything anew.
FLAGS := $(CC) $(OWN) $(CFLAGS) $(CPPFLAGS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(OWN) $(CFLAGS) $(CPPFLAGS) -c -o $@ $<

$(LIBKMES): $(LIB_OBJS:%=$(B)/obj/libcommon/%.o)
$(LIBCLI): $(CLI_OBJS:%=$(B)/obj/libcommon/cli/%.o)
$(LIBKMES) $(LIBCLI): Makefile
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

define tool_rule
$(B)/bin/$(1): $(OBJS_$(1):%=$(B)/obj/src/$(1)/%.o) $(LIBS_OWN)
	@mkdir -p $$(@D)
	$$(call say,LINK)
	$(Q)$$(LINK) $$(filter %.o,$$^) $(LIBS_OWN) $(LIBS_$(1)) $(LIBS) $$(LDLIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

# Test programs: each tests/KIND/*.c is one that prints TAP. It may include a tool's
# headers as "src/kmes-X/..." and use what tests/lib/*.c offers.
KINDS      := unit stress fuzz bench vm
COMPAT     := $(patsubst %.c,$(B)/%,$(wildcard tests/vm/compat_*.c))
BARE       := $(patsubst %.c,$(B)/%,$(wildcard tests/vm/bare_*.c))
# What the programs of tests/vm share.
VM_PARTS   := $(addprefix tests/vm/,bpf case follow ring sleep)
TEST_PROGS := $(filter-out $(COMPAT) $(BARE) $(VM_PARTS:%=$(B)/%) \
	$(if $(NO_RUN),$(B)/tests/unit/test_run%),\
	$(foreach k,$(KINDS),$(patsubst %.c,$(B)/%,$(wildcard tests/$(k)/*.c))))
tool_parts = $(patsubst %,$(B)/obj/src/$(1)/%.o,$(filter-out main,$(OBJS_$(1))))
TOOL_PARTS := $(foreach t,$(TOOLS),$(call tool_parts,$(t)))
LIBTEST    := $(B)/lib/libtest.a

$(B)/obj/tests/%.o: OWN += -Itests/lib -I.

$(LIBTEST): $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/lib/*.c)) $(TOOL_PARTS) Makefile
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $(filter %.o,$^)

$(TEST_PROGS): $(B)/tests/%: $(B)/obj/tests/%.o $(LIBTEST) $(LIBS_OWN)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK) $(filter %.o,$^) $(LIBTEST) $(LIBS_OWN) $(TEST_LIBS) $(LIBS) $(LDLIBS)

$(filter $(B)/tests/vm/%,$(TEST_PROGS)): $(VM_PARTS:%=$(B)/obj/%.o)

# 32-bit programs, for the module's compatible calls; the kernel's headers are the 64-bit ones.
$(COMPAT): $(B)/%: %.c Makefile $(wildcard module/shared/*.h tests/vm/*.h)
	@mkdir -p $(@D)
	$(call say,CC32)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -Imodule/shared -m32 -static -O2 \
		-idirafter /usr/include/$(shell $(CC) -print-multiarch) -o $@ $<

# Programs without a C library, for x86-64.
$(BARE): $(B)/%: %.c Makefile $(wildcard module/shared/*.h)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -Imodule/shared -static -nostdlib -ffreestanding \
		-fno-stack-protector -fno-pie -O1 -o $@ $<

.PRECIOUS: $(B)/obj/%.o

# What tests preload into the tools.
PRELOADS := $(patsubst %.c,$(B)/%.so,$(wildcard tests/preload/*.c))
$(PRELOADS): $(B)/%.so: %.c $(wildcard tests/preload/*.h)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -shared -fPIC -o $@ $< -ldl

preloads: $(PRELOADS)

progs = $(filter $(B)/tests/$(1)/%,$(TEST_PROGS))
THREADED := $(patsubst %.c,$(B)/%,$(shell grep -l pthread tests/unit/*.c))
unit-programs: $(if $(filter thread,$(SAN)),$(THREADED),$(call progs,unit))
stress-programs: $(call progs,stress)
fuzz-programs: $(call progs,fuzz)
bench-programs: $(call progs,bench)
vm-programs: $(call progs,vm) $(COMPAT) $(BARE)

# The text of `make help` follows #: in the line of a target.
help: #: this list
	@echo "make [V=1] [CC=...] [CFLAGS=...] [SAN=address|thread] [TARGET]"
	@sed -n 's/^\([a-z0-9-]*\):.*#: \(.*\)/  \1\t\2/p' Makefile | expand -t 18

# Checks. Each makes what it runs; tests/run sums up the TAP of all its programs.
RUN  := tests/run
MAKE2 = +$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j2)

deps: #: install the missing Debian packages, or print the command that does
	tests/deps

demo: #: show the tools at work on rings in memory
	tests/deps build
	$(MAKE2) all
	tests/demo

check: export WERROR = -Werror
check: deps #: most tests below, some of them shortened (up to half an hour)
	tests/promtool
	$(MAKE2) all preloads unit-programs stress-programs vm-programs
	$(MAKE2) SAN=address all unit-programs fuzz-programs
	$(MAKE2) SAN=thread unit-programs stress-programs
	$(MAKE2) CHAR=other unit-programs
	$(RUN) lint unit unit-asan unit-tsan unit-char cli stress stress-tsan \
		fuzz model requirements dkms cost vm

check-unit: all unit-programs #: unit tests
	$(RUN) unit

check-cli: all preloads #: the tools, with the simulator
	$(RUN) cli

check-asan: #: unit tests and tools under AddressSanitizer and UBSan
	$(MAKE2) SAN=address all unit-programs
	$(RUN) unit-asan cli-asan

check-tsan: #: unit and stress tests under ThreadSanitizer
	$(MAKE2) SAN=thread unit-programs stress-programs
	$(RUN) unit-tsan stress-tsan

check-fuzz: #: mutated input, for TIME seconds per program
	$(MAKE2) SAN=address fuzz-programs
	KMES_FUZZ_TIME=$(TIME) $(RUN) fuzz

# libFuzzer for TIME seconds; for programs with an LLVMFuzzerTestOneInput: format,
# msgpack_oracle.
fuzzer-%:
	@mkdir -p build/fuzzer/$*.corpus
	clang -g -O1 -DKMES_LIBFUZZER -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=all $(filter-out -MMD -MP,$(OWN)) -Wno-unused-function \
		-Itests/lib -I. \
		-o build/fuzzer/$* tests/fuzz/$*.c \
		$(filter-out %/unit.c,$(wildcard tests/lib/*.c)) \
		$(LIB_OBJS:%=libcommon/%.c) $(CLI_OBJS:%=libcommon/cli/%.c) $(TEST_LIBS) $(LIBS)
	build/fuzzer/$* -max_total_time=$(TIME) -max_len=640 build/fuzzer/$*.corpus

check-stress: all stress-programs #: the long stress tests
	KMES_TEST_LEVEL=full $(RUN) stress

check-model: #: the protocol's memory order and wake-ups, as models
	$(RUN) model

check-vm: all vm-programs #: the module in a virtual machine; KERNEL=6.1, ... (tests/vm/run)
	KMES_TEST_LEVEL=full KERNEL=$(KERNEL) KMES_VM_SOURCE=$(SOURCE) $(RUN) vm

check-dkms: #: the module by the dkms of Debian 12 and 13, for all kernels
	KMES_TEST_LEVEL=full $(RUN) dkms

check-arm64: #: built for 64-bit ARM, the unit tests in an emulator
	tests/cross arm64

check-riscv64: #: the same for 64-bit RISC-V, without kmes-run and the module
	tests/cross riscv64

check-bare: #: in a fresh Debian, SUITE=bookworm, trixie or sid (root, debootstrap)
	tests/bare $(SUITE) $(if $(filter sid,$(SUITE)),demo check-unit check-cli)

requirements: #: each requirement with its tests
	tests/requirements

lint: #: layout, licences, warnings, options in manual pages
	$(MAKE2) WERROR=-Werror all
	tests/lint

format: #: lay out all C files by .clang-format
	clang-format -i $$(git ls-files '*.c' '*.h')

bench: all bench-programs #: speed, compared with similar programs
	-@tests/deps bench
	@set -e; for p in $(sort $(call progs,bench)); do echo "# $${p##*/}"; tests/with-tracefs $$p; done

# Installing: the directories of the GNU coding standards, below DESTDIR.
prefix      = $(PREFIX)
exec_prefix = $(prefix)
bindir      = $(exec_prefix)/bin
libdir      = $(exec_prefix)/lib
includedir  = $(prefix)/include
datadir     = $(prefix)/share
mandir      = $(datadir)/man
docdir      = $(datadir)/doc/kmes-tools
compdir     = $(datadir)/bash-completion/completions
dkmsdir     = /usr/src/kmes-$(VERSION)
# What a reader needs; the writer's headers are not installed.
HEADERS    := libcommon/kmes.h libcommon/kmes_view.h \
	$(addprefix module/shared/,kmes_abi.h kmes_order.h kmes_types.h kmes_version.h)

# to DIRECTORY: where that is while installing, for the shell.
to = '$(DESTDIR)$(1)'

install: all #: programs, library, manual pages, completions; to DESTDIR and prefix, libdir, ...
	install -d $(call to,$(bindir)) $(call to,$(libdir)/pkgconfig) \
		$(call to,$(includedir)/kmes) $(foreach s,1 3 4,$(call to,$(mandir)/man$(s))) \
		$(call to,$(compdir)) $(call to,$(docdir))
	install -m 755 $(PROGRAMS) $(call to,$(bindir))
	install -m 644 $(LIBKMES) $(call to,$(libdir))
	printf '%s\n' 'prefix=$(prefix)' 'libdir=$(libdir:$(prefix)/%=$${prefix}/%)' \
		'includedir=$(includedir:$(prefix)/%=$${prefix}/%)' '' 'Name: kmes' \
		'Description: reads per-CPU KMES event rings' 'Version: $(VERSION)' \
		'Cflags: -I$${includedir}/kmes' 'Libs: -L$${libdir} -lkmes' \
		'Libs.private: -pthread $(LIBS_KMES)' | \
		install -m 644 /dev/stdin $(call to,$(libdir)/pkgconfig/kmes.pc)
	install -m 644 $(HEADERS) $(call to,$(includedir)/kmes)
	install -m 644 $(TOOLS:%=man/%.1) $(call to,$(mandir)/man1)
	install -m 644 man/kmes.3 $(call to,$(mandir)/man3)
	install -m 644 man/kmes.4 $(call to,$(mandir)/man4)
	install -m 644 doc/follow.c doc/protocol.md $(call to,$(docdir))
	for t in $(TOOLS); do install -m 644 completions/kmes-tools $(call to,$(compdir))/$$t; done

uninstall: #: remove what install has installed
	rm -f $(foreach t,$(ALL_TOOLS),$(call to,$(bindir)/$(t)) $(call to,$(mandir)/man1/$(t).1) \
		$(call to,$(compdir)/$(t))) \
		$(foreach s,3 4,$(call to,$(mandir)/man$(s)/kmes.$(s))) \
		$(call to,$(libdir)/libkmes.a) $(call to,$(docdir)/follow.c) \
		$(call to,$(docdir)/protocol.md) \
		$(call to,$(libdir)/pkgconfig/kmes.pc)
	rm -rf $(call to,$(includedir)/kmes)

# The same commit gives the same bytes, whoever packs it.
TARBALL = kmes-tools-$(VERSION)
dist: #: build/kmes-tools-VERSION.tar.gz of what is committed
	@mkdir -p build
	git archive --prefix=$(TARBALL)/ HEAD | gzip -9n >build/$(TARBALL).tar.gz.new
	mv build/$(TARBALL).tar.gz.new build/$(TARBALL).tar.gz

module: #: build/module/kmes.ko for the kernel whose headers are at KDIR
	@mkdir -p build/module
	cp -Ru module/. build/module/
	$(MAKE) -C build/module KDIR='$(KDIR)'

dkms-install: #: build and install the module with DKMS, as root
	install -d $(call to,$(dkmsdir)/shared)
	install -m 644 $(filter-out %.mod.c,$(wildcard module/*.[ch])) \
		$(addprefix module/,Kbuild Kconfig Makefile README.md) $(call to,$(dkmsdir))
	install -m 644 module/shared/*.h $(call to,$(dkmsdir)/shared)
	sed 's/#MODULE_VERSION#/$(VERSION)/' module/dkms.conf | \
		install -m 644 /dev/stdin $(call to,$(dkmsdir)/dkms.conf)
ifeq ($(DESTDIR),)
	! dkms status kmes/$(VERSION) | grep . || dkms remove kmes/$(VERSION) --all
	dkms install kmes/$(VERSION)
endif

clean: #: remove build/
	rm -rf build

.PHONY: all deps demo check check-unit check-cli check-asan check-tsan check-fuzz \
	check-stress check-model check-vm check-dkms check-arm64 check-riscv64 check-bare \
	requirements lint format \
	bench install uninstall dist \
	module dkms-install clean help preloads unit-programs stress-programs fuzz-programs \
	bench-programs vm-programs
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
