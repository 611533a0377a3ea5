#include "script/web/parse_html.h"

#include <lexbor/dom/dom.h>
#include <lexbor/html/html.h>

#include "script/web/counted.h"

/* What lexbor allocates for an empty document must be there. */
#define START_BYTES (512u * 1024)

struct parse {
	struct document *d;
	struct poll *poll;
	lxb_html_parser_t *parser;
	/* The tree builder's own handler, which ours calls. */
	lxb_html_tokenizer_token_f take;
	void *take_ctx;
};

static lxb_html_token_t *
stop(lxb_html_tokenizer_t *tkz, lxb_status_t status)
{
	tkz->status = status;
	return NULL;
}

/* The tree builder compares each attribute with those before it. */
static void
cut_attrs(lxb_html_token_t *token)
{
	lxb_html_token_attr_t *a = token->attr_first;

	for (unsigned n = 1; a != NULL && n < DOCUMENT_ATTRS_MAX; n++)
		a = a->next;
	if (a != NULL) {
		a->next = NULL;
		token->attr_last = a;
	}
}

/*
 * Whether a start tag would nest too deep.  Formatting elements count twice,
 * since all of them may be opened again at once.
 */
static bool
too_deep(const lxb_html_tree_t *tree)
{
	return lexbor_array_length(tree->open_elements) +
	    lexbor_array_length(tree->active_formatting) >=
	    DOCUMENT_DEPTH_MAX;
}

static lxb_html_token_t *
take_token(lxb_html_tokenizer_t *tkz, lxb_html_token_t *token, void *ctx)
{
	struct parse *p = ctx;
	bool start = token->tag_id >= LXB_TAG__BEGIN &&
	    (token->type & LXB_HTML_TOKEN_TYPE_CLOSE) == 0;

	if (counted_breached())
		return stop(tkz, LXB_STATUS_ERROR_MEMORY_ALLOCATION);
	if (start && too_deep(p->parser->tree))
		return token;
	if (start)
		cut_attrs(token);
	return p->take(tkz, token, p->take_ctx);
}

/*
 * lexbor's tables of names have 128 chains and do not grow, so that many names
 * would cost the square of their number.  Names are kept as they are compared,
 * so the plain hash finds them.
 */
static void
grow_table(lexbor_hash_t *h)
{
	size_t size = h->table_size * 8;
	lexbor_hash_entry_t **to, *e, *next;

	if (lexbor_dobject_allocated(h->entries) < h->table_size * 4 ||
	    (to = lexbor_calloc(size, sizeof(*to))) == NULL)
		return;
	for (size_t i = 0; i < h->table_size; i++)
		for (e = h->table[i]; e != NULL; e = next) {
			size_t at = lexbor_hash_make_id(
			    lexbor_hash_entry_str(e), e->length) % size;
			next = e->next;
			e->next = to[at];
			to[at] = e;
		}
	lexbor_free(h->table);
	h->table = to;
	h->table_size = size;
}

static enum err
failed(struct why *w, lxb_status_t s)
{
	if (counted_breached() || s == LXB_STATUS_ERROR_MEMORY_ALLOCATION)
		return why(w, ERR_FULL, "the heap's limit is met");
	return why(w, ERR_BROKEN, "lexbor failed: %u", (unsigned)s);
}

static enum err
feed(struct parse *p, struct str text, struct why *w)
{
	lxb_status_t s = LXB_STATUS_OK;

	while (s == LXB_STATUS_OK && text.n > 0) {
		size_t n = MIN(text.n, PARSE_CHUNK_BYTES);
		s = lxb_html_parse_chunk_process(p->parser,
		    (const lxb_char_t *)text.p, n);
		text = str_from(text, n);
		/* Neither list of errors is read by anybody. */
		lexbor_array_obj_clean(p->parser->tkz->parse_errors);
		lexbor_array_obj_clean(p->parser->tree->parse_errors);
		grow_table(p->parser->tkz->tags);
		grow_table(p->parser->tkz->attrs);
		if (poll_ask(p->poll))
			return why(w, ERR_TIMEOUT, "interrupted");
		if (counted_breached())
			return failed(w, s);
	}
	if (s == LXB_STATUS_OK)
		s = lxb_html_parse_chunk_end(p->parser);
	return s == LXB_STATUS_OK && !counted_breached() ? OK : failed(w, s);
}

static struct str
str_of_lexbor(const lexbor_str_t *s)
{
	return s == NULL || s->data == NULL ? STR("") :
	    (struct str){ (const char *)s->data, s->length };
}

static void
copy_attrs(struct document *d, const lxb_dom_element_t *e)
{
	for (lxb_dom_attr_t *a = e->first_attr; a != NULL; a = a->next) {
		size_t n = 0;
		const lxb_char_t *name = lxb_dom_attr_qualified_name(a, &n);
		document_attr(d, (struct str){ (const char *)name, n },
		    str_of_lexbor(a->value));
	}
}

