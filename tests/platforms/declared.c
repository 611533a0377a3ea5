/*
 * Platforms that nobody has written a connector for: those of
 * examples/json_api, whose lists go on in all ways that a description knows.
 *
 *     forum.example       /c/LIST.json                cursor; key in Api-Key
 *     issues.example      /api/v1/repos/ada/LIST/issues      link; a token
 *     articles.example    /articles                   page, the last repeated
 *                         /offsets, /addresses        offset, url
 */
#include "tests/platforms/platforms.h"

#define CALLS 60u
#define PERIOD_S 60
#define PAGE_MAX 100u

enum list { LIST_CATS, LIST_OWLS, LIST_BIRDS, LIST_ARTICLES, LISTS_N };
static const char *const lists[LISTS_N] = { "cats", "owls", "birds",
	"articles" };

struct entry {
	uint64_t id;
	enum list list;
	int64_t second;
	uint64_t look;
	bool deleted;
};

static struct {
	char key[33], token[33];
	bool expired;
	uint64_t random, last_id;
	struct entry *entries;       /* the oldest first */
	size_t entries_n, entries_cap;
} world;

/* ---- Making ------------------------------------------------------------ */

static void
put_entry(enum list list, int64_t second)
{
	world.entries = mem_room(world.entries, world.entries_n,
	    &world.entries_cap, 1024, sizeof(*world.entries));
	/* Beyond what a double can tell apart. */
	world.last_id += 1 + random_next(&world.random) % 1000;
	world.entries[world.entries_n++] = (struct entry){
		.id = world.last_id, .list = list, .second = second,
		.look = random_next(&world.random),
		.deleted = random_chance(&world.random, 3) };
}

static void
make(uint64_t seed, struct wall now, unsigned items)
{
	const unsigned counts[LISTS_N] = { items, 7, MAX(items / 4, 120),
		MAX(items / 4, 100) };

	world.random = seed ^ 0x4a534f4e;
	world.last_id = UINT64_C(9007199254740993);
	world_word(&world.random, world.key, 32);
	world_word(&world.random, world.token, 32);
	for (enum list l = 0; l < LISTS_N; l++)
		for (unsigned i = 0; i < counts[l]; i++)
			put_entry(l, wall_s(now) - (int64_t)(counts[l] - i) *
			    900);
}

/* ---- Entries ----------------------------------------------------------- */

static void
put_date(struct buf *b, const char *name, int64_t second)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso((struct wall){ second * US_PER_S }, iso);
	json_format(b, name, "%.19sZ", iso);
}

static void
write_entry(struct buf *b, const struct entry *e, uint64_t big)
{
	unsigned who = (unsigned)(e->look % 40);

	json_object(b, NULL);
	json_u64(b, "id", e->id);
	json_phrases(b, "title", e->look, big);
	put_date(b, e->list == LIST_ARTICLES ? "published" : "created_at",
	    e->second);
	if (e->list == LIST_ARTICLES) {
		json_phrases(b, "text", e->look + 1, 0);
	} else if (e->list == LIST_BIRDS) {
		json_str(b, "state", e->look % 2 == 0 ? STR("open") :
		    STR("closed"));
		json_object(b, "user");
		json_u64(b, "id", who);
		json_format(b, "login", "user%u", who);
		buf_put_char(b, '}');
	} else {
		json_object(b, "poster");
		json_format(b, "id", "p%u", who);
		json_format(b, "name", "Poster %u", who);
		buf_put_char(b, '}');
		json_array(b, "tags");
		if (e->look % 3 == 0)
			json_item(b, STR("feathers"));
		buf_put_char(b, ']');
	}
	buf_put_char(b, '}');
}

/* ---- Lists ------------------------------------------------------------- */

/* Those of a list, the newest first, from that date on. */
static size_t
find_entries(struct request *r, enum list list, const struct entry ***out)
{
	struct wall since = { INT64_MIN };
	struct str text;
	size_t n = 0;

	if (request_param(r, "since", &text) && !wall_from_iso(text, &since))
		since.us = INT64_MIN;
	*out = ARENA_ARRAY(&r->arena, const struct entry *, world.entries_n);
	for (size_t i = world.entries_n; i-- > 0;) {
		const struct entry *e = &world.entries[i];
		if (e->list == list && !e->deleted &&
		    e->second >= wall_s(since))
			(*out)[n++] = e;
	}
	return n;
}

