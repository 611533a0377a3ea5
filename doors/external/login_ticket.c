#include "doors/external/login_ticket.h"

#include "base/text.h"

const struct backend *
login_backend_of(const struct backends *set, struct str subdomain)
{
	for (size_t i = 0; i < backends_n(set); i++) {
		const struct backend *b = backends_nth(set, i);
		for (size_t j = 0; j < b->subdomains_n; j++)
			if (str_eq(b->subdomains[j], subdomain))
				return b;
	}
	return NULL;
}

bool
login_name_is_valid(struct str name)
{
	return name.n > 0 && name.n <= STORE_USER_BYTES_MAX &&
	    text_is_utf8(name) && !text_has_control(name);
}

enum err
login_ticket_judge(const struct backend *b, struct str ticket,
    const struct store_user *user, enum jwt_act act, struct wall now,
    struct arena *a, struct jwt_claims *out, struct why *w)
{
	const struct jwt_key key = { b->name, b->ticket_key };
	const struct jwt_request r = { .keys = &key,
	    .keys_n = b->ticket_key.n > 0 ? 1 : 0,
	    .audience = user->connector, .subject = user->uuid,
	    .subdomain = user->subdomain, .act = act, .now = now };

	return jwt_verify(ticket, &r, a, out, w);
}

struct str
login_origins(const struct backend *b, struct arena *a)
{
	FREED(buf_free) struct buf all = BUF_INIT;

	for (size_t i = 0; i < b->origins_n; i++) {
		if (i > 0)
			buf_put_char(&all, ',');
		buf_put_str(&all, b->origins[i]);
	}
	return arena_copy(a, buf_str(&all));
}

bool
login_referer_is_known(const struct backend *b, struct str referer)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct url u;

	if (url_parse(referer, NULL, &a, &u, NULL) != OK ||
	    (u.scheme != URL_HTTP && u.scheme != URL_HTTPS))
		return false;
	struct str origin = url_origin(&u, &a);
	for (size_t i = 0; i < b->origins_n; i++)
		if (str_eq(b->origins[i], origin))
			return true;
	return false;
}
