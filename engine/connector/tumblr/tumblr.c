/*
 * A run over blogs: pages of posts, the newest first, each with what was
 * published before a second.
 *
 *     page 1: 9 8 7 7        (their seconds)
 *     page 2, before 8:  7 7 7 4      the posts of page 1 are known
 *     page 3, before 5:  4            nothing but known posts
 *     page 4, before 4:  none         the end
 */
#include "engine/connector/tumblr/tumblr.h"

#include "engine/connector/items.h"
#include "engine/connector/shown.h"
#include "engine/connector/seed_run.h"
#include "engine/connector/url_text.h"

#define API "https://api.tumblr.com/v2/blog/"
#define NAME_BYTES_MAX 253u
#define PAGE_POSTS 20u       /* that are asked for */
#define PAGE_POSTS_MAX 50u   /* that Tumblr may send */
#define PAUSE_S 300u

enum { STEP_PAGE, STEPS_N };

struct tumblr_run {
	struct seed_run seed;

	/* Part of the checkpoint. */
	uint64_t since, newest;      /* ids of posts; 0: none */
	uint64_t before;             /* a second; 0: the first page */
	uint64_t seen;               /* posts of this blog */
	uint64_t known[PAGE_POSTS_MAX];      /* ids of the page before */
	size_t known_n;
};

static const int statuses[] = { 401, 403, 404, 429, 0 };
static const struct connector_rate rates[] = { { 300, 60, true },
	{ 1000, 3600, false }, { 5000, 86400, false }, { 0 } };

/* ---- Beginning --------------------------------------------------------- */

static bool
is_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '.' && !seed_run_is_word(str_cut(s, i, i + 1),
		    1))
			return false;
	return s.n > 0 && s.n <= NAME_BYTES_MAX && s.p[0] != '.';
}

static enum err
check(struct seed_run *r, struct why *w)
{
	const struct connector_order *o = r->run.order;
	char field[48];

	for (size_t i = 0; i < o->seeds_n; i++) {
		snprintf(field, sizeof(field), "seeds[%zu].uid", i);
		if (!is_name(o->seeds[i].uid))
			return why_field(w, ERR_INPUT, field,
			    "it is not the name of a blog");
	}
	return OK;
}

static void
put_key(const struct tumblr_run *t, struct buf *key)
{
	buf_put_str(key, seed_run_name(&t->seed));
	buf_put_text(key, ".since_post_id");
}

static void
begin(struct seed_run *r)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct tumblr_run *t = (struct tumblr_run *)r;

	t->since = t->newest = t->before = t->seen = 0;
	t->known_n = 0;
	r->step = STEP_PAGE;
	put_key(t, &key);
	if (connector_param_bool(r->run.order->options, "incremental") &&
	    !str_to_u64(connector_state_find(r->run.order, buf_str(&key)),
	    &t->since))
		t->since = 0;
}

static void
put_call(struct seed_run *r, struct connector_call *call)
{
	struct tumblr_run *t = (struct tumblr_run *)r;
	struct str name = seed_run_name(r);

	buf_put_text(&r->url, API);
	url_text_encode(&r->url, name);
	if (str_find_char(name, '.') == name.n)
		buf_put_text(&r->url, ".tumblr.com");
	buf_printf(&r->url, "/posts?limit=%u&filter=html", PAGE_POSTS);
	if (t->before != 0)
		buf_printf(&r->url, "&before=%llu",
		    (unsigned long long)t->before);
	call->auth = CONNECTOR_QUERY;
	call->secret = call->secret_name = "api_key";
	call->budget = "posts";
	call->rates = rates;
	call->statuses = statuses;
}

/* ---- A page ------------------------------------------------------------ */

struct page {
	uint64_t ids[PAGE_POSTS_MAX];
	size_t n, with_id;
	size_t unknown;              /* that the page before did not have */
	size_t new;                  /* of these, newer than the state */
	uint64_t oldest;             /* second of the first published */
};

