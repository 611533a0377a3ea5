/*
 * backends_read -- the file of back ends, member by member.
 *
 * A message names entry and member.  Names of header fields are repeated only
 * when they are well-formed, since a malformed one may be a whole header line
 * with its secret; values never are.
 */
#include <stdarg.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "engine/backends/backends_own.h"
#include "os/file.h"
#include "wire/base64.h"

#define SENTENCE_BYTES_MAX 256
/* A longer name of a member is not repeated. */
#define MEMBER_BYTES_MAX 32u

/* The entry that is read, and where it goes. */
struct entry {
	struct backends *set;
	struct backend *b;
	size_t number;
	struct str folder;           /* of relative paths; may be empty */
	struct map *names, *tokens, *subdomains;   /* of the entries so far */
	struct why *w;
};

PRINTF_LIKE(4, 5) static enum err
wrong(const struct entry *e, enum err err, const char *member,
    const char *fmt, ...)
{
	char sentence[SENTENCE_BYTES_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	return why(e->w, err, "backends[%zu].%s: %s", e->number, member,
	    sentence);
}

/* ---- Values ---------------------------------------------------------- */

/* Not empty, without control characters, of letters, digits and `others` where
 * these are given. */
static bool
is_plain_text(struct str s, size_t bytes_max, const char *others)
{
	if (s.n == 0 || s.n > bytes_max || text_has_control(s))
		return false;
	for (size_t i = 0; others != NULL && i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    !str_has_char(str_of(others), s.p[i]))
			return false;
	return true;
}

static enum err
read_integer(const struct entry *e, const char *member, yyjson_val *v,
    uint64_t least, uint64_t most, uint64_t *out)
{
	*out = yyjson_get_uint(v);
	if (!yyjson_is_uint(v) || *out < least || *out > most)
		return wrong(e, ERR_INPUT, member, "must be an integer from "
		    "%llu to %llu", (unsigned long long)least,
		    (unsigned long long)most);
	return OK;
}

/* Check that it is an array of texts, and make room for them. */
static enum err
read_list(const struct entry *e, const char *member, yyjson_val *v,
    size_t most, struct str **out)
{
	yyjson_val *item;
	size_t i, n;

	if (!yyjson_is_arr(v))
		return wrong(e, ERR_INPUT, member, "must be an array of "
		    "strings");
	if (yyjson_arr_size(v) > most)
		return wrong(e, ERR_FULL, member, "must have at most %zu "
		    "elements", most);
	*out = ARENA_ARRAY(&e->set->arena, struct str, yyjson_arr_size(v));
	yyjson_arr_foreach(v, i, n, item)
		(*out)[i] = json_text(item);
	return OK;
}

/* ---- Members --------------------------------------------------------- */

/* A text that no other entry has: `taken` has those of the entries so far. */
static enum err
read_unique(struct entry *e, const char *member, yyjson_val *v,
    const char *others, struct map *taken, struct str *out)
{
	struct str text = json_text(v);

	if (!is_plain_text(text, BACKEND_NAME_BYTES_MAX, others))
		return wrong(e, ERR_INPUT, member, "must have 1 to %u "
		    "letters, digits or any of \"%s\"", BACKEND_NAME_BYTES_MAX,
		    others);
	*out = arena_copy(&e->set->arena, text);
	if (map_put(taken, *out, e->b) != NULL)
		return wrong(e, ERR_EXISTS, member, "another back end has the "
		    "same");
	return OK;
}

static enum err
read_name(struct entry *e, const char *member, yyjson_val *v)
{
	return read_unique(e, member, v, "._-", e->names, &e->b->name);
}

static enum err
read_token(struct entry *e, const char *member, yyjson_val *v)
{
	/* As names of tokens are (engine/store/token.h). */
	return read_unique(e, member, v, "._@-", e->tokens, &e->b->token);
}

static enum err
read_prefix(struct entry *e, const char *member, yyjson_val *v)
{
	struct url *u = &e->b->prefix_url;
	const char *fault = backend_url_fault(json_text(v), &e->set->arena, u);

	if (fault != NULL)
		return wrong(e, ERR_INPUT, member, "%s", fault);
	if (str_find_char(json_text(v), '?') < yyjson_get_len(v))
		return wrong(e, ERR_INPUT, member, "must have no query");
	if (backend_path_hides_dots(u->path))
		return wrong(e, ERR_INPUT, member, "must have no encoded dot "
		    "segments in its path");
	if (u->scheme == URL_HTTP && !backend_host_is_loopback(u->host))
		return wrong(e, ERR_INPUT, member, "must begin with https://, "
		    "since its host is not loopback");
	e->b->prefix = u->href;
	return OK;
}

/* Fields of one connection only, and those that a call sets by itself. */
static bool
is_reserved_field(struct str name)
{
	static const char *const reserved[] = { "accept-encoding",
		"connection", "content-encoding", "content-length",
		"content-type", "expect", "host", "idempotency-key",
		"keep-alive", "proxy-authorization", "proxy-connection", "te",
		"trailer", "transfer-encoding", "upgrade" };

	return STR_ROW_NOCASE(name, reserved) < ARRAY_LEN(reserved);
}

static enum err
read_header(struct entry *e, const char *member, size_t i, yyjson_val *key,
    yyjson_val *v, struct backend_header *headers)
{
	struct str name = json_text(key), value = json_text(v);

	if (!text_is_token(name) || name.n > BACKEND_NAME_BYTES_MAX)
		return wrong(e, ERR_INPUT, member, "the name of field %zu is "
		    "not one of a header field of at most %u bytes", i + 1,
		    BACKEND_NAME_BYTES_MAX);
	if (is_reserved_field(name))
		return wrong(e, ERR_INPUT, member, "%.*s may not be set",
		    STR_FMT(name));
	for (size_t k = 0; k < i; k++)
		if (str_eq_nocase(headers[k].name, name))
			return wrong(e, ERR_INPUT, member, "%.*s is there "
			    "twice", STR_FMT(name));
	if (value.p == NULL || !text_is_field_value(value))
		return wrong(e, ERR_INPUT, member, "%.*s must be a string "
		    "without control characters", STR_FMT(name));
	if (value.n > BACKEND_HEADER_BYTES_MAX)
		return wrong(e, ERR_FULL, member, "%.*s must have at most %u "
		    "bytes", STR_FMT(name), BACKEND_HEADER_BYTES_MAX);
	headers[i].name = arena_copy(&e->set->arena, name);
	headers[i].value = secret_memory_copy(&e->set->secrets, value);
	return OK;
}

static enum err
read_headers(struct entry *e, const char *member, yyjson_val *v)
{
	struct backend_header *headers;
	yyjson_val *key, *value;
	size_t i, n;

	if (!yyjson_is_obj(v))
		return wrong(e, ERR_INPUT, member, "must be an object");
	if (yyjson_obj_size(v) > BACKEND_HEADERS_MAX)
		return wrong(e, ERR_FULL, member, "must have at most %u "
		    "fields", BACKEND_HEADERS_MAX);
	headers = ARENA_ARRAY(&e->set->arena, struct backend_header,
	    yyjson_obj_size(v));
	e->b->headers = headers;
	yyjson_obj_foreach(v, i, n, key, value) {
		enum err err = read_header(e, member, i, key, value, headers);
		if (err != OK)
			return err;
		/* Counted one by one: they are overwritten after an error. */
		e->b->headers_n = i + 1;
	}
	return OK;
}

static enum err
read_ca(struct entry *e, const char *member, yyjson_val *v)
{
	struct str path = json_text(v);

	if (!is_plain_text(path, BACKEND_URL_BYTES_MAX, NULL))
		return wrong(e, ERR_INPUT, member, "must be a path");
	if (path.p[0] != '/' && e->folder.n > 0)
		path = arena_printf(&e->set->arena, "%.*s/%.*s",
		    STR_FMT(e->folder), STR_FMT(path));
	e->b->ca = arena_copy(&e->set->arena, path);
	return OK;
}

static enum err
read_ticket_key(struct entry *e, const char *member, yyjson_val *v)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct str text = json_text(v);

	/* Room for all, so that no part of it is left in memory given back. */
	buf_reserve(&key, text.n + 1);
	bool read = base64_read(&key, text) &&
	    key.n >= BACKEND_TICKET_KEY_BYTES_MIN &&
	    key.n <= BACKEND_TICKET_KEY_BYTES_MAX;
	if (read)
		e->b->ticket_key = secret_memory_copy(&e->set->secrets,
		    buf_str(&key));
	explicit_bzero(key.p, key.cap);
	return read ? OK : wrong(e, ERR_INPUT, member, "must be base64 of %u "
	    "to %u bytes", BACKEND_TICKET_KEY_BYTES_MIN,
	    BACKEND_TICKET_KEY_BYTES_MAX);
}

