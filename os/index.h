/*
 * index -- RocksDB as the ledger's index: its own log off.
 *
 * Keys are bytes in one of a few families.  What was written is in memory until
 * index_flush() returned; the commit log replays what a crash took.
 *
 * Thread: one at a time for writes; reads (get, iterators) from any.
 */
#ifndef OS_INDEX_H
#define OS_INDEX_H

#include "base/arena.h"
#include "base/err.h"

enum index_family {
	INDEX_META, INDEX_CRAWL, INDEX_QUEUE, INDEX_URL, INDEX_JOURNAL,
	INDEX_LOG, INDEX_WARC, INDEX_KNOWN, INDEX_DIGEST, INDEX_CONTROL,
	INDEX_FAMILIES
};

struct index;
struct index_batch;
struct index_iter;
struct index_options {
	size_t write_buffer_bytes, write_buffers;
	size_t block_cache_bytes;
	bool in_memory;              /* the simulator's */
	/*
	 * Takes no lock and sees what was flushed; nothing may be written.
	 * Files that another process removes meanwhile make reading fail.
	 */
	bool read_only;
};

MUST_USE enum err index_open(const char *dir, const struct index_options *,
    struct index **, struct why *);
void index_close(struct index **);   /* does not flush */
/*
 * Let RocksDB merge the files of `url`, from now on: index_open() holds that
 * back when there are INDEX_HELD_BYTES_MIN of files, so that it takes no
 * processor from those who read them all at a start.  index_flush() calls this.
 * Thread: any.
 */
#define INDEX_HELD_BYTES_MIN ((uint64_t)32 << 20)
void index_release(struct index *);
/* A pointer of the owner's, for those who are given the index alone. */
void index_set_context(struct index *, const void *);
const void *index_context(const struct index *);
/*
 * Files "in_memory" outlive index_close(), as files do, so that a simulator can
 * open them again.  Forget them all; no such index may be open.
 */
void index_forget_memory(void);

struct index_batch *index_batch_new(void);
void index_batch_free(struct index_batch **);
/* Forget its operations. */
void index_batch_clear(struct index_batch *);
void index_put(struct index *, struct index_batch *, enum index_family,
    struct str key, struct str value);
void index_delete(struct index *, struct index_batch *, enum index_family,
    struct str key);
void index_delete_range(struct index *, struct index_batch *,
    enum index_family, struct str from, struct str to);
/* Apply the batch whole and empty it. */
MUST_USE enum err index_write(struct index *, struct index_batch *,
    struct why *);
/*
 * Bytes that writes may still add to memory before one of them flushes.  An
 * operation adds its key, its value and 12 bytes, a batch 200 bytes for each
 * family.
 */
int64_t index_room(struct index *);
/*
 * All written so far reaches the disk, and only then the record of `meta` that
 * says so, before this returns; no key, no record.  It may run beside the
 * thread that writes.
 */
MUST_USE enum err index_flush(struct index *, struct str key,
    struct str value, struct why *);

/*
 * A second index in `dir`, which must not be there: all that was written so
 * far.  Files that never change are linked where that is possible.  It may run
 * beside reads and the thread that writes.
 */
MUST_USE enum err index_checkpoint(struct index *, const char *dir,
    struct why *);

/*
 * The value is copied into `a`.  ABSENT when there is none: the caller, who
 * knows what the key stands for, says what is missing.
 */
MUST_USE enum err index_get(struct index *, enum index_family, struct str key,
    struct arena *a, struct str *value, struct why *);

/* A snapshot walk.  index_iter_seek() to the first key >= `from`. */
struct index_iter *index_iter_new(struct index *, enum index_family);
/* The same for a walk over much of a family: what it reads does not displace
 * other blocks from the cache. */
struct index_iter *index_iter_new_long(struct index *, enum index_family);
void index_iter_free(struct index_iter **);
void index_iter_seek(struct index_iter *, struct str from);
void index_iter_seek_last(struct index_iter *, struct str upto);  /* <= upto */
bool index_iter_valid(struct index_iter *, struct str *key, struct str *value);
void index_iter_next(struct index_iter *);
void index_iter_prev(struct index_iter *);
MUST_USE enum err index_iter_error(struct index_iter *, struct why *);
/*
 * Cut a family into at most `n` parts of about the same size on disk, none of
 * them smaller than INDEX_PART_BYTES_MIN: `cuts` receives the first keys of the
 * second to the last part, in their order.  Returns the number of parts.
 * `cuts` has room for n - 1 buffers; the caller frees those it initialized.
 */
#define INDEX_PART_BYTES_MIN ((uint64_t)256 << 10)
size_t index_split(struct index *, enum index_family, struct str from,
    struct str to, size_t n, struct buf *cuts);
/* A RocksDB property of a family, such as "rocksdb.estimate-num-keys". */
uint64_t index_property(struct index *, enum index_family, const char *name);

#endif
