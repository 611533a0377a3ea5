#include "engine/harvest/spool.h"

#include <limits.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "os/pool.h"

#define PREFIX "stream-"
#define SUFFIX ".spool"
#define VERSION 1u
#define FILE_BYTES_MAX ((size_t)1 << 30)

struct spool {
	struct pool *pool;
	struct loop *home;
	char dir[PATH_MAX], path[PATH_MAX];
	struct buf waiting;          /* to be written */
	bool is_over;
	struct timer timer;

	/* The pool's, while a job is out. */
	bool is_out;
	struct job job;
	struct buf writing;
	uint64_t at;                 /* bytes in the file */
	bool syncs, failed;
	int fd;
	struct why why;
};

/* ---- Writing ---------------------------------------------------------- */

/* A stream may be the first that a harvest receives: then it has no directory
 * yet. */
static enum err
open_file(struct spool *s)
{
	enum err e = file_make_dir(s->dir, &s->why);

	return e == OK ? file_open(s->path, FILE_NEW, &s->fd, &s->why) : e;
}

/* Those of the file, of DATA/harvest/ID and of DATA/harvest. */
static enum err
sync_names(struct spool *s)
{
	char dir[PATH_MAX];
	enum err e = OK;

	memcpy(dir, s->dir, sizeof(dir));
	for (int up = 0; up < 3 && e == OK && dir[0] != '\0'; up++) {
		e = file_sync_dir(dir, &s->why);
		char *last = strrchr(dir, '/');
		*(last == NULL ? dir : last) = '\0';
	}
	return e;
}

static enum err
write_to_file(struct spool *s)
{
	enum err e = OK;
	bool is_new = s->fd < 0;

	if (is_new)
		e = open_file(s);
	if (e == OK && s->writing.n > 0)
		e = file_write(s->fd, s->at, s->writing.p, s->writing.n,
		    &s->why);
	if (e == OK && (s->syncs || is_new))
		e = file_sync(s->fd, &s->why);
	return e == OK && is_new ? sync_names(s) : e;
}

static void
run_write(struct job *j)
{
	struct spool *s = CONTAINER(j, struct spool, job);

	s->why = WHY_INIT;
	/* A part that was written stands where the next one goes. */
	if (write_to_file(s) == OK) {
		s->at += s->writing.n;
		buf_clear(&s->writing);
	}
}

static void
run_remove(struct job *j)
{
	struct spool *s = CONTAINER(j, struct spool, job);

	s->why = WHY_INIT;
	if (s->fd < 0)
		return;
	file_close(&s->fd);
	(void)!spool_remove(s->path, &s->why);
}

static void
free_spool(struct mail *m)
{
	struct spool *s = CONTAINER(CONTAINER(m, struct job, mail),
	    struct spool, job);

	if (s->why.err != OK)
		log_warn("harvest.spool", "path=%s why=%s", s->path,
		    log_why(&s->why));
	buf_free(&s->waiting);
	buf_free(&s->writing);
	mem_free(&s);
}

static void
put_job(struct spool *s, void (*run)(struct job *),
    void (*done)(struct mail *))
{
	s->is_out = true;
	s->job = (struct job){ .mail.deliver = done, .home = s->home,
	    .run = run };
	pool_submit(s->pool, &s->job);
}

static void
written(struct mail *m)
{
	struct spool *s = CONTAINER(CONTAINER(m, struct job, mail),
	    struct spool, job);

	s->is_out = false;
	/* The stream goes on: the spool is for the case of a crash. */
	if (s->why.err != OK && !s->failed)
		log_error("harvest.spool", "path=%s why=%s", s->path,
		    log_why(&s->why));
	s->failed = s->why.err != OK;
	if (s->is_over)
		put_job(s, run_remove, free_spool);
}

static void
write_out(struct spool *s, bool syncs)
{
	if (s->is_out)
		return;
	buf_put_str(&s->writing, buf_str(&s->waiting));
	buf_clear(&s->waiting);
	s->syncs = syncs;
	put_job(s, run_write, written);
}

void
spool_sync(struct spool *s)
{
	if (s->waiting.n > 0 || s->writing.n > 0 || !s->syncs)
		write_out(s, true);
}

static void
sync_now(struct timer *t)
{
	struct spool *s = CONTAINER(t, struct spool, timer);

	spool_sync(s);
	loop_timer_set(s->home, t, mono_add_ms(clock_mono(), SPOOL_SYNC_MS));
}

struct spool *
spool_begin(struct pool *pool, struct loop *home, const char *dir,
    const struct call_received *r)
{
	struct spool *s = mem_new(sizeof(*s));
	char id[8];

	s->pool = pool;
	s->home = home;
	s->fd = -1;
	clock_random(id, sizeof(id));
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
	snprintf(s->path, sizeof(s->path), "%s/" PREFIX "%016llx" SUFFIX, dir,
	    (unsigned long long)read_be64(&(struct reader){ .p = id,
	    .n = sizeof(id) }));
	buf_put_char(&s->waiting, VERSION);
	buf_put_field(&s->waiting, r->url);
	buf_put_field(&s->waiting, r->request);
	buf_put_field(&s->waiting, r->head);
	buf_put(&s->waiting, &r->ip, sizeof(r->ip));
	buf_put_be64(&s->waiting, (uint64_t)r->start.us);
	s->timer.fire = sync_now;
	write_out(s, true);
	loop_timer_set(home, &s->timer, mono_add_ms(clock_mono(),
	    SPOOL_SYNC_MS));
	return s;
}