static bool
read_origin(struct str text, struct arena *a, struct str *out)
{
	struct url u;

	if (backend_url_fault(text, a, &u) != NULL ||
	    !str_eq(u.path, STR("/")) || str_find_char(text, '?') < text.n)
		return false;
	*out = url_origin(&u, a);
	return true;
}

static enum err
read_origins(struct entry *e, const char *member, yyjson_val *v)
{
	struct str *list = NULL;
	enum err err = read_list(e, member, v, BACKEND_ORIGINS_MAX, &list);

	if (err != OK)
		return err;
	for (size_t i = 0; i < yyjson_arr_size(v); i++)
		if (!read_origin(list[i], &e->set->arena, &list[i]))
			return wrong(e, ERR_INPUT, member, "element %zu must "
			    "be an origin, such as https://app.example.org",
			    i + 1);
	e->b->origins = list;
	e->b->origins_n = yyjson_arr_size(v);
	return OK;
}

static enum err
read_subdomains(struct entry *e, const char *member, yyjson_val *v)
{
	struct str *list = NULL;
	enum err err = read_list(e, member, v, BACKEND_SUBDOMAINS_MAX, &list);

	if (err != OK)
		return err;
	for (size_t i = 0; i < yyjson_arr_size(v); i++) {
		if (!is_plain_text(list[i], BACKEND_SUBDOMAIN_BYTES_MAX,
		    "._-"))
			return wrong(e, ERR_INPUT, member, "element %zu must "
			    "have 1 to %u letters, digits or any of \"._-\"",
			    i + 1, BACKEND_SUBDOMAIN_BYTES_MAX);
		list[i] = arena_copy(&e->set->arena, list[i]);
		if (map_put(e->subdomains, list[i], e->b) != NULL)
			return wrong(e, ERR_EXISTS, member, "\"%.*s\" is "
			    "there twice, or another back end has it",
			    STR_FMT(list[i]));
	}
	e->b->subdomains = list;
	e->b->subdomains_n = yyjson_arr_size(v);
	return OK;
}

