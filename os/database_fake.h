/*
 * database_fake -- SQLite on the files of os/file.h, so that its database lies
 * on the disk that a test or the simulator has put there, is lost with what was
 * not synced, and finds that disk full.
 *
 * Each file has one connection: locks and the memory that connections share are
 * the process's own.  SQLite's moment is that of os/clock.h.
 * Thread: one at a time.
 */
#ifndef OS_DATABASE_FAKE_H
#define OS_DATABASE_FAKE_H

#include "base/base.h"

/* Databases that are opened from now on lie there; false: on the system's. */
void database_fake_use(bool);

#endif
