/*
 * engine_testing -- a real engine, as a daemon has it, over a web on loopback,
 * in a directory of its own.  For tests beside engine/ and doors/.
 */
#ifndef ENGINE_CONTROL_ENGINE_TESTING_H
#define ENGINE_CONTROL_ENGINE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/catalog/crawl_registry.h"
#include "engine/control/control.h"

/* An answer; `body` and `head` are the rig's to free. */
struct rig_page {
	struct str cookie;           /* the request's field; empty: none */
	int status;                  /* 200 */
	const char *type;            /* "text/html" */
	struct buf head;             /* more fields, "Name: value\r\n" each */
	struct buf body;
	int delay_ms;                /* before it is answered */
	bool drop;                   /* the connection ends instead */
};
/*
 * What stands at a path, "/robots.txt" too (404 unless the site says other);
 * called on threads of the web's, several at once.
 */
typedef void rig_site_fn(struct str path, struct rig_page *);

struct rig_web;
struct rig {
	char dir[64];
	struct conf conf;
	struct loop *home;
	struct engine *engine;
	struct rig_web *web;
	unsigned loops;              /* that fetch; 0: 2 */
	uint16_t port;
	uint64_t views;              /* that the engine has told */
	struct crawl_view view;      /* the last of them */
	/* Called by rig_start() before the engine starts, in place of going on
	 * with the crawls that ran; NULL: they go on. */
	void (*opened)(struct rig *);
	/* Called when the engine is freed, before the loop is; or NULL. */
	void (*freed)(struct rig *);
	struct arena arena;
};
/*
 * A directory under the working one, and a web.  `set` is a list of settings
 * ended by NULL, or NULL; fetch.allow_private is on.  Then rig_start().
 */
void rig_open(struct rig *, rig_site_fn *, const char *const *set);
/* Open the engine; crawls that ran go on. */
void rig_start(struct rig *);
void rig_stop(struct rig *);     /* in order */
void rig_crash(struct rig *);    /* nothing more reaches the disk */
void rig_close(struct rig *);    /* and remove the directory */

/* "http://127.0.0.1:PORT/path"; any of the names of loopback. */
struct str rig_url(struct rig *, const char *path);
uint64_t rig_requests(struct rig *, const char *path);   /* NULL: all */

/* Turn home's loop until it is true; after 20 seconds the test fails. */
void rig_until(struct rig *, bool (*is)(struct rig *, void *), void *arg);
#define RIG_UNTIL_DONE(r, flag) rig_until((r), rig_is_set, &(flag))
bool rig_is_set(struct rig *, void *flag);
/* Until the registry shows the crawl in that state. */
void rig_until_state(struct rig *, uint32_t crawl, enum crawl_state);

/* Launch with a delay of 0; the crawl's number.  It must go well. */
uint32_t rig_launch(struct rig *, const char *path, const char *policy_json);
/* Any launch; blocks until done. */
void rig_say_launch(struct rig *, struct launch *);
void rig_steer(struct rig *, uint32_t crawl, enum crawl_state,
    struct crawl_order *);

#endif
