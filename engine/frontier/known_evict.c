/*
 * The known table within frontier.known_mem.  What it forgets stands in the
 * index under `known`: hash8 -> state1 date4, as it was then.  That family is
 * made anew at each start, so it never goes through the log.
 *
 *     full  ─► the gate closes: no read of the index begins
 *           ─► the last read that was out came back
 *           ─► entries are forgotten, and put into `known`
 *           ─► their group is durable, and the index has it: the gate opens,
 *              what waited goes on
 *
 * So between the begin of a read and its end nothing is forgotten, and a read
 * shows all that was forgotten before it.  Hence:
 *
 *   - A submission with links that the table does not have asks `known` for
 *     them before anything of it is admitted.  What is there comes back into
 *     the table; what is not was never found.  Submissions keep their order.
 *   - A walk that meets a URL under its rank that the table does not have may
 *     lease it: whatever happened to it since would stand in the table.
 *
 * Both hold for external crawlers' URLs too.  One of theirs that is deleted
 * while the table is partial leaves MARK_OUTSIDE_GONE, which is forgotten as
 * all else: what `known` has of it is older.
 *
 * URLs that are leased are never forgotten.
 */
#include "engine/frontier/lease_core.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/url_load.h"
#include "os/log.h"

/* Entries forgotten at a time: under a millisecond. */
#define FORGET_MAX 4096
/* Below the limit by so much it begins, for the links that are under way. */
#define MARGIN_BYTES_MAX ((size_t)16 << 20)
/* Bytes that a pending link may need; the first of a sub-table needs most. */
#define ENTRY_BYTES 32
#define ENTRY_BYTES_FIRST 384
#define FORGETTABLE (1u << MARK_WAITING | 1u << MARK_DONE |                  \
	1u << MARK_SKIPPED | 1u << MARK_OUTSIDE | 1u << MARK_OUTSIDE_GONE)
#define LOAD_BATCH 4096
#define HASH_BYTES 8

static size_t
margin(const struct known_evict *m)
{
	return MIN(m->bytes_max / 4, MARGIN_BYTES_MAX);
}

static bool
full(const struct frontier *f)
{
	const struct known_evict *m = f->evict;
	struct url_table_stats s;

	url_table_stats(f->known, &s);
	return m->bytes_max != 0 && s.bytes > m->bytes_max - margin(m);
}

/* --- the records --------------------------------------------------------- */

static struct str
hash_key(uint64_t hash, char out[HASH_BYTES])
{
	for (int i = 0; i < HASH_BYTES; i++)
		out[i] = (char)(hash >> (56 - 8 * i));
	return (struct str){ out, HASH_BYTES };
}

static void
record_put(uint32_t date, uint8_t mark, struct buf *out)
{
	buf_clear(out);
	buf_put_char(out, (char)mark);
	buf_put_be32(out, date);
}

static bool
record_parse(struct str value, struct url_entry *e)
{
	struct reader in = reader_of(value);

	e->state = read_u8(&in);
	e->date = read_be32(&in);
	return !in.bad && e->state != KNOWN_NONE;
}

/* --- forgetting ---------------------------------------------------------- */

static void
gone(void *arg, const struct url_entry *e)
{
	struct frontier *f = arg;
	char key[HASH_BYTES];

	record_put(e->date, e->state, &f->value);
	ledger_put_unlogged(f->ledger, INDEX_KNOWN, hash_key(e->hash, key),
	    buf_str(&f->value));
}

void
known_evict_count(struct frontier *f)
{
	struct url_table_stats s;

	url_table_stats(f->known, &s);
	metric_set(&frontier_metrics[METRIC_KNOWN_URLS], (int64_t)s.count);
	metric_set(&frontier_metrics[METRIC_KNOWN_BYTES], (int64_t)s.bytes);
}

static void gate_open(struct frontier *);

static void
applied(struct ledger_query *query)
{
	struct known_evict *m = CONTAINER(query, struct known_evict, applied);
	struct frontier *f = m->frontier;

	m->waiting = false;
	if (!full(f))
		gate_open(f);
	known_evict_consider(f);
}

/* Reads beside the groups need what is in the index, not what is durable. */
static void
forgotten(struct promise *p, enum err e)
{
	struct known_evict *m = CONTAINER(p, struct known_evict, promise);
	struct frontier *f = m->frontier;

	if (e == OK) {
		ledger_barrier(f->ledger, &m->applied, f->loop, applied);
		return;
	}
	/* Whoever goes on finds out himself. */
	m->waiting = false;
	gate_open(f);
	known_evict_consider(f);
}

/* False when nothing can go: all was asked for lately, or is leased. */
static bool
forget(struct frontier *f)
{
	struct known_evict *m = f->evict;
	struct url_table_stats s;
	size_t n = 0, went;

	do {
		url_table_stats(f->known, &s);
		went = url_table_evict(f->known,
		    MIN(s.count / 8 + 1, FORGET_MAX), FORGETTABLE, gone, f);
		n += went;
	} while (went > 0 && n < FORGET_MAX && full(f));
	if (n == 0)
		return false;
	metric_add(&frontier_metrics[METRIC_KNOWN_FORGOTTEN], (int64_t)n);
	m->evictions++;
	m->partial = m->waiting = true;
	m->promise.kept = forgotten;
	ledger_promise(f->ledger, &m->promise);
	return true;
}

