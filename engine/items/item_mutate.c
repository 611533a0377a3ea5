/*
 * A worker's list of mutations: one row of a table for each op, whose members
 * are those of the script API, with each callback replaced by its result and by
 * the rev that it was computed from.
 *
 * Source: contracts/items.md §5 and §8, contracts/scripting.md §3.
 */
#include "base/json.h"
#include "engine/items/item_ops_own.h"

#define REV_ANY UINT64_MAX       /* it follows an earlier op of the list */

struct mutation {
	struct item_tx *tx;
	const struct item_actor *by;
	yyjson_val *root;
	enum item_effect *effect;
	struct item_conflict *conflict;
	struct str own_id;           /* of the running item; p NULL: none */
};

/* -- Members -- */

static enum err
wrong_member(const char *name, const char *what, struct why *w)
{
	return why_field(w, ERR_INPUT, name, "%s", what);
}

/* A member that is missing or null leaves `out` as it is. */
static enum err
read_text(struct mutation *m, const char *name, struct str *out,
    struct why *w)
{
	yyjson_val *v = yyjson_obj_get(m->root, name);

	if (v == NULL || yyjson_is_null(v))
		return OK;
	if (!yyjson_is_str(v))
		return wrong_member(name, "it is not a text", w);
	*out = json_text(v);
	return OK;
}

/* An id; without one it is the running item's. */
static enum err
read_id(struct mutation *m, const char *name, struct str *out, struct why *w)
{
	*out = m->own_id;
	enum err e = read_text(m, name, out, w);
	if (e == OK && out->p == NULL)
		e = wrong_member(name, "it is missing", w);
	return e == OK ? item_id_check(name, *out, w) : e;
}

static enum err
read_needed_id(struct mutation *m, const char *name, struct str *out,
    struct why *w)
{
	*out = STR_NONE;
	enum err e = read_text(m, name, out, w);
	if (e == OK && out->p == NULL)
		e = wrong_member(name, "it is missing", w);
	return e == OK ? item_id_check(name, *out, w) : e;
}

static enum err
read_task(struct mutation *m, struct str *out, struct why *w)
{
	*out = m->by->task;
	enum err e = read_text(m, "taskName", out, w);
	if (e == OK && out->n == 0)
		e = wrong_member("taskName", "it is missing", w);
	return e;
}

static enum err
read_bool(struct mutation *m, const char *name, bool *out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(m->root, name);

	*out = yyjson_is_true(v);
	if (v == NULL || yyjson_is_bool(v) || yyjson_is_null(v))
		return OK;
	return wrong_member(name, "it is neither true nor false", w);
}

static enum err
read_rev(struct mutation *m, const char *name, uint64_t *out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(m->root, name);

	*out = REV_ANY;
	if (v == NULL || yyjson_is_null(v))
		return OK;
	if (!yyjson_is_uint(v) || yyjson_get_uint(v) > INT64_MAX)
		return wrong_member(name, "it is no whole number", w);
	*out = yyjson_get_uint(v);
	return OK;
}

static enum err
read_json(struct mutation *m, const char *name, struct str *out,
    struct why *w)
{
	return item_json_value(name, yyjson_obj_get(m->root, name),
	    item_store_limits(item_tx_store(m->tx)), item_tx_arena(m->tx), out,
	    w);
}

/* `has` false: there is no such member.  null is for ever. */
static enum err
read_ttl(struct mutation *m, bool *has, int64_t *out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(m->root, "ttl");

	*has = v != NULL;
	*out = RESULT_TTL_NEVER;
	if (v == NULL || yyjson_is_null(v))
		return OK;
	if (yyjson_is_str(v) && task_duration(json_text(v), out))
		return OK;
	double ms = yyjson_get_num(v);
	if (!yyjson_is_num(v) || !(ms >= 0 && ms < 1e14))
		return wrong_member("ttl", "it is no duration", w);
	*out = (int64_t)(ms * 1000);
	return OK;
}

