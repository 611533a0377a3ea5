#include "engine/harvest/totals.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/connector/order.h"

static const char *const level_names[] = { "info", "warning", "error" };

void
totals_free(struct totals *t)
{
	map_free(&t->state.index);
	map_free(&t->uids.index);
	map_free(&t->tokens.index);
	totals_clear_urls(t);
	arena_free(&t->arena);
	*t = (struct totals){ .items = 0 };
}

/* --- adding ---------------------------------------------------------- */

static void
add_count(struct totals *t, struct str day, struct str label, uint64_t n)
{
	t->items += n;
	/* The newest days stand last, and there are few labels. */
	for (size_t i = t->counts_n; i > 0; i--) {
		struct totals_count *c = &t->counts[i - 1];
		if (str_eq(c->day, day) && str_eq(c->label, label)) {
			c->n += n;
			return;
		}
	}
	t->counts = arena_grow(&t->arena, t->counts, t->counts_n,
	    &t->counts_cap, 8, sizeof(*t->counts));
	t->counts[t->counts_n++] = (struct totals_count){
		arena_copy(&t->arena, day), arena_copy(&t->arena, label), n };
}

void
totals_count(struct totals *t, struct wall when, struct str label, uint64_t n)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(when, iso);
	add_count(t, (struct str){ iso, 10 }, label, n);
}

/* So many characters of UTF-8, none of them cut. */
static struct str
cut_text(struct str s, size_t characters)
{
	size_t at = 0;

	while (at < s.n && characters-- > 0) {
		at++;
		while (at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80)
			at++;
	}
	return str_cut(s, 0, at);
}

void
totals_note(struct totals *t, enum totals_level level, struct str code,
    struct str text, struct str seed)
{
	if (t->notes_of[level] == HARVEST_NOTES_MAX) {
		t->dropped++;
		return;
	}
	t->notes_of[level]++;
	t->notes = arena_grow(&t->arena, t->notes, t->notes_n, &t->notes_cap,
	    8, sizeof(*t->notes));
	t->notes[t->notes_n++] = (struct totals_note){ level,
		arena_copy(&t->arena, code), arena_copy(&t->arena,
		cut_text(text, HARVEST_TEXT_MAX)), arena_copy(&t->arena,
		seed) };
}

static void
put_pair(struct totals *t, struct totals_pairs *all, struct str key,
    struct str value)
{
	size_t place = (size_t)(uintptr_t)map_get(&all->index, key);

	if (place == 0) {
		all->list = arena_grow(&t->arena, all->list, all->n, &all->cap,
		    16, sizeof(*all->list));
		all->list[all->n] = (struct totals_pair){
			.key = arena_copy(&t->arena, key) };
		place = ++all->n;
		map_put(&all->index, all->list[place - 1].key,
		    (void *)(uintptr_t)place);
	}
	/* Cursors change with each page and mostly keep their length. */
	struct totals_pair *p = &all->list[place - 1];
	if (value.n > p->room) {
		p->room = value.n + 8;
		p->value.p = arena_bytes(&t->arena, p->room);
	}
	if (value.n > 0)
		memcpy((char *)(uintptr_t)p->value.p, value.p, value.n);
	p->value.n = value.n;
}

void
totals_state(struct totals *t, struct str key, struct str value)
{
	put_pair(t, &t->state, key, value);
}

void
totals_seed(struct totals *t, struct str id, struct str uid, struct str token)
{
	if (id.n == 0)
		return;
	if (uid.n > 0)
		put_pair(t, &t->uids, id, uid);
	if (token.n > 0)
		put_pair(t, &t->tokens, id, token);
}

void
totals_url(struct totals *t, struct str url)
{
	struct totals_found *f = t->found;

	t->urls++;
	if (f == NULL || url.n > CONNECTOR_SEED_BYTES_MAX ||
	    map_get(&f->known, url) != NULL)
		return;
	struct str copy = arena_copy(&f->arena, url);
	struct str *list = arena_grow(&f->arena, (void *)(uintptr_t)f->list,
	    f->n, &f->cap, 64, sizeof(*f->list));
	list[f->n++] = copy;
	f->list = list;
	f->bytes += url.n;
	map_put(&f->known, copy, f);
}

void
totals_put_urls(const struct totals *t, struct buf *b)
{
	const struct totals_found *f = t->found;

	json_array(b, NULL);
	for (size_t i = 0; f != NULL && i < f->n; i++)
		json_item(b, f->list[i]);
	buf_put_char(b, ']');
}

