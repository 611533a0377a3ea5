#include "doors/external/clients.h"

#include "base/json.h"
#include "engine/external/external_connector.h"
#include "os/file.h"

struct clients {
	struct str *connectors;
	struct oauth_client *list;
	size_t n;
	struct arena arena;
};

struct clients *
clients_none(void)
{
	return mem_new(sizeof(struct clients));
}

void
clients_free(struct clients **sp)
{
	struct clients *set = *sp;

	if (set == NULL)
		return;
	arena_wipe(&set->arena);
	mem_free(sp);
}

size_t
clients_count(const struct clients *set)
{
	return set->n;
}

const struct oauth_client *
clients_find(const struct clients *set, struct str connector)
{
	for (size_t i = 0; i < set->n; i++)
		if (str_eq(set->connectors[i], connector))
			return &set->list[i];
	return NULL;
}

/* ---- Reading ------------------------------------------------------------ */

/* It goes into a form or a header. */
static bool
is_visible(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < ' ' || s.p[i] > '~')
			return false;
	return s.n > 0 && s.n <= OAUTH_TOKEN_BYTES_MAX;
}

static enum err
read_text(struct str connector, const char *member, yyjson_val *v,
    struct arena *a, struct str *out, struct why *w)
{
	if (out->p != NULL)
		return why(w, ERR_EXISTS, "%.*s.%s: is there twice",
		    STR_FMT(connector), member);
	if (!is_visible(json_text(v)))
		return why(w, ERR_INPUT, "%.*s.%s: must be a string of 1 to %u"
		    " visible ASCII characters", STR_FMT(connector), member,
		    OAUTH_TOKEN_BYTES_MAX);
	*out = arena_copy(a, json_text(v));
	return OK;
}

static enum err
read_client(struct clients *set, struct str connector, yyjson_val *object,
    struct why *w)
{
	struct oauth_client *c = &set->list[set->n];
	yyjson_val *key, *v;
	size_t i, n;
	enum err e = OK;

	if (!yyjson_is_obj(object))
		return why(w, ERR_INPUT, "%.*s: must be an object",
		    STR_FMT(connector));
	set->connectors[set->n++] = arena_copy(&set->arena, connector);
	yyjson_obj_foreach(object, i, n, key, v) {
		if (str_eq(json_text(key), STR("client_id")))
			e = read_text(connector, "client_id", v, &set->arena,
			    &c->id, w);
		else if (str_eq(json_text(key), STR("client_secret")))
			e = read_text(connector, "client_secret", v,
			    &set->arena, &c->secret, w);
		else
			e = why(w, ERR_INPUT, "%.*s: it has a member other "
			    "than client_id and client_secret",
			    STR_FMT(connector));
		if (e != OK)
			return e;
	}
	return c->id.n > 0 ? OK : why(w, ERR_INPUT, "%.*s.client_id: is "
	    "missing", STR_FMT(connector));
}

static enum err
read_clients(struct clients *set, yyjson_val *root, struct why *w)
{
	yyjson_val *key, *v;
	size_t i, n;
	enum err e = OK;

	if (!yyjson_is_obj(root))
		return why(w, ERR_INPUT, "it must be an object of connectors");
	if (yyjson_obj_size(root) > CLIENTS_MAX)
		return why(w, ERR_FULL, "it must have at most %u connectors",
		    CLIENTS_MAX);
	set->connectors = ARENA_ARRAY(&set->arena, struct str,
	    yyjson_obj_size(root));
	set->list = ARENA_ARRAY(&set->arena, struct oauth_client,
	    yyjson_obj_size(root));
	yyjson_obj_foreach(root, i, n, key, v) {
		struct str name = json_text(key);
		if (!external_name_is_valid(name))
			return why(w, ERR_INPUT, "member %zu is not the name "
			    "of a connector", i + 1);
		if (clients_find(set, name) != NULL)
			return why(w, ERR_EXISTS, "%.*s: is there twice",
			    STR_FMT(name));
		e = read_client(set, name, v, w);
		if (e != OK)
			return e;
	}
	return OK;
}

enum err
clients_parse(struct str json, struct clients **out, struct why *w)
{
	FREED(buf_free) struct buf copy = BUF_INIT;
	yyjson_read_err at = { 0 };

	*out = NULL;
	if (json.n > CLIENTS_FILE_BYTES_MAX)
		return why(w, ERR_FULL, "it has more than %zu bytes",
		    CLIENTS_FILE_BYTES_MAX);
	/* Strings stay in the copy, which is overwritten. */
	buf_reserve(&copy, json.n + YYJSON_PADDING_SIZE);
	buf_put_str(&copy, json);
	memset(copy.p + copy.n, 0, YYJSON_PADDING_SIZE);
	yyjson_doc *doc = yyjson_read_opts(copy.p, copy.n,
	    YYJSON_READ_INSITU, NULL, &at);
	struct clients *set = clients_none();
	enum err e = doc == NULL ? why(w, ERR_INPUT, "no JSON at byte %zu: %s",
	    at.pos, at.msg) : read_clients(set, yyjson_doc_get_root(doc), w);
	yyjson_doc_free(doc);
	explicit_bzero(copy.p, copy.cap);
	if (e != OK)
		clients_free(&set);
	*out = set;
	return e;
}

enum err
clients_read(const char *path, struct clients **out, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	*out = NULL;
	enum err e = file_load_private(path, CLIENTS_FILE_BYTES_MAX, &text, w);
	if (e == OK)
		e = clients_parse(buf_str(&text), out, w);
	if (text.cap > 0)
		explicit_bzero(text.p, text.cap);
	return e;
}