static enum err
read_silence(struct entry *e, const char *member, yyjson_val *v)
{
	uint64_t n;
	enum err err = read_integer(e, member, v, BACKEND_SILENCE_S_MIN,
	    BACKEND_SILENCE_S_MAX, &n);

	e->b->silence_s = (int64_t)n;
	return err;
}

static enum err
read_batch_bytes(struct entry *e, const char *member, yyjson_val *v)
{
	uint64_t n;
	enum err err = read_integer(e, member, v, BACKEND_BATCH_BYTES_MIN,
	    BACKEND_BATCH_BYTES_MAX, &n);

	e->b->batch_bytes = (size_t)n;
	return err;
}

static enum err
read_batch_documents(struct entry *e, const char *member, yyjson_val *v)
{
	uint64_t n;
	enum err err = read_integer(e, member, v, 1,
	    BACKEND_BATCH_DOCUMENTS_MAX, &n);

	e->b->batch_documents = (uint32_t)n;
	return err;
}

/* ---- Entries --------------------------------------------------------- */

#define MEMBERS(X)                                                           \
	X("name",            read_name,            true)                     \
	X("token",           read_token,           true)                     \
	X("prefix",          read_prefix,          true)                     \
	X("headers",         read_headers,         false)                    \
	X("ca",              read_ca,              false)                    \
	X("ticket_key",      read_ticket_key,      false)                    \
	X("origins",         read_origins,         false)                    \
	X("subdomains",      read_subdomains,      false)                    \
	X("silence_s",       read_silence,         false)                    \
	X("batch_bytes",     read_batch_bytes,     false)                    \
	X("batch_documents", read_batch_documents, false)

struct member {
	const char *name;
	enum err (*read)(struct entry *, const char *member, yyjson_val *);
	bool is_required;
};
static const struct member members[] = {
#define MEMBER_ROW(name, read, required) { name, read, required },
	MEMBERS(MEMBER_ROW)
#undef MEMBER_ROW
};

static enum err
refuse_member(const struct entry *e, struct str name, const char *fault)
{
	if (!is_plain_text(name, MEMBER_BYTES_MAX, "_-"))
		return why(e->w, ERR_INPUT, "backends[%zu]: a member %s",
		    e->number, fault);
	return why(e->w, ERR_INPUT, "backends[%zu].%.*s: the member %s",
	    e->number, STR_FMT(name), fault);
}

