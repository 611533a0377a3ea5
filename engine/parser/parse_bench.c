/*
 * parse_bench -- what a small page costs: us per page, split by step.
 *
 * The page is as shared/bench/gen_site.py writes them: 6 KB of words, 20 links,
 * half of them relative.  Not run in tests.  usage: parse_bench [ROUNDS]
 */
#include <time.h>

#include <lexbor/html/html.h>

#include "engine/parser/charset.h"
#include "engine/parser/parse.h"
#include "engine/parser/simhash.h"

#define PAGE_BYTES 6000u
#define PAGE_LINKS 20u
#define PAGES 64u
#define CHUNK 4096u

static const char *const words[] = { "web", "crawl", "frontier", "archive",
	"polite", "queue", "host", "page", "link", "text", "index", "robots",
	"cache", "record", "stream", "digest", "budget", "depth", "scope",
	"seed", "fetch", "parse", "store", "merge", "sort" };

struct bench {
	struct buf pages[PAGES];
	struct buf text;             /* the words of the first page */
	char hrefs[PAGE_LINKS][64];
	struct url url;
	struct arena a;
	struct parser *parser;
	lxb_html_tokenizer_t *tkz;
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
		if (page == &b->pages[0])
			buf_printf(&b->text, "%s ", w);
	}
}

static void
make_page(struct bench *b, struct buf *page)
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

	(void)i;
	simhash_add(&s, buf_str(&b->text));
	b->sink += simhash_value(&s);
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

static void
measure(struct bench *b, const char *name, unsigned rounds,
    void (*step)(struct bench *, unsigned))
{
	double best = 1e9;

	for (int turn = 0; turn < 5; turn++) {
		double t = cpu_us();
		for (unsigned i = 0; i < rounds; i++) {
			arena_reset(&b->a);
			step(b, i);
		}
		t = (cpu_us() - t) / rounds;
		best = MIN(best, t);
	}
	printf("%-44s %7.2f us\n", name, best);
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
	for (unsigned i = 0; i < PAGES; i++)
		make_page(&b, &b.pages[i]);
	b.parser = parser_new();
	b.tkz = lxb_html_tokenizer_create();
	lxb_html_tokenizer_init(b.tkz);
	lxb_html_tokenizer_callback_token_done_set(b.tkz, drop_token, NULL);
	printf("a page of %zu bytes, %zu of them words, %u links\n",
	    b.pages[0].n, b.text.n, PAGE_LINKS);

	unsigned n = (unsigned)rounds;
	measure(&b, "tokenize (lexbor alone)", n, step_tokenize);
	measure(&b, "resolve 20 links", n, step_urls);
	measure(&b, "canonical form of 20 links", n, step_canonical);
	measure(&b, "simhash", n, step_simhash);
	measure(&b, "charset by <meta>", n, step_charset);
	measure(&b, "parse_document, charset in the header", n,
	    step_document);
	measure(&b, "parse_document, charset by <meta>", n,
	    step_document_untyped);
	printf("(%llx)\n", (unsigned long long)b.sink);

	lxb_html_tokenizer_destroy(b.tkz);
	parser_free(&b.parser);
	for (unsigned i = 0; i < PAGES; i++)
		buf_free(&b.pages[i]);
	buf_free(&b.text);
	arena_free(&b.a);
	arena_free(&keep);
	return 0;
}
