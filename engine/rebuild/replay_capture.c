/*
 * A capture, read again from its WARC file: its links are found and its records
 * put, as when it was fetched.
 */
#include "engine/archive/archive_port.h"
#include "engine/frontier/checkpoint.h"
#include "engine/frontier/journal.h"
#include "engine/frontier/restore.h"
#include "engine/parser/sitemap.h"
#include "engine/rebuild/replay_state.h"

/* --- documents, read again ---------------------------------------------- */

static bool
read_record(struct replay *x, struct record *r, uint32_t file,
    uint64_t offset, uint32_t clen, uint32_t ulen)
{
	if (r->fd < 0 || r->file != file) {
		archive_port()->close(&r->fd);
		r->file = file;
		if (ledger_warc_open(ledger_index(frontier_ledger(
		    x->frontier)), file, &r->fd, NULL) != OK)
			return false;
	}
	return capture_read(r->reader, r->fd, offset, clen, ulen, &r->capture,
	    NULL) == OK;
}

static struct str
digest_key(struct replay *x, const struct digest *d)
{
	buf_clear(&x->key);
	collection_digest_key(x->now->shared.collection, d, &x->key);
	return arena_copy(&x->page, buf_str(&x->key));
}

/*
 * The journal's entry of the capture that holds a revisit's payload, in `out`;
 * NULL: it is no revisit, or that is not known.
 */
static const struct journal_entry *
find_original(struct replay *x, const struct archive_capture *c,
    struct journal_entry *out)
{
	return c->revisit && c->digest.kind != DIGEST_NONE &&
	    collection_original(ledger_index(frontier_ledger(x->frontier)),
	    digest_key(x, &c->digest), &x->page, out) == OK ? out : NULL;
}

static void
decode(struct replay *x, const struct capture *c)
{
	const struct policy *p = x->now->policy;
	struct http_decode_limits limits = {
		(uint64_t)MIN((int64_t)conf_size(x->conf,
		    CONF_FETCH_BODY_BYTES_MAX), p->limits.max_body_bytes),
		(uint32_t)conf_double(x->conf, CONF_FETCH_DECODE_RATIO_MAX),
	};

	/* Damage is no failure: what came before it is read. */
	buf_clear(&x->body);
	x->damaged = http_damage_cuts(capture_decode(c, limits, &x->body));
	x->body.n = MIN(x->body.n, limits.bytes_max);
}

/*
 * The head that said how to read the body when the URL was asked for with a
 * validator; the body may be another URL's.  NULL: it cannot be had.
 */
static const struct http_head *
read_older_head(struct replay *x, const struct archive_capture *c)
{
	struct journal_entry e;
	struct str key = collection_validator_key(x->now->shared.collection,
	    c->url, &x->page);

	if (collection_validator_get(ledger_index(frontier_ledger(
	    x->frontier)), key, c->url, &x->page, &e) != OK ||
	    !read_record(x, &x->older, e.file, e.offset, e.clen, e.ulen) ||
	    !x->older.capture.has_http)
		return NULL;
	return &x->older.capture.http;
}

/*
 * The capture's document as it was read then: the head is its own, the body may
 * be that of an earlier one.  False: it cannot be had.
 */
static bool
read_document(struct replay *x, const struct archive_capture *c,
    uint32_t file, const struct journal_entry *original,
    struct parse_input *in)
{
	struct capture body;

	if (!read_record(x, &x->own, file, c->offset, c->clen, c->ulen) ||
	    !x->own.capture.has_http)
		return false;
	body = x->own.capture;
	if (c->revisit) {
		if (original == NULL || !read_record(x, &x->original,
		    original->file, original->offset, original->clen,
		    original->ulen) || !x->original.capture.has_http)
			return false;
		body.body = x->original.capture.body;
		const struct http_head *older = c->unchanged ?
		    read_older_head(x, c) : NULL;
		if (c->unchanged)
			body.http = older != NULL ? *older :
			    x->original.capture.http;
	}
	decode(x, &body);
	in->body = buf_str(&x->body);
	in->content_type = http_find(&body.http, STR("Content-Type"));
	in->nosniff = str_eq_nocase(http_find(&x->own.capture.http,
	    STR("X-Content-Type-Options")), STR("nosniff"));
	return true;
}

/* sitemap.xml.gz is a file of its own, not a content coding. */
static void
parse_packed(struct replay *x, struct parse_input *in,
    struct parse_output *out)
{
	FREED(buf_free) struct buf xml = BUF_INIT;

