/* A declaration: its file or built-in text, its members, and documents by its
 * schema. */
#include "engine/external/external_connector.h"

#include "base/text.h"
#include "engine/connector/json/json_api.h"
#include "engine/connector/url_text.h"
#include "engine/external/external_own.h"
#include "engine/external/oauth_own.h"
#include "wire/digest.h"

/* ---- Members ----------------------------------------------------------- */

bool
external_name_is_valid(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (!(c >= 'a' && c <= 'z') && !ascii_is_digit(c) &&
		    c != '_' && c != '-')
			return false;
	}
	return name.n > 0 && name.n <= EXTERNAL_NAME_BYTES_MAX;
}

/* A text, or a whole number that is not negative. */
static enum err
read_version(struct external_reading *r, yyjson_val *root)
{
	struct external_connector *c = r->connector;
	yyjson_val *v = yyjson_obj_get(root, "version");
	int64_t number;

	if (v == NULL || yyjson_is_str(v))
		return external_read_text(r, root, "", "version", true,
		    &c->version);
	if (!external_value_read_int(v, &number) || number < 0)
		return external_read_refuse(r, "version", "it is neither a "
		    "text nor a whole number");
	c->version = arena_printf(&c->arena, "%lld", (long long)number);
	return OK;
}

static enum err
read_texts(struct external_reading *r, yyjson_val *root)
{
	struct external_connector *c = r->connector;
	enum err e;

	if ((e = external_read_text(r, root, "", "name", true,
	    &c->name)) != OK)
		return e;
	if (!external_name_is_valid(c->name))
		return external_read_refuse(r, "name", "it is not 1 to %u "
		    "lower-case letters, digits, \"_\" and \"-\"",
		    EXTERNAL_NAME_BYTES_MAX);
	if ((e = read_version(r, root)) != OK || (e = external_read_text(r,
	    root, "", "title", true, &c->title)) != OK ||
	    (e = external_read_text(r, root, "", "description", false,
	    &c->description)) != OK || (e = external_read_text(r, root, "",
	    "image", false, &c->image)) != OK || (e = external_read_text(r,
	    root, "", "docIdField", true, &c->doc_id_field)) != OK)
		return e;
	if (c->image.n > 0 && !url_text_is_web(c->image))
		return external_read_refuse(r, "image", "it is not an address "
		    "that begins with http or https");
	return OK;
}

/* ---- The credential ----------------------------------------------------- */

static enum err
read_credential(struct external_reading *r, yyjson_val *root)
{
	static const char *const words[] = { "none", "basic", "oauth" };
	yyjson_val *oauth = yyjson_obj_get(root, "oauth");
	yyjson_val *credential = yyjson_obj_get(root, "credential");
	size_t word = 0;
	enum err e = OK;

	/* A module says what each of the doors wants. */
	if (r->is_module && yyjson_is_obj(credential))
		e = external_read_word(r, credential, "credential", "external",
		    words, ARRAY_LEN(words), &word);
	else if (credential != NULL)
		e = external_read_word(r, root, "", "credential", words,
		    ARRAY_LEN(words), &word);
	if (e != OK)
		return e;
	r->connector->credential = words[word];
	if (word != 2)
		return oauth == NULL ? OK : external_read_refuse(r, "oauth",
		    "the credential is %s", words[word]);
	r->connector->has_oauth = true;
	return oauth_declaration_read(r, oauth, &r->connector->oauth);
}

/* ---- The schema -------------------------------------------------------- */

static enum err
read_schema(struct external_reading *r, yyjson_val *schema)
{
	struct external_connector *c = r->connector;
	struct why cause = WHY_INIT;
	size_t n = 0;

	if (schema == NULL)
		return external_read_refuse(r, "schema", "it is missing");
	enum err e = schema_compile(schema, &c->documents, &cause);
	if (e != OK)
		return external_read_fail(r, e, "schema", cause.text);
	char *text = yyjson_val_write(schema, 0, &n);
	CHECK(text != NULL);
	buf_put(&c->schema_text, text, n);
	free(text);
	c->schema = schema;
	return OK;
}

/* ---- The file ---------------------------------------------------------- */

static enum err
read_members(struct external_reading *r, yyjson_val *root)
{
	static const char *const names[] = { "name", "version", "title",
		"description", "image", "parameters", "credential", "oauth",
		"schema", "docIdField", "api", NULL };
	static const char *const of_modules[] = { "name", "version", "title",
		"description", "image", "parameters", "credential", "oauth",
		"schema", "docIdField", "platform", "kind", "serves", "types",
		"hosts", "analysis", "run", "check", "choices", NULL };
	static const char *const built_in_names[] = { "name", "version",
		"title", "description", "parameters", "credential", "schema",
		"docIdField", "harvest", NULL };
	enum err e;

	if ((e = external_read_members(r, root, "", r->is_module ?
	    of_modules : r->is_builtin ? built_in_names : names)) != OK ||
	    (e = read_texts(r, root)) != OK ||
	    (e = read_credential(r, root)) != OK ||
	    (e = read_schema(r, yyjson_obj_get(root, "schema"))) != OK ||
	    (e = external_param_read_all(r, yyjson_obj_get(root,
	    "parameters"))) != OK)
		return e;
	if (r->is_module)
		return external_module_read(r, root);
	r->connector->api = yyjson_obj_get(root, "api");
	if (r->is_builtin)
		return external_harvest_read(r, yyjson_obj_get(root,
		    "harvest"));
	r->connector->runs = &json_api;
	if ((e = external_order_check(r)) != OK)
		return e;
	return external_choices_check(r);
}

