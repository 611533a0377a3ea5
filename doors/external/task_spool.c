/*
 * Documents: from the connector into the spool, from there to the delivery, and
 * out of it when they were answered.
 */
#include "base/json.h"
#include "doors/external/meter.h"
#include "doors/external/task_run.h"
#include "os/clock.h"

/* Faults of a document that are kept. */
#define FAULTS_MAX 3u
#define FILL_BYTES_MAX ((size_t)4 << 20)

/* ---- Judging ------------------------------------------------------------ */

struct judging {
	struct arena *a;
	struct store_document *out;
	struct buf more;
};

static void
note_fault(void *arg, struct str pointer, struct str message)
{
	struct judging *j = arg;

	if (j->out->message.n == 0) {
		j->out->pointer = arena_copy(j->a, str_cut(pointer, 0,
		    STORE_POINTER_BYTES_MAX));
		buf_put_str(&j->more, message);
	} else {
		buf_printf(&j->more, "; %.*s: %.*s", STR_FMT(pointer),
		    STR_FMT(message));
	}
	j->out->message = buf_str(&j->more);
}

/* A document without a message may go to the back end. */
static void
judge_document(const struct task_run *t, const struct document *d,
    struct arena *a, struct store_document *out)
{
	struct judging j = { a, out, BUF_INIT };