static enum err
read_list(struct mutation *m, const char *name, yyjson_val **list,
    struct why *w)
{
	*list = yyjson_obj_get(m->root, name);
	if (yyjson_is_null(*list))
		*list = NULL;
	if (*list == NULL || yyjson_is_arr(*list))
		return OK;
	return wrong_member(name, "it is no list", w);
}

static enum err
read_texts(struct mutation *m, const char *name, struct str **out, size_t *n,
    struct why *w)
{
	yyjson_val *list, *v;
	size_t i, most;

	*n = 0;
	enum err e = read_list(m, name, &list, w);
	if (e != OK || list == NULL)
		return e;
	*out = ARENA_ARRAY(item_tx_arena(m->tx), struct str,
	    yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, most, v) {
		if (!yyjson_is_str(v))
			return wrong_member(name, "an element is no text", w);
		(*out)[(*n)++] = json_text(v);
	}
	return OK;
}

/* "name", "name=value" or {"name":"a","value":"b"}. */
static enum err
read_tag(const char *field, yyjson_val *v, struct item_tag_text *out,
    struct why *w)
{
	if (yyjson_is_str(v))
		return item_tag_read(json_text(v), out, w);
	yyjson_val *name = yyjson_obj_get(v, "name");
	yyjson_val *value = yyjson_obj_get(v, "value");
	if (!yyjson_is_str(name) || (!json_is_absent(value) &&
	    !yyjson_is_str(value)))
		return wrong_member(field, "an element is no tag", w);
	out->name = json_text(name);
	out->value = json_text(value);
	return item_tag_check(out, w);
}

static enum err
read_tags(struct mutation *m, const char *name, struct item_tag_text **out,
    size_t *n, struct why *w)
{
	yyjson_val *list, *v;
	size_t i, most;

	*n = 0;
	enum err e = read_list(m, name, &list, w);
	if (e != OK || list == NULL)
		return e;
	*out = ARENA_ARRAY(item_tx_arena(m->tx), struct item_tag_text,
	    yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, most, v) {
		e = read_tag(name, v, &(*out)[(*n)++], w);
		if (e != OK)
			return e;
	}
	return OK;
}

static enum err
read_sha256(struct mutation *m, uint8_t out[static 32], struct why *w)
{
	struct str hex = STR("");

	enum err e = read_text(m, "sha256", &hex, w);
	if (e == OK && hex.n != 64)
		e = wrong_member("sha256", "it is not 64 hex digits", w);
	for (size_t i = 0; i < 32 && e == OK; i++) {
		int high = ascii_hex_value(hex.p[2 * i]);
		int low = ascii_hex_value(hex.p[2 * i + 1]);
		if (high < 0 || low < 0)
			e = wrong_member("sha256", "it is not 64 hex digits",
			    w);
		else
			out[i] = (uint8_t)(high * 16 + low);
	}
	return e;
}

/* -- Compare and swap -- */

static void
note_conflict(struct mutation *m, struct str item, struct str task)
{
	struct arena *a = item_tx_arena(m->tx);

	m->conflict->any = true;
	m->conflict->item = arena_copy(a, item);
	m->conflict->task = task.n == 0 ? STR_NONE : arena_copy(a, task);
}

/* Whether the item's data is what the worker has seen; else a conflict. */
static enum err
check_rev(struct mutation *m, struct str id, uint64_t rev, bool *fits,
    struct why *w)
{
	struct alias_row *alias;
	struct item_row *item;
	uint64_t now = 0;

	*fits = true;
	if (rev == REV_ANY)
		return OK;
	enum err e = item_tx_alias(m->tx, id, &alias, w);
	if (e == OK && alias->exists) {
		e = item_tx_item(m->tx, alias->item, &item, w);
		now = item->rev;
	}
	*fits = e != OK || now == rev;
	if (!*fits)
		note_conflict(m, id, STR_NONE);
	return e;
}

