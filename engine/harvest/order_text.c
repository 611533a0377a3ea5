#include "engine/harvest/order_text.h"

#include "base/json_wiping.h"
#include "engine/connector/connectors.h"
#include "engine/connector/order.h"

static bool
is_deep(yyjson_val *v, unsigned left)
{
	yyjson_arr_iter list = yyjson_arr_iter_with(v);
	yyjson_obj_iter object = yyjson_obj_iter_with(v);
	yyjson_val *x;

	if (!yyjson_is_ctn(v))
		return false;
	if (left == 0)
		return true;
	while ((x = yyjson_arr_iter_next(&list)) != NULL)
		if (is_deep(x, left - 1))
			return true;
	while ((x = yyjson_obj_iter_next(&object)) != NULL)
		if (is_deep(yyjson_obj_iter_get_val(x), left - 1))
			return true;
	return false;
}

/* ---- Two texts ------------------------------------------------------ */

static struct str
written(char *text, size_t n, struct arena *a)
{
	CHECK(text != NULL);
	struct str s = arena_copy(a, (struct str){ text, n });

	json_wiping_free(text);
	return s;
}

static void
take_texts(struct order_text *o, yyjson_val *root, struct arena *a)
{
	yyjson_val *credentials = yyjson_obj_get(root, "credentials");
	yyjson_mut_doc *doc = yyjson_mut_doc_new(&json_wiping);
	yyjson_mut_val *copy = yyjson_val_mut_copy(doc, root);
	size_t n;

	CHECK(copy != NULL);
	yyjson_mut_obj_remove_key(copy, "credentials");
	yyjson_mut_doc_set_root(doc, copy);
	char *text = yyjson_mut_write_opts(doc, 0, &json_wiping, &n, NULL);
	o->message = written(text, n, a);
	yyjson_mut_doc_free(doc);
	if (yyjson_obj_size(credentials) == 0)
		return;
	text = yyjson_val_write_opts(credentials, 0, &json_wiping, &n, NULL);
	o->credentials = written(text, n, a);
}

/* ---- The order ------------------------------------------------------ */

/* A key's value as text; the order has checked it. */
static struct str
secret_text(yyjson_val *v)
{
	return yyjson_is_raw(v) ? (struct str){ yyjson_get_raw(v),
	    yyjson_get_len(v) } : json_text(v);
}

static void
take_secrets(struct order_text *o, yyjson_val *root, struct arena *a)
{
	yyjson_val *all = yyjson_obj_get(root, "credentials");
	const struct connector_key *k = o->connector->credential;
	size_t n = 0;

	while (k != NULL && k[n].name != NULL)
		n++;
	o->secrets = ARENA_ARRAY(a, struct driver_secret, n);
	for (size_t i = 0; i < n; i++) {
		struct str value = secret_text(yyjson_obj_get(all, k[i].name));
		if (k[i].secret && value.n > 0)
			o->secrets[o->secrets_n++] = (struct driver_secret){
				str_of(k[i].name), value };
	}
}

static enum err
read_root(struct order_text *o, struct arena *a, const char **code,
    struct why *w)
{
	yyjson_val *root = yyjson_doc_get_root(o->doc);
	struct str type = json_text(yyjson_obj_get(root, "type"));

	if (!yyjson_is_obj(root) || is_deep(root, ORDER_DEPTH_MAX))
		return why(w, ERR_INPUT, "the message is no JSON object, or is "
		    "nested more than %u deep", ORDER_DEPTH_MAX);
	o->connector = connector_find(type);
	if (o->connector == NULL) {
		*code = "unsupported_harvest_type";
		return why_field(w, ERR_INPUT, "type", "there is no type "
		    "\"%.*s\"", STR_FMT(str_cut(type, 0, 60)));
	}
	enum err e = connector_order_read(o->connector, root, a, &o->order,
	    code, w);
	if (e == OK)
		take_secrets(o, root, a);
	return e;
}

enum err
order_text_read(struct str json, struct arena *a, struct order_text *o,
    const char **code, struct why *w)
{
	*o = (struct order_text){ .connector = NULL };
	*code = "bad_request";
	o->doc = yyjson_read_opts((char *)(uintptr_t)json.p, json.n,
	    YYJSON_READ_NUMBER_AS_RAW, &json_wiping, NULL);
	enum err e = read_root(o, a, code, w);
	if (e == OK)
		take_texts(o, yyjson_doc_get_root(o->doc), a);
	return e;
}

