#include "wire/urlfrontier/interchange.h"

#include <yyjson.h>

#include "base/text.h"

/* known.info.metadata.KEY.values */
#define DEPTH_MAX 6

/* One line on its way into messages. */
struct walk {
	struct arena *arena;
	struct why *why;
	struct str path[DEPTH_MAX];  /* the field in hand, for errors */
	size_t depth;
};

/* ---- Errors -------------------------------------------------------------- */

static enum err
fail(struct walk *k, const char *text)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < k->depth; i++) {
		buf_put_text(&b, i > 0 ? "." : "");
		buf_put_str(&b, str_cut(k->path[i], 0, 80));
	}
	(void)why(k->why, ERR_INPUT, "%s%s%s", buf_text(&b),
	    k->depth > 0 ? ": " : "", text);
	buf_free(&b);
	return ERR_INPUT;
}

static void
enter(struct walk *k, struct str name)
{
	CHECK(k->depth < DEPTH_MAX);
	k->path[k->depth++] = name;
}

/* ---- Values -------------------------------------------------------------- */

static enum err
read_text(struct walk *k, yyjson_val *v, char **out)
{
	const char *text = yyjson_get_str(v);

	if (text == NULL)
		return fail(k, "must be a string");
	/* It ends there in a message of C. */
	if (strlen(text) != yyjson_get_len(v))
		return fail(k, "holds a NUL");
	*out = (char *)(uintptr_t)text;
	return OK;
}

/* A whole number in any spelling of JSON: 3, 3.0, 3e0. */
static bool
whole(double d, uint64_t *out)
{
	if (!(d >= 0 && d < 9007199254740992.0) || d != (double)(uint64_t)d)
		return false;
	*out = (uint64_t)d;
	return true;
}

static enum err
read_number(struct walk *k, yyjson_val *v, uint64_t *out)
{
	struct str text = { yyjson_get_str(v), yyjson_get_len(v) };
	double d;

	if (yyjson_is_uint(v)) {
		*out = yyjson_get_uint(v);
		return OK;
	}
	if (yyjson_is_real(v) && whole(yyjson_get_real(v), out))
		return OK;
	if (yyjson_is_str(v) && (str_to_u64(text, out) ||
	    (str_to_double(text, &d) && whole(d, out))))
		return OK;
	return fail(k, "must be a whole number from 0 to "
	    "18446744073709551615");
}

/* ---- Objects ------------------------------------------------------------- */

struct field {
	struct str camel, proto;
	enum err (*read)(struct walk *, yyjson_val *, void *message);
};

static size_t
find_field(const struct field *fields, size_t n, struct str name)
{
	size_t i = 0;

	while (i < n && !str_eq(name, fields[i].camel) &&
	    !str_eq(name, fields[i].proto))
		i++;
	return i;
}

static enum err
read_fields(struct walk *k, yyjson_val *object, const struct field *fields,
    size_t n, void *message)
{
	unsigned seen = 0;
	size_t at, max;
	yyjson_val *key, *v;
	enum err e = OK;

	if (!yyjson_is_obj(object))
		return fail(k, "must be an object");
	yyjson_obj_foreach(object, at, max, key, v) {
		struct str name = { yyjson_get_str(key), yyjson_get_len(key) };
		size_t i = find_field(fields, n, name);
		enter(k, name);
		if (i == n)
			return fail(k, "there is no such field");
		if (!yyjson_is_null(v) && (seen & 1u << i))
			return fail(k, "is there twice");
		if (!yyjson_is_null(v)) {
			seen |= 1u << i;
			e = fields[i].read(k, v, message);
		}
		if (e != OK)
			return e;
		k->depth--;
	}
	return OK;
}

/* ---- StringList ---------------------------------------------------------- */

static enum err
read_values(struct walk *k, yyjson_val *v, void *message)
{
	Urlfrontier__StringList *list = message;
	size_t at, max;
	yyjson_val *one;

	if (!yyjson_is_arr(v))
		return fail(k, "must be an array");
	list->values = ARENA_ARRAY(k->arena, char *, yyjson_arr_size(v));
	yyjson_arr_foreach(v, at, max, one) {
		enum err e = read_text(k, one, &list->values[at]);
		if (e != OK)
			return e;
		list->n_values++;
	}
	return OK;
}

static const struct field list_fields[] = {
	{ { "values", 6 }, { "values", 6 }, read_values },
};

/* ---- URLInfo ------------------------------------------------------------- */

