/*
 * What happened to each URL, told by the archive, happens again: the capture's
 * URL is leased and settled, its links are found, in the order of the numbers.
 */
#include "base/map.h"
#include "base/text.h"
#include "engine/archive/capture.h"
#include "engine/frontier/crawl_options.h"
#include "engine/control/control.h"
#include "engine/fetcher/collection.h"
#include "engine/frontier/journal.h"
#include "engine/frontier/restore.h"
#include "engine/parser/sitemap.h"
#include "engine/policy/robots.h"
#include "engine/rebuild/rebuild_own.h"
#include "os/file.h"
#include "os/log.h"

/* A crawl, from its first warcinfo to its last capture. */
struct told_crawl {
	struct crawl_shared shared;
	struct crawl_rules rules;
	struct policy *policy;
	struct policy_compiled *compiled;
	struct trap_memory *traps;
	struct arena arena;              /* of all texts */
	struct crawl_spec spec;
	struct str kind;
	const char *path;                /* of the file that told it first */
	struct wall created, last;
	uint64_t warc_bytes;
};

/* A record in hand, read again. */
struct record {
	struct capture_reader *reader;
	struct capture capture;
	uint32_t file;
	int fd;
};

struct replay {
	const struct conf *conf;
	struct frontier *frontier, *old;
	struct rebuild_counts *counts;
	struct map crawls;               /* id -> struct told_crawl */
	struct told_crawl *now;          /* whose captures are being told */
	struct parser *parser;
	struct record own, original, older;
	struct arena page;               /* of one capture */
	struct buf body, key;
	bool damaged;                /* `body` is not all there was */
	struct str product_token;
	/* Of the origin whose URLs are being judged. */
	struct robots *robots;
	struct buf robots_origin;
};

struct replay *
replay_new(const struct conf *conf, struct frontier *f, struct frontier *old,
    struct rebuild_counts *counts)
{
	struct replay *x = mem_new(sizeof(*x));
	struct str agent = conf_str(conf, CONF_FETCH_USER_AGENT);

	x->conf = conf;
	x->frontier = f;
	x->old = old;
	x->counts = counts;
	x->parser = parser_new();
	x->own.reader = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	x->original.reader = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	x->older.reader = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	x->own.fd = x->original.fd = x->older.fd = -1;
	x->product_token = text_product_token(agent);
	return x;
}

static void
told_free(struct told_crawl **tp)
{
	struct told_crawl *t = *tp;

	trap_memory_free(&t->traps);
	policy_compiled_free(&t->compiled);
	policy_free(&t->policy);
	arena_free(&t->arena);
	mem_free(tp);
}

void
replay_free(struct replay **xp)
{
	struct replay *x = *xp;
	size_t at = 0;
	void *v;

	if (x == NULL)
		return;
	while (map_next(&x->crawls, &at, &v)) {
		struct told_crawl *t = v;
		told_free(&t);
	}
	map_free(&x->crawls);
	parser_free(&x->parser);
	capture_reader_free(&x->own.reader);
	capture_reader_free(&x->original.reader);
	capture_reader_free(&x->older.reader);
	file_close(&x->own.fd);
	file_close(&x->original.fd);
	file_close(&x->older.fd);
	arena_free(&x->page);
	buf_free(&x->body);
	buf_free(&x->key);
	buf_free(&x->robots_origin);
	robots_free(&x->robots);
	mem_free(xp);
}

/* --- crawls ------------------------------------------------------------- */

static bool
same_crawl(const struct told_crawl *t, const struct archive_crawl *c)
{
	if (!str_eq(t->spec.name, c->name) ||
	    !str_eq(t->spec.policy, c->policy) ||
	    t->spec.seeds_n != c->seeds_n)
		return false;
	for (size_t i = 0; i < c->seeds_n; i++)
		if (!str_eq(t->spec.seeds[i], c->seeds[i]))
			return false;
	return true;
}

