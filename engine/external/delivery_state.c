/*
 * The state of a delivery as JSON text.  Members without a value are left out.
 *
 *     {"first":120,"seq":8,"status_seq":3,"halvings":1,"gzip":1,"uploaded":119,
 *      "rejected":1,"reasons":["..."],"progress":"120 documents","end":0,
 *      "drop_spool":false,
 *      "batch":{"seq":7,"from":100,"to":140,"path":1,"splits":1,"plain":true},
 *      "status":{"seq":2,"code":102,"message":"...","detail":""},
 *      "closing":{"end":140,"code":200,"message":"...","detail":""},
 *      "upload_failing":MICROSECONDS,"status_failing":MICROSECONDS}
 *
 * Counts of retries are left out: after a restart the first call is made at
 * once.  What a member lacks has its initial value, so that newer versions read
 * the states of older ones.
 */
#include "engine/external/delivery_own.h"

#include "base/json_writer.h"

/* --- Writing ------------------------------------------------------------ */

static void
put_batch(struct buf *b, const struct batch *batch)
{
	json_object(b, "batch");
	json_u64(b, "seq", batch->seq);
	json_u64(b, "from", batch->from);
	json_u64(b, "to", batch->to);
	json_u64(b, "path", batch->path);
	json_u64(b, "splits", batch->splits);
	json_bool(b, "plain", batch->plain);
	buf_put_char(b, '}');
}

static void
put_status(struct buf *b, const char *name, const char *number_name,
    uint64_t number, const struct status *s)
{
	json_object(b, name);
	json_u64(b, number_name, number);
	json_u64(b, "code", s->code);
	json_str(b, "message", str_of(s->message));
	json_str(b, "detail", str_of(s->detail));
	buf_put_char(b, '}');
}

static void
put_failing(struct buf *b, const char *name, const struct channel *c)
{
	if (c->failing)
		json_u64(b, name, (uint64_t)MAX(c->since.wall.us, 0));
}

void
delivery_save(const struct delivery *d, struct buf *b)
{
	json_object(b, NULL);
	json_u64(b, "first", d->first);
	json_u64(b, "seq", d->seq);
	json_u64(b, "status_seq", MAX(d->status_seq, d->reserving));
	json_u64(b, "halvings", d->halvings);
	json_u64(b, "gzip", d->gzip);
	json_u64(b, "uploaded", d->uploaded);
	json_u64(b, "rejected", d->rejected_n);
	json_array(b, "reasons");
	for (size_t i = 0; i < d->reasons_n; i++)
		json_item(b, str_of(d->reasons[i]));
	buf_put_char(b, ']');
	json_str(b, "progress", str_of(d->progress));
	json_u64(b, "end", d->end);
	json_bool(b, "drop_spool", d->drop_spool);
	if (d->upload.ready)
		put_batch(b, &d->batch);
	if (d->status.ready)
		put_status(b, "status", "seq", d->sent.seq, &d->sent);
	if (d->closing.code != 0)
		put_status(b, "closing", "end", d->closing_end, &d->closing);
	put_failing(b, "upload_failing", &d->upload);
	put_failing(b, "status_failing", &d->status);
	buf_put_char(b, '}');
}

/* --- Reading ------------------------------------------------------------ */

static enum err
say_wrong(struct why *w, const char *field)
{
	return why_field(w, ERR_CORRUPT, field, "a delivery's state is wrong");
}

/* A whole number up to `max`; 0 when it is not there. */
static enum err
get_number(yyjson_val *from, const char *name, uint64_t max, uint64_t *out,
    struct why *w)
{
	yyjson_val *v = yyjson_obj_get(from, name);

	*out = yyjson_get_uint(v);
	return v == NULL || (yyjson_is_uint(v) && *out <= max) ? OK :
	    say_wrong(w, name);
}

static enum err
get_small(yyjson_val *from, const char *name, unsigned max, unsigned *out,
    struct why *w)
{
	uint64_t n;
	enum err e = get_number(from, name, max, &n, w);

	*out = (unsigned)n;
	return e;
}

static enum err
read_batch(struct delivery *d, yyjson_val *v, struct why *w)
{
	struct batch *b = &d->batch;
	enum err e;

	if (v == NULL)
		return OK;
	b->plain = yyjson_is_true(yyjson_obj_get(v, "plain"));
	if ((e = get_number(v, "seq", UINT64_MAX, &b->seq, w)) != OK ||
	    (e = get_number(v, "from", INT64_MAX, &b->from, w)) != OK ||
	    (e = get_number(v, "to", INT64_MAX, &b->to, w)) != OK ||
	    (e = get_small(v, "path", UINT32_MAX, &b->path, w)) != OK ||
	    (e = get_small(v, "splits", SPLITS_MAX, &b->splits, w)) != OK)
		return e;
	if (b->from >= b->to || b->to - b->from > INT32_MAX ||
	    b->seq >= d->seq || (uint64_t)b->path >> b->splits != 0)
		return say_wrong(w, "batch");
	struct range part = delivery_batch_part(b);
	if (part.from >= part.to || part.from != d->first)
		return say_wrong(w, "batch");
	d->upload.ready = true;
	return OK;
}

