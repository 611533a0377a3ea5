#include "script/web/document.h"

#include "script/web/selector.h"

#define NAMES_FIRST 64u

/* FNV-1a: names are short. */
static uint32_t
hash_of(struct str s)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 16777619u;
	return h;
}

static struct name *
find_name(const struct document *d, struct str s, uint32_t hash)
{
	struct name *n = NULL;

	if (d->names_cap != 0)
		n = d->names[hash & (d->names_cap - 1)];
	while (n != NULL && (n->hash != hash || !name_is(n, s)))
		n = n->next;
	return n;
}

static bool
grow_names(struct document *d)
{
	uint32_t cap = d->names_cap == 0 ? NAMES_FIRST : d->names_cap * 2;
	struct name **to = region_array(&d->region, cap, sizeof(*to));
	struct name *n, *next;

	if (to == NULL)
		return false;
	for (uint32_t i = 0; i < d->names_cap; i++)
		for (n = d->names[i]; n != NULL; n = next) {
			next = n->next;
			n->next = to[n->hash & (cap - 1)];
			to[n->hash & (cap - 1)] = n;
		}
	d->names = to;
	d->names_cap = cap;
	return true;
}

static struct name *
add_name(struct document *d, struct str s, uint32_t hash)
{
	if (d->names_n == d->names_cap && !grow_names(d))
		return NULL;
	struct name *n = region_take(&d->region, sizeof(*n) + s.n + 1);
	if (n == NULL)
		return NULL;
	n->hash = hash;
	n->n = (uint32_t)s.n;
	memcpy(n->p, s.p, s.n);
	n->lower = n;
	n->next = d->names[hash & (d->names_cap - 1)];
	d->names[hash & (d->names_cap - 1)] = n;
	d->names_n++;
	return n;
}

/* The name of this text, made where it is new; NULL sets `full`. */
static const struct name *
intern(struct document *d, struct str s)
{
	uint32_t hash = hash_of(s);
	struct name *n = find_name(d, s, hash);
	bool upper = false;

	if (n != NULL)
		return n;
	n = add_name(d, s, hash);
	for (size_t i = 0; i < s.n; i++)
		upper = upper || (s.p[i] >= 'A' && s.p[i] <= 'Z');
	if (n != NULL && upper) {
		struct str low = region_copy(&d->region, s);
		if (low.p == NULL)
			n = NULL;
		for (size_t i = 0; i < low.n; i++)
			((char *)(uintptr_t)low.p)[i] = ascii_lower(low.p[i]);
		if (n != NULL && (n->lower = intern(d, low)) == NULL)
			n = NULL;
	}
	d->full = d->full || n == NULL;
	return n;
}

static uint32_t
add_node(struct document *d, enum node_type type)
{
	if (d->full || !region_room(d->rt, &d->nodes, d->n, &d->cap,
	    sizeof(*d->nodes)) || d->text.n > UINT32_MAX / 2) {
		d->full = true;
		return NODE_NONE;
	}
	uint32_t at = d->n++;
	struct node *n = &d->nodes[at];
	*n = (struct node){ .type = (uint8_t)type, .end = at,
	    .text = (uint32_t)d->text.n, .text_end = (uint32_t)d->text.n };
	if (at == 0)
		return at;
	struct node *up = &d->nodes[d->open];
	n->parent = d->open;
	n->prev = up->last;
	if (up->last != NODE_NONE)
		d->nodes[up->last].next = at;
	else
		up->first = at;
	up->last = at;
	return at;
}

