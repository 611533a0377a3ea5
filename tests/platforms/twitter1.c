/* Calls of Twitter's API v1.1. */
#include "tests/platforms/twitter.h"

#define RECENT_US (7 * 24 * 60 * 60 * US_PER_S)

void
twitter1_fail(struct request *r, int status, unsigned code,
    const char *message)
{
	r->status = status;
	buf_clear(&r->out);
	json_object(&r->out, NULL);
	json_array(&r->out, "errors");
	json_object(&r->out, NULL);
	json_u64(&r->out, "code", code);
	json_str(&r->out, "message", str_of(message));
	buf_put_text(&r->out, "}]}");
}

/* ---- Pages ------------------------------------------------------------- */

/* since_id is exclusive, max_id is not. */
static void
find_page(struct request *r, struct tweet_list *l, uint64_t usual,
    uint64_t most, struct tweet_page *p)
{
	uint64_t max_id = request_number(r, "max_id", 0);

	l->after = MAX(l->after, request_number(r, "since_id", 0));
	l->before = max_id == 0 ? 0 : max_id + 1;
	l->limit = (size_t)MIN(MAX(request_number(r, "count", usual), 1),
	    most);
	twitter_find_page(r, l, false, p);
	r->status = 200;
}

static void
write_tweets(struct request *r, const char *name, const struct tweet_page *p)
{
	struct str mode = STR_NONE;
	bool extended = request_param(r, "tweet_mode", &mode) &&
	    str_eq(mode, STR("extended"));

	json_array(&r->out, name);
	for (size_t i = 0; i < p->n; i++) {
		twitter1_write_tweet(&r->out, p->tweets[i], extended,
		    i == 0 ? r->fault.big : 0);
	}
	buf_put_text(&r->out, "]");
}

/* ---- Searches ---------------------------------------------------------- */

static void
write_metadata(struct request *r, struct str query,
    const struct tweet_page *p)
{
	struct buf *b = &r->out;

	json_object(b, "search_metadata");
	json_real(b, "completed_in", 0.02);
	json_u64(b, "max_id", p->n > 0 ? p->tweets[0]->id : 0);
	twitter_put_id(b, "max_id_str", p->n > 0 ? p->tweets[0]->id : 0);
	if (p->next != 0)
		twitter_put(b, "next_results", "?max_id=%llu&q=x",
		    (unsigned long long)p->next - 1);
	json_str(b, "query", query);
	twitter_put(b, "refresh_url", "?since_id=%llu&q=x",
	    (unsigned long long)(p->n > 0 ? p->tweets[0]->id : 0));
	json_u64(b, "count", request_number(r, "count", 15));
	json_u64(b, "since_id", request_number(r, "since_id", 0));
	twitter_put_id(b, "since_id_str", request_number(r, "since_id", 0));
	buf_put_text(b, "}");
}

static void
answer_search(struct request *r)
{
	struct tweet_list l = { .after = twitter_id_at((struct wall){
		r->now.us - RECENT_US }) };
	struct tweet_page p;
	struct str query = STR_NONE, geocode;

	(void)request_param(r, "q", &query);
	bool place = request_param(r, "geocode", &geocode);
	if (query.n == 0 && !place) {
		twitter1_fail(r, 403, 25, "Query parameters are missing.");
		return;
	}
	if (query.n > 500) {
		twitter1_fail(r, 403, 195, "Missing or invalid url "
		    "parameter.");
		return;
	}
	l.query = place ? arena_printf(&r->arena, "%.*s point_radius:[%.*s]",
	    STR_FMT(query), STR_FMT(geocode)) : query;
	find_page(r, &l, 15, 100, &p);
	json_object(&r->out, NULL);
	write_tweets(r, "statuses", &p);
	write_metadata(r, query, &p);
	buf_put_text(&r->out, "}");
}

/* ---- Accounts ---------------------------------------------------------- */

static struct twitter_account *
find_account(struct request *r)
{
	struct str name;
	uint64_t id = request_number(r, "user_id", 0);

	if (id == 0 && request_param(r, "screen_name", &name))
		return twitter_account_find(name);
	return twitter_account_by_id(id);
}

static void
answer_user(struct request *r)
{
	const struct twitter_account *a = find_account(r);

	if (a == NULL) {
		twitter1_fail(r, 404, 50, "User not found.");
	} else if (a->suspended) {
		twitter1_fail(r, 403, 63, "User has been suspended.");
	} else {
		r->status = 200;
		twitter1_write_user(&r->out, NULL, a);
	}
}

static void
answer_timeline(struct request *r)
{
	struct tweet_list l = { .account = find_account(r) };
	struct tweet_page p;

	if (l.account == NULL) {
		twitter1_fail(r, 404, 34, "Sorry, that page does not exist.");
	} else if (l.account->suspended) {
		twitter1_fail(r, 403, 63, "User has been suspended.");
	} else if (l.account->is_protected) {
		r->status = 401;
		buf_put_text(&r->out, "{\"request\":\"\\/1.1\\/statuses\\/"
		    "user_timeline.json\",\"error\":\"Not authorized.\"}");
	} else {
		find_page(r, &l, 20, 200, &p);
		write_tweets(r, NULL, &p);
	}
}

/* Clients ask it first; the account is any. */
static void
answer_credentials(struct request *r)
{
	r->status = 200;
	twitter1_write_user(&r->out, NULL, &twitter_world.accounts[0]);
}

/* ---- Calls by their paths ---------------------------------------------- */

static const struct {
	const char *path, *family;
	uint64_t limit;
	void (*answer)(struct request *);
} calls[] = {
	{ "/1.1/search/tweets.json", "search 1", 180, answer_search },
	{ "/1.1/statuses/user_timeline.json", "timeline 1", 900,
	    answer_timeline },
	{ "/1.1/users/show.json", "user 1", 900, answer_user },
	{ "/1.1/account/verify_credentials.json", "verify 1", 75,
	    answer_credentials },
};

/* Streams want a user.  Their budget is none, but the plan may refuse them. */
static void
answer_stream(struct request *r, enum twitter_auth auth)
{
	struct str path = r->head.path;
	bool filter = str_eq(path, STR("/1.1/statuses/filter.json"));
	bool post = str_eq(r->head.method, STR("POST"));

	if (!(filter && post) &&
	    !str_eq(path, STR("/1.1/statuses/sample.json")))
		return;
	if (r->fault.status != 0)
		(void)twitter_may_call(r, "stream 1", 50);
	else if (auth != AUTH_USER)
		twitter1_fail(r, 401, 32, "Could not authenticate you.");
	else
		twitter1_answer_stream(r, filter);
}

void
twitter1_answer(struct request *r, enum twitter_auth auth)
{
	size_t i = STR_ROW(r->head.path, calls);

	if (str_eq(r->host, STR("stream.twitter.com")))
		answer_stream(r, auth);
	else if (i < ARRAY_LEN(calls) &&
	    str_eq(r->head.method, STR("GET")) &&
	    twitter_may_call(r, calls[i].family, calls[i].limit))
		calls[i].answer(r);
}
