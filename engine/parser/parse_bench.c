/*
 * parse_bench -- what a page costs: CPU us per page and per KB, split by step.
 *
 * Small pages are as shared/bench/gen_site.py writes them: 6 KB of words, 20
 * links, half of them relative.  Large ones are as a reference manual has them:
 * 22 KB with a tag every 30 bytes, a link every 100 and character references.
 * Not run in tests.  usage: parse_bench [ROUNDS]
 */
#include <time.h>

#include <lexbor/html/html.h>

#include "engine/parser/charset.h"
#include "engine/parser/parse.h"
#include "engine/parser/scan.h"
#include "engine/parser/simhash.h"

#define PAGE_BYTES 6000u
#define LARGE_BYTES 22000u
#define PAGE_LINKS 20u
#define PAGES 64u
#define CHUNK 4096u

static const char *const words[] = { "web", "crawl", "frontier", "archive",
	"polite", "queue", "host", "page", "link", "text", "index", "robots",
	"cache", "record", "stream", "digest", "budget", "depth", "scope",
	"seed", "fetch", "parse", "store", "merge", "sort" };

struct bench {
	struct buf small[PAGES], large[PAGES];
	const struct buf *pages;     /* those at hand */
	struct buf text;             /* the words of the first page */
	char hrefs[PAGE_LINKS][64];
	struct url url;
	struct arena a;
	struct parser *parser;
	lxb_html_tokenizer_t *tkz;
	struct html_names names;
	struct scan_token token;
	struct buf scratch;
	uint64_t sink;
};

static uint64_t seed = 1;

