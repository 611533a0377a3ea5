#include "cli/frontier_lines.h"

#include <errno.h>

#include <zlib.h>

#include "os/pool.h"

#define LINES_CHUNK_BYTES ((size_t)256 << 10)

/*
 *     text:  ....used....|at  a line\n  ...  scanned|  not yet  |n
 *
 * While `running` the pool writes `chunk`, and nobody else touches it.
 */
struct frontier_lines {
	struct job job;
	struct pool *pool;
	const char *name;
	gzFile gz;
	void (*ready)(void *arg);
	void *arg;
	struct buf text, chunk;
	size_t at, scanned;
	uint64_t number;
	bool running, waited, skipping, ended;
	struct why why;
};

/* On the pool: the next chunk, or what is left. */
static void
read_chunk(struct job *j)
{
	struct frontier_lines *l = CONTAINER(j, struct frontier_lines, job);
	int code;

	buf_clear(&l->chunk);
	buf_reserve(&l->chunk, LINES_CHUNK_BYTES);
	errno = 0;
	int n = gzread(l->gz, l->chunk.p, (unsigned)LINES_CHUNK_BYTES);
	l->chunk.n = n > 0 ? (size_t)n : 0;
	if ((size_t)l->chunk.n == LINES_CHUNK_BYTES)
		return;
	const char *text = gzerror(l->gz, &code);
	if (code == Z_ERRNO)
		(void)why_errno(&l->why, err_from_errno(errno),
		    "%s cannot be read", l->name);
	else if (code == Z_BUF_ERROR)
		(void)why(&l->why, ERR_CORRUPT, "%s is cut off", l->name);
	else if (code != Z_OK && code != Z_STREAM_END)
		(void)why(&l->why, ERR_CORRUPT, "%s is damaged: %s", l->name,
		    text);
}

static void
want(struct frontier_lines *l)
{
	if (l->running || l->ended ||
	    l->text.n - l->scanned >= LINES_CHUNK_BYTES)
		return;
	l->running = true;
	pool_submit(l->pool, &l->job);
}

static void
deliver(struct mail *m)
{
	struct frontier_lines *l = CONTAINER(m, struct frontier_lines,
	    job.mail);

	l->running = false;
	l->ended = l->chunk.n < LINES_CHUNK_BYTES;
	if (l->at > 0) {
		l->text.n -= l->at;
		l->scanned -= l->at;
		memmove(l->text.p, l->text.p + l->at, l->text.n);
		l->at = 0;
	}
	buf_put(&l->text, l->chunk.p, l->chunk.n);
	if (l->waited)
		l->ready(l->arg);
}

enum err
frontier_lines_open(const char *path, struct loop *home,
    void (*ready)(void *arg), void *arg, struct frontier_lines **out,
    struct why *w)
{
	bool is_stdin = strcmp(path, "-") == 0;

	errno = 0;
	gzFile gz = is_stdin ? gzdopen(0, "rb") : gzopen(path, "rb");
	if (gz == NULL)
		return why_errno(w, errno == 0 ? ERR_IO :
		    err_from_errno(errno), "%s cannot be read", path);
	gzbuffer(gz, (unsigned)LINES_CHUNK_BYTES);
	struct frontier_lines *l = *out = mem_new(sizeof(*l));
	l->gz = gz;
	l->name = is_stdin ? "standard input" : path;
	l->ready = ready;
	l->arg = arg;
	l->why = WHY_INIT;
	l->job = (struct job){ .mail = { NULL, deliver }, .home = home,
	    .run = read_chunk };
	l->pool = pool_new(1);
	want(l);
	return OK;
}

bool
frontier_lines_close(struct frontier_lines **lp)
{
	struct frontier_lines *l = *lp;

	*lp = NULL;
	if (l == NULL)
		return true;
	if (l->running)
		return false;
	pool_free(&l->pool);
	gzclose(l->gz);
	buf_free(&l->text);
	buf_free(&l->chunk);
	mem_free(&l);
	return true;
}

/* [at, end) is a line; what is behind `next` comes after it. */
static enum frontier_line
cut(struct frontier_lines *l, size_t end, size_t next, struct str *line,
    uint64_t *number)
{
	*line = (struct str){ l->text.p + l->at, end - l->at };
	*number = ++l->number;
	l->at = l->scanned = next;
	if (!l->skipping && line->n <= FRONTIER_LINE_BYTES_MAX)
		return LINE_HERE;
	l->skipping = false;
	return LINE_TOO_LONG;
}

enum frontier_line
frontier_lines_next(struct frontier_lines *l, struct str *line,
    uint64_t *number)
{
	struct buf *t = &l->text;

	want(l);
	l->waited = false;
	const char *p = l->scanned == t->n ? NULL :
	    memchr(t->p + l->scanned, '\n', t->n - l->scanned);
	if (p != NULL) {
		size_t end = (size_t)(p - t->p);
		return cut(l, end, end + 1, line, number);
	}
	l->scanned = t->n;
	if (t->n - l->at > FRONTIER_LINE_BYTES_MAX) {
		l->skipping = true;
		l->at = t->n;
	}
	if (l->ended && (l->at < t->n || l->skipping))
		return cut(l, t->n, t->n, line, number);
	if (l->ended)
		return LINE_END;
	want(l);
	l->waited = true;
	return LINE_LATER;
}

const struct why *
frontier_lines_why(const struct frontier_lines *l)
{
	return &l->why;
}