static void
copy_texts(struct told_crawl *t, const struct archive_crawl *c)
{
	struct arena *a = &t->arena;

	t->spec = (struct crawl_spec){
		.kind = CRAWL_CRAWL, .name = arena_copy(a, c->name),
		.seeds = arena_copy_list(a, c->seeds, c->seeds_n),
		.seeds_n = c->seeds_n,
		.policy = arena_copy(a, c->policy),
	};
	t->path = arena_copy(a, str_of(c->file->path)).p;
}

static struct str
options_of(bool by_door, struct arena *a)
{
	struct crawl_options o = { .operator_seeds = !by_door };
	struct buf b = BUF_INIT;

	crawl_options_put(&o, &b);
	struct str text = arena_copy(a, buf_str(&b));
	buf_free(&b);
	return text;
}

static enum err
compile(struct told_crawl *t, struct why *w)
{
	struct arena *a = &t->arena;
	struct url *seeds = ARENA_ARRAY(a, struct url, t->spec.seeds_n + 1);
	struct str *hosts = ARENA_ARRAY(a, struct str, t->spec.seeds_n + 1);
	size_t n = 0;

	for (size_t i = 0; i < t->spec.seeds_n; i++)
		if (seed_parse(t->spec.seeds[i], a, &seeds[n], NULL) == OK) {
			hosts[n] = seeds[n].host;
			n++;
		}
	enum err e = policy_parse(t->spec.policy, &t->policy, w);
	if (e == OK)
		e = policy_compile(t->policy, seeds, n, &t->compiled, w);
	if (e != OK)
		return e;
	t->rules.policy = t->compiled;
	atomic_init(&t->shared.rules, &t->rules);
	t->shared.seed_hosts = hosts;
	t->shared.seed_hosts_n = n;
	/* What was fetched was allowed. */
	t->shared.operator_seeds = true;
	t->spec.max_items = t->policy->limits.max_items == POLICY_NONE ? 0 :
	    (uint64_t)t->policy->limits.max_items;
	t->spec.warc_bytes_max = t->policy->limits.max_bytes == POLICY_NONE ?
	    0 : (uint64_t)t->policy->limits.max_bytes;
	t->spec.host_urls_max = t->policy->traps.host_urls_max == TRAP_NONE ?
	    0 : (uint64_t)t->policy->traps.host_urls_max;
	if (t->policy->traps.stale_max != TRAP_NONE)
		t->traps = trap_memory_new(TRAP_PREFIXES_MAX);
	return OK;
}

/* Its seeds are found before anything else, as when it began. */
static enum err
begin(struct replay *x, struct told_crawl *t, struct why *w)
{
	struct arena *a = &x->page;

	enum err e = frontier_restore(x->frontier, t->shared.id, &t->spec,
	    t->created, w);
	for (size_t i = 0; e == OK && i < t->spec.seeds_n; i++) {
		struct url u, canonical;
		arena_reset(a);
		if (seed_parse(t->spec.seeds[i], a, &u, NULL) != OK ||
		    policy_canonical(t->compiled, &u, a, &canonical, NULL) !=
		    OK)
			continue;
		frontier_restore_found(x->frontier, t->shared.id,
		    &(struct found){ .url = canonical.href,
		    .key = canonical.host, .cost = 1, .flags = FOUND_SEED,
		    .hash = frontier_hash(t->shared.id, canonical.href) });
	}
	return e;
}

enum err
replay_file(struct replay *x, const struct archive_crawl *c,
    struct str warc_dir, bool by_door, uint64_t bytes, struct why *w)
{
	struct told_crawl *t = map_get_id(&x->crawls, c->crawl);
	struct why inner = WHY_INIT;

