#include "base/metric.h"

/*
 * Registered metrics hang on one chain, newest first.  Nothing leaves it, so
 * that a reader needs no lock.
 */
static struct metric *_Atomic chain;

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S INT64_C(1000000000)

/* 10 us to 200 s, three to the decade. */
static const int64_t seconds_bounds[] = {
	10 * US, 20 * US, 50 * US, 100 * US, 200 * US, 500 * US,
	1 * MS, 2 * MS, 5 * MS, 10 * MS, 20 * MS, 50 * MS,
	100 * MS, 200 * MS, 500 * MS, 1 * S, 2 * S, 5 * S,
	10 * S, 20 * S, 50 * S, 100 * S, 200 * S,
};

/* 64 B to 4 GiB, each four times the one before. */
static const int64_t bytes_bounds[] = {
	INT64_C(1) << 6, INT64_C(1) << 8, INT64_C(1) << 10, INT64_C(1) << 12,
	INT64_C(1) << 14, INT64_C(1) << 16, INT64_C(1) << 18,
	INT64_C(1) << 20, INT64_C(1) << 22, INT64_C(1) << 24,
	INT64_C(1) << 26, INT64_C(1) << 28, INT64_C(1) << 30,
	INT64_C(1) << 32,
};

_Static_assert(ARRAY_LEN(seconds_bounds) <= METRIC_BUCKETS_MAX &&
    ARRAY_LEN(bytes_bounds) <= METRIC_BUCKETS_MAX, "cells are too few");

size_t
metric_bounds(enum metric_type type, const int64_t **bounds)
{
	if (type == METRIC_IS_SECONDS) {
		*bounds = seconds_bounds;
		return ARRAY_LEN(seconds_bounds);
	}
	CHECK(type == METRIC_IS_BYTES);
	*bounds = bytes_bounds;
	return ARRAY_LEN(bytes_bounds);
}

static bool
is_histogram(const struct metric *m)
{
	return m->type == METRIC_IS_SECONDS || m->type == METRIC_IS_BYTES;
}

/* [a-zA-Z_][a-zA-Z0-9_]*: colons are for recording rules. */
static bool
is_name(const char *s)
{
	if (!ascii_is_alpha(*s) && *s != '_')
		return false;
	for (; *s != '\0'; s++)
		if (!ascii_is_alpha(*s) && !ascii_is_digit(*s) && *s != '_')
			return false;
	return true;
}

static void
check_row(const struct metric *m)
{
	CHECK(is_name(m->name) && m->help != NULL);
	CHECK(m->labels_n >= 1 && m->labels_n <= METRIC_LABELS_MAX);
	CHECK(m->label == NULL || (is_name(m->label) &&
	    strcmp(m->label, "le") != 0));
	CHECK(m->label2 == NULL || (is_name(m->label2) && m->label != NULL &&
	    strcmp(m->label2, "le") != 0 && strcmp(m->label2, m->label) != 0 &&
	    m->labels_n % m->label2_n == 0));
	CHECK(m->type != METRIC_IS_COUNTER ||
	    str_ends(str_of(m->name), STR("_total")));
	for (const struct metric *o = atomic_load(&chain); o != NULL;
	    o = atomic_load(&o->next))
		CHECK(strcmp(o->name, m->name) != 0);
}

void
metric_register(struct metric *metrics, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct metric *m = &metrics[i];
		if (atomic_exchange(&m->registered, true))
			continue;
		check_row(m);
		struct metric *first = atomic_load(&chain);
		do
			atomic_store(&m->next, first);
		while (!atomic_compare_exchange_weak(&chain, &first, m));
	}
}

static _Atomic int64_t *
cells_of(const struct metric *m, size_t label)
{
	CHECK(label < m->labels_n);
	return &m->cells[label * (is_histogram(m) ? METRIC_CELLS_MAX : 1)];
}

static int64_t
read_cell(const _Atomic int64_t *cell)
{
	return atomic_load_explicit(cell, memory_order_relaxed);
}

static void
add_cell(_Atomic int64_t *cell, int64_t n)
{
	atomic_fetch_add_explicit(cell, n, memory_order_relaxed);
}

void
metric_add_by(struct metric *m, size_t label, int64_t n)
{
	CHECK(m->type == METRIC_IS_GAUGE ||
	    (m->type == METRIC_IS_COUNTER && n >= 0));
	add_cell(cells_of(m, label), n);
}

void
metric_set_by(struct metric *m, size_t label, int64_t value)
{
	CHECK(m->type == METRIC_IS_GAUGE);
	atomic_store_explicit(cells_of(m, label), value, memory_order_relaxed);
}

