#include "script/mutation.h"

#include "base/json.h"
#include "base/text.h"
#include "script/fetch.h"
#include "script/value.h"

/* ---- The table ---------------------------------------------------------- */

enum field_type { FIELD_NONE, FIELD_TEXT, FIELD_BOOL, FIELD_TRUE, FIELD_TAGS,
	FIELD_TEXTS, FIELD_OBJECT, FIELD_DURATION, FIELD_MERGE, FIELD_MERGES,
	FIELD_BYTES };

struct op_field {
	const char *name;
	enum field_type type;
	enum op_name slot;
	bool is_required;
};
#define FIELDS_MAX 8

/* What may stand in place of the object. */
enum short_form { SHORT_NONE, SHORT_TEXT, SHORT_MERGE, SHORT_DURATION,
	SHORT_NOTHING };

struct op_spec {
	const char *name;
	enum short_form form;
	const char *form_field;
	unsigned defaults;           /* bits of names that mean the pair's */
	struct op_field fields[FIELDS_MAX];
};

#define NAME_BIT(name) (1u << (name))
#define TEXT_FIELD(name, slot, required) { name, FIELD_TEXT, slot, required }
#define FIELD(name, type, required) { name, type, NAME_NONE, required }

static const struct op_spec specs[OP_COUNT] = {
	[OP_CREATE_ITEM] = { "createItem", SHORT_NONE, NULL, 0, {
		TEXT_FIELD("id", NAME_ID, false),
		FIELD("tags", FIELD_TAGS, false),
		FIELD("aliases", FIELD_TEXTS, false),
		FIELD("failIfExists", FIELD_BOOL, false),
		TEXT_FIELD("createdBy", NAME_NONE, false),
		FIELD("data", FIELD_OBJECT, false),
		FIELD("update", FIELD_MERGE, false),
		FIELD("allowUpsert", FIELD_TRUE, false) } },
	[OP_RENAME_ITEM] = { "renameItem", SHORT_TEXT, "to",
		NAME_BIT(NAME_FROM), {
		TEXT_FIELD("from", NAME_FROM, false),
		TEXT_FIELD("to", NAME_TO, true) } },
	[OP_MERGE_ITEM] = { "mergeItem", SHORT_NONE, NULL, NAME_BIT(NAME_FROM),
		{
		TEXT_FIELD("from", NAME_FROM, false),
		TEXT_FIELD("into", NAME_INTO, true),
		FIELD("merge", FIELD_MERGE, false),
		FIELD("mergeMetadata", FIELD_MERGES, false) } },
	[OP_DELETE_ITEM] = { "deleteItem", SHORT_NOTHING, NULL,
		NAME_BIT(NAME_ID), {
		TEXT_FIELD("id", NAME_ID, false) } },
	[OP_CREATE_ALIAS] = { "createAlias", SHORT_NONE, NULL,
		NAME_BIT(NAME_TO), {
		TEXT_FIELD("from", NAME_FROM, true),
		TEXT_FIELD("to", NAME_TO, false),
		FIELD("failIfExists", FIELD_BOOL, false) } },
	[OP_DELETE_ALIAS] = { "deleteAlias", SHORT_TEXT, "from", 0, {
		TEXT_FIELD("from", NAME_FROM, true) } },
	[OP_UPDATE_TAGS] = { "updateTags", SHORT_NONE, NULL, NAME_BIT(NAME_ID),
		{
		TEXT_FIELD("id", NAME_ID, false),
		FIELD("add", FIELD_TAGS, false),
		FIELD("remove", FIELD_TEXTS, false) } },
	[OP_UPDATE_DATA] = { "updateData", SHORT_MERGE, "merge",
		NAME_BIT(NAME_ID), {
		TEXT_FIELD("id", NAME_ID, false),
		FIELD("merge", FIELD_MERGE, true) } },
	[OP_UPDATE_METADATA] = { "updateMetadata", SHORT_MERGE, "merge",
		NAME_BIT(NAME_ID) | NAME_BIT(NAME_TASK), {
		TEXT_FIELD("id", NAME_ID, false),
		TEXT_FIELD("taskName", NAME_TASK, false),
		FIELD("merge", FIELD_MERGE, true) } },
	[OP_EXPIRE] = { "expire", SHORT_NOTHING, NULL,
		NAME_BIT(NAME_ID) | NAME_BIT(NAME_TASK), {
		TEXT_FIELD("id", NAME_ID, false),
		TEXT_FIELD("taskName", NAME_TASK, false) } },
	[OP_SET_TTL] = { "setTTL", SHORT_DURATION, "ttl",
		NAME_BIT(NAME_ID) | NAME_BIT(NAME_TASK), {
		TEXT_FIELD("id", NAME_ID, false),
		TEXT_FIELD("taskName", NAME_TASK, false),
		FIELD("ttl", FIELD_DURATION, true) } },
	[OP_COMPLETE_FOR] = { "completeFor", SHORT_NONE, NULL, 0, {
		TEXT_FIELD("id", NAME_ID, true),
		FIELD("metadata", FIELD_OBJECT, false),
		FIELD("ttl", FIELD_DURATION, false) } },
	[OP_PUT_BLOB] = { "putBlob", SHORT_NONE, NULL, NAME_BIT(NAME_ID), {
		TEXT_FIELD("id", NAME_ID, false),
		TEXT_FIELD("name", NAME_NONE, true),
		FIELD("bytes", FIELD_BYTES, true),
		TEXT_FIELD("type", NAME_NONE, false) } },
	[OP_DELETE_BLOB] = { "deleteBlob", SHORT_NONE, NULL, NAME_BIT(NAME_ID),
		{
		TEXT_FIELD("id", NAME_ID, false),
		TEXT_FIELD("name", NAME_NONE, true) } },
};

