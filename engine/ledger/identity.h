/*
 * identity -- which data directory this is, where it is, and which archive it
 * writes to.
 *
 *     DATA/identity                  id, place, WARC directories outside DATA
 *     ROOT/.argiope/owner            id of the data directory that writes here,
 *                                    and the position of its newest file
 *
 * ROOT is DATA/archive for every WARC directory in it, else the WARC directory.
 * Both are small text files that end with their crc32c; they are written under
 * another name, synced and renamed, so that a reader finds the old or the new
 * one.  Story: engine/ledger/DESIGN.md, "Identity".
 *
 * Thread: any, one at a time for each file.
 */
#ifndef ENGINE_LEDGER_IDENTITY_H
#define ENGINE_LEDGER_IDENTITY_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

#define IDENTITY_ID_MAX 33           /* 32 hexadecimal digits and a NUL */

/* The one command that loses nothing; every message about damage names it. */
#define IDENTITY_REBUILD "argiope archive reindex --rebuild"

struct identity {
	char id[IDENTITY_ID_MAX];    /* "": there is none yet */
	struct str place;            /* the absolute path of DATA */
	struct str *archives;        /* roots outside DATA */
	size_t archives_n;
};

/* Errors: ABSENT; CORRUPT; NEWER; IO. */
MUST_USE enum err identity_read(const char *data_dir, struct arena *,
    struct identity *, struct why *);
MUST_USE enum err identity_write(const char *data_dir,
    const struct identity *, struct why *);
/*
 * Notes the cause `own` in the caller's struct and returns its error.  Where
 * stored data is damaged the command that rebuilds it is put before the cause;
 * so call it once, in the outermost function.
 */
enum err identity_advise(const char *home, const struct why *own, enum err,
    struct why *);
void identity_make_id(char id[IDENTITY_ID_MAX]);

/*
 * The directory at `data_dir` (absolute) is where it belongs: same id, new
 * place.  For a restored backup, before anything opens it; without this a start
 * refuses a copy whose original is still at its place.  A directory of an
 * earlier version, which has no identity, is left as it is.
 */
MUST_USE enum err identity_adopt(const char *data_dir, struct why *);
/*
 * True when the data directory at `place` has this id and an index.  False when
 * it is the directory `home` under another name (a bind mount).
 */
bool identity_is_at(struct str place, const char *id, const char *home);

/* --- the owner of a WARC directory ---------------------------- */

/* A commit group, and a random number of the process that wrote it. */
struct position {
	uint64_t group, start;       /* 0, 0: none */
};
struct owner {
	char id[IDENTITY_ID_MAX];
	struct str place;
	struct position now;         /* the group that began the newest file */
	struct position before;      /* the one before that */
};

/* Errors: as identity_read(). */
MUST_USE enum err owner_read(const char *root, struct arena *, struct owner *,
    struct why *);
/* The directory is made if need be.  Errors: DISK_FULL; IO. */
MUST_USE enum err owner_write(const char *root, const struct owner *,
    struct why *);

/* --- paths ----------------------------------------------------- */

struct stored_paths {
	const char *home;            /* DATA, absolute */
	/*
	 * Where DATA was when this version first opened it, "" when it made it:
	 * earlier versions stored absolute paths.
	 */
	const char *origin;
};
/*
 * How a path is stored: "./REST" when it lies in `home`, else as it is.  The
 * reverse.  Memory: `a`, or the argument's.
 */
struct str paths_store(const struct stored_paths *, struct str path,
    struct arena *);
struct str paths_resolve(const struct stored_paths *, struct str stored,
    struct arena *);
/* The name of the WARC directory in index keys; it survives a move of DATA. */
struct str paths_collection(const struct stored_paths *, struct str warc_dir,
    struct arena *);
/* The ROOT of a WARC directory. */
struct str paths_root(const struct stored_paths *, struct str warc_dir,
    struct arena *);

#endif
