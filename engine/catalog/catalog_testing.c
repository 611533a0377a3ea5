#include "engine/catalog/catalog_testing.h"

#include <zlib.h>

#include "base/hash.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/ledger/small_testing.h"
#include "wire/http.h"

/* --- the rig's life ----------------------------------------------------- */

static void
warcinfo(void *arg, const char *filename, struct buf *out)
{
	struct rig *r = arg;
	struct warc_info info = { .filename = str_of(filename),
	    .date = clock_wall(), .software = STR("Argiope/test"),
	    .crawl_kind = STR("crawl"), .policy = STR("{}") };
	struct warc_member m;

	assert_int_equal(warc_put_info(r->writer, &info, out, &m, NULL), OK);
}

static void
replay(void *arg, uint8_t kind, struct str note)
{
	(void)arg;
	(void)kind;
	(void)note;
}

static void
nothing(void *arg)
{
	(void)arg;
}

static bool
put_nothing(void *arg, size_t n)
{
	(void)arg;
	(void)n;
	return false;
}

static void
health(void *arg, enum ledger_health h, const char *text)
{
	(void)arg;
	if (h != LEDGER_FINE)
		fail_msg("%s", text);
}

static struct str
path_of(struct rig *r, const char *name)
{
	return arena_printf(&r->arena, "%s/%s", r->dir == NULL ? "" : r->dir,
	    name);
}

void
rig_init(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	world_begin();
	r->rollover_bytes = 1 << 30;
}

static void
open_ledger(struct rig *r)
{
	struct ledger_options o = ledger_small;
	struct why w = WHY_INIT;

	o.dir = path_of(r, "data").p;
	o.segment_bytes = 1 << 20;
	o.index.block_cache_bytes = 8 << 20;
	o.index.in_memory = r->dir == NULL;
	o.pool = r->pool;
	o.replay = replay;
	o.checkpoint_begin = o.before_seal = nothing;
	o.checkpoint_put = put_nothing;
	o.health = health;
	if (ledger_open(r->loop, &o, &r->ledger, &w) != OK ||
	    ledger_recover(r->ledger, &w) != OK)
		fail_msg("open: %s", w.text);
	ledger_start(r->ledger);
	r->series = ledger_series_open(r->ledger,
	    &(struct warc_set_options){ .dir = path_of(r, "warc").p,
	    .prefix = "crawl-3", .token = "abcdefgh", .crawl = RIG_CRAWL,
	    .rollover_bytes = r->rollover_bytes, .rollover_s = 3600,
	    .warcinfo = warcinfo, .arg = r });
}

void
rig_open(struct rig *r)
{
	struct warc_options o = { 1, DIGEST_SHA1, NULL, clock_random };
	struct crawl_spec spec = { .name = STR("test") };

	r->loop = loop_new("rig");
	r->pool = pool_new(r->threads);
	r->writer = warc_writer_new(&o);
	open_ledger(r);
	r->registry = crawl_registry_new(r->loop);
	r->view = (struct crawl_view){ .id = RIG_CRAWL,
	    .state = CRAWL_RUNNING };
	crawl_registry_add(r->registry, &r->view, &spec);
	r->catalog = catalog_new(&(struct catalog_options){ .home = r->loop,
	    .pool = r->pool, .ledger = r->ledger, .registry = r->registry,
	    .links_pages_max = r->links_pages_max });
	if (r->open_stream != NULL)
		r->open_stream(r);
}

void
rig_run(struct rig *r)
{
	world_run(r->loop, r->pool);
}

void
rig_pass(struct rig *r, int64_t ms)
{
	world_pass(r->loop, r->pool, ms);
}

static void
closed(void *arg)
{
	struct rig *r = arg;

	r->closed = true;
}

void
rig_end(struct rig *r)
{
	r->closed = false;
	if (r->stream != NULL)
		r->close_stream(r);
	catalog_close(r->catalog, closed, r);
	rig_run(r);
	assert_true(r->closed);
	if (r->stream != NULL)
		r->free_stream(r);
	catalog_free(&r->catalog);
	crawl_registry_free(&r->registry);
	ledger_free(&r->ledger);
	pool_free(&r->pool);
	loop_free(&r->loop);
	warc_writer_free(&r->writer);
	arena_free(&r->arena);
}

/* --- pages -------------------------------------------------------------- */

#define REQUEST STR("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
#define HEAD_200 STR("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
#define PARTS_MAX 32

struct making {
	struct rig *rig;
	const struct rig_page *page;
	struct buf bytes;
	struct archive_member parts[PARTS_MAX];
	size_t parts_n;
	struct warc_member last;
};

static void
put_exchange(struct making *m, const char *url, struct str head,
    struct str body, uint32_t hop, const struct warc_revisit *revisit,
    const struct digest *payload)
{
	struct warc_capture facts = { .crawl = RIG_CRAWL, .hop = hop,
	    .requested_url = str_of(m->page->url), .start = clock_wall() };
	struct warc_exchange x = { .target_uri = str_of(url),
	    .date = clock_wall(), .request = REQUEST, .response_head = head,
	    .body = &body, .body_n = 1, .capture = &facts,
	    .warcinfo_id = STR("00000000-0000-4000-8000-000000000000"),
	    .payload = payload, .revisit = revisit };
	struct warc_member out[2];

	assert_int_equal(warc_put_exchange(m->rig->writer, &x, &m->bytes, out,
	    NULL), OK);
	for (int i = 0; i < 2; i++)
		m->parts[m->parts_n++] = (struct archive_member){
		    .at = out[i].at, .n = out[i].clen };
	m->last = out[0];
}

