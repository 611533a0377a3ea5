/*
 * stream_bench -- what an item costs: read from the archive and rendered, and
 * handed out again to the next reader.
 *
 *     stream_bench [DIRECTORY [PAGES]]      default: . 20000
 *
 * It writes into DIRECTORY/stream-bench, which is to be removed afterwards.
 */
#include "base/hash.h"
#include "base/text.h"
#include "engine/stream/stream_testing.h"
#include "os/clock.h"
#include "os/file.h"
#include "wire/base64.h"

#define READERS 100

static int64_t
cpu_ns(void)
{
	int64_t cpu, rss;

	clock_process_use(&cpu, &rss);
	return cpu;
}

/* Text that packs about four to one, as pages do. */
static struct str
text(struct arena *a, size_t n, uint64_t seed)
{
	static const char *const words[] = { "<p>", "</p>", "<a href=\"/",
	    "\">", "</a>", " the ", " and ", " of ", " a ", " in " };
	char *p = arena_bytes(a, n);
	size_t at = 0;

	for (uint64_t i = 0; at < n; i++) {
		uint64_t dice = hash_u64(seed * 1000003 + i);
		char word[32];
		size_t k = (size_t)snprintf(word, sizeof(word), "%s%06llx",
		    words[dice % 10], (unsigned long long)(dice >> 20 &
		    0xfffff) % 2000 * 7919);
		k = MIN(k, n - at);
		memcpy(p + at, word, k);
		at += k;
	}
	return (struct str){ p, n };
}

static void
report(const char *what, size_t bytes, uint64_t n, int64_t wall, int64_t cpu)
{
	printf("%-25s %5zu bytes: %7.2f us, CPU %7.2f us: %7.0f MB/s a core\n",
	    what, bytes, (double)wall / 1000 / (double)n,
	    (double)cpu / 1000 / (double)n,
	    (double)(bytes * n) * 1000 / (double)cpu);
}

static void
measure_base64(size_t bytes)
{
	struct arena a = ARENA_INIT;
	struct buf out = BUF_INIT;
	struct str s = text(&a, bytes, 1);
	uint64_t n = 200000000 / bytes;
	struct mono begin = clock_mono();
	int64_t cpu = cpu_ns();

	for (uint64_t i = 0; i < n; i++) {
		buf_clear(&out);
		base64_put(&out, s);
	}
	report("base64", bytes, n, mono_ns_between(begin, clock_mono()),
	    cpu_ns() - cpu);
	buf_free(&out);
	arena_free(&a);
}

static void
fill(struct rig *r, unsigned pages, size_t bytes)
{
	struct arena a = ARENA_INIT;
	char url[64];

	for (unsigned i = 1; i <= pages; i++) {
		snprintf(url, sizeof(url), "http://a.example/page/%u", i);
		arena_reset(&a);
		rig_page(r, &(struct rig_page){ .url = url,
		    .head = STR("HTTP/1.1 200 OK\r\nServer: nginx\r\n"
		    "Date: Sun, 22 Nov 2026 07:00:00 GMT\r\n"
		    "Content-Type: text/html; charset=utf-8\r\n"
		    "Connection: keep-alive\r\nVary: Accept-Encoding\r\n"
		    "ETag: \"5f3e-abcdef\"\r\n\r\n"),
		    .title = "A page", .body = text(&a, bytes, i) });
		if (i % 200 == 0)
			rig_run(r);
	}
	rig_show(r);
	arena_free(&a);
}

/* As a door does it: URL, headers, and the body in base64. */
static void
render(const struct stream_capture *c, struct buf *out)
{
	const struct http_head *h = &c->record->http;

	buf_put_str(out, c->entry->url);
	for (size_t i = 0; i < h->fields_n; i++) {
		text_json_latin1(out, h->fields[i].name);
		text_json_latin1(out, h->fields[i].value);
	}
	base64_put(out, c->body);
}

/* One after the other, each asks when it has its answer. */
struct reader_of {
	struct stream_request want;
	struct stream *stream;
	uint64_t last;
	bool *done;
};

static void
read_on(struct stream_request *w)
{
	struct reader_of *x = w->arg;

	for (;;) {
		if (w->batch != NULL) {
			w->from = w->batch->items[w->batch->n - 1].number + 1;
			stream_give_back(x->stream, &w->batch);
		}
		if (w->from > x->last) {
			*x->done = true;
			return;
		}
		if (!stream_request(x->stream, w))
			return;
	}
}

static void
walk(struct rig *r, const char *what, size_t bytes, unsigned form,
    unsigned readers)
{
	struct reader_of *x = mem_array(readers, sizeof(*x));
	bool done = false;
	struct mono begin = clock_mono();
	int64_t cpu = cpu_ns();

	for (unsigned i = 0; i < readers; i++) {
		x[i] = (struct reader_of){ .stream = r->stream, .last = r->seq,
		    .done = &done, .want = { .crawl = RIG_CRAWL, .from = 1,
		    .form = form, .ready = read_on, .arg = &x[i] } };
		read_on(&x[i].want);
	}
	for (unsigned i = 0; i < readers; i++)
		while (x[i].want.from <= r->seq) {
			done = false;
			loop_run_until(r->loop, &done);
		}
	report(what, bytes, r->seq * readers, mono_ns_between(begin,
	    clock_mono()), cpu_ns() - cpu);
	mem_free(&x);
}

static void
measure(const char *dir, unsigned pages, size_t bytes, unsigned threads)
{
	struct rig r;

	file_use(&file_real);
	clock_use(&clock_real);
	stream_rig_init(&r, render, 0);
	struct arena a = ARENA_INIT;
	r.dir = arena_printf(&a, "%s/feed-bench/%zu-%u", dir, bytes,
	    threads).p;
	r.threads = threads;
	rig_open(&r);
	fill(&r, pages, bytes);
	printf("pool of %u, %u pages\n", threads, pages);
	walk(&r, "read, one reader", bytes, STREAM_BODY, 1);
	walk(&r, "read, 100 readers", bytes, STREAM_BODY, READERS);
	walk(&r, "heads alone, one reader", bytes, 0, 1);
	rig_end(&r);
	arena_free(&a);
}

int
main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : ".";
	unsigned pages = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) :
	    20000;

	measure_base64(6000);
	measure_base64(29000);
	for (unsigned threads = 1; threads <= 2; threads++) {
		measure(dir, pages, 6000, threads);
		measure(dir, pages, 29000, threads);
	}
	return 0;
}
