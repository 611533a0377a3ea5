/*
 * Weibo's API: https://open.weibo.com/wiki/API.
 *
 * One user, whose timeline is as long as --items; the topics cats (most posts,
 * of which 200 are shown), owls and a Chinese one.
 */
#include <time.h>

#include "tests/platforms/platforms.h"

#define CALLS 150u
#define PERIOD_S 3600
#define PAGE_POSTS 20u
#define TIMELINE_MAX 100u
#define SEARCH_MAX 50u
#define RESULTS_MAX 200u
#define FIRST_ID UINT64_C(5100000000000000)

struct post {
	uint64_t id;
	int64_t second;
	uint64_t look;
	unsigned topics;             /* a bit for each */
	bool deleted;
};

static const char *const topics[] = { "cats", "owls",
	"\xe7\x8c\xab\xe5\x92\x8c\xe7\x8b\x97" };
static struct {
	char token[33];
	bool expired;
	uint64_t random, last_id;
	struct post *posts;          /* the oldest first */
	size_t posts_n, posts_cap;
} world;

/* ---- Making ------------------------------------------------------------ */

static void
put_post(int64_t second)
{
	world.posts = mem_room(world.posts, world.posts_n, &world.posts_cap,
	    1024, sizeof(*world.posts));
	struct post *p = &world.posts[world.posts_n++];

	world.last_id += 1 + random_next(&world.random) % 1000000;
	*p = (struct post){ .id = world.last_id, .second = second,
		.look = random_next(&world.random),
		.deleted = random_chance(&world.random, 3) };
	p->topics = random_chance(&world.random, 70) |
	    (unsigned)random_chance(&world.random, 20) << 1 |
	    (unsigned)random_chance(&world.random, 5) << 2;
}

static void
make(uint64_t seed, struct wall now, unsigned items)
{
	world.random = seed ^ 0x5745424f;
	world.last_id = FIRST_ID;
	snprintf(world.token, sizeof(world.token), "2.00%016llx",
	    (unsigned long long)random_next(&world.random));
	for (unsigned i = 0; i < items; i++)
		put_post(wall_s(now) - (int64_t)(items - i) * 600);
}

/* ---- Answers ----------------------------------------------------------- */

static void
fail_with(struct request *r, int status, unsigned code, const char *error)
{
	r->status = status;
	r->type = "text/plain;charset=UTF-8";
	buf_clear(&r->out);
	json_object(&r->out, NULL);
	json_str(&r->out, "error", str_of(error));
	json_u64(&r->out, "error_code", code);
	json_str(&r->out, "request", r->head.path);
	buf_put_char(&r->out, '}');
}

/* "Mon Apr 25 01:00:21 +0800 2016" */
static void
put_date(struct buf *b, const char *name, int64_t second)
{
	time_t there = (time_t)(second + 8 * 3600);
	struct tm tm;
	char text[40];

	gmtime_r(&there, &tm);
	strftime(text, sizeof(text), "%a %b %d %H:%M:%S +0800 %Y", &tm);
	json_str(b, name, str_of(text));
}

static void
put_text(struct buf *b, const struct post *p, uint64_t big)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	uint64_t look = p->look;

	for (size_t i = 0; i < ARRAY_LEN(topics); i++)
		if (p->topics & 1u << i)
			buf_printf(&text, "#%s# ", topics[i]);
	buf_put_text(&text, world_phrase(&look));
	if (p->look % 4 == 0)
		buf_printf(&text, " http://t.cn/R%05x ",
		    (unsigned)(p->look % 0xfffff));
	if (big > 0)
		memset(buf_grow(&text, big), 'x', big);
	json_str(b, "text", buf_str(&text));
}

static void
put_user(struct buf *b, const struct post *p)
{
	unsigned n = (unsigned)(p->look % 37);

	json_object(b, "user");
	json_u64(b, "id", 1000000000 + n);
	json_format(b, "idstr", "%u", 1000000000 + n);
	json_format(b, "screen_name", "\xe7\x94\xa8\xe6\x88\xb7%u", n);
	json_u64(b, "followers_count", p->look % 5000);
	json_u64(b, "friends_count", p->look % 300);
	buf_put_char(b, '}');
}

static void
write_post(struct buf *b, const char *name, size_t place, uint64_t big)
{
	const struct post *p = &world.posts[place];

	json_object(b, name);
	put_date(b, "created_at", p->second);
	json_u64(b, "id", p->id);
	json_format(b, "mid", "%llu", (unsigned long long)p->id);
	json_format(b, "idstr", "%llu", (unsigned long long)p->id);
	put_text(b, p, big);
	json_str(b, "in_reply_to_status_id", STR(""));
	json_str(b, "in_reply_to_screen_name", STR(""));
	put_user(b, p);
	json_u64(b, "reposts_count", p->look % 90);
	json_u64(b, "comments_count", p->look % 80);
	/* One passes on the first post of all, and that one none. */
	if (place > 0 && p->look % 5 == 0)
		write_post(b, "retweeted_status", 0, 0);
	buf_put_char(b, '}');
}

static void
answer_list(struct request *r, const size_t *found, size_t all, size_t at,
    size_t most)
{
	struct slice s;

	slice_cut(&r->fault, all, at, most, &s);
	r->status = 200;
	json_object(&r->out, NULL);
	json_array(&r->out, "statuses");
	for (size_t i = 0; i < s.n; i++)
		write_post(&r->out, NULL, found[slice_place(&s, i)],
		    i == 0 ? r->fault.big : 0);
	buf_put_char(&r->out, ']');
	json_u64(&r->out, "previous_cursor", 0);
	json_u64(&r->out, "next_cursor", 0);
	json_u64(&r->out, "total_number", all);
	buf_put_char(&r->out, '}');
}

