/* Simulated Twitter: hosts, budgets, the plan's faults, tests' own calls. */
#include "tests/platforms/twitter.h"

static const char *const hosts[] = { "api.twitter.com", "api.x.com",
	"stream.twitter.com", NULL };

/* ---- Budgets and faults ------------------------------------------------ */

static void
put_budget(struct request *r, const struct budget *b)
{
	buf_printf(&r->fields, "x-rate-limit-limit: %llu\r\n"
	    "x-rate-limit-remaining: %llu\r\n",
	    (unsigned long long)b->limit, (unsigned long long)b->left);
	if (r->fault.reset != DATE_TEXT)
		buf_printf(&r->fields, "x-rate-limit-reset: %lld\r\n",
		    (long long)wall_s(b->reset));
}

static bool
is_second_api(const struct request *r)
{
	return str_starts(r->head.path, STR("/2/"));
}

static void
fail_with(struct request *r, int status)
{
	if (is_second_api(r))
		twitter2_fail(r, status, status == 429 ? "Too Many Requests" :
		    status == 401 ? "Unauthorized" : "So the plan says", NULL);
	else
		twitter1_fail(r, status, status == 429 ? 88 : status == 401 ?
		    32 : 131, status == 429 ? "Rate limit exceeded" :
		    status == 401 ? "Could not authenticate you." :
		    "Internal error");
}

/* A status that the plan wants in place of an answer. */
static void
fail_by_plan(struct request *r, struct budget *b)
{
	if (r->fault.status == 429)
		b->left = 0;
	if (r->fault.reset == DATE_IN)
		b->reset.us = r->now.us + r->fault.reset_s * US_PER_S;
	put_budget(r, b);
	if (r->fault.retry_after.n > 0)
		buf_printf(&r->fields, "Retry-After: %.*s\r\n",
		    STR_FMT(r->fault.retry_after));
	fail_with(r, r->fault.status);
}

bool
twitter_may_call(struct request *r, const char *family, uint64_t limit)
{
	struct budget budget;

	budget_take(arena_printf(&r->arena, "twitter %s %s", family, r->who),
	    limit, TWITTER_PERIOD_S, &budget);
	if (r->fault.status != 0) {
		fail_by_plan(r, &budget);
		return false;
	}
	put_budget(r, &budget);
	if (budget.exceeded)
		fail_with(r, 429);
	return !budget.exceeded;
}

/* Whether there is a stream, of an application and of a user. */
static bool has_stream[2];

static bool *
stream_of(const struct request *r)
{
	return &has_stream[strcmp(r->who, "user") == 0];
}

static void
end_stream(struct request *r)
{
	*stream_of(r) = false;
}

bool
twitter_begin_stream(struct request *r)
{
	if (*stream_of(r))
		return false;
	r->stream_end = end_stream;
	return *stream_of(r) = true;
}

static void
change_by_plan(struct request *r)
{
	const struct fault *f = &r->fault;
	struct twitter_account *a = twitter_account_find(f->suspend);

	if (f->expire)
		twitter_expire();
	if (f->rename.n > 0)
		(void)twitter_rename(f->rename, f->rename_to);
	if (f->suspend.n > 0 && a != NULL)
		a->suspended = true;
}

static void
answer(struct request *r)
{
	change_by_plan(r);
	if (str_eq(r->head.path, STR("/oauth2/token"))) {
		if (r->fault.status != 0)
			fail_with(r, r->fault.status);
		else if (str_eq(r->head.method, STR("POST")))
			twitter_answer_token(r);
		return;
	}
	enum twitter_auth auth = twitter_auth_of(r);
	if (auth <= AUTH_WRONG)
		fail_with(r, 401);
	else if (is_second_api(r) && !str_eq(r->host,
	    STR("stream.twitter.com")))
		twitter2_answer(r, auth);
	else
		twitter1_answer(r, auth);
}

/* ---- For tests --------------------------------------------------------- */

