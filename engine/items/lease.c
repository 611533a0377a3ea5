/*
 * Leases: their texts, and how they go on and end without a completion.
 *
 * A lease is a random number in its pair's row.  Its text names the pair, so
 * that it is found by primary key; a lease that moved with a merged item is
 * found among the leased rows.
 */
#include "base/hash.h"
#include "base/json.h"
#include "engine/items/bucket.h"
#include "engine/items/claim_cursor.h"
#include "engine/items/worklist_own.h"
#include "os/clock.h"

/* -- Texts -- */

static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";

/* 160 bits are 32 digits of 5. */
void
worklist_lease_text(uint32_t task, int64_t item, uint64_t lease,
    char out[static LEASE_TEXT_BYTES + 1])
{
	uint8_t bytes[20];

	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(task >> (24 - 8 * i));
	for (int i = 0; i < 8; i++) {
		bytes[4 + i] = (uint8_t)((uint64_t)item >> (56 - 8 * i));
		bytes[12 + i] = (uint8_t)(lease >> (56 - 8 * i));
	}
	out[0] = 'L';
	for (unsigned i = 0; i < 32; i++) {
		unsigned bit = i * 5, at = bit / 8;
		unsigned two = (unsigned)bytes[at] << 8 |
		    (at + 1 < sizeof(bytes) ? bytes[at + 1] : 0);

		out[1 + i] = digits[two >> (11 - bit % 8) & 31];
	}
	out[LEASE_TEXT_BYTES] = '\0';
}

