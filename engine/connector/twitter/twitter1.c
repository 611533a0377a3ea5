/* Searches and timelines by API v1.1. */
#include "engine/connector/twitter/twitter.h"
#include "engine/connector/twitter/twitter1.h"
#include "engine/connector/twitter/twitter_own.h"
#include "engine/connector/url_text.h"

#define BASE "https://api.twitter.com/1.1/"

static const int statuses[] = { 400, 401, 403, 404, 429, 0 };

/* ---- Calls ------------------------------------------------------------- */

static void
put_bounds(struct twitter_run *t)
{
	struct str since = twitter_since(t);

	if (since.n > 0)
		url_text_param(&t->run.url, "since_id", since);
	if (t->cursor.n > 0)
		url_text_param(&t->run.url, "max_id", buf_str(&t->cursor));
}

static void
call_search(struct seed_run *r, struct connector_call *call)
{
	const struct connector_seed *s = seed_run_seed(r);
	struct str query = twitter_seed_query(s);
	struct str geocode = twitter_seed_geocode(s);

	buf_put_text(&r->url, BASE "search/tweets.json");
	if (query.n > 0)
		url_text_param(&r->url, "q", query);
	url_text_param(&r->url, "count", STR("100"));
	url_text_param(&r->url, "result_type", STR("recent"));
	url_text_param(&r->url, "tweet_mode", STR("extended"));
	url_text_param(&r->url, "include_entities", STR("true"));
	if (geocode.n > 0)
		url_text_param(&r->url, "geocode", geocode);
	put_bounds((struct twitter_run *)r);
	call->budget = "search";
	call->statuses = statuses;
	twitter1_authorise(call);
}

static void
put_user(struct seed_run *r)
{
	const struct connector_seed *s = seed_run_seed(r);

	buf_put_text(&r->url, BASE "users/show.json");
	if (s->uid.n > 0)
		url_text_param(&r->url, "user_id", s->uid);
	else
		url_text_param(&r->url, "screen_name", twitter_seed_name(s));
}

static void
put_timeline(struct twitter_run *t)
{
	struct buf *url = &t->run.url;

	buf_put_text(url, BASE "statuses/user_timeline.json");
	url_text_param(url, "user_id", buf_str(&t->account));
	url_text_param(url, "count", STR("200"));
	url_text_param(url, "tweet_mode", STR("extended"));
	put_bounds(t);
}

static void
call_timeline(struct seed_run *r, struct connector_call *call)
{
	if (r->step == TWITTER_USER)
		put_user(r);
	else
		put_timeline((struct twitter_run *)r);
	call->budget = r->step == TWITTER_USER ? "user" : "timeline";
	call->statuses = statuses;
	twitter1_authorise(call);
}

/* ---- Refusals ---------------------------------------------------------- */

static void
fail_run(struct seed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	twitter1_put_failure(&text, answer);
	seed_run_fail(r, f, "harvest_Unauthorized", " refuses the credential"
	    "%s", buf_text(&text));
}

/* What is the matter with an account; NULL: it is the credential. */
static const char *
trouble_of(const struct seed_run *r, const struct connector_answer *answer)
{
	if (twitter1_refuses_credential(answer))
		return NULL;
	if (twitter1_error(answer) == 63)
		return "suspended";
	if (answer->status == 404 || answer->status == 400)
		return "not_found";
	/* Its tweets are refused where it is protected. */
	return r->step == TWITTER_PAGE && answer->status == 401 ?
	    "unauthorized" : NULL;
}

static void
refuse_timeline(struct twitter_run *t, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	const char *trouble = trouble_of(&t->run, answer);

	if (trouble == NULL)
		fail_run(&t->run, answer, f);
	else
		twitter_skip_user(t, f, trouble);
}

static void
refuse_search(struct twitter_run *t, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	bool about_query = answer->status == 400 || answer->status == 404 ||
	    twitter1_error(answer) != 0;

	if (twitter1_refuses_credential(answer) || !about_query) {
		fail_run(&t->run, answer, f);
		return;
	}
	twitter1_put_failure(&text, answer);
	seed_run_skip(&t->run, f, "token_unknown_error", " is refused%s",
	    buf_text(&text));
}

/* ---- Answers ----------------------------------------------------------- */

static void
answer_user(struct twitter_run *t, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	struct str id = json_text(yyjson_obj_get(answer->json, "id_str"));

	if (!twitter_is_account_id(id))
		seed_run_again(&t->run, f, "an account without an id");
	else if (yyjson_is_true(yyjson_obj_get(answer->json, "protected")))
		twitter_skip_user(t, f, "unauthorized");
	else
		twitter_found_user(t, f, id, json_text(yyjson_obj_get(
		    answer->json, "screen_name")));
}

static uint64_t
id_of(yyjson_val *tweet)
{
	uint64_t id = twitter_id(yyjson_obj_get(tweet, "id_str"));

	return id != 0 ? id : twitter_id(yyjson_obj_get(tweet, "id"));
}

