# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Builds everything under build/: programs in bin/, the library in lib/, tests in tests/.
# `make help` lists the targets.

CC      ?= cc
CFLAGS  ?= -O2 -g
WERROR  ?= -Werror
PREFIX  ?= /usr/local
DESTDIR ?=
KDIR    ?= /lib/modules/$(shell uname -r)/build
TIME    ?= 60
KERNEL  ?= 6.1
VERSION := 0.1.0

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
# Plain char signed or unsigned: make CHAR=signed, make CHAR=unsigned.
ifneq ($(CHAR),)
B := build/$(CHAR)-char
SAN_FLAGS := -f$(CHAR)-char
endif

# What the library is made of, libcommon/NAME.c, one a line, by alphabet.
LIB_OBJS := \
	event \

# What the tools are made of, src/TOOL/NAME.c; one that lists nothing is not built.
ALL_TOOLS := kmes-dump kmes-emit kmes-resize kmes-run kmes-sim kmes-stat kmes-wait

OBJS_kmes-dump := \

OBJS_kmes-emit := \

OBJS_kmes-resize := \

OBJS_kmes-run := \

OBJS_kmes-sim := \

OBJS_kmes-stat := \

OBJS_kmes-wait := \

TOOLS := $(foreach t,$(ALL_TOOLS),$(if $(strip $(OBJS_$(t))),$(t)))

LIBS := -lpopt -lz
LIBS_kmes-emit := -lyajl
LIBS_kmes-stat := -lsmartcols
TEST_LIBS := -lcmocka -lmsgpackc -lyajl -lsmartcols

# Optional libraries: HAVE_NAME is defined where pkg-config knows NAME.
OPTIONAL := libtraceevent ncursesw
HAVE     := $(foreach p,$(OPTIONAL),$(shell pkg-config --exists $(p) 2>/dev/null && echo $(p)))
MISSING  := $(filter-out $(HAVE),$(OPTIONAL))
ifneq ($(HAVE),)
OPT_CFLAGS := -DHAVE_$(subst $() , -DHAVE_,$(strip $(HAVE))) $(shell pkg-config --cflags $(HAVE))
endif
ifneq ($(filter libtraceevent,$(HAVE)),)
LIBS += $(shell pkg-config --libs libtraceevent)
endif
ifneq ($(filter ncursesw,$(HAVE)),)
LIBS_kmes-stat += $(shell pkg-config --libs ncursesw)
TEST_LIBS += $(shell pkg-config --libs ncursesw)
endif

WARN := -Wall -Wextra $(WERROR) -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OWN  := -std=c11 -D_GNU_SOURCE -DKMES_VERSION='"$(VERSION)"' $(WARN) $(SAN_FLAGS) \
	-Imodule/shared -Ilibcommon $(OPT_CFLAGS) -MMD -MP -pthread
LINK  = $(CC) -pthread $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@
Q    := $(if $(V),,@)
say   = $(if $(V),,@printf '  %-8s%s\n' $(1) $@)

LIBKMES  := $(B)/lib/libkmes.a
PROGRAMS := $(TOOLS:%=$(B)/bin/%)

all: $(LIBKMES) $(PROGRAMS)
	$(if $(MISSING),@echo "built without $(MISSING) (see README)")

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(OWN) $(CFLAGS) $(CPPFLAGS) -c -o $@ $<

$(LIBKMES): $(LIB_OBJS:%=$(B)/obj/libcommon/%.o)
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

define tool_rule
$(B)/bin/$(1): $(OBJS_$(1):%=$(B)/obj/src/$(1)/%.o) $(LIBKMES)
	@mkdir -p $$(@D)
	$$(call say,LINK)
	$(Q)$$(LINK) $$(filter %.o,$$^) $(LIBKMES) $(LIBS_$(1)) $(LIBS) $$(LDLIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

# Test programs: each tests/KIND/*.c is one that prints TAP. It may include a tool's
# headers as "src/kmes-X/..." and use what tests/lib/*.c offers.
KINDS      := unit stress fuzz bench
TEST_PROGS := $(foreach k,$(KINDS),$(patsubst %.c,$(B)/%,$(wildcard tests/$(k)/*.c)))
TOOL_PARTS := $(foreach t,$(TOOLS),$(patsubst %,$(B)/obj/src/$(t)/%.o,$(filter-out main,$(OBJS_$(t)))))
LIBTEST    := $(B)/lib/libtest.a

$(B)/obj/tests/%.o: OWN += -Itests/lib -I.

$(LIBTEST): $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/lib/*.c)) $(TOOL_PARTS)
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(TEST_PROGS): $(B)/tests/%: $(B)/obj/tests/%.o $(LIBTEST) $(LIBKMES)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK) $< $(LIBTEST) $(LIBKMES) $(TEST_LIBS) $(LIBS) $(LDLIBS)

.PRECIOUS: $(B)/obj/%.o

progs = $(filter $(B)/tests/$(1)/%,$(TEST_PROGS))
unit-programs: $(call progs,unit)
stress-programs: $(call progs,stress)
fuzz-programs: $(call progs,fuzz)
bench-programs: $(call progs,bench)

# Checks. Each makes what it runs; tests/run sums up the TAP of all its programs.
RUN := tests/run

deps:
	tests/deps

check: deps
	$(MAKE) all unit-programs stress-programs
	$(MAKE) SAN=address all unit-programs fuzz-programs
	$(MAKE) SAN=thread all unit-programs stress-programs
	$(MAKE) CHAR=signed unit-programs
	$(MAKE) CHAR=unsigned unit-programs
	$(RUN) lint unit unit-asan unit-signed unit-unsigned unit-tsan cli stress stress-tsan fuzz model requirements vm

check-unit: all unit-programs
	$(RUN) unit

check-cli: all
	$(RUN) cli

check-asan:
	$(MAKE) SAN=address all unit-programs
	$(RUN) unit-asan cli-asan

check-tsan:
	$(MAKE) SAN=thread all unit-programs stress-programs
	$(RUN) unit-tsan stress-tsan

check-fuzz:
	$(MAKE) SAN=address all fuzz-programs
	KMES_FUZZ_TIME=$(TIME) $(RUN) fuzz

check-stress: all stress-programs
	KMES_TEST_LEVEL=full $(RUN) stress

check-model:
	$(RUN) model

check-vm: all
	KERNEL=$(KERNEL) $(RUN) vm

requirements:
	$(RUN) requirements

lint:
	$(RUN) lint

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

bench: all bench-programs
	@set -e; for p in $(sort $(call progs,bench)); do echo "# $${p##*/}"; $$p; done

clean:
	rm -rf build

help:
	@sed -n 's/^#: //p' Makefile

.PHONY: all deps check check-unit check-cli check-asan check-tsan check-fuzz check-stress \
	check-model check-vm requirements lint format bench clean help unit-programs \
	stress-programs fuzz-programs bench-programs
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
