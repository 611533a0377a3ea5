/*
 * ledger_places -- where the ledger runs a step of a request (os/request.h).
 *
 * Thread: any for reads; the ledger's loop for ledger_enter_durable().
 */
#ifndef ENGINE_LEDGER_LEDGER_PLACES_H
#define ENGINE_LEDGER_LEDGER_PLACES_H

#include "engine/ledger/ledger.h"
#include "os/request.h"

/*
 * enter() of AT_READ and of AT_BESIDE; `arg` is the ledger.  The step runs as
 * ledger_read() and ledger_read_beside() say, with request_index() to read
 * from, and its successor goes on from the main loop.
 */
void ledger_enter_read(struct request *, void *arg);
void ledger_enter_beside(struct request *, void *arg);
struct index *request_index(const struct request *);

/*
 * enter() of AT_DURABLE; `arg` is the ledger.  The step runs on the ledger's
 * loop when the group that gathers now is durable; `why` of the request is
 * BROKEN when it never will be.
 */
void ledger_enter_durable(struct request *, void *arg);

#endif
