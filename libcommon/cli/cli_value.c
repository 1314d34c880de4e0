// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* cli_value.c - numbers, times, sizes and rates, parsed exactly. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/scan.h"
#include "cli/cli.h"
#include "cli/cli_private.h"

int cli_parse_number(uint64_t *number, const char *text)
{
	int rc = kmesp_scan_number(&text, NULL, number);

	return *text ? -EINVAL : rc;
}

/* ns in a unit, or 0 if there is no such unit. */
static uint64_t time_unit(const char *name)
{
	static const struct {
		char name[4];
		uint64_t ns;
	} units[] = {
		{ "", KMES_NS_PER_S },	       { "s", KMES_NS_PER_S },
		{ "ms", KMES_NS_PER_MS },      { "m", 60 * KMES_NS_PER_S },
		{ "h", 3600 * KMES_NS_PER_S }, { "d", 86400 * KMES_NS_PER_S },
	};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(name, units[i].name) == 0)
			return units[i].ns;
	return 0;
}

/*
 * The digits after a point, as a fraction of `unit`, rounded up to a nanosecond: a time
 * that is not 0 must not become 0. There is no limit to the number of digits.
 */
static uint64_t fraction_of(const char *digits, uint64_t unit)
{
	unsigned __int128 part = 0, scale = 1;
	bool more = false;

	for (; kmesp_is_digit(*digits); digits++) {
		if (scale < UINT64_C(1000000000000000000)) {
			part = part * 10 + (unsigned int)(*digits - '0');
			scale *= 10;
		} else {
			more |= *digits != '0';
		}
	}
	part *= unit;
	return (uint64_t)(part / scale) + (part % scale != 0 || more);
}

int cli_parse_time(uint64_t *time_ns, const char *text)
{
	const char *fraction = "";
	uint64_t whole, unit;
	int rc = kmesp_scan_number(&text, NULL, &whole);

	if (rc == -EINVAL)
		return rc;
	if (*text == '.') {
		fraction = ++text;
		if (!kmesp_is_digit(*text))
			return -EINVAL;
		text += kmesp_count_digits(text, NULL);
	}
	unit = time_unit(text);
	if (!unit)
		return -EINVAL;
	if (rc || __builtin_mul_overflow(whole, unit, time_ns) ||
	    __builtin_add_overflow(*time_ns, fraction_of(fraction, unit), time_ns) ||
	    *time_ns > CLI_TIME_MAX)
		return -ERANGE;
	return 0;
}

int cli_parse_size(uint64_t *size_bytes, const char *text)
{
	static const char letters[] = "kmg";
	const char *letter;
	unsigned int shift = 0;
	int rc = kmesp_scan_number(&text, NULL, size_bytes);

	if (rc == -EINVAL)
		return rc;
	if (*text) {
		letter = strchr(letters, *text | 0x20);
		if (!letter || (text[1] && strcasecmp(text + 1, "ib") != 0))
			return -EINVAL;
		shift = 10 * (unsigned int)(letter - letters + 1);
	}
	if (rc || *size_bytes > UINT64_MAX >> shift)
		return -ERANGE;
	*size_bytes <<= shift;
	return 0;
}

int cli_parse_rate(uint64_t *per_second, const char *text)
{
	int rc = kmesp_scan_number(&text, NULL, per_second);

	if (rc == -EINVAL || (*text && strcmp(text, "/s") != 0))
		return -EINVAL;
	return rc;
}

uint64_t cli_number(struct cli *cli, const char *text, uint64_t min, uint64_t max)
{
	char what[96];
	uint64_t number = 0;
	int rc = cli_parse_number(&number, text);

	if (rc == -EINVAL)
		cli_value_error(cli, "not a number", text);
	if (rc == 0 && number >= min && number <= max)
		return number;
	snprintf(what, sizeof(what), "not between %llu and %llu", (unsigned long long)min,
		 (unsigned long long)max);
	cli_value_error(cli, what, text);
}

uint64_t cli_time(struct cli *cli, const char *text)
{
	uint64_t time_ns = 0;

	switch (cli_parse_time(&time_ns, text)) {
	case 0:
		return time_ns;
	case -ERANGE:
		cli_value_error(cli, "longer than 2^63 ns (292 years)", text);
	default:
		cli_value_error(cli, "not a time such as 10, 1.5s, 20ms, 5m, 2h or 1d",
				text);
	}
}

uint64_t cli_size(struct cli *cli, const char *text)
{
	uint64_t size_bytes = 0;

	switch (cli_parse_size(&size_bytes, text)) {
	case 0:
		return size_bytes;
	case -ERANGE:
		cli_value_error(cli, "more than 2^64-1 bytes", text);
	default:
		cli_value_error(cli, "not a size such as 65536, 64K or 4MiB", text);
	}
}

uint64_t cli_rate(struct cli *cli, const char *text)
{
	uint64_t per_second = 0;
	int rc = cli_parse_rate(&per_second, text);

	if (rc == -ERANGE)
		cli_value_error(cli, "more than 2^64-1 per second", text);
	if (rc || !per_second)
		cli_value_error(cli, "not a rate such as 100 or 100/s", text);
	return per_second;
}
