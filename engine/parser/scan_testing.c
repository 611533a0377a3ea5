#include "engine/parser/scan_testing.h"

#include <lexbor/html/html.h>

#define PAGES_MAX 1000u

static const struct html_names *
shared_names(void)
{
	static struct html_names all;
	static bool made;

	if (!made)
		html_names_init(&all);
	made = true;
	return &all;
}

/* ---- The scanner ------------------------------------------------------- */

/*
 * The page is copied to memory of its exact size, where a sanitizer finds each
 * byte that is read past its end.
 */
void
scan_testing_read(struct str page, scan_mask_fn *form,
    const struct scan_consumer *to)
{
	FREED(buf_free) struct buf scratch = BUF_INIT;
	char *copy = mem_array(MAX(page.n, 1), 1);
	struct scan_token t = { .known = 0 };
	struct scan s;
	enum scan_kind kind;

	if (page.n > 0)
		memcpy(copy, page.p, page.n);
	scan_begin(&s, (struct str){ copy, page.n }, shared_names(), form,
	    SIZE_MAX, &scratch);
	while ((kind = scan_next(&s, &t)) != SCAN_END) {
		CHECK(kind == t.kind && kind != SCAN_CUT);
		if (kind == SCAN_TEXT)
			to->text(to->ctx, scan_text(&s));
		else if (kind == SCAN_CLOSE)
			to->close(to->ctx, t.tag);
		else if (to->open(to->ctx, &t))
			scan_raw(&s, t.tag);
	}
	CHECK(s.at == s.n);
	mem_free(&copy);
}

/* ---- lexbor ------------------------------------------------------------ */

static uintptr_t
tag_of(lxb_tag_id_t tag)
{
	size_t n = 0;

	if (tag < LXB_TAG__LAST_ENTRY)
		return tag;
	const char *name = (const char *)lxb_tag_name_by_id(tag, &n);
	return html_tag_of(shared_names(), (struct str){ name, n }, n);
}

static void
read_token(const lxb_html_token_t *token, struct scan_token *t)
{
	*t = (struct scan_token){ .kind = SCAN_OPEN,
	    .tag = tag_of(token->tag_id),
	    .self = (token->type & LXB_HTML_TOKEN_TYPE_CLOSE_SELF) != 0 };
	for (lxb_html_token_attr_t *x = token->attr_first; x != NULL;
	    x = x->next) {
		size_t n = 0;
		const char *name = (const char *)lxb_html_token_attr_name(x,
		    &n);
		t->attrs_n++;
		enum html_attr k = name == NULL ? ATTR_COUNT :
		    html_attr_of(shared_names(), (struct str){ name, n }, n);
		if (k == ATTR_COUNT || t->attr[k].p != NULL)
			continue;
		t->known |= UINT32_C(1) << k;
		t->attr[k] = x->value == NULL ? STR("") :
		    (struct str){ (const char *)x->value, x->value_size };
	}
}

static lxb_html_token_t *
take_token(lxb_html_tokenizer_t *tkz, lxb_html_token_t *token, void *ctx)
{
	const struct scan_consumer *to = ctx;
	struct scan_token t;

	if (token->tag_id == LXB_TAG__TEXT) {
		to->text(to->ctx, (struct str){
		    (const char *)token->text_start,
		    (size_t)(token->text_end - token->text_start) });
		return token;
	}
	if (token->tag_id < LXB_TAG__BEGIN)
		return token;
	if ((token->type & LXB_HTML_TOKEN_TYPE_CLOSE) != 0) {
		to->close(to->ctx, tag_of(token->tag_id));
		return token;
	}
	read_token(token, &t);
	if (to->open(to->ctx, &t))
		lxb_html_tokenizer_set_state_by_tag(tkz, false,
		    token->tag_id, LXB_NS_HTML);
	return token;
}

/* Its tables of names grow from page to page: at times a new one replaces
 * it. */
