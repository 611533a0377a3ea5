/*
 * What a rebuild takes over from the index that it replaces, as far as that can
 * be read; WARC files do not tell it:
 *
 *     crawls that no WARC file names         seeds, policy, tags
 *     numbers that were given, ends           frontier_restore_view()
 *     queues and URLs of the urlfrontier door their records, as they are
 *     crawls without an archive               likewise, journal and log too
 *     ids of deleted crawls, the stream's mark  their records, as they are
 */
#include "engine/fetcher/collection.h"
#include "engine/rebuild/parts.h"

#define BATCH_RECORDS 1000

struct carrying {
	struct index *from, *to;
	struct index_batch *batch;
	unsigned n;
	struct why *w;
};

static enum err
put(struct carrying *c, enum index_family f, struct str key, struct str value)
{
	index_put(c->to, c->batch, f, key, value);
	if (++c->n % BATCH_RECORDS != 0)
		return OK;
	return index_write(c->to, c->batch, c->w);
}

/* All records whose keys begin with `prefix`. */
static enum err
copy_records(struct carrying *c, enum index_family f, struct str prefix)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(c->from, f);
	struct str key, value;
	enum err e = OK;

	for (index_iter_seek(i, prefix); e == OK && index_iter_valid(i, &key,
	    &value) && str_starts(key, prefix); index_iter_next(i))
		e = put(c, f, key, value);
	return e == OK ? index_iter_error(i, c->w) : e;
}

static enum err
copy_door_crawl(struct carrying *c, uint32_t id)
{
	FREED(buf_free) struct buf prefix = BUF_INIT;

	buf_put_be32(&prefix, id);
	enum err e = copy_records(c, INDEX_CRAWL, buf_str(&prefix));
	if (e == OK)
		e = copy_records(c, INDEX_QUEUE, buf_str(&prefix));
	return e == OK ? copy_records(c, INDEX_URL, buf_str(&prefix)) : e;
}

static bool
is_unarchived(struct str spec)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct crawl_spec s;

	return crawl_spec_parse(spec, &a, &s) && s.unarchived;
}

/* All that there is of it: no record names its files, since it has none. */
static enum err
copy_unarchived(struct carrying *c, uint32_t id)
{
	static const enum index_family families[] = { INDEX_CRAWL, INDEX_QUEUE,
	    INDEX_URL, INDEX_JOURNAL, INDEX_LOG };
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf prefix = BUF_INIT;
	enum err e = OK;

	buf_put_be32(&prefix, id);
	for (size_t i = 0; e == OK && i < ARRAY_LEN(families); i++)
		e = copy_records(c, families[i], buf_str(&prefix));
	buf_clear(&prefix);
	collection_prefix(collection_of_unarchived(id, &a), &prefix);
	return e == OK ? copy_records(c, INDEX_DIGEST, buf_str(&prefix)) : e;
}

/*
 * 'O': a crawl of the urlfrontier door; 'T': one that was deleted; 'S': what
 * any other began with.
 */
static enum err
copy_crawl(struct carrying *c, uint32_t id, char part, struct str key,
    struct str value, struct rebuild_counts *counts)
{
	switch (part) {
	case 'O':
		counts->door_crawls++;
		return copy_door_crawl(c, id);
	case 'T':
		return put(c, INDEX_CRAWL, key, value);
	case 'S':
		if (!is_unarchived(value))
			return OK;
		counts->unarchived++;
		return copy_unarchived(c, id);
	default:
		return OK;
	}
}

/* Copy the crawls that are in no WARC file. */
static enum err
copy_crawls(struct carrying *c, struct frontier *rebuilt,
    struct rebuild_counts *counts)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(c->from, INDEX_CRAWL);
	struct crawl_view v;
	struct str key, value;
	enum err e = OK;

	for (index_iter_seek(i, STR("")); e == OK && index_iter_valid(i, &key,
	    &value); index_iter_next(i)) {
		struct reader in = reader_of(key);
		uint32_t id = read_be32(&in);
		if (!in.bad && in.n == 1 &&
		    frontier_view(rebuilt, id, &v) != OK)
			e = copy_crawl(c, id, *in.p, key, value, counts);
	}
	return e == OK ? index_iter_error(i, c->w) : e;
}

/* Absent is fine. */
static enum err
copy_record(struct carrying *c, enum index_family f, struct str key)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str value;

	enum err e = index_get(c->from, f, key, &a, &value, NULL);
	e = e == OK ? put(c, f, key, value) : e == ERR_ABSENT ? OK :
	    why(c->w, e, "cannot read the old index: %s", err_text(e));
	return e;
}

enum err
carry_records(struct frontier *old, struct frontier *rebuilt,
    struct rebuild_counts *counts, struct why *w)
{
	struct carrying c = { .from = ledger_index(frontier_ledger(old)),
	    .to = ledger_index(frontier_ledger(rebuilt)),
	    .batch = index_batch_new(), .w = w };

	enum err e = copy_crawls(&c, rebuilt, counts);
	/* The door's settings; the directory's name in clients' tokens. */
	if (e == OK)
		e = copy_record(&c, INDEX_CONTROL, STR("outside"));
	if (e == OK)
		e = copy_record(&c, INDEX_META, STR("mark"));
	if (e == OK)
		e = index_write(c.to, c.batch, w);
	index_batch_free(&c.batch);
	return e;
}