static void
describe_list(struct buf *out, const char *name, const struct tweet_list *l)
{
	json_array(out, name);
	for (size_t i = 0; i < twitter_world.tweets_n; i++) {
		char id[24];
		if (!twitter_is_listed(l, &twitter_world.tweets[i]))
			continue;
		snprintf(id, sizeof(id), "%llu",
		    (unsigned long long)twitter_world.tweets[i].id);
		json_item(out, str_of(id));
	}
	buf_put_text(out, "]");
}

static void
describe_account(struct buf *out, const struct twitter_account *a)
{
	const struct tweet_list l = { .account = a };

	json_object(out, NULL);
	json_str(out, "name", str_of(a->name));
	twitter_put_id(out, "id", a->id);
	json_bool(out, "protected", a->is_protected);
	json_bool(out, "suspended", a->suspended);
	describe_list(out, "tweets", &l);
	buf_put_text(out, "}");
}

static void
describe_rules(struct buf *out)
{
	json_array(out, "rules");
	for (size_t i = 0; i < twitter_world.rules_n; i++)
		json_item(out, str_of(twitter_world.rules[i].value));
	buf_put_text(out, "]");
}

static void
describe(struct str host, struct buf *out)
{
	(void)host;
	json_object(out, NULL);
	twitter_describe_keys(out);
	json_array(out, "accounts");
	for (size_t i = 0; i < twitter_world.accounts_n; i++)
		describe_account(out, &twitter_world.accounts[i]);
	buf_put_text(out, "]");
	json_object(out, "searches");
	for (unsigned w = 0; w < WORDS_N; w++)
		describe_list(out, twitter_words[w], &(struct tweet_list){
			.query = str_of(twitter_words[w]) });
	describe_list(out, "place", &(struct tweet_list){
		.query = STR("point_radius:[0 0 1mi]") });
	buf_put_text(out, "}");
	describe_rules(out);
	buf_put_text(out, "}\n");
}

static bool
add_tweets(yyjson_val *what)
{
	struct twitter_account *a = twitter_account_find(json_text(
	    yyjson_obj_get(what, "account")));

	if (a == NULL)
		return false;
	for (uint64_t n = yyjson_get_uint(yyjson_obj_get(what, "n")); n > 0;
	    n--)
		twitter_add_tweet((unsigned)(a - twitter_world.accounts),
		    clock_wall());
	return true;
}

static bool
set_limits(yyjson_val *what)
{
	yyjson_val *reads = yyjson_obj_get(what, "reads");
	yyjson_val *rules = yyjson_obj_get(what, "rules_max");

	if (reads != NULL)
		twitter_world.reads_left = yyjson_get_uint(reads);
	if (rules != NULL)
		twitter_world.rules_max = MIN(yyjson_get_uint(rules),
		    TWITTER_RULES_MAX);
	return reads != NULL || rules != NULL;
}

static bool
change(struct str host, yyjson_val *what, char sentence[static 200])
{
	yyjson_val *add = yyjson_obj_get(what, "add");
	yyjson_val *rename = yyjson_obj_get(what, "rename");
	struct twitter_account *suspend = twitter_account_find(json_text(
	    yyjson_obj_get(what, "suspend")));
	uint64_t id = 0;

	(void)host;
	snprintf(sentence, 200, "there is no such account or tweet");
	if (add != NULL)
		return add_tweets(add);
	if (rename != NULL)
		return twitter_rename(json_text(yyjson_obj_get(rename,
		    "account")), json_text(yyjson_obj_get(rename, "to")));
	if (suspend != NULL)
		return suspend->suspended = true;
	if (str_to_u64(json_text(yyjson_obj_get(what, "delete")), &id)) {
		struct tweet *t = twitter_tweet(id);
		if (t != NULL)
			twitter_delete_tweet(t);
		return t != NULL;
	}
	return set_limits(what);
}

const struct platform twitter_platform = { .name = "twitter",
	.hosts = hosts, .make = twitter_world_make, .answer = answer,
	.describe = describe, .change = change };
