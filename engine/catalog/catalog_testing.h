/*
 * catalog_testing -- a catalog over a real ledger, and pages put into it as a
 * fetcher would: in the world of os/world_testing.h, or on a real disk with
 * threads (for the bench).
 *
 *     rig_page() ... rig_show() ─► the registry and the lists have them
 */
#ifndef ENGINE_CATALOG_CATALOG_TESTING_H
#define ENGINE_CATALOG_CATALOG_TESTING_H

#include "engine/catalog/catalog_open.h"
#include "engine/ledger/ledger.h"
#include "os/world_testing.h"
#include "wire/warc.h"

#define RIG_CRAWL 3u

struct rig {
	/* Set between rig_init() and rig_open(). */
	const char *dir;             /* of a real disk; NULL: the fake one */
	unsigned threads;            /* of the pool */
	uint64_t rollover_bytes;
	uint64_t links_pages_max;
	/* stream_testing.h's; NULL: without a stream. */
	void (*open_stream)(struct rig *);
	void (*close_stream)(struct rig *);
	void (*free_stream)(struct rig *);

	struct loop *loop;
	struct pool *pool;
	struct ledger *ledger;
	struct warc_set *series;
	struct warc_writer *writer;
	struct crawl_registry *registry;
	struct catalog *catalog;
	struct stream *stream;
	struct crawl_view view;
	uint64_t seq;                /* of the newest page */
	struct arena arena;
	bool closed;
};

void rig_init(struct rig *);
void rig_open(struct rig *);
void rig_run(struct rig *);          /* until nothing moves */
void rig_pass(struct rig *, int64_t ms);
void rig_end(struct rig *);

struct rig_hop {
	const char *url, *head;      /* the answer's: "HTTP/1.1 302 ..." */
};
struct rig_page {
	const char *url;
	const char *final_url;       /* NULL: no redirects */
	const struct rig_hop *hops;  /* those before the final answer */
	size_t hops_n;
	struct str head;             /* with its empty line; empty: 200 */
	struct str body;             /* as received */
	int status;                  /* 0: 200 */
	unsigned depth;
	const char *type, *title;
	uint32_t duration_us;
	uint8_t flags;               /* more of the journal's */
	uint64_t same_as;            /* revisit of that page; 0: none */
	bool unarchived;
	bool old;                    /* without SIZED and SOURCED */
};
/* Put it; returns its number. */
uint64_t rig_page(struct rig *, const struct rig_page *);
/* A number is left out, as in a crawl rebuilt from damaged files. */
void rig_gap(struct rig *);
/* Make all of it durable and have the registry show it. */
void rig_show(struct rig *);
/* The journal's entry.  Memory: the rig's arena. */
struct journal_entry rig_entry(struct rig *, uint64_t number);
/* `n` bytes of no pattern, the same ones for the same seed. */
struct str rig_bytes(struct rig *, size_t n, uint64_t seed);
struct str rig_gzip(struct rig *, struct str);

#endif