static uint64_t
id_of(yyjson_val *post, struct arena *a)
{
	uint64_t id;

	/* Of posts of long ago it is a number alone. */
	if (str_to_u64(json_text(json_member(post, "id_string")), &id) ||
	    str_to_u64(json_id(json_member(post, "id"), a), &id))
		return id;
	return 0;
}

static bool
is_known(const struct tumblr_run *t, uint64_t id)
{
	for (size_t i = 0; i < t->known_n; i++)
		if (t->known[i] == id)
			return true;
	return false;
}

static void
read_page(struct tumblr_run *t, yyjson_val *list, struct page *p)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t i, n;
	yyjson_val *post;

	*p = (struct page){ .n = yyjson_arr_size(list),
		.oldest = UINT64_MAX };
	yyjson_arr_foreach(list, i, n, post) {
		uint64_t id = id_of(post, &a);
		uint64_t second = yyjson_get_uint(json_member(post,
		    "timestamp"));
		if (second > 0)
			p->oldest = MIN(p->oldest, second);
		if (id == 0)
			continue;
		p->ids[p->with_id++] = id;
		t->newest = MAX(t->newest, id);
		p->unknown += !is_known(t, id);
		p->new += !is_known(t, id) && id > t->since;
	}
}

static void
put_state(struct tumblr_run *t, const struct connector_findings *f)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	char digits[24];

	if (t->newest <= t->since)
		return;
	put_key(t, &key);
	snprintf(digits, sizeof(digits), "%llu",
	    (unsigned long long)t->newest);
	f->state(f->arg, buf_str(&key), str_of(digits));
}

static void
end_list(struct tumblr_run *t, const struct connector_findings *f)
{
	put_state(t, f);
	if (!seed_run_is_full(&t->seed, f))
		seed_run_leave(&t->seed, f);
}

/* Nothing was published earlier, or so it seems. */
static void
answer_empty(struct tumblr_run *t, yyjson_val *response,
    const struct connector_findings *f)
{
	uint64_t all = yyjson_get_uint(yyjson_obj_get(response,
	    "total_posts"));
	bool early = t->since > 0 || t->seen < all;

	if (early && t->seed.tries == 0) {
		seed_run_again(&t->seed, f, "no posts");
		return;
	}
	if (t->since == 0 && t->seen < all)
		seed_run_warn(&t->seed, f, "partial_posts", ": it has %llu "
		    "posts, of which %llu were shown", (unsigned long long)all,
		    (unsigned long long)t->seen);
	end_list(t, f);
}

/*
 * The next page begins with the second at which this one ended, since there may
 * be more posts of it; or before it, where that has shown nothing else.
 */
static void
move_on(struct tumblr_run *t, const struct page *p,
    const struct connector_findings *f)
{
	bool strict = t->before != 0 && p->oldest + 1 >= t->before;

	t->seed.tries = 0;
	if (strict && p->n >= PAGE_POSTS)
		seed_run_warn(&t->seed, f, "partial_posts", ": more posts were"
		    " published in one second than a page has, and some of "
		    "them may be missing");
	t->before = p->oldest + !strict;
	t->known_n = p->with_id;
	memcpy(t->known, p->ids, p->with_id * sizeof(p->ids[0]));
}

static void
answer_page(struct tumblr_run *t, yyjson_val *response,
    const struct connector_findings *f)
{
	yyjson_val *list = yyjson_obj_get(response, "posts");
	struct page p;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) > PAGE_POSTS_MAX) {
		seed_run_again(&t->seed, f, "no page of posts");
		return;
	}
	if (yyjson_arr_size(list) == 0) {
		answer_empty(t, response, f);
		return;
	}
	read_page(t, list, &p);
	if (p.oldest == UINT64_MAX || (t->before != 0 && p.oldest >=
	    t->before)) {
		seed_run_again(&t->seed, f, "a page that leads nowhere");
		return;
	}
	seed_run_count(&t->seed, f, p.new);
	t->seen += p.unknown;
	if (p.with_id < p.n)
		seed_run_warn(&t->seed, f, "uid_unknown_error", ": %zu of %zu "
		    "posts of a page have no id and are not counted",
		    p.n - p.with_id, p.n);
	bool known = t->since > 0 && p.unknown > 0 && p.new == 0;
	if (known || t->seed.items >= (uint64_t)t->seed.limit)
		end_list(t, f);
	else
		move_on(t, &p, f);
}

