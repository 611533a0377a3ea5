/*
 * Tumblr's API v2: https://www.tumblr.com/docs/en/api/v2.
 *
 * Blogs: ada (many posts, some dated back, some of one second), bob (a few),
 * blog.example (a domain of its own), eve (no posts), dora (gone).
 */
#include "tests/platforms/platforms.h"

#define DAY_S INT64_C(86400)
#define PAGE_POSTS 20u
/* SFM asks for 50. */
#define PAGE_POSTS_MAX 50u
#define FIRST_ID UINT64_C(600000000000000000)

struct blog {
	char name[64];
	bool gone;
};

struct post {
	uint64_t id;
	unsigned blog;
	int64_t second;
	uint64_t look;
	bool deleted;
};

static struct blog blogs[] = {
	{ "ada", false }, { "bob", false }, { "blog.example", false },
	{ "eve", false }, { "dora", true },
};
static struct {
	char key[51];
	bool expired;
	uint64_t random, last_id;
	struct post *posts;          /* the newest first */
	size_t posts_n, posts_cap;
} world;

/* ---- Making ------------------------------------------------------------ */

static void
put_post(unsigned blog, int64_t second)
{
	world.posts = mem_room(world.posts, world.posts_n, &world.posts_cap,
	    1024, sizeof(*world.posts));
	world.last_id += 1 + random_next(&world.random) % 1000000000;
	world.posts[world.posts_n++] = (struct post){ .id = world.last_id,
		.blog = blog, .second = second,
		.look = random_next(&world.random),
		.deleted = random_chance(&world.random, 3) };
}

static int
order_of_posts(const void *a, const void *b)
{
	const struct post *x = a, *y = b;

	if (x->second != y->second)
		return x->second < y->second ? 1 : -1;
	return x->id < y->id ? 1 : -1;
}

static void
sort_posts(void)
{
	qsort(world.posts, world.posts_n, sizeof(*world.posts),
	    order_of_posts);
}

static void
make(uint64_t seed, struct wall now, unsigned items)
{
	const unsigned counts[] = { items, 7, MAX(items / 10, 30), 0, 5 };

	world.random = seed ^ 0x54554d42;
	world.last_id = FIRST_ID;
	world_word(&world.random, world.key, 50);
	for (unsigned b = 0; b < ARRAY_LEN(blogs); b++) {
		int64_t second = wall_s(now) - counts[b] * 3600;
		for (unsigned i = 0; i < counts[b]; i++) {
			/* Imports and queues publish several at once. */
			if (!random_chance(&world.random, 20))
				second += 1800;
			put_post(b, random_chance(&world.random, 4) ?
			    second - 30 * DAY_S : second);
		}
	}
	sort_posts();
}

/* ---- Answers ----------------------------------------------------------- */

static void
begin_answer(struct request *r, int status, const char *message)
{
	r->status = status;
	buf_clear(&r->out);
	json_object(&r->out, NULL);
	json_object(&r->out, "meta");
	json_u64(&r->out, "status", (uint64_t)status);
	json_str(&r->out, "msg", str_of(message));
	buf_put_char(&r->out, '}');
}

static void
fail_with(struct request *r, int status, const char *message,
    const char *detail)
{
	begin_answer(r, status, message);
	json_array(&r->out, "response");
	buf_put_char(&r->out, ']');
	json_array(&r->out, "errors");
	json_object(&r->out, NULL);
	json_str(&r->out, "title", str_of(message));
	json_u64(&r->out, "code", 0);
	json_str(&r->out, "detail", str_of(detail));
	buf_put_text(&r->out, "}]}");
}

/* What a post of its type has besides. */
static void
write_content(struct buf *b, const char *type, const struct post *p,
    uint64_t big)
{
	static const struct {
		const char *type, *member;
	} members[] = {
		{ "text", "body" }, { "quote", "text" }, { "link", "excerpt" },
		{ "answer", "answer" }, { "video", "caption" },
		{ "audio", "caption" }, { "photo", "caption" },
		{ "chat", "body" },
	};
	size_t i = STR_ROW(str_of(type), members);

	json_phrases(b, members[i].member, p->look, big);
	if (strcmp(type, "link") == 0)
		json_format(b, "url", "https://news.example/%llu",
		    (unsigned long long)p->look);
	if (strcmp(type, "photo") == 0) {
		json_array(b, "photos");
		buf_put_char(b, ']');
	}
}

