/*
 * index_own -- the state that the files of the index share.
 *
 * Private to os/index*.c.
 */
#ifndef OS_INDEX_OWN_H
#define OS_INDEX_OWN_H

#include <pthread.h>
#include <rocksdb/c.h>

#include "os/index.h"
#include "os/index_run.h"

struct index {
	rocksdb_t *db;
	rocksdb_column_family_handle_t *handles[INDEX_FAMILIES];
	rocksdb_options_t *options[INDEX_FAMILIES];
	rocksdb_cache_t *cache;
	rocksdb_writeoptions_t *write;
	rocksdb_readoptions_t *read, *read_long;
	rocksdb_flushoptions_t *flush;
	char *dir;
	bool in_memory;
	const void *context;
	atomic_bool held;            /* files of `url` are not merged */

	pthread_mutex_t flushing;    /* one flush at a time */
	/* Held while the lists change: by a write, a flush's begin and end. */
	pthread_mutex_t change;
	size_t fresh_bytes;          /* of runs that no flush has taken */
	size_t fresh_bytes_max;
	/* Held for a moment, to take or to replace a list. */
	pthread_mutex_t lock;
	struct run_list *lists[INDEX_FAMILIES];
	struct run_merging mergings[INDEX_FAMILIES];  /* under `change` */
	uint64_t freezes;            /* flushes begun */
};

/* Note RocksDB's text, which is freed here; NULL: no error. */
enum err index_tell(struct why *, const char *what, char *text);
/* Remove files that a kill left half written, before the index is opened. */
MUST_USE enum err index_remove_new(const struct index *, struct why *);

#endif
