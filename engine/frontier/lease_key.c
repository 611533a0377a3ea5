/*
 * The key of a URL that came without one (urlfrontier.md, section 2).
 */
#include "engine/frontier/lease_service.h"

static size_t
find_any(struct str s, struct str set)
{
	size_t i = 0;

	while (i < s.n && str_find_char(set, s.p[i]) == set.n)
		i++;
	return i;
}

static struct str
behind_last(struct str s, char c)
{
	size_t i = s.n;

	while (i > 0 && s.p[i - 1] != c)
		i--;
	return str_from(s, i);
}

struct str
lease_key(struct str url)
{
	size_t scheme = str_find(url, STR("://"));
	bool host = scheme < url.n;
	struct str rest = host ? str_from(url, scheme + 3) : url;

	rest = str_cut(rest, 0, find_any(rest, STR("/?#&")));
	if (host)
		rest = behind_last(rest, '@');
	if (rest.n > 0 && rest.p[0] == '[')
		return str_cut(rest, 0, str_find_char(rest, ']') + 1);
	return str_cut(rest, 0, str_find_char(rest, ':'));
}

size_t
lease_key_units(struct str key)
{
	size_t units = 0;

	for (size_t i = 0; i < key.n; i++) {
		unsigned char c = (unsigned char)key.p[i];
		/* Bytes that continue a character count nothing. */
		if ((c & 0xc0) != 0x80)
			units += c >= 0xf0 ? 2 : 1;
	}
	return units;
}