static const char *const name_fields[NAME_COUNT] = { "id", "from", "to",
	"into", "taskName" };

const char *
op_name(const struct op *o)
{
	return o->spec->name;
}

struct str
op_name_of(const struct op *o, enum op_name name)
{
	return o->has_name[name] ? buf_str(&o->names[name]) : STR_NONE;
}

bool
op_has_callback(const struct op *o)
{
	return !JS_IsUndefined(o->merge) || o->merges_n > 0;
}

/* ---- Reading an argument ------------------------------------------------ */

static JSValue
refuse_field(JSContext *ctx, const struct op *o, const char *field,
    const char *what)
{
	char reason[200];

	snprintf(reason, sizeof(reason), "%s: %s", field, what);
	return fault_throw_mutation(ctx, o->spec->name, reason);
}

static JSValue
refuse_length(struct run *r)
{
	run_breach(r, "limit_mutations", "mutations of more than %lld bytes",
	    (long long)r->limits.mutation_bytes_max);
	return run_throw_breach(r);
}

/* Append the value as JSON, which `*out` borrows: JS_UNDEFINED, or an error. */
static JSValue
write_field(struct run *r, struct op *o, const char *field, JSValueConst v,
    struct str *out)
{
	struct value_writer w = { .ctx = r->ctx, .out = &o->json,
		.bytes_max = (size_t)r->limits.mutation_bytes_max -
		    MIN(r->ops_bytes, (size_t)r->limits.mutation_bytes_max) };

	buf_printf(&o->json, ",\"%s\":", field);
	size_t at = o->json.n;
	if (value_write(&w, v)) {
		*out = str_from(buf_str(&o->json), at);
		return JS_UNDEFINED;
	}
	if (w.reason[0] == '\0')
		return JS_EXCEPTION;
	if (w.too_long)
		return refuse_length(r);
	return refuse_field(r->ctx, o, field, w.reason);
}

/* {"name":"t","value":"v"} or "t=v". */
static bool
is_tag(yyjson_val *v)
{
	yyjson_val *value = yyjson_obj_get(v, "value");

	if (yyjson_is_str(v))
		return true;
	return yyjson_is_obj(v) &&
	    yyjson_is_str(yyjson_obj_get(v, "name")) &&
	    (value == NULL || yyjson_is_str(value) || yyjson_is_null(value));
}