static size_t
most_of(struct request *r, size_t most)
{
	return MIN(MAX(request_number(r, "count", PAGE_POSTS), 1), most);
}

static void
answer_timeline(struct request *r)
{
	size_t *found = ARENA_ARRAY(&r->arena, size_t, world.posts_n);
	uint64_t since = request_number(r, "since_id", 0);
	uint64_t most_id = request_number(r, "max_id", 0);
	size_t all = 0, at = 0, most = most_of(r, TIMELINE_MAX);

	for (size_t i = world.posts_n; i-- > 0;) {
		const struct post *p = &world.posts[i];
		if (p->deleted || p->id <= since)
			continue;
		at += most_id != 0 && p->id > most_id;
		found[all++] = i;
	}
	at += (size_t)(MAX(request_number(r, "page", 1), 1) - 1) * most;
	answer_list(r, found, all, at, most);
}

static void
answer_search(struct request *r)
{
	size_t *found = ARENA_ARRAY(&r->arena, size_t, world.posts_n);
	size_t all = 0, most = most_of(r, SEARCH_MAX), topic;
	uint64_t page = MAX(request_number(r, "page", 1), 1);
	struct str q = STR_NONE;

	(void)request_param(r, "q", &q);
	topic = STR_ROW(q, topics);
	for (size_t i = world.posts_n; i-- > 0;)
		if (topic < ARRAY_LEN(topics) && !world.posts[i].deleted &&
		    (world.posts[i].topics & 1u << topic))
			found[all++] = i;
	if (page * most > RESULTS_MAX)
		fail_with(r, 400, 21411, "Out of the results' limit");
	else
		answer_list(r, found, MIN(all, RESULTS_MAX),
		    (size_t)(page - 1) * most, most);
}

/* ---- Calls, credentials, budgets, faults ------------------------------- */

static void
answer_limit(struct request *r, const struct budget *b)
{
	r->status = 200;
	json_object(&r->out, NULL);
	json_u64(&r->out, "ip_limit", 10000);
	json_u64(&r->out, "user_limit", b->limit);
	json_u64(&r->out, "remaining_ip_hits", 9000);
	json_u64(&r->out, "remaining_user_hits", b->left);
	json_u64(&r->out, "reset_time_in_seconds",
	    (uint64_t)(wall_s(b->reset) - wall_s(r->now)));
	json_str(&r->out, "limit_time_unit", STR("HOURS"));
	buf_put_char(&r->out, '}');
}

static void
answer_call(struct request *r)
{
	struct str path = r->head.path;

	if (!str_eq(r->head.method, STR("GET")))
		return;
	if (str_eq(path, STR("/2/statuses/friends_timeline.json")))
		answer_timeline(r);
	else if (str_eq(path, STR("/2/search/topics.json")))
		answer_search(r);
}

static void
answer(struct request *r)
{
	/* As the last call left it: asking about it is no call. */
	static struct budget last = { .limit = CALLS, .left = CALLS };
	struct str token = STR_NONE;
	bool asks = str_eq(r->head.path,
	    STR("/2/account/rate_limit_status.json"));

	world.expired |= r->fault.expire;
	(void)request_param(r, "access_token", &token);
	bool fine = str_eq(token, str_of(world.token)) && !world.expired;
	r->who = fine ? "user" : "stranger";
	if (!asks)
		budget_take(STR("weibo"), CALLS, PERIOD_S, &last);
	if (r->fault.status != 0)
		fail_with(r, r->fault.status, 10001, "so the plan says");
	else if (!fine)
		fail_with(r, 403, world.expired ? 21327 : 21332,
		    world.expired ? "expired_token" : "invalid_access_token");
	else if (asks)
		answer_limit(r, &last);
	else if (last.exceeded)
		fail_with(r, 403, 10023, "User requests out of rate limit!");
	else
		answer_call(r);
}

/* ---- For tests --------------------------------------------------------- */

static void
describe_posts(struct buf *out, const char *name, unsigned bits)
{
	char id[24];

	json_array(out, name);
	for (size_t i = 0; i < world.posts_n; i++) {
		const struct post *p = &world.posts[i];
		if (p->deleted || (bits != 0 && (p->topics & bits) == 0))
			continue;
		snprintf(id, sizeof(id), "%llu", (unsigned long long)p->id);
		json_item(out, str_of(id));
	}
	buf_put_char(out, ']');
}

static void
describe(struct str host, struct buf *out)
{
	(void)host;
	json_object(out, NULL);
	json_str(out, "token", str_of(world.token));
	describe_posts(out, "timeline", 0);
	json_object(out, "topics");
	for (unsigned i = 0; i < ARRAY_LEN(topics); i++)
		describe_posts(out, topics[i], 1u << i);
	buf_put_text(out, "}}\n");
}

static bool
change(struct str host, yyjson_val *what, char sentence[static 200])
{
	uint64_t n = yyjson_get_uint(yyjson_obj_get(yyjson_obj_get(what,
	    "add"), "n"));
	uint64_t id = 0;
	bool changed = n > 0;

	(void)host;
	snprintf(sentence, 200, "there is no such post");
	for (; n > 0; n--) {
		put_post(wall_s(clock_wall()));
		world.posts[world.posts_n - 1].deleted = false;
	}
	(void)str_to_u64(json_text(yyjson_obj_get(what, "delete")), &id);
	for (size_t i = 0; i < world.posts_n; i++)
		if (world.posts[i].id == id)
			changed = world.posts[i].deleted = true;
	return changed;
}

static const char *const hosts[] = { "api.weibo.com", NULL };

const struct platform weibo_platform = { .name = "weibo", .hosts = hosts,
	.make = make, .answer = answer, .describe = describe,
	.change = change };