static void
copy_doctype(struct document *d, lxb_dom_node_t *node)
{
	struct out o = OUT_OF(d->rt);
	size_t n = 0;
	const lxb_char_t *name = lxb_dom_document_type_name(
	    lxb_dom_interface_document_type(node), &n);

	out_str(&o, STR("!DOCTYPE "));
	out_put(&o, name, n);
	document_other(d, NODE_DOCTYPE, out_text(&o));
	out_free(&o);
}

/* Whether it was opened. */
static bool
copy_element(struct document *d, lxb_dom_node_t *node)
{
	lxb_dom_element_t *e = lxb_dom_interface_element(node);
	size_t n = 0;
	const lxb_char_t *name = lxb_dom_element_qualified_name(e, &n);

	if (!document_open(d, (struct str){ (const char *)name, n }))
		return false;
	copy_attrs(d, e);
	return true;
}

/* The inside of a <template> is its content's. */
static lxb_dom_node_t *
first_child(lxb_dom_node_t *node)
{
	if (node->type == LXB_DOM_NODE_TYPE_ELEMENT &&
	    node->local_name == LXB_TAG_TEMPLATE && node->ns == LXB_NS_HTML) {
		lxb_html_template_element_t *t =
		    lxb_html_interface_template(node);
		if (t->content != NULL && t->content->node.first_child != NULL)
			return t->content->node.first_child;
	}
	return node->first_child;
}

static void
copy_node(struct document *d, lxb_dom_node_t *node)
{
	lxb_dom_character_data_t *c = lxb_dom_interface_character_data(node);

	switch (node->type) {
	case LXB_DOM_NODE_TYPE_TEXT:
	case LXB_DOM_NODE_TYPE_CDATA_SECTION:
		document_text(d, str_of_lexbor(&c->data));
		break;
	case LXB_DOM_NODE_TYPE_COMMENT:
		document_other(d, NODE_COMMENT, str_of_lexbor(&c->data));
		break;
	case LXB_DOM_NODE_TYPE_DOCUMENT_TYPE:
		copy_doctype(d, node);
		break;
	default:
		break;
	}
}

/* One of lexbor's nodes on the way down; those of templates know no parent. */
struct level {
	lxb_dom_node_t *node;
	bool opened;
};

/*
 * lexbor's tree, node by node, without recursion.  The levels are an array,
 * since the content of a template does not lead back to its element.
 */
static enum err
copy_tree(struct document *d, lxb_dom_node_t *root, struct poll *p,
    struct why *w)
{
	struct level *at = NULL;
	uint32_t n = 0, cap = 0;
	lxb_dom_node_t *node = root->first_child;

	while (!d->full && (node != NULL || n > 0)) {
		if (poll_step(p))
			break;
		if (node == NULL) {
			n--;
			if (at[n].opened)
				document_close(d);
			node = at[n].node->next;
			continue;
		}
		if (node->type != LXB_DOM_NODE_TYPE_ELEMENT) {
			copy_node(d, node);
			node = node->next;
			continue;
		}
		bool opened = copy_element(d, node);
		if (!region_room(d->rt, &at, n, &cap, sizeof(*at))) {
			d->full = true;
			break;
		}
		at[n++] = (struct level){ node, opened };
		node = first_child(node);
	}
	js_free_rt(d->rt, at);
	if (p->stopped)
		return why(w, ERR_TIMEOUT, "interrupted");
	document_finish(d);
	return d->full ? why(w, ERR_FULL, "the heap's limit is met") : OK;
}

/* With the counted memory entered. */
static enum err
parse_counted(struct document *d, struct str text, struct poll *poll,
    struct why *w)
{
	struct parse p = { .d = d, .poll = poll,
	    .parser = lxb_html_parser_create() };
	lxb_html_document_t *tree = NULL;
	lxb_status_t s = lxb_html_parser_init(p.parser);
	enum err e;

	if (s == LXB_STATUS_OK) {
		lxb_html_parser_scripting_set(p.parser, true);
		/* With events each <option> would count its siblings. */
		lxb_html_parser_dom_opt_set(p.parser,
		    LXB_DOM_DOCUMENT_OPT_WO_EVENTS);
		tree = lxb_html_parse_chunk_begin(p.parser);
	}
	if (tree == NULL) {
		e = failed(w, s);
	} else {
		lxb_html_tokenizer_t *tkz = p.parser->tkz;
		p.take = tkz->callback_token_done;
		p.take_ctx = tkz->callback_token_ctx;
		lxb_html_tokenizer_callback_token_done_set(tkz, take_token,
		    &p);
		e = feed(&p, text, w);
		if (e == OK)
			e = copy_tree(d, lxb_dom_interface_node(tree), poll, w);
		lxb_html_document_destroy(tree);
	}
	lxb_html_parser_destroy(p.parser);
	return e;
}

enum err
parse_html(struct document *d, struct str text, struct poll *p, struct why *w)
{
	void *room = js_malloc_rt(d->rt, START_BYTES);

	if (room == NULL)
		return why(w, ERR_FULL, "the heap's limit is met");
	js_free_rt(d->rt, room);
	counted_enter(d->rt);
	enum err e = parse_counted(d, text, p, w);
	counted_leave();
	return e;
}