void
metric_observe_by(struct metric *m, size_t label, int64_t value)
{
	_Atomic int64_t *cells = cells_of(m, label);
	const int64_t *bounds;
	size_t low = 0, high = metric_bounds(m->type, &bounds);

	CHECK(value >= 0);
	/* The first bound that is not below the value, or none: high. */
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (bounds[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	add_cell(&cells[low], 1);
	add_cell(&cells[METRIC_CELLS_MAX - 1], value);
}

void
metric_add(struct metric *m, int64_t n)
{
	metric_add_by(m, 0, n);
}

void
metric_set(struct metric *m, int64_t value)
{
	metric_set_by(m, 0, value);
}

void
metric_observe(struct metric *m, int64_t value)
{
	metric_observe_by(m, 0, value);
}

int64_t
metric_value(const struct metric *m, size_t label)
{
	const _Atomic int64_t *cells = cells_of(m, label);
	const int64_t *bounds;
	int64_t count = 0;

	if (!is_histogram(m))
		return read_cell(cells);
	for (size_t i = 0; i <= metric_bounds(m->type, &bounds); i++)
		count += read_cell(&cells[i]);
	return count;
}

int64_t
metric_sum(const struct metric *m, size_t label)
{
	CHECK(is_histogram(m));
	return read_cell(&cells_of(m, label)[METRIC_CELLS_MAX - 1]);
}

static int
by_name(const void *a, const void *b)
{
	const struct metric *const *ma = a, *const *mb = b;

	return strcmp((*ma)->name, (*mb)->name);
}

void
metric_each(void (*visit)(const struct metric *, void *arg), void *arg)
{
	struct metric *first = atomic_load(&chain);
	size_t n = 0, i = 0;

	for (struct metric *m = first; m != NULL; m = atomic_load(&m->next))
		n++;
	const struct metric **sorted = mem_array(MAX(n, 1), sizeof(*sorted));
	for (struct metric *m = first; m != NULL; m = atomic_load(&m->next))
		sorted[i++] = m;
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (i = 0; i < n; i++)
		visit(sorted[i], arg);
	mem_free(&sorted);
}

static void
put_escaped(struct buf *b, const char *s, bool quotes)
{
	for (; *s != '\0'; s++) {
		if (*s == '\\')
			buf_put_text(b, "\\\\");
		else if (*s == '\n')
			buf_put_text(b, "\\n");
		else if (*s == '"' && quotes)
			buf_put_text(b, "\\\"");
		else
			buf_put_char(b, *s);
	}
}

/* Nanoseconds as seconds, exactly and without trailing zeros. */
static void
put_number(struct buf *b, const struct metric *m, int64_t v)
{
	buf_printf(b, "%lld", (long long)(m->type == METRIC_IS_SECONDS ?
	    v / S : v));
	if (m->type != METRIC_IS_SECONDS || v % S == 0)
		return;
	buf_printf(b, ".%09lld", (long long)(v % S));
	while (b->p[b->n - 1] == '0')
		b->n--;
}

static void
put_label(struct buf *b, const char *comma, const char *label,
    const char *text)
{
	buf_printf(b, "%s%s=\"", comma, label);
	put_escaped(b, text, true);
	buf_put_char(b, '"');
}

/* "name_suffix{label="text",le="0.5"} ", its parts where they exist. */
static void
put_series(struct buf *b, const struct metric *m, size_t label,
    const char *suffix, const int64_t *bound, bool last)
{
	bool any = m->label != NULL, le = bound != NULL || last;

	buf_printf(b, "%s%s%s", m->name, suffix, any || le ? "{" : "");
	if (m->label2 != NULL) {
		put_label(b, "", m->label,
		    m->label_texts[label / m->label2_n]);
		put_label(b, ",", m->label2,
		    m->label2_texts[label % m->label2_n]);
	} else if (any) {
		put_label(b, "", m->label, m->label_texts[label]);
	}
	if (le) {
		buf_printf(b, "%sle=\"", any ? "," : "");
		if (last)
			buf_put_text(b, "+Inf");
		else
			put_number(b, m, *bound);
		buf_put_char(b, '"');
	}
	buf_put_text(b, any || le ? "} " : " ");
}

static void
put_histogram(struct buf *b, const struct metric *m, size_t label)
{
	const _Atomic int64_t *cells = cells_of(m, label);
	const int64_t *bounds;
	size_t n = metric_bounds(m->type, &bounds);
	int64_t sum = metric_sum(m, label), count = 0;

	for (size_t i = 0; i <= n; i++) {
		count += read_cell(&cells[i]);
		put_series(b, m, label, "_bucket", i < n ? &bounds[i] : NULL,
		    i == n);
		buf_printf(b, "%lld\n", (long long)count);
	}
	put_series(b, m, label, "_sum", NULL, false);
	put_number(b, m, sum);
	buf_put_char(b, '\n');
	put_series(b, m, label, "_count", NULL, false);
	buf_printf(b, "%lld\n", (long long)count);
}

static void
put_metric(const struct metric *m, void *arg)
{
	static const char *const types[] = { "counter", "gauge", "histogram",
		"histogram" };
	struct buf *b = arg;

	buf_printf(b, "# HELP %s ", m->name);
	put_escaped(b, m->help, false);
	buf_printf(b, "\n# TYPE %s %s\n", m->name, types[m->type]);
	for (size_t i = 0; i < m->labels_n; i++) {
		if (m->label2 != NULL && metric_value(m, i) == 0)
			continue;
		if (is_histogram(m)) {
			put_histogram(b, m, i);
			continue;
		}
		put_series(b, m, i, "", NULL, false);
		buf_printf(b, "%lld\n", (long long)metric_value(m, i));
	}
}

void
metric_write(struct buf *b)
{
	metric_each(put_metric, b);
}
