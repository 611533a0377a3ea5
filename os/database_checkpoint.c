#include "os/database_checkpoint.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"

#define REST_SHARE 8             /* of `pages`, that a commit copies itself */
#define GROWTH_MAX 4
#define BLOCKED_SHARE 4          /* of `pages`, until the next attempt */
#define LOG_HEADER_BYTES 32u     /* sqlite.org/fileformat2.html#walformat */
#define FRAME_HEADER_BYTES 24u
#define SCRATCH_BYTES ((size_t)64 << 10)

struct checkpointer {
	sqlite3 *db;                 /* the thread's */
	sqlite3 *committing;         /* the owner's */
	int pages;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more, done;
	char log[PATH_MAX];          /* its path */
	char *scratch;               /* SCRATCH_BYTES of the thread's */

	/* Under the lock. */
	bool wanted, closing;
	int copied;                  /* pages, by the last attempt */
	bool is_blocked;             /* it could not copy all that it saw */
	int prepare;                 /* pages that the log's file is to have
	                              * room for; 0: nothing is asked */

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

/* Blocks for bytes from..to of the file, and pages of the kernel's cache. */
static void
allocate(const struct checkpointer *c, int fd, off_t from, off_t to)
{
	if (fallocate(fd, 0, from, to - from) != 0)
		return;
	while (from < to) {
		ssize_t n = pread(fd, c->scratch, SCRATCH_BYTES, from);
		if (n <= 0)
			return;
		from += n;
	}
}

/*
 * Room for so many pages in the log's file, whose end commits would move
 * otherwise, each with its own blocks, cache pages and change of the file's
 * size.  What is added reads as zeros, which are no frames (the salts of a
 * frame are those of the log's header); what commits write meanwhile stays.
 * Where there is no such file, or no room, nothing is done.
 */
static void
prepare_log(const struct checkpointer *c, int pages)
{
	off_t want = LOG_HEADER_BYTES + (off_t)pages *
	    (DATABASE_PAGE_BYTES + FRAME_HEADER_BYTES);
	int fd = open(c->log, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size < want)
		allocate(c, fd, st.st_size, want);
	close(fd);
}

static void
copy_as_wanted(struct checkpointer *c)
{
	int copied;

	pthread_mutex_unlock(&c->lock);
	bool all = copy_pages(c->db, &copied);
	pthread_mutex_lock(&c->lock);
	c->copied = copied;
	c->is_blocked = !all;
	c->wanted = false;
	pthread_cond_signal(&c->done);
}

static void
prepare_as_asked(struct checkpointer *c)
{
	int pages = c->prepare;

	c->prepare = 0;
	pthread_mutex_unlock(&c->lock);
	prepare_log(c, pages);
	pthread_mutex_lock(&c->lock);
}

static void *
thread_main(void *arg)
{
	struct checkpointer *c = arg;

	pthread_setname_np(pthread_self(), "checkpoint");
	pthread_mutex_lock(&c->lock);
	while (!c->closing) {
		if (c->wanted)
			copy_as_wanted(c);
		else if (c->prepare > 0)
			prepare_as_asked(c);
		else
			pthread_cond_wait(&c->more, &c->lock);
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

/* A transaction that reads keeps the log: it goes on growing. */
static void
put_off(struct checkpointer *c, int pages)
{
	int more = c->pages / BLOCKED_SHARE;

	c->asked = false;
	c->next = pages + more;
	c->prepare = pages + 2 * more;
	pthread_cond_signal(&c->more);
}

/* The log is copied up to its end, and begins anew with the next commit. */
static void
copy_rest(struct checkpointer *c, int pages)
{
	int copied;

	if (copy_pages(c->committing, &copied)) {
		c->asked = false;
		c->next = c->pages;
	} else {
		put_off(c, pages);
	}
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
		put_off(c, pages);
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
	if (snprintf(c->log, sizeof(c->log), "%s-wal", path) >= PATH_MAX)
		c->log[0] = '\0';
	c->scratch = mem_new(SCRATCH_BYTES);
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
	free(c->scratch);
	mem_free(cp);
}