static enum err
check_metadata_rev(struct mutation *m, struct str id, struct str task,
    uint64_t rev, bool *fits, struct why *w)
{
	struct result_row *r;
	struct item_row *item;
	uint32_t number;

	*fits = true;
	if (rev == REV_ANY)
		return OK;
	enum err e = item_tx_find(m->tx, id, &item, w);
	if (e == OK)
		e = item_task_find(m->tx, task, &number, w);
	if (e == OK)
		e = item_tx_result(m->tx, number, item->key, &r, w);
	if (e != OK)
		return e;
	*fits = (r->exists ? r->rev : 0) == rev;
	if (!*fits)
		note_conflict(m, id, task);
	return OK;
}

/* -- Ops -- */

static enum err
mutate_create(struct mutation *m, struct why *w)
{
	struct item_create c = { .id = STR("") };
	struct item_tag_text *tags = NULL;
	struct str *aliases = NULL;
	struct item_row *item;
	uint64_t rev;
	bool fits = true;

	enum err e = read_text(m, "id", &c.id, w);
	if (e == OK)
		e = read_json(m, "data", &c.data, w);
	if (e == OK)
		e = read_tags(m, "tags", &tags, &c.tags_n, w);
	if (e == OK)
		e = read_texts(m, "aliases", &aliases, &c.aliases_n, w);
	if (e == OK)
		e = read_text(m, "createdBy", &c.created_by, w);
	if (e == OK)
		e = read_bool(m, "failIfExists", &c.fail_if_exists, w);
	if (e == OK)
		e = read_bool(m, "allowUpsert", &c.allow_upsert, w);
	if (e == OK)
		e = read_rev(m, "rev", &rev, w);
	/* Without an update there is no data that it was computed from. */
	if (e == OK && c.allow_upsert && c.id.n > 0)
		e = check_rev(m, c.id, rev, &fits, w);
	if (e != OK || !fits)
		return e;
	c.tags = tags;
	c.aliases = aliases;
	return item_create(m->tx, m->by, &c, m->effect, &item, w);
}

static enum err
mutate_rename(struct mutation *m, struct why *w)
{
	struct str from, to;
	struct item_row *item;

	enum err e = read_id(m, "from", &from, w);
	if (e == OK)
		e = read_needed_id(m, "to", &to, w);
	*m->effect = ITEM_RENAMED;
	return e == OK ? item_rename(m->tx, m->by, from, to, &item, w) : e;
}

static enum err
read_merged_metadata(struct mutation *m, struct item_merge *merge,
    struct why *w)
{
	yyjson_val *map = yyjson_obj_get(m->root, "metadata"), *key, *v;
	const struct item_limits *l = item_store_limits(item_tx_store(m->tx));
	struct arena *a = item_tx_arena(m->tx);
	size_t i, n;

	if (map == NULL || yyjson_is_null(map))
		return OK;
	if (!yyjson_is_obj(map))
		return wrong_member("metadata", "it is not an object", w);
	struct item_merge_metadata *list = ARENA_ARRAY(a,
	    struct item_merge_metadata, yyjson_obj_size(map));
	yyjson_obj_foreach(map, i, n, key, v) {
		struct item_merge_metadata *one = &list[merge->metadata_n++];
		one->task = json_text(key);
		enum err e = item_json_value("metadata", v, l, a,
		    &one->metadata, w);
		if (e != OK)
			return e;
	}
	merge->metadata = list;
	return OK;
}

static enum err
mutate_merge(struct mutation *m, struct why *w)
{
	struct item_merge merge = { .has_data = false };
	struct item_row *item;
	uint64_t rev, from_rev;
	bool fits = true;

	enum err e = read_id(m, "from", &merge.from, w);
	if (e == OK)
		e = read_needed_id(m, "into", &merge.into, w);
	yyjson_val *data = yyjson_obj_get(m->root, "data");
	merge.has_data = data != NULL && !yyjson_is_null(data);
	if (e == OK && merge.has_data)
		e = read_json(m, "data", &merge.data, w);
	if (e == OK)
		e = read_merged_metadata(m, &merge, w);
	if (e == OK)
		e = read_rev(m, "rev", &rev, w);
	if (e == OK)
		e = read_rev(m, "fromRev", &from_rev, w);
	if (e == OK)
		e = check_rev(m, merge.into, rev, &fits, w);
	if (e == OK && fits)
		e = check_rev(m, merge.from, from_rev, &fits, w);
	if (e != OK || !fits)
		return e;
	return item_merge(m->tx, m->by, &merge, m->effect, &item, w);
}