static bool
fits_type(yyjson_val *v, enum field_type type)
{
	size_t i, n;
	yyjson_val *item;

	switch (type) {
	case FIELD_TEXT:
		return yyjson_is_str(v);
	case FIELD_BOOL:
		return yyjson_is_bool(v);
	case FIELD_TRUE:
		return yyjson_is_true(v);
	case FIELD_OBJECT:
		return yyjson_is_obj(v);
	case FIELD_DURATION:
		return yyjson_is_str(v) || yyjson_is_null(v) ||
		    (yyjson_is_num(v) && yyjson_get_num(v) >= 0);
	case FIELD_TAGS:
	case FIELD_TEXTS:
		if (!yyjson_is_arr(v))
			return false;
		yyjson_arr_foreach(v, i, n, item)
			if (type == FIELD_TAGS ? !is_tag(item) :
			    !yyjson_is_str(item))
				return false;
		return true;
	default:
		return false;
	}
}

static const char *
type_text(enum field_type type)
{
	switch (type) {
	case FIELD_TEXT: return "it is no string";
	case FIELD_BOOL: return "it is neither true nor false";
	case FIELD_TRUE: return "it is not true";
	case FIELD_TAGS: return "it is no list of tags";
	case FIELD_TEXTS: return "it is no list of strings";
	case FIELD_OBJECT: return "it is no object";
	case FIELD_DURATION: return "it is no duration";
	case FIELD_MERGE: return "it is no function";
	case FIELD_MERGES: return "it is no object of functions";
	default: return "it holds no bytes";
	}
}

static JSValue
take_json(struct run *r, struct op *o, const struct op_field *f,
    JSValueConst v)
{
	struct str text = STR_NONE;
	JSValue done = write_field(r, o, f->name, v, &text);

	if (JS_IsException(done))
		return done;
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	bool fits = fits_type(root, f->type);
	if (fits && f->slot != NAME_NONE) {
		buf_put_str(&o->names[f->slot], json_text(root));
		o->has_name[f->slot] = true;
	}
	if (f->type == FIELD_OBJECT) {
		o->has_data = true;
		o->data_at = (size_t)(text.p - o->json.p);
		o->data_n = text.n;
	}
	o->is_upsert |= fits && f->type == FIELD_TRUE;
	yyjson_doc_free(doc);
	if (!fits)
		return refuse_field(r->ctx, o, f->name, type_text(f->type));
	return JS_UNDEFINED;
}

