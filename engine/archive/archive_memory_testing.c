#include "engine/archive/archive_memory_testing.h"

#include <pthread.h>
#include <string.h>

#define HANDLES_MAX 1024

/* A file; what nobody can find any more lives until the end, too. */
struct node {
	struct node *next;
	struct str path;             /* n 0: removed */
	struct buf bytes;
};

static struct {
	pthread_mutex_t lock;
	struct arena arena;          /* nodes and paths */
	struct node *nodes;
	struct node *handles[HANDLES_MAX];
} m = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct node *
find(const char *path)
{
	for (struct node *n = m.nodes; n != NULL; n = n->next)
		if (str_eq(n->path, str_of(path)))
			return n;
	return NULL;
}

static enum err
absent(const char *path, struct why *w)
{
	return why(w, ERR_ABSENT, "%s: there is no such file", path);
}

static int
new_handle(struct node *n)
{
	for (int i = 0; i < HANDLES_MAX; i++)
		if (m.handles[i] == NULL) {
			m.handles[i] = n;
			return i;
		}
	CHECK(!"too many handles");
	return -1;
}

static struct node *
new_node(const char *path)
{
	struct node *n = ARENA_NEW(&m.arena, struct node);

	n->path = arena_copy(&m.arena, str_of(path));
	n->next = m.nodes;
	m.nodes = n;
	return n;
}

static enum err
memory_open(const char *path, int *handle, struct why *w)
{
	pthread_mutex_lock(&m.lock);
	struct node *n = find(path);
	*handle = n == NULL ? -1 : new_handle(n);
	pthread_mutex_unlock(&m.lock);
	return n == NULL ? absent(path, w) : OK;
}

static enum err
memory_read_at(int handle, uint64_t at, void *to, size_t n, size_t *got,
    struct why *w)
{
	(void)w;
	pthread_mutex_lock(&m.lock);
	const struct buf *b = &m.handles[handle]->bytes;
	*got = at >= b->n ? 0 : MIN(n, b->n - (size_t)at);
	if (*got > 0)
		memcpy(to, b->p + at, *got);
	pthread_mutex_unlock(&m.lock);
	return OK;
}

static enum err
memory_size(int handle, uint64_t *size, struct why *w)
{
	(void)w;
	pthread_mutex_lock(&m.lock);
	*size = m.handles[handle]->bytes.n;
	pthread_mutex_unlock(&m.lock);
	return OK;
}

static void
memory_close(int *handle)
{
	pthread_mutex_lock(&m.lock);
	if (*handle >= 0)
		m.handles[*handle] = NULL;
	pthread_mutex_unlock(&m.lock);
	*handle = -1;
}

static bool
memory_in_use(const char *path)
{
	(void)path;                  /* there is no other process */
	return false;
}

/* The first part of each path below DIR, without repetitions. */
static enum err
memory_list(const char *dir, struct arena *a, struct str **names, size_t *n,
    struct why *w)
{
	struct str below = arena_printf(a, "%s/", dir);
	struct str *out = NULL;
	size_t count = 0, seen = 0;

	pthread_mutex_lock(&m.lock);
	for (const struct node *f = m.nodes; f != NULL; f = f->next)
		count += str_starts(f->path, below);
	if (count > 0)
		out = ARENA_ARRAY(a, struct str, count);
	for (const struct node *f = m.nodes; f != NULL; f = f->next) {
		if (!str_starts(f->path, below))
			continue;
		struct str name = str_from(f->path, below.n);
		name = str_cut(name, 0, str_find_char(name, '/'));
		size_t i = 0;
		while (i < seen && !str_eq(out[i], name))
			i++;
		if (i == seen)
			out[seen++] = arena_copy(a, name);
	}
	pthread_mutex_unlock(&m.lock);
	*names = out;
	*n = seen;
	return count > 0 ? OK : absent(dir, w);
}

static enum err
memory_create(const char *path, int *handle, struct why *w)
{
	(void)w;
	pthread_mutex_lock(&m.lock);
	if (*handle < 0)
		*handle = new_handle(new_node(path));
	pthread_mutex_unlock(&m.lock);
	return OK;
}