	if (sitemap_gunzip(in->body, SITEMAP_BYTES_MAX, &xml, NULL) == OK) {
		in->body = buf_str(&xml);
		in->content_type = sitemap_type(in->body);
		if (parse_document(x->parser, in, &x->page, out, NULL) != OK)
			out->links_n = 0;
	}
}

/*
 * Parse it and find its links.  No limit of time: what was read once is read
 * whole.  True: its document is in x->body.
 */
static bool
find_links(struct replay *x, const struct archive_capture *c, uint32_t file,
    const struct journal_entry *original, struct submission *s,
    struct parse_output *parsed)
{
	struct parse_input in = { .robots_token = replay_product_token(x),
	    .sitemap = s->lease.flags & FOUND_SITEMAP,
	    .links_max = (size_t)conf_int(x->conf, CONF_PARSE_LINKS_MAX) };
	struct url u;

	if (!c->unchanged && (c->status < 200 || c->status > 299 ||
	    (!c->revisit && c->body_bytes == 0)))
		return false;
	in.url = &u;
	if (url_parse(c->final_url, NULL, &x->page, &u, NULL) != OK ||
	    !read_document(x, c, file, original, &in)) {
		x->counts->unread++;
		return false;
	}
	if (in.body.n == 0 || parse_document(x->parser, &in, &x->page, parsed,
	    NULL) != OK)
		return true;
	x->counts->links_read++;
	if (parsed->kind == MIME_GZIP && (s->lease.flags & FOUND_SITEMAP))
		parse_packed(x, &in, parsed);
	struct link_finder f = { .crawl = &x->now->shared,
	    .traps = x->now->traps, .lease = &s->lease,
	    .product_token = replay_product_token(x),
	    .allow_private = conf_bool(x->conf, CONF_FETCH_ALLOW_PRIVATE),
	    .sitemap_depth_max =
	    (unsigned)conf_int(x->conf, CONF_SITEMAP_DEPTH_MAX),
	    .arena = &x->page };
	s->found_n = fetcher_links(&f, &x->own.capture.http, parsed,
	    &s->found);
	return true;
}

/* --- captures ----------------------------------------------------------- */

/* What is known of the body: its length decoded, and whose record has it. */
static void
tell_body(const struct replay *x, const struct archive_capture *c, bool read,
    const struct journal_entry *original, struct journal_entry *e)
{
	/* An answer of 304 has none. */
	if (read || c->unchanged)
		e->flags |= JOURNAL_SIZED;
	if (read && !c->unchanged) {
		e->decoded = x->body.n;
		e->flags |= x->damaged ? JOURNAL_DAMAGED : 0;
	}
	if (original == NULL || c->unchanged)
		return;
	e->flags |= JOURNAL_SOURCED;
	e->source = (struct journal_source){ original->file, original->offset,
	    original->clen, original->ulen };
}

static void
put_journal(const struct replay *x, const struct archive_capture *c,
    const struct submission *s, const struct parse_output *parsed, bool read,
    const struct journal_entry *original, struct buf *out)
{
	struct str type = str_trim(str_cut(c->type, 0,
	    str_find_char(c->type, ';')));
	int64_t us = c->start.us - c->began.us + c->duration_us;
	struct journal_entry e = {
		.clen = c->clen, .ulen = c->ulen, .body_at = c->body_at,
		.hops = (uint16_t)c->hops, .status = (uint16_t)c->status,
		.depth = s->lease.depth,
		.flags = (uint8_t)((c->revisit ? JOURNAL_REVISIT : 0) |
		    (c->truncated ? JOURNAL_TRUNCATED : 0) |
		    ((s->lease.flags & FOUND_EMBED) ? JOURNAL_EMBED : 0)),
		.start = c->began,
		.duration_us = (uint32_t)MAX(0, MIN(us, INT32_MAX)),
		/* No record tells the phases. */
		.dns_us = -1, .connect_us = -1, .tls_us = -1,
		.first_byte_us = -1,
		.total_us = (int32_t)MIN(c->duration_us, INT32_MAX),
		.body_bytes = s->body_bytes, .simhash = s->simhash,
		.type = type, .title = parsed->title, .url = c->url,
		.final_url = c->hops > 0 ? c->final_url : STR_NONE,
		.via = c->via,
		.digest = c->digest,
	};

	tell_body(x, c, read, original, &e);
	journal_put_rest(&e, out);
}

