/* The row of the table, a run's beginning and end, and its calls. */
#include "engine/connector/bluesky/bluesky.h"

#include "engine/connector/bluesky/bluesky_own.h"
#include "engine/connector/order.h"
#include "engine/connector/url_text.h"

#define SAVED_VERSION 1
#define DID_BYTES_MAX 2048u
#define FILTER_USUAL "posts_with_replies"
#define FILTERS FILTER_USUAL " posts_no_replies posts_with_media "           \
	"posts_and_author_threads posts_with_video"

static const int statuses[] = { 400, 401, 403, 0 };

/* ---- Seeds and state --------------------------------------------------- */

const struct connector_seed *
bluesky_seed(const struct bluesky_run *b)
{
	return &b->run.order->seeds[b->seed];
}

bool
bluesky_is_did(struct str did)
{
	struct str name = str_from(did, 4);
	size_t method_n = str_find_char(name, ':');

	if (!str_starts(did, STR("did:")) || did.n > DID_BYTES_MAX ||
	    method_n == 0 || method_n + 1 >= name.n)
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (!ascii_is_alpha(name.p[i]) && !ascii_is_digit(name.p[i]) &&
		    memchr(".-_:%", name.p[i], 5) == NULL)
			return false;
	return true;
}

struct str
bluesky_handle(const struct connector_seed *s)
{
	struct str handle = s->token;

	(void)str_take_char(&handle, '@');
	return handle;
}

void
bluesky_state_key(const struct bluesky_run *b, struct buf *key)
{
	buf_put_str(key, buf_str(&b->did));
	if (!str_eq(b->filter, STR(FILTER_USUAL)))
		buf_printf(key, ".%.*s", STR_FMT(b->filter));
	buf_put_text(key, ".since");
}

struct wall
bluesky_since(const struct bluesky_run *b)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct wall since;

	if (!connector_param_bool(b->run.order->options, "incremental"))
		return (struct wall){ 0 };
	bluesky_state_key(b, &key);
	return wall_from_iso(connector_state_find(b->run.order, buf_str(&key)),
	    &since) ? since : (struct wall){ 0 };
}

/* ---- Calls ------------------------------------------------------------- */

static void
put_profile(struct bluesky_run *b)
{
	const struct connector_seed *s = bluesky_seed(b);

	buf_put_text(&b->url, "/xrpc/app.bsky.actor.getProfile");
	url_text_param(&b->url, "actor", s->uid.n > 0 ? s->uid :
	    bluesky_handle(s));
}

static void
put_page(struct bluesky_run *b)
{
	buf_put_text(&b->url, "/xrpc/app.bsky.feed.getAuthorFeed");
	url_text_param(&b->url, "actor", buf_str(&b->did));
	url_text_param(&b->url, "limit", STR("100"));
	if (b->cursor.n > 0)
		url_text_param(&b->url, "cursor", buf_str(&b->cursor));
	url_text_param(&b->url, "filter", b->filter);
}

static enum connector_next
bluesky_next(struct connector_run *run, struct connector_call *call)
{
	struct bluesky_run *b = (struct bluesky_run *)run;

	if (b->step == BLUESKY_ENDED)
		return CONNECTOR_END;
	if (b->is_out)
		return CONNECTOR_WAIT;
	buf_clear(&b->url);
	buf_put_text(&b->url, BLUESKY_BASE);
	if (b->step == BLUESKY_PROFILE)
		put_profile(b);
	else
		put_page(b);
	b->is_out = true;
	*call = (struct connector_call){
		.url = buf_str(&b->url),
		.budget = "xrpc",
		.statuses = statuses,
	};
	return CONNECTOR_CALL;
}

/* ---- From seed to seed ------------------------------------------------- */

void
bluesky_begin_feed(struct bluesky_run *b)
{
	buf_clear(&b->cursor);
	b->newest.us = 0;
	b->empty = 0;
	b->loop = (struct cursor_loop){ .pages = 0 };
	b->step = BLUESKY_PAGE;
}

bool
bluesky_next_seed(struct bluesky_run *b)
{
	if (b->seed + 1 == b->run.order->seeds_n) {
		b->step = BLUESKY_ENDED;
		return false;
	}
	b->seed++;
	buf_clear(&b->did);
	b->step = BLUESKY_PROFILE;
	return true;
}

/* ---- Opening and closing ----------------------------------------------- */