static enum err
read_entry(struct entry *e, yyjson_val *object)
{
	yyjson_val *key, *value;
	uint32_t seen = 0;
	size_t i, n;

	if (!yyjson_is_obj(object))
		return why(e->w, ERR_INPUT, "backends[%zu]: must be an object",
		    e->number);
	yyjson_obj_foreach(object, i, n, key, value) {
		size_t m = STR_ROW(json_text(key), members);
		if (m == ARRAY_LEN(members))
			return refuse_member(e, json_text(key),
			    "is not known");
		if ((seen & 1u << m) != 0)
			return refuse_member(e, json_text(key),
			    "is there twice");
		seen |= 1u << m;
		enum err err = members[m].read(e, members[m].name, value);
		if (err != OK)
			return err;
	}
	for (size_t m = 0; m < ARRAY_LEN(members); m++)
		if (members[m].is_required && (seen & 1u << m) == 0)
			return wrong(e, ERR_INPUT, members[m].name,
			    "is missing");
	return OK;
}

static enum err
read_entries(yyjson_val *root, struct str folder, struct backends **out,
    struct why *w)
{
	struct map names = MAP_INIT, tokens = MAP_INIT, subdomains = MAP_INIT;
	yyjson_val *object;
	enum err err = OK;
	size_t i, n;

	if (!yyjson_is_arr(root))
		return why(w, ERR_INPUT, "backends: must be an array");
	if (yyjson_arr_size(root) > BACKENDS_MAX)
		return why(w, ERR_FULL, "backends: must have at most %u "
		    "elements", BACKENDS_MAX);
	struct backends *set = backends_new(yyjson_arr_size(root));
	yyjson_arr_foreach(root, i, n, object) {
		struct entry e = { set, &set->items[i], i, folder, &names,
		    &tokens, &subdomains, w };
		err = read_entry(&e, object);
		if (err != OK)
			break;
	}
	map_free(&names);
	map_free(&tokens);
	map_free(&subdomains);
	if (err != OK)
		backends_release(&set);
	*out = set;
	return err;
}

enum err
backends_parse(struct str json, const char *folder, struct backends **out,
    struct why *w)
{
	FREED(buf_free) struct buf copy = BUF_INIT;
	yyjson_read_err fault = { 0 };

	*out = NULL;
	if (json.n > BACKENDS_FILE_BYTES_MAX)
		return why(w, ERR_FULL, "backends: more than %zu bytes",
		    BACKENDS_FILE_BYTES_MAX);
	/* Strings stay in the copy, which is overwritten. */
	buf_reserve(&copy, json.n + YYJSON_PADDING_SIZE);
	buf_put_str(&copy, json);
	memset(copy.p + copy.n, 0, YYJSON_PADDING_SIZE);
	yyjson_doc *doc = yyjson_read_opts(copy.p, copy.n,
	    YYJSON_READ_INSITU, NULL, &fault);
	enum err err = doc == NULL ? why(w, ERR_INPUT, "backends: no JSON at "
	    "byte %zu: %s", fault.pos, fault.msg) :
	    read_entries(yyjson_doc_get_root(doc), str_of(folder), out, w);
	yyjson_doc_free(doc);
	explicit_bzero(copy.p, copy.cap);
	return err;
}

/* ---- The file -------------------------------------------------------- */

/* Load each file of certificates: to know it now if one cannot be read, and
 * later if it has changed. */
static enum err
check_certificates(struct backends *set, struct why *w)
{
	for (size_t i = 0; i < set->n; i++) {
		FREED(buf_free) struct buf pem = BUF_INIT;
		struct backend *b = &set->items[i];
		struct why inner = WHY_INIT;
		if (b->ca.n == 0)
			continue;
		enum err err = file_load(b->ca.p, BACKEND_CA_BYTES_MAX, &pem,
		    &inner);
		if (err != OK)
			return why(w, err, "backends[%zu].ca: %s", i,
			    inner.text);
		if (str_find(buf_str(&pem), STR("-----BEGIN CERTIFICATE-----"))
		    == pem.n)
			return why(w, ERR_INPUT, "backends[%zu].ca: %s has no "
			    "certificate in PEM form", i, b->ca.p);
		b->ca_hash = hash_bytes(buf_str(&pem), 0);
	}
	return OK;
}

enum err
backends_read(const char *path, struct backends **out, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *slash = strrchr(path, '/');
	const char *folder = slash == NULL ? "." : slash == path ? "/" :
	    arena_copy(&a, (struct str){ path, (size_t)(slash - path) }).p;

	*out = NULL;
	enum err err = file_load_private(path, BACKENDS_FILE_BYTES_MAX, &text,
	    w);
	if (err == OK)
		err = backends_parse(buf_str(&text), folder, out, w);
	if (text.cap > 0)
		explicit_bzero(text.p, text.cap);
	if (err == OK)
		err = check_certificates(*out, w);
	if (err != OK)
		backends_release(out);
	return err;
}