void
totals_clear_urls(struct totals *t)
{
	struct totals_found *f = t->found;

	if (f == NULL)
		return;
	map_free(&f->known);
	arena_free(&f->arena);
	*f = (struct totals_found){ .n = 0 };
}

/* --- as JSON --------------------------------------------------------- */

static void
put_pairs(const struct totals_pairs *all, const char *name, struct buf *b)
{
	json_array(b, name);
	for (size_t i = 0; i < all->n; i++) {
		json_item(b, all->list[i].key);
		json_item(b, all->list[i].value);
	}
	buf_put_char(b, ']');
}

static void
put_notes(const struct totals *t, struct buf *b)
{
	json_array(b, "notes");
	for (size_t i = 0; i < t->notes_n; i++) {
		const struct totals_note *n = &t->notes[i];
		json_object(b, NULL);
		json_str(b, "level", str_of(level_names[n->level]));
		json_str(b, "code", n->code);
		json_str(b, "text", n->text);
		json_str(b, "seed", n->seed);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

void
totals_put(const struct totals *t, struct buf *b)
{
	json_object(b, NULL);
	json_array(b, "counts");
	for (size_t i = 0; i < t->counts_n; i++) {
		json_object(b, NULL);
		json_str(b, "day", t->counts[i].day);
		json_str(b, "label", t->counts[i].label);
		json_u64(b, "n", t->counts[i].n);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
	put_notes(t, b);
	json_u64(b, "dropped", t->dropped);
	put_pairs(&t->state, "state", b);
	put_pairs(&t->uids, "uids", b);
	put_pairs(&t->tokens, "tokens", b);
	json_u64(b, "urls", t->urls);
	json_u64(b, "deleted", t->deleted);
	json_u64(b, "revisits", t->revisits);
	buf_put_char(b, '}');
}

static bool
read_pairs(struct totals *t, struct totals_pairs *all, yyjson_val *list)
{
	struct str key = STR_NONE;
	size_t i, n;
	yyjson_val *v;

	yyjson_arr_foreach(list, i, n, v) {
		if (!yyjson_is_str(v))
			return false;
		if (i % 2 == 0)
			key = json_text(v);
		else
			put_pair(t, all, key, json_text(v));
	}
	return yyjson_arr_size(list) % 2 == 0;
}

static bool
read_notes(struct totals *t, yyjson_val *list)
{
	size_t i, n;
	yyjson_val *v;

	yyjson_arr_foreach(list, i, n, v) {
		struct str level = json_text(yyjson_obj_get(v, "level"));
		size_t row = STR_ROW(level, level_names);
		if (row == ARRAY_LEN(level_names))
			return false;
		totals_note(t, (enum totals_level)row,
		    json_text(yyjson_obj_get(v, "code")),
		    json_text(yyjson_obj_get(v, "text")),
		    json_text(yyjson_obj_get(v, "seed")));
	}
	return true;
}

static void
read_counts(struct totals *t, yyjson_val *list)
{
	size_t i, n;
	yyjson_val *v;

	yyjson_arr_foreach(list, i, n, v)
		add_count(t, json_text(yyjson_obj_get(v, "day")),
		    json_text(yyjson_obj_get(v, "label")),
		    yyjson_get_uint(yyjson_obj_get(v, "n")));
}

enum err
totals_read(struct totals *t, struct str json, struct why *w)
{
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);

	read_counts(t, yyjson_obj_get(root, "counts"));
	bool fine = yyjson_is_obj(root) &&
	    read_notes(t, yyjson_obj_get(root, "notes")) &&
	    read_pairs(t, &t->state, yyjson_obj_get(root, "state")) &&
	    read_pairs(t, &t->uids, yyjson_obj_get(root, "uids")) &&
	    read_pairs(t, &t->tokens, yyjson_obj_get(root, "tokens"));
	t->dropped = yyjson_get_uint(yyjson_obj_get(root, "dropped"));
	t->urls = yyjson_get_uint(yyjson_obj_get(root, "urls"));
	t->deleted = yyjson_get_uint(yyjson_obj_get(root, "deleted"));
	t->revisits = yyjson_get_uint(yyjson_obj_get(root, "revisits"));
	yyjson_doc_free(doc);
	return fine ? OK : why(w, ERR_CORRUPT, "the harvest's findings are "
	    "damaged");
}
