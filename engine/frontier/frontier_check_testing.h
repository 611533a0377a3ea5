/*
 * frontier_check -- the frontier's invariants, for tests; see
 * engine/frontier/DESIGN.md.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_FRONTIER_CHECK_TESTING_H
#define ENGINE_FRONTIER_FRONTIER_CHECK_TESTING_H

struct frontier;

void frontier_check(const struct frontier *);  /* every invariant; aborts */

#endif
