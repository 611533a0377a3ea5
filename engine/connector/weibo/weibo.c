/*
 * Runs over the timeline of those whom a user follows, and over topics.
 *
 *     timeline:  page ─► page before max_id ─► ... an empty page ─► end
 *     search:    page 1 ─► page 2 ─► ... page 4 ─► page 1 of the next topic
 *
 * Where Weibo says that there were too many calls, it is asked how long that
 * will last (limit), and then the page is asked for again.
 */
#include "engine/connector/weibo/weibo.h"

#include "engine/connector/items.h"
#include "engine/connector/seed_run.h"
#include "engine/connector/shown.h"
#include "engine/connector/url_text.h"

#define API "https://api.weibo.com/2/"
#define PAGE_POSTS_MAX 100u
#define SEARCH_PAGES 4u
#define PAUSE_S 60
#define RESET_SLACK_S 10
#define RESET_S_MAX 3600

enum { STEP_PAGE, STEP_LIMIT, STEPS_N };

struct weibo_run {
	struct seed_run seed;

	/* Part of the checkpoint. */
	uint64_t since, newest;      /* numbers of posts; 0: none */
	uint64_t max_id;             /* of a timeline; 0: its first page */
	unsigned page;               /* of a search, from 1 */
	struct wall not_before;      /* the page is asked for; us 0: at once */
	/* A search: all posts found so far.  A timeline: the posts of the
	 * previous page. */
	uint64_t known[SEARCH_PAGES * PAGE_POSTS_MAX];
	size_t known_n;
};

static const int statuses[] = { 400, 401, 403, 429, 0 };

static bool
is_search(const struct weibo_run *x)
{
	return x->seed.run.order->connector == &weibo_search;
}

/* ---- Beginning --------------------------------------------------------- */

static enum err
check(struct seed_run *r, struct why *w)
{
	if (is_search((struct weibo_run *)r) ||
	    !connector_param_bool(r->run.order->options, "incremental") ||
	    r->run.order->collection_set.n > 0)
		return OK;
	return why_field(w, ERR_INPUT, "collection_set.id",
	    "it is missing, and an incremental timeline keeps its state by it");
}

static void
put_key(const struct weibo_run *x, struct buf *key)
{
	buf_put_str(key, is_search(x) ? seed_run_name(&x->seed) :
	    x->seed.run.order->collection_set);
	buf_put_text(key, ".since_id");
}

static void
begin(struct seed_run *r)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct weibo_run *x = (struct weibo_run *)r;

	x->since = x->newest = x->max_id = 0;
	x->page = 1;
	x->not_before = (struct wall){ 0 };
	x->known_n = 0;
	r->step = STEP_PAGE;
	put_key(x, &key);
	if (connector_param_bool(r->run.order->options, "incremental") &&
	    !str_to_u64(connector_state_find(r->run.order, buf_str(&key)),
	    &x->since))
		x->since = 0;
}

/* ---- Calls ------------------------------------------------------------- */

static void
put_search(struct weibo_run *x, struct buf *url)
{
	buf_put_text(url, API "search/topics.json");
	url_text_param(url, "q", seed_run_name(&x->seed));
	buf_printf(url, "&count=50&page=%u", x->page);
}

static void
put_timeline(struct weibo_run *x, struct buf *url)
{
	buf_put_text(url, API "statuses/friends_timeline.json?count=100"
	    "&page=1");
	if (x->since != 0)
		buf_printf(url, "&since_id=%llu",
		    (unsigned long long)x->since);
	if (x->max_id != 0)
		buf_printf(url, "&max_id=%llu", (unsigned long long)x->max_id);
}

static void
put_call(struct seed_run *r, struct connector_call *call)
{
	struct weibo_run *x = (struct weibo_run *)r;

	if (r->step == STEP_LIMIT)
		buf_put_text(&r->url, API "account/rate_limit_status.json");
	else if (is_search(x))
		put_search(x, &r->url);
	else
		put_timeline(x, &r->url);
	call->auth = CONNECTOR_QUERY;
	call->secret = call->secret_name = "access_token";
	call->budget = r->step == STEP_LIMIT ? "limit" : "posts";
	call->statuses = statuses;
	/* SFM takes all answers of Weibo for pages of posts. */
	call->as_metadata = r->step == STEP_LIMIT;
	if (r->step == STEP_PAGE)
		call->not_before = x->not_before;
}

/* ---- A page ------------------------------------------------------------ */

struct page {
	uint64_t ids[PAGE_POSTS_MAX];
	size_t n, with_id, unknown, new;
	uint64_t lowest;
};

static bool
is_known(const struct weibo_run *x, uint64_t id)
{
	for (size_t i = 0; i < x->known_n; i++)
		if (x->known[i] == id)
			return true;
	return false;
}