static void
write_date(struct buf *b, int64_t second)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso((struct wall){ second * US_PER_S }, iso);
	json_format(b, "date", "%.10s %.8s GMT", iso, iso + 11);
}

static void
write_post(struct buf *b, const struct post *p, uint64_t big)
{
	static const char *const types[] = { "text", "quote", "link",
		"answer", "video", "audio", "photo", "chat" };
	const char *type = types[p->look / 16 % ARRAY_LEN(types)];
	const char *name = blogs[p->blog].name;
	unsigned long long id = p->id;

	json_object(b, NULL);
	json_str(b, "type", str_of(type));
	json_bool(b, "is_blocks_post_format", false);
	json_str(b, "blog_name", str_of(name));
	json_u64(b, "id", p->id);
	/* Those of long ago have a number only. */
	if (p->look % 8 != 0)
		json_format(b, "id_string", "%llu", id);
	json_format(b, "post_url", "https://%s.tumblr.com/post/%llu/a-slug",
	    name, id);
	json_str(b, "slug", STR("a-slug"));
	write_date(b, p->second);
	json_u64(b, "timestamp", (uint64_t)p->second);
	json_str(b, "state", STR("published"));
	json_str(b, "format", STR("html"));
	json_array(b, "tags");
	if (p->look % 3 == 0) {
		json_item(b, STR("birds"));
		json_item(b, STR("k\xc3\xa4tzchen"));
	}
	buf_put_char(b, ']');
	json_format(b, "short_url", "https://tmblr.co/%llx", id);
	json_phrases(b, "summary", p->look, 0);
	json_u64(b, "note_count", p->look % 500);
	write_content(b, type, p, big);
	buf_put_char(b, '}');
}

/* ---- Posts of a blog --------------------------------------------------- */

static struct blog *
blog_by(struct str name)
{
	struct str domain = STR(".tumblr.com");

	if (str_ends(name, domain))
		name.n -= domain.n;
	for (size_t i = 0; i < ARRAY_LEN(blogs); i++)
		if (str_eq_nocase(name, str_of(blogs[i].name)))
			return &blogs[i];
	return NULL;
}

static void
answer_posts(struct request *r, const struct blog *blog)
{
	const struct post **found = ARENA_ARRAY(&r->arena,
	    const struct post *, world.posts_n);
	size_t all = 0, at = (size_t)request_number(r, "offset", 0);
	uint64_t before = request_number(r, "before", UINT64_MAX);
	size_t most = MIN(MAX(request_number(r, "limit", PAGE_POSTS), 1),
	    PAGE_POSTS_MAX);
	struct slice s;

	for (size_t i = 0; i < world.posts_n; i++) {
		const struct post *p = &world.posts[i];
		if (&blogs[p->blog] != blog || p->deleted)
			continue;
		at += (uint64_t)p->second >= before;
		found[all++] = p;
	}
	slice_cut(&r->fault, all, at, (size_t)most, &s);
	begin_answer(r, 200, "OK");
	json_object(&r->out, "response");
	json_object(&r->out, "blog");
	json_str(&r->out, "name", str_of(blog->name));
	json_u64(&r->out, "posts", all);
	buf_put_char(&r->out, '}');
	json_array(&r->out, "posts");
	for (size_t i = 0; i < s.n; i++)
		write_post(&r->out, found[slice_place(&s, i)],
		    i == 0 ? r->fault.big : 0);
	buf_put_char(&r->out, ']');
	json_u64(&r->out, "total_posts", all);
	buf_put_text(&r->out, "}}");
}

static void
answer_call(struct request *r)
{
	struct str path = r->head.path, name, verb;

	if (!str_eq(r->head.method, STR("GET")) ||
	    !str_starts(path, STR("/v2/blog/")))
		return;
	path = str_from(path, 9);
	if (!request_segment(r, &path, &name) ||
	    !request_segment(r, &path, &verb) || !str_eq(verb, STR("posts")))
		return;
	const struct blog *blog = blog_by(name);
	if (blog == NULL || blog->gone)
		fail_with(r, 404, "Not Found", "Something flubbed. Try again.");
	else
		answer_posts(r, blog);
}

/* ---- Credentials, budgets, faults -------------------------------------- */