	if (c->crawl > REBUILD_CRAWL_MAX)
		return why(w, ERR_INPUT, "%s tells of crawl %u; there are at "
		    "most %u", c->file->path, c->crawl, REBUILD_CRAWL_MAX);
	if (t == NULL) {
		t = mem_new(sizeof(*t));
		t->shared.id = c->crawl;
		t->created = t->last = c->date;
		map_put_id(&x->crawls, c->crawl, t);
		copy_texts(t, c);
		t->spec.warc_dir = arena_copy(&t->arena, warc_dir);
		t->spec.options = options_of(by_door, &t->arena);
		t->shared.collection = paths_collection(ledger_paths(
		    frontier_ledger(x->frontier)), t->spec.warc_dir, &t->arena);
		x->counts->crawls++;
		enum err e = compile(t, &inner);
		if (e != OK)
			return why(w, e, "the warcinfo of %s cannot be used: "
			    "%s", c->file->path, inner.text);
	} else if (!same_crawl(t, c)) {
		return why(w, ERR_INPUT, "%s and %s tell two different crawls "
		    "of number %u; they come from two data directories: move "
		    "the files of one away and rebuild each by itself",
		    t->path, c->file->path, c->crawl);
	}
	if (c->date.us < t->created.us)
		t->created = c->date;
	t->warc_bytes += bytes - c->bytes;
	return OK;
}

bool
replay_add_file(struct replay *x, uint32_t crawl, uint64_t bytes)
{
	struct told_crawl *t = map_get_id(&x->crawls, crawl);

	if (t != NULL)
		t->warc_bytes += bytes;
	return t != NULL;
}

/* --- robots.txt, as it was read ----------------------------------------- */

/* That of the crawl under replay, or the configuration's. */
static struct str
product_token(const struct replay *x)
{
	struct str own = text_product_token(policy_user_agent(x->now->policy));

	return own.n != 0 ? own : x->product_token;
}

static struct robots *
read_robots(struct replay *x, int status, struct str body)
{
	switch (robots_from_status(status)) {
	case ROBOTS_PARSE:
		return robots_parse(body, product_token(x));
	case ROBOTS_ALLOW_ALL:
		return robots_all(true);
	default:
		return robots_all(false);
	}
}

/* Waiting URLs come by host: the last origin's rules serve for most. */
static bool
forbidden(void *arg, struct str text, uint8_t flags)
{
	struct replay *x = arg;
	struct arena *a = &x->page;
	struct wall fetched;
	struct str body;
	struct url u;
	int status;

	arena_reset(a);
	if ((flags & FOUND_SITEMAP) || url_parse(text, NULL, a, &u, NULL) !=
	    OK)
		return false;
	struct str origin = url_origin(&u, a);
	if (x->robots == NULL || !str_eq(origin, buf_str(&x->robots_origin))) {
		robots_free(&x->robots);
		buf_clear(&x->robots_origin);
		buf_put_str(&x->robots_origin, origin);
		x->robots = fetcher_stored_robots(ledger_index(
		    frontier_ledger(x->frontier)), origin, a, &fetched,
		    &status, &body) == OK ? read_robots(x, status, body) :
		    robots_all(true);
	}
	return !robots_allows(x->robots, url_target(&u), NULL);
}

/* The same crawl in the old index: name and seeds are never changed. */
static bool
was_before(struct replay *x, const struct told_crawl *t,
    struct crawl_view *was)
{
	struct arena a = ARENA_INIT;
	struct crawl_spec spec;

	bool same = x->old != NULL &&
	    frontier_view(x->old, t->shared.id, was) == OK &&
	    was->kind == CRAWL_CRAWL &&
	    frontier_spec(x->old, t->shared.id, &a, &spec, NULL) == OK &&
	    str_eq(spec.name, t->spec.name) &&
	    spec.seeds_n == t->spec.seeds_n;
	for (size_t i = 0; same && i < spec.seeds_n; i++)
		same = str_eq(spec.seeds[i], t->spec.seeds[i]);
	arena_free(&a);
	return same;
}

/* Numbers that another crawl of this id was given are given again no more. */
static void
restore_view(struct replay *x, const struct told_crawl *t)
{
	struct crawl_view was = { .id = t->shared.id };

	if (x->old == NULL)
		return;
	if (!was_before(x, t, &was) && was.item_last > 0)
		was.state = CRAWL_RUNNING;
	frontier_restore_view(x->frontier, &was);
}

