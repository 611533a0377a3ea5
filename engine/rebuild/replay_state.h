/*
 * replay_state -- a replay under way: what replay.c, which follows the crawls,
 * shares with replay_capture.c, which reads each capture again.
 */
#ifndef ENGINE_REBUILD_REPLAY_STATE_H
#define ENGINE_REBUILD_REPLAY_STATE_H

#include "base/map.h"
#include "engine/archive/capture.h"
#include "engine/fetcher/collection.h"
#include "engine/fetcher/fetcher.h"
#include "engine/policy/robots.h"
#include "engine/rebuild/replay.h"

/* A crawl, from its first warcinfo to its last capture. */
struct told_crawl {
	struct crawl_shared shared;
	struct rules *rules;
	const struct policy *policy;     /* theirs */
	struct trap_memory *traps;
	struct arena arena;              /* of all texts */
	struct crawl_spec spec;
	const char *path;                /* of the file that told it first */
	struct wall created, last;
	uint64_t warc_bytes;
};

/* A record in hand, read again. */
struct record {
	struct capture_reader *reader;
	struct capture capture;
	uint32_t file;
	int fd;
};

struct replay {
	const struct conf *conf;
	struct frontier *frontier, *old;
	struct rebuild_counts *counts;
	struct map crawls;               /* id -> struct told_crawl */
	struct told_crawl *now;          /* whose captures are being told */
	struct parser *parser;
	struct record own, original, older;
	struct arena page;               /* of one capture */
	struct buf body, key;
	bool damaged;                /* `body` is not all there was */
	struct str product_token;
	/* The robots.txt of the origin whose URLs are being judged. */
	struct robots *robots;
	struct buf robots_origin;
};

/* The capture's crawl is the one under replay now; the last one has ended. */
MUST_USE enum err replay_turn_to(struct replay *,
    const struct archive_capture *, struct why *);
/* The name that robots.txt is matched by. */
struct str replay_product_token(const struct replay *);
/* The rules that an answer for robots.txt stands for; the caller's. */
struct robots *replay_read_robots(struct replay *, int status,
    struct str body);

#endif
