/* Fuzz: any reply to any request, of both kinds of OAuth.  The first byte
 * chooses the status. */
#include "base/text.h"
#include "engine/external/oauth_flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_fault(const struct oauth_fault *f)
{
	CHECK(f->actor < OAUTH_ACTOR_COUNT && f->text[0] != '\0');
	CHECK(!text_has_control(str_of(f->text)));
	CHECK(!f->is_invalid_grant || f->actor == OAUTH_ACTOR_USER);
}

/* The value is safe in a header. */
static void
check_secret(struct str s)
{
	CHECK(s.n <= OAUTH_TOKEN_BYTES_MAX && !text_has_control(s));
	CHECK(str_find_char(s, ' ') == s.n);
}

static void
check_account(const struct oauth_account *a)
{
	CHECK(a->account.n <= OAUTH_ACCOUNT_BYTES_MAX);
	CHECK(a->name.n <= OAUTH_NAME_BYTES_MAX);
	CHECK(!text_has_control(a->account) && !text_has_control(a->name) &&
	    !text_has_control(a->email));
}

static void
read_tokens(const struct oauth_flow *flow, int status, struct str body,
    const struct oauth_tokens *before)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct oauth_tokens t;
	struct oauth_account account;
	struct oauth_fault f;

	if (!oauth_read_tokens(flow, status, body, before, &a, &t, &account,
	    &f)) {
		check_fault(&f);
		return;
	}
	CHECK(t.access.n > 0);
	check_secret(t.access);
	check_secret(t.refresh);
	check_secret(t.secret);
	check_account(&account);
	CHECK(t.expiry.us > flow->now.us);
	CHECK(t.refresh_at.us == 0 || t.refresh.n > 0);
	CHECK(t.refresh_at.us <= t.access_ends.us);
}

static void
read_others(const struct oauth_flow *flow, int status, struct str body)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct oauth_account account;
	struct oauth_client client;
	struct oauth_fault f;
	struct str token, secret;

	if (oauth_read_profile(flow, status, body, &a, &account, &f))
		check_account(&account);
	else
		check_fault(&f);
	if (oauth_read_client(status, body, &a, &client, &f)) {
		check_secret(client.id);
		check_secret(client.secret);
	} else {
		check_fault(&f);
	}
	if (oauth_read_request_token(status, body, &a, &token, &secret, &f)) {
		check_secret(token);
		check_secret(secret);
	} else {
		check_fault(&f);
	}
	if (!oauth_read_revocation(status, body, &f))
		check_fault(&f);
	oauth_callback_fault(body, &f);
	check_fault(&f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const int statuses[] = { 200, 201, 302, 400, 401, 429, 503 };
	const struct oauth_declaration kinds[] = {
		{ .kind = OAUTH_2, .account = STR("/sub"),
		    .name = STR("/name"), .email = STR("/email") },
		{ .kind = OAUTH_1, .account = STR("/user_id"),
		    .name = STR("/screen_name") } };
	const struct oauth_tokens before = { .refresh = STR("r"),
		.refresh_ends = OAUTH_NEVER };
	int status = n == 0 ? 200 : statuses[data[0] % ARRAY_LEN(statuses)];
	struct str body = str_from((struct str){ (const char *)data, n }, 1);

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct oauth_flow flow = { .declared = &kinds[i],
			.now = { INT64_C(1795166296) * US_PER_S } };
		read_tokens(&flow, status, body, NULL);
		read_tokens(&flow, status, body, &before);
		read_others(&flow, status, body);
	}
	return 0;
}
