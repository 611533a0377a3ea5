/*
 * task_capture -- the archived answer of a fetch, read again as its script has
 * seen it (contracts/scripting.md §7, replay).
 *
 * Nothing is requested.  Secrets that were named since are taken out, too.
 *
 * Thread: home's.
 */
#ifndef ENGINE_TASKS_TASK_CAPTURE_H
#define ENGINE_TASKS_TASK_CAPTURE_H

#include "engine/catalog/catalog.h"
#include "engine/tasks/task_fetch.h"

struct task_capture {
	/* In. */
	uint32_t crawl;
	uint64_t number;
	void (*done)(struct task_capture *);
	void *arg;
	/* Out; freed by task_capture_free(). */
	bool found;                  /* it is archived, and can be read */
	int status;
	const struct http_field *fields;
	size_t fields_n;
	struct str content;          /* decoded */
	/* Its own. */
	struct capture_query query;
	struct secrets *secrets;
	struct buf redacted;
	struct arena arena;
};
/* done() follows, never before this returns. */
void task_capture_start(struct task_fetcher *, struct secrets *,
    struct task_capture *);
void task_capture_free(struct task_capture *);

/* The form in which two fetches ask for the same: canonical, without fragment;
 * a text that is no URL is its own.  Memory: `a`. */
struct str task_capture_url(struct str url, struct arena *a);

#endif