/* A page of a list, as an array of that name. */
static void
put_list(struct request *r, const char *name, const struct entry **found,
    const struct slice *s)
{
	json_array(&r->out, name);
	for (size_t i = 0; i < s->n; i++)
		write_entry(&r->out, found[slice_place(s, i)],
		    i == 0 ? r->fault.big : 0);
	buf_put_char(&r->out, ']');
}

static size_t
most_of(struct request *r, const char *name)
{
	return MIN(MAX(request_number(r, name, 20), 1), PAGE_MAX);
}

static void
answer_topics(struct request *r, enum list list)
{
	const struct entry **found;
	size_t all = find_entries(r, list, &found);
	struct str after = STR_NONE;
	uint64_t at = 0;
	struct slice s;

	/* "c-NUMBER": opaque to clients. */
	if (request_param(r, "after", &after))
		(void)str_to_u64(str_from(after, 2), &at);
	slice_cut(&r->fault, all, (size_t)at, most_of(r, "per_page"), &s);
	r->status = 200;
	json_object(&r->out, NULL);
	json_object(&r->out, "topic_list");
	put_list(r, "topics", found, &s);
	buf_put_char(&r->out, '}');
	json_object(&r->out, "meta");
	if (s.next < all)
		json_format(&r->out, "next", "c-%zu", s.next);
	else
		json_null(&r->out, "next");
	buf_put_text(&r->out, "}}");
}

static void
answer_issues(struct request *r)
{
	const struct entry **found;
	size_t all = find_entries(r, LIST_BIRDS, &found);
	size_t most = most_of(r, "limit"), page = (size_t)MAX(request_number(r,
	    "page", 1), 1);
	struct str since = STR_NONE;
	struct slice s;

	(void)request_param(r, "since", &since);
	slice_cut(&r->fault, all, (page - 1) * most, most, &s);
	r->status = 200;
	if (s.next < all)
		buf_printf(&r->fields, "Link: <https://issues.example%.*s?"
		    "limit=%zu&page=%zu%s%.*s>; rel=\"next\"\r\n",
		    STR_FMT(r->head.path), most, s.next / most + 1,
		    since.n > 0 ? "&since=" : "", STR_FMT(since));
	put_list(r, NULL, found, &s);
}

/* By pages, of which the last one comes again; by offsets; by addresses. */
static void
answer_articles(struct request *r, struct str path)
{
	const struct entry **found;
	size_t all = find_entries(r, LIST_ARTICLES, &found), at = 0;
	size_t most = most_of(r, "per_page");
	struct slice s;

	if (str_eq(path, STR("/articles")))
		at = (size_t)(MIN(MAX(request_number(r, "page", 1), 1),
		    (all + most - 1) / most) - 1) * most;
	else
		at = (size_t)request_number(r, "offset", 0);
	slice_cut(&r->fault, all, at, most, &s);
	r->status = 200;
	json_object(&r->out, NULL);
	put_list(r, "articles", found, &s);
	json_u64(&r->out, "total", all);
	if (str_eq(path, STR("/addresses")) && s.next < all)
		json_format(&r->out, "next", "/addresses?per_page=%zu&"
		    "offset=%zu", most, s.next);
	buf_put_char(&r->out, '}');
}

/* ---- Calls ------------------------------------------------------------- */

static void
fail_with(struct request *r, int status)
{
	r->status = status;
	buf_clear(&r->out);
	buf_printf(&r->out, "{\"error\":%d}", status);
}

/* LIST of "BEFORE LIST AFTER"; LISTS_N: another path. */
static size_t
list_of(struct str path, struct str before, struct str after)
{
	if (!str_starts(path, before) || !str_ends(path, after) ||
	    path.n < before.n + after.n)
		return LISTS_N;
	return STR_ROW(str_cut(path, before.n, path.n - after.n), lists);
}