	*out = (struct store_document){ .json = arena_copy(a, d->json) };
	if (d->json.n > t->door->set.document_bytes_max) {
		out->message = arena_printf(a, "it has %zu bytes; "
		    "external.document_bytes_max is %zu", d->json.n,
		    t->door->set.document_bytes_max);
		return;
	}
	yyjson_doc *doc = yyjson_read(d->json.p, d->json.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	external_document_check(t->connector->connector,
	    yyjson_doc_get_root(doc), FAULTS_MAX, note_fault, &j);
	yyjson_doc_free(doc);
	out->message = arena_copy(a, buf_str(&j.more));
	buf_free(&j.more);
}

/* ---- Into the spool ----------------------------------------------------- */

/* A task has at most a quarter, so that one does not stop the others. */
static bool
has_room(const struct task_run *t)
{
	const struct external_door *d = t->door;

	return d->spool_bytes < d->set.spool_bytes_max &&
	    t->spool_bytes < d->set.spool_bytes_max / 4;
}

static void
count_bytes(struct task_run *t, size_t more, size_t less)
{
	t->spool_bytes += more;
	t->door->spool_bytes += more;
	less = (size_t)MIN(less, MIN(t->spool_bytes, t->door->spool_bytes));
	t->spool_bytes -= less;
	t->door->spool_bytes -= less;
}

static enum err
emit_documents(struct task_job *x, struct store *st, struct why *w)
{
	return store_spool_emit(st, x->task->id, &x->emit, clock_wall(), w);
}

static void
put_document(struct task_run *t, uint64_t number, size_t bytes)
{
	t->window = mem_room(t->window, t->window_n, &t->window_cap, 64,
	    sizeof(*t->window));
	t->window[t->window_n++] = (struct task_document){ number, bytes };
	t->last_number = number;
	delivery_put(t->delivery, delivery_wanted(t->delivery), bytes,
	    clock_mono());
}

/* Unless others in the spool come before it. */
static void
put_if_next(struct task_run *t, uint64_t number, size_t bytes)
{
	if (delivery_wanted(t->delivery) == t->spooled_end &&
	    delivery_room(t->delivery) > 0)
		put_document(t, number, bytes);
	t->spooled_end++;
}

static void
note_emitted(struct task_job *x)
{
	struct task_run *t = x->task;

	for (size_t i = 0; i < x->n; i++) {
		const struct store_document *d = &x->documents[i];
		uint64_t number = ++t->emitted;
		if (d->message.n > 0) {
			delivery_count_rejected(t->delivery, d->message);
			task_run_log(t, "warning", "document %llu, %.*s: "
			    "%.*s", (unsigned long long)number,
			    STR_FMT(d->pointer), STR_FMT(d->message));
			continue;
		}
		put_if_next(t, number, d->json.n);
	}
	count_bytes(t, x->bytes, 0);
	external_meter_documents(x->good, x->n - x->good);
}

static void
emitted(struct task_job *x)
{
	struct task_run *t = x->task;

	t->emitting = false;
	if (x->result == ERR_INPUT || x->result == ERR_FULL) {
		/* It would be refused again. */
		task_run_close(t, 500, "The documents could not be kept",
		    arena_printf(&x->arena, "system: %s", x->why.text));
		return;
	}
	switch (task_job_judge(x)) {
	case TASK_AGAIN:
		task_run_retry_later(t);
		return;
	case TASK_OVER:
		return;
	case TASK_GO_ON:
		break;
	}
	note_emitted(x);
	t->batch_at += x->n;
	if (t->run != NULL && t->has_batch && t->batch_at == t->batch.n) {
		buf_clear(&t->cursor);
		buf_put_str(&t->cursor, x->emit.cursor);
		t->has_moved = true;
		t->has_batch = false;
		document_source_taken(t->run);
	}
	task_spool_go_on(t);
	task_run_pump(t);
}

/* The next documents of the batch, as many as one commit may have. */
static size_t
count_slice(const struct task_run *t)
{
	size_t n = 0, bytes = 0, left = t->batch.n - t->batch_at;

	for (; n < left && n < STORE_EMIT_DOCUMENTS_MAX; n++) {
		bytes += t->batch.list[t->batch_at + n].json.n;
		if (n > 0 && bytes > STORE_EMIT_BYTES_MAX / 2)
			break;
	}
	return n;
}

static void
start_emit(struct task_run *t)
{
	struct task_job *x = task_job_new(t);
	size_t n = count_slice(t);
	bool last = t->batch_at + n == t->batch.n;

	x->n = n;
	x->documents = ARENA_ARRAY(&x->arena, struct store_document, n);
	for (size_t i = 0; i < n; i++) {
		struct store_document *d = &x->documents[i];
		judge_document(t, &t->batch.list[t->batch_at + i], &x->arena,
		    d);
		if (d->message.n == 0) {
			x->good++;
			x->bytes += d->json.n;
		}
	}
	/* The cursor moves with the last document of its batch. */
	x->emit = (struct store_emit){ .first = t->emitted + 1,
	    .documents = x->documents, .n = n,
	    .cursor = arena_copy(&x->arena, last ? t->batch.cursor :
	    buf_str(&t->cursor)),
	    .checkpoint = last || t->has_moved ? task_run_checkpoint(
	    t->attempt, &x->arena) : STR_NONE };
	t->emitting = true;
	task_job_put(x, emit_documents, emitted);
}

void
task_spool_go_on(struct task_run *t)
{
	if (t->left || t->emitting || !t->has_batch || t->run == NULL)
		return;
	if (t->batch.n > 0 && !has_room(t)) {
		if (list_empty(&t->waits))
			list_put(&t->door->waiting, &t->waits);
		return;
	}
	list_take(&t->waits);
	start_emit(t);
}

void
task_spool_take(void *arg, const struct document_batch *b)
{
	struct task_run *t = arg;

	t->batch = *b;
	t->batch_at = 0;
	t->has_batch = true;
	task_spool_go_on(t);
}

void
task_spool_wake(struct external_door *d)
{
	struct list ready;

	list_init(&ready);
	list_move_all(&ready, &d->waiting);
	while (!list_empty(&ready)) {
		struct task_run *t = CONTAINER(list_pop(&ready),
		    struct task_run, waits);
		list_init(&t->waits);
		task_spool_go_on(t);
	}
}

/* ---- To the delivery ---------------------------------------------------- */

static enum err
read_sizes(struct task_job *x, struct store *st, struct why *w)
{
	return store_spool_read(st, x->task->id, x->from, x->n, x->bytes_max,
	    &x->arena, &x->documents, &x->n, w);
}

static void
filled(struct task_job *x)
{
	struct task_run *t = x->task;

	t->filling = false;
	switch (task_job_judge(x)) {
	case TASK_AGAIN:
		task_run_retry_later(t);
		return;
	case TASK_OVER:
		return;
	case TASK_GO_ON:
		break;
	}
	for (size_t i = 0; i < x->n && delivery_room(t->delivery) > 0; i++) {
		const struct store_document *d = &x->documents[i];
		if (d->number <= t->last_number)
			continue;
		put_document(t, d->number, d->json.n);
	}
	task_run_pump(t);
}

void
task_spool_fill(struct task_run *t)
{
	size_t room = delivery_room(t->delivery);

	if (t->filling || t->emitting || room == 0 ||
	    delivery_wanted(t->delivery) >= t->spooled_end)
		return;
	struct task_job *x = task_job_new(t);
	x->from = t->last_number + 1;
	x->n = room;
	x->bytes_max = FILL_BYTES_MAX;
	t->filling = true;
	task_job_put(x, read_sizes, filled);
}

/* ---- Out of the spool --------------------------------------------------- */

static enum err
save_group(struct task_job *x, struct store *st, struct why *w)
{
	uint64_t id = x->task->id;
	struct wall now = clock_wall();

	enum err e = x->acks ? store_spool_ack(st, id, &x->ack, now, w) :
	    store_task_set_delivery(st, id, buf_str(&x->delivery), now, w);
	if (e == OK && x->drop_spool)
		e = store_spool_drop(st, id, now, w);
	if (e == OK && x->has_status)
		e = store_task_set_status(st, id, &x->status, now, w);
	return e;
}

static enum err
save_state(struct task_job *x, struct store *st, struct why *w)
{
	enum err e = store_begin(st, w);

	return e == OK ? store_end(st, save_group(x, st, w), w) : e;
}

/* The answered documents leave the window. */
static void
shift_window(struct task_run *t, size_t n)
{
	if (n == 0)
		return;
	memmove(t->window, t->window + n, (t->window_n - n) *
	    sizeof(*t->window));
	t->window_n -= n;
	t->window_first += n;
}

void
task_spool_forget(struct task_run *t)
{
	count_bytes(t, 0, t->spool_bytes);
	t->window_first += t->window_n;
	t->window_n = 0;
	list_take(&t->waits);
	task_spool_wake(t->door);
}

static void
saved(struct task_job *x)
{
	struct task_run *t = x->task;

	switch (task_job_judge(x)) {
	case TASK_AGAIN:
		t->progress_new |= x->has_status;
		delivery_saved(t->delivery, false);
		task_run_retry_later(t);
		return;
	case TASK_OVER:
		return;
	case TASK_GO_ON:
		break;
	}
	delivery_saved(t->delivery, true);
	shift_window(t, x->good);
	count_bytes(t, 0, x->bytes);
	if (x->drop_spool)
		task_spool_forget(t);
	else
		task_spool_wake(t->door);
	task_run_pump(t);
}

/* Add the documents that the back end refused, by their store numbers. */
static void
add_refused(struct task_job *x, const struct delivery_step *s)
{
	const struct task_run *t = x->task;
	struct store_document *list = ARENA_ARRAY(&x->arena,
	    struct store_document, s->rejected_n);
	size_t n = 0;

	for (size_t i = 0; i < s->rejected_n; i++) {
		uint64_t at = s->rejected[i].number - t->window_first;
		if (at < t->window_n)
			list[n++] = (struct store_document){
			    .number = t->window[at].number,
			    .message = arena_copy(&x->arena,
			    s->rejected[i].reason) };
	}
	x->ack.refused = list;
	x->ack.refused_n = n;
}

static void
add_status(struct task_job *x)
{
	struct task_run *t = x->task;

	if (!t->progress_new)
		return;
	t->progress_new = false;
	x->has_status = true;
	x->status = (struct store_task_status){ .state = t->state,
	    .code = 102, .message = arena_copy(&x->arena,
	    buf_str(&t->progress)) };
}

void
task_spool_save(struct task_run *t, const struct delivery_step *s)
{
	struct task_job *x = task_job_new(t);
	size_t answered = (size_t)MIN(s->first - MIN(s->first,
	    t->window_first), t->window_n);

	delivery_save(t->delivery, &x->delivery);
	x->drop_spool = s->drop_spool;
	x->good = answered;
	for (size_t i = 0; i < answered; i++)
		x->bytes += t->window[i].bytes;
	if (answered > 0) {
		x->acks = true;
		x->ack = (struct store_ack){ .first = t->window[0].number,
		    .last = t->window[answered - 1].number,
		    .delivery = buf_str(&x->delivery) };
		add_refused(x, s);
	}
	add_status(x);
	task_job_put(x, save_state, saved);
}
