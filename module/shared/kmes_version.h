/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_version.h - the version of the tools, the library and the module; it is defined
 * only here.
 */
#ifndef KMES_VERSION_H
#define KMES_VERSION_H

#define KMES_VERSION "0.2.0"

#endif
