/*
 * door -- one protocol that Argiope speaks to others, as a row of the one table
 * of doors.  The daemon, `argiope status`, `argiope token`, `argiope config`,
 * the manual and the console read that table; no other file lists the doors.
 *
 *     open ─► [HTTP port opens] ─► data_read ─► ready ─► stop ─► drain ─► free
 *
 * A door is a folder doors/NAME with a `struct door door_NAME`, and its name in
 * doors/doors.txt.  Members that a door has no use for are NULL.
 *
 * Thread: the main loop's.
 * Story:  doors/DESIGN.md
 */
#ifndef SERVER_DOOR_H
#define SERVER_DOOR_H

#include "base/conf.h"
#include "server/drain_gate.h"
#include "server/web.h"

#define DOORS_MAX 16u

struct documents;
struct engine;
struct exporting;
struct harvest_service;
struct module_runs;
struct script_host;
struct web_documents;

/* A door as lists show it; the texts are valid until the next call. */
struct door_status {
	const char *name;            /* for people */
	const char *address;         /* "" while it is closed */
	const char *state;           /* "open", "closed", "draining" */
	const char *module;          /* the first word of its log events */
	bool tls, counted;           /* counted: `requests` is known */
	uint64_t requests;           /* answered, in all */
	char note[320];              /* a line for people, or "" */
};

/* The daemon's services for its doors; it outlives them. */
struct door_host {
	const struct conf *conf;
	struct loop *home;           /* the main loop */
	const char *data_dir;
	struct token_set *tokens;
	struct script_host *scripts; /* NULL: no door wants it */
	struct exporting *exporting; /* NULL until data_read */
	/* From data_read on; NULL: its key could not be read. */
	struct harvest_service *harvests;
	/* Runs of connectors, of crawls, and of modules, that give documents;
	 * from then. */
	struct documents *documents;
	struct web_documents *web_documents;
	struct module_runs *module_runs;
	struct web *web;             /* the HTTP port; NULL: not open */
	const char *web_address;     /* "" while it is not open */
	bool stopping;
	void *doors[DOORS_MAX];      /* open()'s, in the order of the table */
};

struct door {
	const char *name;            /* of its folder, settings and scopes */
	const char *help;            /* sentences for the manual */
	/* What a token of scope NAME:read and of NAME:write may do, for the
	 * manual; NULL: no route of the door asks for that scope. */
	const char *may_read, *may_write;
	/* Its settings, named NAME.*; conf_id_of() asks for their values. */
	const struct setting *settings;
	size_t settings_n;
	/* Whether the door runs scripts with these settings: then the daemon
	 * starts their host, before anything is opened.  NULL: never. */
	bool (*scripts)(const struct conf *);
	/*
	 * Make the door, and listen at a port of its own if it has one.
	 * `*door` NULL: it is switched off.  Errors: CONFIG, BUSY.
	 */
	enum err (*open)(const struct door_host *, void **door, struct why *);
	/* Its rows of the HTTP port.  web_arg() and web_socket_owner() are the
	 * door; TOKEN_DOOR_OWN stands for the door's scope. */
	const struct web_route *routes;
	size_t routes_n;
	const struct web_socket_path *sockets;
	size_t sockets_n;
	/* Stored data can be read: queries can be answered (engine_read()).
	 * Nothing but `early` routes is called before. */
	void (*data_read)(void *door, struct engine *);
	/* The engine runs: everything can be served. */
	void (*ready)(void *door, struct engine *);
	/* Read the certificate again; on an error it stays as it was. */
	enum err (*reload)(void *door, struct why *);
	/* Fill in what is not as doors_status() has set it.  NULL: the door has
	 * no line of its own. */
	void (*status)(void *door, struct door_status *);
	/* Append members to a JSON object that say more than the status does.
	 * Called for an open door; NULL: there is nothing more. */
	void (*details)(void *door, struct buf *json);
	/*
	 * The program is ending: answer at once what only waits for something
	 * to happen.  Called before the HTTP port drains.
	 */
	void (*stop)(void *door);
	/*
	 * Accept nothing new, finish what is under way, then call `drained`
	 * once, perhaps at once.  For a door with rows of the HTTP port, that
	 * port has drained before.
	 */
	void (*drain)(void *door, void (*drained)(void *arg), void *arg);
	/* After `drained`, or when the daemon could not start; the HTTP port
	 * is closed. */
	void (*free)(void **door);
};

/*
 * Use this table, up to the end of the process; before any other call that
 * reads the configuration, scopes or doors.  Their settings and scopes are
 * known from then on.  The table is static and in the order of lists.
 */
void doors_use(const struct door *const *, size_t n);
/* The i-th door; NULL after the last. */
const struct door *doors_nth(size_t i);

/* -- For the daemon: the same step of every door that is open. -- */

bool doors_want_scripts(const struct conf *);
MUST_USE enum err doors_open(struct door_host *, struct why *);
/*
 * Put the rows of open doors behind the `*n` rows of `routes`, and their
 * WebSocket paths into the options.  Memory: `a`, which outlives the port.
 */
struct web_route *doors_routes(const struct door_host *,
    const struct web_route *routes, size_t *n, struct web_options *,
    struct arena *a);
void doors_data_read(struct door_host *, struct engine *);
void doors_ready(struct door_host *, struct engine *);
MUST_USE enum err doors_reload(struct door_host *, struct why *);
void doors_stop(struct door_host *);
/* Those with rows of the HTTP port, or those without; each enters the gate. */
void doors_drain(struct door_host *, bool of_http_port, struct drain_gate *);
void doors_free(struct door_host *);
/* The status of the i-th door; false when it has none of its own. */
bool doors_status(const struct door_host *, size_t i, struct door_status *);
/* Its details as members of a JSON object; none for most doors. */
void doors_details(const struct door_host *, size_t i, struct buf *json);

#endif
