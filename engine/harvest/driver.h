/*
 * driver -- runs one connector: makes its calls, hands it the answers, and sums
 * up what it finds.
 *
 *     next() ─► slot ─► its turn in the budget ─► call, archived, numbered
 *       ▲                                              │ when it is durable
 *       └── answer() ◄── judged: of use, again, or a failure
 *                └─► totals
 *
 * Answers reach the connector when they are durable, so what connector and
 * totals say is never ahead of the archive.  A driver that is opened with
 * earlier ones reads the answers that came since from the archive, under the
 * same rules, before it makes any call: nothing that is durable is asked twice.
 *
 * The owner of a driver with `answered` keeps what it needs of an answer.
 * Without `archives` nothing is archived then, and an answer reaches the
 * connector when it is whole.
 *
 * Secrets are put in as a request leaves, over TLS and to the connector's hosts
 * only.
 *
 * Thread: home's.
 * Source: contracts/connector.md §1 to §3, contracts/platforms.md §1.
 */
#ifndef ENGINE_HARVEST_DRIVER_H
#define ENGINE_HARVEST_DRIVER_H

#include "engine/connector/connector.h"
#include "engine/harvest/budget.h"
#include "engine/harvest/spool.h"
#include "engine/harvest/totals.h"

#define DRIVER_CALLS_MAX 4u          /* of one run at a time */
#define DRIVER_FORMER_MAX 8u
#define DRIVER_TRIES_MAX 30u         /* of a call, until one of tries_max */
/* Before a call that failed for good is made again. */
#define DRIVER_REDO_MS 60000
/* Received of a stream, until the next one: what can be read again at once. */
#define DRIVER_STREAM_BYTES_MAX ((size_t)8 << 20)
#define DRIVER_LINE_BYTES_MAX ((size_t)16 << 20)

struct engine;
struct loop;

/* A key of the credential that is secret; the driver alone has it. */
struct driver_secret {
	struct str name, value;
};

/* An answer whose items the connector has counted; texts are borrowed. */
struct driver_answered {
	struct str url;              /* without secrets */
	struct str body;             /* decoded */
	struct wall when;            /* it came */
};

/* A call that was made, whatever came of it; texts are borrowed. */
struct driver_called {
	struct str method, url;      /* the URL without secrets */
	int status;                  /* 0: no answer came */
	const char *failure;         /* of status 0 */
};

struct driver_options {
	struct engine *engine;
	struct loop *home;
	struct budgets *budgets;
	const struct connector_order *order;     /* kept by the caller */
	const struct driver_secret *secrets;     /* likewise */
	size_t secrets_n;
	/* Values of earlier credentials, which `saved` may have: they are cut
	 * out of records, too; copied. */
	const struct str *former;
	size_t former_n;
	struct totals *totals;                   /* likewise */
	unsigned tries_max;          /* of the harvest */
	unsigned call_tries_max;     /* of a call; 0: DRIVER_TRIES_MAX */
	/* HOST:PORT, whose addresses may be private; kept by the caller. */
	const struct str *private_hosts;
	size_t private_n;
	bool redact;                 /* records, as warc.redact says */
	/* Where an earlier run was: after the first so many answers. */
	struct str saved;            /* empty: at the beginning */
	uint64_t captures;
	/* Where streams are spooled, by whom, and what is left there. */
	const char *spool_dir;
	struct pool *spool_pool;
	const struct spool_left *spools;
	size_t spools_n;
	/*
	 * Not NULL: nothing is archived unless `archives`, `captures` and
	 * spools are none, and the connector makes no streams.  Called for
	 * each answer in which the connector has counted items, right after
	 * that.  With `archives` the connector has an answer when its records
	 * are durable, and none of them is a revisit.
	 */
	void (*answered)(void *arg, const struct driver_answered *);
	bool archives;
	void (*called)(void *arg, const struct driver_called *);  /* or NULL */
	/* After each answer, and when what it waits for changes. */
	void (*moved)(void *arg);
	/* driver_hold() was called or the run has ended, no call is out. */
	void (*quiet)(void *arg);
	void *arg;
};

enum driver_end { DRIVER_GOES_ON, DRIVER_SUCCESS, DRIVER_FAILURE };

/* Who has to act on a failure (contracts/external.md §3). */
enum driver_fault {
	DRIVER_FAULT_SYSTEM,         /* whoever runs or wrote the connector */
	DRIVER_FAULT_CONFIG,         /* the user: the credential, the order */
	DRIVER_FAULT_TRANSIENT       /* nobody: it may go well later */
};

struct driver;

/*
 * Errors: INPUT, with the field of the order that is wrong; CORRUPT: what was
 * saved is not of this order.
 */
MUST_USE enum err driver_open(const struct driver_options *, struct driver **,
    struct why *);
/* It never began or rests, or neither engine nor loop run any more.  NULL is
 * allowed. */
void driver_close(struct driver **);
/* It is quiet, and stays so until driver_go_on(). */
void driver_rest(struct driver *);
/*
 * Begin, in that crawl, which runs or has ended; `last` is the number of its
 * last capture.
 */
void driver_start(struct driver *, uint32_t crawl, uint64_t last);
/* Make no further call, and end streams; quiet() follows, not before this
 * returns. */
void driver_hold(struct driver *);
/*
 * As driver_hold(), for a moment: where the platform allows it, the next stream
 * is open before the one before it ends, and stays open; what comes of it waits
 * for driver_go_on().  Nothing when it is held already.
 */
void driver_roll(struct driver *);
/* A stream has stayed open so.  driver_hold() ends it, and quiet() follows. */
bool driver_is_ahead(const struct driver *);
/* Make calls again. */
void driver_go_on(struct driver *);
/*
 * Sign the following calls with these; the order's credential has been changed
 * by its owner.  Of a driver that is quiet or never began; kept by the caller.
 * The last DRIVER_FORMER_MAX credentials are cut out of records, too: an API
 * may repeat one in the address of the next page.
 */
void driver_set_secrets(struct driver *, const struct driver_secret *,
    size_t n);
/* Cut the calls that are out; they are as lost. */
void driver_cut(struct driver *);

/* Of a driver that is quiet: what driver_options.saved and captures take. */
void driver_save(const struct driver *, struct buf *);
uint64_t driver_captures(const struct driver *);
enum driver_end driver_end(const struct driver *);

struct driver_look {
	uint64_t calls;              /* answers, of this process */
	uint64_t replayed;           /* answers that were read again */
	unsigned faults;             /* of tries_max */
	struct mono waits_until;     /* ns 0: it waits for nobody */
	const char *waits_for;       /* "the rate limit" */
	enum driver_fault fault;     /* of DRIVER_FAILURE */
};
struct driver_look driver_look(const struct driver *);
/* The budgets that its calls count against.  Memory: `a`. */
size_t driver_look_at_budgets(const struct driver *, struct arena *a,
    struct budget_view **);

#endif
