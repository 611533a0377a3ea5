/*
 * Writing to the index: a batch becomes a run of each family that it changes,
 * and a flush writes all runs of a family into one sorted file, which RocksDB
 * takes over as it is.
 *
 * A batch that goes into RocksDB's own table in memory costs ten times as much:
 * each key is looked up there, and read back from there by a flush.
 */
#include "os/index_own.h"

#include <errno.h>
#include <unistd.h>

#define BATCH_RUNS_FIRST 4
/* Less than this is not worth a file of its own making. */
#define FILE_BYTES_MIN ((size_t)128 << 10)
/* A larger file is compressed as those are that stay. */
#define SMALL_FILE_BYTES ((size_t)8 << 20)
/* RocksDB's "as above the last level". */
#define COMPRESSION_AS_USUAL 0xff

/* A batch merges this many times its own bytes, and this many more. */
#define MERGE_SHARE 6
#define MERGE_BYTES_LEAST ((size_t)64 << 10)

/* A run before a range that was deleted in the same batch. */
struct batch_run {
	enum index_family family;
	struct index_run *run;
};

struct index_batch {
	struct run_builder parts[INDEX_FAMILIES];
	struct batch_run *runs;
	size_t runs_n, runs_cap;
};

struct index_batch *
index_batch_new(void)
{
	return mem_new(sizeof(struct index_batch));
}

void
index_batch_free(struct index_batch **bp)
{
	struct index_batch *b = *bp;

	if (b == NULL)
		return;
	for (size_t f = 0; f < INDEX_FAMILIES; f++)
		run_builder_free(&b->parts[f]);
	for (size_t i = 0; i < b->runs_n; i++)
		run_release(b->runs[i].run);
	mem_free(&b->runs);
	mem_free(bp);
}

void
index_batch_clear(struct index_batch *b)
{
	for (size_t f = 0; f < INDEX_FAMILIES; f++)
		run_builder_clear(&b->parts[f]);
	for (size_t i = 0; i < b->runs_n; i++)
		run_release(b->runs[i].run);
	b->runs_n = 0;
}

void
index_put(struct index *x, struct index_batch *b, enum index_family f,
    struct str key, struct str value)
{
	(void)x;
	run_builder_put(&b->parts[f], key, value);
}

void
index_delete(struct index *x, struct index_batch *b, enum index_family f,
    struct str key)
{
	(void)x;
	run_builder_delete(&b->parts[f], key);
}

static void
finish_part(struct index_batch *b, enum index_family f)
{
	b->runs = mem_room(b->runs, b->runs_n, &b->runs_cap, BATCH_RUNS_FIRST,
	    sizeof(*b->runs));
	b->runs[b->runs_n++] = (struct batch_run){ f,
	    run_builder_finish(&b->parts[f]) };
}

void
index_delete_range(struct index *x, struct index_batch *b,
    enum index_family f, struct str from, struct str to)
{
	(void)x;
	if (b->parts[f].ops_n != 0)
		finish_part(b, f);
	run_builder_range(&b->parts[f], from, to);
}

/* A byte is merged about five times, so this keeps up with the writes. */
static size_t
merge_share(size_t written)
{
	return MERGE_SHARE * written + MERGE_BYTES_LEAST;
}

/* Readers see all of a batch, or nothing. */
static void
publish(struct index *x, struct index_batch *b)
{
	struct run_list *lists[INDEX_FAMILIES] = { NULL };
	size_t written[INDEX_FAMILIES] = { 0 };
	bool changed[INDEX_FAMILIES] = { false };

	for (size_t i = 0; i < b->runs_n; i++) {
		enum index_family f = b->runs[i].family;
		if (!changed[f])
			lists[f] = run_list_hold(x->lists[f]);
		changed[f] = true;
		x->fresh_bytes += b->runs[i].run->size;
		written[f] += b->runs[i].run->size;
		lists[f] = run_list_add(lists[f], b->runs[i].run);
	}
	b->runs_n = 0;
	for (size_t f = 0; f < INDEX_FAMILIES; f++)
		if (changed[f])
			lists[f] = run_merging_step(&x->mergings[f], lists[f],
			    merge_share(written[f]));
	pthread_mutex_lock(&x->lock);
	for (size_t f = 0; f < INDEX_FAMILIES; f++) {
		struct run_list *old = x->lists[f];
		if (!changed[f])
			continue;
		x->lists[f] = lists[f];
		lists[f] = old;
	}
	pthread_mutex_unlock(&x->lock);
	for (size_t f = 0; f < INDEX_FAMILIES; f++)
		run_list_release(lists[f]);
}

static enum err flush_runs(struct index *, struct str key, struct str value,
    struct why *);

enum err
index_write(struct index *x, struct index_batch *b, struct why *w)
{
	for (size_t f = 0; f < INDEX_FAMILIES; f++)
		if (!run_builder_is_empty(&b->parts[f]))
			finish_part(b, (enum index_family)f);
	pthread_mutex_lock(&x->change);
	publish(x, b);
	bool full = x->fresh_bytes >= x->fresh_bytes_max;
	pthread_mutex_unlock(&x->change);
	return full ? flush_runs(x, STR_NONE, STR_NONE, w) : OK;
}

