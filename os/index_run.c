#include "os/index_run.h"

#include "os/pages.h"

#define OPS_MIN 64
/* Larger runs have pages of their own, which go back to the system at once. */
#define PAGES_FROM_BYTES ((size_t)512 << 10)
/* Runs that would be larger together are not merged: it takes memory twice. */
#define MERGED_BYTES_MAX ((size_t)4 << 20)
/* Runs that are smaller together are merged at once: under a millisecond. */
#define MERGED_AT_ONCE_MAX ((size_t)192 << 10)

static struct str
op_key(const char *bytes, const struct run_op *o)
{
	return (struct str){ bytes + o->at, o->key_n };
}

static struct str
op_value(const char *bytes, const struct run_op *o)
{
	if (o->value_n == RUN_DELETED)
		return STR_NONE;
	return (struct str){ bytes + o->at + o->key_n, o->value_n };
}

void
run_release(struct index_run *r)
{
	if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (r->allocated < PAGES_FROM_BYTES)
		free(r);
	else
		pages_free(r, r->allocated);
}

static struct index_run *
hold_run(struct index_run *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

/*
 * One allocation: the struct, ranges, operations, bytes.  Room that is not used
 * costs no memory in a large one, since its pages are never touched.
 */
static struct run_new
allocate_run(size_t ops_n, size_t ranges_n, size_t bytes_n)
{
	size_t size = sizeof(struct index_run) +
	    ranges_n * sizeof(struct run_range) +
	    ops_n * sizeof(struct run_op) + bytes_n;
	struct index_run *r = size < PAGES_FROM_BYTES ?
	    mem_resize(NULL, size, 1) : pages_new(size);
	struct run_range *ranges = (struct run_range *)(void *)(r + 1);
	struct run_op *ops = (struct run_op *)(void *)(ranges + ranges_n);
	char *bytes = (char *)(ops + ops_n);

	*r = (struct index_run){ .allocated = size, .ops = ops,
	    .ranges = ranges, .bytes = bytes };
	atomic_init(&r->refs, 1);
	return (struct run_new){ r, ops, ranges, bytes };
}

static struct str
copy_into(struct run_new *n, struct str s)
{
	char *to = n->bytes + n->run->bytes_n;

	if (s.n != 0)
		memcpy(to, s.p, s.n);
	n->run->bytes_n += s.n;
	return (struct str){ to, s.n };
}

static void
copy_range(struct run_new *n, struct str from, struct str to)
{
	struct run_range *r = &n->ranges[n->run->ranges_n++];

	r->from = copy_into(n, from);
	r->to = copy_into(n, to);
}

static struct index_run *
finish_run(struct run_new *n)
{
	struct index_run *r = n->run;

	r->size = sizeof(*r) + r->ranges_n * sizeof(*n->ranges) +
	    r->ops_n * sizeof(*n->ops) + r->bytes_n;
	return r;
}

/* --- building ------------------------------------------------------------- */

void
run_builder_free(struct run_builder *b)
{
	buf_free(&b->bytes);
	mem_free(&b->ops);
	mem_free(&b->ranges);
	*b = (struct run_builder){ 0 };
}

void
run_builder_clear(struct run_builder *b)
{
	buf_clear(&b->bytes);
	b->ops_n = b->ranges_n = 0;
	b->unsorted = false;
}

bool
run_builder_is_empty(const struct run_builder *b)
{
	return b->ops_n == 0 && b->ranges_n == 0;
}

static struct run_op
copy_bytes(struct run_builder *b, struct str one, struct str two)
{
	struct run_op o = { (uint32_t)b->bytes.n, (uint32_t)one.n,
	    (uint32_t)two.n };

	CHECK(b->bytes.n + one.n + two.n < RUN_DELETED);
	buf_put_str(&b->bytes, one);
	buf_put_str(&b->bytes, two);
	return o;
}

static void
add_op(struct run_builder *b, struct str key, struct str value, bool deletes)
{
	struct run_op o = copy_bytes(b, key, value);

	if (deletes)
		o.value_n = RUN_DELETED;
	if (b->ops_n > 0) {
		struct run_op *last = &b->ops[b->ops_n - 1];
		int c = str_cmp(op_key(b->bytes.p, last), key);
		if (c == 0) {
			*last = o;
			return;
		}
		b->unsorted = b->unsorted || c > 0;
	}
	b->ops = mem_room(b->ops, b->ops_n, &b->ops_cap, OPS_MIN,
	    sizeof(*b->ops));
	b->ops[b->ops_n++] = o;
}

void
run_builder_put(struct run_builder *b, struct str key, struct str value)
{
	add_op(b, key, value, false);
}

void
run_builder_delete(struct run_builder *b, struct str key)
{
	add_op(b, key, STR_NONE, true);
}

void
run_builder_range(struct run_builder *b, struct str from, struct str to)
{
	CHECK(b->ops_n == 0);
	b->ranges = mem_room(b->ranges, b->ranges_n, &b->ranges_cap, 4,
	    sizeof(*b->ranges));
	b->ranges[b->ranges_n++] = copy_bytes(b, from, to);
}

/* --- sorting -------------------------------------------------------------- */

struct sort_item {
	uint64_t head;               /* of what follows the common prefix */
	const char *key;
	struct run_op op;
};

/* By key, then by age: a later operation has a higher offset. */
static int
compare_items(const void *va, const void *vb)
{
	const struct sort_item *a = va, *b = vb;

	if (a->head != b->head)
		return a->head < b->head ? -1 : 1;
	int c = str_cmp((struct str){ a->key, a->op.key_n },
	    (struct str){ b->key, b->op.key_n });
	return c != 0 ? c : a->op.at < b->op.at ? -1 : 1;
}

/* The number of bytes with which all keys begin. */
static size_t
common_prefix(const struct run_builder *b)
{
	struct str first = op_key(b->bytes.p, &b->ops[0]);
	size_t n = first.n;

	for (size_t i = 1; i < b->ops_n && n > 0; i++) {
		struct str key = op_key(b->bytes.p, &b->ops[i]);
		n = MIN(n, key.n);
		while (n > 0 && memcmp(first.p, key.p, n) != 0)
			n--;
	}
	return n;
}

/*
 * The first eight bytes as a number that is ordered as they are; those that are
 * missing count as zeros.
 */
static uint64_t
head_of(struct str key)
{
	uint8_t b[8] = { 0 };

	memcpy(b, key.p, MIN(key.n, sizeof(b)));
	return (uint64_t)b[0] << 56 | (uint64_t)b[1] << 48 |
	    (uint64_t)b[2] << 40 | (uint64_t)b[3] << 32 |
	    (uint64_t)b[4] << 24 | (uint64_t)b[5] << 16 |
	    (uint64_t)b[6] << 8 | b[7];
}

static void
sort_ops(struct run_builder *b)
{
	struct sort_item *items = mem_resize(NULL, b->ops_n, sizeof(*items));
	size_t prefix_n = common_prefix(b), n = 0;

	for (size_t i = 0; i < b->ops_n; i++) {
		struct str key = op_key(b->bytes.p, &b->ops[i]);
		items[i] = (struct sort_item){ head_of((struct str){
		    key.p + prefix_n, key.n - prefix_n }), key.p, b->ops[i] };
	}
	qsort(items, b->ops_n, sizeof(*items), compare_items);
	for (size_t i = 0; i < b->ops_n; i++) {
		if (i + 1 < b->ops_n && str_eq(op_key(b->bytes.p,
		    &items[i].op), op_key(b->bytes.p, &items[i + 1].op)))
			continue;
		b->ops[n++] = items[i].op;
	}
	b->ops_n = n;
	free(items);
}

struct index_run *
run_builder_finish(struct run_builder *b)
{
	if (b->unsorted)
		sort_ops(b);
	struct run_new n = allocate_run(b->ops_n, b->ranges_n, b->bytes.n);
	if (b->bytes.n != 0)
		memcpy(n.bytes, b->bytes.p, b->bytes.n);
	if (b->ops_n != 0)
		memcpy(n.ops, b->ops, b->ops_n * sizeof(*n.ops));
	n.run->ops_n = b->ops_n;
	n.run->ranges_n = b->ranges_n;
	n.run->bytes_n = b->bytes.n;
	for (size_t i = 0; i < b->ranges_n; i++)
		n.ranges[i] = (struct run_range){
		    op_key(n.bytes, &b->ranges[i]),
		    op_value(n.bytes, &b->ranges[i]) };
	run_builder_clear(b);
	return finish_run(&n);
}

/* --- lists ---------------------------------------------------------------- */

struct run_list *
run_list_hold(struct run_list *l)
{
	if (l != NULL)
		atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
	return l;
}

void
run_list_release(struct run_list *l)
{
	if (l == NULL ||
	    atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < l->n; i++)
		run_release(l->runs[i]);
	free(l);
}

size_t
run_list_size(const struct run_list *l)
{
	size_t size = 0;

	for (size_t i = 0; l != NULL && i < l->n; i++)
		size += l->runs[i]->size;
	return size;
}

/* `first`, then `n` runs of `old` from `skip` on. */
static struct run_list *
make_list(struct index_run *first, const struct run_list *old, size_t skip,
    size_t n)
{
	size_t all = n + (first != NULL);
	struct run_list *l = mem_resize(NULL,
	    sizeof(*l) + all * sizeof(l->runs[0]), 1);

	atomic_init(&l->refs, 1);
	l->n = 0;
	if (first != NULL)
		l->runs[l->n++] = first;
	for (size_t i = 0; i < n; i++)
		l->runs[l->n++] = hold_run(old->runs[skip + i]);
	return l;
}

static size_t
count_ranges(const struct run_list *l, size_t n)
{
	size_t ranges = 0;

	for (size_t i = 0; i < n; i++)
		ranges += l->runs[i]->ranges_n;
	return ranges;
}

/* With room for all that is in the first `n` runs, and with their ranges. */
static struct run_new
begin_merged(const struct run_list *l, size_t n)
{
	size_t ops = 0, bytes = 0;

	for (size_t i = 0; i < n; i++) {
		ops += l->runs[i]->ops_n;
		bytes += l->runs[i]->bytes_n;
	}
	CHECK(bytes < RUN_DELETED);
	struct run_new merged = allocate_run(ops, count_ranges(l, n), bytes);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < l->runs[i]->ranges_n; j++)
			copy_range(&merged, l->runs[i]->ranges[j].from,
			    l->runs[i]->ranges[j].to);
	return merged;
}

