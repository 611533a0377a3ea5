/* Calls of Twitter's API v2: https://docs.x.com/x-api/. */
#include "tests/platforms/twitter.h"

#define RECENT_US (7 * 24 * 60 * 60 * US_PER_S)
#define END_AGO_US (10 * US_PER_S)
#define PROBLEMS "https://api.twitter.com/2/problems/"

/* ---- Errors ------------------------------------------------------------ */

void
twitter2_fail(struct request *r, int status, const char *title,
    const char *detail)
{
	r->status = status;
	r->type = "application/problem+json";
	buf_clear(&r->out);
	json_object(&r->out, NULL);
	json_str(&r->out, "title", str_of(title));
	json_str(&r->out, "detail", str_of(detail == NULL ? title : detail));
	json_str(&r->out, "type", STR("about:blank"));
	json_u64(&r->out, "status", (uint64_t)status);
	buf_put_text(&r->out, "}");
}

static void
fail_parameter(struct request *r, const char *name, struct str value)
{
	struct buf *b = &r->out;

	r->status = 400;
	buf_clear(b);
	json_object(b, NULL);
	json_array(b, "errors");
	json_object(b, NULL);
	json_object(b, "parameters");
	json_array(b, name);
	json_item(b, value);
	buf_put_text(b, "]}");
	twitter_put(b, "message", "Invalid '%s'", name);
	buf_put_text(b, "}]");
	twitter_put(b, "title", "Invalid Request");
	twitter_put(b, "detail",
	    "One or more parameters to your request was invalid.");
	twitter_put(b, "type", PROBLEMS "invalid-request");
	buf_put_text(b, "}");
}

/* 200, and only an error about an account. */
static void
put_trouble(struct request *r, const char *title, const char *detail,
    const char *parameter, struct str value)
{
	struct buf *b = &r->out;

	r->status = 200;
	json_object(b, NULL);
	json_array(b, "errors");
	json_object(b, NULL);
	json_str(b, "value", value);
	twitter_put(b, "detail", "%s: [%.*s].", detail, STR_FMT(value));
	json_str(b, "title", str_of(title));
	twitter_put(b, "resource_type", "user");
	json_str(b, "parameter", str_of(parameter));
	json_str(b, "resource_id", value);
	twitter_put(b, "type", PROBLEMS "resource-not-found");
	buf_put_text(b, "}]}");
}

/* ---- Cursors ----------------------------------------------------------- */

/* A cursor is the id before which its page begins, and a number by which two
 * of the same place differ. */
static struct str
make_cursor(struct request *r, uint64_t before)
{
	return arena_printf(&r->arena, "b26v%016llx%llx",
	    (unsigned long long)before, (unsigned long long)r->n);
}

static bool
read_cursor(struct str cursor, uint64_t *before)
{
	if (!str_starts(cursor, STR("b26v")) || cursor.n < 21)
		return false;
	*before = 0;
	for (size_t i = 4; i < 20; i++) {
		int digit = ascii_hex_value(cursor.p[i]);
		if (digit < 0)
			return false;
		*before = *before << 4 | (uint64_t)digit;
	}
	return true;
}

/* ---- Parameters -------------------------------------------------------- */

/* False: it is wrong, and the request has been refused. */
static bool
read_id_param(struct request *r, const char *name, uint64_t *id)
{
	struct str text;

	if (!request_param(r, name, &text))
		return true;
	if (str_to_u64(text, id))
		return true;
	fail_parameter(r, name, text);
	return false;
}

static bool
read_time_param(struct request *r, const char *name, struct wall *when)
{
	struct str text;

	if (!request_param(r, name, &text))
		return true;
	struct str zulu = text;
	if (str_ends(text, STR("+00:00")))
		zulu = arena_printf(&r->arena, "%.*sZ",
		    STR_FMT(str_cut(text, 0, text.n - 6)));
	if (wall_from_iso(zulu, when) && zulu.n == 20)
		return true;
	fail_parameter(r, name, text);
	return false;
}

static bool
read_cursor_param(struct request *r, const char *name, uint64_t *before)
{
	struct str text;

	if (!request_param(r, name, &text) || read_cursor(text, before))
		return true;
	fail_parameter(r, name, text);
	return false;
}

static bool
read_max_results(struct request *r, uint64_t least, uint64_t most,
    uint64_t usual, size_t *limit)
{
	struct str text = STR_NONE;
	uint64_t n = usual;

	if (request_param(r, "max_results", &text) &&
	    (!str_to_u64(text, &n) || n < least || n > most)) {
		fail_parameter(r, "max_results", text);
		return false;
	}
	*limit = (size_t)n;
	return true;
}

