/*
 * door_rows -- the doors that this build has (meson's option `doors`), as a
 * table of what `argiope serve` does with each.
 *
 *     open ─► routes ─► port ─► read ─► ready ─► drain, drain_port ─► free
 *
 * A door has one file here, which is compiled when the door is.  A function
 * that a door has no use for is NULL in its row.
 *
 * Thread: home's.
 */
#ifndef DAEMON_DOOR_ROWS_H
#define DAEMON_DOOR_ROWS_H

#include "base/conf.h"
#include "engine/engine.h"
#include "server/token_set.h"
#include "server/web.h"

/* Room for the doors' rows of the HTTP port. */
#define SERVE_DOORS_ROUTES_MAX 24

struct console;
struct console_door;
struct realtime;
struct urlfrontier;

/* The objects that doors share, and the open doors themselves. */
struct serve_doors {
	/* The caller's; what they point to outlives the doors. */
	const struct conf *conf;
	struct loop *home;
	const char *data_dir;
	struct token_set *tokens;
	struct web *web;               /* the HTTP port; NULL: closed */
	const char *web_address;       /* "" while it is closed */
	bool stopping;                 /* for the console's list of doors */
	/* Their own; NULL: closed, or not built. */
	struct urlfrontier *urlfrontier;
	struct console *console;
	struct realtime *realtime;
	/* The realtime door drains in two parts. */
	int draining;
	void (*drained)(void *arg);
	void *drained_arg;
};

struct serve_door {
	/* Listen at a port of its own.  Errors: CONFIG, BUSY. */
	enum err (*open)(struct serve_doors *, struct why *);
	/* Put its rows of the HTTP port into `rows`, and what else it wants of
	 * that port into the port's options.  Returns the number of rows. */
	size_t (*routes)(struct serve_doors *, struct web_route *rows,
	    struct web_options *);
	/* The HTTP port is open: `web` is set. */
	void (*port)(struct serve_doors *);
	/* The data was read: the engine can be asked (engine_read()). */
	void (*read)(struct serve_doors *, struct engine *);
	/* The engine runs: serve everything, and print where. */
	void (*ready)(struct serve_doors *, struct engine *);
	/* Read the certificate again; on an error it stays as it was. */
	enum err (*reload)(struct serve_doors *, struct why *);
	/* Fill in its row of the console's list of doors. */
	void (*list)(const struct serve_doors *, struct console_door *);
	/*
	 * Let what is under way come to its end, then call `drained` once,
	 * perhaps at once: `drain` at its own port, `drain_port` at the HTTP
	 * port, which web_drain() has closed to new requests.
	 */
	void (*drain)(struct serve_doors *, void (*drained)(void *arg),
	    void *arg);
	void (*drain_port)(struct serve_doors *, void (*drained)(void *arg),
	    void *arg);
	/* After every `drained` and after web_close(). */
	void (*free)(struct serve_doors *);
};

extern const struct serve_door serve_realtime, serve_urlfrontier;

/* The i-th door of this build; NULL behind the last. */
const struct serve_door *serve_doors_nth(size_t i);

/* Call that function of every door; a door that has none is skipped. */
MUST_USE enum err serve_doors_open(struct serve_doors *, struct why *);
size_t serve_doors_routes(struct serve_doors *,
    struct web_route rows[static SERVE_DOORS_ROUTES_MAX],
    struct web_options *);
void serve_doors_port(struct serve_doors *, struct web *,
    const char *address);
void serve_doors_read(struct serve_doors *, struct engine *);
void serve_doors_ready(struct serve_doors *, struct engine *);
MUST_USE enum err serve_doors_reload(struct serve_doors *, struct why *);
/* Both call `drained` serve_doors_count() times. */
int serve_doors_count(void);
void serve_doors_drain(struct serve_doors *, void (*drained)(void *arg),
    void *arg);
void serve_doors_drain_port(struct serve_doors *, void (*drained)(void *arg),
    void *arg);
void serve_doors_free(struct serve_doors *);

#endif
