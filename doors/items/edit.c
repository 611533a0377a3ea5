/*
 * Requests that edit items: their data, ids, tags and blobs.  Each is one
 * request to the writer thread, by the rules of engine/items/item_ops.h.
 */
#include "doors/items/edit.h"

#include "base/json_writer.h"
#include "doors/items/handlers.h"
#include "doors/items/meter.h"
#include "wire/digest.h"

/* Of people: no run stands behind it. */
static const struct item_actor person;

/* What is to be done; each uses what it needs. */
struct edit {
	struct str id, other, data;
	struct item_create create;
	struct item_merge merge;
	struct item_tag_text tag;
	struct item_blob blob;
	struct str match;            /* of If-Match; p NULL: none */
	bool fail_if_exists, remove;
};

static struct edit *
edit_of(struct exchange *x)
{
	return x->in = ARENA_NEW(&x->arena, struct edit);
}

static void
want_id(struct exchange *x, struct item_tx *tx)
{
	const struct edit *d = x->in;

	item_tx_want_item(tx, d->id);
	if (d->other.n > 0)
		item_tx_want_item(tx, d->other);
}

/* {"id":...,"effect":...} and, where there is one, the item's rev. */
static void
put_effect(struct buf *b, struct str id, enum item_effect effect,
    const struct item_row *row)
{
	json_object(b, NULL);
	json_str(b, "id", row != NULL ? row->id : id);
	json_str(b, "effect", str_of(item_effect_text(effect)));
	if (row != NULL)
		json_u64(b, "rev", row->rev);
	buf_put_char(b, '}');
}

static enum err
put_item(struct exchange *x, struct item_tx *tx, struct item_row *row,
    struct why *w)
{
	x->rev = row->rev;
	return item_json(tx, row, &x->out, w);
}

/* -- New items -- */

void
edit_read_create(struct input *in, struct item_create *c, bool with_id)
{
	*c = (struct item_create){ .id = STR("") };
	if (with_id)
		c->id = input_str(in, "id");
	if (with_id && c->id.p == NULL)
		c->id = STR("");
	if (c->id.n > 0 && in->e == OK)
		in->e = item_id_check("id", c->id, &in->why);
	c->data = input_object(in, "data");
	c->tags = input_tags(in, "tags", &c->tags_n);
	c->aliases = input_strs(in, "aliases", &c->aliases_n);
	c->created_by = input_str(in, "createdBy");
	if (c->created_by.p == NULL)
		c->created_by = STR("");
	c->fail_if_exists = input_bool(in, "failIfExists", false);
	if (c->data.p != NULL && (int64_t)c->data.n >
	    in->x->door->limits.data_bytes_max)
		input_fault(in, ERR_FULL, "data", "it is too long");
}

static enum err
create(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct edit *d = x->in;
	enum item_effect effect;
	struct item_row *row;

	enum err e = item_create(tx, &person, &d->create, &effect, &row, w);
	if (e != OK)
		return e;
	x->status = effect == ITEM_NEW ? 201 : 200;
	x->rev = row->rev;
	put_effect(&x->out, d->id, effect, row);
	return OK;
}

void
edit_create(struct exchange *x, struct str body)
{
	struct input in = input_of(x);
	struct edit *d = edit_of(x);

	input_text(&in, body);
	edit_read_create(&in, &d->create, true);
	if (d->create.data.p == NULL)
		input_fault(&in, ERR_INPUT, "data", "it is missing");
	d->id = d->create.id;
	if (input_end(&in))
		exchange_write(x, d->id.n > 0 ? want_id : NULL, create);
}

void
edit_upsert(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);

	d->id = input_id(&in, 1, "id");
	input_json(&in);
	edit_read_create(&in, &d->create, false);
	d->create.id = d->id;
	d->create.allow_upsert = !d->create.fail_if_exists;
	d->create.merge_data = true;
	if (d->create.data.p == NULL)
		d->create.data = STR("{}");
	if (input_end(&in))
		exchange_write(in.x, want_id, create);
}

/* -- Data -- */

/* RFC 9110 §13.1.1: one of the tags of the list, or "*"; weak ones never. */
static bool
matches(struct str list, uint64_t rev)
{
	struct str part;
	char want[32];

	snprintf(want, sizeof(want), "\"%llu\"", (unsigned long long)rev);
	while (str_split(&list, ',', &part)) {
		part = str_trim(part);
		if (str_eq(part, STR("*")) || str_eq(part, str_of(want)))
			return true;
	}
	return false;
}