static enum err
read_file(struct external_reading *r, struct str text)
{
	yyjson_read_err wrong;
	size_t line = 0, column = 0, at = 0;

	if (text.n > EXTERNAL_FILE_BYTES_MAX)
		return external_read_refuse(r, "", "it is longer than %zu "
		    "bytes", EXTERNAL_FILE_BYTES_MAX);
	/* yyjson does not write without YYJSON_READ_INSITU. */
	r->connector->doc = yyjson_read_opts((char *)(uintptr_t)text.p, text.n,
	    YYJSON_READ_BIGNUM_AS_RAW, NULL, &wrong);
	if (r->connector->doc == NULL) {
		(void)yyjson_locate_pos(text.p, text.n, wrong.pos, &line,
		    &column, &at);
		return external_read_refuse(r, "", "it is not JSON: line %zu, "
		    "column %zu: %s", line, column, wrong.msg);
	}
	yyjson_val *root = yyjson_doc_get_root(r->connector->doc);
	if (json_is_deeper_than(root, EXTERNAL_DEPTH_MAX))
		return external_read_refuse(r, "", "it is nested more than %u "
		    "levels deep", EXTERNAL_DEPTH_MAX);
	return read_members(r, root);
}

static struct str
hash_text(struct arena *a, struct str text)
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	struct digest d;

	digest_of(DIGEST_SHA256, text, &d);
	digest_put_hex(&hex, d.bytes, digest_size(d.kind));
	return arena_copy(a, buf_str(&hex));
}

enum err
external_load_text(struct external_reading r, struct str text,
    struct external_connector **out)
{
	struct external_connector *c = mem_new(sizeof(*c));

	r.connector = c;
	c->hash = hash_text(&c->arena, text);
	enum err e = read_file(&r, text);
	*out = c;
	if (e != OK)
		external_connector_free(out);
	return e;
}

enum err
external_connector_load(struct str file_text, const char *file_name,
    struct external_connector **out, struct why *w)
{
	return external_load_text((struct external_reading){
	    .file = file_name, .w = w }, file_text, out);
}

enum err
external_connector_load_module(struct str members, const char *file_name,
    struct external_connector **out, struct why *w)
{
	return external_load_text((struct external_reading){
	    .file = file_name, .is_module = true, .w = w }, members, out);
}

void
external_connector_free(struct external_connector **c)
{
	if (*c == NULL)
		return;
	for (size_t i = 0; i < (*c)->params_n; i++)
		schema_free(&(*c)->params[i].matches);
	schema_free(&(*c)->documents);
	yyjson_doc_free((*c)->doc);
	buf_free(&(*c)->schema_text);
	arena_free(&(*c)->arena);
	mem_free(c);
}

/* ---- What it has ------------------------------------------------------- */

struct str
external_connector_name(const struct external_connector *c)
{
	return c->name;
}

struct str
external_connector_version(const struct external_connector *c)
{
	return c->version;
}

struct str
external_connector_title(const struct external_connector *c)
{
	return c->title;
}

struct str
external_connector_description(const struct external_connector *c)
{
	return c->description;
}

struct str
external_connector_image(const struct external_connector *c)
{
	return c->image;
}

struct str
external_connector_hash(const struct external_connector *c)
{
	return c->hash;
}

const char *
external_connector_credential(const struct external_connector *c)
{
	return c->credential;
}

const struct oauth_declaration *
external_connector_oauth(const struct external_connector *c)
{
	return c->has_oauth ? &c->oauth : NULL;
}

struct str
external_connector_doc_id_field(const struct external_connector *c)
{
	return c->doc_id_field;
}

yyjson_val *
external_connector_api(const struct external_connector *c)
{
	return c->api;
}

yyjson_val *
external_connector_schema(const struct external_connector *c)
{
	return c->schema;
}

struct str
external_connector_schema_text(const struct external_connector *c)
{
	return buf_str(&c->schema_text);
}

size_t
external_connector_params_n(const struct external_connector *c)
{
	return c->params_n;
}

const struct connector *
external_connector_runs(const struct external_connector *c)
{
	return c->runs;
}

/* ---- Documents --------------------------------------------------------- */

/* The member as a JSON pointer (RFC 6901 §3). */
static void
put_pointer(struct str name, struct buf *out)
{
	buf_put_char(out, '/');
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] == '~' || name.p[i] == '/')
			buf_put_text(out, name.p[i] == '~' ? "~0" : "~1");
		else
			buf_put_char(out, name.p[i]);
}

static bool
is_id(yyjson_val *v)
{
	return yyjson_is_num(v) || yyjson_is_raw(v) || json_text(v).n > 0;
}

bool
external_document_check(const struct external_connector *c,
    yyjson_val *document, size_t most, external_document_fault_fn *fault,
    void *arg)
{
	FREED(buf_free) struct buf pointer = BUF_INIT;
	bool is_object = yyjson_is_obj(document);
	bool has_id = is_id(yyjson_obj_getn(document, c->doc_id_field.p,
	    c->doc_id_field.n));

	if (!is_object && most > 0)
		fault(arg, STR(""), STR("must be an object"));
	if (!is_object)
		return false;
	if (!has_id && most > 0) {
		put_pointer(c->doc_id_field, &pointer);
		fault(arg, buf_str(&pointer), STR("must be a text that is not "
		    "empty, or a number, since docIdField names it"));
	}
	return schema_check(c->documents, document, has_id || most == 0 ?
	    most : most - 1, fault, arg) && has_id;
}
