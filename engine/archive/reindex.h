/*
 * reindex -- what the WARC files say about the captures of each crawl, in the
 * order of their numbers: from this a ledger rebuilds its journal.
 *
 * Only numbered captures are told.  All hops of one capture may carry its
 * number; then the last hop is the capture and `hops` counts the others.
 * Memory: sort.bytes_max; runs go to `<scratch>.run-<n>`.
 * Thread: one.
 */
#ifndef ENGINE_ARCHIVE_REINDEX_H
#define ENGINE_ARCHIVE_REINDEX_H

#include "engine/archive/archive.h"
#include "wire/digest.h"
#include "wire/warc_read.h"

/* Slices live during the callback. */
struct archive_capture {
	uint32_t crawl;
	uint64_t seq;                  /* 0: it has none */
	uint64_t group;
	const struct archive_file *file;
	uint64_t offset;               /* of the final answer's member */
	uint32_t clen, ulen;
	uint32_t body_at;              /* of the HTTP body, unpacked */
	uint64_t body_bytes;           /* as received */
	uint32_t hops, depth;
	struct wall began;             /* of the first hop that is there */
	struct wall start;
	int64_t duration_us;
	int status;
	bool revisit, truncated;
	bool unchanged;                /* a revisit for an answer of 304 */
	struct digest digest;          /* of the payload */
	struct str type;               /* Content-Type as the server sent it */
	struct str url, final_url;     /* requested; of the final answer */
	struct str via;                /* the page it was found on first */
};

/* A warcinfo record's data on its crawl; reported before the captures. */
struct archive_crawl {
	const struct archive_file *file;
	uint32_t crawl;
	struct wall date;
	uint64_t bytes;                /* of the record in the file */
	struct str name, kind, policy, is_part_of, harvest_id, harvest_type;
	const struct str *seeds;
	size_t seeds_n;
};

struct archive_reindex_events {
	/* Once per file that has one; may be NULL. */
	enum err (*crawl)(void *arg, const struct archive_crawl *,
	    struct why *);
	/*
	 * Numbers of one crawl rise; crawls come in the order of their ids.
	 * With `aux` also what was archived without a number (robots.txt,
	 * sitemaps), behind the capture that it was written behind.
	 */
	enum err (*capture)(void *arg, const struct archive_capture *,
	    struct why *);
	bool aux;
	/*
	 * The newest checkpoint of each owner of calls, at the end
	 * (engine/frontier/checkpoint.h); may be NULL.
	 */
	enum err (*checkpoint)(void *arg, uint32_t crawl, struct str owner,
	    struct str bytes, struct why *);
	/* May be NULL: then damage is counted. */
	enum err (*damage)(void *arg, const struct archive_file *,
	    const struct warc_damage *, struct why *);
	/* A file was read over; may be NULL. */
	void (*progress)(void *arg, size_t files, uint64_t records);
};

struct archive_reindex_counts {
	uint64_t records, captures, hops;
	uint64_t unnumbered;           /* answers without a number */
	uint64_t failed;               /* ... of URLs that failed: not told */
	uint64_t repeated;             /* there twice, told once */
	uint64_t missing;              /* numbers in gaps */
	uint64_t damaged;
};

/*
 * Read all files, then tell the captures.  Ends at the first event that is not
 * OK, with its error.  Errors besides: what reading and sorting give.
 */
MUST_USE enum err archive_reindex(const struct archive_catalogue *,
    const char *scratch, size_t sort_bytes_max,
    const struct archive_reindex_events *, void *arg,
    struct archive_reindex_counts *, struct why *);

#endif