enum err
order_text_read_kept(struct str message, struct str credentials,
    struct arena *a, struct order_text *o, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct why inner = WHY_INIT;
	const char *code;

	/* A buffer that grows would leave a copy behind. */
	buf_reserve(&b, message.n + credentials.n + 32);
	/* It has a type, so it is not empty. */
	buf_put_text(&b, "{");
	if (credentials.n > 0) {
		buf_put_text(&b, "\"credentials\":");
		buf_put_str(&b, credentials);
		buf_put_char(&b, ',');
	}
	buf_put_str(&b, str_from(message, 1));
	enum err e = order_text_read(buf_str(&b), a, o, &code, &inner);
	explicit_bzero(b.p, b.n);
	return e == OK ? OK : why(w, ERR_CORRUPT, "the harvest's order is "
	    "damaged: %s", inner.text);
}

static void
overwrite(struct str secret)
{
	if (secret.n > 0)
		explicit_bzero((void *)(uintptr_t)secret.p, secret.n);
}

/* The values of the credential in the document, secret or not. */
static void
overwrite_document(struct order_text *o)
{
	yyjson_val *all = yyjson_obj_get(yyjson_doc_get_root(o->doc),
	    "credentials");
	size_t i, n;
	yyjson_val *key, *v;

	yyjson_obj_foreach(all, i, n, key, v)
		if (yyjson_is_str(v) || yyjson_is_raw(v))
			overwrite(secret_text(v));
}

void
order_text_hide(struct order_text *o, struct secret_memory *m)
{
	size_t n = o->order.credentials_n;
	struct connector_credential *all = secret_memory_take(m, n *
	    sizeof(*all));
	struct driver_secret *secrets = secret_memory_take(m, o->secrets_n *
	    sizeof(*secrets));

	for (size_t i = 0; i < n; i++)
		all[i] = (struct connector_credential){
			o->order.credentials[i].name, secret_memory_copy(m,
			o->order.credentials[i].value) };
	for (size_t i = 0; i < o->secrets_n; i++)
		secrets[i] = (struct driver_secret){ o->secrets[i].name,
			secret_memory_copy(m, o->secrets[i].value) };
	overwrite_document(o);
	overwrite(o->credentials);
	o->credentials = STR_NONE;
	o->order.credentials = all;
	o->secrets = secrets;
}

struct str
order_text_description(const struct order_text *o, struct arena *a)
{
	const char *name = o->connector->description;
	yyjson_val *v = name == NULL ? NULL : yyjson_obj_get(
	    o->order.options, name);
	size_t n;

	if (v == NULL)
		return STR_NONE;
	char *text = yyjson_val_write(v, YYJSON_WRITE_NOFLAG, &n);
	CHECK(text != NULL);
	struct str copy = arena_copy(a, (struct str){ text, n });
	free(text);
	return copy;
}

void
order_text_free(struct order_text *o)
{
	for (size_t i = 0; i < o->secrets_n; i++)
		overwrite(o->secrets[i].value);
	overwrite(o->credentials);
	o->secrets_n = 0;
	o->credentials = STR_NONE;
	yyjson_doc_free(o->doc);
	o->doc = NULL;
}

/* ---- Sealing -------------------------------------------------------- */

static struct str
context_of(struct str id, struct arena *a)
{
	return arena_printf(a, "harvest %.*s", STR_FMT(id));
}

void
order_text_seal(const struct order_text *o, const struct seal_key *key,
    struct str id, struct buf *out)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	if (o->credentials.n > 0)
		seal_put(key, context_of(id, &a), o->credentials, out);
}

enum err
order_text_unseal(struct str sealed, const struct seal_key *key,
    struct str id, struct arena *a, struct str *credentials, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	*credentials = STR_NONE;
	if (sealed.n == 0)
		return OK;
	if (!seal_open(key, context_of(id, a), sealed, &text))
		return why(w, ERR_CORRUPT, "the credentials of harvest %.*s "
		    "cannot be opened: secrets.key_file is another one, or "
		    "they are damaged", STR_FMT(id));
	*credentials = arena_copy(a, buf_str(&text));
	explicit_bzero(text.p, text.n);
	return OK;
}
