/*
 * settings -- harvest.*, read and judged.
 *
 * Thread: the main loop's.
 */
#ifndef DOORS_HARVEST_SETTINGS_H
#define DOORS_HARVEST_SETTINGS_H

#include "doors/harvest/harvest_door.h"

enum settings_row { SET_URL, SET_PASSWORD_FILE, SET_TLS_CA, SET_EXCHANGE,
	SET_INSTANCE, SET_HOST, SET_ROOTS, SET_UMASK, SET_QUEUES,
	SET_CONCURRENCY, SET_STREAMS_MAX, SET_HEARTBEAT_S, SET_STATUS_MS_MIN,
	SET_STATUSES, SET_PREFETCH_MAX, SET_TRIES_MAX, SET_OUTBOX_BYTES_MAX,
	SET_SFM_API, SETTINGS_N };

/* For the table of doors. */
extern const struct setting settings_rows[SETTINGS_N];
/* Whether the door is to be opened. */
bool settings_want_broker(const struct conf *);
/*
 * Fill in the door's names, roots, queues and options of the broker, and set
 * the process's umask.  Errors: CONFIG, with the setting.
 */
MUST_USE enum err settings_read(struct harvest_door *, struct why *);

#endif
