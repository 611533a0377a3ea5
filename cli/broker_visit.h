/*
 * broker_visit -- a verb's short connection to the broker of harvest.url.
 *
 *     connect ─► begin() ─► take() each delivery ─► broker_visit_end()
 *
 * It ends by itself, with an error, when the connection fails or is lost, and
 * when nothing happens for BROKER_VISIT_MS.
 *
 * Thread: the main one.
 */
#ifndef CLI_BROKER_VISIT_H
#define CLI_BROKER_VISIT_H

#include "cli/cli.h"
#include "os/broker.h"

#define BROKER_VISIT_MS 20000
/* Deliveries that are neither acknowledged nor rejected. */
#define BROKER_VISIT_DELIVERIES_MAX 10000

struct broker_visit {
	/* In. */
	struct str queue;            /* declared, as number 0; empty: none */
	bool publishes;
	/* All that is needed is connected. */
	void (*begin)(struct broker_visit *);
	/* After broker_consume().  NULL without a queue. */
	void (*take)(struct broker_visit *, struct broker_delivery *);
	/* For these. */
	struct broker *broker;
	struct why why;              /* the error that it ends with; OK */
	/* The rest is the visit's. */
	struct loop *loop;
	struct timer timer;
	bool consumes_now, publishes_now, begun, ending;
};

/* Errors: CONFIG, when harvest.url is not set, too; `why`'s. */
MUST_USE enum err broker_visit_run(struct cli *, struct broker_visit *,
    struct why *);
/* Disconnect, when that has not begun yet. */
void broker_visit_end(struct broker_visit *);
/* Something has happened. */
void broker_visit_goes_on(struct broker_visit *);

#endif