void
spool_put(struct spool *s, struct str bytes, struct wall now)
{
	buf_put_be64(&s->waiting, (uint64_t)now.us);
	buf_put_field(&s->waiting, bytes);
	if (s->waiting.n >= SPOOL_BUFFER_BYTES)
		write_out(s, false);
}

void
spool_end(struct spool **sp)
{
	struct spool *s = *sp;

	if (s == NULL)
		return;
	*sp = NULL;
	loop_timer_stop(s->home, &s->timer);
	s->is_over = true;
	if (!s->is_out)
		put_job(s, run_remove, free_spool);
}

/* ---- Reading ---------------------------------------------------------- */

/* Where the last whole chunk ends; what is none ends it. */
static size_t
whole_chunks(struct str body)
{
	size_t at = 0;

	for (;;) {
		size_t end = at, size = 0;
		while (end < body.n && ascii_hex_value(body.p[end]) >= 0 &&
		    size < FILE_BYTES_MAX)
			size = size * 16 + (size_t)ascii_hex_value(
			    body.p[end++]);
		if (end == at || size >= FILE_BYTES_MAX)
			return at;
		end += str_find_char(str_from(body, end), '\n') + 1;
		if (size == 0 || end + size + 2 > body.n)
			return at;
		at = end + size + 2;
	}
}

static struct str
cut_body(const struct call_received *r)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct http_head head;
	size_t n = r->body.n;

	if (http_parse_head(r->head, false, HTTP_LIMITS_DEFAULT, &a, &head,
	    NULL) != OK)
		return r->body;
	struct str coding = http_find(&head, STR("Transfer-Encoding"));
	size_t at = coding.n - MIN(coding.n, strlen("chunked"));
	if (str_eq_nocase(str_from(coding, at), STR("chunked")))
		return str_cut(r->body, 0, whole_chunks(r->body));
	if (http_find(&head, STR("Content-Encoding")).n > 0)
		return r->body;
	while (n > 0 && r->body.p[n - 1] != '\n')
		n--;
	return str_cut(r->body, 0, n);
}

/* False: it is none of ours, or had not begun. */
static bool
parse(struct str file, struct arena *a, struct call_received *r)
{
	FREED(buf_free) struct buf body = BUF_INIT;
	struct reader in = reader_of(file);

	bool known = read_u8(&in) == VERSION;
	r->url = read_field(&in);
	r->request = read_field(&in);
	r->head = read_field(&in);
	struct str ip = read_bytes(&in, sizeof(r->ip));
	r->start.us = (int64_t)read_be64(&in);
	if (!known || in.bad || ip.n != sizeof(r->ip))
		return false;
	memcpy(&r->ip, ip.p, sizeof(r->ip));
	r->end = r->start;
	/* The last part may be cut: it was not synced. */
	for (;;) {
		struct wall at = { (int64_t)read_be64(&in) };
		struct str part = read_field(&in);
		if (in.bad)
			break;
		r->end.us = MAX(at.us, r->end.us);
		buf_put_str(&body, part);
	}
	r->body = buf_str(&body);
	r->body = arena_copy(a, cut_body(r));
	r->url = arena_copy(a, r->url);
	r->request = arena_copy(a, r->request);
	r->head = arena_copy(a, r->head);
	return true;
}

enum err
spool_remove(const char *path, struct why *w)
{
	enum err e = file_remove(path, NULL);

	return e == OK || e == ERR_ABSENT ? OK : why(w, e, "cannot remove %s",
	    path);
}

static enum err
read_one(struct spool_left *s, struct arena *a, bool *is_one, struct why *w)
{
	FREED(buf_free) struct buf file = BUF_INIT;

	enum err e = file_load(s->path, FILE_BYTES_MAX, &file, w);
	if (e != OK)
		return e;
	*is_one = parse(buf_str(&file), a, &s->stream);
	return *is_one ? OK : spool_remove(s->path, w);
}

enum err
spools_read(const char *dir, struct arena *a, struct spool_left **list,
    size_t *n, struct why *w)
{
	struct str *names;
	size_t names_n = 0, cap = 0;

	*n = 0;
	*list = NULL;
	enum err e = file_list(dir, a, &names, &names_n, NULL);
	if (e != OK)
		return e == ERR_ABSENT ? OK : why(w, e, "cannot list %s", dir);
	for (size_t i = 0; i < names_n && e == OK; i++) {
		bool is_one = false;
		if (!str_starts(names[i], STR(PREFIX)) ||
		    !str_ends(names[i], STR(SUFFIX)))
			continue;
		*list = arena_grow(a, *list, *n, &cap, 4, sizeof(**list));
		(*list)[*n].path = arena_printf(a, "%s/%.*s", dir,
		    STR_FMT(names[i])).p;
		e = read_one(&(*list)[*n], a, &is_one, w);
		*n += is_one;
	}
	return e;
}
