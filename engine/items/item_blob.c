#include <openssl/sha.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "engine/items/item_ops_own.h"

#define TYPE_DEFAULT "application/octet-stream"

static struct str
sha_bytes(const uint8_t sha256[static 32])
{
	return (struct str){ (const char *)sha256, SHA256_DIGEST_LENGTH };
}

static void
put_blob_event(struct item_tx *tx, const struct item_actor *by,
    const struct item_row *item, enum item_event_type type,
    const struct blob_row *b)
{
	FREED(buf_free) struct buf detail = BUF_INIT;

	buf_put_text(&detail, "\"name\":");
	text_json(&detail, b->name);
	if (type == ITEM_EVENT_BLOB_PUT) {
		buf_put_text(&detail, ",\"sha256\":\"");
		for (size_t i = 0; i < sizeof(b->sha256); i++)
			buf_printf(&detail, "%02x", b->sha256[i]);
		buf_put_char(&detail, '"');
	}
	const struct item_event e = { .type = type, .item = item,
		.detail = buf_str(&detail) };
	item_event_put(tx, by, &e);
}

enum err
item_blob_store(struct item_tx *tx, struct str bytes,
    uint8_t sha256[static 32], struct why *w)
{
	int64_t most = item_store_limits(item_tx_store(tx))->blob_bytes_max;

	if ((int64_t)bytes.n > most)
		return why_field(w, ERR_FULL, "blob", "%zu bytes; at most %lld "
		    "are allowed", bytes.n, (long long)most);
	SHA256((const unsigned char *)bytes.p, bytes.n, sha256);
	struct query *q = database_query(item_store_database(
	    item_tx_store(tx)), "INSERT INTO blobs (sha256, uses, put_at,"
	    " bytes) VALUES (?1, 0, ?2, ?3) ON CONFLICT (sha256)"
	    " DO UPDATE SET put_at = excluded.put_at");
	query_bytes(q, 1, sha_bytes(sha256));
	query_i64(q, 2, item_tx_now(tx).us);
	query_bytes(q, 3, bytes);
	query_step(q);
	return query_end(&q, w);
}

static enum err
find_stored(struct item_tx *tx, const uint8_t sha256[static 32],
    int64_t *bytes, struct why *w)
{
	struct query *q = database_query(item_store_database(
	    item_tx_store(tx)), "SELECT length(bytes) FROM blobs"
	    " WHERE sha256 = ?1");

	query_bytes(q, 1, sha_bytes(sha256));
	bool found = query_step(q);
	*bytes = found ? query_get_i64(q, 0) : 0;
	enum err e = query_end(&q, w);
	if (e == OK && !found)
		e = why_field(w, ERR_INPUT, "sha256", "no such bytes are "
		    "stored");
	return e;
}

static enum err
put_row(struct item_tx *tx, const struct item_actor *by,
    struct item_row *item, const struct item_blob *b, struct blob_row *row,
    struct why *w)
{
	struct arena *a = item_tx_arena(tx);

	item_tx_touch_blob(tx, row);
	if (!row->exists) {
		item_tx_touch_item(tx, item);
		item->blobs_n++;
	}
	row->exists = true;
	memcpy(row->sha256, b->sha256, sizeof(row->sha256));
	row->type = b->type.n == 0 ? STR(TYPE_DEFAULT) :
	    arena_copy(a, b->type);
	row->bytes = b->size;
	put_blob_event(tx, by, item, ITEM_EVENT_BLOB_PUT, row);
	return item_count_check("blobs", item->blobs_n,
	    item_store_limits(item_tx_store(tx))->blobs_max, w);
}

enum err
item_blob_put(struct item_tx *tx, const struct item_actor *by, struct str id,
    const struct item_blob *blob, struct why *w)
{
	struct item_blob b = *blob;
	struct item_row *item;
	struct blob_row *row;

	enum err e = item_blob_check(blob, w);
	if (e == OK)
		e = item_tx_find(tx, id, &item, w);
	if (e == OK && b.bytes.p != NULL) {
		e = item_blob_store(tx, b.bytes, b.sha256, w);
		b.size = (int64_t)b.bytes.n;
	} else if (e == OK)
		e = find_stored(tx, b.sha256, &b.size, w);
	if (e == OK)
		e = item_tx_blob(tx, item->key, b.name, &row, w);
	return e == OK ? put_row(tx, by, item, &b, row, w) : e;
}

enum err
item_blob_delete(struct item_tx *tx, const struct item_actor *by,
    struct str id, struct str name, enum item_effect *effect, struct why *w)
{
	struct item_row *item;
	struct blob_row *row;

	*effect = ITEM_SKIPPED;
	enum err e = item_tx_find(tx, id, &item, w);
	if (e == OK)
		e = item_tx_blob(tx, item->key, name, &row, w);
	if (e != OK || !row->exists)
		return e;
	item_tx_touch_blob(tx, row);
	row->exists = false;
	item_tx_touch_item(tx, item);
	item->blobs_n--;
	put_blob_event(tx, by, item, ITEM_EVENT_BLOB_DELETED, row);
	*effect = ITEM_BLOB_DELETED;
	return OK;
}