static enum err
read_status(yyjson_val *v, const char *name, const char *number_name,
    uint64_t *number, struct status *s, struct why *w)
{
	struct str message = json_text(yyjson_obj_get(v, "message"));
	struct str detail = json_text(yyjson_obj_get(v, "detail"));
	unsigned code;
	enum err e;

	if ((e = get_number(v, number_name, UINT64_MAX, number, w)) != OK ||
	    (e = get_small(v, "code", CODE_MAX, &code, w)) != OK)
		return e;
	if (message.p == NULL || detail.p == NULL ||
	    (code != CODE_RUNNING && code < 200))
		return say_wrong(w, name);
	delivery_set_status(s, code, message, detail);
	return OK;
}

static enum err
read_statuses(struct delivery *d, yyjson_val *root, struct why *w)
{
	yyjson_val *sent = yyjson_obj_get(root, "status");
	yyjson_val *closing = yyjson_obj_get(root, "closing");
	enum err e = OK;

	if (sent != NULL) {
		e = read_status(sent, "status", "seq", &d->sent.seq, &d->sent,
		    w);
		if (e == OK && d->sent.seq >= d->status_seq)
			e = say_wrong(w, "status");
		d->status.ready = true;
	}
	if (e == OK && closing != NULL)
		e = read_status(closing, "closing", "end", &d->closing_end,
		    &d->closing, w);
	if (e == OK && d->closing.code == CODE_RUNNING)
		e = say_wrong(w, "closing");
	return e;
}

static enum err
read_reasons(struct delivery *d, yyjson_val *list, struct why *w)
{
	yyjson_val *v;
	size_t i, n;

	if (yyjson_arr_size(list) > DELIVERY_REASONS_MAX)
		return say_wrong(w, "reasons");
	yyjson_arr_foreach(list, i, n, v)
		d->reasons[d->reasons_n++] = delivery_copy_text(json_text(v),
		    DELIVERY_REASON_BYTES_MAX);
	return OK;
}

/* The wait is counted on from the first call of delivery_next(). */
static enum err
read_failing(yyjson_val *root, const char *name, struct channel *c,
    struct why *w)
{
	uint64_t us;
	enum err e = get_number(root, name, INT64_MAX, &us, w);

	c->since.wall.us = (int64_t)us;
	c->failing = c->loaded = yyjson_obj_get(root, name) != NULL;
	return e;
}

static enum err
read_state(struct delivery *d, yyjson_val *root, struct why *w)
{
	struct str progress = json_text(yyjson_obj_get(root, "progress"));
	unsigned gzip = 0, end = 0;
	enum err e;

	if ((e = get_number(root, "first", INT64_MAX, &d->first, w)) != OK ||
	    (e = get_number(root, "seq", UINT64_MAX, &d->seq, w)) != OK ||
	    (e = get_number(root, "status_seq", UINT64_MAX, &d->status_seq,
	    w)) != OK ||
	    (e = get_small(root, "halvings", HALVINGS_MAX - 1, &d->halvings,
	    w)) != OK ||
	    (e = get_small(root, "gzip", GZIP_REFUSED, &gzip, w)) != OK ||
	    (e = get_number(root, "uploaded", UINT64_MAX, &d->uploaded,
	    w)) != OK ||
	    (e = get_number(root, "rejected", UINT64_MAX, &d->rejected_n,
	    w)) != OK ||
	    (e = get_small(root, "end", DELIVERY_STOPPED, &end, w)) != OK ||
	    (e = read_reasons(d, yyjson_obj_get(root, "reasons"), w)) != OK ||
	    (e = read_batch(d, yyjson_obj_get(root, "batch"), w)) != OK ||
	    (e = read_statuses(d, root, w)) != OK ||
	    (e = read_failing(root, "upload_failing", &d->upload, w)) != OK ||
	    (e = read_failing(root, "status_failing", &d->status, w)) != OK)
		return e;
	d->gzip = (enum gzip_use)gzip;
	d->end = (enum delivery_end)end;
	d->drop_spool = yyjson_is_true(yyjson_obj_get(root, "drop_spool"));
	if (progress.p != NULL) {
		mem_free(&d->progress);
		d->progress = delivery_copy_text(progress,
		    DELIVERY_MESSAGE_BYTES_MAX);
	}
	return OK;
}

enum err
delivery_load(struct delivery *d, struct str text, struct why *w)
{
	yyjson_doc *doc = text.n > 0 && text.n <= DELIVERY_STATE_BYTES_MAX ?
	    yyjson_read(text.p, text.n, 0) : NULL;
	yyjson_val *root = yyjson_doc_get_root(doc);
	enum err e = yyjson_is_obj(root) ? read_state(d, root, w) :
	    why(w, ERR_CORRUPT, "a delivery's state is no JSON object");

	yyjson_doc_free(doc);
	return e;
}
