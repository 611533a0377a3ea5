/*
 * console -- the web page for people: static files, and as JSON what the
 * realtime door's WebSocket does not provide.
 *
 *     /, /new, /crawls/N, /crawls/N/pages/M, /system, /settings
 *                        the one page; its views are doors/console/web
 *     /console/...       its files
 *     /config /doors /log /policy-fields /tokens
 *     /crawls/N/pages/M/record, .../body       to download
 *
 * The page holds no data and asks for no token; all else does.
 *
 * Owns:    the texts of its files.
 * Thread:  home's.
 * Limits:  CONSOLE_BODY_BYTES_MAX; CATALOG_RECORD_BYTES_MAX.
 * Story:   doors/console/DESIGN.md
 */
#ifndef DOORS_CONSOLE_CONSOLE_H
#define DOORS_CONSOLE_CONSOLE_H

#include "base/conf.h"
#include "engine/engine.h"
#include "server/door.h"

#define CONSOLE_BODY_BYTES_MAX ((size_t)8 << 20)   /* shown; more is cut */

struct console;
/* The host outlives it. */
struct console *console_open(const struct door_host *);
/* The engine can answer questions (see engine_read()); it outlives the console.
 * Before this call only `early` routes may be used. */
void console_ready(struct console *, struct engine *);
/* Rows of the HTTP port; web_arg() is the console. */
#define CONSOLE_ROUTES 16
extern const struct web_route console_routes[CONSOLE_ROUTES];
/*
 * The port is drained: `drained` is called once the engine has answered every
 * question of the console.
 */
void console_drain(struct console *, void (*drained)(void *arg), void *arg);
void console_free(struct console **);    /* after `drained` */

#endif
