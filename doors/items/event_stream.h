/*
 * event_stream -- GET /events and GET /updates: what has happened, live.
 *
 *     commit ─► every stream that has read all so far reads on, at the reader's
 *               thread ─► its lines wait for the client ─► pulled
 *
 * A stream holds a cursor and what its client has not taken.  One that catches
 * up is read no faster than its client takes it; one that has caught up once
 * and is then more than STREAM_BEHIND_MAX behind is told `lagged` and closed:
 * it comes back with its last cursor.
 *
 * Thread: home's.
 */
#ifndef DOORS_ITEMS_EVENT_STREAM_H
#define DOORS_ITEMS_EVENT_STREAM_H

#include "doors/items/items_door.h"

/* Once items are open. */
void event_stream_start(struct items_door *);
/* The program ends: streams end, and requests that wait are answered. */
void event_stream_stop(struct items_door *);
/* Items close. */
void event_stream_end(struct items_door *);

#endif
