#include "os/database_checkpoint.h"

#include <pthread.h>

#include "base/bytes.h"

#define REST_SHARE 8             /* of `pages`, that a commit copies itself */
#define GROWTH_MAX 4
#define BLOCKED_SHARE 4          /* of `pages`, until the next attempt */

struct checkpointer {
	sqlite3 *db;                 /* the thread's */
	sqlite3 *committing;         /* the owner's */
	int pages;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more, done;

	/* Under the lock. */
	bool wanted, closing;
	int copied;                  /* pages, by the last attempt */
	bool is_blocked;             /* it could not copy all that it saw */

	/* The committing thread's. */
	int next;                    /* pages at which something is done */
	bool asked;                  /* the thread, since the log began */
};

/* Copies what can be copied.  How many pages of the log are; false: some of
 * those that were there are not. */
static bool
copy_pages(sqlite3 *db, int *copied)
{
	int all = 0;

	*copied = 0;
	int r = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE,
	    &all, copied);
	return r == SQLITE_OK && *copied >= all;
}

static void *
thread_main(void *arg)
{
	struct checkpointer *c = arg;

	pthread_setname_np(pthread_self(), "checkpoint");
	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!c->wanted && !c->closing)
			pthread_cond_wait(&c->more, &c->lock);
		if (c->closing)
			break;
		pthread_mutex_unlock(&c->lock);
		int copied;
		bool all = copy_pages(c->db, &copied);
		pthread_mutex_lock(&c->lock);
		c->copied = copied;
		c->is_blocked = !all;
		c->wanted = false;
		pthread_cond_signal(&c->done);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static void
ask_thread(struct checkpointer *c)
{
	c->asked = true;
	c->wanted = true;
	pthread_cond_signal(&c->more);
}

/* The log is copied up to its end, and begins anew with the next commit. */
static void
copy_rest(struct checkpointer *c, int pages)
{
	int copied;

	c->asked = false;
	c->next = copy_pages(c->committing, &copied) ? c->pages :
	    pages + c->pages / BLOCKED_SHARE;
}

/* After a commit: the log has so many pages. */
static void
look_at_log(struct checkpointer *c, int pages)
{
	bool is_long = pages >= c->pages * GROWTH_MAX;

	pthread_mutex_lock(&c->lock);
	while (c->wanted && is_long)
		pthread_cond_wait(&c->done, &c->lock);
	if (c->wanted) {
		/* It is at work. */
	} else if (is_long ||
	    (c->asked && pages - c->copied <= c->pages / REST_SHARE)) {
		copy_rest(c, pages);
	} else if (c->asked && c->is_blocked) {
		c->asked = false;
		c->next = pages + c->pages / BLOCKED_SHARE;
	} else {
		ask_thread(c);
	}
	pthread_mutex_unlock(&c->lock);
}

/* SQLite's hook: the transaction is durable, and no lock is held. */
static int
after_commit(void *arg, sqlite3 *db, const char *name, int pages)
{
	struct checkpointer *c = arg;

	(void)db;
	(void)name;
	/* It began anew, or is as short as it should be. */
	if (pages < c->pages)
		c->next = c->pages;
	if (pages >= c->next)
		look_at_log(c, pages);
	return SQLITE_OK;
}

int
checkpointer_start(sqlite3 *db, const char *path, unsigned pages,
    struct checkpointer **out)
{
	struct checkpointer *c = mem_new(sizeof(*c));
	int r = sqlite3_open_v2(path, &c->db, SQLITE_OPEN_READWRITE |
	    SQLITE_OPEN_NOMUTEX, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_exec(c->db, "PRAGMA synchronous = FULL", NULL,
		    NULL, NULL);
	if (r != SQLITE_OK) {
		sqlite3_close(c->db);
		free(c);
		return r;
	}
	c->committing = db;
	c->pages = c->next = (int)pages;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->more, NULL);
	pthread_cond_init(&c->done, NULL);
	CHECK(pthread_create(&c->thread, NULL, thread_main, c) == 0);
	sqlite3_wal_hook(db, after_commit, c);
	*out = c;
	return SQLITE_OK;
}

void
checkpointer_stop(struct checkpointer **cp)
{
	struct checkpointer *c = *cp;

	if (c == NULL)
		return;
	sqlite3_wal_hook(c->committing, NULL, NULL);
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	pthread_cond_signal(&c->more);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	CHECK(sqlite3_close(c->db) == SQLITE_OK);
	pthread_cond_destroy(&c->done);
	pthread_cond_destroy(&c->more);
	pthread_mutex_destroy(&c->lock);
	mem_free(cp);
}