static uint64_t
id_of(yyjson_val *post, struct arena *a)
{
	static const char *const names[] = { "mid", "idstr", "id" };
	uint64_t id;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_to_u64(json_id(json_member(post, names[i]), a), &id))
			return id;
	return 0;
}

static void
read_page(struct weibo_run *x, yyjson_val *list, struct page *p)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t i, n;
	yyjson_val *post;

	*p = (struct page){ .n = yyjson_arr_size(list),
		.lowest = UINT64_MAX };
	yyjson_arr_foreach(list, i, n, post) {
		uint64_t id = id_of(post, &a);
		if (id == 0)
			continue;
		bool known = is_known(x, id);
		p->ids[p->with_id++] = id;
		p->lowest = MIN(p->lowest, id);
		p->unknown += !known;
		p->new += !known && id > x->since;
		x->newest = MAX(x->newest, id);
	}
}

static void
end_list(struct weibo_run *x, const struct connector_findings *f)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	char digits[24];

	put_key(x, &key);
	snprintf(digits, sizeof(digits), "%llu",
	    (unsigned long long)x->newest);
	/* A timeline without a collection set has no state. */
	if (x->newest > x->since && buf_str(&key).p[0] != '.')
		f->state(f->arg, buf_str(&key), str_of(digits));
	if (!seed_run_is_full(&x->seed, f))
		seed_run_leave(&x->seed, f);
}

static void
move_on(struct weibo_run *x, const struct page *p)
{
	x->seed.tries = 0;
	x->not_before = (struct wall){ 0 };
	if (!is_search(x)) {
		x->max_id = p->lowest - 1;
		x->known_n = 0;
	} else {
		x->page++;
	}
	memcpy(&x->known[x->known_n], p->ids, p->with_id * sizeof(p->ids[0]));
	x->known_n += p->with_id;
}

static void
answer_page(struct weibo_run *x, yyjson_val *json,
    const struct connector_findings *f)
{
	yyjson_val *list = yyjson_obj_get(json, "statuses");
	struct seed_run *r = &x->seed;
	struct page p;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) > PAGE_POSTS_MAX) {
		seed_run_again(r, f, "no page of posts");
		return;
	}
	if (yyjson_arr_size(list) == 0) {
		/* Below other pages it may be a fault. */
		if (!is_search(x) && x->max_id != 0 && r->tries == 0)
			seed_run_again(r, f, "no posts");
		else
			end_list(x, f);
		return;
	}
	read_page(x, list, &p);
	/* Overlapping pages of a timeline lead on; the same one does not. */
	bool leads_on = is_search(x) || (p.with_id > 0 && (x->max_id == 0 ||
	    p.lowest <= x->max_id));
	if (!leads_on) {
		seed_run_again(r, f, "a page that leads nowhere");
		return;
	}
	seed_run_count(r, f, p.new);
	if (p.with_id < p.n)
		seed_run_warn(r, f, is_search(x) ? "token_unknown_error" :
		    "unknown_error", ": %zu of %zu posts of a page have no "
		    "number and are not counted", p.n - p.with_id, p.n);
	bool ends = is_search(x) ? p.new == 0 || x->page == SEARCH_PAGES :
	    p.lowest == 1;
	if (ends || r->items >= (uint64_t)r->limit)
		end_list(x, f);
	else
		move_on(x, &p);
}

/* ---- Refusals ---------------------------------------------------------- */

enum refusal { REFUSAL_OTHER, REFUSAL_TOKEN, REFUSAL_RATE, REFUSAL_END };