static uint64_t
decoded_bytes(struct str head, struct str body, bool *damaged)
{
	struct arena a = ARENA_INIT;
	struct buf out = BUF_INIT;
	struct http_head h;

	assert_int_equal(http_parse_head(head, false, HTTP_LIMITS_DEFAULT, &a,
	    &h, NULL), OK);
	*damaged = http_damage_cuts(http_decode_body(&h, body,
	    HTTP_DECODE_LIMITS_DEFAULT, &out));
	uint64_t n = out.n;
	buf_free(&out);
	arena_free(&a);
	return n;
}

static struct journal_entry
entry_of(struct making *m, struct str head, const struct digest *digest)
{
	const struct rig_page *p = m->page;
	bool damaged;
	struct journal_entry e = {
		.clen = m->last.clen, .ulen = m->last.ulen,
		.body_at = m->last.body_at, .hops = (uint16_t)p->hops_n,
		.status = (uint16_t)(p->status == 0 ? 200 : p->status),
		.depth = (uint16_t)p->depth, .flags = p->flags,
		.start = { INT64_C(1795159500321846) },
		.duration_us = p->duration_us == 0 ? 1721 : p->duration_us,
		.body_bytes = p->body.n, .digest = *digest,
		.decoded = decoded_bytes(head, p->body, &damaged),
		.type = str_of(p->type == NULL ? "text/html" : p->type),
		.title = str_of(p->title), .url = str_of(p->url),
		.final_url = str_of(p->final_url),
	};

	if (!p->old)
		e.flags |= JOURNAL_SIZED | (damaged ? JOURNAL_DAMAGED : 0);
	if (p->same_as != 0) {
		struct journal_entry o = rig_entry(m->rig, p->same_as);
		e.flags |= JOURNAL_REVISIT;
		if (!p->old)
			e.flags |= JOURNAL_SOURCED;
		e.source = (struct journal_source){ o.file, o.offset, o.clen,
		    o.ulen };
	}
	return e;
}

static void
put_journal(struct rig *r, const struct journal_entry *e,
    struct archive_place place)
{
	struct buf key = BUF_INIT, rest = BUF_INIT, value = BUF_INIT;

	journal_key(RIG_CRAWL, r->seq, &key);
	journal_put_rest(e, &rest);
	journal_put(place.file, place.offset, buf_str(&rest), &value);
	ledger_put_placed(r->ledger, INDEX_JOURNAL, buf_str(&key),
	    buf_str(&value));
	buf_free(&key);
	buf_free(&rest);
	buf_free(&value);
}

uint64_t
rig_page(struct rig *r, const struct rig_page *p)
{
	struct making m = { .rig = r, .page = p };
	struct str head = p->head.n == 0 ? HEAD_200 : p->head;
	const char *last = p->final_url == NULL ? p->url : p->final_url;
	struct warc_revisit revisit = { .profile = STR(WARC_PROFILE_SAME),
	    .refers_to_uri = str_of(last), .refers_to_date = clock_wall() };
	struct archive_place place = { 0 };
	struct digest digest;
	size_t i;

	warc_digest_payload(r->writer, &p->body, 1, &digest);
	revisit.payload = &digest;
	for (i = 0; i < p->hops_n; i++)
		put_exchange(&m, p->hops[i].url, str_of(p->hops[i].head),
		    STR_NONE, (uint32_t)i, NULL, NULL);
	size_t final = m.parts_n;
	put_exchange(&m, last, head, p->body, (uint32_t)i, p->same_as != 0 ?
	    &revisit : NULL, &digest);
	struct journal_entry e = entry_of(&m, head, &digest);
	r->seq++;
	if (!p->unarchived) {
		assert_int_equal(ledger_archive(r->ledger, r->series,
		    buf_str(&m.bytes), m.parts, m.parts_n, r->seq, &place,
		    NULL), OK);
		place.offset += m.parts[final].at;
	}
	put_journal(r, &e, place);
	r->view.counts.items++;
	buf_free(&m.bytes);
	return r->seq;
}

void
rig_gap(struct rig *r)
{
	r->seq++;
}

static void
kept(struct promise *p, enum err e)
{
	(void)p;
	assert_int_equal(e, OK);
}

void
rig_show(struct rig *r)
{
	struct promise p = { .kept = kept };

	ledger_promise(r->ledger, &p);
	rig_pass(r, 10);
	r->view.item_last = r->seq;
	crawl_registry_show(r->registry, &r->view);
	crawl_registry_notify(r->registry);
}

struct journal_entry
rig_entry(struct rig *r, uint64_t number)
{
	struct journal_entry e;
	struct buf key = BUF_INIT;
	struct str value;

	journal_key(RIG_CRAWL, number, &key);
	assert_int_equal(index_get(ledger_index(r->ledger), INDEX_JOURNAL,
	    buf_str(&key), &r->arena, &value, NULL), OK);
	assert_true(journal_parse(buf_str(&key), value, &e));
	buf_free(&key);
	return e;
}

struct str
rig_bytes(struct rig *r, size_t n, uint64_t seed)
{
	char *p = arena_bytes(&r->arena, n);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)hash_u64(seed * 1000003 + i / 8 + 1);
	return (struct str){ p, n };
}

struct str
rig_gzip(struct rig *r, struct str s)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)s.p,
	    .avail_in = (uInt)s.n };
	size_t n = s.n + s.n / 100 + 1000;
	char *out = arena_bytes(&r->arena, n);

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8,
	    Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)n;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	n -= z.avail_out;
	deflateEnd(&z);
	return (struct str){ out, n };
}
