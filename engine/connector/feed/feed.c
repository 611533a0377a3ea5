/* The row of the table, a run's beginning, its calls, and what is saved. */
#include "engine/connector/feed/feed.h"

#include "base/text.h"
#include "engine/connector/feed/feed_own.h"
#include "engine/parser/url.h"

/* ---- Addresses and state ----------------------------------------------- */

bool
feed_resolve(struct str base, struct str href, struct buf *out)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct url from, url;

	buf_clear(out);
	if ((base.n > 0 && url_parse(base, NULL, &a, &from, NULL) != OK) ||
	    url_parse(href, base.n > 0 ? &from : NULL, &a, &url, NULL) != OK ||
	    (url.scheme != URL_HTTP && url.scheme != URL_HTTPS) ||
	    url.href.n > FEED_URL_BYTES_MAX)
		return false;
	buf_put_str(out, str_cut(url.href, 0, url.href.n - url.fragment.n));
	return true;
}

static struct str
find_state(const struct feed_run *r, struct str address, const char *name)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	const struct connector_order *o = r->run.run.order;

	if (!connector_param_bool(o->options, "incremental"))
		return STR_NONE;
	buf_put_str(&key, address);
	buf_put_text(&key, name);
	return connector_state_find(o, buf_str(&key));
}

struct str
feed_state(const struct feed_run *r, const char *name)
{
	return find_state(r, buf_str(&r->home), name);
}

struct str
feed_known(const struct feed_run *r)
{
	FREED(buf_free) struct buf seed = BUF_INIT;
	struct str known = feed_state(r, ".seen");

	if (known.n > 0 ||
	    !feed_resolve(STR_NONE, seed_run_seed(&r->run)->token, &seed))
		return known;
	return find_state(r, buf_str(&seed), ".seen");
}

/* ---- Calls ------------------------------------------------------------- */

static void
add_condition(struct feed_run *r, struct connector_call *call,
    const char *field, const char *state)
{
	struct str value = feed_state(r, state);

	if (value.n == 0 || value.n > FEED_VALIDATOR_BYTES_MAX ||
	    !text_is_field_value(value))
		return;
	r->fields[call->fields_n++] = (struct connector_field){ field, value };
}

static void
feed_call(struct seed_run *run, struct connector_call *call)
{
	struct feed_run *r = (struct feed_run *)run;

	buf_put_str(&run->url, buf_str(&r->at));
	call->expect = CONNECTOR_BYTES;
	call->as_crawl = true;
	call->fields = r->fields;
	if (run->step != FEED_CURRENT)
		return;
	add_condition(r, call, "If-None-Match", ".etag");
	add_condition(r, call, "If-Modified-Since", ".last_modified");
}

/* ---- A run ------------------------------------------------------------- */

static enum err
feed_check(struct seed_run *run, struct why *w)
{
	FREED(buf_free) struct buf url = BUF_INIT;
	const struct connector_order *o = run->run.order;
	char field[48];

	for (size_t i = 0; i < o->seeds_n; i++) {
		snprintf(field, sizeof(field), "seeds[%zu].token", i);
		if (!feed_resolve(STR_NONE, o->seeds[i].token, &url))
			return why_field(w, ERR_INPUT, field,
			    "it is no http or https URL");
	}
	return OK;
}

static void
feed_begin(struct seed_run *run)
{
	struct feed_run *r = (struct feed_run *)run;

	run->step = FEED_CURRENT;
	CHECK(feed_resolve(STR_NONE, seed_run_seed(run)->token, &r->at));
	buf_clear(&r->home);
	buf_put_str(&r->home, buf_str(&r->at));
	r->was_temporary = false;
	r->redirects = 0;
	cursor_begin(&r->older);
	buf_clear(&r->etag);
	buf_clear(&r->last_modified);
	r->window_n = 0;
}

