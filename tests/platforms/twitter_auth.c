/*
 * Who may ask simulated Twitter: an application by a bearer token, given or
 * fetched, or a user by OAuth 1.0a, whose signatures are verified.
 */
#include "tests/platforms/twitter.h"
#include "wire/base64.h"
#include "wire/oauth1.h"

#define NONCES_MAX 1000

static struct {
	char consumer_key[40], consumer_secret[60];
	char access_token[60], access_token_secret[60];
	char bearer_token[140];
	char app_token[140];         /* the one that may be fetched */
	bool expired;                /* all of them but the application's */
	/* A signature is good once. */
	char nonces[NONCES_MAX][64];
	size_t nonces_n;
} keys;

/* ---- Making ------------------------------------------------------------ */

#define MAKE(field, ...) snprintf(keys.field, sizeof(keys.field), __VA_ARGS__)

static void
make_app_token(uint64_t *random)
{
	MAKE(app_token, "AAAA%016llx%%3D%016llx",
	    (unsigned long long)random_next(random),
	    (unsigned long long)random_next(random));
}

/* Secrets have characters that must be encoded. */
void
twitter_auth_make(uint64_t *random)
{
	unsigned long long n = random_next(random);

	MAKE(consumer_key, "ck%016llx", n);
	MAKE(consumer_secret, "c/s+%016llx=", n ^ 1);
	MAKE(access_token, "14-at%016llx", n ^ 2);
	MAKE(access_token_secret, "at&s %016llx", n ^ 3);
	MAKE(bearer_token, "AAAA%016llx%%2B%016llx", n ^ 4, n ^ 5);
	make_app_token(random);
}

void
twitter_expire(void)
{
	keys.expired = true;
	make_app_token(&twitter_world.random);
}

void
twitter_describe_keys(struct buf *out)
{
	json_object(out, "credentials");
	json_str(out, "consumer_key", str_of(keys.consumer_key));
	json_str(out, "consumer_secret", str_of(keys.consumer_secret));
	json_str(out, "access_token", str_of(keys.access_token));
	json_str(out, "access_token_secret",
	    str_of(keys.access_token_secret));
	json_str(out, "bearer_token", str_of(keys.bearer_token));
	buf_put_text(out, "}");
}

/* ---- OAuth 1.0a -------------------------------------------------------- */

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
	for (size_t i = 0; i < MIN(keys.nonces_n, NONCES_MAX); i++)
		if (str_eq(nonce, str_of(keys.nonces[i])))
			return false;
	snprintf(keys.nonces[keys.nonces_n++ % NONCES_MAX],
	    sizeof(keys.nonces[0]), "%.*s", STR_FMT(nonce));
	return nonce.n > 0 && nonce.n < sizeof(keys.nonces[0]);
}

static struct str
form_of(struct request *r)
{
	struct str type;

	return head_find(&r->head, STR("Content-Type"), &r->arena, &type) &&
	    str_starts(type, STR("application/x-www-form-urlencoded")) ?
	    r->body : STR_NONE;
}

static bool
is_signed(struct request *r, struct str field)
{
	FREED(buf_free) struct buf signature = BUF_INIT;
	const struct oauth1_keys k = { str_of(keys.consumer_key),
		str_of(keys.consumer_secret), str_of(keys.access_token),
		str_of(keys.access_token_secret) };
	struct oauth1_request q = { .method = r->head.method,
		.url = arena_printf(&r->arena, "https://%.*s%.*s",
		    STR_FMT(r->head.host), STR_FMT(r->head.target)),
		.form = form_of(r),
		.nonce = oauth_param(r, field, "oauth_nonce"),
		.has_version = str_eq(STR("1.0"), oauth_param(r, field,
		    "oauth_version")) };

	if (!str_to_i64(oauth_param(r, field, "oauth_timestamp"),
	    &q.timestamp_s) || !str_eq(k.consumer, oauth_param(r, field,
	    "oauth_consumer_key")) || !str_eq(k.token, oauth_param(r, field,
	    "oauth_token")))
		return false;
	oauth1_put_signature(&k, &q, &signature);
	return str_eq(buf_str(&signature), oauth_param(r, field,
	    "oauth_signature")) && is_new_nonce(q.nonce);
}

/* ---- Any --------------------------------------------------------------- */

static enum twitter_auth
read_auth(struct request *r)
{
	struct str field, token = request_bearer(r);

	if (token.n > 0 && str_eq(token, str_of(keys.app_token)))
		return AUTH_APP;
	if (token.n > 0)
		return !keys.expired && str_eq(token,
		    str_of(keys.bearer_token)) ? AUTH_APP : AUTH_WRONG;
	if (!head_find(&r->head, STR("Authorization"), &r->arena, &field))
		return AUTH_NONE;
	if (!str_starts(field, STR("OAuth ")))
		return AUTH_WRONG;
	return !keys.expired && is_signed(r, str_from(field, 6)) ? AUTH_USER :
	    AUTH_WRONG;
}

enum twitter_auth
twitter_auth_of(struct request *r)
{
	static const char *const names[] = { "nobody", "stranger", "app",
		"user" };
	enum twitter_auth auth = read_auth(r);

	r->who = names[auth];
	return auth;
}

/* ---- Tokens of applications -------------------------------------------- */

static bool
is_application(struct request *r)
{
	FREED(buf_free) struct buf pair = BUF_INIT;
	struct str field, key, secret;

	if (!head_find(&r->head, STR("Authorization"), &r->arena, &field) ||
	    !str_starts_nocase(field, STR("Basic ")) ||
	    !base64_read(&pair, str_trim(str_from(field, 6))))
		return false;
	size_t at = str_find_char(buf_str(&pair), ':');
	/* RFC 6749 §2.3.1 wants both encoded; clients differ. */
	return head_decode(str_cut(buf_str(&pair), 0, at), false, &r->arena,
	    &key) && str_eq(key, str_of(keys.consumer_key)) &&
	    (str_eq(str_from(buf_str(&pair), at + 1),
	    str_of(keys.consumer_secret)) ||
	    (head_decode(str_from(buf_str(&pair), at + 1), true, &r->arena,
	    &secret) && str_eq(secret, str_of(keys.consumer_secret))));
}

void
twitter_answer_token(struct request *r)
{
	struct str kind;
	size_t at = 0;

	r->who = "application";
	if (!is_application(r) || !head_param(r->body, &at,
	    STR("grant_type"), &r->arena, &kind) ||
	    !str_eq(kind, STR("client_credentials"))) {
		r->status = 403;
		buf_put_text(&r->out, "{\"errors\":[{\"code\":99,\"message\":"
		    "\"Unable to verify your credentials\",\"label\":"
		    "\"authenticity_token_error\"}]}");
		return;
	}
	r->status = 200;
	json_object(&r->out, NULL);
	json_str(&r->out, "token_type", STR("bearer"));
	json_str(&r->out, "access_token", str_of(keys.app_token));
	buf_put_text(&r->out, "}");
}
