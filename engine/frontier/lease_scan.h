/*
 * lease_scan -- which listing reads its next piece.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LEASE_SCAN_H
#define ENGINE_FRONTIER_LEASE_SCAN_H

#include "engine/frontier/lease_core.h"

/* Make the lists of those that wait. */
void lease_scan_open(struct lease_service *);
/* The listing wants a piece: lease_list_piece() when it is its turn. */
void lease_scan(struct lease_list *);
/* Its piece was read and answered. */
void lease_scan_done(struct lease_service *);
/* A walk has ended between two pieces: another may begin. */
void lease_scan_next(struct lease_service *);

#endif
