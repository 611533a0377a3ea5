/*
 * The URL of a broker.  Source: RabbitMQ's URI specification, but for what it
 * allows and we refuse: a password, a query, an empty host.  Nothing of the URL
 * is quoted in an error: it may contain a password.
 */
#include "os/broker_own.h"

#include "base/ip.h"
#include "base/text.h"

static enum err
refuse(struct why *w, const char *what)
{
	return why_field(w, ERR_CONFIG, "url", "%s", what);
}

/* Decode percent-encoding into a C string of at most its maximum. */
static bool
decode(struct str s, char out[static BROKER_NAME_BYTES_MAX + 1])
{
	size_t n = 0;

	while (s.n > 0) {
		int byte = (unsigned char)*s.p;
		if (byte == '%')
			byte = str_percent_byte(s);
		if (byte <= 0 || n == BROKER_NAME_BYTES_MAX)
			return false;
		out[n++] = (char)byte;
		s = str_from(s, *s.p == '%' ? 3 : 1);
	}
	out[n] = '\0';
	return true;
}

static enum err
take_scheme(struct str *s, struct broker_url *u, struct why *w)
{
	const struct str plain = STR("amqp://"), tls = STR("amqps://");

	u->tls = str_starts_nocase(*s, tls);
	if (!u->tls && !str_starts_nocase(*s, plain))
		return refuse(w, "it does not begin with amqp:// or amqps://");
	*s = str_from(*s, u->tls ? tls.n : plain.n);
	u->port = u->tls ? 5671 : 5672;
	return OK;
}

static enum err
take_user(struct str *s, struct broker_url *u, struct why *w)
{
	size_t at = str_find_char(*s, '@');
	struct str user = str_cut(*s, 0, at);

	if (at == s->n) {
		memcpy(u->user, "guest", sizeof("guest"));
		return OK;
	}
	if (str_find_char(user, ':') < user.n)
		return refuse(w, "it contains a password, which belongs into "
		    "a file");
	if (user.n == 0 || !decode(user, u->user))
		return refuse(w, "the user's name is none");
	*s = str_from(*s, at + 1);
	return OK;
}

static enum err
take_port(struct str s, struct broker_url *u, struct why *w)
{
	uint64_t port;

	if (s.n == 0)
		return OK;
	if (*s.p != ':' || !str_to_u64(str_from(s, 1), &port) || port == 0 ||
	    port > UINT16_MAX)
		return refuse(w, "the port is none");
	u->port = (uint16_t)port;
	return OK;
}

static bool
is_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    !str_has_char(STR("-._"), s.p[i]))
			return false;
	return s.n > 0;
}

/* HOST[:PORT] or [IPv6][:PORT] */
static enum err
take_host(struct str s, struct broker_url *u, struct why *w)
{
	bool bracketed = str_take_char(&s, '[');
	size_t end = str_find_char(s, bracketed ? ']' : ':');
	struct str host = str_cut(s, 0, end);
	struct ip ip;

	if ((bracketed ? end == s.n || !ip_from_text(host, &ip) :
	    !is_name(host)) || !decode(host, u->host))
		return refuse(w, "it names no host");
	return take_port(str_from(s, end + bracketed), u, w);
}

/* What follows the host: nothing, "/", "/VHOST". */
static enum err
take_vhost(struct str s, struct broker_url *u, struct why *w)
{
	s = str_from(s, 1);
	if (s.n == 0)
		s = STR("%2f");
	if (str_find_char(s, '/') < s.n || str_find_char(s, '@') < s.n ||
	    !decode(s, u->vhost))
		return refuse(w, "the vhost is none; / and @ in its name are "
		    "written %2F and %40");
	return OK;
}

enum err
broker_url_parse(struct str s, struct broker_url *u, struct why *w)
{
	*u = (struct broker_url){ .tls = false };
	if (text_has_control(s) || str_find_char(s, ' ') < s.n)
		return refuse(w, "it contains a blank or a control character");
	if (str_find_char(s, '?') < s.n || str_find_char(s, '#') < s.n)
		return refuse(w, "it has a query or a fragment");
	enum err e = take_scheme(&s, u, w);
	if (e != OK)
		return e;
	size_t slash = str_find_char(s, '/');
	struct str place = str_cut(s, 0, slash);
	e = take_user(&place, u, w);
	if (e == OK)
		e = take_host(place, u, w);
	return e == OK ? take_vhost(str_from(s, slash), u, w) : e;
}
