#include "script/web/markup.h"

/* "&", "<", ">", quotes in attributes and, in HTML, the no-break space. */
static void
put_escaped(const struct document *d, struct str s, bool attr, struct out *o)
{
	size_t from = 0;

	for (size_t i = 0; i < s.n; i++) {
		struct str to = STR_NONE;
		size_t n = 1;
		switch (s.p[i]) {
		case '&':
			to = STR("&amp;");
			break;
		case '<':
			to = STR("&lt;");
			break;
		case '>':
			to = STR("&gt;");
			break;
		case '"':
			to = attr ? STR("&quot;") : STR_NONE;
			break;
		case '\xc2':
			n = 2;
			if (!d->xml && i + 1 < s.n && s.p[i + 1] == '\xa0')
				to = STR("&nbsp;");
			break;
		default:
			break;
		}
		/* In HTML's attributes brackets stay as they are. */
		if (to.p == NULL || (attr && !d->xml &&
		    (s.p[i] == '<' || s.p[i] == '>')))
			continue;
		out_str(o, str_cut(s, from, i));
		out_str(o, to);
		i += n - 1;
		from = i + 1;
	}
	out_str(o, str_from(s, from));
}

static bool
is_one_of(const struct name *name, const char *const *names, size_t n)
{
	return str_find_row(name_text(name), names, n, sizeof(*names),
	    str_eq) < n;
}

static bool
is_void(const struct name *name)
{
	static const char *const names[] = { "area", "base", "basefont",
		"bgsound", "br", "col", "embed", "frame", "hr", "img", "input",
		"keygen", "link", "meta", "param", "source", "track", "wbr" };

	return is_one_of(name, names, ARRAY_LEN(names));
}

/* Elements whose text is written as it is. */
static bool
is_raw(const struct document *d, uint32_t node)
{
	static const char *const names[] = { "style", "script", "xmp",
		"iframe", "noembed", "noframes", "plaintext", "noscript" };

	return !d->xml && node_is_element(d, node) &&
	    is_one_of(d->nodes[node].name, names, ARRAY_LEN(names));
}

static bool
is_closed_at_once(const struct document *d, uint32_t node)
{
	const struct node *n = &d->nodes[node];

	return d->xml ? n->first == NODE_NONE : is_void(n->name);
}

static void
put_start(const struct document *d, uint32_t node, struct out *o)
{
	const struct node *n = &d->nodes[node];

	out_char(o, '<');
	out_str(o, name_text(n->name));
	for (uint32_t i = 0; i < n->attrs_n; i++) {
		out_char(o, ' ');
		out_str(o, name_text(n->attrs[i].name));
		out_str(o, STR("=\""));
		put_escaped(d, n->attrs[i].value, true, o);
		out_char(o, '"');
	}
	out_str(o, d->xml && n->first == NODE_NONE ? STR("/>") : STR(">"));
}

static void
put_end(const struct document *d, uint32_t node, struct out *o)
{
	if (!node_is_element(d, node) || is_closed_at_once(d, node))
		return;
	out_str(o, STR("</"));
	out_str(o, name_text(d->nodes[node].name));
	out_char(o, '>');
}

static void
put_node(const struct document *d, uint32_t node, struct out *o)
{
	const struct node *n = &d->nodes[node];
	struct str text;

	switch (n->type) {
	case NODE_ELEMENT:
		put_start(d, node, o);
		break;
	case NODE_TEXT:
		text = str_cut(out_text(&d->text), n->text, n->text_end);
		if (is_raw(d, n->parent))
			out_str(o, text);
		else
			put_escaped(d, text, false, o);
		break;
	case NODE_COMMENT:
		out_str(o, STR("<!--"));
		out_str(o, n->content);
		out_str(o, STR("-->"));
		break;
	case NODE_DOCTYPE:
	case NODE_INSTRUCTION:
		out_char(o, '<');
		out_str(o, n->content);
		out_char(o, '>');
		break;
	default:
		break;
	}
}

static void
put_tree(const struct document *d, uint32_t root, bool outer, struct poll *p,
    struct out *o)
{
	uint32_t at = root;

	if (outer)
		put_node(d, root, o);
	while (!o->full && !poll_step(p)) {
		uint32_t next = d->nodes[at].first;
		if (next == NODE_NONE) {
			/* Up to where there is a next one. */
			while (at != root && d->nodes[at].next == NODE_NONE) {
				if (d->nodes[at].first == NODE_NONE)
					put_end(d, at, o);
				at = d->nodes[at].parent;
				if (at != root || outer)
					put_end(d, at, o);
			}
			if (at == root)
				break;
			if (d->nodes[at].first == NODE_NONE)
				put_end(d, at, o);
			next = d->nodes[at].next;
		}
		at = next;
		put_node(d, at, o);
	}
	if (outer && d->nodes[root].first == NODE_NONE)
		put_end(d, root, o);
}

void
markup_outer(const struct document *d, uint32_t node, struct poll *p,
    struct out *o)
{
	put_tree(d, node, true, p, o);
}

void
markup_inner(const struct document *d, uint32_t node, struct poll *p,
    struct out *o)
{
	put_tree(d, node, false, p, o);
}