/* A timeline may have tweets of another account, where the one that was asked
 * for is gone. */
static bool
is_of_seed(const struct twitter_run *t, yyjson_val *tweet)
{
	struct str user = json_text(yyjson_obj_get(yyjson_obj_get(tweet,
	    "user"), "id_str"));

	return t->account.n == 0 || user.n == 0 ||
	    str_eq(user, buf_str(&t->account));
}

static void
read_page(struct twitter_run *t, yyjson_val *list, struct twitter_page *p,
    const struct connector_findings *f)
{
	unsigned wanted = twitter_wanted_urls(t->run.run.order);
	size_t i, n;
	yyjson_val *tweet;

	*p = (struct twitter_page){ .n = 0 };
	yyjson_arr_foreach(list, i, n, tweet) {
		if (!is_of_seed(t, tweet)) {
			twitter_pass_tweet(p, id_of(tweet));
			continue;
		}
		twitter_add_tweet(p, id_of(tweet));
		twitter1_find_urls(tweet, wanted, f);
	}
}

static bool
is_known(const struct twitter_run *t, uint64_t id)
{
	uint64_t since;

	return str_to_u64(twitter_since(t), &since) && id <= since;
}

/* The list goes on up to the id before the oldest, unless it is one that the
 * last run has read. */
static void
answer_page(struct twitter_run *t, yyjson_val *list,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf cursor = BUF_INIT;
	struct twitter_page p;

	read_page(t, list, &p, f);
	if (p.oldest > 1 && !is_known(t, p.oldest))
		buf_put_decimal(&cursor, p.oldest - 1, 1);
	p.cursor = buf_str(&cursor);
	if (p.with_id == 0 && p.n > 0)
		seed_run_again(&t->run, f, "a page of tweets without ids");
	else
		twitter_leave_page(t, &p, f);
}

static void
answer_call(struct seed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	struct twitter_run *t = (struct twitter_run *)r;
	bool timeline = r->kind->name_field == NULL;
	yyjson_val *list = timeline ? answer->json :
	    yyjson_obj_get(answer->json, "statuses");

	if (answer->status == 429) {
		twitter_wait(t, answer, f);
		return;
	}
	t->waits = 0;
	if (answer->status >= 400 && timeline)
		refuse_timeline(t, answer, f);
	else if (answer->status >= 400)
		refuse_search(t, answer, f);
	else if (r->step == TWITTER_USER)
		answer_user(t, answer, f);
	else if (yyjson_is_arr(list))
		answer_page(t, list, f);
	else
		seed_run_again(r, f, "no list of tweets");
}

/* ---- The rows ---------------------------------------------------------- */

#define KIND                                                                 \
	.service = "Twitter", .items = TWITTER_LABEL,                        \
	.steps_n = TWITTER_STEPS_N, .bytes = sizeof(struct twitter_run),     \
	.check = twitter_check, .answer = answer_call, .save = twitter_save, \
	.load = twitter_load, .free = twitter_free

static const struct seed_run_kind search_kind = {
	.seed = "search", .name_field = "query",
	.begin = twitter_begin_search, .call = call_search, KIND
};

static const struct seed_run_kind timeline_kind = {
	.seed = "account", .begin = twitter_begin_timeline,
	.call = call_timeline, KIND
};

static enum err
open_search(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&search_kind, o, out, w);
}

static enum err
open_timeline(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&timeline_kind, o, out, w);
}

static const struct connector_param params[] = {
	SEED_RUN_PARAMS("tweets"),
	TWITTER_URL_PARAMS,
	{ .name = NULL },
};

static const struct connector_param fields[] = {
	{ "query", CONNECTOR_TEXT, false, 0, 0, NULL,
	    "What is searched for, in Twitter's words" },
	{ "geocode", CONNECTOR_TEXT, false, 0, 0, NULL,
	    "Latitude, longitude and radius, 38.89,-77.04,10mi" },
	{ .name = NULL },
};

#define ROW                                                                  \
	.platform = "twitter", .label = TWITTER_LABEL,                       \
	.kind = CONNECTOR_BATCH, .params = params, .state_is_number = true,  \
	.credential = twitter1_credential, .hosts = twitter1_hosts,          \
	SEED_RUN_FUNCTIONS

const struct connector twitter_search = {
	.type = "twitter_search", .title = "Twitter searches (API v1.1)",
	.help = "Tweets of the last seven days that a search finds.",
	.seeds = { 1, SIZE_MAX, "what is searched for, or an object with it"
	    " and its place", NULL, fields },
	.open = open_search, ROW
};

const struct connector twitter_user_timeline = {
	.type = "twitter_user_timeline",
	.title = "Twitter accounts (API v1.1)",
	.help = "The last 3,200 tweets of accounts.",
	.seeds = { 1, SIZE_MAX, "name of the account", "id of the account",
	    NULL },
	.open = open_timeline, ROW
};