static enum err
mutate_delete(struct mutation *m, struct why *w)
{
	struct str id;

	enum err e = read_id(m, "id", &id, w);
	*m->effect = ITEM_DELETED;
	return e == OK ? item_delete(m->tx, m->by, id, w) : e;
}

static enum err
mutate_alias_create(struct mutation *m, struct why *w)
{
	struct str from, to;
	bool fail;

	enum err e = read_needed_id(m, "from", &from, w);
	if (e == OK)
		e = read_id(m, "to", &to, w);
	if (e == OK)
		e = read_bool(m, "failIfExists", &fail, w);
	return e == OK ? item_alias_create(m->tx, m->by, from, to, fail,
	    m->effect, w) : e;
}

static enum err
mutate_alias_delete(struct mutation *m, struct why *w)
{
	struct str from;

	enum err e = read_needed_id(m, "from", &from, w);
	return e == OK ? item_alias_delete(m->tx, m->by, from, m->effect, w) :
	    e;
}

static enum err
mutate_tags(struct mutation *m, struct why *w)
{
	struct item_tag_text *add = NULL;
	struct str *remove = NULL, id;
	size_t add_n = 0, remove_n = 0;
	struct item_row *item;

	enum err e = read_id(m, "id", &id, w);
	if (e == OK)
		e = read_tags(m, "add", &add, &add_n, w);
	if (e == OK)
		e = read_texts(m, "remove", &remove, &remove_n, w);
	*m->effect = ITEM_TAGS;
	return e == OK ? item_tags_update(m->tx, m->by, id, add, add_n, remove,
	    remove_n, &item, w) : e;
}

static enum err
mutate_data(struct mutation *m, struct why *w)
{
	struct str id, data;
	struct item_row *item;
	uint64_t rev;
	bool fits = true;

	enum err e = read_id(m, "id", &id, w);
	if (e == OK)
		e = read_json(m, "data", &data, w);
	if (e == OK)
		e = read_rev(m, "rev", &rev, w);
	if (e == OK)
		e = check_rev(m, id, rev, &fits, w);
	if (e != OK || !fits)
		return e;
	return item_data_set_checked(m->tx, m->by, id, data, m->effect, &item,
	    w);
}

static enum err
mutate_metadata(struct mutation *m, struct why *w)
{
	struct str id, task, metadata;
	uint64_t rev;
	bool fits = true;

	enum err e = read_id(m, "id", &id, w);
	if (e == OK)
		e = read_task(m, &task, w);
	if (e == OK)
		e = read_json(m, "metadata", &metadata, w);
	if (e == OK)
		e = read_rev(m, "rev", &rev, w);
	if (e == OK)
		e = check_metadata_rev(m, id, task, rev, &fits, w);
	if (e != OK || !fits)
		return e;
	*m->effect = ITEM_METADATA;
	return item_metadata_set_checked(m->tx, m->by, id, task, metadata, w);
}

static enum err
mutate_expire(struct mutation *m, struct why *w)
{
	struct str id, task;

	enum err e = read_id(m, "id", &id, w);
	if (e == OK)
		e = read_task(m, &task, w);
	*m->effect = ITEM_EXPIRED;
	return e == OK ? item_expire(m->tx, m->by, id, task, false, w) : e;
}

static enum err
mutate_ttl(struct mutation *m, struct why *w)
{
	struct str id, task;
	int64_t ttl_us;
	bool has;

	enum err e = read_id(m, "id", &id, w);
	if (e == OK)
		e = read_task(m, &task, w);
	if (e == OK)
		e = read_ttl(m, &has, &ttl_us, w);
	if (e == OK && !has)
		e = wrong_member("ttl", "it is missing", w);
	return e == OK ? item_ttl_set(m->tx, m->by, id, task, ttl_us,
	    m->effect, w) : e;
}