static enum err
end_crawl(struct replay *x, struct told_crawl *t, struct why *w)
{
	uint64_t max = t->spec.max_items;
	struct crawl_view v;

	robots_free(&x->robots);
	enum err e = frontier_view(x->frontier, t->shared.id, &v);
	/* One that ended by its limit has not looked at the rest. */
	if (e == OK && t->policy->robots == POLICY_OBEY &&
	    (max == 0 || v.counts.items < max))
		e = frontier_restore_skip(x->frontier, t->shared.id,
		    SKIP_ROBOTS, forbidden, x, w);
	if (e == OK)
		e = frontier_restore_end(x->frontier, t->shared.id, t->last,
		    t->warc_bytes, w);
	if (e == OK)
		restore_view(x, t);
	return e;
}

/* Captures of the next crawl come: those of the last one are through. */
static enum err
turn_to(struct replay *x, const struct archive_capture *c, struct why *w)
{
	struct told_crawl *t = map_get_id(&x->crawls, c->crawl);
	enum err e = OK;

	if (t == NULL)
		return why(w, ERR_INPUT, "%s holds a capture of crawl %u, but "
		    "no file tells its seeds and policy", c->file->path,
		    c->crawl);
	if (t != x->now) {
		if (x->now != NULL)
			e = end_crawl(x, x->now, w);
		x->now = t;
		if (e == OK)
			e = begin(x, t, w);
	}
	t->last.us = MAX(t->last.us, c->start.us + c->duration_us);
	return e;
}

/* A crawl that no file tells of: it began, and archived nothing. */
static enum err
tell_old(struct replay *x, const struct crawl_view *v, struct why *w)
{
	struct told_crawl *t = mem_new(sizeof(*t));
	struct why inner = WHY_INIT;

	t->shared.id = v->id;
	t->created = t->last = v->created;
	t->path = "";
	enum err e = frontier_spec(x->old, v->id, &t->arena, &t->spec, &inner);
	if (e == OK)
		e = compile(t, &inner);
	if (e != OK) {
		log_warn("rebuild.old_crawl", "crawl=%u why=\"%s\"", v->id,
		    inner.text);
		told_free(&t);
		return e == ERR_IO ? why(w, e, "%s", inner.text) : OK;
	}
	t->shared.collection = paths_collection(ledger_paths(frontier_ledger(
	    x->frontier)), t->spec.warc_dir, &t->arena);
	map_put_id(&x->crawls, v->id, t);
	x->counts->crawls++;
	x->counts->index_crawls++;
	return OK;
}

static enum err
tell_all_old(struct replay *x, struct why *w)
{
	struct crawl_view v;
	size_t at = 0;
	enum err e = OK;

	while (e == OK && x->old != NULL &&
	    frontier_next_view(x->old, &at, &v))
		if (v.kind == CRAWL_CRAWL &&
		    map_get_id(&x->crawls, v.id) == NULL)
			e = tell_old(x, &v, w);
	return e;
}

enum err
replay_end(struct replay *x, struct why *w)
{
	struct crawl_view v;
	size_t at = 0;
	void *value;
	enum err e = x->now == NULL ? OK : end_crawl(x, x->now, w);

	if (e == OK)
		e = tell_all_old(x, w);

	/* Of these not one capture is there: their seeds wait. */
	while (e == OK && map_next(&x->crawls, &at, &value)) {
		struct told_crawl *t = value;
		if (frontier_view(x->frontier, t->shared.id, &v) == OK)
			continue;
		e = begin(x, t, w);
		if (e == OK)
			e = end_crawl(x, t, w);
	}
	return e;
}

/* --- documents, read again ---------------------------------------------- */

