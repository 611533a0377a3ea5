/* Searches and timelines by API v2. */
#include "base/text.h"
#include "engine/connector/item_date.h"
#include "engine/connector/twitter/twitter.h"
#include "engine/connector/twitter/twitter2.h"
#include "engine/connector/twitter/twitter_own.h"
#include "engine/connector/url_text.h"

/* The day before Twitter's first tweet: without a beginning, only the last 30
 * days are searched. */
#define FIRST_DAY "2006-03-21T00:00:00Z"
/* Between two calls to search all. */
#define PAUSE_US US_PER_S

static bool
is_academic(const struct seed_run *r)
{
	return r->run.order->connector == &twitter_academic_search;
}

/* ---- Calls ------------------------------------------------------------- */

static bool
read_time(const struct connector_seed *s, const char *name,
    struct item_date *out)
{
	struct str text = twitter_seed_field(s, name, STR_NONE);

	return text.n > 0 && item_date_parse(text, out);
}

/* In UTC and whole seconds. */
static bool
put_time(struct buf *url, const struct connector_seed *s, const char *name)
{
	struct item_date date;
	char iso[WALL_ISO_MAX];

	if (!read_time(s, name, &date))
		return false;
	wall_to_iso(date.at, iso);
	iso[19] = 'Z';
	iso[20] = '\0';
	url_text_param(url, name, str_of(iso));
	return true;
}

/* The id of the last run excludes both dates. */
static void
put_bounds(struct twitter_run *t, struct buf *url)
{
	const struct connector_seed *s = seed_run_seed(&t->run);
	struct str since = twitter_since(t);

	if (since.n > 0) {
		url_text_param(url, "since_id", since);
		return;
	}
	if (!t->no_start && !put_time(url, s, "start_time") &&
	    is_academic(&t->run))
		url_text_param(url, "start_time", STR(FIRST_DAY));
	(void)put_time(url, s, "end_time");
}

static void
put_query(struct buf *url, const struct connector_seed *s)
{
	FREED(buf_free) struct buf query = BUF_INIT;
	struct str geocode = twitter_seed_geocode(s);

	buf_put_str(&query, twitter_seed_query(s));
	if (geocode.n > 0)
		buf_printf(&query, "%spoint_radius:[%.*s]",
		    query.n > 0 ? " " : "", STR_FMT(geocode));
	url_text_param(url, "query", buf_str(&query));
}

static void
call_search(struct seed_run *r, struct connector_call *call)
{
	struct twitter_run *t = (struct twitter_run *)r;
	bool all = is_academic(r);

	buf_printf(&r->url, "%s/2/tweets/search/%s",
	    twitter2_base(r->run.order), all ? "all" : "recent");
	put_query(&r->url, seed_run_seed(r));
	url_text_param(&r->url, "max_results", STR("100"));
	if (t->cursor.n > 0)
		url_text_param(&r->url, "next_token", buf_str(&t->cursor));
	put_bounds(t, &r->url);
	twitter2_put_fields(&r->url);
	call->budget = all ? "all" : "recent";
	call->statuses = twitter2_statuses;
	if (all && t->answered.us != 0)
		call->not_before.us = t->answered.us + PAUSE_US;
	twitter2_authorise(r->run.order, t->is_signed, call);
}

static void
put_user(struct seed_run *r)
{
	const struct connector_seed *s = seed_run_seed(r);

	buf_put_text(&r->url, s->uid.n > 0 ? "" : "by/username/");
	url_text_encode(&r->url, s->uid.n > 0 ? s->uid : twitter_seed_name(s));
	url_text_param(&r->url, "user.fields", STR("protected"));
}

static void
put_timeline(struct twitter_run *t)
{
	struct str since = twitter_since(t);
	struct buf *url = &t->run.url;

	buf_put_str(url, buf_str(&t->account));
	buf_put_text(url, "/tweets");
	url_text_param(url, "max_results", STR("100"));
	if (t->cursor.n > 0)
		url_text_param(url, "pagination_token", buf_str(&t->cursor));
	if (since.n > 0)
		url_text_param(url, "since_id", since);
	twitter2_put_fields(url);
}

static void
call_timeline(struct seed_run *r, struct connector_call *call)
{
	struct twitter_run *t = (struct twitter_run *)r;

	buf_put_text(&r->url, twitter2_base(r->run.order));
	buf_put_text(&r->url, "/2/users/");
	if (r->step == TWITTER_USER)
		put_user(r);
	else
		put_timeline(t);
	call->budget = r->step == TWITTER_USER ? "user" : "timeline";
	call->statuses = twitter2_statuses;
	twitter2_authorise(r->run.order, t->is_signed, call);
}

