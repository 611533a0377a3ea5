/* Reads answers: documents, redirects, what is not there. */
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "engine/connector/feed/feed_items.h"
#include "engine/connector/feed/feed_own.h"
#include "engine/connector/feed/feed_read.h"
#include "engine/connector/shown.h"

#define DIGEST_HEX 16u  /* digits of a digest in a state */

/* ---- Known entries ----------------------------------------------------- */

static char mark;            /* what a digest's entry in a map points to */

/* The next digest of a state's text; false: there is none, or it is spoilt. */
static bool
take_digest(struct str *known, uint64_t *digest)
{
	*digest = 0;
	if (known->n < DIGEST_HEX)
		return false;
	for (size_t i = 0; i < DIGEST_HEX; i++) {
		int value = ascii_hex_value(known->p[i]);
		if (value < 0)
			return false;
		*digest = *digest << 4 | (unsigned)value;
	}
	*known = str_from(*known, DIGEST_HEX);
	return true;
}

static void
map_window(const struct feed_run *r, struct map *m)
{
	for (size_t i = 0; i < r->window_n; i++)
		map_put_id(m, r->window[i], &mark);
}

/* This run's entries in their order, then those of earlier runs, while there is
 * room. */
static void
put_window(const struct feed_run *r, struct buf *out)
{
	struct map window = MAP_INIT;
	struct str known = feed_known(r);
	size_t n = r->window_n;
	uint64_t digest;

	map_window(r, &window);
	for (size_t i = 0; i < r->window_n; i++)
		buf_printf(out, "%016llx", (unsigned long long)r->window[i]);
	while (n < FEED_WINDOW_MAX && take_digest(&known, &digest)) {
		if (map_get_id(&window, digest) != NULL)
			continue;
		buf_printf(out, "%016llx", (unsigned long long)digest);
		n++;
	}
	map_free(&window);
}

/* ---- Entries ----------------------------------------------------------- */

/* A document that is being read. */
struct document {
	struct feed_run *run;
	const struct connector_findings *f;
	struct map window, known;    /* digests of this run, of earlier ones */
	bool media, web_resources;
	uint64_t entries, with_id, new;
};

static void
find_url(const struct document *d, struct str href)
{
	FREED(buf_free) struct buf url = BUF_INIT;

	if (href.n > 0 && feed_resolve(buf_str(&d->run->at), href, &url))
		d->f->url(d->f->arg, buf_str(&url));
}

static enum err
read_entry(void *arg, const struct feed_entry *e, struct why *w)
{
	struct document *d = arg;
	struct feed_run *r = d->run;
	struct str id = buf_str(&e->fields[FEED_ID]), url;
	uint64_t digest = hash_bytes(id, 0);

	(void)w;
	d->entries++;
	if (id.n == 0)
		return OK;
	d->with_id++;
	if (map_get_id(&d->window, digest) != NULL)
		return OK;
	if (r->window_n < FEED_WINDOW_MAX) {
		map_put_id(&d->window, digest, &mark);
		r->window[r->window_n++] = digest;
	}
	if (map_get_id(&d->known, digest) != NULL)
		return OK;
	d->new++;
	if (d->web_resources)
		find_url(d, buf_str(&e->fields[FEED_URL]));
	if (!d->media)
		return OK;
	for (struct str rest = buf_str(&e->enclosures); rest.n > 0 &&
	    str_split(&rest, '\0', &url);)
		find_url(d, url);
	return OK;
}

static void
warn_of_document(struct document *d, enum err e, const char *why,
    const struct connector_answer *answer)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf text = BUF_INIT;
	struct seed_run *run = &d->run->run;
	struct str type = http_content_type(answer->head, &a).type;

	if (e != OK) {
		shown_put(&text, str_of(why));
		seed_run_warn(run, d->f, "feed_malformed", " is malformed: %s",
		    buf_text(&text));
	} else if (!feed_items.recognises_named(buf_str(&d->run->at), type)) {
		shown_put(&text, type);
		seed_run_warn(run, d->f, "feed_malformed", " is sent as \"%s\","
		    " and exports do not take that for a feed",
		    buf_text(&text));
	}
	if (d->with_id < d->entries)
		seed_run_warn(run, d->f, "token_unknown_error", ": %llu of "
		    "%llu entries have neither an id nor an address, and are "
		    "not counted", (unsigned long long)(d->entries -
		    d->with_id), (unsigned long long)d->entries);
}

/* ---- How a feed goes on, or ends --------------------------------------- */

static void
set_state(struct feed_run *r, const char *name, struct str value,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf key = BUF_INIT;

	if (value.n == 0)
		return;
	buf_put_str(&key, buf_str(&r->home));
	buf_put_text(&key, name);
	f->state(f->arg, buf_str(&key), value);
}

static void
set_states(struct feed_run *r, const struct connector_findings *f)
{
	FREED(buf_free) struct buf seen = BUF_INIT;

	set_state(r, ".etag", buf_str(&r->etag), f);
	set_state(r, ".last_modified", buf_str(&r->last_modified), f);
	put_window(r, &seen);
	set_state(r, ".seen", buf_str(&seen), f);
}

/* The feed was read as far as it goes, or is wanted. */
static void
leave_feed(struct feed_run *r, const struct connector_findings *f)
{
	set_states(r, f);
	if (!seed_run_is_full(&r->run, f))
		seed_run_leave(&r->run, f);
}

