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
	SET_STAGED_BYTES_MAX, SET_WEB_MESSAGES, SET_API_LISTEN, SET_API_FROM,
	SETTINGS_N };

/* For the table of doors. */
extern const struct setting settings_rows[SETTINGS_N];
/* The next value of a list, and an address. */
bool settings_next(const struct harvest_door *, enum settings_row,
    size_t *at, struct str *word);
struct conf_address settings_address(const struct harvest_door *,
    enum settings_row);
/* Whether a broker is to be contacted. */
bool settings_want_broker(const struct conf *);
/*
 * Fill in the door's names and roots; where a broker is wanted, also its queues
 * and options, and set the process's umask.  Errors: CONFIG, with the setting.
 */
MUST_USE enum err settings_read(struct harvest_door *, struct why *);

#endif
