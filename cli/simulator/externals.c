/*
 * externals -- external objects: what registers a crawler at the back end.
 */
#include "base/json.h"
#include "cli/simulator/own.h"
#include "cli/simulator/params_check.h"

/* ---- What an external object must be -------------------------------- */

/* The misspelt name is read, never written (external.md §15). */
static yyjson_doc *
respell_credential(yyjson_val *body)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_val_mut_copy(doc, body), *v;
	yyjson_doc *out;

	CHECK(root != NULL);
	yyjson_mut_doc_set_root(doc, root);
	v = yyjson_mut_obj_remove_key(root, "crendential");
	if (v != NULL && yyjson_mut_obj_get(root, "credential") == NULL)
		yyjson_mut_obj_add_val(doc, root, "credential", v);
	out = yyjson_mut_doc_imut_copy(doc, NULL);
	CHECK(out != NULL);
	yyjson_mut_doc_free(doc);
	return out;
}

/* From a client's body, because the back end fills in the rest of meta. */
static enum err
check_meta(yyjson_val *body, struct why *w)
{
	yyjson_val *meta = yyjson_obj_get(body, "meta");

	return json_is_absent(meta) || yyjson_is_obj(meta) ? OK :
	    why(w, ERR_INPUT, "meta: must be an object");
}

static enum err
check_members(yyjson_val *x, struct why *w)
{
	static const struct {
		const char *name, *must;
		bool (*is)(yyjson_val *);
	} members[] = {
		{ "docIdField", "must be a text", yyjson_is_str },
		{ "oauth", "must be a URL", yyjson_is_str },
		{ "oauthParameters", "must be an object", yyjson_is_obj },
		{ "analysis", "must be an object", yyjson_is_obj },
	};
	yyjson_val *v;

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		v = yyjson_obj_get(x, members[i].name);
		if (!json_is_absent(v) && !members[i].is(v))
			return why(w, ERR_INPUT, "%s: %s", members[i].name,
			    members[i].must);
	}
	v = yyjson_obj_get(x, "credential");
	if (!json_is_absent(v) && !yyjson_is_str(v) && !yyjson_is_obj(v))
		return why(w, ERR_INPUT, "credential: must be a text or an "
		    "object");
	return OK;
}

static enum err
check_external(yyjson_val *x, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct url url;
	enum err e = crawler_read_url(json_text(yyjson_obj_get(x, "endpoint")),
	    "endpoint", &a, &url, w);

	if (e == OK)
		e = check_members(x, w);
	if (e == OK)
		e = crawler_check_headers(yyjson_obj_get(x, "headers"), w);
	if (e == OK)
		e = params_check_form(yyjson_obj_get(x, "parameters"), w);
	return e;
}

yyjson_val *
external_member(const struct external *x, const char *name)
{
	yyjson_val *v = yyjson_obj_get(yyjson_doc_get_root(x->doc), name);

	return json_is_absent(v) ? NULL : v;
}

static void
note_fault(void *arg, struct str pointer, struct str message)
{
	(void)why(arg, ERR_INPUT, "schema: %.*s%s%.*s",
	    (int)MIN(pointer.n, 100), pointer.n == 0 ? "" : pointer.p,
	    pointer.n == 0 ? "" : " ", STR_FMT(message));
}

/* The value of docIdField, a text or a whole number of any length. */
static struct str
read_id(yyjson_val *v, struct arena *a)
{
	char *text;
	size_t n;

	if (yyjson_is_str(v))
		return json_text(v);
	if (!yyjson_is_int(v) && !yyjson_is_raw(v))
		return STR_NONE;
	text = yyjson_val_write(v, 0, &n);
	CHECK(text != NULL);
	struct str id = arena_copy(a, (struct str){ text, n });
	free(text);
	return id;
}

enum err
external_check_document(const struct external *x, yyjson_val *document,
    struct arena *a, struct str *id, struct why *w)
{
	struct str field = json_text(external_member(x, "docIdField"));

	*id = STR_NONE;
	if (x->schema != NULL && !schema_check(x->schema, document, 1,
	    note_fault, w))
		return ERR_INPUT;
	if (field.n == 0)
		return OK;
	*id = read_id(yyjson_obj_getn(document, field.p, field.n), a);
	if (id->n > 0)
		return OK;
	return why(w, ERR_INPUT, "%.*s: the document has no id, a text or a "
	    "whole number", (int)MIN(field.n, 100), field.p);
}

/* ---- Changes -------------------------------------------------------- */

/* `*out` is NULL where the external object has no schema. */
static enum err
read_schema(yyjson_val *external, struct schema **out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(external, "schema");
	struct why fault = WHY_INIT;

	*out = NULL;
	if (json_is_absent(v) || schema_compile(v, out, &fault) == OK)
		return OK;
	return why(w, fault.err, "schema: %s", fault.text);
}