static int
digit_value(char c)
{
	if (c >= 'a' && c <= 'z')
		return c - 'a';
	return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

bool
worklist_lease_read(struct str s, uint32_t *task, int64_t *item,
    uint64_t *lease)
{
	uint64_t words[3] = { 0, 0, 0 };      /* 160 bits, the last ones last */

	if (s.n != LEASE_TEXT_BYTES || s.p[0] != 'L')
		return false;
	for (size_t i = 1; i < s.n; i++) {
		int v = digit_value(s.p[i]);

		if (v < 0)
			return false;
		words[0] = words[0] << 5 | words[1] >> 59;
		words[1] = words[1] << 5 | words[2] >> 59;
		words[2] = words[2] << 5 | (uint64_t)v;
	}
	*task = (uint32_t)words[0];
	*item = (int64_t)words[1];
	*lease = words[2];
	return *task != 0 && *item > 0 && *lease != 0;
}

uint64_t
worklist_lease_seed(uint64_t lease)
{
	return hash_u64(lease);
}

/* -- Finding -- */

/* The pair moved with its item to another one. */
static enum err
find_moved_pair(struct item_tx *tx, uint32_t task, uint64_t lease,
    struct pair_row **out, struct why *w)
{
	static const struct sql find = { "SELECT item FROM worklist WHERE lease"
	    " IS NOT NULL AND lease = ?1 AND task = ?2", NULL };
	int64_t item = 0;
	enum err e = item_tx_flush(tx, w);

	if (e != OK)
		return e;
	struct query *q = database_query_sql(item_store_database(
	    item_tx_store(tx)), &find);
	query_i64(q, 1, (int64_t)lease);
	query_i64(q, 2, task);
	if (query_step(q))
		item = query_get_i64(q, 0);
	e = query_end(&q, w);
	return e == OK && item != 0 ? item_tx_pair(tx, task, item, out, w) : e;
}

enum err
worklist_lease_pair(struct item_tx *tx, struct str text, bool moved,
    struct pair_row **pair, uint64_t *lease, struct why *w)
{
	struct pair_row *p = NULL;
	uint32_t task;
	int64_t item;

	*pair = NULL;
	*lease = 0;
	if (!worklist_lease_read(text, &task, &item, lease))
		return OK;
	enum err e = item_tx_pair(tx, task, item, &p, w);
	if (e == OK && !p->exists && moved)
		e = find_moved_pair(tx, task, *lease, &p, w);
	if (e == OK && p->exists)
		*pair = p;
	return e;
}

/* The pair that is leased by it, or NULL. */
static enum err
lease_holder(struct item_tx *tx, struct str text, struct pair_row **pair,
    struct why *w)
{
	uint64_t lease;
	enum err e = worklist_lease_pair(tx, text, true, pair, &lease, w);

	if (e == OK && *pair != NULL && (*pair)->lease != lease)
		*pair = NULL;
	return e;
}

static struct str
config_version(struct arena *a, struct str config, struct str task)
{
	yyjson_doc *doc = yyjson_read(config.p, config.n, 0);
	yyjson_val *tasks = yyjson_obj_get(yyjson_doc_get_root(doc), "tasks");
	yyjson_val *v = yyjson_obj_get(yyjson_obj_getn(tasks, task.p, task.n),
	    "version");
	struct str version = arena_copy(a, json_text(v));

	yyjson_doc_free(doc);
	return version;
}

/* The version of the task as the lease's generation had it: the present one,
 * or it is looked up; empty when it cannot be told. */
static enum err
run_version(struct item_tx *tx, struct worklist_run *run, struct why *w)
{
	static const struct sql get = { "SELECT config FROM generations"
	    " WHERE id = ?1", NULL };
	struct item_store *s = item_tx_store(tx);

	run->version = STR("");
	if (run->generation == item_store_config(s)->generation) {
		if (run->task != NULL)
			run->version = run->task->version;
		return OK;
	}
	struct query *q = database_query_sql(item_store_database(s), &get);
	query_i64(q, 1, (int64_t)run->generation);
	if (query_step(q))
		run->version = config_version(item_tx_arena(tx),
		    query_get_str(q, 0), run->task_name);
	return query_end(&q, w);
}

enum err
worklist_run_of(struct item_tx *tx, struct pair_row *p,
    struct worklist_run *run, struct why *w)
{
	struct item_store *s = item_tx_store(tx);
	char text[LEASE_TEXT_BYTES + 1];

	worklist_lease_text(p->task, p->item, p->lease, text);
	*run = (struct worklist_run){
		.task_id = p->task, .task = worklist_task(tx, p->task),
		.pair = p, .lease = p->lease, .again = p->again,
		.generation = p->generation,
		.lease_text = arena_copy(item_tx_scratch(tx), str_of(text)),
		.task_name = item_store_name_text(s, p->task),
		.attempt = p->attempt + 1,
	};
	enum err e = run_version(tx, run, w);
	if (e == OK)
		e = item_tx_item(tx, p->item, &run->item, w);
	if (e == OK)
		e = item_tx_result(tx, p->task, p->item, &run->result, w);
	return e;
}

struct item_actor
worklist_run_actor(const struct worklist_run *run)
{
	return (struct item_actor){ .task = run->task_name,
	    .lease = run->lease_text, .run_item = run->item->key,
	    .run_id = run->item->id, .version = run->version };
}

/* -- Going on -- */

static int64_t
lease_length(struct item_tx *tx, uint32_t task, int64_t lease_us)
{
	const struct task *t = worklist_task(tx, task);

	if (lease_us > 0)
		return lease_us;
	return t == NULL ? WORKLIST_LEASE_US : t->lease_us;
}

enum err
worklist_lease_check(int64_t lease_us, struct why *w)
{
	if (lease_us >= 0 && lease_us <= LEASE_US_MAX)
		return OK;
	return why_field(w, ERR_INPUT, "lease_ms",
	    "it is not within 0 and %lld", (long long)(LEASE_US_MAX / 1000));
}

enum err
worklist_heartbeat(struct item_tx *tx, struct str lease, int64_t lease_us,
    struct wall *until, struct why *w)
{
	struct pair_row *p;
	enum err e = worklist_lease_check(lease_us, w);

	*until = ITEM_TIME_NONE;
	if (e == OK)
		e = lease_holder(tx, lease, &p, w);
	if (e != OK || p == NULL)
		return e;
	item_tx_touch_pair(tx, p);
	p->lease_until = (struct wall){ item_tx_now(tx).us +
	    lease_length(tx, p->task, lease_us) };
	*until = p->lease_until;
	return OK;
}

/* -- Given back -- */

static enum err
lease_refund(struct item_tx *tx, const struct pair_row *p, struct why *w)
{
	const struct task *t = worklist_task(tx, p->task);
	struct bucket *buckets = NULL;
	size_t n = 0;
	enum err e = t == NULL ? OK :
	    bucket_list(tx, t, p->lane, &buckets, &n, w);

	for (size_t i = 0; i < n && e == OK; i++) {
		item_tx_touch_bucket(tx, buckets[i].row);
		bucket_take(buckets[i].row, buckets[i].rate, -1,
		    item_tx_now(tx));
	}
	return e;
}

/* As if it had never been claimed; an expiry meanwhile counts. */
static enum err
lease_give_back(struct item_tx *tx, struct pair_row *p, struct why *w)
{
	const struct task *t = worklist_task(tx, p->task);
	bool again = p->again;
	struct result_row *r;

	worklist_end_lease(tx, p);
	if (t == NULL) {
		p->exists = false;
		return OK;
	}
	enum err e = item_tx_result(tx, p->task, p->item, &r, w);
	if (e == OK && again && r->exists)
		worklist_run_again(tx, t, r, p);
	return e == OK ? pair_settle(tx, p, w) : e;
}

enum err
worklist_release(struct item_tx *tx, struct str lease, bool refund, bool *was,
    struct why *w)
{
	struct pair_row *p;
	enum err e = lease_holder(tx, lease, &p, w);

	*was = e == OK && p != NULL;
	if (!*was)
		return e;
	if (refund)
		e = lease_refund(tx, p, w);
	return e == OK ? lease_give_back(tx, p, w) : e;
}

struct pair_key {
	uint32_t task;
	int64_t item;
};

/* Pairs that a query finds; memory: the transaction's. */
static enum err
pairs_found(struct item_tx *tx, struct query *q, struct pair_key **keys,
    size_t *n, struct why *w)
{
	size_t cap = 0;

	*keys = NULL;
	*n = 0;
	while (query_step(q)) {
		*keys = arena_grow(item_tx_scratch(tx), *keys, *n, &cap, 64,
		    sizeof(**keys));
		(*keys)[(*n)++] = (struct pair_key){
		    (uint32_t)query_get_i64(q, 0), query_get_i64(q, 1) };
	}
	enum err e = query_end(&q, w);
	for (size_t i = 0; i < *n && e == OK; i++) {
		item_tx_want_pair_key(tx, (*keys)[i].task, (*keys)[i].item);
		item_tx_want_key(tx, (*keys)[i].item);
	}
	return e == OK ? item_tx_load(tx, w) : e;
}

enum err
worklist_release_own(struct item_tx *tx, struct why *w)
{
	static const struct sql own = { "SELECT task, item FROM worklist WHERE"
	    " lease IS NOT NULL AND worker = ?1", NULL };
	struct item_store *s = item_tx_store(tx);
	struct pair_key *keys;
	size_t n;
	enum err e = item_tx_flush(tx, w);

	if (e != OK)
		return e;
	struct query *q = database_query_sql(item_store_database(s), &own);
	query_str(q, 1, str_of(item_store_node(s)));
	e = pairs_found(tx, q, &keys, &n, w);
	for (size_t i = 0; i < n && e == OK; i++) {
		struct pair_row *p;

		e = item_tx_pair(tx, keys[i].task, keys[i].item, &p, w);
		if (e == OK && p->lease != 0)
			e = lease_give_back(tx, p, w);
	}
	return e;
}

/* -- Expired -- */

/* Its worker is lost. */
static enum err
lease_expire(struct item_tx *tx, struct pair_row *p, struct why *w)
{
	struct run_error lost = RUN_ERROR_INIT;
	struct worklist_run run;
	enum err e = worklist_run_of(tx, p, &run, w);

	run.lost = lost.transient = true;
	lost.message = STR("the lease has expired");
	lost.json = STR("{\"class\":\"transient\",\"code\":\"lease\","
	    "\"message\":\"the lease has expired\"}");
	if (e == OK)
		e = worklist_fail(tx, &run, &lost, false, w);
	if (e == OK)
		worklist_put_run(tx, &(struct run_record){ .run = &run,
		    .error = lost.json });
	return e;
}

enum err
worklist_expire_leases(struct item_tx *tx, size_t max, size_t *n,
    struct why *w)
{
	static const struct sql expired = { "SELECT task, item FROM worklist"
	    " WHERE lease IS NOT NULL AND lease_until <= ?1"
	    " ORDER BY lease_until, task, item LIMIT ?2",
	    "SELECT task, item FROM worklist"
	    " WHERE lease IS NOT NULL AND lease_until <= ?1"
	    " AND lease_until > ?3 ORDER BY lease_until, task, item LIMIT ?2"
	    " FOR UPDATE SKIP LOCKED" };
	struct item_store *s = item_tx_store(tx);
	struct claim_cursors *cursors = item_store_claim_cursors(s);
	struct wall now = item_tx_now(tx);
	struct mono start = clock_mono();
	int64_t after = claim_cursors_leases_after(cursors, start);
	struct pair_key *keys;
	size_t keys_n;
	struct query *q = database_query_sql(item_store_database(s),
	    &expired);

	*n = 0;
	query_i64(q, 1, now.us);
	query_i64(q, 2, (int64_t)max);
	if (cursors != NULL)
		query_i64(q, 3, after);
	enum err e = pairs_found(tx, q, &keys, &keys_n, w);
	struct mono end = clock_mono();
	for (size_t i = 0; i < keys_n && e == OK; i++) {
		struct pair_row *p;

		/* The row in memory may be newer than the database's. */
		e = item_tx_pair(tx, keys[i].task, keys[i].item, &p, w);
		if (e != OK || p->lease == 0 || p->lease_until.us > now.us)
			continue;
		e = lease_expire(tx, p, w);
		*n += 1;
	}
	if (e == OK && keys_n < max)
		claim_cursors_read_leases(cursors, after, now.us, start, end);
	return e;
}
