/*
 * realtime_testing -- for tests: the realtime door over a real engine and a web
 * on loopback, and clients of its WebSocket, all on home's loop.
 */
#ifndef DOORS_REALTIME_REALTIME_TESTING_H
#define DOORS_REALTIME_REALTIME_TESTING_H

#include "engine/control/engine_testing.h"

#include <yyjson.h>

extern struct rig rig;

/*
 * A directory, an engine and a port with the door.  The site: "/N" has N pages
 * of one line each that it links to, "/N/1" to "/N/N"; "/gone" is a 404,
 * "/broken" ends the connection, "/slow/..." takes half a second, "/feed..." is
 * a feed of two entries.  It is http://m.example/, too.  Harvests run; there
 * are no roots for them.
 */
void rig_door_open(void);
void rig_door_close(void);
/* Launch with a tag, wait for the crawl's end; its number. */
uint32_t rig_crawl(const char *path, const char *tag);

/* A client, and all that it was sent.  It reads while it is waited for. */
struct peer;
struct peer *peer_new(void);
void peer_free(struct peer **);
/*
 * Send a command and wait for its response.  Arguments are the members of
 * `args` with ' for ".  The response is valid until peer_free().
 */
yyjson_val *peer_ask(struct peer *, const char *command, const char *args, ...)
    PRINTF_LIKE(3, 4);
/* The same; its data, or an error with this code and this text in it. */
yyjson_val *peer_data(struct peer *, const char *command, const char *args,
    ...) PRINTF_LIKE(3, 4);
void peer_fails(struct peer *, const char *command, const char *args,
    const char *code, const char *text);
/* A subscription's number. */
unsigned peer_subscribe(struct peer *, const char *command, const char *args,
    ...) PRINTF_LIKE(3, 4);
/* The n-th event of a subscription, from 0: wait for it. */
yyjson_val *peer_event(struct peer *, unsigned sub, size_t n);
/* How many of its events came before the last response. */
size_t peer_early(struct peer *, unsigned sub);
/* Wait until nothing has come for a fifth of a second; how many it has. */
size_t peer_events(struct peer *, unsigned sub);
/* Bytes that wait to be sent to a client whose socket is blocked; 0 if no
 * client's socket is. */
size_t rig_blocked_bytes(void);

/* The value at a JSON pointer; it must be there. */
yyjson_val *at(yyjson_val *, const char *pointer);
uint64_t at_number(yyjson_val *, const char *pointer);
const char *at_text(yyjson_val *, const char *pointer);
/* The number in an event's sync token. */
uint64_t token_number(yyjson_val *event);

#endif