static unsigned
rnd(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

static double
cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int64_t
thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
put_words(struct bench *b, struct buf *page, size_t n)
{
	size_t end = page->n + n;

	while (page->n < end) {
		const char *w = words[rnd(ARRAY_LEN(words))];
		buf_printf(page, "%s ", w);
		if (page == &b->small[0])
			buf_printf(&b->text, "%s ", w);
	}
}

static void
make_small(struct bench *b, struct buf *page)
{
	size_t per = (PAGE_BYTES - 200) / PAGE_LINKS - 50;

	buf_printf(page, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
	    "<meta charset=\"utf-8\"><title>Page %u</title></head>\n<body>\n"
	    "<h1>Page %u</h1>\n", rnd(20000), rnd(20000));
	for (unsigned k = 0; k < PAGE_LINKS; k++) {
		unsigned j = rnd(20000);
		char *href = b->hrefs[k];
		snprintf(href, 64, "%s/d%u/p%u.html", k % 2 != 0 ? ".." : "",
		    j / 200, j);
		buf_printf(page, "<p><a href=\"%s\">page %u</a> ", href, j);
		put_words(b, page, per);
		buf_put_text(page, "</p>\n");
	}
	buf_put_text(page, "</body></html>\n");
}

/* A method and its text, in the markup of a manual. */
static void
put_method(struct bench *b, struct buf *page)
{
	const char *name = words[rnd(ARRAY_LEN(words))];
	unsigned n = rnd(900);

	buf_printf(page, "<section id=\"method.%s%u\" class=\"method\">"
	    "<a class=\"src rightside\" href=\"../src/%s.html#%u\">Source"
	    "</a><h4 class=\"code-header\">pub fn <a href=\"#method.%s%u\" "
	    "class=\"fn\">%s%u</a>(&amp;self, n: <a class=\"primitive\" "
	    "href=\"../std/primitive.%u.html\">usize</a>) -&gt; "
	    "<a class=\"enum\" href=\"enum.Option%u.html\" title=\"enum\">"
	    "Option</a>&lt;Self&gt;</h4></section>\n<div class=\"docblock\">"
	    "\n    <p>", name, n, name, n, name, n, name, n, n, n % 50);
	put_words(b, page, 80);
	buf_put_text(page, "<code>");
	put_words(b, page, 10);
	buf_put_text(page, "</code> ");
	put_words(b, page, 60);
	buf_put_text(page, "</p>\n</div>\n");
}

static void
make_large(struct bench *b, struct buf *page)
{
	buf_put_text(page, "<!DOCTYPE html><html lang=\"en\"><head>"
	    "<meta charset=\"utf-8\"><title>A manual</title><script>"
	    "if (a < b) { c = '</p>'; }</script><style>.a{color:red}</style>"
	    "</head>\n<body>\n<nav><ul class=\"block\">\n");
	for (unsigned k = 0; k < 40; k++)
		buf_printf(page, "<li><a href=\"struct.%s%u.html\" "
		    "class=\"struct\">%s</a></li>\n",
		    words[rnd(ARRAY_LEN(words))], k,
		    words[rnd(ARRAY_LEN(words))]);
	buf_put_text(page, "</ul></nav>\n<main>\n");
	while (page->n < LARGE_BYTES)
		put_method(b, page);
	buf_put_text(page, "</main></body></html>\n");
}

static lxb_html_token_t *
drop_token(lxb_html_tokenizer_t *t, lxb_html_token_t *token, void *ctx)
{
	(void)t;
	(void)ctx;
	return token;
}

/* lexbor alone: nobody looks at the tokens. */
static void
step_tokenize(struct bench *b, unsigned i)
{
	struct str s = buf_str(&b->pages[i % PAGES]);

	lxb_html_tokenizer_clean(b->tkz);
	lxb_html_tokenizer_begin(b->tkz);
	for (; s.n > 0; s = str_from(s, CHUNK))
		lxb_html_tokenizer_chunk(b->tkz, (const lxb_char_t *)s.p,
		    MIN(s.n, CHUNK));
	lxb_html_tokenizer_end(b->tkz);
	b->sink += b->tkz->token->tag_id;
}

/* The scanner alone, by that form. */
static void
scan_page(struct bench *b, unsigned i, scan_mask_fn *form)
{
	struct scan s;

	scan_begin(&s, buf_str(&b->pages[i % PAGES]), &b->names, form,
	    PARSE_ATTRS_MAX, &b->scratch);
	while (scan_next(&s, &b->token) != SCAN_END) {
		if (b->token.kind == SCAN_TEXT)
			b->sink += scan_text(&s).n;
		else if (b->token.kind == SCAN_OPEN)
			scan_raw(&s, b->token.tag);
	}
}

static void
step_scan(struct bench *b, unsigned i)
{
	scan_page(b, i, scan_mask_portable);
}

static void
step_scan_wide(struct bench *b, unsigned i)
{
	scan_page(b, i, scan_mask_best());
}

static void
step_urls(struct bench *b, unsigned i)
{
	struct url u;

	(void)i;
	for (unsigned k = 0; k < PAGE_LINKS; k++)
		if (url_parse(str_of(b->hrefs[k]), &b->url, &b->a, &u,
		    NULL) == OK)
			b->sink += u.path.n;
}

static void
step_canonical(struct bench *b, unsigned i)
{
	static const struct str strip[] = { { "JSESSIONID", 10 },
		{ "PHPSESSID", 9 }, { "utm_source", 10 } };
	struct url u;

	(void)i;
	for (unsigned k = 0; k < PAGE_LINKS; k++)
		if (url_canonical(&b->url, strip, ARRAY_LEN(strip), &b->a, &u,
		    NULL) == OK)
			b->sink += u.path.n;
}

static void
step_simhash(struct bench *b, unsigned i)
{
	struct simhash s = SIMHASH_INIT;
	uint32_t count;

	(void)i;
	simhash_add(&s, buf_str(&b->text));
	b->sink += simhash_value(&s, &count);
}

static void
step_charset(struct bench *b, unsigned i)
{
	b->sink += (uintptr_t)charset_of(buf_str(&b->pages[i % PAGES]),
	    STR_NONE, CHARSET_HTML);
}

static void
whole(struct bench *b, unsigned i, const char *type)
{
	struct parse_input in = { .body = buf_str(&b->pages[i % PAGES]),
		.content_type = str_of(type), .url = &b->url,
		.cpu_ns = thread_cpu_ns };
	struct parse_output out;

	if (parse_document(b->parser, &in, &b->a, &out, NULL) == OK)
		b->sink += out.links_n + out.simhash;
}

static void
step_document(struct bench *b, unsigned i)
{
	whole(b, i, "text/html; charset=utf-8");
}

static void
step_document_untyped(struct bench *b, unsigned i)
{
	whole(b, i, "text/html");
}

/* The median of five turns. */
static void
measure(struct bench *b, const char *name, unsigned rounds,
    void (*step)(struct bench *, unsigned))
{
	double us[5];

	for (size_t turn = 0; turn < ARRAY_LEN(us); turn++) {
		double t = cpu_us();
		for (unsigned i = 0; i < rounds; i++) {
			arena_reset(&b->a);
			step(b, i);
		}
		t = (cpu_us() - t) / rounds;
		size_t at = turn;
		for (; at > 0 && us[at - 1] > t; at--)
			us[at] = us[at - 1];
		us[at] = t;
	}
	printf("  %-40s %7.2f us %7.3f us/KB\n", name, us[2],
	    us[2] * 1000 / (double)b->pages[0].n);
}

/* Steps that depend on the page. */
static void
measure_pages(struct bench *b, const char *name, const struct buf *pages,
    unsigned rounds)
{
	b->pages = pages;
	printf("%s pages, %zu bytes\n", name, pages[0].n);
	measure(b, "tokenize (lexbor alone)", rounds, step_tokenize);
	measure(b, "scan (portable form)", rounds, step_scan);
	if (scan_mask_wide() != NULL)
		measure(b, "scan (AVX2)", rounds, step_scan_wide);
	measure(b, "charset by <meta>", rounds, step_charset);
	measure(b, "parse_document, charset in the header", rounds,
	    step_document);
	measure(b, "parse_document, charset by <meta>", rounds,
	    step_document_untyped);
}

int
main(int argc, char **argv)
{
	static struct bench b;
	uint64_t rounds = 4000;

	if (argc > 1 && !str_to_u64(str_of(argv[1]), &rounds))
		return 64;
	if (url_parse(STR("http://site.example:8080/d12/p2412.html"), NULL,
	    &b.a, &b.url, NULL) != OK)
		return 70;
	struct arena keep = b.a;    /* the page's URL must outlive the resets */
	b.a = ARENA_INIT;
	for (unsigned i = 0; i < PAGES; i++) {
		make_small(&b, &b.small[i]);
		make_large(&b, &b.large[i]);
	}
	b.parser = parser_new();
	b.tkz = lxb_html_tokenizer_create();
	lxb_html_tokenizer_init(b.tkz);
	lxb_html_tokenizer_callback_token_done_set(b.tkz, drop_token, NULL);
	html_names_init(&b.names);

	unsigned n = (unsigned)rounds;
	measure_pages(&b, "small", b.small, n);
	measure(&b, "resolve 20 links", n, step_urls);
	measure(&b, "canonical form of 20 links", n, step_canonical);
	measure(&b, "simhash", n, step_simhash);
	measure_pages(&b, "large", b.large, n / 4 + 1);
	printf("(%llx)\n", (unsigned long long)b.sink);

	lxb_html_tokenizer_destroy(b.tkz);
	parser_free(&b.parser);
	for (unsigned i = 0; i < PAGES; i++) {
		buf_free(&b.small[i]);
		buf_free(&b.large[i]);
	}
	buf_free(&b.text);
	buf_free(&b.scratch);
	arena_free(&b.a);
	arena_free(&keep);
	return 0;
}
