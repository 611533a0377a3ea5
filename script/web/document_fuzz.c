/*
 * A selector up to the first newline, then a page: HTML, or XML after "x".
 */
#include "base/text.h"
#include "script/web/counted.h"
#include "script/web/markup.h"
#include "script/web/parse_html.h"
#include "script/web/parse_xml.h"
#include "script/web/selector.h"
#include "script/web/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A selector may ask for more steps than there is time. */
#define QUESTIONS_MAX 50u

static bool
ask(void *opaque)
{
	unsigned *questions = opaque;

	return ++*questions > QUESTIONS_MAX;
}

/* What the selector finds is what matches, each once and in order. */
static void
check_matches(struct document *d, struct str css, struct poll *p)
{
	struct selector *s = NULL;
	struct nodes l = NODES_OF(d->rt);
	uint32_t root = 0, k = 0;

	if (selector_compile(d, css, SELECTOR_PLAIN, &s, NULL) != OK)
		return;
	selector_find(s, &root, 1, UINT32_MAX, p, &l);
	for (uint32_t at = 1; at < d->n && !p->stopped; at++) {
		bool matches = !d->nodes[at].removed &&
		    selector_matches(s, at, p);
		bool found = k < l.n && l.at[k] == at;
		k += found;
		CHECK(p->stopped || found == matches || d->changed);
	}
	nodes_free(&l);
}

static void
use(struct document *d, struct str css, struct poll *p)
{
	struct out o = OUT_OF(d->rt);
	struct selector *s = NULL;
	struct nodes l = NODES_OF(d->rt);
	uint32_t root = 0;

	document_check(d);
	check_matches(d, css, p);
	if (selector_compile(d, css, SELECTOR_RELATIVE, &s, NULL) == OK)
		selector_find(s, &root, 1, UINT32_MAX, p, &l);
	for (uint32_t i = 0; i < l.n; i += 2)
		document_remove(d, l.at[i]);
	document_check(d);
	markup_outer(d, 0, p, &o);
	CHECK(p->stopped || text_is_utf8(out_text(&o)));
	o.n = 0;
	CHECK(text_is_utf8(document_text_of(d, 0, &o)));
	check_matches(d, css, p);
	nodes_free(&l);
	out_free(&o);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static JSRuntime *rt;
	struct str in = { (const char *)data, n };
	unsigned questions = 0;
	struct poll p = { .interrupted = ask, .opaque = &questions };

	if (rt == NULL) {
		counted_setup();
		rt = JS_NewRuntime();
		JS_SetMemoryLimit(rt, 64u << 20);
	}
	struct str css = str_cut(in, 0, str_find_char(in, '\n'));
	struct str body = str_from(in, css.n + 1);
	bool xml = body.n > 0 && body.p[0] == 'x';
	struct out text = OUT_OF(rt);
	struct document *d = document_new(rt, xml);
	(void)utf8_repair(str_from(body, xml), &text);
	enum err e = xml ? parse_xml(d, out_text(&text), &p, NULL) :
	    parse_html(d, out_text(&text), &p, NULL);
	p.stopped = false;
	if (e == OK && text_is_utf8(css))
		use(d, css, &p);
	document_drop(&d);
	out_free(&text);
	return 0;
}
