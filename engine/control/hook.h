/*
 * hook -- the operator's commands hook.warc_finished and hook.crawl_ended.
 *
 *     pool, ledger's loop: hooks_put()   a file in DATA/hooks, synced
 *     ledger commits:      hooks_ready() ──► hook thread: the command runs;
 *                                            code 0: the file is removed,
 *                                            else it is run again later
 *
 * A file in DATA/hooks is written before the state that it belongs to is
 * committed, so that each command runs at least once.  The command runs only
 * after that commit.
 *
 * A command hook.warc_finished that moves the file prints its new place, an
 * absolute path or a URL, as its first line; engine/archive/moved.h keeps it.
 *
 * Story: engine/DESIGN.md, "Hooks".
 */
#ifndef ENGINE_CONTROL_HOOK_H
#define ENGINE_CONTROL_HOOK_H

#include "base/conf.h"
#include "os/loop.h"

#define HOOKS_DIR "hooks"
/* Between two tries, doubled each time. */
#define HOOK_RETRY_MS 1000
#define HOOK_RETRY_MS_MAX (10 * 60 * 1000)
/* The most words that a configured command may have. */
#define HOOK_WORDS_MAX 64u

enum hook { HOOK_WARC_FINISHED, HOOK_CRAWL_ENDED, HOOKS };

struct hooks;
/*
 * `*out` is NULL when no command is configured; `data_dir` is absolute.
 * `ready` says whether what an earlier process left in DATA/hooks is
 * committed.  Errors: CONFIG for a command of more than HOOK_WORDS_MAX words;
 * IO, DENIED.
 */
MUST_USE enum err hooks_open(const struct conf *, const char *data_dir,
    bool (*ready)(void *arg, enum hook, uint32_t id), void *arg,
    struct hooks **out, struct why *);
void hooks_start(struct hooks *);
void hooks_free(struct hooks **);

/*
 * Remember durably that the hook is to be called with `argument`.  Nothing
 * happens where it has no command, or without hooks.  Thread: any.
 * Errors: DISK_FULL, IO.
 */
MUST_USE enum err hooks_put(struct hooks *, enum hook, uint32_t id,
    struct str argument, struct why *);
/* Whether such a call is remembered.  Thread: any. */
bool hooks_has(const struct hooks *, enum hook, uint32_t id);
/* Call the hook that hooks_put() noted; the note is committed.  Thread: any. */
void hooks_ready(struct hooks *, enum hook, uint32_t id);

/*
 * End.  With `finish` all that is pending is tried once more, within
 * hook.timeout_s altogether; else a command that runs is ended, and the next
 * process runs it again.  Then `done` on `home`.
 */
void hooks_close(struct hooks *, bool finish, struct loop *home,
    void (*done)(void *arg), void *arg);

#endif