static enum refusal
refusal_of(int status, uint64_t code)
{
	static const struct {
		uint64_t from, to;
		enum refusal what;
	} rows[] = {
		{ 10006, 10006, REFUSAL_TOKEN },     /* no key */
		{ 10013, 10014, REFUSAL_TOKEN },     /* who may not ask this */
		{ 10022, 10024, REFUSAL_RATE },
		{ 21301, 21327, REFUSAL_TOKEN },     /* of tokens */
		{ 21332, 21332, REFUSAL_TOKEN },
		{ 21411, 21411, REFUSAL_END },       /* no result after 200 */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (code >= rows[i].from && code <= rows[i].to)
			return rows[i].what;
	return status == 429 ? REFUSAL_RATE : status == 401 ? REFUSAL_TOKEN :
	    REFUSAL_OTHER;
}

static void
refuse_list(struct weibo_run *x, struct str text,
    const struct connector_findings *f)
{
	if (is_search(x))
		seed_run_skip(&x->seed, f, "token_unknown_error", ": %.*s",
		    STR_FMT(text));
	else
		seed_run_fail(&x->seed, f, "unknown_error", " shows no "
		    "timeline: %.*s", STR_FMT(text));
}

static void
answer_refusal(struct weibo_run *x, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf text = BUF_INIT;
	uint64_t code = 0;

	(void)str_to_u64(json_id(json_member(answer->json, "error_code"), &a),
	    &code);
	buf_printf(&text, "%d %llu, ", answer->status,
	    (unsigned long long)code);
	shown_put(&text, json_text(json_member(answer->json, "error")));
	switch (refusal_of(answer->status, code)) {
	case REFUSAL_TOKEN:
		seed_run_fail(&x->seed, f, "harvest_Unauthorized", " refuses "
		    "the access token: %.*s", STR_FMT(buf_str(&text)));
		return;
	case REFUSAL_RATE:
		x->seed.step = STEP_LIMIT;
		return;
	case REFUSAL_END:
		end_list(x, f);
		return;
	case REFUSAL_OTHER:
		refuse_list(x, buf_str(&text), f);
	}
}

/* How long the page must wait; a minute where that is not told. */
static void
answer_limit(struct weibo_run *x, const struct connector_answer *answer)
{
	yyjson_val *json = answer->json;
	bool left = yyjson_get_sint(json_member(json, "remaining_ip_hits")) >
	    0 && yyjson_get_sint(json_member(json, "remaining_user_hits")) > 0;
	int64_t reset = yyjson_get_sint(json_member(json,
	    "reset_time_in_seconds"));
	bool told = answer->status < 300 && !left && reset > 0;

	x->not_before.us = answer->when.us + US_PER_S * (told ?
	    MIN(reset, RESET_S_MAX) + RESET_SLACK_S : PAUSE_S);
	x->seed.step = STEP_PAGE;
}

static void
answer_call(struct seed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	struct weibo_run *x = (struct weibo_run *)r;

	if (r->step == STEP_LIMIT)
		answer_limit(x, answer);
	else if (answer->status >= 300 || json_member(answer->json,
	    "error_code") != NULL)
		answer_refusal(x, answer, f);
	else
		answer_page(x, answer->json, f);
}

/* ---- What is saved ----------------------------------------------------- */

static void
save(const struct seed_run *r, struct buf *out)
{
	const struct weibo_run *x = (const struct weibo_run *)r;

	buf_put_varint(out, x->since);
	buf_put_varint(out, x->newest);
	buf_put_varint(out, x->max_id);
	buf_put_varint(out, x->page);
	buf_put_be64(out, (uint64_t)x->not_before.us);
	buf_put_varint(out, x->known_n);
	for (size_t i = 0; i < x->known_n; i++)
		buf_put_varint(out, x->known[i]);
}

static bool
load(struct seed_run *r, struct reader *in)
{
	struct weibo_run *x = (struct weibo_run *)r;

	x->since = read_varint(in);
	x->newest = read_varint(in);
	x->max_id = read_varint(in);
	uint64_t page = read_varint(in);
	x->not_before.us = (int64_t)read_be64(in);
	uint64_t n = read_varint(in);
	if (page < 1 || page > SEARCH_PAGES || n > page * PAGE_POSTS_MAX)
		return false;
	x->page = (unsigned)page;
	x->known_n = (size_t)n;
	for (size_t i = 0; i < x->known_n; i++)
		x->known[i] = read_varint(in);
	return true;
}

static void
free_run(struct seed_run *r)
{
	(void)r;
}

/* ---- The rows ---------------------------------------------------------- */

#define KIND                                                                 \
	.service = "Weibo", .items = "posts", .steps_n = STEPS_N,            \
	.bytes = sizeof(struct weibo_run), .check = check, .begin = begin,   \
	.call = put_call, .answer = answer_call, .save = save, .load = load, \
	.free = free_run

static const struct seed_run_kind timeline_kind = {
	.seed = "timeline", KIND
};
static const struct seed_run_kind search_kind = {
	.seed = "topic", KIND
};

static enum err
open_timeline(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&timeline_kind, o, out, w);
}

static enum err
open_search(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&search_kind, o, out, w);
}

static const struct connector_param params[] = {
	SEED_RUN_PARAMS("posts"),
	{ .name = NULL },
};

static const struct connector_key credential[] = {
	{ "access_token", true, true, "Token of a user" },
	{ .name = NULL },
};

static const char *const hosts[] = { "api.weibo.com", NULL };

#define COMMON                                                               \
	.platform = "weibo", .label = "weibos", .kind = CONNECTOR_BATCH,     \
	.params = params, .state_is_number = true, .credential = credential, \
	.hosts = hosts, SEED_RUN_FUNCTIONS

const struct connector weibo_timeline = {
	.type = "weibo_timeline", .title = "Weibo timeline",
	.help = "Posts of those whom the token's user follows.",
	.seeds = { 0, 0, NULL, NULL, NULL },
	.open = open_timeline, COMMON
};

const struct connector weibo_search = {
	.type = "weibo_search", .title = "Weibo topics",
	.help = "Posts on topics, at most the newest 200 of each.",
	.seeds = { 1, SIZE_MAX, "topic, without #", NULL, NULL },
	.open = open_search, COMMON
};