static enum err
check_seeds(const struct connector_order *o, struct why *w)
{
	char field[48];

	for (size_t i = 0; i < o->seeds_n; i++) {
		const struct connector_seed *s = &o->seeds[i];
		snprintf(field, sizeof(field), "seeds[%zu].%s", i,
		    s->uid.n > 0 ? "uid" : "token");
		if (s->uid.n > 0 && !bluesky_is_did(s->uid))
			return why_field(w, ERR_INPUT, field, "it is no DID, "
			    "such as did:plc:z72i7hdynmk6r22z27h6tvur");
		if (s->uid.n == 0 && bluesky_handle(s).n == 0)
			return why_field(w, ERR_INPUT, field, "it is empty");
	}
	return OK;
}

static void
bluesky_close(struct connector_run **run)
{
	struct bluesky_run *b = (struct bluesky_run *)*run;

	if (b == NULL)
		return;
	buf_free(&b->url);
	buf_free(&b->did);
	buf_free(&b->cursor);
	free(b);
	*run = NULL;
}

static enum err
bluesky_open(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	struct bluesky_run *b = mem_new(sizeof(*b));
	struct str filter = connector_param_text(o->options, "filter");
	enum err e;

	*out = &b->run;
	b->run.order = o;
	b->limit = connector_param_int(o->options, "limit", INT64_MAX);
	b->filter = filter.n > 0 ? filter : STR(FILTER_USUAL);
	if ((e = check_seeds(o, w)) != OK)
		bluesky_close(out);
	return e;
}

/* ---- What is saved ----------------------------------------------------- */

static void
bluesky_save(const struct connector_run *run, struct buf *out)
{
	const struct bluesky_run *b = (const struct bluesky_run *)run;

	buf_put_char(out, SAVED_VERSION);
	buf_put_char(out, (char)b->step);
	buf_put_varint(out, b->seed);
	buf_put_varint(out, b->items);
	buf_put_varint(out, b->empty);
	buf_put_varint(out, b->tries);
	buf_put_be64(out, (uint64_t)b->newest.us);
	buf_put_field(out, buf_str(&b->did));
	buf_put_field(out, buf_str(&b->cursor));
	cursor_loop_save(&b->loop, out);
}

static enum err
bluesky_load(struct connector_run *run, struct str saved, struct why *w)
{
	struct bluesky_run *b = (struct bluesky_run *)run;
	struct reader r = reader_of(saved);
	uint8_t version = read_u8(&r), step = read_u8(&r);
	uint64_t seed = read_varint(&r), items = read_varint(&r);
	uint64_t empty = read_varint(&r), tries = read_varint(&r);
	int64_t newest_us = (int64_t)read_be64(&r);
	struct str did = read_field(&r), cursor = read_field(&r);

	cursor_loop_read(&b->loop, &r);
	if (r.bad || r.n > 0 || version != SAVED_VERSION ||
	    step > BLUESKY_ENDED || seed >= b->run.order->seeds_n ||
	    empty > BLUESKY_EMPTY_PAGES_MAX || tries > BLUESKY_TRIES_MAX ||
	    cursor.n > BLUESKY_CURSOR_BYTES_MAX ||
	    (step == BLUESKY_PAGE && !bluesky_is_did(did)))
		return why(w, ERR_CORRUPT, "the checkpoint is damaged, or not "
		    "of this harvest");
	b->step = (enum bluesky_step)step;
	b->seed = (size_t)seed;
	b->items = items;
	b->empty = (unsigned)empty;
	b->tries = (unsigned)tries;
	b->newest.us = newest_us;
	b->is_out = false;
	buf_clear(&b->did);
	buf_put_str(&b->did, did);
	buf_clear(&b->cursor);
	buf_put_str(&b->cursor, cursor);
	return OK;
}

/* ---- The row ----------------------------------------------------------- */

static const struct connector_param params[] = {
	{ "incremental", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Ask only for posts that are newer than those of the last run" },
	{ "limit", CONNECTOR_INT, false, 1, INT64_MAX, NULL,
	    "End after the page that reaches so many posts" },
	{ "filter", CONNECTOR_CHOICE, false, 0, 0, FILTERS,
	    "Which posts of the author; default " FILTER_USUAL },
	{ .name = NULL },
};

static const struct connector_key credential[] = { { .name = NULL } };
static const char *const hosts[] = { NULL };

const struct connector bluesky_author_feed = {
	.type = "bluesky_author_feed", .platform = "bluesky",
	.label = BLUESKY_LABEL, .title = "Bluesky authors",
	.help = "Posts and reposts of accounts.",
	.kind = CONNECTOR_BATCH, .params = params,
	.seeds = { 1, SIZE_MAX, "handle of the account, such as bsky.app",
	    "DID of the account", NULL },
	.credential = credential, .hosts = hosts,
	.open = bluesky_open, .next = bluesky_next, .answer = bluesky_answer,
	.save = bluesky_save, .load = bluesky_load, .close = bluesky_close
};