static enum err
mutate_complete(struct mutation *m, struct why *w)
{
	struct str id, metadata = STR_NONE;
	int64_t ttl_us;
	bool has_ttl;
	yyjson_val *v = yyjson_obj_get(m->root, "metadata");

	enum err e = read_needed_id(m, "id", &id, w);
	if (e == OK && v != NULL && !yyjson_is_null(v))
		e = read_json(m, "metadata", &metadata, w);
	if (e == OK)
		e = read_ttl(m, &has_ttl, &ttl_us, w);
	return e == OK ? item_complete_for(m->tx, m->by, id, metadata, has_ttl,
	    ttl_us, m->effect, w) : e;
}

static enum err
mutate_blob_put(struct mutation *m, struct why *w)
{
	struct item_blob b = { .name = STR(""), .type = STR("") };
	struct str id;

	enum err e = read_id(m, "id", &id, w);
	if (e == OK)
		e = read_text(m, "name", &b.name, w);
	if (e == OK)
		e = read_sha256(m, b.sha256, w);
	if (e == OK)
		e = read_text(m, "type", &b.type, w);
	*m->effect = ITEM_BLOB;
	return e == OK ? item_blob_put(m->tx, m->by, id, &b, w) : e;
}

static enum err
mutate_blob_delete(struct mutation *m, struct why *w)
{
	struct str id, name = STR("");

	enum err e = read_id(m, "id", &id, w);
	if (e == OK)
		e = read_text(m, "name", &name, w);
	return e == OK ? item_blob_delete(m->tx, m->by, id, name, m->effect,
	    w) : e;
}

#define MUTATIONS(X) \
	X("createItem", mutate_create) X("renameItem", mutate_rename) \
	X("mergeItem", mutate_merge) X("deleteItem", mutate_delete) \
	X("createAlias", mutate_alias_create) \
	X("deleteAlias", mutate_alias_delete) X("updateTags", mutate_tags) \
	X("updateData", mutate_data) X("updateMetadata", mutate_metadata) \
	X("expire", mutate_expire) X("setTTL", mutate_ttl) \
	X("completeFor", mutate_complete) X("putBlob", mutate_blob_put) \
	X("deleteBlob", mutate_blob_delete)

static const struct {
	const char *op;
	enum err (*apply)(struct mutation *, struct why *);
} mutations[] = {
#define MUTATION_ROW(op, apply) { op, apply },
	MUTATIONS(MUTATION_ROW)
#undef MUTATION_ROW
};

static enum err
find_own_id(struct mutation *m, struct why *w)
{
	struct item_row *own;

	if (m->by->run_item == 0)
		return OK;
	enum err e = item_tx_item(m->tx, m->by->run_item, &own, w);
	/* One that was deleted or merged in this run: its id as claimed. */
	m->own_id = e == OK && own->exists ? own->id : m->by->run_id;
	return e;
}

enum err
item_mutate(struct item_tx *tx, const struct item_actor *by, yyjson_val *v,
    enum item_effect *effect, struct item_conflict *conflict, struct why *w)
{
	struct mutation m = { .tx = tx, .by = by, .root = v, .effect = effect,
		.conflict = conflict };
	struct str op = json_text(yyjson_obj_get(v, "op"));

	*effect = ITEM_SKIPPED;
	*conflict = (struct item_conflict){ .any = false };
	if (!yyjson_is_obj(v))
		return why_field(w, ERR_INPUT, "mutations", "an element is no "
		    "object");
	size_t i = STR_ROW(op, mutations);
	if (op.p == NULL || i == ARRAY_LEN(mutations))
		return why_field(w, ERR_INPUT, "op", "\"%.*s\" is unknown",
		    (int)MIN(op.n, 40), op.p == NULL ? "" : op.p);
	enum err e = find_own_id(&m, w);
	return e == OK ? mutations[i].apply(&m, w) : e;
}

/* -- Before a list is applied -- */

