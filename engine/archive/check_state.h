/*
 * check_state -- what check remembers between records: ids, references that
 * wait for their record, and the numbers of each crawl.  Private to check.
 */
#ifndef ENGINE_ARCHIVE_CHECK_STATE_H
#define ENGINE_ARCHIVE_CHECK_STATE_H

#include "base/map.h"
#include "engine/archive/check.h"

/* A set of 64-bit hashes; 0 stands for a free slot. */
struct id_set {
	uint64_t *slots;
	size_t n, cap, max;
	bool forgotten;           /* it was full once and begun anew */
};
void id_set_free(struct id_set *);
/* True when it was there before. */
bool id_set_put(struct id_set *, uint64_t hash);
bool id_set_has(const struct id_set *, uint64_t hash);

/* References to a record that may still come. */
#define WAITING_MAX 4096
struct waiting {
	struct {
		uint64_t hash, offset;
	} refs[WAITING_MAX];
	size_t n;
};

/* The numbers of one crawl, as they come file after file. */
struct crawl_numbers {
	uint64_t last, count;
	uint32_t hop;             /* of the record with the last number */
};
/* Made when it is not there; NULL beyond ARCHIVE_CRAWLS_MAX crawls. */
struct crawl_numbers *crawl_numbers_get(struct map *crawls, uint32_t crawl);

#endif