static void
merge_one(struct run_new *to, struct str key, struct str value, bool deleted)
{
	to->ops[to->run->ops_n++] = (struct run_op){
	    (uint32_t)to->run->bytes_n, (uint32_t)key.n,
	    deleted ? RUN_DELETED : (uint32_t)value.n };
	copy_into(to, key);
	copy_into(to, value);
}

/*
 * The number of the newest runs that are merged, or 0.  The oldest of them is
 * at most half as large as all that came later: so there are few runs, and
 * each operation is merged a few times.
 */
static size_t
count_mergeable(const struct run_list *l, size_t bytes_max)
{
	size_t newer = 0, n = 0;

	for (size_t i = 0; i < l->n && !l->runs[i]->frozen &&
	    !l->runs[i]->merging; i++) {
		size_t size = l->runs[i]->size;
		if (newer + size > bytes_max)
			break;
		if (i + 1 >= RUNS_MERGED && 2 * size <= newer)
			n = i + 1;
		newer += size;
	}
	return n;
}

static void
begin_merging(struct run_merging *m, const struct run_list *l, size_t n)
{
	m->from = make_list(NULL, l, 0, n);
	m->to = begin_merged(l, n);
	for (size_t i = 0; i < n; i++)
		l->runs[i]->merging = true;
	run_merge_begin(&m->walk, m->from, NULL, true);
	run_merge_seek(&m->walk, STR(""), false);
}

