/* The stream of a real engine: what a crawl captured is what readers get. */
#include "engine/control/engine_testing.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/metric.h"
#include "engine/archive/archive_memory_testing.h"
#include "engine/catalog/catalog.h"
#include "engine/rebuild/rebuild.h"
#include "engine/stream/stream.h"

#define PAGES 60
#define POLICY "{\"rate_limit\":0,\"downloads\":4}"

static struct rig rig;

/* --- the site ------------------------------------------------------------ */

/* Of five pages one is like another's, one is packed, one is a redirect's. */
static void
body_of(unsigned n, struct buf *out)
{
	unsigned same = n % 5 == 4 ? 4 : n;

	buf_printf(out, "<title>Page %u</title>", same);
	if (n == 0)
		buf_put_text(out, "<img src=/pic.png>");
	for (unsigned i = 1; n == 0 && i < PAGES; i++)
		buf_printf(out, "<a href=/%u>x</a>", i);
	for (unsigned i = 0; n > 0 && i < 100 + same; i++)
		buf_printf(out, "<p>%u of %u, and more text", i, same);
}

static void
pack(struct buf *b)
{
	z_stream z = { .next_in = (Bytef *)b->p, .avail_in = (uInt)b->n };
	struct buf out = BUF_INIT;
	size_t room = b->n + 1000;

	CHECK(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8,
	    Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_out = buf_grow(&out, room);
	z.avail_out = (uInt)room;
	CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	out.n -= z.avail_out;
	deflateEnd(&z);
	buf_free(b);
	*b = out;
}

static void
site(struct str path, struct rig_page *p)
{
	uint64_t n = 0;

	if (str_starts(path, STR("/to/"))) {
		str_to_u64(str_from(path, 4), &n);
	} else if (!str_to_u64(str_from(path, 1), &n)) {
		p->status = 404;
		return;
	} else if (n % 5 == 3) {
		p->status = 302;
		buf_printf(&p->head, "Location: /to/%u\r\n", (unsigned)n);
		return;
	}
	body_of((unsigned)n, &p->body);
	if (n % 5 == 2) {
		pack(&p->body);
		buf_put_text(&p->head, "Content-Encoding: gzip\r\n");
	}
	buf_printf(&p->head, "X-Number: %u\r\n", (unsigned)n);
}

/* --- a reader ------------------------------------------------------------ */

/* All that an entry has, but for gaps. */
static void
put_entry(const struct journal_entry *e, struct buf *out)
{
	char digest[DIGEST_TEXT_MAX];

	digest_to_text(&e->digest, digest);
	buf_printf(out, "%u/%llu@%u+%llu(%u,%u,%u)", e->crawl,
	    (unsigned long long)e->seq, e->file,
	    (unsigned long long)e->offset, e->clen, e->ulen, e->body_at);
	buf_printf(out, "%u,%u,%u,%u;%lld,%u;%d,%d,%d,%d,%d;%llu,%llu,%llu;",
	    e->hops, e->status, e->depth, e->flags, (long long)e->start.us,
	    e->duration_us, e->dns_us, e->connect_us, e->tls_us,
	    e->first_byte_us, e->total_us, (unsigned long long)e->body_bytes,
	    (unsigned long long)e->decoded, (unsigned long long)e->simhash);
	buf_printf(out, "%s,%.*s,", digest, STR_FMT(e->type));
	for (size_t i = 0; i < e->title.n; i++)
		buf_put_char(out, e->title.p[i] == ' ' ? '_' : e->title.p[i]);
	buf_printf(out, ",%.*s,%.*s", STR_FMT(e->final_url), STR_FMT(e->via));
}

static void
render(const struct stream_capture *c, struct buf *out)
{
	struct str number = c->has_record ? http_find(&c->record->http,
	    STR("X-Number")) : STR("-");

	buf_printf(out, "%s %.*s %.*s ", c->mark, STR_FMT(c->entry->url),
	    STR_FMT(number));
	put_entry(c->entry, out);
	for (size_t i = 0; c->has_record && i < c->record->http.fields_n; i++)
		buf_printf(out, "%.*s:%.*s,",
		    STR_FMT(c->record->http.fields[i].name),
		    STR_FMT(c->record->http.fields[i].value));
	buf_printf(out, " %.*s %llu %s ", STR_FMT(number),
	    (unsigned long long)c->body_length,
	    c->body_damaged ? "damaged" : "whole");
	if (c->form & STREAM_BODY)
		buf_put_str(out, c->body);
}

static const char *
directory_mark(void)
{
	return stream_mark(engine_stream(rig.engine));
}

struct follower {
	struct stream_request want;
	uint64_t next;
	size_t dated;
	bool seen[PAGES];
	bool asked;
	struct arena *keep;          /* the texts are kept in it; or NULL */
	struct str texts[PAGES + 1];
};

static unsigned
number_of(struct str text)
{
	struct str part;
	uint64_t n;

	str_split(&text, ' ', &part);
	assert_true(str_eq(part, str_of(directory_mark())));
	str_split(&text, ' ', &part);
	str_split(&text, ' ', &part);
	if (!str_to_u64(part, &n) || n >= PAGES)
		fail_msg("no number: %.*s", STR_FMT(part));
	return (unsigned)n;
}

static void
take(struct follower *x, const struct stream_item *i)
{
	struct buf want = BUF_INIT, end = BUF_INIT;
	unsigned n = number_of(i->text);

	assert_int_equal(i->number, x->next++);
	assert_false(x->seen[n]);
	x->seen[n] = true;
	x->dated += i->committed.us != 0;
	if (x->keep != NULL)
		x->texts[i->number] = arena_copy(x->keep, i->text);
	else if (x->texts[i->number].n > 0)
		assert_true(str_eq(x->texts[i->number], i->text));
	body_of(n, &want);
	buf_printf(&end, " %u %zu whole ", n, want.n);
	if (x->want.form & STREAM_BODY)
		buf_put_str(&end, buf_str(&want));
	if (!str_ends(i->text, buf_str(&end)))
		fail_msg("page %u is %.*s", n, STR_FMT(i->text));
	buf_free(&want);
	buf_free(&end);
}

static void
came(struct stream_request *w)
{
	((struct follower *)w->arg)->asked = false;
}

/* True when all pages were taken. */
static bool
read_on(struct rig *r, void *arg)
{
	struct follower *x = arg;
	struct stream *f = engine_stream(r->engine);
	struct stream_batch *b = x->want.batch;

	if (x->asked)
		return false;
	if (b != NULL)
		for (size_t i = x->want.at; i < b->n; i++)
			take(x, &b->items[i]);
	stream_give_back(f, &x->want.batch);
	assert_int_equal(x->want.why.err, OK);
	x->want.from = x->next;
	x->want.ready = came;
	x->want.arg = x;
	x->asked = !stream_request(f, &x->want);
	return x->next > PAGES;
}

static void
read_again(struct follower *x)
{
	x->next = 1;
	memset(x->seen, 0, sizeof(x->seen));
	rig_until(&rig, read_on, x);
	for (unsigned i = 0; i < PAGES; i++)
		assert_true(x->seen[i]);
}

static void
read_all(uint32_t crawl, unsigned form, struct follower *x)
{
	*x = (struct follower){ .want = { .crawl = crawl, .form = form } };
	read_again(x);
}

/* --- the tests ----------------------------------------------------------- */

static uint32_t
crawl_all(struct follower *live)
{
	stream_use(engine_stream(rig.engine), render);
	uint32_t crawl = rig_launch(&rig, "/0", POLICY);
	read_all(crawl, STREAM_BODY, live);
	rig_until_state(&rig, crawl, CRAWL_COMPLETE);
	return crawl;
}

static const struct crawl_counts *
counts(uint32_t crawl)
{
	return &crawl_row(engine_registry(rig.engine), crawl)->view.counts;
}

/* A picture is found by a crawl that takes embeds, and by no other. */
static void
embeds(void **state)
{
	struct follower x;

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	uint32_t crawl = crawl_all(&x);
	assert_int_equal(counts(crawl)->items, PAGES);
	assert_int_equal(crawl_skips(counts(crawl)), 0);
	crawl = rig_launch(&rig, "/0", "{\"rate_limit\":0,\"embeds\":true}");
	rig_until_state(&rig, crawl, CRAWL_COMPLETE);
	assert_int_equal(counts(crawl)->items, PAGES + 1);
	assert_int_equal(crawl_skips(counts(crawl)), 0);
	rig_close(&rig);
}

/* Whoever reads while it runs, and whoever comes later, has the same. */
static void
live_and_stored(void **state)
{
	struct follower x;

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	uint32_t crawl = crawl_all(&x);
	assert_true(x.dated > PAGES / 2);
	for (unsigned form = 0; form < STREAM_FORMS; form++)
		read_all(crawl, form, &x);
	rig_close(&rig);
}

struct source_count {
	const char *source;
	int64_t n;
};

static void
count_source(const struct metric *m, void *arg)
{
	struct source_count *c = arg;

	if (strcmp(m->name, "argiope_feed_items_total") != 0)
		return;
	for (size_t i = 0; i < m->labels_n; i++)
		if (strcmp(m->label_texts[i], c->source) == 0)
			c->n = metric_value(m, i);
}

static int64_t
items_from(const char *source)
{
	struct source_count c = { source, -1 };

	metric_each(count_source, &c);
	assert_true(c.n >= 0);
	return c.n;
}

/*
 * Who reads along has most items from their fetch, not from the archive; every
 * octet is as the archive has it.  A slow crawl, so that he keeps up.
 */
static void
fresh(void **state)
{
	struct follower x = { .want = { .form = *(const unsigned *)*state } };
	struct arena texts = ARENA_INIT;

	rig_open(&rig, site, NULL);
	rig_start(&rig);
	stream_use(engine_stream(rig.engine), render);
	int64_t before = items_from("fetch"), archive = items_from("archive");
	uint32_t crawl = rig_launch(&rig, "/0",
	    "{\"rate_limit\":0.01,\"downloads\":1}");
	x.want.crawl = crawl;
	x.keep = &texts;
	read_again(&x);
	before = items_from("fetch") - before;
	/* Of the others are the revisits, a fifth. */
	assert_true(before > PAGES / 2);
	assert_int_equal(before + items_from("archive") - archive, PAGES);
	rig_until_state(&rig, crawl, CRAWL_COMPLETE);
	rig_stop(&rig);
	rig_start(&rig);
	stream_use(engine_stream(rig.engine), render);
	x.keep = NULL;
	before = items_from("fetch");
	read_again(&x);
	assert_int_equal(items_from("fetch"), before);
	rig_close(&rig);
	arena_free(&texts);
}

/* The same numbers, texts and mark after a kill. */
static void
after_a_crash(void **state)
{
	struct follower x;
	char mark[16], other[16];

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	uint32_t crawl = crawl_all(&x);
	snprintf(mark, sizeof(mark), "%s", directory_mark());
	assert_int_equal(strlen(mark), 8);
	rig_crash(&rig);
	rig_start(&rig);
	assert_string_equal(directory_mark(), mark);
	stream_use(engine_stream(rig.engine), render);
	read_all(crawl, STREAM_BODY, &x);
	rig_stop(&rig);
	rig_start(&rig);
	assert_string_equal(directory_mark(), mark);
	rig_close(&rig);
	/* Of another directory it is another. */
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	snprintf(other, sizeof(other), "%s", directory_mark());
	assert_string_not_equal(other, mark);
	rig_close(&rig);
}

/* --- an archive that is no directory -------------------------------------- */

static bool
half_is_there(struct rig *r, void *crawl)
{
	const struct crawl_row *row = crawl_row(engine_registry(r->engine),
	    *(uint32_t *)crawl);

	return row != NULL && row->view.counts.items >= PAGES / 2;
}

static enum err
put_piece(void *arg, struct str bytes, struct why *w)
{
	(void)w;
	buf_put_str(arg, bytes);
	return OK;
}

/* A WACZ of the crawl's files, which are in it to the byte. */
static void
pack_crawl(uint32_t crawl, const char *archive)
{
	struct arena *a = &rig.arena;
	struct archive_file *files;
	struct buf package = BUF_INIT;
	size_t n = catalog_crawl_files(arena_printf(a, "%s/crawl-%u", archive,
	    crawl).p, crawl, a, &files), warcs = 0;

	for (size_t i = 0; i < n; i++) {
		assert_false(files[i].open);
		if (str_ends(files[i].name, STR(".warc.gz")))
			files[warcs++] = files[i];
	}
	assert_true(warcs > 0 && n == 2 * warcs);
	struct package_request q = { .files = files, .files_n = warcs,
	    .scratch = arena_printf(a, "%s/pack", rig.dir).p,
	    .seed = rig_url(&rig, "/0"), .put = put_piece, .arg = &package };
	assert_int_equal(catalog_package(&q, &(struct why){ 0 }), OK);
	for (size_t i = 0; i < warcs; i++)
		assert_true(str_find(buf_str(&package),
		    memory_archive_bytes(files[i].path)) < package.n);
	buf_free(&package);
}

/* Another data directory from the same archive. */
static void
rebuild_beside(const char *archive)
{
	struct rebuild_counts counts;
	struct why w = WHY_INIT;
	char data[PATH_MAX];

	assert_int_equal(mkdir(arena_printf(&rig.arena, "%s/again",
	    rig.dir).p, 0700), 0);
	assert_non_null(realpath(arena_printf(&rig.arena, "%s/again",
	    rig.dir).p, data));
	struct rebuild_options o = { .conf = &rig.conf, .data_dir = data,
	    .dirs = &archive, .dirs_n = 1, .scratch = arena_printf(&rig.arena,
	    "%s/sort", rig.dir).p };
	if (rebuild_run(&o, &counts, &w) != OK)
		fail_msg("%s", w.text);
	assert_int_equal(counts.crawls, 1);
	assert_int_equal(counts.captures, PAGES);
	assert_int_equal(counts.damaged + counts.lost + counts.unread, 0);
	size_t n = strlen(rig.dir);
	snprintf(rig.dir + n, sizeof(rig.dir) - n, "/again");
}

static void
no_archive_on_disk(void)
{
	const char *command = arena_printf(&rig.arena, "test -z \"$(find %s "
	    "-name '*.warc*' -o -name '*.cdxj*')\"", rig.dir).p;

	assert_int_equal(system(command), 0);
}

/*
 * A crawl, a crash in its midst, its stream, its WACZ and its rebuild, on an
 * archive in memory: whoever opened a WARC or CDXJ file by path found none.
 */
static void
on_another_archive(void **state)
{
	struct follower x;
	char root[PATH_MAX], archive[PATH_MAX + 16], dir[sizeof(rig.dir)];

	(void)state;
	memory_archive_begin();
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	stream_use(engine_stream(rig.engine), render);
	uint32_t crawl = rig_launch(&rig, "/0",
	    "{\"rate_limit\":0.005,\"downloads\":1}");
	rig_until(&rig, half_is_there, &crawl);
	rig_crash(&rig);
	rig_start(&rig);
	stream_use(engine_stream(rig.engine), render);
	read_all(crawl, STREAM_BODY, &x);
	rig_until_state(&rig, crawl, CRAWL_COMPLETE);
	rig_stop(&rig);
	rig_start(&rig);
	stream_use(engine_stream(rig.engine), render);
	int64_t before = items_from("archive");
	read_all(crawl, STREAM_BODY, &x);
	assert_int_equal(items_from("archive") - before, PAGES);
	assert_non_null(realpath(rig.dir, root));
	snprintf(archive, sizeof(archive), "%s/archive", root);
	pack_crawl(crawl, archive);
	rig_stop(&rig);
	memcpy(dir, rig.dir, sizeof(dir));
	rebuild_beside(archive);
	rig_start(&rig);
	stream_use(engine_stream(rig.engine), render);
	read_all(crawl, STREAM_BODY, &x);
	rig_stop(&rig);
	memcpy(rig.dir, dir, sizeof(dir));
	no_archive_on_disk();
	rig_close(&rig);
	memory_archive_end();
}

static void
paged(struct capture_query *q)
{
	*(bool *)q->arg = true;
}

/* A redirect's page has two hops, a duplicate its original among its like. */
static void
pages_of_a_crawl(void **state)
{
	unsigned redirects = 0, duplicates = 0;
	struct follower x;

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	uint32_t crawl = crawl_all(&x);
	for (uint64_t i = 1; i <= PAGES; i++) {
		bool done = false;
		struct capture_query q = { .crawl = crawl, .number = i,
		    .body = true, .body_bytes_max = 1 << 20, .same = true,
		    .done = paged, .arg = &done };
		struct buf want = BUF_INIT;
		catalog_capture(engine_catalog(rig.engine), &q);
		RIG_UNTIL_DONE(&rig, done);
		assert_int_equal(q.why.err, OK);
		assert_int_equal(q.hops_n, q.entry.hops + 1);
		for (size_t h = 0; h < q.hops_n; h++)
			assert_true(str_starts(q.hops[h].request,
			    STR("GET /")));
		redirects += q.hops_n == 2;
		duplicates += q.duplicates_n > 0;
		uint64_t n = 0;
		struct str end = str_from(q.entry.url,
		    rig_url(&rig, "/").n);
		assert_true(str_to_u64(end, &n));
		body_of((unsigned)n, &want);
		assert_true(str_eq(q.body_bytes, buf_str(&want)));
		assert_false(q.cut || q.damaged);
		assert_int_equal(q.links_n, n == 0 ? PAGES : 0);
		buf_free(&want);
		arena_free(&q.arena);
	}
	assert_int_equal(redirects, PAGES / 5);
	assert_int_equal(duplicates, PAGES / 5);
	rig_close(&rig);
}

static void
nobody(struct stream_request *w)
{
	(void)w;
	fail_msg("it was taken back");
}

/* The engine ends while pages are being read for somebody. */
static void
closing(void **state)
{
	struct stream_request wants[40];
	struct follower x;

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	uint32_t crawl = crawl_all(&x);
	rig_stop(&rig);
	rig_start(&rig);
	struct stream *f = engine_stream(rig.engine);
	stream_use(f, render);
	for (unsigned i = 0; i < ARRAY_LEN(wants); i++) {
		wants[i] = (struct stream_request){ .crawl = crawl,
			.from = 1 + i,
			.form = i % STREAM_FORMS,
			.ready = nobody };
		assert_false(stream_request(f, &wants[i]));
	}
	for (unsigned i = 0; i < ARRAY_LEN(wants); i++)
		stream_cancel(f, &wants[i]);
	rig_close(&rig);
}

int
main(void)
{
	static unsigned forms[] = { 0, STREAM_BODY, STREAM_BODY |
		STREAM_LIST_HEADERS };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_and_stored),
		cmocka_unit_test_prestate(fresh, &forms[0]),
		cmocka_unit_test_prestate(fresh, &forms[1]),
		cmocka_unit_test_prestate(fresh, &forms[2]),
		cmocka_unit_test(after_a_crash),
		cmocka_unit_test(on_another_archive),
		cmocka_unit_test(pages_of_a_crawl),
		cmocka_unit_test(closing),
		cmocka_unit_test(embeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
