/*
 * The seam: what SQLite and PostgreSQL have in common.
 *
 *     database_query ─► bind ─► step, step ... ─► query_end ─► kept, unused
 *
 * A bound value is remembered here, so that a backend may bind it to each row's
 * run, or put all rows into one message.
 */
#include "os/database_own.h"

/* More values than these are not kept between two uses of a query. */
#define VALUES_KEPT_MAX 16384u

void
database_init(struct database *d, const struct backend *b)
{
	database_failure_register();
	d->backend = b;
	d->failed = WHY_INIT;
	list_init(&d->unused);
}

void
database_close(struct database **dp)
{
	struct database *d = *dp;

	*dp = NULL;
	if (d == NULL)
		return;
	CHECK(!d->in_transaction);
	database_write_succeeded(d);   /* Nobody waits for it any more. */
	d->backend->close(d);
}

enum err
database_migrate(struct database *d, const struct sql *steps, unsigned n,
    struct why *w)
{
	CHECK(!d->in_transaction);
	return d->backend->migrate(d, steps, n, w);
}

enum err
database_check(struct database *d, struct why *w)
{
	return d->backend->check(d, w);
}

/* -- Transactions -- */

static enum err
begin_transaction(struct database *d, bool only_reads, struct why *w)
{
	struct why inner = WHY_INIT;

	CHECK(!d->in_transaction);
	d->only_reads = only_reads;
	d->failed = WHY_INIT;
	enum err e = d->backend->begin(d, &inner);
	d->has_changed = false;      /* Its statement may have been counted. */
	if (e != OK && !only_reads)
		database_write_failed(d, &inner);
	if (e != OK && w != NULL && w->err == OK)
		*w = inner;
	d->in_transaction = e == OK;
	d->only_reads &= d->in_transaction;
	return e;
}

enum err
database_begin(struct database *d, struct why *w)
{
	return begin_transaction(d, false, w);
}

enum err
database_begin_read(struct database *d, struct why *w)
{
	return begin_transaction(d, true, w);
}

enum err
database_end(struct database *d, enum err so_far, struct why *w)
{
	enum err e = so_far;
	bool writes = !d->only_reads;

	CHECK(d->in_transaction);
	d->in_transaction = d->only_reads = false;
	if (e == OK && d->failed.err == OK)
		(void)!d->backend->commit(d, &d->failed);
	if (e == OK && d->failed.err != OK)
		e = why(w, d->failed.err, "%s", d->failed.text);
	if (writes && d->failed.err != OK)
		database_write_failed(d, &d->failed);
	else if (e == OK && d->has_changed)
		database_write_succeeded(d);
	d->failed = WHY_INIT;
	if (e != OK)
		d->backend->roll_back(d);
	return e;
}

enum err
database_touch(struct database *d, struct why *w)
{
	struct why inner = WHY_INIT;

	CHECK(d->in_transaction);
	d->has_changed = true;
	enum err e = d->failed.err != OK ? d->failed.err :
	    d->backend->touch(d, &inner);
	if (d->failed.err == OK)
		d->failed = inner;
	return e == OK ? OK : why(w, e, "%s", d->failed.text);
}

/* -- The cache of queries -- */

void
query_fail(struct query *q, enum err e, const struct why *w)
{
	struct database *d = q->database;

	if (e == OK)
		return;
	if (q->err == OK) {
		q->err = e;
		q->why = *w;
	}
	if (d->in_transaction && d->failed.err == OK)
		d->failed = q->why;
}

static void
free_query(struct query *q)
{
	if (q->is_cached) {
		map_take(&q->database->queries, str_of(q->text));
		list_take(&q->node);
	}
	mem_free(&q->values);
	q->database->backend->query_free(q);
}

void
database_forget_queries(struct database *d)
{
	while (!list_empty(&d->unused))
		free_query(LIST_ITEM(d->unused.next, struct query, node));
	CHECK(d->queries.n == 0);
	map_free(&d->queries);
}

static struct query *
make_query(struct database *d, const char *text, bool is_cached)
{
	struct query *q = d->backend->query_new(d, text);

	q->text = text;
	q->is_cached = is_cached;
	list_init(&q->node);
	if (is_cached)
		map_put(&d->queries, str_of(text), q);
	return q;
}

static struct query *
find_query(struct database *d, const char *text)
{
	struct query *q = map_get(&d->queries, str_of(text));

	if (q != NULL && !q->is_used)
		return q;
	if (q != NULL)
		return make_query(d, text, false);
	if (d->queries.n >= DATABASE_QUERIES_MAX && !list_empty(&d->unused))
		free_query(LIST_ITEM(d->unused.next, struct query, node));
	return make_query(d, text, true);
}

/* Room for the values of the row after the last, all NULL. */
static void
add_row(struct query *q)
{
	size_t begin = q->rows * q->width, n = begin + q->width;

	if (n > q->values_cap) {
		q->values_cap = MAX(n, 2 * q->values_cap);
		q->values = mem_resize(q->values, q->values_cap,
		    sizeof(*q->values));
	}
	if (q->width > 0)
		memset(q->values + begin, 0, q->width * sizeof(*q->values));
}

