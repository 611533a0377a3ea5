/*
 * lease_control -- verbs that set, count and delete, and the sweeps behind
 * deletions.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LEASE_CONTROL_H
#define ENGINE_FRONTIER_LEASE_CONTROL_H

#include "engine/frontier/lease_core.h"

struct lease_crawl;

/* Nobody finds it any more, and totals are without it. */
void lease_forget_crawl(struct lease_crawl *);
void lease_bury_crawl(struct lease_crawl *);    /* free it whole */
void lease_free_sweeps(struct frontier *);

#endif