static void
want_members(struct item_tx *tx, yyjson_val *v)
{
	static const char *const ids[] = { "id", "from", "into", "to" };
	yyjson_val *list = yyjson_obj_get(v, "aliases"), *alias;
	size_t i, n;

	for (size_t k = 0; k < ARRAY_LEN(ids); k++) {
		struct str id = json_text(yyjson_obj_get(v, ids[k]));
		if (id.n > 0 && id.n <= ITEM_ID_BYTES_MAX)
			item_tx_want_item(tx, id);
	}
	yyjson_arr_foreach(list, i, n, alias) {
		struct str id = json_text(alias);
		if (id.n > 0 && id.n <= ITEM_ID_BYTES_MAX)
			item_tx_want_item(tx, id);
	}
	struct str task = json_text(yyjson_obj_get(v, "taskName"));
	struct str id = json_text(yyjson_obj_get(v, "id"));
	uint32_t number = 0;
	if (task.n > 0 && id.n > 0 && id.n <= ITEM_ID_BYTES_MAX &&
	    item_store_name(item_tx_store(tx), ITEM_NAME_TASK, task, false,
	    &number, NULL) == OK && number != 0)
		item_tx_want_pair(tx, number, id);
}

void
item_mutations_want(struct item_tx *tx, yyjson_val *list)
{
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(list, i, n, v)
		want_members(tx, v);
}

/*
 * Which item a mutation names, as a text: the own id of the item that its alias
 * leads to, or the id itself where there is none so far.
 */
static enum err
target_of(struct item_tx *tx, const struct item_actor *by, yyjson_val *v,
    const char *member, struct str *out, struct why *w)
{
	struct str id = json_text(yyjson_obj_get(v, member));
	struct alias_row *alias;
	struct item_row *item;
	enum err e = OK;

	*out = id;
	if (id.p == NULL && by->run_item == 0)
		return OK;
	if (id.p == NULL) {
		e = item_tx_item(tx, by->run_item, &item, w);
	} else {
		e = item_tx_alias(tx, id, &alias, w);
		if (e != OK || !alias->exists)
			return e;
		e = item_tx_item(tx, alias->item, &item, w);
	}
	if (e == OK && item->exists)
		*out = item->id;
	return e;
}

struct targets {
	struct map deleted, updated; /* by id */
};

static bool
op_is(yyjson_val *v, const char *op)
{
	return yyjson_equals_str(yyjson_obj_get(v, "op"), op);
}

static enum err
note_target(struct item_tx *tx, struct item_actor *by, yyjson_val *v,
    struct targets *t, struct why *w)
{
	bool deletes = op_is(v, "deleteItem");
	struct item_row *own;
	struct str id;

	if (!deletes && !op_is(v, "updateData") && !op_is(v,
	    "updateMetadata") && !(op_is(v, "createItem") &&
	    yyjson_is_true(yyjson_obj_get(v, "allowUpsert"))))
		return OK;
	enum err e = target_of(tx, by, v, "id", &id, w);
	if (e != OK || id.n == 0)
		return e;
	map_put(deletes ? &t->deleted : &t->updated, id, v);
	if (map_get(deletes ? &t->updated : &t->deleted, id) != NULL)
		return why_field(w, ERR_STATE, "id", "one run deletes and "
		    "updates %.*s", (int)MIN(id.n, 100), id.p);
	if (!deletes || by->run_item == 0)
		return OK;
	e = item_tx_item(tx, by->run_item, &own, w);
	if (e == OK && own->exists && str_eq(own->id, id))
		by->creator = own->created_by.p == NULL ? STR("") :
		    own->created_by;
	return e;
}

enum err
item_mutations_check(struct item_tx *tx, struct item_actor *by,
    yyjson_val *list, size_t *op, struct why *w)
{
	struct targets t = { .deleted = MAP_INIT, .updated = MAP_INIT };
	yyjson_val *v;
	size_t i, n;
	enum err e = OK;

	*op = 0;
	yyjson_arr_foreach(list, i, n, v) {
		*op = i;
		e = note_target(tx, by, v, &t, w);
		if (e != OK)
			break;
	}
	map_free(&t.deleted);
	map_free(&t.updated);
	return e;
}
