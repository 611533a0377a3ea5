/*
 * follow -- subscriptions to the numbered streams of crawls: items and log
 * entries.  A cursor per crawl has the next number; items.c and log.c read from
 * there on and send.
 *
 *     one crawl:  one cursor, to its end and beyond
 *     by tag:     a cursor for each crawl that lives, or comes; those that had
 *                 ended before are gone through, some at a time
 *
 * Thread: home's.
 */
#ifndef DOORS_REALTIME_FOLLOW_H
#define DOORS_REALTIME_FOLLOW_H

#include "doors/realtime/own.h"

struct cursor;
struct log_read;

/* The differences between items and logs. */
struct follow_kind {
	enum sub_kind kind;
	enum sync_kind sync;
	uint64_t (*last)(const struct crawl_row *);
	/* The registry says that there is more: read it, or send it. */
	enum sent (*send)(struct cursor *);
	void (*drop)(struct cursor *);   /* forget what is read */
};
extern const struct follow_kind follow_items, follow_log;

struct follow {
	struct sub sub;
	const struct follow_kind *kind;
	struct list node;            /* realtime.follows */
	struct filter filter;
	unsigned form;               /* enum stream_form */
	uint64_t tail;               /* without a token; UINT64_MAX: all */
	struct list cursors;
	uint64_t version;            /* of the registry, at its birth */
	uint32_t below;              /* crawls that remain to be gone through */
	struct follow_from {
		uint32_t crawl;
		uint64_t next;
	} *from;                     /* by crawl: where to begin */
	size_t from_n;
};

struct cursor {
	struct sender sender;
	struct list node;            /* follow.cursors */
	struct follow *follow;
	struct crawl_watch *watch;
	uint32_t crawl;
	uint64_t next;
	bool resumed;                /* by a token, and nothing was sent yet */
	bool past;                   /* one of those that are gone through */
	bool reading;                /* the engine has a question of it */
	bool warned;                 /* the log knows that it is not read */
	bool streaming;              /* client.stream is of it: item `big` */
	uint64_t big;
	struct timer again;          /* it could not be read: once more */
	struct stream_request want;
	struct log_read *log;
};
/* A read is under way: the sender is in no list. */
void cursor_begin_read(struct cursor *);
void cursor_end_read(struct cursor *);
/* Reading failed: try again in a second. */
void cursor_retry(struct cursor *, const struct why *);

/*
 * Subscribe by the task's arguments, and answer the task.  `form` is for items.
 */
void follow_subscribe(struct task *, const struct follow_kind *,
    unsigned form);

/*
 * Fill follow.from with the numbers to begin with, from the arguments
 * sync_token and sync_tokens.  The filter is set.  False: the task has failed.
 */
bool follow_read_tokens(struct follow *, struct task *);

#endif