static void
feed_save(const struct seed_run *run, struct buf *out)
{
	const struct feed_run *r = (const struct feed_run *)run;

	buf_put_field(out, buf_str(&r->at));
	buf_put_field(out, buf_str(&r->home));
	buf_put_char(out, r->was_temporary);
	buf_put_varint(out, r->redirects);
	cursor_save(&r->older, out);
	buf_put_field(out, buf_str(&r->etag));
	buf_put_field(out, buf_str(&r->last_modified));
	buf_put_varint(out, r->window_n);
	for (size_t i = 0; i < r->window_n; i++)
		buf_put_be64(out, r->window[i]);
}

/* A field of a checkpoint into a buffer; false: it is too long. */
static bool
read_into(struct reader *in, size_t max, struct buf *b)
{
	struct str field = read_field(in);

	buf_clear(b);
	buf_put_str(b, str_cut(field, 0, max));
	return field.n <= max;
}

static bool
is_address(const struct buf *b)
{
	FREED(buf_free) struct buf url = BUF_INIT;

	return feed_resolve(STR_NONE, buf_str(b), &url) &&
	    str_eq(buf_str(&url), buf_str(b));
}

static bool
feed_load(struct seed_run *run, struct reader *in)
{
	struct feed_run *r = (struct feed_run *)run;
	bool fine = read_into(in, FEED_URL_BYTES_MAX, &r->at);

	fine &= read_into(in, FEED_URL_BYTES_MAX, &r->home);
	r->was_temporary = read_u8(in) != 0;
	uint64_t redirects = read_varint(in);
	r->redirects = (unsigned)redirects;
	fine &= cursor_load(&r->older, in);
	fine &= read_into(in, FEED_VALIDATOR_BYTES_MAX, &r->etag);
	fine &= read_into(in, FEED_VALIDATOR_BYTES_MAX, &r->last_modified);
	uint64_t n = read_varint(in);
	if (!fine || redirects > FEED_REDIRECTS_MAX || n > FEED_WINDOW_MAX ||
	    !is_address(&r->at) || !is_address(&r->home))
		return false;
	r->window_n = (size_t)n;
	for (size_t i = 0; i < r->window_n; i++)
		r->window[i] = read_be64(in);
	return true;
}

static void
feed_free(struct seed_run *run)
{
	struct feed_run *r = (struct feed_run *)run;

	buf_free(&r->at);
	buf_free(&r->home);
	cursor_free(&r->older);
	buf_free(&r->etag);
	buf_free(&r->last_modified);
}

static const struct seed_run_kind kind = {
	.service = "Feeds", .seed = "feed", .items = "entries",
	.steps_n = FEED_STEPS_N, .bytes = sizeof(struct feed_run),
	.check = feed_check, .begin = feed_begin, .call = feed_call,
	.answer = feed_answer, .save = feed_save, .load = feed_load,
	.free = feed_free
};

static enum err
feed_open(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&kind, o, out, w);
}

/* ---- The row ----------------------------------------------------------- */

static const struct connector_param params[] = {
	SEED_RUN_PARAMS("entries"),
	{ "history", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Read the older documents that a feed leads to, too" },
	{ "media", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Crawl the sounds, videos and files of new entries" },
	{ "web_resources", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Crawl the pages of new entries" },
	{ .name = NULL },
};

static const struct connector_key credential[] = { { .name = NULL } };
static const char *const hosts[] = { NULL };

const struct connector feed_entries = {
	.type = "feed_entries", .platform = "feed", .label = "feed entries",
	.title = "Feeds",
	.help = "Entries of RSS, Atom and JSON Feed: blogs, podcasts, news.",
	.kind = CONNECTOR_BATCH, .as_crawl = true, .params = params,
	.seeds = { 1, SIZE_MAX, "address of the feed", NULL, NULL },
	.credential = credential, .hosts = hosts,
	.open = feed_open, SEED_RUN_FUNCTIONS
};