/* An original, among which later payloads are sought. */
static void
put_digest(struct replay *x, const struct archive_capture *c,
    struct submission *s)
{
	if (c->revisit || c->truncated || c->status < 200 ||
	    c->status > 299 || c->body_bytes == 0 ||
	    c->digest.kind == DIGEST_NONE)
		return;
	s->digest_key = digest_key(x, &c->digest);
	buf_clear(&x->key);
	buf_put_be64(&x->key, (uint64_t)c->start.us);
	buf_put_str(&x->key, c->final_url);
	s->digest_rest = arena_copy(&x->page, buf_str(&x->key));
}

/* Validators for later crawls of the collection, as in revalidate_note(). */
static void
put_validator(struct replay *x, const struct archive_capture *c,
    struct submission *s)
{
	if (c->hops == 0 && collection_has_validator(c->status, c->truncated,
	    &x->own.capture.http))
		s->validator_key = collection_validator_key(
		    x->now->shared.collection, c->url, &x->page);
}

/* False, and counted, when the URL is done already or is none. */
static enum err
lease(struct replay *x, const struct archive_capture *c, uint8_t flags,
    struct lease *out, bool *taken, struct why *w)
{
	struct why inner = WHY_INIT;
	struct url u;

	*taken = false;
	if (c->seq > REBUILD_SEQ_MAX ||
	    url_parse(c->url, NULL, &x->page, &u, NULL) != OK) {
		x->counts->refused++;
		return OK;
	}
	struct found found = { .url = arena_copy(&x->page, c->url),
	    .key = u.host, .hash = frontier_hash(c->crawl, c->url), .cost = 1,
	    .depth = (uint16_t)MIN(c->depth, FOUND_DEPTH_MAX),
	    .flags = flags };
	enum err e = frontier_restore_lease(x->frontier, c->crawl, &found,
	    out, &inner);
	if (e == ERR_STATE) {
		x->counts->refused++;
		return OK;
	}
	*taken = e == OK;
	return e == OK ? OK : why(w, e, "%s", inner.text);
}

/* The answer of a call: it has neither a lease nor links. */
static enum err
restore_call(struct replay *x, const struct archive_capture *c,
    uint32_t file, struct why *w)
{
	struct submission s = { .crawl = c->crawl, .outcome = OUTCOME_CALL,
	    .seq = c->seq, .status = (uint16_t)c->status,
	    .place = { file, c->offset }, .body_bytes = c->body_bytes };
	struct parse_output none = { 0 };
	struct parse_input in;

	if (c->seq > REBUILD_SEQ_MAX) {
		x->counts->refused++;
		return OK;
	}
	bool read = c->status != 0 && read_document(x, c, file, NULL, &in);
	put_journal(x, c, &s, &none, read, NULL, &s.journal_rest);
	enum err e = frontier_restore_settle(x->frontier, &s, w);
	buf_free(&s.journal_rest);
	x->counts->captures += e == OK;
	return e;
}

enum err
replay_checkpoint(struct replay *x, uint32_t crawl, struct str owner,
    struct str bytes, struct why *w)
{
	struct submission s = { .crawl = crawl, .outcome = OUTCOME_NONE };
	struct extra_put put;
	struct crawl_view v;

	if (frontier_view(x->frontier, crawl, &v) != OK)
		return OK;
	arena_reset(&x->page);
	checkpoint_put(crawl, owner, bytes, &x->page, &put);
	s.puts = &put;
	s.puts_n = 1;
	return frontier_restore_settle(x->frontier, &s, w);
}

