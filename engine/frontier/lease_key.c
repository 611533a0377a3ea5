/*
 * The key of a URL that came without one (urlfrontier.md, section 2).
 */
#include "engine/frontier/lease_service.h"

struct str
lease_key(struct str url)
{
	size_t scheme = str_find(url, STR("://"));
	bool host = scheme < url.n;
	struct str rest = host ? str_from(url, scheme + 3) : url;
	size_t at;

	for (const char *end = "/?#&"; *end != '\0'; end++)
		rest = str_cut(rest, 0, str_find_char(rest, *end));
	while (host && (at = str_find_char(rest, '@')) < rest.n)
		rest = str_from(rest, at + 1);
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