static void
answer_call(struct request *r)
{
	struct str path = r->head.path;

	if (!str_eq(r->head.method, STR("GET")))
		return;
	if (str_eq(r->host, STR("forum.example"))) {
		size_t l = list_of(path, STR("/c/"), STR(".json"));
		if (l <= LIST_OWLS)
			answer_topics(r, (enum list)l);
		else if (str_starts(path, STR("/c/")))
			fail_with(r, 404);
	} else if (str_eq(r->host, STR("issues.example"))) {
		if (list_of(path, STR("/api/v1/repos/ada/"),
		    STR("/issues")) == LIST_BIRDS)
			answer_issues(r);
		else if (str_starts(path, STR("/api/v1/repos/")))
			fail_with(r, 404);
	} else if (str_eq(path, STR("/articles")) ||
	    str_eq(path, STR("/offsets")) ||
	    str_eq(path, STR("/addresses"))) {
		answer_articles(r, path);
	}
}

/* Each host has a credential of its own, and articles none. */
static bool
may_ask(struct request *r)
{
	struct str key = STR_NONE;

	if (str_eq(r->host, STR("articles.example"))) {
		r->who = "anybody";
		return true;
	}
	bool fine = str_eq(r->host, STR("forum.example")) ?
	    head_find(&r->head, STR("Api-Key"), &r->arena, &key) &&
	    str_eq(key, str_of(world.key)) :
	    str_eq(request_bearer(r), str_of(world.token));
	r->who = fine ? "key" : "stranger";
	return fine && !world.expired;
}

static void
answer(struct request *r)
{
	struct budget budget;

	world.expired |= r->fault.expire;
	budget_take(r->host, CALLS, PERIOD_S, &budget);
	buf_printf(&r->fields, "RateLimit-Limit: %llu\r\n"
	    "RateLimit-Remaining: %llu\r\nRateLimit-Reset: %lld\r\n",
	    (unsigned long long)budget.limit, (unsigned long long)budget.left,
	    (long long)(wall_s(budget.reset) - wall_s(r->now)));
	if (r->fault.retry_after.n > 0)
		buf_printf(&r->fields, "Retry-After: %.*s\r\n",
		    STR_FMT(r->fault.retry_after));
	if (r->fault.status != 0)
		fail_with(r, r->fault.status);
	else if (!may_ask(r))
		fail_with(r, 401);
	else if (budget.exceeded)
		fail_with(r, 429);
	else
		answer_call(r);
}

/* ---- For tests --------------------------------------------------------- */

static void
describe(struct str host, struct buf *out)
{
	char id[24];

	(void)host;
	json_object(out, NULL);
	json_str(out, "key", str_of(world.key));
	json_str(out, "token", str_of(world.token));
	json_object(out, "lists");
	for (size_t l = 0; l < LISTS_N; l++) {
		json_array(out, lists[l]);
		for (size_t i = 0; i < world.entries_n; i++) {
			const struct entry *e = &world.entries[i];
			snprintf(id, sizeof(id), "%llu",
			    (unsigned long long)e->id);
			if (e->list == l && !e->deleted)
				json_item(out, str_of(id));
		}
		buf_put_char(out, ']');
	}
	buf_put_text(out, "}}\n");
}

static bool
change(struct str host, yyjson_val *what, char sentence[static 200])
{
	yyjson_val *add = yyjson_obj_get(what, "add");
	size_t l = STR_ROW(json_text(yyjson_obj_get(add, "account")), lists);
	uint64_t n = yyjson_get_uint(yyjson_obj_get(add, "n")), id = 0;
	bool changed = l < LISTS_N;

	(void)host;
	snprintf(sentence, 200, "there is no such list or entry");
	for (; l < LISTS_N && n > 0; n--) {
		put_entry((enum list)l, wall_s(clock_wall()));
		world.entries[world.entries_n - 1].deleted = false;
	}
	(void)str_to_u64(json_text(yyjson_obj_get(what, "delete")), &id);
	for (size_t i = 0; i < world.entries_n; i++)
		if (world.entries[i].id == id)
			changed = world.entries[i].deleted = true;
	return changed;
}

static const char *const hosts[] = { "forum.example", "issues.example",
	"articles.example", NULL };

const struct platform declared_platform = { .name = "declared",
	.hosts = hosts, .make = make, .answer = answer, .describe = describe,
	.change = change };