static struct query *
use_query(struct database *d, const char *text, bool is_bulk)
{
	struct query *q = find_query(d, text);

	list_take(&q->node);
	q->is_used = true;
	q->is_bulk = is_bulk;
	add_row(q);
	if (d->in_transaction)
		query_fail(q, d->failed.err, &d->failed);
	return q;
}

static const char *
text_of(const struct database *d, const struct sql *s)
{
	return database_is_postgresql(d) && s->postgresql != NULL ?
	    s->postgresql : s->sqlite;
}

struct query *
database_query(struct database *d, const char *text)
{
	return use_query(d, text, false);
}

struct query *
database_query_sql(struct database *d, const struct sql *s)
{
	return use_query(d, text_of(d, s), false);
}

struct query *
database_bulk(struct database *d, const struct sql *s)
{
	return use_query(d, text_of(d, s), true);
}

static void
put_back(struct query *q)
{
	struct database *d = q->database;

	if (!q->is_cached || !q->is_prepared) {
		free_query(q);
		return;
	}
	if (q->values_cap > VALUES_KEPT_MAX) {
		mem_free(&q->values);
		q->values_cap = 0;
	}
	q->is_used = q->has_run = false;
	q->rows = 0;
	q->changes = 0;
	q->err = OK;
	q->why = WHY_INIT;
	list_put(&d->unused, &q->node);
}

enum err
query_end(struct query **qp, struct why *w)
{
	struct query *q = *qp;

	*qp = NULL;
	if (q->is_bulk)
		while (query_step(q))
			;
	q->database->backend->reset(q);
	enum err e = q->err;
	if (e != OK)
		why(w, e, "%s", q->why.text);
	q->database->has_changed |= q->changes > 0;
	put_back(q);
	return e;
}

void
query_post(struct query **qp)
{
	struct query *q = *qp;

	CHECK(q->database->in_transaction && !q->has_run);
	*qp = NULL;
	if (!q->is_bulk)
		q->rows = 1;
	q->has_run = true;
	if (q->err == OK && q->rows > 0)
		q->database->backend->post(q);
	q->database->has_changed |= q->rows > 0;   /* Or may have. */
	q->database->backend->reset(q);
	put_back(q);
}

enum err
database_do(struct database *d, const char *text, struct why *w)
{
	struct query *q = database_query(d, text);

	while (query_step(q))
		;
	return query_end(&q, w);
}

enum err
database_number(struct database *d, const char *text, int64_t *out,
    struct why *w)
{
	struct query *q = database_query(d, text);

	*out = 0;
	if (query_step(q))
		*out = query_get_i64(q, 0);
	return query_end(&q, w);
}

/* -- Binding -- */

static void
fail_parameter(struct query *q, int at)
{
	struct why w = WHY_INIT;

	query_fail(q, why(&w, ERR_BROKEN, "there is no parameter ?%d", at),
	    &w);
}

/* Where to bind it; NULL: there is no such parameter, or an error. */
static inline struct value *
value_at(struct query *q, int at)
{
	CHECK(!q->has_run);
	if (q->err != OK)
		return NULL;
	if (at >= 1 && (unsigned)at <= q->width)
		return &q->values[q->rows * q->width + (unsigned)at - 1];
	fail_parameter(q, at);
	return NULL;
}

void
query_str(struct query *q, int at, struct str s)
{
	struct value *v = value_at(q, at);

	if (v == NULL)
		return;
	v->kind = s.p == NULL ? VALUE_NULL : VALUE_STR;
	v->str = s;
}

void
query_bytes(struct query *q, int at, struct str s)
{
	struct value *v = value_at(q, at);

	if (v == NULL)
		return;
	v->kind = VALUE_BYTES;
	v->str = s.n == 0 ? STR("") : s;
}

void
query_i64(struct query *q, int at, int64_t i64)
{
	struct value *v = value_at(q, at);

	if (v == NULL)
		return;
	v->kind = VALUE_I64;
	v->i64 = i64;
}

void
query_null(struct query *q, int at)
{
	struct value *v = value_at(q, at);

	if (v != NULL)
		v->kind = VALUE_NULL;
}

void
query_row(struct query *q)
{
	CHECK(q->is_bulk && !q->has_run);
	if (q->err != OK)
		return;
	q->rows++;
	add_row(q);
}

/* -- Reading -- */

bool
query_step(struct query *q)
{
	if (q->err != OK)
		return false;
	if (!q->is_bulk)
		q->rows = 1;
	q->has_run = true;
	return q->rows > 0 && q->database->backend->step(q);
}

struct str
query_get_str(struct query *q, int column)
{
	return q->database->backend->get_str(q, column);
}

int64_t
query_get_i64(struct query *q, int column)
{
	return q->database->backend->get_i64(q, column);
}

bool
query_is_null(struct query *q, int column)
{
	return q->database->backend->is_null(q, column);
}

int64_t
query_changes(const struct query *q)
{
	return q->err == OK ? q->changes : 0;
}
