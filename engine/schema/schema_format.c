#include "engine/schema/schema_format.h"

#include "base/ip.h"
#include "engine/schema/schema_pattern.h"
#include "engine/schema/schema_uri.h"

/* --- dates: RFC 3339 §5.6 ----------------------------------------------- */

static bool
take_two(struct str *s, int most, int *out)
{
	return str_take_digits(s, 2, out) && *out <= most;
}

static bool
take_date(struct str *s)
{
	static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30,
		31 };
	int year, month, day;

	if (!str_take_digits(s, 4, &year) || !str_take_char(s, '-') ||
	    !take_two(s, 12, &month) || month < 1 || !str_take_char(s, '-') ||
	    !take_two(s, days[month - 1], &day) || day < 1)
		return false;
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return leap || month != 2 || day <= 28;
}

/* Take "Z", or "+01:00": minutes to subtract. */
static bool
take_zone(struct str *s, int *minutes)
{
	int hour, minute, sign = 1;

	*minutes = 0;
	if (str_take_char(s, 'Z') || str_take_char(s, 'z'))
		return true;
	if (!str_take_char(s, '+')) {
		if (!str_take_char(s, '-'))
			return false;
		sign = -1;
	}
	if (!take_two(s, 23, &hour) || !str_take_char(s, ':') ||
	    !take_two(s, 59, &minute))
		return false;
	*minutes = sign * (hour * 60 + minute);
	return true;
}

static bool
take_time(struct str *s)
{
	int hour, minute, second, zone;

	if (!take_two(s, 23, &hour) || !str_take_char(s, ':') ||
	    !take_two(s, 59, &minute) || !str_take_char(s, ':') ||
	    !take_two(s, 60, &second))
		return false;
	if (str_take_char(s, '.')) {
		size_t n = 0;
		while (n < s->n && ascii_is_digit(s->p[n]))
			n++;
		if (n == 0)
			return false;
		*s = str_from(*s, n);
	}
	if (!take_zone(s, &zone))
		return false;
	/* Leap seconds are the last of a day in UTC. */
	int utc = (hour * 60 + minute - zone + 2 * 1440) % 1440;
	return second < 60 || utc == 1439;
}

static bool
is_date(struct str s)
{
	return take_date(&s) && s.n == 0;
}

static bool
is_time(struct str s)
{
	return take_time(&s) && s.n == 0;
}

static bool
is_date_time(struct str s)
{
	return take_date(&s) && (str_take_char(&s, 'T') ||
	    str_take_char(&s, 't')) && take_time(&s) && s.n == 0;
}

/* --- names of hosts: RFC 1123 §2.1, RFC 4291 ---------------------------- */

static bool
is_label(struct str s)
{
	if (s.n == 0 || s.n > 63 || s.p[0] == '-' || s.p[s.n - 1] == '-')
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    s.p[i] != '-')
			return false;
	return true;
}

static bool
is_hostname(struct str s)
{
	struct str label;

	if (s.n == 0 || s.n > 253)
		return false;
	while (str_split(&s, '.', &label))
		if (!is_label(label))
			return false;
	return true;
}

static bool
is_ipv4(struct str s)
{
	struct ip ip;

	return str_find_char(s, ':') == s.n && ip_from_text(s, &ip);
}

static bool
is_ipv6(struct str s)
{
	struct ip ip;

	return str_find_char(s, ':') < s.n && ip_from_text(s, &ip);
}

/* --- addresses of mail: RFC 5321 §4.1.2, without quoted ones ------------ */

static bool
is_mailbox(struct str s, bool any_character)
{
	size_t at = str_find_char(s, '@');
	struct str name = str_cut(s, 0, at), host = str_from(s, at + 1);

	if (at == s.n || at == 0 || at > 64 || name.p[0] == '.' ||
	    name.p[at - 1] == '.' || str_find(name, STR("..")) < at)
		return false;
	for (size_t i = 0; i < at; i++) {
		char c = name.p[i];
		if ((unsigned char)c >= 0x80 ? !any_character :
		    !ascii_is_alpha(c) && !ascii_is_digit(c) &&
		    !str_has_char(STR("!#$%&'*+-/=?^_`{|}~."), c))
			return false;
	}
	if (!any_character)
		return is_hostname(host);
	return host.n > 0 && str_find_char(host, '@') == host.n &&
	    str_find_char(host, ' ') == host.n;
}

static bool
is_email(struct str s)
{
	return is_mailbox(s, false);
}

static bool
is_idn_email(struct str s)
{
	return is_mailbox(s, true);
}

/* --- URIs: RFC 3986, RFC 3987 ------------------------------------------- */

static bool
is_uri(struct str s)
{
	return schema_uri_is_absolute(s, false);
}

static bool
is_uri_reference(struct str s)
{
	return schema_uri_is_reference(s, false);
}

static bool
is_iri(struct str s)
{
	return schema_uri_is_absolute(s, true);
}

static bool
is_iri_reference(struct str s)
{
	return schema_uri_is_reference(s, true);
}

/* --- pointers: RFC 6901 ------------------------------------------------- */

static bool
is_json_pointer(struct str s)
{
	if (s.n > 0 && s.p[0] != '/')
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' &&
		    s.p[i + 1] != '1')))
			return false;
	return true;
}

/* Levels up without a leading zero, then "#" or a pointer. */
static bool
is_relative_json_pointer(struct str s)
{
	size_t n = 0;

	while (n < s.n && ascii_is_digit(s.p[n]))
		n++;
	if (n == 0 || (n > 1 && s.p[0] == '0'))
		return false;
	s = str_from(s, n);
	return str_eq(s, STR("#")) || is_json_pointer(s);
}

/* A few bytes can make PCRE2 compile 64 KiB of code. */
#define REGEX_STEPS 1000u

static const struct schema_format formats[] = {
	{ "date-time", is_date_time, 1 },
	{ "date", is_date, 1 },
	{ "time", is_time, 1 },
	{ "email", is_email, 1 },
	{ "idn-email", is_idn_email, 1 },
	{ "hostname", is_hostname, 1 },
	{ "ipv4", is_ipv4, 1 },
	{ "ipv6", is_ipv6, 1 },
	{ "uri", is_uri, 1 },
	{ "uri-reference", is_uri_reference, 1 },
	{ "iri", is_iri, 1 },
	{ "iri-reference", is_iri_reference, 1 },
	{ "json-pointer", is_json_pointer, 1 },
	{ "relative-json-pointer", is_relative_json_pointer, 1 },
	{ "regex", schema_pattern_is_valid, REGEX_STEPS },
};

const struct schema_format *
schema_format_find(struct str name)
{
	size_t i = STR_ROW(name, formats);

	return i == ARRAY_LEN(formats) ? NULL : &formats[i];
}