struct document *
document_new(JSRuntime *rt, bool xml)
{
	struct document *d = js_mallocz_rt(rt, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->rt = rt;
	d->refs = 1;
	d->xml = xml;
	d->region = REGION_OF(rt);
	d->text = OUT_OF(rt);
	d->url_arena = ARENA_INIT;
	(void)add_node(d, NODE_DOCUMENT);
	d->id = intern(d, STR("id"));
	d->class = intern(d, STR("class"));
	if (d->full)
		document_drop(&d);
	return d;
}

struct document *
document_hold(struct document *d)
{
	d->refs++;
	return d;
}

void
document_drop(struct document **at)
{
	struct document *d = *at;

	*at = NULL;
	if (d == NULL || --d->refs > 0)
		return;
	for (size_t i = 0; i < DOCUMENT_SELECTORS; i++)
		selector_free(&d->selectors[i].selector);
	arena_free(&d->url_arena);
	js_free_rt(d->rt, d->nodes);
	out_free(&d->text);
	region_free(&d->region);
	js_free_rt(d->rt, d);
}

bool
document_open(struct document *d, struct str name)
{
	if (d->depth >= DOCUMENT_DEPTH_MAX)
		return false;
	const struct name *n = intern(d, name);
	uint32_t at = add_node(d, NODE_ELEMENT);
	if (d->full)
		return false;
	d->nodes[at].name = n;
	d->open = at;
	d->depth++;
	return true;
}

/* Attributes take room for 4, 8, 16 ... */
static bool
has_attr_room(struct document *d, struct node *n)
{
	uint32_t cap = n->attrs_n == 0 ? 4 : n->attrs_n * 2;

	if (n->attrs_n != 0 && (n->attrs_n < 4 ||
	    (n->attrs_n & (n->attrs_n - 1)) != 0))
		return true;
	struct attr *to = region_array(&d->region, cap, sizeof(*to));
	if (to == NULL)
		return false;
	if (n->attrs_n != 0)
		memcpy(to, n->attrs, n->attrs_n * sizeof(*to));
	n->attrs = to;
	return true;
}

void
document_attr(struct document *d, struct str name, struct str value)
{
	struct node *n = &d->nodes[d->open];

	if (d->full || n->type != NODE_ELEMENT ||
	    n->attrs_n >= DOCUMENT_ATTRS_MAX)
		return;
	const struct name *key = intern(d, name);
	if (key == NULL || document_attr_of(d, d->open, key).p != NULL)
		return;
	struct str copy = region_copy(&d->region, value);
	if (copy.p == NULL || !has_attr_room(d, n)) {
		d->full = true;
		return;
	}
	n->attrs[n->attrs_n++] = (struct attr){ key, copy };
}

static void
end_node(struct document *d, uint32_t at)
{
	d->nodes[at].end = d->n - 1;
	d->nodes[at].text_end = (uint32_t)d->text.n;
}

void
document_close(struct document *d)
{
	if (d->full || d->open == 0)
		return;
	end_node(d, d->open);
	d->open = d->nodes[d->open].parent;
	d->depth--;
}

void
document_text(struct document *d, struct str s)
{
	if (s.n == 0 || d->full)
		return;
	uint32_t last = d->nodes[d->open].last;
	if (last == NODE_NONE || d->nodes[last].type != NODE_TEXT)
		last = add_node(d, NODE_TEXT);
	out_str(&d->text, s);
	d->full = d->full || d->text.full;
	if (!d->full)
		d->nodes[last].text_end = (uint32_t)d->text.n;
}

void
document_other(struct document *d, enum node_type type, struct str content)
{
	uint32_t at = add_node(d, type);

	if (d->full)
		return;
	d->nodes[at].content = region_copy(&d->region, content);
	d->full = d->nodes[at].content.p == NULL;
}

void
document_finish(struct document *d)
{
	while (!d->full && d->open != 0)
		document_close(d);
	if (d->full)
		return;
	end_node(d, 0);
	/* What growing took too much is given back. */
	struct node *less = js_realloc_rt(d->rt, d->nodes,
	    d->n * sizeof(*less));
	if (less != NULL) {
		d->nodes = less;
		d->cap = d->n;
	}
}

const struct name *
document_name(const struct document *d, struct str s)
{
	return find_name(d, s, hash_of(s));
}

struct str
document_attr_of(const struct document *d, uint32_t node,
    const struct name *name)
{
	const struct node *n = &d->nodes[node];

	if (n->type != NODE_ELEMENT || name == NULL)
		return STR_NONE;
	for (uint32_t i = 0; i < n->attrs_n; i++)
		if (n->attrs[i].name == name)
			return n->attrs[i].value;
	return STR_NONE;
}

struct str
document_attr_text(const struct document *d, uint32_t node, const char *name)
{
	return document_attr_of(d, node, document_name(d, str_of(name)));
}

uint32_t
document_next(const struct document *d, uint32_t root, uint32_t at)
{
	uint32_t end = d->nodes[root].end;

	for (at++; at <= end; at = d->nodes[at].end + 1)
		if (!d->nodes[at].removed)
			return at;
	return NODE_NONE;
}

uint32_t
document_next_element(const struct document *d, uint32_t n)
{
	do
		n = d->nodes[n].next;
	while (n != NODE_NONE && !node_is_element(d, n));
	return n;
}

uint32_t
document_prev_element(const struct document *d, uint32_t n)
{
	do
		n = d->nodes[n].prev;
	while (n != NODE_NONE && !node_is_element(d, n));
	return n;
}

uint32_t
document_first_element(const struct document *d, uint32_t n)
{
	uint32_t at = d->nodes[n].first;

	return at == NODE_NONE || node_is_element(d, at) ? at :
	    document_next_element(d, at);
}

/* The document has the number of no node, so it is no parent either. */
uint32_t
document_parent_element(const struct document *d, uint32_t n)
{
	return d->nodes[n].parent;
}

struct str
document_text_of(const struct document *d, uint32_t root, struct out *room)
{
	const struct node *n = &d->nodes[root];

	if (n->type == NODE_COMMENT || n->type == NODE_DOCTYPE ||
	    n->type == NODE_INSTRUCTION)
		return n->type == NODE_COMMENT ? n->content : STR("");
	if (n->text == n->text_end)
		return STR("");
	if (!d->changed)
		return str_cut(out_text(&d->text), n->text, n->text_end);
	room->n = 0;
	uint32_t at = root;
	do {
		n = &d->nodes[at];
		if (n->type == NODE_TEXT)
			out_str(room, str_cut(out_text(&d->text), n->text,
			    n->text_end));
		at = document_next(d, root, at);
	} while (at != NODE_NONE);
	return room->full ? STR_NONE : out_text(room);
}

void
document_remove(struct document *d, uint32_t at)
{
	struct node *n = &d->nodes[at], *up = &d->nodes[n->parent];

	if (at == 0 || n->removed)
		return;
	if (n->prev != NODE_NONE)
		d->nodes[n->prev].next = n->next;
	else
		up->first = n->next;
	if (n->next != NODE_NONE)
		d->nodes[n->next].prev = n->prev;
	else
		up->last = n->prev;
	n->parent = n->prev = n->next = NODE_NONE;
	n->removed = true;
	d->changed = true;
}

static void
check_node(const struct document *d, uint32_t at)
{
	const struct node *n = &d->nodes[at], *up = &d->nodes[n->parent];
	bool top = at == 0 || n->removed;

	CHECK(n->end >= at && n->end < d->n);
	CHECK(n->text <= n->text_end && n->text_end <= d->text.n);
	CHECK((n->first == NODE_NONE) == (n->last == NODE_NONE));
	CHECK(n->first == NODE_NONE || (n->first > at && n->last <= n->end));
	CHECK((n->type == NODE_ELEMENT) == (n->name != NULL));
	if (top) {
		CHECK(n->parent == NODE_NONE && n->prev == NODE_NONE &&
		    n->next == NODE_NONE);
		return;
	}
	CHECK(at > n->parent && n->end <= up->end);
	CHECK(n->prev == NODE_NONE ? up->first == at :
	    n->prev < at && d->nodes[n->prev].next == at);
	CHECK(n->next == NODE_NONE ? up->last == at :
	    n->next > n->end && d->nodes[n->next].prev == at);
}

void
document_check(const struct document *d)
{
	for (uint32_t at = 0; at < d->n; at++)
		check_node(d, at);
}

static void
find_base(struct document *d)
{
	const struct name *base = document_name(d, STR("base"));

	d->base = d->url;
	d->has_base = true;
	for (uint32_t at = document_next(d, 0, 0); base != NULL &&
	    at != NODE_NONE; at = document_next(d, 0, at)) {
		if (d->nodes[at].name != base || !node_is_element(d, at))
			continue;
		struct str href = document_attr_text(d, at, "href");
		if (href.p == NULL)
			continue;
		struct url u;
		if (url_parse(href, d->has_url ? &d->url : NULL, &d->url_arena,
		    &u, NULL) == OK) {
			d->base = u;
			d->has_url = true;
		}
		return;
	}
}

const struct url *
document_base(struct document *d)
{
	if (!d->has_base)
		find_base(d);
	return d->has_url ? &d->base : NULL;
}
