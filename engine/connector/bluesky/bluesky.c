/* The row of the table, a run's beginning, its calls, and what is saved. */
#include "engine/connector/bluesky/bluesky.h"

#include "engine/connector/bluesky/bluesky_own.h"
#include "engine/connector/url_text.h"

#define BASE "https://public.api.bsky.app"
#define DID_BYTES_MAX 2048u
#define FILTER_USUAL "posts_with_replies"
#define FILTERS FILTER_USUAL " posts_no_replies posts_with_media "           \
	"posts_and_author_threads posts_with_video"

static const int statuses[] = { 400, 401, 403, 0 };

/* ---- Seeds and state --------------------------------------------------- */

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
		    !str_has_char(STR(".-_:%"), name.p[i]))
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

	if (!connector_param_bool(b->run.run.order->options, "incremental"))
		return (struct wall){ 0 };
	bluesky_state_key(b, &key);
	return wall_from_iso(connector_state_find(b->run.run.order,
	    buf_str(&key)), &since) ? since : (struct wall){ 0 };
}

/* ---- Calls ------------------------------------------------------------- */

static void
put_profile(struct bluesky_run *b)
{
	const struct connector_seed *s = seed_run_seed(&b->run);

	buf_put_text(&b->run.url, "/xrpc/app.bsky.actor.getProfile");
	url_text_param(&b->run.url, "actor", s->uid.n > 0 ? s->uid :
	    bluesky_handle(s));
}

static void
put_page(struct bluesky_run *b)
{
	struct buf *url = &b->run.url;

	buf_put_text(url, "/xrpc/app.bsky.feed.getAuthorFeed");
	url_text_param(url, "actor", buf_str(&b->did));
	url_text_param(url, "limit", STR("100"));
	if (b->cursor.at.n > 0)
		url_text_param(url, "cursor", buf_str(&b->cursor.at));
	url_text_param(url, "filter", b->filter);
}

static void
bluesky_call(struct seed_run *run, struct connector_call *call)
{
	struct bluesky_run *b = (struct bluesky_run *)run;

	buf_put_text(&run->url, BASE);
	if (run->step == BLUESKY_PROFILE)
		put_profile(b);
	else
		put_page(b);
	call->budget = "xrpc";
	call->statuses = statuses;
}

/* ---- A run ------------------------------------------------------------- */

static enum err
bluesky_check(struct seed_run *run, struct why *w)
{
	struct bluesky_run *b = (struct bluesky_run *)run;
	const struct connector_order *o = run->run.order;
	struct str filter = connector_param_text(o->options, "filter");
	char field[48];

	b->filter = filter.n > 0 ? filter : STR(FILTER_USUAL);
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
bluesky_begin(struct seed_run *run)
{
	struct bluesky_run *b = (struct bluesky_run *)run;

	run->step = BLUESKY_PROFILE;
	buf_clear(&b->did);
	cursor_begin(&b->cursor);
	b->newest.us = 0;
	b->empty = 0;
}

static void
bluesky_save(const struct seed_run *run, struct buf *out)
{
	const struct bluesky_run *b = (const struct bluesky_run *)run;

	buf_put_field(out, buf_str(&b->did));
	cursor_save(&b->cursor, out);
	buf_put_be64(out, (uint64_t)b->newest.us);
	buf_put_varint(out, b->empty);
}

static bool
bluesky_load(struct seed_run *run, struct reader *r)
{
	struct bluesky_run *b = (struct bluesky_run *)run;
	struct str did = read_field(r);
	bool fine = cursor_load(&b->cursor, r);
	int64_t newest_us = (int64_t)read_be64(r);
	uint64_t empty = read_varint(r);

	buf_clear(&b->did);
	buf_put_str(&b->did, did);
	b->newest.us = newest_us;
	b->empty = (unsigned)empty;
	return fine && empty <= BLUESKY_EMPTY_PAGES_MAX &&
	    (run->step != BLUESKY_PAGE || bluesky_is_did(did));
}

static void
bluesky_free(struct seed_run *run)
{
	struct bluesky_run *b = (struct bluesky_run *)run;

	buf_free(&b->did);
	cursor_free(&b->cursor);
}

static const struct seed_run_kind kind = {
	.service = "Bluesky", .seed = "account", .items = "posts",
	.steps_n = BLUESKY_STEPS_N, .bytes = sizeof(struct bluesky_run),
	.check = bluesky_check, .begin = bluesky_begin, .call = bluesky_call,
	.answer = bluesky_answer, .save = bluesky_save, .load = bluesky_load,
	.free = bluesky_free
};

static enum err
bluesky_open(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&kind, o, out, w);
}

/* ---- The row ----------------------------------------------------------- */

static const struct connector_param params[] = {
	SEED_RUN_PARAMS("posts"),
	{ "filter", CONNECTOR_CHOICE, false, 0, 0, FILTERS,
	    "Which posts of the author; default " FILTER_USUAL },
	{ .name = NULL },
};

static const struct connector_key credential[] = { { .name = NULL } };
static const char *const hosts[] = { NULL };

const struct connector bluesky_author_feed = {
	.type = "bluesky_author_feed", .platform = "bluesky",
	.label = "bluesky posts", .title = "Bluesky authors",
	.help = "Posts and reposts of accounts.",
	.kind = CONNECTOR_BATCH, .params = params,
	.seeds = { 1, SIZE_MAX, "handle of the account, such as bsky.app",
	    "DID of the account", NULL },
	.credential = credential, .hosts = hosts,
	.open = bluesky_open, SEED_RUN_FUNCTIONS
};
