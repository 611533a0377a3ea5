/* Verifies OAuth 1.0a: signatures, and that each is used once. */
#include "tests/platforms/platforms.h"

#define NONCES_MAX 1000

static struct {
	char list[NONCES_MAX][64];
	size_t n;
} nonces;

/* A parameter of the Authorization field, decoded. */
static struct str
oauth_param(struct request *r, struct str field, const char *name)
{
	struct str part, value;

	while (str_split(&field, ',', &part)) {
		part = str_trim(part);
		size_t at = str_find_char(part, '=');
		if (!str_eq(str_cut(part, 0, at), str_of(name)))
			continue;
		value = str_from(part, at + 1);
		if (str_take_char(&value, '"') && str_ends(value, STR("\"")) &&
		    head_decode(str_cut(value, 0, value.n - 1), false,
		    &r->arena, &value))
			return value;
	}
	return STR_NONE;
}

static bool
is_new_nonce(struct str nonce)
{
	for (size_t i = 0; i < MIN(nonces.n, NONCES_MAX); i++)
		if (str_eq(nonce, str_of(nonces.list[i])))
			return false;
	snprintf(nonces.list[nonces.n++ % NONCES_MAX],
	    sizeof(nonces.list[0]), "%.*s", STR_FMT(nonce));
	return nonce.n > 0 && nonce.n < sizeof(nonces.list[0]);
}

static struct str
form_of(struct request *r)
{
	struct str type;

	return head_find(&r->head, STR("Content-Type"), &r->arena, &type) &&
	    str_starts(type, STR("application/x-www-form-urlencoded")) ?
	    r->body : STR_NONE;
}

bool
oauth_is_signed(struct request *r, const struct oauth1_keys *k)
{
	FREED(buf_free) struct buf signature = BUF_INIT;
	struct str field;

	if (!head_find(&r->head, STR("Authorization"), &r->arena, &field) ||
	    !str_starts(field, STR("OAuth ")))
		return false;
	field = str_from(field, 6);
	struct oauth1_request q = { .method = r->head.method,
		.url = arena_printf(&r->arena, "https://%.*s%.*s",
		    STR_FMT(r->head.host), STR_FMT(r->head.target)),
		.form = form_of(r),
		.nonce = oauth_param(r, field, "oauth_nonce"),
		.has_version = str_eq(STR("1.0"), oauth_param(r, field,
		    "oauth_version")) };

	if (!str_to_i64(oauth_param(r, field, "oauth_timestamp"),
	    &q.timestamp_s) || !str_eq(k->consumer, oauth_param(r, field,
	    "oauth_consumer_key")) || !str_eq(k->token, oauth_param(r, field,
	    "oauth_token")))
		return false;
	oauth1_put_signature(k, &q, &signature);
	return str_eq(buf_str(&signature), oauth_param(r, field,
	    "oauth_signature")) && is_new_nonce(q.nonce);
}