static enum err
read_entry(struct walk *k, yyjson_val *key, yyjson_val *v,
    Urlfrontier__URLInfo *info)
{
	Urlfrontier__URLInfo__MetadataEntry *entry = ARENA_NEW(k->arena,
	    Urlfrontier__URLInfo__MetadataEntry);
	Urlfrontier__StringList *list = ARENA_NEW(k->arena,
	    Urlfrontier__StringList);
	struct str name = { yyjson_get_str(key), yyjson_get_len(key) };

	enter(k, name);
	urlfrontier__urlinfo__metadata_entry__init(entry);
	urlfrontier__string_list__init(list);
	enum err e = read_text(k, key, &entry->key);
	if (e == OK)
		e = read_fields(k, v, list_fields, ARRAY_LEN(list_fields),
		    list);
	if (e != OK)
		return e;
	entry->value = list;
	info->metadata[info->n_metadata++] = entry;
	k->depth--;
	return OK;
}

static enum err
read_metadata(struct walk *k, yyjson_val *v, void *message)
{
	Urlfrontier__URLInfo *info = message;
	size_t at, max;
	yyjson_val *key, *value;

	if (!yyjson_is_obj(v))
		return fail(k, "must be an object");
	info->metadata = ARENA_ARRAY(k->arena,
	    Urlfrontier__URLInfo__MetadataEntry *, yyjson_obj_size(v));
	yyjson_obj_foreach(v, at, max, key, value) {
		enum err e = read_entry(k, key, value, info);
		if (e != OK)
			return e;
	}
	return OK;
}

static enum err
read_url(struct walk *k, yyjson_val *v, void *message)
{
	return read_text(k, v, &((Urlfrontier__URLInfo *)message)->url);
}

static enum err
read_key(struct walk *k, yyjson_val *v, void *message)
{
	return read_text(k, v, &((Urlfrontier__URLInfo *)message)->key);
}

static enum err
read_crawl(struct walk *k, yyjson_val *v, void *message)
{
	return read_text(k, v, &((Urlfrontier__URLInfo *)message)->crawlid);
}

static const struct field info_fields[] = {
	{ { "url", 3 }, { "url", 3 }, read_url },
	{ { "key", 3 }, { "key", 3 }, read_key },
	{ { "metadata", 8 }, { "metadata", 8 }, read_metadata },
	{ { "crawlID", 7 }, { "crawlID", 7 }, read_crawl },
};

static enum err
read_info(struct walk *k, yyjson_val *v, Urlfrontier__URLInfo **out)
{
	*out = ARENA_NEW(k->arena, Urlfrontier__URLInfo);
	urlfrontier__urlinfo__init(*out);
	return read_fields(k, v, info_fields, ARRAY_LEN(info_fields), *out);
}

/* ---- Known and discovered ------------------------------------------------ */

static enum err
read_known_info(struct walk *k, yyjson_val *v, void *message)
{
	return read_info(k, v, &((Urlfrontier__KnownURLItem *)message)->info);
}

static enum err
read_date(struct walk *k, yyjson_val *v, void *message)
{
	return read_number(k, v,
	    &((Urlfrontier__KnownURLItem *)message)->refetchable_from_date);
}

static enum err
read_discovered_info(struct walk *k, yyjson_val *v, void *message)
{
	return read_info(k, v,
	    &((Urlfrontier__DiscoveredURLItem *)message)->info);
}

static const struct field known_fields[] = {
	{ { "info", 4 }, { "info", 4 }, read_known_info },
	{ { "refetchableFromDate", 19 }, { "refetchable_from_date", 21 },
	    read_date },
};
static const struct field discovered_fields[] = {
	{ { "info", 4 }, { "info", 4 }, read_discovered_info },
};

/* ---- URLItem ------------------------------------------------------------- */

static enum err
read_known(struct walk *k, yyjson_val *v, void *message)
{
	Urlfrontier__URLItem *item = message;

	if (item->item_case != URLFRONTIER__URLITEM__ITEM__NOT_SET)
		return fail(k, "a URL is discovered or known, not both");
	item->item_case = URLFRONTIER__URLITEM__ITEM_KNOWN;
	item->known = ARENA_NEW(k->arena, Urlfrontier__KnownURLItem);
	urlfrontier__known_urlitem__init(item->known);
	return read_fields(k, v, known_fields, ARRAY_LEN(known_fields),
	    item->known);
}

