/*
 * POST /items/add: one item as JSON, or any number as NDJSON, read as it
 * arrives.
 *
 *     pieces ─► text ─► a batch of lines ─► the writer, one commit
 *                 ▲                              │
 *                 └── nothing more is read while a batch is being written and
 *                     the next one is full
 *
 * A faulty line is noted and the others are kept.  What has been committed
 * stays when the client leaves.
 */
#include "base/json_writer.h"
#include "doors/items/edit.h"
#include "doors/items/handlers.h"
#include "doors/items/meter.h"

static const struct item_actor person;

struct line {
	uint64_t number;
	yyjson_doc *doc;
	struct item_create create;
	bool unread;                 /* it is no item at all */
	enum err e;                  /* of reading it, or of making the item */
	struct str fault;
};

struct import {
	struct web_upload body;
	struct exchange *x;
	bool is_lines;               /* NDJSON */
	struct buf text;             /* what has come, from `at` on */
	size_t at;
	size_t newlines;             /* in it, from `at` on */
	uint64_t number;             /* lines taken off it */
	struct line *lines;          /* the batch, of ITEMS_LINES_MAX */
	size_t n;
	uint64_t counted;            /* of the door's import_bytes */
	bool writing, held, last, cut;
	bool too_long;               /* the next line: 413 */
	uint64_t total, made, skipped;
	size_t faults_n;
	struct buf faults;           /* {"line":...,"error":...}, ... */
	uint64_t batch_made, batch_skipped;
};

static size_t
waiting(const struct import *s)
{
	return s->text.n - s->at;
}

static void
forget_batch(struct import *s)
{
	for (size_t i = 0; i < s->n; i++)
		yyjson_doc_free(s->lines[i].doc);
	s->n = 0;
	arena_reset(&s->x->arena);
}

/* The text has become longer or shorter; false: all texts are too long. */
static bool
count_text(struct import *s)
{
	struct items_door *d = s->x->door;

	d->import_bytes += s->text.n - s->counted;
	s->counted = s->text.n;
	return d->import_bytes <= ITEMS_BODIES_BYTES_MAX;
}

static void
free_import(struct import *s)
{
	forget_batch(s);
	s->text.n = 0;
	(void)count_text(s);
	s->x->door->imports -= s->is_lines;
	mem_free(&s->lines);
	buf_free(&s->text);
	buf_free(&s->faults);
	mem_free(&s);
}

/* -- Lines -- */

static void
read_line(struct import *s, struct line *l, struct str text)
{
	struct input in = input_of(s->x);

	input_text(&in, text);
	edit_read_create(&in, &l->create, true);
	if (l->create.data.p == NULL)
		input_fault(&in, ERR_INPUT, "data", "it is missing");
	(void)input_is_fine(&in);
	l->number = s->number;
	l->e = in.e;
	l->unread = in.e != OK;
	l->fault = in.e == OK ? STR("") : arena_copy(&s->x->arena,
	    str_of(in.why.text));
	l->doc = s->x->body;
	s->x->body = NULL;
}

/* Take the next line off the text; false when it has not come whole. */
static bool
take_line(struct import *s, struct str *line)
{
	struct str rest = str_from(buf_str(&s->text), s->at);
	size_t end = str_find_char(rest, '\n');
	bool whole = end < rest.n;

	s->too_long = (int64_t)end > s->x->door->limits.body_bytes_max;
	if (s->too_long || (!whole && (!s->last || rest.n == 0)))
		return false;
	s->number++;
	s->newlines -= whole;
	*line = str_trim(str_cut(rest, 0, end));
	s->at += end + whole;
	return true;
}

static void
gather_batch(struct import *s)
{
	struct str line;
	size_t from = s->at;

	while (s->n < ITEMS_LINES_MAX && (s->n == 0 ||
	    s->at - from < ITEMS_IMPORT_BYTES_MAX) && take_line(s, &line))
		if (line.n > 0)
			read_line(s, &s->lines[s->n++], line);
	/* The lines themselves are in documents by now. */
	if (s->at < s->text.n && s->at < ITEMS_IMPORT_BYTES_MAX / 2)
		return;
	s->text.n -= s->at;
	if (s->text.n > 0)
		memmove(s->text.p, s->text.p + s->at, s->text.n);
	s->at = 0;
}