/* True when the merge is complete. */
static bool
merge_some(struct run_merging *m, size_t bytes)
{
	size_t end = m->to.run->bytes_n + bytes;
	struct str key, value;
	bool deleted;

	while (run_merge_at(&m->walk, &key, &value, &deleted)) {
		if (m->to.run->bytes_n >= end)
			return false;
		merge_one(&m->to, key, value, deleted);
		run_merge_step(&m->walk, false);
	}
	return true;
}

/* Replace the runs that were merged by the one that they became. */
static struct run_list *
put_merged(struct run_merging *m, struct run_list *old)
{
	size_t at = 0, n = m->from->n;

	while (old->runs[at] != m->from->runs[0])
		at++;
	struct run_list *l = make_list(NULL, old, 0, old->n);
	for (size_t i = at; i < at + n; i++)
		run_release(l->runs[i]);
	l->runs[at] = finish_run(&m->to);
	m->to.run = NULL;
	memmove(&l->runs[at + 1], &l->runs[at + n],
	    (l->n - at - n) * sizeof(l->runs[0]));
	l->n -= n - 1;
	run_list_release(old);
	return l;
}

void
run_merging_end(struct run_merging *m)
{
	if (m->from == NULL)
		return;
	run_merge_end(&m->walk);
	if (m->to.run != NULL)
		run_release(m->to.run);
	run_list_release(m->from);
	*m = (struct run_merging){ 0 };
}