static enum err
read_discovered(struct walk *k, yyjson_val *v, void *message)
{
	Urlfrontier__URLItem *item = message;

	if (item->item_case != URLFRONTIER__URLITEM__ITEM__NOT_SET)
		return fail(k, "a URL is discovered or known, not both");
	item->item_case = URLFRONTIER__URLITEM__ITEM_DISCOVERED;
	item->discovered = ARENA_NEW(k->arena, Urlfrontier__DiscoveredURLItem);
	urlfrontier__discovered_urlitem__init(item->discovered);
	return read_fields(k, v, discovered_fields,
	    ARRAY_LEN(discovered_fields), item->discovered);
}

static enum err
read_id(struct walk *k, yyjson_val *v, void *message)
{
	return read_text(k, v, &((Urlfrontier__URLItem *)message)->id);
}

static enum err
read_creation(struct walk *k, yyjson_val *v, void *message)
{
	return read_number(k, v,
	    &((Urlfrontier__URLItem *)message)->creation_date);
}

static const struct field item_fields[] = {
	{ { "discovered", 10 }, { "discovered", 10 }, read_discovered },
	{ { "known", 5 }, { "known", 5 }, read_known },
	{ { "ID", 2 }, { "ID", 2 }, read_id },
	{ { "creationDate", 12 }, { "creation_date", 13 }, read_creation },
};

/* ---- Lines --------------------------------------------------------------- */

/* yyjson's memory is the arena's: the texts of a document outlive it. */
static void *
take(void *arena, size_t n)
{
	return arena_take(arena, n);
}

static void *
take_more(void *arena, void *old, size_t old_n, size_t n)
{
	return memcpy(arena_take(arena, n), old, MIN(old_n, n));
}

static void
give_back(void *arena, void *p)
{
	(void)arena;
	(void)p;
}

static enum err
read_json(struct walk *k, struct str line, Urlfrontier__URLItem *item)
{
	const yyjson_alc alc = { take, take_more, give_back, k->arena };
	yyjson_read_err bad;
	/* Without INSITU the text is only read. */
	yyjson_doc *d = yyjson_read_opts((char *)(uintptr_t)line.p, line.n, 0,
	    &alc, &bad);

	if (d == NULL)
		return why(k->why, ERR_INPUT, "no JSON: %s, at byte %zu",
		    bad.msg, bad.pos + 1);
	return read_fields(k, yyjson_doc_get_root(d), item_fields,
	    ARRAY_LEN(item_fields), item);
}

static enum err
read_plain(struct walk *k, struct str url, struct str crawl,
    Urlfrontier__URLItem *item)
{
	Urlfrontier__DiscoveredURLItem *d = ARENA_NEW(k->arena,
	    Urlfrontier__DiscoveredURLItem);
	Urlfrontier__URLInfo *info = ARENA_NEW(k->arena, Urlfrontier__URLInfo);

	if (memchr(url.p, '\0', url.n) != NULL)
		return why(k->why, ERR_INPUT, "a URL that holds a NUL");
	if (!text_is_utf8(url))
		return why(k->why, ERR_INPUT, "a URL that is no UTF-8");
	urlfrontier__urlinfo__init(info);
	urlfrontier__discovered_urlitem__init(d);
	/* One text for both: the URL is the end of its ID. */
	char *id = arena_bytes(k->arena, crawl.n + 1 + url.n + 1);
	if (crawl.n > 0)
		memcpy(id, crawl.p, crawl.n);
	id[crawl.n] = '_';
	memcpy(id + crawl.n + 1, url.p, url.n);
	id[crawl.n + 1 + url.n] = '\0';
	info->url = id + crawl.n + 1;
	info->crawlid = (char *)(uintptr_t)arena_copy(k->arena, crawl).p;
	d->info = info;
	item->item_case = URLFRONTIER__URLITEM__ITEM_DISCOVERED;
	item->discovered = d;
	item->id = id;
	return OK;
}

enum err
interchange_read(struct str line, struct str crawl, struct arena *arena,
    Urlfrontier__URLItem **out, struct why *w)
{
	struct walk k = { .arena = arena, .why = w };

	line = str_trim(line);
	if (line.n == 0)
		return why(w, ERR_INPUT, "the line is empty");
	*out = ARENA_NEW(arena, Urlfrontier__URLItem);
	urlfrontier__urlitem__init(*out);
	return line.p[0] == '{' ? read_json(&k, line, *out) :
	    read_plain(&k, line, crawl, *out);
}

/* ---- Writing ------------------------------------------------------------- */

/* What gson escapes when it writes for HTML, which is its default. */
static const char *
escape_of(unsigned char c, char out[static 8])
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\t':
		return "\\t";
	case '\b':
		return "\\b";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\f':
		return "\\f";
	default:
		break;
	}
	if (c >= 0x20 && (c >= 0x80 || strchr("<>&='", c) == NULL))
		return NULL;
	snprintf(out, 8, "\\u%04x", c);
	return out;
}