/* ---- Accounts ---------------------------------------------------------- */

/* Why there is no `data`, after the answer's first error. */
static const char *
trouble_of(const struct connector_answer *answer)
{
	yyjson_val *error = yyjson_arr_get_first(yyjson_obj_get(answer->json,
	    "errors"));
	struct str detail = json_text(yyjson_obj_get(error, "detail"));
	struct str title = json_text(yyjson_obj_get(error, "title"));

	if (str_starts(detail, STR("User has been suspended")))
		return "suspended";
	if (str_starts(detail, STR("Could not find user with")) ||
	    str_eq(title, STR("Not Found Error")))
		return "not_found";
	return str_eq(title, STR("Authorization Error")) ? "unauthorized" :
	    error != NULL ? "unknown_error" : NULL;
}

static void
answer_user(struct twitter_run *t, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	yyjson_val *data = yyjson_obj_get(answer->json, "data");
	struct str id = json_text(yyjson_obj_get(data, "id"));
	const char *trouble = trouble_of(answer);

	if (answer->status == 400 || answer->status == 404)
		twitter_skip_user(t, f, "not_found");
	else if (data == NULL && trouble != NULL)
		twitter_skip_user(t, f, trouble);
	else if (!twitter_is_account_id(id))
		seed_run_again(&t->run, f, "an account without an id");
	else if (yyjson_is_true(yyjson_obj_get(data, "protected")))
		twitter_skip_user(t, f, "unauthorized");
	else
		twitter_found_user(t, f, id, json_text(yyjson_obj_get(data,
		    "username")));
}

/* ---- Pages ------------------------------------------------------------- */

/* False: it is none. */
static bool
read_page(const struct connector_answer *answer, struct twitter_page *p)
{
	yyjson_val *data = yyjson_obj_get(answer->json, "data"), *tweet;
	yyjson_val *meta = yyjson_obj_get(answer->json, "meta");
	size_t i, n;

	*p = (struct twitter_page){ .cursor = json_text(yyjson_obj_get(meta,
	    "next_token")) };
	yyjson_arr_foreach(data, i, n, tweet)
		twitter_add_tweet(p, twitter_id(yyjson_obj_get(tweet, "id")));
	return yyjson_is_obj(meta) && (data == NULL || yyjson_is_arr(data)) &&
	    p->cursor.n <= TWITTER_CURSOR_BYTES_MAX &&
	    !text_has_control(p->cursor);
}

static void
answer_page(struct twitter_run *t, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	struct twitter_page p;
	const char *trouble = trouble_of(answer);

	t->answered = answer->when;
	if (read_page(answer, &p)) {
		twitter2_find_urls(answer->json,
		    twitter_wanted_urls(t->run.run.order), f);
		twitter_leave_page(t, &p, f);
	} else if (t->account.n > 0 && trouble != NULL &&
	    yyjson_obj_get(answer->json, "data") == NULL) {
		twitter_skip_user(t, f, trouble);
	} else {
		seed_run_again(&t->run, f, "no list of tweets");
	}
}

/* ---- Refusals ---------------------------------------------------------- */

static void
fail_run(struct twitter_run *t, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	char code[96];

	twitter2_failure_code(answer, code);
	twitter2_put_failure(&text, answer);
	seed_run_fail(&t->run, f, code, " refuses%s", buf_text(&text));
}

/* An id or date beyond the seven days that are searched, or a cursor that has
 * expired, is left out.  False: it is none of these. */
static bool
leave_out(struct twitter_run *t, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	if (twitter_since(t).n > 0 && twitter2_blames(answer, "since_id")) {
		t->no_since = true;
		seed_run_warn(&t->run, f, "partial_posts", ": tweets since "
		    "the last run may be missing, as it was too long ago");
	} else if (!t->no_start && twitter2_blames(answer, "start_time")) {
		t->no_start = true;
		seed_run_warn(&t->run, f, "partial_posts", ": tweets are "
		    "missing, as its beginning is too long ago");
	} else if (t->cursor.n == 0 || (!twitter2_blames(answer,
	    "next_token") && !twitter2_blames(answer, "pagination_token"))) {
		return false;
	} else {
		t->run.tries++;
	}
	twitter_begin_again(t);
	return true;
}

static void
refuse(struct twitter_run *t, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	if (twitter2_may_sign(t->run.run.order, t->is_signed, answer))
		t->is_signed = true;
	else if (answer->status == 404 && t->account.n > 0)
		twitter_skip_user(t, f, "not_found");
	else if (answer->status != 400 || t->run.tries == SEED_RUN_TRIES_MAX ||
	    !leave_out(t, answer, f))
		fail_run(t, answer, f);
}