int64_t
index_room(struct index *x)
{
	pthread_mutex_lock(&x->change);
	int64_t room = (int64_t)x->fresh_bytes_max - (int64_t)x->fresh_bytes;
	pthread_mutex_unlock(&x->change);
	return room;
}

/* --- flushing ------------------------------------------------------------- */

static enum err
flush_table(struct index *x, enum index_family f, struct why *w)
{
	char *text = NULL;

	rocksdb_flush_cf(x->db, x->flush, x->handles[f], &text);
	return index_tell(w, "flush", text);
}

/* Add the runs' range deletions, which come before their operations. */
static bool
add_ranges(struct index *x, enum index_family f, const struct run_list *l,
    rocksdb_writebatch_t *batch)
{
	bool some = false;

	for (size_t i = 0; i < l->n; i++)
		for (size_t j = 0; j < l->runs[i]->ranges_n; j++) {
			const struct run_range *r = &l->runs[i]->ranges[j];
			rocksdb_writebatch_delete_range_cf(batch,
			    x->handles[f], r->from.p, r->from.n, r->to.p,
			    r->to.n);
			some = true;
		}
	return some;
}

static void
add_operations(struct index *x, enum index_family f,
    const struct run_list *l, rocksdb_writebatch_t *batch)
{
	struct run_merge m;
	struct str key, value;
	bool deleted;

	run_merge_begin(&m, l, NULL, true);
	for (run_merge_seek(&m, STR(""), false);
	    run_merge_at(&m, &key, &value, &deleted);
	    run_merge_step(&m, false))
		if (deleted)
			rocksdb_writebatch_delete_cf(batch, x->handles[f],
			    key.p, key.n);
		else
			rocksdb_writebatch_put_cf(batch, x->handles[f], key.p,
			    key.n, value.p, value.n);
	run_merge_end(&m);
}

static enum err
write_table(struct index *x, rocksdb_writebatch_t *batch, struct why *w)
{
	char *text = NULL;

	rocksdb_write(x->db, x->write, batch, &text);
	return index_tell(w, "write", text);
}

/* By RocksDB's table in memory. */
static enum err
flush_few(struct index *x, enum index_family f, const struct run_list *l,
    struct str key, struct str value, struct why *w)
{
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();

	if (l != NULL) {
		add_ranges(x, f, l, batch);
		add_operations(x, f, l, batch);
	}
	if (key.n != 0)
		rocksdb_writebatch_put_cf(batch, x->handles[f], key.p, key.n,
		    value.p, value.n);
	enum err e = write_table(x, batch, w);
	rocksdb_writebatch_destroy(batch);
	return e == OK ? flush_table(x, f, w) : e;
}

/* Where a family's next file is written; RocksDB knows no such name. */
static const char *
new_path(const struct index *x, enum index_family f, struct arena *a)
{
	return arena_printf(a, "%s/run-%d.new", x->dir, (int)f).p;
}

/*
 * A kill may have left one that RocksDB has taken already: a second name of a
 * file that is in use, which must not be written to.
 */
static enum err
remove_old(const struct index *x, const char *path, struct why *w)
{
	if (x->in_memory || unlink(path) == 0 || errno == ENOENT)
		return OK;
	return why(w, ERR_IO, "index: cannot remove %s: %s", path,
	    strerror(errno));
}

enum err
index_remove_new(const struct index *x, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	enum err e = OK;

	for (int f = 0; f < INDEX_FAMILIES && e == OK; f++)
		e = remove_old(x, new_path(x, (enum index_family)f, &a), w);
	return e;
}

static rocksdb_sstfilewriter_t *
open_file(struct index *x, enum index_family f, size_t size,
    const char *path, char **text)
{
	rocksdb_envoptions_t *env = rocksdb_envoptions_create();
	rocksdb_options_t *o = rocksdb_options_create_copy(x->options[f]);

	if (size < SMALL_FILE_BYTES)
		rocksdb_options_set_bottommost_compression(o,
		    COMPRESSION_AS_USUAL);
	rocksdb_sstfilewriter_t *s = rocksdb_sstfilewriter_create(env, o);
	rocksdb_sstfilewriter_open(s, path, text);
	rocksdb_options_destroy(o);
	rocksdb_envoptions_destroy(env);
	return s;
}

/* Write a sorted file of all operations; `*n` receives their number. */
static enum err
write_file(struct index *x, enum index_family f, const struct run_list *l,
    const char *path, size_t *n, struct why *w)
{
	char *text = NULL;
	rocksdb_sstfilewriter_t *s = open_file(x, f, run_list_size(l), path,
	    &text);
	struct run_merge m;
	struct str key, value;
	bool deleted;

	*n = 0;
	run_merge_begin(&m, l, NULL, true);
	for (run_merge_seek(&m, STR(""), false); text == NULL &&
	    run_merge_at(&m, &key, &value, &deleted);
	    run_merge_step(&m, false), ++*n)
		if (deleted)
			rocksdb_sstfilewriter_delete(s, key.p, key.n, &text);
		else
			rocksdb_sstfilewriter_put(s, key.p, key.n, value.p,
			    value.n, &text);
	run_merge_end(&m);
	if (text == NULL && *n != 0)
		rocksdb_sstfilewriter_finish(s, &text);
	rocksdb_sstfilewriter_destroy(s);
	return index_tell(w, "write a file", text);
}