/* U+2028 and U+2029, which JavaScript took for ends of lines. */
static bool
is_separator(struct str s)
{
	return s.n >= 3 && memcmp(s.p, "\xe2\x80", 2) == 0 &&
	    (s.p[2] == '\xa8' || s.p[2] == '\xa9');
}

/* Most of what there is: it stands as it is. */
static bool
is_plain(unsigned char c)
{
	return (c >= '-' && c <= ';') || (c >= '?' && c <= '[') ||
	    (c >= ']' && c <= '~');
}

void
interchange_put_text(struct buf *b, const char *text)
{
	struct str s = str_of(text);
	bool fine = text_is_utf8(s);
	size_t from = 0;
	char room[8];

	buf_put_char(b, '"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (is_plain(c))
			continue;
		const char *escape = escape_of(c, room);
		size_t used = 1;
		if (c >= 0x80 && !fine) {
			escape = "\xef\xbf\xbd";
		} else if (c == 0xe2 && is_separator(str_from(s, i))) {
			escape = s.p[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
			used = 3;
		}
		if (escape == NULL)
			continue;
		buf_put(b, s.p + from, i - from);
		buf_put_text(b, escape);
		i += used - 1;
		from = i + 1;
	}
	buf_put(b, s.p + from, s.n - from);
	buf_put_char(b, '"');
}

/* The name of the next member of an object that was opened with '{'. */
static void
put_name(struct buf *b, const char *name)
{
	if (b->p[b->n - 1] != '{')
		buf_put_char(b, ',');
	buf_put_char(b, '"');
	buf_put_text(b, name);
	buf_put_text(b, "\":");
}

static void
put_text(struct buf *b, const char *name, const char *text)
{
	if (text == NULL || text[0] == '\0')
		return;
	put_name(b, name);
	interchange_put_text(b, text);
}

static void
put_number(struct buf *b, const char *name, uint64_t n)
{
	if (n == 0)
		return;
	char digits[24], *p = digits + sizeof(digits);
	*--p = '"';
	for (; n > 0; n /= 10)
		*--p = (char)('0' + n % 10);
	*--p = '"';
	put_name(b, name);
	buf_put(b, p, (size_t)(digits + sizeof(digits) - p));
}

static void
put_entry(struct buf *b, const Urlfrontier__URLInfo__MetadataEntry *entry)
{
	const Urlfrontier__StringList *list = entry->value;

	if (b->p[b->n - 1] != '{')
		buf_put_char(b, ',');
	interchange_put_text(b, entry->key);
	buf_put_text(b, ":{");
	for (size_t i = 0; list != NULL && i < list->n_values; i++) {
		buf_put_text(b, i == 0 ? "\"values\":[" : ",");
		interchange_put_text(b, list->values[i]);
	}
	buf_put_text(b, list != NULL && list->n_values > 0 ? "]}" : "}");
}

void
interchange_put_info(struct buf *b, const Urlfrontier__URLInfo *info)
{
	buf_put_char(b, '{');
	put_text(b, "url", info->url);
	put_text(b, "key", info->key);
	if (info->n_metadata > 0) {
		put_name(b, "metadata");
		buf_put_char(b, '{');
		for (size_t i = 0; i < info->n_metadata; i++)
			put_entry(b, info->metadata[i]);
		buf_put_char(b, '}');
	}
	put_text(b, "crawlID", info->crawlid);
	buf_put_char(b, '}');
}

/* `"kind":{"info":{...}`, to be closed by the caller. */
static void
put_kind(struct buf *b, const char *kind, const Urlfrontier__URLInfo *info)
{
	put_name(b, kind);
	buf_put_char(b, '{');
	if (info == NULL)
		return;
	put_name(b, "info");
	interchange_put_info(b, info);
}

void
interchange_put(struct buf *b, const Urlfrontier__URLItem *item)
{
	buf_put_char(b, '{');
	if (item->item_case == URLFRONTIER__URLITEM__ITEM_DISCOVERED) {
		put_kind(b, "discovered", item->discovered->info);
		buf_put_char(b, '}');
	} else if (item->item_case == URLFRONTIER__URLITEM__ITEM_KNOWN) {
		put_kind(b, "known", item->known->info);
		put_number(b, "refetchableFromDate",
		    item->known->refetchable_from_date);
		buf_put_char(b, '}');
	}
	put_text(b, "ID", item->id);
	put_number(b, "creationDate", item->creation_date);
	buf_put_char(b, '}');
}
