# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Builds everything under build/: programs in build/bin, the library in build/lib.

CC      ?= cc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
DESTDIR ?=
B       := build
VERSION := 0.1.0

WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OWN      := -std=c11 -D_GNU_SOURCE -DKMES_VERSION='"$(VERSION)"' $(WARN) \
            -Imodule/shared -Ilibcommon -MMD -MP -pthread
Q := $(if $(V),,@)

LIB_OBJS :=

TOOLS :=

all: $(B)/lib/libkmes.a $(TOOLS:%=$(B)/bin/%)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(OWN) $(CFLAGS) -c -o $@ $<

$(B)/lib/libkmes.a: $(LIB_OBJS:%=$(B)/obj/libcommon/%.o)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

clean:
	rm -rf $(B)

.PHONY: all clean
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