static enum err
take_file(struct index *x, enum index_family f, const char *path,
    struct why *w)
{
	rocksdb_ingestexternalfileoptions_t *o =
	    rocksdb_ingestexternalfileoptions_create();
	char *text = NULL;

	rocksdb_ingestexternalfileoptions_set_move_files(o, 1);
	rocksdb_ingest_external_file_cf(x->db, x->handles[f], &path, 1, o,
	    &text);
	rocksdb_ingestexternalfileoptions_destroy(o);
	return index_tell(w, "take a file", text);
}

static enum err
flush_many(struct index *x, enum index_family f, const struct run_list *l,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *path = new_path(x, f, &a);
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
	enum err e = OK;
	size_t n = 0;

	if (add_ranges(x, f, l, batch))
		e = write_table(x, batch, w);
	rocksdb_writebatch_destroy(batch);
	if (e == OK)
		e = remove_old(x, path, w);
	if (e == OK)
		e = write_file(x, f, l, path, &n, w);
	if (e == OK && n != 0)
		e = take_file(x, f, path, w);
	return e == OK ? flush_table(x, f, w) : e;
}

/* The last `n` runs are in a file now; a merge of them has become needless. */
static void
drop_runs(struct index *x, enum index_family f, size_t n)
{
	pthread_mutex_lock(&x->change);
	if (run_merging_is_frozen(&x->mergings[f]))
		run_merging_end(&x->mergings[f]);
	struct run_list *old = x->lists[f];
	struct run_list *l = run_list_drop(run_list_hold(old), n);
	pthread_mutex_lock(&x->lock);
	x->lists[f] = l;
	pthread_mutex_unlock(&x->lock);
	pthread_mutex_unlock(&x->change);
	run_list_release(old);
}

static enum err
flush_family(struct index *x, enum index_family f, struct run_list *l,
    struct str key, struct str value, struct why *w)
{
	if (l == NULL && key.n == 0)
		return flush_table(x, f, w);
	enum err e = f == INDEX_META || run_list_size(l) < FILE_BYTES_MIN ?
	    flush_few(x, f, l, key, value, w) : flush_many(x, f, l, w);
	if (e == OK && l != NULL)
		drop_runs(x, f, l->n);
	return e;
}

/* Take all runs for a flush: later writes are not merged into them. */
static void
freeze_runs(struct index *x, struct run_list **lists)
{
	pthread_mutex_lock(&x->change);
	pthread_mutex_lock(&x->lock);
	for (size_t f = 0; f < INDEX_FAMILIES; f++)
		lists[f] = run_list_hold(x->lists[f]);
	x->freezes++;
	pthread_mutex_unlock(&x->lock);
	for (size_t f = 0; f < INDEX_FAMILIES; f++)
		for (size_t i = 0; lists[f] != NULL && i < lists[f]->n; i++)
			lists[f]->runs[i]->frozen = true;
	x->fresh_bytes = 0;
	pthread_mutex_unlock(&x->change);
}

/*
 * `meta` comes last: its record says up to where the others are complete.
 * After an error the runs stay in memory, for the next flush.
 */
static enum err
flush_runs(struct index *x, struct str key, struct str value, struct why *w)
{
	struct run_list *lists[INDEX_FAMILIES];
	enum err e = OK;

	rocksdb_set_perf_level(rocksdb_disable);
	pthread_mutex_lock(&x->flushing);
	freeze_runs(x, lists);
	for (int f = 0; f < INDEX_FAMILIES && e == OK; f++)
		if (f != INDEX_META)
			e = flush_family(x, (enum index_family)f, lists[f],
			    STR_NONE, STR_NONE, w);
	if (e == OK)
		e = flush_family(x, INDEX_META, lists[INDEX_META], key, value,
		    w);
	for (size_t f = 0; f < INDEX_FAMILIES; f++)
		run_list_release(lists[f]);
	pthread_mutex_unlock(&x->flushing);
	return e;
}

enum err
index_flush(struct index *x, struct str key, struct str value, struct why *w)
{
	index_release(x);
	return flush_runs(x, key, value, w);
}

enum err
index_checkpoint(struct index *x, const char *dir, struct why *w)
{
	enum err e = flush_runs(x, STR_NONE, STR_NONE, w);
	char *text = NULL;

	if (e != OK)
		return e;
	rocksdb_checkpoint_t *c = rocksdb_checkpoint_object_create(x->db,
	    &text);
	e = index_tell(w, "begin a checkpoint", text);
	if (e != OK)
		return e;
	text = NULL;
	rocksdb_checkpoint_create(c, dir, 0, &text);
	rocksdb_checkpoint_object_destroy(c);
	return index_tell(w, "write a checkpoint", text);
}