/* -- The writer -- */

static void
want_lines(struct items_write *w, struct item_tx *tx)
{
	struct import *s = CONTAINER(w, struct exchange, write)->in;

	for (size_t i = 0; i < s->n; i++)
		if (!s->lines[i].unread && s->lines[i].create.id.n > 0)
			item_tx_want_item(tx, s->lines[i].create.id);
}

/* One item, at a mark of its own; a fault of its line is noted. */
static enum err
write_line(struct import *s, struct line *l, struct item_tx *tx,
    struct why *w)
{
	struct item_mark mark = item_tx_mark(tx);
	struct why inner = WHY_INIT;
	enum item_effect effect;
	struct item_row *row;

	l->e = item_create(tx, &person, &l->create, &effect, &row, &inner);
	if (l->e == OK) {
		s->batch_made += effect == ITEM_NEW;
		s->batch_skipped += effect == ITEM_SKIPPED;
		return OK;
	}
	if (!exchange_is_fault(l->e))
		return why(w, l->e, "%s", inner.text);
	item_tx_undo(tx, mark);
	l->fault = arena_copy(&s->x->arena, str_of(inner.text));
	return OK;
}

static enum err
write_lines(struct items_write *wr, struct item_tx *tx, struct why *w)
{
	struct import *s = CONTAINER(wr, struct exchange, write)->in;
	enum err e = OK;

	s->batch_made = s->batch_skipped = 0;
	for (size_t i = 0; e == OK && i < s->n; i++)
		if (!s->lines[i].unread)
			e = write_line(s, &s->lines[i], tx, w);
	return e;
}

static bool go_on(struct import *);

static void
count_batch(struct import *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct line *l = &s->lines[i];
		if (l->e == OK || s->faults_n == ITEMS_FAULTS_MAX)
			continue;
		s->faults_n++;
		json_object(&s->faults, NULL);
		json_u64(&s->faults, "line", l->number);
		json_str(&s->faults, "error", l->fault);
		buf_put_char(&s->faults, '}');
	}
	s->total += s->n;
	s->made += s->batch_made;
	s->skipped += s->batch_skipped;
	items_meter_lines((int64_t)s->n);
}

static void
batch_done(struct items_write *w)
{
	struct exchange *x = CONTAINER(w, struct exchange, write);
	struct import *s = x->in;

	s->writing = false;
	if (s->cut) {
		free_import(s);
		exchange_free(&x);
		return;
	}
	if (w->result != OK) {
		struct why why_ = w->why;
		if (s->total > 0)
			snprintf(why_.text, sizeof(why_.text), "after %llu "
			    "lines, which are stored: %.300s",
			    (unsigned long long)s->total, w->why.text);
		free_import(s);
		exchange_refuse(x, w->result, &why_);
		return;
	}
	count_batch(s);
	forget_batch(s);
	if (go_on(s) && s->held && waiting(s) < ITEMS_IMPORT_BYTES_MAX) {
		s->held = false;
		web_read_more(&s->body);
	}
}

/* -- The whole -- */

static void
answer_counts(struct import *s)
{
	struct exchange *x = s->x;
	struct buf *b = &x->out;

	json_object(b, NULL);
	json_u64(b, "lines", s->total);
	json_u64(b, "new", s->made);
	json_u64(b, "skipped", s->skipped);
	json_array(b, "errors");
	buf_put_str(b, buf_str(&s->faults));
	buf_put_text(b, "]}");
	free_import(s);
	exchange_answer(x);
}

static void
refuse_line(struct import *s)
{
	struct exchange *x = s->x;
	struct why w = WHY_INIT;

	x->refusal = 413;
	x->refusal_code = "limit";
	enum err e = why_field(&w, ERR_FULL, "line", "line %llu has more than "
	    "%lld bytes; %llu lines before it are stored",
	    (unsigned long long)s->number + 1,
	    (long long)x->door->limits.body_bytes_max,
	    (unsigned long long)s->total);
	free_import(s);
	exchange_refuse(x, e, &w);
}

