/*
 * archive_tools -- what commands do with WARC files and a data directory at
 * rest, without an engine: list, read, check, index, rebuild the journal, pack.
 *
 * It is the one header through which those above the engine see these calls.
 *
 * Thread: any; one object one thread.
 */
#ifndef ENGINE_CATALOG_ARCHIVE_TOOLS_H
#define ENGINE_CATALOG_ARCHIVE_TOOLS_H

#include "engine/archive/archive.h"
#include "engine/archive/check.h"
#include "engine/archive/index.h"
#include "engine/archive/list.h"
#include "engine/archive/moved.h"
#include "engine/archive/reindex.h"
#include "engine/archive/sort.h"
#include "engine/archive/wacz.h"
/* The archive against what the ledger recorded; whose a directory is. */
#include "engine/ledger/audit.h"
#include "engine/ledger/identity.h"

#endif