/* ---- Refusals ---------------------------------------------------------- */

/* "404 Not Found, this blog is ..." */
static void
put_refusal(struct buf *text, const struct connector_answer *answer)
{
	struct str detail = json_text(yyjson_obj_get(yyjson_arr_get_first(
	    yyjson_obj_get(answer->json, "errors")), "detail"));

	buf_printf(text, "%d ", answer->status);
	shown_put(text, json_text(json_at(answer->json,
	    "meta.msg")));
	if (detail.n > 0) {
		buf_put_text(text, ", ");
		shown_put(text, detail);
	}
}

static void
answer_refusal(struct seed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	put_refusal(&text, answer);
	if (answer->status == 429)
		seed_run_wait(r, f, PAUSE_S);
	else if (answer->status == 401)
		seed_run_fail(r, f, "harvest_Unauthorized", " refuses the key:"
		    " %.*s", STR_FMT(buf_str(&text)));
	else
		seed_run_skip(r, f, answer->status == 404 ?
		    "token_not_found" : "token_unauthorized", ": %.*s",
		    STR_FMT(buf_str(&text)));
}

static void
answer(struct seed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	if (answer->status >= 300)
		answer_refusal(r, answer, f);
	else
		answer_page((struct tumblr_run *)r, yyjson_obj_get(
		    answer->json, "response"), f);
}

/* ---- What is saved ----------------------------------------------------- */

static void
save(const struct seed_run *r, struct buf *out)
{
	const struct tumblr_run *t = (const struct tumblr_run *)r;

	buf_put_varint(out, t->since);
	buf_put_varint(out, t->newest);
	buf_put_varint(out, t->before);
	buf_put_varint(out, t->seen);
	buf_put_varint(out, t->known_n);
	for (size_t i = 0; i < t->known_n; i++)
		buf_put_varint(out, t->known[i]);
}

static bool
load(struct seed_run *r, struct reader *in)
{
	struct tumblr_run *t = (struct tumblr_run *)r;

	t->since = read_varint(in);
	t->newest = read_varint(in);
	t->before = read_varint(in);
	t->seen = read_varint(in);
	uint64_t n = read_varint(in);
	if (n > PAGE_POSTS_MAX)
		return false;
	t->known_n = (size_t)n;
	for (size_t i = 0; i < t->known_n; i++)
		t->known[i] = read_varint(in);
	return true;
}

static void
free_run(struct seed_run *r)
{
	(void)r;
}

/* ---- The row ----------------------------------------------------------- */

static const struct seed_run_kind kind = {
	.service = "Tumblr", .seed = "blog", .items = "posts",
	.steps_n = STEPS_N, .bytes = sizeof(struct tumblr_run),
	.check = check, .begin = begin, .call = put_call, .answer = answer,
	.save = save, .load = load, .free = free_run
};

static enum err
open_posts(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&kind, o, out, w);
}

static const struct connector_param params[] = {
	SEED_RUN_PARAMS("posts"),
	{ .name = NULL },
};

static const struct connector_key credential[] = {
	{ "api_key", true, true, "Key of an application, which Tumblr calls "
	    "its consumer key" },
	{ .name = NULL },
};

static const char *const hosts[] = { "api.tumblr.com", NULL };

const struct connector tumblr_blog_posts = {
	.type = "tumblr_blog_posts", .platform = "tumblr",
	.label = "tumblr posts", .title = "Tumblr blogs",
	.help = "Posts of blogs.",
	.kind = CONNECTOR_BATCH, .params = params,
	.seeds = { 1, SIZE_MAX, NULL,
	    "name of the blog, or its domain, a.example", NULL },
	.state_is_number = true, .credential = credential, .hosts = hosts,
	.open = open_posts, SEED_RUN_FUNCTIONS
};
