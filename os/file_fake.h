/*
 * file_fake -- a disk in memory behind os/file.h, which loses what a real one
 * may lose, and fails when told to.  For tests and the simulator.
 *
 *     write, cut        lost in a power cut until the file is synced; before
 *                       that any 512-byte sector may or may not survive
 *     create, rename,   lost until the directory is synced; of what is not
 *     remove            synced any beginning survives
 *     a failed sync     drops what was to be synced, for ever: reads show it,
 *                       the disk never has it, the next sync succeeds (Linux)
 *     a failed write    may have written a part, up to a sector's end
 *
 * Directories are there for good as soon as they are made.  One disk per
 * process.  All choices come from the seed.  Thread: any (one mutex).
 *
 * file_faulty is the real disk with the same plan of faults in front of it.
 */
#ifndef OS_FILE_FAKE_H
#define OS_FILE_FAKE_H

#include "os/file.h"

extern const struct file_table file_fake;
extern const struct file_table file_faulty;

enum file_call {
	FILE_CALL_OPEN, FILE_CALL_READ, FILE_CALL_WRITE, FILE_CALL_SYNC,
	FILE_CALL_SIZE, FILE_CALL_CUT, FILE_CALL_ALLOCATE,
	FILE_CALL_RENAME,            /* rename_new and replace */
	FILE_CALL_REMOVE, FILE_CALL_SYNC_DIR, FILE_CALL_MAKE_DIR,
	FILE_CALL_LIST, FILE_CALL_FREE_BYTES,
	FILE_CALL_CHANGE,            /* any of write, sync, cut, allocate, */
	                             /* rename, remove, sync_dir, make_dir */
	FILE_CALLS
};
#define FILE_FAULT_FOREVER UINT64_MAX

/* An empty disk, no faults, no limit, all counts 0. */
void file_fake_reset(uint64_t seed);
/* kill -9: the disk keeps everything, all handles are dead. */
void file_fake_kill(void);
/* The power went: what was not synced may be gone; all handles are dead. */
void file_fake_power_cut(void);
/* Files hold at most so many bytes together; UINT64_MAX: no limit. */
void file_fake_limit(uint64_t bytes);

/*
 * From now on the n-th call of a kind (1: the next), and `times` - 1 more after
 * it, fail with `e`.  One plan per kind; a new one replaces it; times 0 ends
 * it.  A call that FILE_CALL_CHANGE counts is counted for its own kind too.
 *
 * FILE_CALL_CHANGE with FILE_FAULT_FOREVER is a machine that stops at the n-th
 * change: a sync that fails by it has done nothing at all.  Follow it by
 * file_faults_end() and file_fake_power_cut() or file_fake_kill().
 */
void file_fault(enum file_call, uint64_t n, uint64_t times, enum err e);
void file_faults_end(void);
uint64_t file_calls(enum file_call);        /* so far, failed ones too */

#endif