bool
run_merging_is_frozen(const struct run_merging *m)
{
	return m->from != NULL && m->from->runs[0]->frozen;
}

struct run_list *
run_merging_step(struct run_merging *m, struct run_list *l, size_t bytes)
{
	size_t n;

	if (run_merging_is_frozen(m))
		run_merging_end(m);
	if (m->from == NULL) {
		n = count_mergeable(l, MERGED_BYTES_MAX);
		if (n == 0)
			return l;
		begin_merging(m, l, n);
	}
	if (!merge_some(m, bytes))
		return l;
	l = put_merged(m, l);
	run_merging_end(m);
	return l;
}

struct run_list *
run_list_add(struct run_list *old, struct index_run *r)
{
	struct run_list *l = make_list(r, old, 0, old == NULL ? 0 : old->n);
	struct run_merging m = { 0 };
	size_t n;

	run_list_release(old);
	while ((n = count_mergeable(l, MERGED_AT_ONCE_MAX)) != 0) {
		begin_merging(&m, l, n);
		merge_some(&m, SIZE_MAX / 2);
		l = put_merged(&m, l);
		run_merging_end(&m);
	}
	return l;
}

struct run_list *
run_list_drop(struct run_list *old, size_t n)
{
	struct run_list *l = NULL;

	CHECK(old != NULL && n <= old->n);
	if (n < old->n)
		l = make_list(NULL, old, 0, old->n - n);
	run_list_release(old);
	return l;
}

/* --- looking up ----------------------------------------------------------- */

/* The number of operations with keys before this one; `*same`: it is next. */
static size_t
find_op(const struct index_run *r, struct str key, bool *same)
{
	size_t low = 0, high = r->ops_n;

	*same = false;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = str_cmp(op_key(r->bytes, &r->ops[mid]), key);
		if (c < 0) {
			low = mid + 1;
		} else {
			high = mid;
			*same = *same || c == 0;
		}
	}
	return low;
}

static bool
has_deleted_range(const struct index_run *r, struct str key)
{
	for (size_t i = 0; i < r->ranges_n; i++)
		if (str_cmp(r->ranges[i].from, key) <= 0 &&
		    str_cmp(key, r->ranges[i].to) < 0)
			return true;
	return false;
}

enum run_answer
run_list_find(const struct run_list *l, struct str key, struct str *value)
{
	bool same;

	*value = STR_NONE;
	for (size_t i = 0; l != NULL && i < l->n; i++) {
		const struct index_run *r = l->runs[i];
		size_t at = find_op(r, key, &same);
		if (same) {
			*value = op_value(r->bytes, &r->ops[at]);
			return r->ops[at].value_n == RUN_DELETED ? RUN_GONE :
			    RUN_PUT;
		}
		if (has_deleted_range(r, key))
			return RUN_GONE;
	}
	return RUN_NOTHING;
}

/* --- merging -------------------------------------------------------------- */

void
run_merge_begin(struct run_merge *m, const struct run_list *list,
    const struct run_base *base, bool with_deletions)
{
	size_t n = list == NULL ? 0 : list->n;

	*m = (struct run_merge){ .list = list,
	    .with_deletions = with_deletions };
	if (base != NULL)
		m->base = *base;
	if (n != 0)
		m->has_ranges = count_ranges(list, n) != 0;
	m->heap = mem_resize(NULL, n + 1, sizeof(*m->heap));
}

void
run_merge_end(struct run_merge *m)
{
	mem_free(&m->heap);
}