static enum err
patch(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct edit *d = x->in;
	struct item_row *row;
	enum item_effect effect;

	enum err e = item_tx_find(tx, d->id, &row, w);
	x->refusal = 0;
	if (e == OK && d->match.p != NULL && !matches(d->match, row->rev)) {
		x->refusal = 412;
		x->refusal_code = "precondition";
		return why_field(w, ERR_STATE, "if-match", "the item has rev "
		    "%llu", (unsigned long long)row->rev);
	}
	if (e == OK)
		e = item_data_patch(tx, &person, d->id, d->data, &effect,
		    &row, w);
	return e == OK ? put_item(x, tx, row, w) : e;
}

void
edit_patch(struct web_request *r)
{
	static const char *const media[] = { "application/merge-patch+json",
		"application/json", NULL };
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);

	d->id = input_id(&in, 1, "id");
	input_body_of(&in, media);
	if (in.x->refusal == 415)
		web_add_field(r, "accept-patch", media[0]);
	d->data = web_body(r);
	(void)web_field(r, "if-match", &d->match);
	/* All members of a patch are data. */
	in.root = NULL;
	if (input_end(&in))
		exchange_write(in.x, want_id, patch);
}

/* -- The whole item -- */

static enum err
delete(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct edit *d = x->in;
	struct item_row *row;

	enum err e = item_tx_find(tx, d->id, &row, w);
	if (e != OK)
		return e;
	struct str id = arena_copy(&x->arena, row->id);
	e = item_delete(tx, &person, id, w);
	if (e == OK)
		put_effect(&x->out, id, ITEM_DELETED, NULL);
	return e;
}

void
edit_delete(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);

	d->id = input_id(&in, 1, "id");
	if (input_end(&in))
		exchange_write(in.x, want_id, delete);
}

static enum err
rename_it(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct edit *d = x->in;
	struct item_row *row;

	enum err e = item_rename(tx, &person, d->id, d->other, &row, w);
	return e == OK ? put_item(x, tx, row, w) : e;
}

void
edit_rename(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);

	d->id = input_id(&in, 1, "id");
	input_json(&in);
	d->other = input_need_str(&in, "to");
	if (in.e == OK)
		in.e = item_id_check("to", d->other, &in.why);
	if (input_end(&in))
		exchange_write(in.x, want_id, rename_it);
}

static enum err
merge(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct edit *d = x->in;
	struct item_row *row;
	enum item_effect effect;

	/* A run may name what does not exist; a path must not. */
	enum err e = item_tx_find(tx, d->id, &row, w);
	if (e == OK)
		e = item_merge(tx, &person, &d->merge, &effect, &row, w);
	return e == OK ? put_item(x, tx, row, w) : e;
}

void
edit_merge(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);

	d->id = input_id(&in, 1, "id");
	input_json(&in);
	d->other = input_need_str(&in, "into");
	if (in.e == OK)
		in.e = item_id_check("into", d->other, &in.why);
	d->merge = (struct item_merge){ .from = d->id, .into = d->other };
	d->merge.data = input_object(&in, "data");
	d->merge.has_data = d->merge.data.p != NULL;
	if (input_end(&in))
		exchange_write(in.x, want_id, merge);
}

/* -- Aliases -- */

static enum err
change_alias(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct edit *d = x->in;
	enum item_effect effect;
	struct item_row *row;
	struct alias_row *alias = NULL;

	enum err e = item_tx_find(tx, d->id, &row, w);
	if (e == OK && d->remove)
		e = item_tx_alias(tx, d->other, &alias, w);
	if (e == OK && d->remove && alias->exists && alias->item != row->key)
		e = why_field(w, ERR_STATE, "alias", "it is another item's");
	if (e == OK)
		e = d->remove ? item_alias_delete(tx, &person, d->other,
		    &effect, w) : item_alias_create(tx, &person, d->other,
		    d->id, d->fail_if_exists, &effect, w);
	if (e != OK)
		return e;
	x->status = effect == ITEM_ALIAS_NEW ? 201 : 200;
	json_object(&x->out, NULL);
	json_str(&x->out, "id", row->id);
	json_str(&x->out, "alias", d->other);
	json_str(&x->out, "effect", str_of(item_effect_text(effect)));
	buf_put_char(&x->out, '}');
	return OK;
}

void
edit_alias_put(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);

	d->id = input_id(&in, 1, "id");
	d->other = input_id(&in, 3, "alias");
	input_json(&in);
	d->fail_if_exists = input_bool(&in, "failIfExists", false);
	if (input_end(&in))
		exchange_write(in.x, want_id, change_alias);
}