void
known_evict_consider(struct frontier *f)
{
	struct known_evict *m = f->evict;

	known_evict_count(f);
	for (;;) {
		m->closed |= full(f);
		if (!m->closed || m->waiting || m->reads > 0)
			return;
		if (ledger_health(f->ledger) != LEDGER_FAILED && forget(f))
			return;
		/* Over the limit then, rather than to stand still. */
		gate_open(f);
		if (list_empty(&m->held) && list_empty(&m->waits)) {
			m->closed = false;
			return;
		}
	}
}

/* --- asking -------------------------------------------------------------- */

enum err
known_evict_find(struct index *x, struct url_entry *e)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	char key[HASH_BYTES];
	struct str value;

	enum err err = index_get(x, INDEX_KNOWN, hash_key(e->hash, key), &a,
	    &value, NULL);
	if (err == OK && !record_parse(value, e))
		err = ERR_CORRUPT;
	if (err != OK || e->state == MARK_OUTSIDE_GONE)
		e->state = KNOWN_NONE;
	return err == ERR_ABSENT ? OK : err;
}

/* On the index thread: entries found keep their state, others get none. */
static void
look_up(struct ledger_query *query, struct index *x)
{
	struct submission *s = CONTAINER(query, struct submission, lookup);

	for (size_t i = 0; i < s->missing_n && s->result == OK; i++)
		s->result = known_evict_find(x, &s->missing[i]);
}

static void
recall(struct frontier *f, const struct submission *s)
{
	uint32_t date;
	uint8_t mark;

	for (size_t i = 0; i < s->missing_n; i++) {
		const struct url_entry *e = &s->missing[i];
		/* Another submission may have brought it meanwhile. */
		if (e->state == KNOWN_NONE ||
		    url_table_get(f->known, e->hash, &date, &mark))
			continue;
		url_table_set(f->known, e->hash, e->date, e->state);
		metric_add(&frontier_metrics[METRIC_KNOWN_RECALLED], 1);
	}
}

static void
admit_those_answered(struct frontier *f)
{
	struct known_evict *m = f->evict;

	while (!list_empty(&m->asked)) {
		struct submission *s = LIST_ITEM(m->asked.next,
		    struct submission, held_node);
		if (!s->answered)
			return;
		list_take(&s->held_node);
		m->links -= s->missing_n;
		if (s->result == OK)
			recall(f, s);
		submission_admit(f, s);
	}
}

static void ask_those_held(struct frontier *);

static void
looked_up(struct ledger_query *query)
{
	struct submission *s = CONTAINER(query, struct submission, lookup);
	struct frontier *f = s->frontier;

	if (s->result != OK)
		log_error("frontier.known", "why=\"the index cannot be read: "
		    "%s\"", err_text(s->result));
	s->answered = true;
	f->evict->reads--;
	admit_those_answered(f);
	ask_those_held(f);
	known_evict_consider(f);
}

/* Links that the table cannot answer for. */
static void
find_missing(struct frontier *f, struct submission *s)
{
	uint32_t date;
	uint8_t mark;

	s->missing_n = 0;
	for (size_t i = 0; i < s->found_n && f->evict->partial; i++) {
		uint64_t hash = s->found[i].hash;
		if (url_table_get(f->known, hash, &date, &mark))
			continue;
		if (s->missing_n == 0)
			s->missing = ARENA_ARRAY(&s->arena,
			    struct url_entry, s->found_n - i);
		s->missing[s->missing_n++].hash = hash;
	}
}

static void
ask(struct frontier *f, struct submission *s)
{
	struct known_evict *m = f->evict;

	find_missing(f, s);
	list_put(&m->asked, &s->held_node);
	s->answered = s->missing_n == 0;
	if (s->answered)
		return;
	metric_add(&frontier_metrics[METRIC_KNOWN_ASKED],
	    (int64_t)s->missing_n);
	m->links += s->missing_n;
	m->reads++;
	ledger_read(f->ledger, &s->lookup, f->loop, look_up, looked_up);
}

static bool
may_ask(const struct frontier *f, const struct submission *s)
{
	const struct known_evict *m = f->evict;
	struct url_table_stats k;

	url_table_stats(f->known, &k);
	size_t each = k.count < KNOWN_PARTS ? ENTRY_BYTES_FIRST : ENTRY_BYTES;
	return !m->closed && (m->links == 0 ||
	    m->links + s->found_n <= margin(m) / each);
}

static void
ask_those_held(struct frontier *f)
{
	struct known_evict *m = f->evict;

	while (!list_empty(&m->held)) {
		struct submission *s = LIST_ITEM(m->held.next,
		    struct submission, held_node);
		if (!may_ask(f, s))
			return;
		list_take(&s->held_node);
		ask(f, s);
		admit_those_answered(f);
		m->closed |= full(f);
	}
}

