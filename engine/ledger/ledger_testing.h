/*
 * ledger_testing -- an owner of a ledger for its tests: it archives items, each
 * with a promise, keeps one note for every RIG_NOTES items, and can be killed
 * at any moment.  All on one loop, in the world of os/world_testing.h.
 *
 *     item N:  an exchange in the WARC of series N % RIG_SERIES, a journal
 *              entry with its place, and note N % RIG_NOTES = N
 */
#ifndef ENGINE_LEDGER_LEDGER_TESTING_H
#define ENGINE_LEDGER_LEDGER_TESTING_H

#include "engine/ledger/ledger.h"
#include "os/world_testing.h"
#include "wire/warc.h"

#define RIG_SERIES_MAX 8
#define RIG_NOTES_MAX 5000
#define RIG_DIR "/warc"
/* The work directory of series that are set up like those of harvests. */
#define RIG_WORK_DIR "/warc/work-of-a-harvest"
#define RIG_TOLD_MAX 200

/* The last call of closed() for a harvest's file, over all restarts. */
struct rig_told {
	char path[120];
	uint64_t size;
	struct digest digest;
};

struct rig {
	/* Set between rig_init() and rig_open(). */
	struct ledger_options options;
	uint64_t rollover_bytes;
	int64_t rollover_s;
	unsigned series_n;          /* items go round over so many */
	uint32_t notes_n;
	bool lines;                 /* hand over CDXJ lines */
	/* From this series on they are a harvest's: files in a work directory
	 * of their own, an owner, members whose rest is in a spool file. */
	unsigned harvests_from;
	uint64_t cut_at;            /* power cut when this promise is kept */
	bool written;               /* plain items want no sync */

	struct loop *loop;
	struct pool *pool;
	struct ledger *ledger;
	struct warc_set *series[RIG_SERIES_MAX];
	struct warc_writer *writer;
	char infos[RIG_SERIES_MAX][40];      /* ids of the warcinfos */
	unsigned infos_n[RIG_SERIES_MAX];
	struct arena arena;
	int spool;                  /* handle; -1: not open */
	uint64_t spool_end;
	struct rig_told harvested[RIG_TOLD_MAX];
	unsigned harvested_n;
	unsigned closing, finished; /* of this life */

	uint64_t notes[RIG_NOTES_MAX];
	uint8_t marks[RIG_NOTES_MAX];        /* of checkpoints */
	uint64_t seq;               /* of the last item */
	struct archive_place place;          /* of the last item */
	uint64_t kept, broken;      /* promises */
	uint64_t promised;          /* most that were ever kept */
	uint64_t told;              /* ... also of those that want no sync */
	uint64_t replayed, last_replayed;
	size_t put_most;            /* things of a checkpoint in one group */
	enum ledger_health health;
	unsigned healths;           /* changes */
	char text[400];             /* of the last change */
	bool closed;
};

void rig_init(struct rig *);        /* defaults; the disk is empty */
enum err rig_open(struct rig *, struct why *);
void rig_open_ok(struct rig *);
void rig_run(struct rig *);         /* until nothing moves */
void rig_pass(struct rig *, int64_t ms);     /* time goes on, timers fire */
/* Put the next item into the gathering group. */
void rig_put(struct rig *);
void rig_put_to(struct rig *, unsigned series);
/* The same with a put of so many bytes instead of an archived exchange. */
void rig_put_plain(struct rig *, size_t bytes);
/* Several, then run. */
void rig_items(struct rig *, unsigned n);
void rig_close_series(struct rig *, unsigned series);
void rig_crash(struct rig *, bool power);
/* As a backup and its restore do. */
void rig_drop_empty_dirs(void);
void rig_close(struct rig *);       /* well: all is durable */
void rig_end(struct rig *);         /* frees what is left */

/*
 * The index holds items 1 to K and nothing else, K at least `promised`; each
 * stands in its WARC; the notes are as of K.  K is the new rig.seq.
 */
void rig_verify(struct rig *);
/*
 * After rig_close(): no file is left open, every WARC passes the check of the
 * contract, and each item stands in the CDXJ beside its file.
 */
void rig_verify_files(struct rig *);
uint64_t rig_groups(struct rig *);
struct ledger_stats rig_stats(struct rig *);

#endif