static void
change_by_plan(const struct fault *f)
{
	struct blog *renamed = blog_by(f->rename), *gone = blog_by(f->suspend);

	world.expired |= f->expire;
	if (renamed != NULL)
		snprintf(renamed->name, sizeof(renamed->name), "%.*s",
		    STR_FMT(f->rename_to));
	if (gone != NULL)
		gone->gone = true;
}

/* False: one of the three is used up. */
static bool
take_budgets(struct request *r, struct str key)
{
	struct budget minute, hour, day;

	budget_take(STR("tumblr address"), 300, 60, &minute);
	budget_take(arena_printf(&r->arena, "tumblr hour %.*s", STR_FMT(key)),
	    1000, 3600, &hour);
	budget_take(arena_printf(&r->arena, "tumblr day %.*s", STR_FMT(key)),
	    5000, DAY_S, &day);
	return !minute.exceeded && !hour.exceeded && !day.exceeded;
}

static void
answer(struct request *r)
{
	struct str key = STR_NONE;

	(void)request_param(r, "api_key", &key);
	r->who = key.p == NULL ? "nobody" : str_eq(key, str_of(world.key)) ?
	    "key" : "stranger";
	change_by_plan(&r->fault);
	bool left = take_budgets(r, key);
	if (r->fault.status != 0) {
		if (r->fault.retry_after.n > 0)
			buf_printf(&r->fields, "Retry-After: %.*s\r\n",
			    STR_FMT(r->fault.retry_after));
		fail_with(r, r->fault.status, "Said", "so the plan says");
	} else if (world.expired || !str_eq(key, str_of(world.key))) {
		fail_with(r, 401, "Unauthorized", "Unable to authorize");
	} else if (!left) {
		fail_with(r, 429, "Limit Exceeded", "Limit Exceeded");
	} else {
		answer_call(r);
	}
}

/* ---- For tests --------------------------------------------------------- */

static void
describe(struct str host, struct buf *out)
{
	char id[24];

	(void)host;
	json_object(out, NULL);
	json_str(out, "key", str_of(world.key));
	json_array(out, "blogs");
	for (size_t b = 0; b < ARRAY_LEN(blogs); b++) {
		json_object(out, NULL);
		json_str(out, "name", str_of(blogs[b].name));
		json_bool(out, "gone", blogs[b].gone);
		json_array(out, "posts");
		for (size_t i = world.posts_n; i-- > 0;) {
			const struct post *p = &world.posts[i];
			snprintf(id, sizeof(id), "%llu",
			    (unsigned long long)p->id);
			if (p->blog == b && !p->deleted)
				json_item(out, str_of(id));
		}
		buf_put_text(out, "]}");
	}
	buf_put_text(out, "]}\n");
}

static bool
delete_post(struct str text)
{
	uint64_t id;

	if (!str_to_u64(text, &id))
		return false;
	for (size_t i = 0; i < world.posts_n; i++)
		if (world.posts[i].id == id)
			return world.posts[i].deleted = true;
	return false;
}

static bool
change(struct str host, yyjson_val *what, char sentence[static 200])
{
	yyjson_val *add = yyjson_obj_get(what, "add");
	yyjson_val *rename = yyjson_obj_get(what, "rename");
	struct blog *blog = blog_by(json_text(yyjson_obj_get(add,
	    "account")));
	uint64_t n = blog == NULL ? 0 : yyjson_get_uint(yyjson_obj_get(add,
	    "n"));
	bool deleted = delete_post(json_text(yyjson_obj_get(what, "delete")));
	const struct fault f = { .suspend = json_text(yyjson_obj_get(what,
	    "suspend")), .rename = json_text(yyjson_obj_get(rename,
	    "account")), .rename_to = json_text(yyjson_obj_get(rename,
	    "to")) };

	(void)host;
	snprintf(sentence, 200, "there is no such blog or post");
	for (; n > 0; n--) {
		put_post((unsigned)(blog - blogs), wall_s(clock_wall()));
		world.posts[world.posts_n - 1].deleted = false;
	}
	sort_posts();
	change_by_plan(&f);
	return blog != NULL || deleted || f.rename.n > 0 || f.suspend.n > 0;
}

static const char *const hosts[] = { "api.tumblr.com", NULL };

const struct platform tumblr_platform = { .name = "tumblr", .hosts = hosts,
	.make = make, .answer = answer, .describe = describe,
	.change = change };