/* One document: it is whole. */
static void
create_one(struct import *s)
{
	struct exchange *x = s->x;
	struct str body = arena_copy(&x->arena, buf_str(&s->text));

	/* It has no batch whose memory would go. */
	s->x->door->import_bytes -= s->counted;
	buf_free(&s->text);
	mem_free(&s);
	edit_create(x, body);
}

/* A batch is worth writing, or it is the last one. */
static bool
is_batch(const struct import *s)
{
	return s->last || s->newlines >= ITEMS_LINES_MAX ||
	    waiting(s) >= ITEMS_IMPORT_BYTES_MAX / 2;
}

/* Write what has come, if it is enough, or answer; false: it is answered. */
static bool
go_on(struct import *s)
{
	struct exchange *x = s->x;

	if (s->writing)
		return true;
	if (is_batch(s))
		gather_batch(s);
	(void)count_text(s);
	if (s->n > 0) {
		s->writing = true;
		x->write.parts = s->n;
		x->write.want = want_lines;
		x->write.run = write_lines;
		x->write.done = batch_done;
		x->write.result = OK;
		x->write.why = WHY_INIT;
		items_write(x->door->items, &x->write);
		return true;
	}
	if (s->too_long)
		refuse_line(s);
	else if (s->last)
		answer_counts(s);
	else
		return true;
	return false;
}

static void
refuse_body(struct import *s, int status, const char *field, const char *text)
{
	struct exchange *x = s->x;
	struct why w = WHY_INIT;

	x->refusal = status;
	x->refusal_code = "limit";
	enum err e = why_field(&w, ERR_FULL, field, "%s", text);
	free_import(s);
	exchange_refuse(x, e, &w);
}

/* One document comes; answer when it is whole, or too long. */
static void
read_one(struct import *s)
{
	int64_t most = s->x->door->limits.body_bytes_max;

	if ((int64_t)s->text.n > most)
		refuse_body(s, 413, "body", arena_printf(&s->x->arena,
		    "it may have %lld bytes", (long long)most).p);
	else if (!count_text(s))
		refuse_body(s, 503, "imports", "too many bodies are on their "
		    "way here");
	else if (s->last)
		create_one(s);
}

static bool
read_piece(struct web_upload *u, struct str bytes, bool last)
{
	struct import *s = CONTAINER(u, struct import, body);

	buf_put_str(&s->text, bytes);
	s->last = last;
	if (!s->is_lines) {
		read_one(s);
		return true;
	}
	for (struct str part; str_split(&bytes, '\n', &part);)
		s->newlines += bytes.p != NULL;
	if (!go_on(s))
		return true;
	(void)count_text(s);
	s->held = waiting(s) >= ITEMS_IMPORT_BYTES_MAX;
	return !s->held;
}

static void
body_cut(struct web_upload *u)
{
	struct import *s = CONTAINER(u, struct import, body);
	struct exchange *x = s->x;

	s->cut = true;
	if (s->writing)
		return;
	free_import(s);
	exchange_free(&x);
}

void
import_add(struct web_request *r)
{
	static const char *const lines[] = { "application/x-ndjson", NULL };
	static const char *const json[] = { "application/json", NULL };
	struct exchange *x = exchange_new(r);
	struct why w = WHY_INIT;

	bool is_lines = input_is_media(x, lines);
	if (!is_lines && !input_is_media(x, json)) {
		x->refusal = 415;
		x->refusal_code = "media_type";
		enum err e = why_field(&w, ERR_INPUT, "content-type",
		    "application/json or application/x-ndjson is expected");
		exchange_refuse(x, e, &w);
		return;
	}
	if (is_lines && x->door->imports == ITEMS_IMPORTS_MAX) {
		x->refusal = 503;
		x->refusal_code = "limit";
		enum err e = why_field(&w, ERR_FULL, "imports",
		    "%u are under way already", x->door->imports);
		exchange_refuse(x, e, &w);
		return;
	}
	struct import *s = x->in = mem_new(sizeof(*s));
	s->x = x;
	s->is_lines = is_lines;
	if (is_lines)
		s->lines = mem_array(ITEMS_LINES_MAX, sizeof(*s->lines));
	x->door->imports += is_lines;
	s->body.piece = read_piece;
	s->body.cut = body_cut;
	web_read_body(r, &s->body);
}