/* mergeMetadata: { taskName: function }. */
static JSValue
take_merges(struct run *r, struct op *o, const struct op_field *f,
    JSValueConst v)
{
	JSContext *ctx = r->ctx;
	JSPropertyEnum *keys = NULL;
	uint32_t n = 0;
	bool done = true;

	if (!JS_IsObject(v))
		return refuse_field(ctx, o, f->name, type_text(f->type));
	if (JS_GetOwnPropertyNames(ctx, &keys, &n, v,
	    JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0)
		return JS_EXCEPTION;
	for (uint32_t i = 0; done && i < n; i++) {
		JSValue function = JS_GetProperty(ctx, v, keys[i].atom);
		const char *task = JS_AtomToCString(ctx, keys[i].atom);
		done = task != NULL && JS_IsFunction(ctx, function);
		if (done) {
			o->merges = mem_room(o->merges, o->merges_n,
			    &o->merges_cap, 4, sizeof(*o->merges));
			struct op_merge *m = &o->merges[o->merges_n++];
			*m = (struct op_merge){ .function = function };
			buf_put_text(&m->task, task);
		} else {
			JS_FreeValue(ctx, function);
		}
		JS_FreeCString(ctx, task);
	}
	JS_FreePropertyEnum(ctx, keys, n);
	if (!done)
		return refuse_field(ctx, o, f->name, type_text(f->type));
	return JS_UNDEFINED;
}

/*
 * The answer to a blob's call: its digest goes into the operation.  No script
 * runs between the call and its operation's place in the list.
 */
static JSValue
finish_put_blob(struct run *r, struct call *c, yyjson_val *value,
    struct str body)
{
	struct op *o = &r->ops[c->number];

	(void)body;
	buf_put_text(&o->json, ",\"sha256\":");
	text_json(&o->json, json_text(yyjson_obj_get(value, "sha256")));
	r->blobs_waiting--;
	return JS_UNDEFINED;
}

static JSValue
take_bytes(struct run *r, struct op *o, const struct op_field *f,
    JSValueConst v)
{
	struct str bytes;

	if (!fetch_bytes_of(r->ctx, v, &bytes))
		return refuse_field(r->ctx, o, f->name, type_text(f->type));
	r->ops_bytes += bytes.n;
	if (r->ops_bytes > (size_t)r->limits.mutation_bytes_max)
		return refuse_length(r);
	struct buf json = BUF_INIT;
	buf_put_text(&json, "{}");
	struct call *c = call_new(r, "put_blob", &json, bytes);
	if (c == NULL)
		return run_throw_breach(r);
	c->finish = finish_put_blob;
	r->blobs_waiting++;
	o->blob = c;
	call_send(r, c);
	return JS_UNDEFINED;
}

static JSValue
take_field(struct run *r, struct op *o, const struct op_field *f,
    JSValueConst v)
{
	switch (f->type) {
	case FIELD_MERGE:
		if (!JS_IsFunction(r->ctx, v))
			return refuse_field(r->ctx, o, f->name,
			    type_text(f->type));
		JS_FreeValue(r->ctx, o->merge);
		o->merge = JS_DupValue(r->ctx, v);
		return JS_UNDEFINED;
	case FIELD_MERGES:
		return take_merges(r, o, f, v);
	case FIELD_BYTES:
		return take_bytes(r, o, f, v);
	default:
		return take_json(r, o, f, v);
	}
}

static const struct op_field *
find_field(const struct op_spec *spec, struct str name)
{
	for (size_t i = 0; i < FIELDS_MAX && spec->fields[i].name != NULL; i++)
		if (str_eq(str_of(spec->fields[i].name), name))
			return &spec->fields[i];
	return NULL;
}

/* ---- Reading all of them ------------------------------------------------ */

static JSValue
take_property(struct run *r, struct op *o, JSValueConst options, JSAtom key,
    unsigned *seen)
{
	JSContext *ctx = r->ctx;
	size_t n = 0;
	const char *name = JS_AtomToCStringLen(ctx, &n, key);

	if (name == NULL)
		return JS_EXCEPTION;
	const struct op_field *f = find_field(o->spec,
	    (struct str){ name, n });
	if (f == NULL) {
		JSValue e = refuse_field(ctx, o, name, "there is no such "
		    "argument");
		JS_FreeCString(ctx, name);
		return e;
	}
	JS_FreeCString(ctx, name);
	JSValue v = JS_GetProperty(ctx, options, key);
	if (JS_IsException(v)) {
		JSValue thrown = JS_GetException(ctx);
		if (JS_IsUncatchableError(thrown))
			return JS_Throw(ctx, thrown);
		JS_FreeValue(ctx, thrown);
		return refuse_field(ctx, o, f->name, "a getter threw");
	}
	JSValue done = JS_UNDEFINED;
	if (!JS_IsUndefined(v)) {
		*seen |= 1u << (f - o->spec->fields);
		done = take_field(r, o, f, v);
	}
	JS_FreeValue(ctx, v);
	return done;
}

static JSValue
take_object(struct run *r, struct op *o, JSValueConst v, unsigned *seen)
{
	JSPropertyEnum *keys = NULL;
	uint32_t n = 0;
	JSValue done = JS_UNDEFINED;

	if (JS_GetOwnPropertyNames(r->ctx, &keys, &n, v,
	    JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0)
		return JS_EXCEPTION;
	for (uint32_t i = 0; !JS_IsException(done) && i < n; i++)
		done = take_property(r, o, v, keys[i].atom, seen);
	JS_FreePropertyEnum(r->ctx, keys, n);
	return done;
}

static bool
fits_form(JSContext *ctx, enum short_form form, JSValueConst v)
{
	switch (form) {
	case SHORT_TEXT:
		return JS_IsString(v);
	case SHORT_MERGE:
		return JS_IsFunction(ctx, v);
	case SHORT_DURATION:
		return JS_IsString(v) || JS_IsNumber(v) || JS_IsNull(v);
	default:
		return false;
	}
}

static JSValue
take_arguments(struct run *r, struct op *o, int argc, JSValueConst *argv)
{
	const struct op_spec *spec = o->spec;
	JSValueConst v = argc > 0 ? argv[0] : JS_UNDEFINED;
	JSValue done = JS_UNDEFINED;
	unsigned seen = 0;

	if (fits_form(r->ctx, spec->form, v)) {
		const struct op_field *f = find_field(spec,
		    str_of(spec->form_field));
		seen = 1u << (f - spec->fields);
		done = take_field(r, o, f, v);
	} else if (JS_IsObject(v) && !JS_IsFunction(r->ctx, v)) {
		done = take_object(r, o, v, &seen);
	} else if (spec->form != SHORT_NOTHING || !JS_IsUndefined(v)) {
		return fault_throw_mutation(r->ctx, spec->name,
		    "the argument is no object");
	}
	for (size_t i = 0; !JS_IsException(done) && i < FIELDS_MAX; i++)
		if (spec->fields[i].is_required && (seen & 1u << i) == 0)
			return refuse_field(r->ctx, o, spec->fields[i].name,
			    "it is missing");
	return done;
}

/* Names that were left out mean the run's own pair. */
static void
put_defaults(struct run *r, struct op *o)
{
	for (int i = 0; i < NAME_COUNT; i++) {
		if ((o->spec->defaults & NAME_BIT(i)) == 0 || o->has_name[i])
			continue;
		struct str name = i == NAME_TASK ? r->task : r->id;
		buf_put_str(&o->names[i], name);
		o->has_name[i] = true;
		buf_printf(&o->json, ",\"%s\":", name_fields[i]);
		text_json(&o->json, name);
	}
}

static JSValue
check_create(struct run *r, const struct op *o)
{
	bool has_update = !JS_IsUndefined(o->merge);

	if (o->kind != OP_CREATE_ITEM)
		return JS_UNDEFINED;
	if (o->has_data == has_update)
		return refuse_field(r->ctx, o, "data", "either data or update "
		    "is wanted");
	if (has_update != o->is_upsert)
		return refuse_field(r->ctx, o, "allowUpsert", "it goes with "
		    "update");
	if (has_update && !o->has_name[NAME_ID])
		return refuse_field(r->ctx, o, "id", "it is missing");
	return JS_UNDEFINED;
}

static void
free_op(struct run *r, struct op *o)
{
	for (size_t i = 0; i < o->merges_n; i++) {
		JS_FreeValue(r->ctx, o->merges[i].function);
		buf_free(&o->merges[i].task);
	}
	free(o->merges);
	JS_FreeValue(r->ctx, o->merge);
	for (size_t i = 0; i < NAME_COUNT; i++)
		buf_free(&o->names[i]);
	buf_free(&o->json);
}

/* The blob of an operation that was refused: its answer has nowhere to go. */
static void
forget_blob(struct run *r, struct op *o)
{
	if (o->blob == NULL)
		return;
	o->blob->finish = NULL;
	r->blobs_waiting--;
}

static JSValue
queue_op(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv,
    int magic)
{
	struct run *r = run_of(ctx);
	struct op o = { .spec = &specs[magic], .kind = (enum op_kind)magic,
		.merge = JS_UNDEFINED };

	(void)this_val;
	if ((int64_t)r->ops_n >= r->limits.mutations_max) {
		run_breach(r, "limit_mutations", "more than %lld mutations",
		    (long long)r->limits.mutations_max);
		return run_throw_breach(r);
	}
	JSValue done = take_arguments(r, &o, argc, argv);
	if (!JS_IsException(done))
		done = check_create(r, &o);
	if (JS_IsException(done)) {
		forget_blob(r, &o);
		free_op(r, &o);
		return done;
	}
	put_defaults(r, &o);
	r->ops_bytes += o.json.n;
	if (o.blob != NULL)
		o.blob->number = (int64_t)r->ops_n;
	o.blob = NULL;
	r->ops = mem_room(r->ops, r->ops_n, &r->ops_cap, 8, sizeof(*r->ops));
	r->ops[r->ops_n++] = o;
	return JS_UNDEFINED;
}

bool
mutation_install(struct run *r, JSValueConst ctx_object)
{
	for (int i = 0; i < OP_COUNT; i++)
		if (value_define(r->ctx, ctx_object, specs[i].name,
		    JS_NewCFunctionMagic(r->ctx, queue_op, specs[i].name, 1,
		    JS_CFUNC_generic_magic, i)) < 0)
			return false;
	return true;
}

void
mutation_free(struct run *r)
{
	for (size_t i = 0; i < r->ops_n; i++)
		free_op(r, &r->ops[i]);
	mem_free(&r->ops);
	r->ops_n = r->ops_cap = 0;
}
