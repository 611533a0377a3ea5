/*
 * Who may ask simulated Twitter: an application by a bearer token, given or
 * fetched, or a user by OAuth 1.0a, whose signatures are verified.
 */
#include "tests/platforms/twitter.h"
#include "wire/base64.h"

static struct {
	char consumer_key[40], consumer_secret[60];
	char access_token[60], access_token_secret[60];
	char bearer_token[140];
	char app_token[140];         /* the one that may be fetched */
	bool expired;                /* all of them but the application's */
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

static bool
is_signed(struct request *r)
{
	return oauth_is_signed(r, &(struct oauth1_keys){
		str_of(keys.consumer_key), str_of(keys.consumer_secret),
		str_of(keys.access_token),
		str_of(keys.access_token_secret) });
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
	return !keys.expired && is_signed(r) ? AUTH_USER :
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