enum err
replay_capture(struct replay *x, const struct archive_capture *c,
    uint32_t file, struct why *w)
{
	struct submission s = { .crawl = c->crawl, .outcome = OUTCOME_ITEM,
	    .seq = c->seq, .status = (uint16_t)c->status,
	    .place = { file, c->offset }, .body_bytes = c->body_bytes };
	struct parse_output parsed = { 0 };
	struct journal_entry found;
	struct parse_input in;
	struct url u;
	bool taken;

	enum err e = replay_turn_to(x, c, w);
	arena_reset(&x->page);
	/* A web harvest, which names its collection, has a queue. */
	if (e == OK && crawl_kind_has_calls(x->now->spec.kind) &&
	    x->now->spec.collection.n == 0)
		return restore_call(x, c, file, w);
	if (e == OK)
		e = lease(x, c, 0, &s.lease, &taken, w);
	if (e != OK || !taken)
		return e;
	const struct journal_entry *original = find_original(x, c, &found);
	if (c->revisit && !c->unchanged) {
		s.duplicate = true;
		s.body_bytes = original == NULL ? 0 : found.body_bytes;
	}
	bool read = find_links(x, c, file, original, &s, &parsed) ||
	    (!c->unchanged && read_document(x, c, file, original, &in));
	s.simhash = parsed.simhash;
	put_journal(x, c, &s, &parsed, read, original, &s.journal_rest);
	put_digest(x, c, &s);
	if (read)
		put_validator(x, c, &s);
	e = frontier_restore_settle(x->frontier, &s, w);
	buf_free(&s.journal_rest);
	if (e == OK && x->now->traps != NULL && url_parse(c->final_url, NULL,
	    &x->page, &u, NULL) == OK)
		trap_note(x->now->traps, &u, !s.duplicate &&
		    !s.near_duplicate);
	if (e == OK)
		x->counts->captures++;
	return e;
}

/* --- what has no number ------------------------------------------------- */

static void
find_sitemap(struct replay *x, const struct url *plain)
{
	const struct crawl_shared *c = &x->now->shared;
	struct url u;

	if (policy_canonical(crawl_policy(c), plain, &x->page, &u, NULL) == OK)
		frontier_restore_found(x->frontier, c->id,
		    &(struct found){ .url = u.href, .key = u.host, .cost = 1,
		    .flags = FOUND_SITEMAP,
		    .hash = frontier_hash(c->id, u.href) });
}

/* As when it was fetched: those that it names, else the usual place. */
static void
find_sitemaps(struct replay *x, const struct robots *robots,
    const struct url *url)
{
	size_t n = robots_facts(robots).sitemaps_n;
	struct url u;

	for (size_t i = 0; i < n; i++)
		if (robots_sitemap_url(robots, i, url, &x->page, &u, NULL) ==
		    OK)
			find_sitemap(x, &u);
	if (n == 0 && url_parse(STR("/sitemap.xml"), url, &x->page, &u,
	    NULL) == OK)
		find_sitemap(x, &u);
}

static enum err
replay_robots(struct replay *x, const struct archive_capture *c,
    uint32_t file, const struct url *url, struct why *w)
{
	struct extra_put put;
	struct submission s = { .crawl = c->crawl, .outcome = OUTCOME_NONE,
	    .puts = &put, .puts_n = 1 };
	struct journal_entry found;
	struct parse_input in = { 0 };

	if (!read_document(x, c, file, find_original(x, c, &found), &in)) {
		x->counts->unread++;
		return OK;
	}
	fetcher_robots_put(url_origin(url, &x->page), c->start, c->status,
	    buf_str(&x->body), &x->page, &put);
	if (x->now->policy->sitemaps) {
		FREED(robots_free) struct robots *r =
		    replay_read_robots(x, c->status,
		    buf_str(&x->body));
		find_sitemaps(x, r, url);
	}
	return frontier_restore_settle(x->frontier, &s, w);
}

static enum err
replay_sitemap(struct replay *x, const struct archive_capture *c,
    uint32_t file, struct why *w)
{
	struct submission s = { .crawl = c->crawl, .outcome = OUTCOME_AUX };
	struct parse_output parsed = { 0 };
	struct journal_entry found;
	bool taken;

	enum err e = lease(x, c, FOUND_SITEMAP, &s.lease, &taken, w);
	if (e != OK || !taken)
		return e;
	if (find_links(x, c, file, find_original(x, c, &found), &s, &parsed))
		s.body_bytes = x->body.n;
	return frontier_restore_settle(x->frontier, &s, w);
}

enum err
replay_aux(struct replay *x, const struct archive_capture *c, uint32_t file,
    struct why *w)
{
	struct url u;

	enum err e = replay_turn_to(x, c, w);
	arena_reset(&x->page);
	if (e != OK)
		return e;
	if (url_parse(c->url, NULL, &x->page, &u, NULL) != OK) {
		x->counts->refused++;
		return OK;
	}
	/* The answers behind it were damaged: nobody knows what it was asked
	 * for. */
	if (http_is_redirect(c->status))
		return OK;
	return str_eq(url_target(&u), STR("/robots.txt")) ?
	    replay_robots(x, c, file, &u, w) : replay_sitemap(x, c, file, w);
}