/* Set the source's key and value; false at its end. */
static bool
load_source(const struct run_merge *m, struct run_source *s)
{
	if (s->run == NULL) {
		s->deleted = false;
		return m->base.at(m->base.it, &s->key, &s->value);
	}
	/* Before the first, a walk backward has wrapped around. */
	if (s->pos >= s->run->ops_n)
		return false;
	const struct run_op *o = &s->run->ops[s->pos];
	s->key = op_key(s->run->bytes, o);
	s->value = op_value(s->run->bytes, o);
	s->deleted = o->value_n == RUN_DELETED;
	return true;
}

static bool
step_source(const struct run_merge *m, struct run_source *s)
{
	if (s->run == NULL)
		m->base.step(m->base.it, m->back);
	else if (m->back)
		s->pos--;
	else
		s->pos++;
	return load_source(m, s);
}

static bool
comes_first(const struct run_merge *m, const struct run_source *a,
    const struct run_source *b)
{
	int c = str_cmp(a->key, b->key);

	if (c == 0)
		return a->age < b->age;
	return m->back ? c > 0 : c < 0;
}

static void
sift_down(struct run_merge *m, size_t i)
{
	struct run_source moved = m->heap[i];

	for (size_t child; (child = 2 * i + 1) < m->heap_n; i = child) {
		if (child + 1 < m->heap_n && comes_first(m,
		    &m->heap[child + 1], &m->heap[child]))
			child++;
		if (!comes_first(m, &m->heap[child], &moved))
			break;
		m->heap[i] = m->heap[child];
	}
	m->heap[i] = moved;
}

static void
step_top(struct run_merge *m)
{
	if (!step_source(m, &m->heap[0]))
		m->heap[0] = m->heap[--m->heap_n];
	if (m->heap_n > 1)
		sift_down(m, 0);
}

/* A range of a newer run deletes it. */
static bool
is_in_range(const struct run_merge *m, const struct run_source *s)
{
	for (size_t i = 0; i < s->age; i++)
		if (has_deleted_range(m->list->runs[i], s->key))
			return true;
	return false;
}

/*
 * Leave `key`, whose bytes stay: they are a run's, or the base's, which alone
 * has that key then.
 */
static void
leave_key(struct run_merge *m, struct str key)
{
	bool alone = m->heap[0].run == NULL;

	step_top(m);
	while (!alone && m->heap_n > 0 && str_eq(m->heap[0].key, key))
		step_top(m);
}

/* Make the first key that counts the current one. */
static void
find_current(struct run_merge *m)
{
	m->current.key = STR_NONE;
	while (m->heap_n > 0) {
		const struct run_source *s = &m->heap[0];
		bool gone = m->has_ranges && is_in_range(m, s);
		if (!gone && (m->with_deletions || !s->deleted)) {
			m->current = *s;
			return;
		}
		leave_key(m, s->key);
	}
}

static void
add_source(struct run_merge *m, const struct run_source *s)
{
	struct run_source loaded = *s;

	if (load_source(m, &loaded))
		m->heap[m->heap_n++] = loaded;
}

void
run_merge_seek(struct run_merge *m, struct str key, bool back)
{
	size_t n = m->list == NULL ? 0 : m->list->n;
	bool same;

	m->back = back;
	m->heap_n = 0;
	for (size_t i = 0; i < n; i++) {
		struct run_source s = { .run = m->list->runs[i],
		    .age = (uint32_t)i };
		s.pos = find_op(s.run, key, &same);
		if (back && !same)
			s.pos--;
		add_source(m, &s);
	}
	if (m->base.it != NULL) {
		m->base.seek(m->base.it, key, back);
		add_source(m, &(struct run_source){ .age = (uint32_t)n });
	}
	for (size_t i = m->heap_n / 2; i-- > 0;)
		sift_down(m, i);
	find_current(m);
}

static void
turn_around(struct run_merge *m, bool back)
{
	struct buf key = BUF_INIT;

	buf_put_str(&key, m->current.key);
	run_merge_seek(m, buf_str(&key), back);
	buf_free(&key);
}

void
run_merge_step(struct run_merge *m, bool back)
{
	if (m->current.key.p == NULL)
		return;
	if (m->back != back)
		turn_around(m, back);
	leave_key(m, m->current.key);
	find_current(m);
}

bool
run_merge_at(const struct run_merge *m, struct str *key, struct str *value,
    bool *deleted)
{
	*key = m->current.key;
	*value = m->current.value;
	*deleted = m->current.deleted;
	return m->current.key.p != NULL;
}