static void
gate_open(struct frontier *f)
{
	struct known_evict *m = f->evict;
	struct list waits;

	m->closed = false;
	list_init(&waits);
	list_move_all(&waits, &m->waits);
	while (!list_empty(&waits)) {
		struct eviction_wait *g = LIST_POP(&waits,
		    struct eviction_wait, node);
		g->open(f, g);
	}
	ask_those_held(f);
}

/* --- for the rest of the frontier ---------------------------------------- */

void
known_evict_open(struct frontier *f)
{
	struct known_evict *m = mem_new(sizeof(*m));

	f->evict = m;
	m->frontier = f;
	m->bytes_max = f->options.known_bytes_max;
	list_init(&m->held);
	list_init(&m->asked);
	list_init(&m->waits);
}

enum err
known_evict_clear(struct frontier *f, struct why *w)
{
	struct index *x = ledger_index(f->ledger);
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_KNOWN);
	FREED(index_batch_free) struct index_batch *b = index_batch_new();
	struct str key, value;

	index_iter_seek(i, STR(""));
	if (index_iter_valid(i, &key, &value))
		index_delete_range(x, b, INDEX_KNOWN, STR(""),
		    STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff"));
	enum err e = index_iter_error(i, w);
	return e == OK ? index_write(x, b, w) : e;
}

void
known_evict_submit(struct mail *m)
{
	struct submission *s = CONTAINER(m, struct submission, mail);
	struct frontier *f = s->frontier;

	list_init(&s->held_node);
	s->result = OK;
	list_put(&f->evict->held, &s->held_node);
	ask_those_held(f);
	known_evict_consider(f);
}

bool
known_evict_is_partial(const struct frontier *f)
{
	return f->evict->partial;
}

bool
known_evict_may_read(struct frontier *f, struct eviction_wait *g)
{
	struct known_evict *m = f->evict;

	if (m->closed) {
		list_put(&m->waits, &g->node);
		return false;
	}
	m->reads++;
	return true;
}

void
known_evict_read_back(struct frontier *f)
{
	CHECK(f->evict->reads > 0);
	f->evict->reads--;
	known_evict_consider(f);
}

/* --- loading ------------------------------------------------------------- */

/* Entries whose place in the table is asked for before they are put. */
#define LOAD_ENTRIES 64

/*
 * The index thread has nothing to write before the loops run, and RocksDB takes
 * batches from any thread.
 */
struct known_evict_load {
	struct frontier *frontier;
	struct index_batch *batch;
	struct buf value;
	unsigned n;                  /* put into `known` */
	struct url_entry entries[LOAD_ENTRIES];
	size_t entries_n;
};

/* Room in an empty table, so that it need not grow, unless it is too much. */
static void
expect(struct frontier *f, uint64_t urls)
{
	const struct known_evict *m = f->evict;
	struct url_table_stats s;

	url_table_stats(f->known, &s);
	if (s.count == 0 && (m->bytes_max == 0 ||
	    urls <= m->bytes_max / ENTRY_BYTES))
		url_table_expect(f->known, urls, url_load_threads(f));
}

struct known_evict_load *
known_evict_load_begin(struct frontier *f, uint64_t urls)
{
	struct known_evict_load *l = mem_new(sizeof(*l));

	l->frontier = f;
	l->batch = index_batch_new();
	expect(f, urls);
	return l;
}

static enum err
load_entry(struct known_evict_load *l, const struct url_entry *e, struct why *w)
{
	struct frontier *f = l->frontier;
	struct index *x = ledger_index(f->ledger);
	char key[HASH_BYTES];

	if ((FORGETTABLE & 1u << e->state) == 0 || !full(f)) {
		url_table_set(f->known, e->hash, e->date, e->state);
		return OK;
	}
	f->evict->partial = true;
	record_put(e->date, e->state, &l->value);
	index_put(x, l->batch, INDEX_KNOWN, hash_key(e->hash, key),
	    buf_str(&l->value));
	return ++l->n % LOAD_BATCH == 0 ? index_write(x, l->batch, w) : OK;
}

static enum err
load_entries(struct known_evict_load *l, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; i < l->entries_n; i++)
		url_table_prefetch(l->frontier->known, l->entries[i].hash);
	for (size_t i = 0; i < l->entries_n && e == OK; i++)
		e = load_entry(l, &l->entries[i], w);
	frontier_loaded(l->frontier, l->entries_n);
	l->entries_n = 0;
	return e;
}

enum err
known_evict_load_put(struct known_evict_load *l, uint64_t hash, uint32_t date,
    uint8_t mark, struct why *w)
{
	l->entries[l->entries_n++] = (struct url_entry){ hash, date, mark };
	return l->entries_n == LOAD_ENTRIES ? load_entries(l, w) : OK;
}

enum err
known_evict_load_end(struct known_evict_load **lp, enum err e, struct why *w)
{
	struct known_evict_load *l = *lp;

	if (e == OK)
		e = load_entries(l, w);
	if (e == OK && l->n % LOAD_BATCH != 0)
		e = index_write(ledger_index(l->frontier->ledger), l->batch, w);
	known_evict_count(l->frontier);
	index_batch_free(&l->batch);
	buf_free(&l->value);
	mem_free(lp);
	return e;
}