/* Bounds of a search; both kinds are not taken together. */
static bool
read_bounds(struct request *r, bool recent, struct tweet_list *l)
{
	struct wall start = { 0 }, end = { 0 };
	struct wall oldest = { recent ? r->now.us - RECENT_US : 0 };
	uint64_t since = 0;

	if (!read_id_param(r, "since_id", &since) ||
	    !read_time_param(r, "start_time", &start) ||
	    !read_time_param(r, "end_time", &end))
		return false;
	if (since != 0 && (start.us != 0 || end.us != 0 ||
	    (recent && since < twitter_id_at(oldest)))) {
		fail_parameter(r, "since_id", STR("x"));
		return false;
	}
	if (start.us != 0 && start.us < oldest.us) {
		fail_parameter(r, "start_time", STR("x"));
		return false;
	}
	if (end.us != 0 && end.us > r->now.us - END_AGO_US) {
		fail_parameter(r, "end_time", STR("x"));
		return false;
	}
	/* Without a beginning it is seven days, or thirty. */
	if (start.us == 0 && since == 0)
		start.us = r->now.us - (recent ? 1 : 4) * RECENT_US;
	l->after = since != 0 ? since : MAX(twitter_id_at(start), 1) - 1;
	if (end.us != 0)
		l->before = twitter_id_at(end);
	return true;
}

/* ---- Pages ------------------------------------------------------------- */

static void
answer_page(struct request *r, const struct tweet_list *l, const char *name)
{
	struct tweet_page p;
	struct str next = STR_NONE;

	twitter_find_page(r, l, true, &p);
	if (p.next != 0)
		next = make_cursor(r, p.next);
	if (p.loops && !request_param(r, name, &next))
		next = make_cursor(r, UINT64_MAX >> 1);
	if (twitter_world.reads_left < p.n) {
		twitter2_fail(r, 429, "UsageCapExceeded",
		    "Usage cap exceeded: Monthly product cap");
		return;
	}
	twitter_world.reads_left -= p.n;
	r->status = 200;
	twitter2_write_page(r, &p, next);
}

static void
answer_search(struct request *r, bool recent)
{
	struct tweet_list l = { .limit = 0 };
	uint64_t before = 0;

	if (!request_param(r, "query", &l.query) || l.query.n == 0 ||
	    l.query.n > (recent ? 512 : 1024)) {
		fail_parameter(r, "query", STR(""));
		return;
	}
	if (recent && str_find(l.query, STR("point_radius")) < l.query.n) {
		fail_parameter(r, "query", l.query);
		return;
	}
	if (!read_bounds(r, recent, &l) || !read_cursor_param(r, "next_token",
	    &before) || !read_max_results(r, 10, recent ? 100 : 500, 10,
	    &l.limit))
		return;
	if (before != 0 && (l.before == 0 || before < l.before))
		l.before = before;
	answer_page(r, &l, "next_token");
}

/* One call a second; a clock that is frozen shows no seconds. */
static bool
is_too_fast(struct request *r)
{
	static struct wall last;
	bool fast = r->now.us != last.us && r->now.us - last.us < US_PER_S;

	last = r->now;
	if (fast)
		twitter2_fail(r, 429, "Too Many Requests", NULL);
	return fast;
}

static void
answer_all(struct request *r, enum twitter_auth auth)
{
	if (!twitter_may_call(r, "all", 300) || is_too_fast(r))
		return;
	if (auth == AUTH_USER)
		twitter2_fail(r, 403, "Unsupported Authentication",
		    "Authenticating with OAuth 1.0a User Context is forbidden "
		    "for this endpoint.");
	else
		answer_search(r, false);
}

/* ---- Accounts ---------------------------------------------------------- */

static void
write_user(struct request *r, const struct twitter_account *a)
{
	r->status = 200;
	json_object(&r->out, NULL);
	twitter2_write_user(r, "data", a);
	buf_put_text(&r->out, "}");
}

static void
answer_user(struct request *r, const struct twitter_account *a,
    const char *parameter, struct str value)
{
	bool by_id = strcmp(parameter, "id") == 0;

	if (a == NULL)
		put_trouble(r, "Not Found Error", by_id ?
		    "Could not find user with id" :
		    "Could not find user with username", parameter, value);
	else if (a->suspended)
		put_trouble(r, "Forbidden", "User has been suspended",
		    parameter, value);
	else
		write_user(r, a);
}

