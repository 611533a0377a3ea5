/*
 * Reading the index: runs first, then RocksDB.
 *
 * A reader takes the runs before it asks RocksDB, and a flush drops runs only
 * when RocksDB has them: so a reader may see an operation in both, never in
 * neither.
 */
#include "os/index_own.h"

struct index_iter {
	struct run_list *list;
	struct run_merge merge;
	rocksdb_iterator_t *it;
};

/*
 * Turn off RocksDB's per-thread statistics.  By default it counts every key
 * comparison, which takes a quarter of the time of a walk.
 */
static void
count_nothing(void)
{
	rocksdb_set_perf_level(rocksdb_disable);
}

static struct run_list *
hold_list(struct index *x, enum index_family f, uint64_t *freezes)
{
	pthread_mutex_lock(&x->lock);
	struct run_list *l = run_list_hold(x->lists[f]);
	*freezes = x->freezes;
	pthread_mutex_unlock(&x->lock);
	return l;
}

static enum err
find_in_files(struct index *x, enum index_family f, struct str key,
    struct arena *a, struct str *value, struct why *w)
{
	char *text = NULL;
	size_t n;

	rocksdb_pinnableslice_t *slice = rocksdb_get_pinned_cf(x->db, x->read,
	    x->handles[f], key.p, key.n, &text);
	if (text != NULL)
		return index_tell(w, "read", text);
	if (slice == NULL)
		return ERR_ABSENT;
	const char *p = rocksdb_pinnableslice_value(slice, &n);
	*value = arena_copy(a, (struct str){ p, n });
	rocksdb_pinnableslice_destroy(slice);
	return OK;
}

enum err
index_get(struct index *x, enum index_family f, struct str key,
    struct arena *a, struct str *value, struct why *w)
{
	uint64_t freezes;
	struct run_list *l = hold_list(x, f, &freezes);
	struct str found;
	enum run_answer r = run_list_find(l, key, &found);
	enum err e = r == RUN_PUT ? OK : ERR_ABSENT;

	*value = STR_NONE;
	if (r == RUN_PUT)
		*value = arena_copy(a, found);
	run_list_release(l);
	if (r == RUN_NOTHING)
		e = find_in_files(x, f, key, a, value, w);
	return e == ERR_ABSENT ? why(w, e, "%s", err_text(e)) : e;
}

/* --- walks ---------------------------------------------------------------- */

static void
seek_files(void *it, struct str key, bool back)
{
	const char *p = key.n == 0 ? "" : key.p;

	if (back)
		rocksdb_iter_seek_for_prev(it, p, key.n);
	else
		rocksdb_iter_seek(it, p, key.n);
}

static void
step_files(void *it, bool back)
{
	if (back)
		rocksdb_iter_prev(it);
	else
		rocksdb_iter_next(it);
}

static bool
read_files(void *it, struct str *key, struct str *value)
{
	if (!rocksdb_iter_valid(it))
		return false;
	key->p = rocksdb_iter_key(it, &key->n);
	value->p = rocksdb_iter_value(it, &value->n);
	return true;
}

/*
 * If a flush begins between the two steps, RocksDB's files may receive runs
 * that are not in the list: try again.
 */
static void
take_snapshot(struct index *x, enum index_family f,
    rocksdb_readoptions_t *read, struct index_iter *i)
{
	uint64_t before, now;

	for (;;) {
		i->list = hold_list(x, f, &before);
		i->it = rocksdb_create_iterator_cf(x->db, read, x->handles[f]);
		pthread_mutex_lock(&x->lock);
		now = x->freezes;
		pthread_mutex_unlock(&x->lock);
		if (now == before)
			return;
		rocksdb_iter_destroy(i->it);
		run_list_release(i->list);
	}
}

static struct index_iter *
iter_new(struct index *x, enum index_family f, rocksdb_readoptions_t *read)
{
	struct index_iter *i = mem_new(sizeof(*i));

	count_nothing();
	take_snapshot(x, f, read, i);
	run_merge_begin(&i->merge, i->list, &(struct run_base){ i->it,
	    seek_files, step_files, read_files }, false);
	return i;
}

struct index_iter *
index_iter_new(struct index *x, enum index_family f)
{
	return iter_new(x, f, x->read);
}

struct index_iter *
index_iter_new_long(struct index *x, enum index_family f)
{
	return iter_new(x, f, x->read_long);
}

void
index_iter_free(struct index_iter **ip)
{
	struct index_iter *i = *ip;

	if (i == NULL)
		return;
	run_merge_end(&i->merge);
	rocksdb_iter_destroy(i->it);
	run_list_release(i->list);
	mem_free(ip);
}

void
index_iter_seek(struct index_iter *i, struct str from)
{
	run_merge_seek(&i->merge, from, false);
}

void
index_iter_seek_last(struct index_iter *i, struct str upto)
{
	run_merge_seek(&i->merge, upto, true);
}

bool
index_iter_valid(struct index_iter *i, struct str *key, struct str *value)
{
	bool deleted;

	return run_merge_at(&i->merge, key, value, &deleted);
}

void
index_iter_next(struct index_iter *i)
{
	run_merge_step(&i->merge, false);
}

void
index_iter_prev(struct index_iter *i)
{
	run_merge_step(&i->merge, true);
}

enum err
index_iter_error(struct index_iter *i, struct why *w)
{
	char *text = NULL;

	rocksdb_iter_get_error(i->it, &text);
	return index_tell(w, "walk", text);
}