static void
go_on(struct feed_run *r, const struct feed_about *about,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf url = BUF_INIT;

	if (!feed_resolve(buf_str(&r->at), buf_str(&about->older), &url)) {
		seed_run_warn(&r->run, f, "token_unknown_error", " leads to "
		    "older entries at no http or https URL");
		leave_feed(r, f);
	} else if (!cursor_move(&r->older, buf_str(&url))) {
		seed_run_warn(&r->run, f, "token_unknown_error",
		    " has older entries in documents that lead in a circle");
		leave_feed(r, f);
	} else {
		r->run.step = FEED_OLDER;
		r->redirects = 0;
		buf_clear(&r->at);
		buf_put_str(&r->at, buf_str(&url));
	}
}

/* ---- Answers ----------------------------------------------------------- */

/* If the feed has moved permanently, report its new address. */
static void
tell_home(struct feed_run *r, const struct connector_findings *f)
{
	FREED(buf_free) struct buf seed = BUF_INIT;
	const struct connector_seed *s = seed_run_seed(&r->run);

	if (r->run.step == FEED_CURRENT &&
	    feed_resolve(STR_NONE, s->token, &seed) &&
	    !str_eq(buf_str(&seed), buf_str(&r->home)))
		f->seed(f->arg, s, STR_NONE, buf_str(&r->home));
}

static void
keep_validator(const struct connector_answer *answer, struct str field,
    struct buf *out)
{
	struct str value = http_find(answer->head, field);

	buf_clear(out);
	if (value.n <= FEED_VALIDATOR_BYTES_MAX && text_is_utf8(value) &&
	    text_is_field_value(value))
		buf_put_str(out, value);
}

static void
answer_document(struct feed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	yyjson_val *options = r->run.run.order->options;
	struct document d = { .run = r, .f = f,
		.media = connector_param_bool(options, "media"),
		.web_resources = connector_param_bool(options,
		    "web_resources") };
	struct feed_about about = { .older = BUF_INIT };
	struct why w = WHY_INIT;
	uint64_t digest;

	tell_home(r, f);
	map_window(r, &d.window);
	for (struct str known = feed_known(r); take_digest(&known, &digest);)
		map_put_id(&d.known, digest, &mark);
	enum err e = feed_read(answer->body, &about, read_entry, &d, &w);
	/* What is malformed is to be asked for without a condition. */
	if (r->run.step == FEED_CURRENT && e == OK) {
		keep_validator(answer, STR("ETag"), &r->etag);
		keep_validator(answer, STR("Last-Modified"),
		    &r->last_modified);
	}
	seed_run_count(&r->run, f, d.new);
	warn_of_document(&d, e, w.text, answer);
	bool known = d.known.n > 0 && d.new == 0;
	map_free(&d.window);
	map_free(&d.known);
	if (about.older.n > 0 && !known &&
	    connector_param_bool(options, "history") &&
	    r->run.items < (uint64_t)r->run.limit)
		go_on(r, &about, f);
	else
		leave_feed(r, f);
	buf_free(&about.older);
}

static void
give_up(struct feed_run *r, const struct connector_findings *f,
    const char *code, const char *what)
{
	if (r->run.step == FEED_CURRENT) {
		seed_run_skip(&r->run, f, code, "%s", what);
		return;
	}
	seed_run_warn(&r->run, f, code, ", a document with older entries,%s",
	    what);
	leave_feed(r, f);
}

static void
answer_redirect(struct feed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf url = BUF_INIT;
	struct str to = http_find(answer->head, STR("Location"));
	bool permanent = answer->status == 301 || answer->status == 308;

	if (to.n == 0 || !feed_resolve(buf_str(&r->at), to, &url)) {
		give_up(r, f, "token_unknown_error",
		    " leads to no http or https URL");
		return;
	}
	if (++r->redirects > FEED_REDIRECTS_MAX) {
		r->redirects = 0;
		give_up(r, f, "token_unknown_error",
		    " leads from one address to another too often");
		return;
	}
	buf_clear(&r->at);
	buf_put_str(&r->at, buf_str(&url));
	if (r->run.step != FEED_CURRENT)
		return;
	r->was_temporary |= !permanent;
	if (r->was_temporary)
		return;
	buf_clear(&r->home);
	buf_put_str(&r->home, buf_str(&url));
}

static void
answer_other(struct feed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	int status = answer->status;

	if (status == 404 || status == 410) {
		give_up(r, f, "token_not_found", " does not exist");
		return;
	}
	buf_put_text(&text, " cannot be read: ");
	if (status == 0)
		shown_put(&text, answer->refused);
	else
		buf_printf(&text, "its server answered %d", status);
	give_up(r, f, status == 401 || status == 403 ? "token_unauthorized" :
	    "token_unknown_error", buf_text(&text));
}

void
feed_answer(struct seed_run *run, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	struct feed_run *r = (struct feed_run *)run;

	if (answer->status / 100 == 2) {
		answer_document(r, answer, f);
	} else if (answer->status == 304 && run->step == FEED_CURRENT) {
		tell_home(r, f);
		seed_run_leave(run, f);
	} else if (http_is_redirect(answer->status)) {
		answer_redirect(r, answer, f);
	} else {
		answer_other(r, answer, f);
	}
}
