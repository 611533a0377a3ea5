#include "doors/items/exchange.h"

#include "base/json_writer.h"
#include "doors/items/meter.h"
#include "os/clock.h"
#include "os/log.h"

struct exchange *
exchange_new(struct web_request *r)
{
	struct exchange *x = mem_new(sizeof(*x));

	x->door = web_arg(r);
	x->request = r;
	x->status = 200;
	drain_gate_enter(&x->door->asked);
	return x;
}

void
exchange_free(struct exchange **xp)
{
	struct exchange *x = *xp;
	struct items_door *d = x->door;

	yyjson_doc_free(x->body);
	buf_free(&x->out);
	buf_free(&x->next);
	buf_free(&x->read.out);
	arena_free(&x->write.arena);
	arena_free(&x->read.arena);
	arena_free(&x->arena);
	mem_free(&x->more);
	mem_free(xp);
	drain_gate_leave(&d->asked);
}

/* -- Errors -- */

/* Fields whose limit is one of bytes: 413.  The rest of FULL is 429. */
static const char *const sizes[] = { "data", "metadata", "bytes", "blob",
	"patch", "completions" };

static int
status_of(enum err e, const struct why *w)
{
	struct str field = str_of(w->field);

	if (e == ERR_FULL && STR_ROW(field, sizes) < ARRAY_LEN(sizes))
		return 413;
	if (e == ERR_FULL && str_eq(field, STR("tag_names")))
		return 422;
	if (items_are_busy(e, w))
		return 503;
	/* PostgreSQL is away, or another daemon was quicker for too long. */
	if (e == ERR_UNREACHED || e == ERR_BUSY || e == ERR_TIMEOUT)
		return 503;
	return err_http(e);
}

bool
exchange_is_fault(enum err e)
{
	return e == ERR_INPUT || e == ERR_ABSENT || e == ERR_EXISTS ||
	    e == ERR_STATE || e == ERR_FULL || e == ERR_DENIED;
}

/* While the store is away each request fails: one line tells of many. */
static void
log_failure(struct items_door *d, const struct why *w)
{
	struct mono now = clock_mono();

	if (mono_before(now, d->log_at)) {
		d->unlogged++;
		return;
	}
	log_error("items.failed", "why=%s unlogged_before=%llu", log_why(w),
	    (unsigned long long)d->unlogged);
	d->log_at = mono_add_ms(now, EXCHANGE_LOG_MS);
	d->unlogged = 0;
}

struct exchange_refusal
exchange_refusal(struct items_door *d, enum err e, const struct why *w)
{
	struct exchange_refusal r = { .text = err_text(e) };
	bool told = w != NULL && w->text[0] != '\0';
	struct why none = WHY_INIT;

	r.status = status_of(e, w == NULL ? &none : w);
	snprintf(r.code, sizeof(r.code), "%s", err_name(e));
	for (char *p = r.code; *p != '\0'; p++)
		*p = ascii_lower(*p);
	if (r.status == 413)
		snprintf(r.code, sizeof(r.code), "limit");
	if (told && err_is_internal(e))
		log_failure(d, w);
	else if (told)
		r.text = w->text;
	return r;
}

void
exchange_put_time(struct buf *b, const char *name, struct wall t)
{
	char iso[WALL_ISO_MAX];

	if (name != NULL)
		json_name(b, name);
	if (t.us == ITEM_TIME_NONE.us) {
		buf_put_text(b, "null");
		return;
	}
	/* "2026-11-20T09:18:16.123456Z": milliseconds will do. */
	wall_to_iso(t, iso);
	buf_printf(b, "\"%.23sZ\"", iso);
}

void
exchange_put_error(struct buf *b, const struct exchange_refusal *r)
{
	json_object(b, NULL);
	json_str(b, "error", str_of(r->text));
	json_str(b, "code", str_of(r->code));
}

void
exchange_refuse(struct exchange *x, enum err e, const struct why *w)
{
	struct exchange_refusal r = exchange_refusal(x->door, e, w);

	if (e == ERR_FULL)
		items_meter_limit(w->field);
	if (x->refusal != 0)
		r.status = x->refusal;
	if (r.status == 503)
		web_add_field(x->request, "retry-after", "1");
	web_fail(x->request, r.status, x->refusal != 0 ? x->refusal_code :
	    r.code, "%s", r.text);
	exchange_free(&x);
}

/* -- Answers -- */

void
exchange_answer(struct exchange *x)
{
	char tag[32];

	if (x->rev != 0) {
		snprintf(tag, sizeof(tag), "\"%llu\"",
		    (unsigned long long)x->rev);
		web_add_field(x->request, "etag", tag);
	}
	web_answer(x->request, x->status, "application/json",
	    buf_str(&x->out));
	exchange_free(&x);
}

static void
go_on(struct exchange *x, enum err e, const struct why *w)
{
	if (e != OK)
		exchange_refuse(x, e, w);
	else if (x->then != NULL)
		x->then(x);
	else
		exchange_answer(x);
}

/* -- The reader's thread -- */

static enum err
run_read(struct items_read *r, struct item_store *st, struct why *w)
{
	struct exchange *x = CONTAINER(r, struct exchange, read);

	return x->look(x, st, w);
}

static void
read_done(struct items_read *r)
{
	struct exchange *x = CONTAINER(r, struct exchange, read);

	go_on(x, r->result, &r->why);
}

void
exchange_read_to(struct exchange *x, enum err (*look)(struct exchange *,
    struct item_store *, struct why *), void (*done)(struct items_read *))
{
	x->look = look;
	x->read.run = run_read;
	x->read.done = done;
	x->read.result = OK;
	x->read.why = WHY_INIT;
	items_read(x->door->items, &x->read);
}

void
exchange_read(struct exchange *x, enum err (*look)(struct exchange *,
    struct item_store *, struct why *))
{
	exchange_read_to(x, look, read_done);
}

/* -- The writer's thread -- */

static void
want_rows(struct items_write *w, struct item_tx *tx)
{
	struct exchange *x = CONTAINER(w, struct exchange, write);

	x->want(x, tx);
}

static enum err
run_write(struct items_write *wr, struct item_tx *tx, struct why *w)
{
	struct exchange *x = CONTAINER(wr, struct exchange, write);

	buf_clear(&x->out);
	return x->work(x, tx, w);
}

static void
write_done(struct items_write *w)
{
	struct exchange *x = CONTAINER(w, struct exchange, write);

	go_on(x, w->result, &w->why);
}

void
exchange_write(struct exchange *x, void (*want)(struct exchange *,
    struct item_tx *), enum err (*work)(struct exchange *, struct item_tx *,
    struct why *))
{
	x->want = want;
	x->work = work;
	x->write.want = want == NULL ? NULL : want_rows;
	x->write.run = run_write;
	x->write.done = write_done;
	x->write.result = OK;
	x->write.why = WHY_INIT;
	items_write(x->door->items, &x->write);
}
