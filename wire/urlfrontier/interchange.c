#include "wire/urlfrontier/interchange.h"

#include "base/json.h"
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

static void
put_path(struct buf *b, const struct walk *k)
{
	for (size_t i = 0; i < k->depth; i++) {
		buf_put_text(b, i > 0 ? "." : "");
		buf_put_str(b, str_cut(k->path[i], 0, 80));
	}
}

static enum err
fail(struct walk *k, const char *text)
{
	struct buf b = BUF_INIT;

	put_path(&b, k);
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
to_whole(double d, uint64_t *out)
{
	if (!(d >= 0 && d < 9007199254740992.0) || d != (double)(uint64_t)d)
		return false;
	*out = (uint64_t)d;
	return true;
}

static bool
parse_whole(struct str text, uint64_t *out)
{
	double d;

	return str_to_u64(text, out) ||
	    (str_to_double(text, &d) && to_whole(d, out));
}

static enum err
read_number(struct walk *k, yyjson_val *v, uint64_t *out)
{
	if (yyjson_is_uint(v)) {
		*out = yyjson_get_uint(v);
		return OK;
	}
	if (yyjson_is_real(v) && to_whole(yyjson_get_real(v), out))
		return OK;
	if (yyjson_is_str(v) && parse_whole(json_text(v), out))
		return OK;
	return fail(k, "must be a whole number from 0 to "
	    "18446744073709551615");
}

/* ---- Fields -------------------------------------------------------------- */

#define NAME_MAX_BYTES 32

/* "creation_date" is "creationDate" in JSON. */
static struct str
json_name(const ProtobufCFieldDescriptor *f, char out[static NAME_MAX_BYTES])
{
	bool upper = false;
	size_t n = 0;

	for (const char *p = f->name; *p != '\0'; p++) {
		CHECK(n < NAME_MAX_BYTES);
		if (*p != '_')
			out[n++] = upper ? (char)(*p - 'a' + 'A') : *p;
		upper = *p == '_';
	}
	return (struct str){ out, n };
}

static bool
is_name(const ProtobufCFieldDescriptor *f, struct str name)
{
	char room[NAME_MAX_BYTES];

	/* Most fields differ in their first letter. */
	return name.n > 0 && name.p[0] == f->name[0] &&
	    (str_eq(name, str_of(f->name)) ||
	    str_eq(name, json_name(f, room)));
}

/* The number of fields if there is none. */
static unsigned
find_field(const ProtobufCMessageDescriptor *d, struct str name)
{
	unsigned i = 0;

	while (i < d->n_fields && !is_name(&d->fields[i], name))
		i++;
	return i;
}

static void *
member(const void *message, unsigned offset)
{
	return (char *)(uintptr_t)message + offset;
}

/* ---- Objects ------------------------------------------------------------- */

static enum err read_member(struct walk *, yyjson_val *,
    const ProtobufCFieldDescriptor *, ProtobufCMessage *);

/* `seen` has a bit for each field that had a value so far. */
static enum err
read_one_field(struct walk *k, unsigned i, yyjson_val *v, ProtobufCMessage *m,
    unsigned *seen)
{
	if (i == m->descriptor->n_fields)
		return fail(k, "there is no such field");
	if (yyjson_is_null(v))
		return OK;
	if (*seen & 1u << i)
		return fail(k, "is there twice");
	*seen |= 1u << i;
	return read_member(k, v, &m->descriptor->fields[i], m);
}

static enum err
read_object(struct walk *k, yyjson_val *object, ProtobufCMessage *m)
{
	unsigned seen = 0;
	size_t at, max;
	yyjson_val *key, *v;

	if (!yyjson_is_obj(object))
		return fail(k, "must be an object");
	yyjson_obj_foreach(object, at, max, key, v) {
		struct str name = json_text(key);
		enter(k, name);
		unsigned i = find_field(m->descriptor, name);
		enum err e = read_one_field(k, i, v, m, &seen);
		if (e != OK)
			return e;
		k->depth--;
	}
	return OK;
}

static enum err
read_values(struct walk *k, yyjson_val *v, Urlfrontier__StringList *list)
{
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

static enum err
read_entry(struct walk *k, yyjson_val *key, yyjson_val *v,
    Urlfrontier__URLInfo *info)
{
	Urlfrontier__URLInfo__MetadataEntry *entry = ARENA_NEW(k->arena,
	    Urlfrontier__URLInfo__MetadataEntry);
	struct str name = json_text(key);

	enter(k, name);
	urlfrontier__urlinfo__metadata_entry__init(entry);
	entry->value = ARENA_NEW(k->arena, Urlfrontier__StringList);
	urlfrontier__string_list__init(entry->value);
	enum err e = read_text(k, key, &entry->key);
	if (e == OK)
		e = read_object(k, v, &entry->value->base);
	if (e != OK)
		return e;
	info->metadata[info->n_metadata++] = entry;
	k->depth--;
	return OK;
}

static enum err
read_metadata(struct walk *k, yyjson_val *v, Urlfrontier__URLInfo *info)
{
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

/* The one oneof of a URLItem. */
static enum err
choose_kind(struct walk *k, uint32_t *which, uint32_t kind)
{
	if (*which != 0)
		return fail(k, "a URL is discovered or known, not both");
	*which = kind;
	return OK;
}

static enum err
read_message(struct walk *k, yyjson_val *v, const ProtobufCFieldDescriptor *f,
    ProtobufCMessage *m)
{
	const ProtobufCMessageDescriptor *d = f->descriptor;
	ProtobufCMessage *child;

	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
	    choose_kind(k, member(m, f->quantifier_offset), f->id) != OK)
		return ERR_INPUT;
	child = arena_take(k->arena, d->sizeof_message);
	protobuf_c_message_init(d, child);
	*(ProtobufCMessage **)member(m, f->offset) = child;
	return read_object(k, v, child);
}

/* Messages of a URLItem have fields of these kinds alone. */
static enum err
read_member(struct walk *k, yyjson_val *v, const ProtobufCFieldDescriptor *f,
    ProtobufCMessage *m)
{
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return f->type == PROTOBUF_C_TYPE_STRING ?
		    read_values(k, v, (Urlfrontier__StringList *)m) :
		    read_metadata(k, v, (Urlfrontier__URLInfo *)m);
	if (f->type == PROTOBUF_C_TYPE_STRING)
		return read_text(k, v, member(m, f->offset));
	if (f->type == PROTOBUF_C_TYPE_UINT64)
		return read_number(k, v, member(m, f->offset));
	return read_message(k, v, f, m);
}

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
	return read_object(k, yyjson_doc_get_root(d), &item->base);
}

static enum err
check_plain_url(struct walk *k, struct str url)
{
	if (memchr(url.p, '\0', url.n) != NULL)
		return why(k->why, ERR_INPUT, "a URL that holds a NUL");
	if (!text_is_utf8(url))
		return why(k->why, ERR_INPUT, "a URL that is no UTF-8");
	return OK;
}

/* "CRAWL_URL", of which the URL itself is the end. */
static char *
join_id(struct arena *arena, struct str crawl, struct str url)
{
	char *id = arena_bytes(arena, crawl.n + 1 + url.n + 1);

	if (crawl.n > 0)
		memcpy(id, crawl.p, crawl.n);
	id[crawl.n] = '_';
	memcpy(id + crawl.n + 1, url.p, url.n);
	id[crawl.n + 1 + url.n] = '\0';
	return id;
}

static enum err
read_plain(struct walk *k, struct str url, struct str crawl,
    Urlfrontier__URLItem *item)
{
	Urlfrontier__DiscoveredURLItem *d = ARENA_NEW(k->arena,
	    Urlfrontier__DiscoveredURLItem);
	Urlfrontier__URLInfo *info = ARENA_NEW(k->arena, Urlfrontier__URLInfo);

	if (check_plain_url(k, url) != OK)
		return ERR_INPUT;
	urlfrontier__urlinfo__init(info);
	urlfrontier__discovered_urlitem__init(d);
	char *id = join_id(k->arena, crawl, url);
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

/* Escapes as gson does by default, for texts that may be put into HTML. */
static const char *
escape_of(unsigned char c, char out[static 8])
{
	static const char escaped[] = "\"\\\t\b\n\r\f", letters[] = "\"\\tbnrf";
	const char *at = memchr(escaped, c, 7);

	if (at != NULL)
		snprintf(out, 8, "\\%c", letters[at - escaped]);
	else if (c < 0x20 || (c < 0x80 && str_has_char(STR("<>&='"), c)))
		snprintf(out, 8, "\\u%04x", c);
	else
		return NULL;
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
put_name(struct buf *b, const ProtobufCFieldDescriptor *f)
{
	char room[NAME_MAX_BYTES];

	buf_put_text(b, b->p[b->n - 1] == '{' ? "\"" : ",\"");
	buf_put_str(b, json_name(f, room));
	buf_put_text(b, "\":");
}

static void
put_number(struct buf *b, uint64_t n)
{
	char digits[24], *p = digits + sizeof(digits);

	*--p = '"';
	for (; n > 0; n /= 10)
		*--p = (char)('0' + n % 10);
	*--p = '"';
	buf_put(b, p, (size_t)(digits + sizeof(digits) - p));
}

static void put_message(struct buf *, const ProtobufCMessage *);

static void
put_values(struct buf *b, const Urlfrontier__StringList *list)
{
	for (size_t i = 0; i < list->n_values; i++) {
		buf_put_char(b, i == 0 ? '[' : ',');
		interchange_put_text(b, list->values[i]);
	}
	buf_put_char(b, ']');
}

static void
put_metadata(struct buf *b, const Urlfrontier__URLInfo *info)
{
	for (size_t i = 0; i < info->n_metadata; i++) {
		const Urlfrontier__StringList *list = info->metadata[i]->value;
		buf_put_char(b, i == 0 ? '{' : ',');
		interchange_put_text(b, info->metadata[i]->key);
		buf_put_char(b, ':');
		if (list != NULL)
			put_message(b, &list->base);
		else
			buf_put_text(b, "{}");
	}
	buf_put_char(b, '}');
}

/* A message that is there, or a text that is not empty. */
static bool
is_set(ProtobufCType type, const char *at)
{
	return at != NULL && (type != PROTOBUF_C_TYPE_STRING || *at != '\0');
}

static bool
has_field(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	const void *at = member(m, f->offset);

	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return *(const uint32_t *)member(m, f->quantifier_offset) ==
		    f->id;
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return *(const size_t *)member(m, f->quantifier_offset) > 0;
	if (f->type == PROTOBUF_C_TYPE_UINT64)
		return *(const uint64_t *)at != 0;
	return is_set(f->type, *(char *const *)at);
}

static void
put_single(struct buf *b, ProtobufCType type, const void *at)
{
	if (type == PROTOBUF_C_TYPE_STRING)
		interchange_put_text(b, *(char *const *)at);
	else if (type == PROTOBUF_C_TYPE_UINT64)
		put_number(b, *(const uint64_t *)at);
	else
		put_message(b, *(ProtobufCMessage *const *)at);
}

/* An empty field is not written. */
static void
put_field(struct buf *b, const ProtobufCMessage *m,
    const ProtobufCFieldDescriptor *f)
{
	put_name(b, f);
	if (f->label != PROTOBUF_C_LABEL_REPEATED)
		put_single(b, f->type, member(m, f->offset));
	else if (f->type == PROTOBUF_C_TYPE_STRING)
		put_values(b, (const Urlfrontier__StringList *)m);
	else
		put_metadata(b, (const Urlfrontier__URLInfo *)m);
}

static void
put_message(struct buf *b, const ProtobufCMessage *m)
{
	buf_put_char(b, '{');
	for (unsigned i = 0; i < m->descriptor->n_fields; i++)
		if (has_field(m, &m->descriptor->fields[i]))
			put_field(b, m, &m->descriptor->fields[i]);
	buf_put_char(b, '}');
}

void
interchange_put_info(struct buf *b, const Urlfrontier__URLInfo *info)
{
	put_message(b, &info->base);
}

void
interchange_put(struct buf *b, const Urlfrontier__URLItem *item)
{
	put_message(b, &item->base);
}
