/*
 * core -- what the queries of the catalog work with: services of the engine,
 * and pointers to the parts that have a state of their own.
 */
#ifndef ENGINE_CATALOG_CORE_H
#define ENGINE_CATALOG_CORE_H

#include "engine/catalog/catalog_open.h"
#include "engine/catalog/read_task.h"
#include "os/request.h"

struct catalog {
	struct catalog_options options;
	struct read_tasks *tasks;
	struct journal_scans *scans;
	bool closing;
};

#endif