static lxb_html_tokenizer_t *
shared_tokenizer(void)
{
	static lxb_html_tokenizer_t *t;
	static unsigned pages;

	if (t != NULL && pages++ % PAGES_MAX != 0) {
		lxb_html_tokenizer_clean(t);
		return t;
	}
	if (t != NULL)
		lxb_html_tokenizer_destroy(t);
	t = lxb_html_tokenizer_create();
	CHECK(t != NULL && lxb_html_tokenizer_init(t) == LXB_STATUS_OK);
	/* A token counts duplicates, too. */
	lxb_html_tokenizer_keep_duplicate_set(t, true);
	return t;
}

void
scan_testing_read_lexbor(struct str page, const struct scan_consumer *to)
{
	lxb_html_tokenizer_t *t = shared_tokenizer();
	void *ctx = (void *)(uintptr_t)to;

	lxb_html_tokenizer_callback_token_done_set(t, take_token, ctx);
	CHECK(lxb_html_tokenizer_begin(t) == LXB_STATUS_OK);
	if (page.n > 0)
		CHECK(lxb_html_tokenizer_chunk(t, (const lxb_char_t *)page.p,
		    page.n) == LXB_STATUS_OK);
	CHECK(lxb_html_tokenizer_end(t) == LXB_STATUS_OK);
}

/* ---- A log ------------------------------------------------------------- */

static void
put_value(struct buf *b, struct str s)
{
	buf_put_char(b, '"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c < ' ' || c == '\\')
			buf_printf(b, "\\x%02x", c);
		else
			buf_put_char(b, s.p[i]);
	}
	buf_put_char(b, '"');
}

static void
put_tag(struct buf *b, uintptr_t tag)
{
	size_t n = 0;
	const char *name = tag < LXB_TAG__LAST_ENTRY ?
	    (const char *)lxb_tag_name_by_id(tag, &n) : NULL;

	if (name != NULL)
		buf_put(b, name, n);
	else
		buf_printf(b, "%zx", (size_t)tag);
}

static bool
has_text_inside(uintptr_t tag)
{
	static const uintptr_t tags[] = { LXB_TAG_TITLE, LXB_TAG_TEXTAREA,
		LXB_TAG_STYLE, LXB_TAG_XMP, LXB_TAG_IFRAME, LXB_TAG_NOEMBED,
		LXB_TAG_NOFRAMES, LXB_TAG_SCRIPT, LXB_TAG_PLAINTEXT };

	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		if (tags[i] == tag)
			return true;
	return false;
}

static bool
log_open(void *ctx, const struct scan_token *t)
{
	static const char *const attrs[] = {
#define ATTR_TEXT(name, text) text,
		HTML_ATTRS(ATTR_TEXT)
#undef ATTR_TEXT
	};
	struct scan_log *log = ctx;

	buf_put_char(&log->text, '<');
	put_tag(&log->text, t->tag);
	for (size_t k = 0; k < ATTR_COUNT; k++) {
		CHECK((t->attr[k].p != NULL) == (t->known >> k & 1));
		if (t->attr[k].p == NULL)
			continue;
		buf_printf(&log->text, " %s=", attrs[k]);
		put_value(&log->text, t->attr[k]);
	}
	buf_printf(&log->text, " #%zu%s\n", t->attrs_n, t->self ? "/" : "");
	if (t->tag == LXB_TAG_SVG || t->tag == LXB_TAG_MATH)
		log->foreign += !t->self;
	return log->foreign == 0 && has_text_inside(t->tag);
}

static void
log_close(void *ctx, uintptr_t tag)
{
	struct scan_log *log = ctx;

	buf_put_text(&log->text, "</");
	put_tag(&log->text, tag);
	buf_put_char(&log->text, '\n');
	if (tag == LXB_TAG_SVG || tag == LXB_TAG_MATH)
		log->foreign -= log->foreign > 0;
}

static void
log_text(void *ctx, struct str text)
{
	struct scan_log *log = ctx;

	put_value(&log->text, text);
	buf_put_char(&log->text, '\n');
}

struct scan_consumer
scan_testing_log(struct scan_log *log)
{
	return (struct scan_consumer){ .open = log_open, .close = log_close,
	    .text = log_text, .ctx = log };
}
