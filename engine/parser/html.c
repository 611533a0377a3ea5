#include "engine/parser/html.h"

#include "engine/parser/html_page.h"

/* A larger buffer is given back after a page. */
#define KEEP_SCRATCH_BYTES (256u * 1024)

struct html {
	struct html_names names;
	scan_mask_fn *fill_mask;
	struct scan_token token;
	struct buf scratch;
};

struct html *
html_new(void)
{
	struct html *h = mem_new(sizeof(*h));

	html_names_init(&h->names);
	h->fill_mask = scan_mask_best();
	return h;
}

void
html_free(struct html **h)
{
	if (*h == NULL)
		return;
	buf_free(&(*h)->scratch);
	mem_free(h);
}

/* Tell the page about the token just read; the limit that it met, or NULL. */
static const char *
take_token(struct html_page *g, struct scan *s, const struct scan_token *t)
{
	switch (t->kind) {
	case SCAN_TEXT:
		if (html_page_wants_text(g))
			html_page_text(g, scan_text(s));
		return NULL;
	case SCAN_OPEN:
		if (html_page_open(g, t))
			scan_raw(s, t->tag);
		break;
	case SCAN_CLOSE:
		html_page_close(g, t->tag);
		break;
	case SCAN_CUT:
		return "parse.attrs_max";
	case SCAN_END:
		return NULL;
	}
	return html_page_limit(g);
}

/* The limit that ended the page, or NULL. */
static const char *
read_page(struct html *h, struct scan *s, struct html_page *g)
{
	const struct parse_input *in = g->in;
	uint32_t ms_max = in->cpu_ms_max != 0 ? in->cpu_ms_max :
	    PARSE_CPU_MS_MAX;
	bool timed = in->cpu_ns != NULL && s->n > HTML_CLOCK_BYTES;
	int64_t started = timed ? in->cpu_ns() : 0;
	size_t clock_at = timed ? HTML_CLOCK_BYTES : SIZE_MAX;
	const char *limit = NULL;

	while (limit == NULL && scan_next(s, &h->token) != SCAN_END) {
		limit = take_token(g, s, &h->token);
		if (limit != NULL || s->at < clock_at || s->at == s->n)
			continue;
		clock_at = s->at + HTML_CLOCK_BYTES;
		if (in->cpu_ns() - started > (int64_t)ms_max * 1000000)
			limit = "parse.cpu_ms_max";
	}
	return limit;
}

void
html_parse(struct html *h, const struct parse_input *in, struct str text,
    struct arena *a, struct parse_output *out)
{
	struct html_page page;
	struct scan s;

	html_page_begin(&page, in, out, a);
	scan_begin(&s, text, &h->names, h->fill_mask, in->attrs_max != 0 ?
	    in->attrs_max : PARSE_ATTRS_MAX, &h->scratch);
	out->cut_reason = read_page(h, &s, &page);
	html_page_end(&page);
	if (h->scratch.cap > KEEP_SCRATCH_BYTES)
		buf_free(&h->scratch);
}
