#include "engine/archive/archive_name.h"

#define OPEN_SUFFIX STR(".open")

struct str
archive_name_make(struct str prefix, struct wall t, uint32_t serial,
    struct str token, struct arena *a)
{
	char digits[18];

	CHECK(token.n == ARCHIVE_TOKEN_CHARS);
	wall_to_digits(t, 17, digits);
	return arena_printf(a, "%.*s-%s-%05u-%.*s.warc.gz", STR_FMT(prefix),
	    digits, serial, STR_FMT(token));
}

/* The part of `*s` behind its last '-', which is cut off with the '-'. */
static bool
take_last(struct str *s, struct str *part)
{
	size_t at = s->n;

	while (at > 0 && s->p[at - 1] != '-')
		at--;
	if (at == 0)
		return false;
	*part = str_from(*s, at);
	*s = str_cut(*s, 0, at - 1);
	return true;
}

static bool
is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_digit(s.p[i]) &&
		    !(s.p[i] >= 'a' && s.p[i] <= 'z'))
			return false;
	return s.n == ARCHIVE_TOKEN_CHARS;
}

bool
archive_name_parse(struct str name, struct archive_name *out)
{
	struct str rest = name, serial;
	uint64_t number, time;

	memset(out, 0, sizeof(*out));
	out->zstd = str_ends(name, STR(".warc.zst"));
	if (!out->zstd && !str_ends(name, STR(".warc.gz")))
		return false;
	rest = str_cut(rest, 0, rest.n - (out->zstd ? 9 : 8));
	if (!take_last(&rest, &out->token) || !take_last(&rest, &serial) ||
	    !take_last(&rest, &out->digits))
		return false;
	out->prefix = rest;
	if (!is_token(out->token) || serial.n < 5 || serial.n > 9 ||
	    !str_to_u64(serial, &number) || out->digits.n != 17 ||
	    !str_to_u64(out->digits, &time) || rest.n == 0)
		return false;
	out->serial = (uint32_t)number;
	return true;
}

bool
archive_name_is_warc(struct str name)
{
	return name.n > 0 && name.p[0] != '.' &&
	    (str_ends(name, STR(".warc")) || str_ends(name, STR(".warc.gz")) ||
	    str_ends(name, STR(".warc.zst")));
}

struct str
archive_base_name(struct str path)
{
	size_t at = path.n;

	while (at > 0 && path.p[at - 1] != '/')
		at--;
	return str_from(path, at);
}

struct str
archive_dir_name(struct str path)
{
	size_t n = path.n - archive_base_name(path).n;

	return str_cut(path, 0, n == 0 ? 0 : n - 1);
}

struct str
archive_final_name(struct str entry)
{
	return str_ends(entry, OPEN_SUFFIX) ?
	    str_cut(entry, 0, entry.n - OPEN_SUFFIX.n) : entry;
}
