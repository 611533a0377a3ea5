#include "engine/harvest/credential.h"

#include <limits.h>

#include "base/json.h"
#include "os/key_file.h"

enum err
credential_key(const struct conf *c, const char *data_dir,
    struct seal_key *key, struct why *w)
{
	struct str set = conf_str(c, CONF_SECRETS_KEY_FILE);
	char own[PATH_MAX];

	if (set.n == 0 && snprintf(own, sizeof(own), "%s/%s", data_dir,
	    KEY_FILE_NAME) >= PATH_MAX)
		return why(w, ERR_INPUT, "the path %s is too long", data_dir);
	return key_file_read(set.n == 0 ? own : set.p, set.n == 0, key->bytes,
	    w);
}

static bool
is_credential(yyjson_val *root)
{
	size_t i, n;
	yyjson_val *key, *v;

	yyjson_obj_foreach(root, i, n, key, v)
		if (!yyjson_is_str(v) && !yyjson_is_raw(v))
			return false;
	return yyjson_obj_size(root) > 0;
}

static struct str
context_of(struct str name, struct arena *a)
{
	return arena_printf(a, "credential %.*s", STR_FMT(name));
}

enum err
credential_put(struct store *st, const struct seal_key *key, struct str name,
    struct str json, struct wall now, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf sealed = BUF_INIT;
	yyjson_doc *doc = json.n > CREDENTIAL_BYTES_MAX ? NULL :
	    yyjson_read(json.p, json.n, YYJSON_READ_NUMBER_AS_RAW);
	bool fine = is_credential(yyjson_doc_get_root(doc));

	yyjson_doc_free(doc);
	if (!fine)
		return why_field(w, ERR_INPUT, "credential", "it is no JSON "
		    "object of texts, or has more than %zu bytes",
		    CREDENTIAL_BYTES_MAX);
	seal_put(key, context_of(name, &a), json, &sealed);
	return store_credential_put(st, name, buf_str(&sealed), now, w);
}

enum err
credential_get(struct store *st, const struct seal_key *key, struct str name,
    struct arena *a, struct str *json, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct str sealed;

	enum err e = store_credential_get(st, name, a, &sealed, w);
	if (e != OK)
		return e;
	if (!seal_open(key, context_of(name, a), sealed, &text))
		return why(w, ERR_CORRUPT, "the credential \"%.*s\" cannot be "
		    "opened: secrets.key_file is another one, or it is "
		    "damaged", STR_FMT(str_cut(name, 0, 100)));
	*json = arena_copy(a, buf_str(&text));
	explicit_bzero(text.p, text.n);
	return OK;
}