static void
answer_call(struct seed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	struct twitter_run *t = (struct twitter_run *)r;
	bool about_user = r->step == TWITTER_USER && (answer->status == 400 ||
	    answer->status == 404);

	if (twitter2_must_wait(answer)) {
		twitter_wait(t, answer, f);
		return;
	}
	t->waits = 0;
	if (answer->status >= 400 && !about_user)
		refuse(t, answer, f);
	else if (r->step == TWITTER_USER)
		answer_user(t, answer, f);
	else
		answer_page(t, answer, f);
}

/* ---- Orders ------------------------------------------------------------ */

static enum err
check_search(struct seed_run *r, struct why *w)
{
	static const char *const names[] = { "start_time", "end_time" };
	const struct connector_order *o = r->run.order;
	enum err e = twitter_check(r, w);
	struct item_date date;
	char field[48];

	for (size_t i = 0; e == OK && i < 2 * o->seeds_n; i++) {
		const struct connector_seed *s = &o->seeds[i / 2];
		const char *name = names[i % 2];
		snprintf(field, sizeof(field), "seeds[%zu].token.%s", i / 2,
		    name);
		if (twitter_seed_field(s, name, STR_NONE).n > 0 &&
		    !read_time(s, name, &date))
			e = why_field(w, ERR_INPUT, field, "it is no date");
	}
	return e;
}

#define KIND                                                                 \
	.service = "Twitter", .items = TWITTER_LABEL,                        \
	.steps_n = TWITTER_STEPS_N, .bytes = sizeof(struct twitter_run),     \
	.answer = answer_call, .save = twitter_save, .load = twitter_load,   \
	.free = twitter_free

static const struct seed_run_kind search_kind = {
	.seed = "search", .name_field = "query", .check = check_search,
	.begin = twitter_begin_search, .call = call_search, KIND
};

static const struct seed_run_kind timeline_kind = {
	.seed = "account", .check = twitter_check,
	.begin = twitter_begin_timeline, .call = call_timeline, KIND
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

/* ---- The rows ---------------------------------------------------------- */

static const struct connector_param params[] = {
	SEED_RUN_PARAMS("tweets"),
	TWITTER_URL_PARAMS,
	TWITTER2_HOST_PARAM,
	{ .name = NULL },
};

#define QUERY_FIELDS                                                         \
	{ "query", CONNECTOR_TEXT, true, 0, 0, NULL,                         \
	    "What is searched for, in Twitter's words" },                    \
	{ "start_time", CONNECTOR_TEXT, false, 0, 0, NULL,                   \
	    "The date of the oldest tweets, 2022-05-01T00:00:00Z" },         \
	{ "end_time", CONNECTOR_TEXT, false, 0, 0, NULL,                     \
	    "The date up to which there are tweets" },                       \
	{ "limit", CONNECTOR_INT, false, 1, INT64_MAX, NULL,                 \
	    "End after the page that reaches so many tweets" }

static const struct connector_param recent_fields[] = {
	QUERY_FIELDS,
	{ .name = NULL },
};

static const struct connector_param all_fields[] = {
	QUERY_FIELDS,
	{ "geocode", CONNECTOR_TEXT, false, 0, 0, NULL,
	    "Longitude, latitude and radius, -77.04 38.89 10mi" },
	{ .name = NULL },
};

#define ROW                                                                  \
	.platform = "twitter2", .label = TWITTER_LABEL,                      \
	.kind = CONNECTOR_BATCH, .params = params, .state_is_number = true,  \
	.credential = twitter2_credential,                                   \
	.key_instead = TWITTER_BEARER_TOKEN, .hosts = twitter2_hosts,        \
	SEED_RUN_FUNCTIONS

const struct connector twitter_search_2 = {
	.type = "twitter_search_2", .title = "Twitter searches (API v2)",
	.help = "Tweets of the last seven days that a search finds.",
	.seeds = { 1, SIZE_MAX, "what is searched for, or an object with it"
	    " and its dates", NULL, recent_fields },
	.open = open_search, ROW
};

const struct connector twitter_academic_search = {
	.type = "twitter_academic_search",
	.title = "Twitter searches of all years (API v2)",
	.help = "Tweets since 2006 that a search finds.",
	.seeds = { 1, SIZE_MAX, "what is searched for, or an object with it,"
	    " its dates and its place", NULL, all_fields },
	.open = open_search, ROW
};

const struct connector twitter_user_timeline_2 = {
	.type = "twitter_user_timeline_2",
	.title = "Twitter accounts (API v2)",
	.help = "The last 3,200 tweets of accounts.",
	.seeds = { 1, SIZE_MAX, "name of the account", "id of the account",
	    NULL },
	.open = open_timeline, ROW
};