/* Takes `doc` over, unless it is refused. */
static enum err
replace_doc(struct external *x, yyjson_doc **doc, struct why *w)
{
	yyjson_val *root = yyjson_doc_get_root(*doc);
	struct schema *schema;
	enum err e = check_external(root, w);

	if (e == OK)
		e = read_schema(root, &schema, w);
	if (e != OK)
		return e;
	schema_free(&x->schema);
	x->schema = schema;
	yyjson_doc_free(x->doc);
	x->doc = *doc;
	*doc = NULL;
	return OK;
}

static struct relational_meta
meta_of(const struct external *x, uint64_t version)
{
	return (struct relational_meta){ "externals", str_of(x->fid),
	    version };
}

enum err
external_new(struct simulator *s, yyjson_val *body, struct external **out,
    struct why *w)
{
	FREED(json_doc_free) yyjson_doc *spelt = respell_credential(body);
	FREED(json_doc_free) yyjson_doc *doc = NULL;
	struct external *x;
	struct relational_meta m;

	*out = NULL;
	if (s->externals.n >= (size_t)s->limits.externals_max)
		return why(w, ERR_FULL, "externals_max: there are %lld "
		    "external objects", (long long)s->limits.externals_max);
	enum err e = check_meta(body, w);
	if (e != OK)
		return e;
	x = mem_new(sizeof(*x));
	list_init(&x->crawlers);
	make_fid(s, 'e', x->fid);
	m = meta_of(x, 1);
	doc = relational_put(yyjson_doc_get_root(spelt), &m);
	e = replace_doc(x, &doc, w);
	if (e != OK) {
		mem_free(&x);
		return e;
	}
	x->version = 1;
	map_put(&s->externals, str_of(x->fid), x);
	*out = x;
	return OK;
}

static struct external *
find_external(struct web_request *r)
{
	struct simulator *s = request_simulator(r);
	struct str fid = request_segment(r, 1);
	struct external *x = map_get(&s->externals, fid);

	if (x == NULL)
		answer_absent(r, "external object", fid);
	return x;
}

static void
answer_external(struct web_request *r, const struct external *x)
{
	answer_json(r, 200, yyjson_doc_get_root(x->doc));
}

void
post_external(struct web_request *r)
{
	FREED(json_doc_free) yyjson_doc *body = NULL;
	struct external *x;
	struct why w = WHY_INIT;

	if (!request_json(r, &body))
		return;
	if (external_new(request_simulator(r), yyjson_doc_get_root(body), &x,
	    &w) == OK)
		answer_external(r, x);
	else
		answer_why(r, &w);
}

void
get_external(struct web_request *r)
{
	const struct external *x = find_external(r);

	if (x != NULL)
		answer_external(r, x);
}

/* `merged`: PATCH; otherwise PUT. */
static void
change_external(struct web_request *r, bool merged)
{
	FREED(json_doc_free) yyjson_doc *body = NULL;
	FREED(json_doc_free) yyjson_doc *spelt = NULL;
	FREED(json_doc_free) yyjson_doc *doc = NULL;
	struct external *x = find_external(r);
	struct why w = WHY_INIT;

	if (x == NULL || !request_json(r, &body))
		return;
	struct relational_meta m = meta_of(x, x->version + 1);
	spelt = respell_credential(yyjson_doc_get_root(body));
	doc = merged ? relational_patch(yyjson_doc_get_root(x->doc),
	    yyjson_doc_get_root(spelt), &m) :
	    relational_put(yyjson_doc_get_root(spelt), &m);
	if (check_meta(yyjson_doc_get_root(body), &w) != OK ||
	    replace_doc(x, &doc, &w) != OK) {
		answer_why(r, &w);
		return;
	}
	x->version++;
	answer_external(r, x);
}

void
patch_external(struct web_request *r)
{
	change_external(r, true);
}

void
put_external(struct web_request *r)
{
	change_external(r, false);
}

void
external_free(struct simulator *s, struct external *x)
{
	while (!list_empty(&x->crawlers))
		crawler_free(s, LIST_ITEM(x->crawlers.next, struct crawler,
		    node));
	map_take(&s->externals, str_of(x->fid));
	schema_free(&x->schema);
	yyjson_doc_free(x->doc);
	mem_free(&x);
}

void
delete_external(struct web_request *r)
{
	struct external *x = find_external(r);

	if (x == NULL)
		return;
	if (external_is_busy(x)) {
		answer_fault(r, 409, "a task of the external object %s is "
		    "running; stop it first", x->fid);
		return;
	}
	external_free(request_simulator(r), x);
	answer_payload(r, 200, STR("{}"));
}

void
externals_free(struct simulator *s)
{
	size_t at = 0;
	struct external *x;

	while ((x = map_next(&s->externals, &at)) != NULL) {
		external_free(s, x);
		at = 0;
	}
}