static bool
read_record(struct replay *x, struct record *r, uint32_t file,
    uint64_t offset, uint32_t clen, uint32_t ulen)
{
	if (r->fd < 0 || r->file != file) {
		file_close(&r->fd);
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

/* The journal's entry of the capture that holds this payload. */
static bool
find_original(struct replay *x, const struct digest *d,
    struct journal_entry *out)
{
	struct index *index = ledger_index(frontier_ledger(x->frontier));
	struct arena *a = &x->page;
	struct str value;

	if (d->kind == DIGEST_NONE || index_get(index, INDEX_DIGEST,
	    digest_key(x, d), a, &value, NULL) != OK)
		return false;
	struct reader in = reader_of(value);
	uint32_t crawl = read_be32(&in);
	uint64_t seq = read_be64(&in);
	buf_clear(&x->key);
	journal_key(crawl, seq, &x->key);
	struct str key = arena_copy(a, buf_str(&x->key));
	return !in.bad && index_get(index, INDEX_JOURNAL, key, a, &value,
	    NULL) == OK && journal_parse(key, value, out);
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
	struct buf xml = BUF_INIT;

	if (sitemap_gunzip(in->body, SITEMAP_BYTES_MAX, &xml, NULL) == OK) {
		in->body = buf_str(&xml);
		in->content_type = sitemap_type(in->body);
		if (parse_document(x->parser, in, &x->page, out, NULL) != OK)
			out->links_n = 0;
	}
	buf_free(&xml);
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
	struct parse_input in = { .robots_token = product_token(x),
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
	    .product_token = product_token(x),
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
	};

	e.digest = c->digest;
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

enum err
replay_capture(struct replay *x, const struct archive_capture *c,
    uint32_t file, struct why *w)
{
	struct submission s = { .crawl = c->crawl, .outcome = OUTCOME_ITEM,
	    .seq = c->seq, .status = (uint16_t)c->status,
	    .place = { file, c->offset }, .body_bytes = c->body_bytes };
	struct parse_output parsed = { 0 };
	struct journal_entry found, *original = NULL;
	struct parse_input in;
	struct url u;
	bool taken;

	enum err e = turn_to(x, c, w);
	arena_reset(&x->page);
	if (e == OK)
		e = lease(x, c, 0, &s.lease, &taken, w);
	if (e != OK || !taken)
		return e;
	if (c->revisit && find_original(x, &c->digest, &found))
		original = &found;
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
	struct url u;

	if (policy_canonical(x->now->compiled, plain, &x->page, &u, NULL) ==
	    OK)
		frontier_restore_found(x->frontier, x->now->shared.id,
		    &(struct found){ .url = u.href, .key = u.host, .cost = 1,
		    .flags = FOUND_SITEMAP,
		    .hash = frontier_hash(x->now->shared.id, u.href) });
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
	struct journal_entry original;
	struct parse_input in = { 0 };
	bool known = c->revisit && find_original(x, &c->digest, &original);

	if (!read_document(x, c, file, known ? &original : NULL, &in)) {
		x->counts->unread++;
		return OK;
	}
	fetcher_robots_put(url_origin(url, &x->page), c->start, c->status,
	    buf_str(&x->body), &x->page, &put);
	if (x->now->policy->sitemaps) {
		struct robots *r = read_robots(x, c->status,
		    buf_str(&x->body));
		find_sitemaps(x, r, url);
		robots_free(&r);
	}
	return frontier_restore_settle(x->frontier, &s, w);
}

/* The answers behind it were damaged: nobody knows what it was asked for. */
static bool
is_lost_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 ||
	    status == 307 || status == 308;
}

static enum err
replay_sitemap(struct replay *x, const struct archive_capture *c,
    uint32_t file, struct why *w)
{
	struct submission s = { .crawl = c->crawl, .outcome = OUTCOME_AUX };
	struct parse_output parsed = { 0 };
	struct journal_entry original;
	bool taken;

	enum err e = lease(x, c, FOUND_SITEMAP, &s.lease, &taken, w);
	if (e != OK || !taken)
		return e;
	bool known = c->revisit && find_original(x, &c->digest, &original);
	if (find_links(x, c, file, known ? &original : NULL, &s, &parsed))
		s.body_bytes = x->body.n;
	return frontier_restore_settle(x->frontier, &s, w);
}

enum err
replay_aux(struct replay *x, const struct archive_capture *c, uint32_t file,
    struct why *w)
{
	struct url u;

	enum err e = turn_to(x, c, w);
	arena_reset(&x->page);
	if (e != OK)
		return e;
	if (url_parse(c->url, NULL, &x->page, &u, NULL) != OK) {
		x->counts->refused++;
		return OK;
	}
	if (is_lost_redirect(c->status))
		return OK;
	return str_eq(url_target(&u), STR("/robots.txt")) ?
	    replay_robots(x, c, file, &u, w) : replay_sitemap(x, c, file, w);
}
