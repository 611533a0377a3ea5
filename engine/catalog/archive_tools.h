/*
 * archive_tools -- calls for commands that work on WARC files and on a data
 * directory at rest, without an engine: list, read, check, index, pack.
 *
 * The command line includes this header in place of the archive's own.
 *
 * Thread: any; one object one thread.
 */
#ifndef ENGINE_CATALOG_ARCHIVE_TOOLS_H
#define ENGINE_CATALOG_ARCHIVE_TOOLS_H

#include "engine/archive/archive.h"
#include "engine/archive/capture.h"
#include "engine/archive/check.h"
#include "engine/archive/index.h"
#include "engine/archive/list.h"
#include "engine/archive/moved.h"
#include "engine/archive/reindex.h"
#include "engine/archive/sort.h"
#include "engine/archive/wacz.h"
/* Compares the archive with the ledger's records; names a directory's owner. */
#include "engine/ledger/audit.h"
#include "engine/ledger/identity.h"

#endif