static void
answer_timeline(struct request *r, const struct twitter_account *a,
    struct str value)
{
	struct tweet_list l = { .account = a };

	if (!twitter_may_call(r, "timeline 2", 1500))
		return;
	if (a == NULL || a->suspended) {
		put_trouble(r, a == NULL ? "Not Found Error" : "Forbidden",
		    a == NULL ? "Could not find user with id" :
		    "User has been suspended", "id", value);
		return;
	}
	if (a->is_protected) {
		put_trouble(r, "Authorization Error", "Sorry, you are not "
		    "authorized to see the user with id", "id", value);
		return;
	}
	if (read_id_param(r, "since_id", &l.after) &&
	    read_cursor_param(r, "pagination_token", &l.before) &&
	    read_max_results(r, 5, 100, 10, &l.limit))
		answer_page(r, &l, "pagination_token");
}

/* Names have letters, digits and "_". */
static bool
is_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!ascii_is_alpha(name.p[i]) && !ascii_is_digit(name.p[i]) &&
		    name.p[i] != '_')
			return false;
	return name.n > 0 && name.n <= 15;
}

static void
answer_name(struct request *r, struct str rest)
{
	struct str name;

	if (!request_segment(r, &rest, &name) || rest.n > 0)
		return;
	if (!twitter_may_call(r, "user 2", 900))
		return;
	if (is_name(name))
		answer_user(r, twitter_account_find(name), "username", name);
	else
		fail_parameter(r, "username", name);
}

/* "ID" or "ID/tweets" */
static void
answer_users(struct request *r, struct str rest)
{
	struct str which, verb;
	uint64_t id;

	if (!request_segment(r, &rest, &which))
		return;
	bool fine = str_to_u64(which, &id);
	if (!request_segment(r, &rest, &verb)) {
		if (!twitter_may_call(r, "user 2", 900))
			return;
		if (fine)
			answer_user(r, twitter_account_by_id(id), "id", which);
		else
			fail_parameter(r, "id", which);
	} else if (str_eq(verb, STR("tweets")) && fine) {
		answer_timeline(r, twitter_account_by_id(id), which);
	}
}

/* Several accounts at once, as other clients look them up. */
static struct twitter_account *
find_one(struct str one, bool by_id)
{
	uint64_t id;

	if (!by_id)
		return twitter_account_find(one);
	return str_to_u64(one, &id) ? twitter_account_by_id(id) : NULL;
}

static void
answer_several(struct request *r, bool by_id)
{
	struct str list, one;
	struct buf *b = &r->out;
	bool any = false;

	if (!request_param(r, by_id ? "ids" : "usernames", &list) ||
	    !twitter_may_call(r, "user 2", 900))
		return;
	r->status = 200;
	json_object(b, NULL);
	while (str_split(&list, ',', &one)) {
		struct twitter_account *a = find_one(one, by_id);
		if (a == NULL || a->suspended)
			continue;
		if (!any)
			json_array(b, "data");
		any = true;
		twitter2_write_user(r, NULL, a);
	}
	if (any) {
		buf_put_text(b, "]}");
		return;
	}
	buf_clear(b);
	put_trouble(r, "Not Found Error", by_id ? "Could not find user with "
	    "ids" : "Could not find user with usernames", by_id ? "ids" :
	    "usernames", one);
}

/* ---- Calls by their paths ---------------------------------------------- */

void
twitter2_answer(struct request *r, enum twitter_auth auth)
{
	struct str path = r->head.path, raw = r->head.raw_path;
	bool get = str_eq(r->head.method, STR("GET"));

	twitter2_read_lists(r);
	if (str_eq(path, STR("/2/tweets/search/stream/rules"))) {
		twitter2_answer_rules(r, auth);
	} else if (get && str_eq(path, STR("/2/tweets/search/stream"))) {
		twitter2_answer_stream(r, auth);
	} else if (get && str_eq(path, STR("/2/tweets/search/recent"))) {
		if (twitter_may_call(r, "recent", 450))
			answer_search(r, true);
	} else if (get && str_eq(path, STR("/2/tweets/search/all"))) {
		answer_all(r, auth);
	} else if (get && str_eq(path, STR("/2/users"))) {
		answer_several(r, true);
	} else if (get && str_eq(path, STR("/2/users/by"))) {
		answer_several(r, false);
	} else if (get && str_starts(raw, STR("/2/users/by/username/"))) {
		answer_name(r, str_from(raw, 21));
	} else if (get && str_starts(raw, STR("/2/users/"))) {
		answer_users(r, str_from(raw, 9));
	}
}