void
edit_alias_delete(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);

	d->id = input_id(&in, 1, "id");
	d->other = input_id(&in, 3, "alias");
	d->remove = true;
	if (input_end(&in))
		exchange_write(in.x, want_id, change_alias);
}

/* -- Tags -- */

static enum err
change_tag(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct edit *d = x->in;
	struct item_row *row;

	enum err e = item_tags_update(tx, &person, d->id, &d->tag,
	    d->remove ? 0 : 1, &d->tag.name, d->remove ? 1 : 0, &row, w);
	return e == OK ? put_item(x, tx, row, w) : e;
}

static void
read_tag(struct input *in, struct edit *d)
{
	struct str name;

	d->id = input_id(in, 1, "id");
	name = input_name(in, 3, "tag");
	if (in->e == OK && str_find_char(name, '=') < name.n)
		input_fault(in, ERR_INPUT, "tag", "a name has no \"=\"; the "
		    "value is in the body");
	if (in->e == OK)
		in->e = item_tag_read(name, &d->tag, &in->why);
}

void
edit_tag_put(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);

	read_tag(&in, d);
	input_json(&in);
	d->tag.value = input_str(&in, "value");
	if (input_end(&in))
		exchange_write(in.x, want_id, change_tag);
}

void
edit_tag_delete(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);

	read_tag(&in, d);
	d->remove = true;
	if (input_end(&in))
		exchange_write(in.x, want_id, change_tag);
}

/* -- Blobs -- */

void
edit_put_blob(struct buf *b, struct str name, const uint8_t sha256[static 32],
    struct str bytes, struct str type)
{
	FREED(buf_free) struct buf hex = BUF_INIT;

	digest_put_hex(&hex, sha256, 32);
	json_object(b, NULL);
	if (name.p != NULL)
		json_str(b, "name", name);
	json_str(b, "sha256", buf_str(&hex));
	json_u64(b, "bytes", bytes.n);
	if (type.p != NULL)
		json_str(b, "type", type);
	buf_put_char(b, '}');
}

static enum err
put_blob(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct edit *d = x->in;

	enum err e = item_blob_put(tx, &person, d->id, &d->blob, w);
	if (e != OK)
		return e;
	x->status = 201;
	edit_put_blob(&x->out, d->blob.name, d->blob.sha256, d->blob.bytes,
	    d->blob.type);
	return OK;
}

struct str
edit_blob_bytes(struct input *in)
{
	struct str bytes = web_body(in->x->request);

	if (in->e == OK && (int64_t)bytes.n >
	    in->x->door->limits.blob_bytes_max)
		in->e = why_field(&in->why, ERR_FULL, "bytes", "a blob may "
		    "have %lld", (long long)in->x->door->limits.blob_bytes_max);
	return bytes.p == NULL ? STR("") : bytes;
}

void
edit_blob_put(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);
	struct digest digest;

	d->id = input_id(&in, 1, "id");
	d->blob.name = input_name(&in, 3, "name");
	d->blob.type = STR("application/octet-stream");
	(void)web_field(r, "content-type", &d->blob.type);
	d->blob.bytes = edit_blob_bytes(&in);
	d->blob.size = (int64_t)d->blob.bytes.n;
	digest_of(DIGEST_SHA256, d->blob.bytes, &digest);
	memcpy(d->blob.sha256, digest.bytes, sizeof(d->blob.sha256));
	if (input_end(&in))
		exchange_write(in.x, want_id, put_blob);
}

static enum err
delete_blob(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct edit *d = x->in;
	enum item_effect effect;

	enum err e = item_blob_delete(tx, &person, d->id, d->blob.name,
	    &effect, w);
	if (e != OK)
		return e;
	/* A run passes it over; a path must lead somewhere. */
	if (effect == ITEM_SKIPPED)
		return why_field(w, ERR_ABSENT, "name",
		    "the item has no such blob");
	json_object(&x->out, NULL);
	json_str(&x->out, "name", d->blob.name);
	json_str(&x->out, "effect", str_of(item_effect_text(effect)));
	buf_put_char(&x->out, '}');
	return OK;
}

void
edit_blob_delete(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct edit *d = edit_of(in.x);

	d->id = input_id(&in, 1, "id");
	d->blob.name = input_name(&in, 3, "name");
	if (input_end(&in))
		exchange_write(in.x, want_id, delete_blob);
}