static enum err
memory_scratch(const char *path, int *handle, struct why *w)
{
	(void)w;
	pthread_mutex_lock(&m.lock);
	struct node *n = find(path);
	if (n == NULL)
		n = new_node(path);
	buf_clear(&n->bytes);
	*handle = new_handle(n);
	pthread_mutex_unlock(&m.lock);
	return OK;
}

static enum err
memory_append(int handle, uint64_t at, const void *p, size_t n, struct why *w)
{
	pthread_mutex_lock(&m.lock);
	struct buf *b = &m.handles[handle]->bytes;
	bool hole = at > b->n;
	if (!hole) {
		b->n = (size_t)at;
		buf_put(b, p, n);
	}
	pthread_mutex_unlock(&m.lock);
	return hole ? why(w, ERR_IO, "it would leave a hole") : OK;
}

static enum err
memory_sync(const int *handles, size_t n, size_t *failed, struct why *w)
{
	(void)handles;
	(void)n;
	(void)failed;
	(void)w;
	return OK;
}

static enum err
memory_cut(int handle, uint64_t end, struct why *w)
{
	(void)w;
	pthread_mutex_lock(&m.lock);
	struct buf *b = &m.handles[handle]->bytes;
	b->n = MIN(b->n, (size_t)end);
	pthread_mutex_unlock(&m.lock);
	return OK;
}

static enum err
move(const char *from, const char *to, bool replace, struct why *w)
{
	enum err e = OK;

	pthread_mutex_lock(&m.lock);
	struct node *n = find(from), *old = find(to);
	if (n == NULL)
		e = absent(from, w);
	else if (old != NULL && !replace)
		e = why(w, ERR_EXISTS, "%s is there", to);
	if (e == OK && old != NULL)
		old->path.n = 0;
	if (e == OK)
		n->path = arena_copy(&m.arena, str_of(to));
	pthread_mutex_unlock(&m.lock);
	return e;
}

static enum err
memory_rename(const char *from, const char *to, struct why *w)
{
	return move(from, to, false, w);
}

static enum err
memory_replace(const char *from, const char *to, struct why *w)
{
	return move(from, to, true, w);
}

static enum err
memory_finish(int handle, uint64_t end, const char *from, const char *to,
    struct why *w)
{
	enum err e = memory_cut(handle, end, w);

	return e == OK ? memory_rename(from, to, w) : e;
}

static enum err
memory_place(const char *path, struct why *w)
{
	(void)path;
	(void)w;
	return OK;
}

static enum err
memory_remove(const char *path, struct why *w)
{
	pthread_mutex_lock(&m.lock);
	struct node *n = find(path);
	if (n != NULL)
		n->path.n = 0;
	pthread_mutex_unlock(&m.lock);
	return n == NULL ? absent(path, w) : OK;
}

static enum err
memory_free_bytes(const char *path, uint64_t *bytes, struct why *w)
{
	(void)path;
	(void)w;
	*bytes = UINT64_MAX;
	return OK;
}

static const struct archive_port archive_memory = {
	.open = memory_open, .read_at = memory_read_at, .size = memory_size,
	.close = memory_close, .in_use = memory_in_use, .list = memory_list,
	.create = memory_create, .scratch = memory_scratch,
	.reopen = memory_open, .append = memory_append, .sync = memory_sync,
	.cut = memory_cut, .finish = memory_finish, .place = memory_place,
	.rename = memory_rename, .replace = memory_replace,
	.remove = memory_remove, .free_bytes = memory_free_bytes,
};

void
memory_archive_begin(void)
{
	archive_port_use(&archive_memory);
}

void
memory_archive_end(void)
{
	archive_port_use(&archive_dir);
	for (struct node *n = m.nodes; n != NULL; n = n->next)
		buf_free(&n->bytes);
	arena_free(&m.arena);
	m.nodes = NULL;
	memset(m.handles, 0, sizeof(m.handles));
}

struct str
memory_archive_bytes(const char *path)
{
	pthread_mutex_lock(&m.lock);
	const struct node *n = find(path);
	CHECK(n != NULL);
	pthread_mutex_unlock(&m.lock);
	return buf_str(&n->bytes);
}

size_t
memory_archive_handles(void)
{
	size_t n = 0;

	for (size_t i = 0; i < HANDLES_MAX; i++)
		n += m.handles[i] != NULL;
	return n;
}
