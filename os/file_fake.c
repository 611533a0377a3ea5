#include <limits.h>
#include <pthread.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "os/file_fake_own.h"

#define SECTOR_BYTES 512
#define FIRST_HANDLE 1000000         /* never the number of a real one */
#define FREE_WITHOUT_LIMIT (UINT64_C(1) << 40)

/* A change that no sync has brought to the disk: a write, or a cut. */
struct change {
	bool cut;
	uint64_t at;                 /* of a cut: the new size */
	size_t n;
	char *bytes;
};

struct inode {
	struct list node;
	uint64_t id;
	struct image now, disk;      /* as read; as a power cut leaves it */
	struct change *changes;
	size_t changes_n, changes_cap;
	size_t refs;                 /* names, name changes, handles */
	size_t used_by;              /* of these: names as read, handles */
};

struct name {
	char *path;
	struct inode *file;
};

/* A change of names that no sync_dir has brought to the disk; atomic. */
struct name_change {
	struct str dirs[2];          /* the second only if it is another */
	char *add, *drop;            /* paths or NULL */
	struct inode *file;          /* of `add` */
};

struct handle {
	struct inode *file;
	bool writable;
};

static struct {
	pthread_mutex_t lock;
	uint64_t seed, picks;
	uint64_t limit;
	struct list files;
	uint64_t next_id;
	struct map now, disk;        /* path -> struct name */
	struct map dirs;             /* path -> the path */
	struct name_change *changes;
	size_t changes_n, changes_cap;
	struct map handles;
	int next_handle;
	bool made;
} d = { .lock = PTHREAD_MUTEX_INITIALIZER, .limit = UINT64_MAX };

/* 0 to n, n included, by the seed. */
static uint64_t
pick(uint64_t n)
{
	return hash_u64(d.seed ^ hash_u64(++d.picks)) % (n + 1);
}

/* --- files -------------------------------------------------------------- */

static void
forget_changes(struct inode *f)
{
	for (size_t i = 0; i < f->changes_n; i++)
		free(f->changes[i].bytes);
	f->changes_n = 0;
}

static void
drop_ref(struct inode *f)
{
	if (--f->refs > 0)
		return;
	list_take(&f->node);
	forget_changes(f);
	mem_free(&f->changes);
	image_free(&f->now);
	image_free(&f->disk);
	mem_free(&f);
}

static struct inode *
inode_new(void)
{
	struct inode *f = mem_new(sizeof(*f));

	f->id = ++d.next_id;
	list_put(&d.files, &f->node);
	return f;
}

static void
add_change(struct inode *f, struct change c)
{
	f->changes = mem_room(f->changes, f->changes_n, &f->changes_cap, 16,
	    sizeof(*f->changes));
	f->changes[f->changes_n++] = c;
}

static void
apply(struct image *m, const struct change *c)
{
	if (c->cut)
		image_cut(m, c->at);
	else
		image_write(m, c->at, c->bytes, c->n);
}

static void
sync_file(struct inode *f)
{
	for (size_t i = 0; i < f->changes_n; i++)
		apply(&f->disk, &f->changes[i]);
	forget_changes(f);
}

static void
change_file(struct inode *f, struct change c)
{
	if (!c.cut && c.n > 0) {
		const char *bytes = c.bytes;
		c.bytes = mem_new(c.n);
		memcpy(c.bytes, bytes, c.n);
	}
	apply(&f->now, &c);
	add_change(f, c);
}

/* The part of a write that lies in one sector. */
static void
write_sector(struct image *m, const struct change *c, uint64_t sector)
{
	uint64_t from = MAX(c->at, sector * SECTOR_BYTES);
	uint64_t to = MIN(c->at + c->n, (sector + 1) * SECTOR_BYTES);

	image_write(m, from, c->bytes + (from - c->at), (size_t)(to - from));
}

/*
 * The power went.  Each sector had reached the disk as of some moment since the
 * last sync, and so had the size.
 */
static void
tear_file(struct inode *f)
{
	size_t n = f->changes_n;
	uint64_t size = f->disk.size, salt = pick(UINT64_MAX - 1);
	size_t sized = (size_t)pick(n);

	for (size_t i = 0; i < n; i++) {
		const struct change *c = &f->changes[i];
		if (i < sized)
			size = c->cut ? c->at : MAX(size, c->at + c->n);
		if (c->cut) {
			if (i < sized)
				image_cut(&f->disk, c->at);
			continue;
		}
		for (uint64_t s = c->at / SECTOR_BYTES;
		    c->n > 0 && s <= (c->at + c->n - 1) / SECTOR_BYTES; s++)
			if (i < hash_u64(salt + s) % (n + 1))
				write_sector(&f->disk, c, s);
	}
	image_cut(&f->disk, size);
}

static void
cut_power_of(struct inode *f)
{
	switch (f->changes_n == 0 ? 0 : pick(3)) {
	case 0:
		break;
	case 1:
		sync_file(f);
		break;
	default:
		tear_file(f);
	}
	forget_changes(f);
	image_copy(&f->now, &f->disk);
}

/* --- names -------------------------------------------------------------- */

static void
link_name(struct map *m, const char *path, struct inode *f)
{
	struct name *old = map_get(m, str_of(path));

	f->refs++;
	f->used_by += m == &d.now;
	if (old != NULL) {
		old->file->used_by -= m == &d.now;
		drop_ref(old->file);
		old->file = f;
		return;
	}
	struct name *new = mem_new(sizeof(*new));
	*new = (struct name){ mem_copy_text(path), f };
	map_put(m, str_of(new->path), new);
}

static void
unlink_name(struct map *m, const char *path)
{
	struct name *old = map_take(m, str_of(path));

	if (old == NULL)
		return;
	old->file->used_by -= m == &d.now;
	drop_ref(old->file);
	mem_free(&old->path);
	mem_free(&old);
}

static void
unlink_all(struct map *m)
{
	MAP_EACH(name, m, struct name) {
		name->file->used_by -= m == &d.now;
		drop_ref(name->file);
		mem_free(&name->path);
		mem_free(&name);
	}
	map_free(m);
}

/* One form of each path: no "//", no "/./", no slash at the end. */
static bool
clean_path(const char *path, char out[static PATH_MAX])
{
	struct str rest = str_of(path), part;
	size_t n = 0;
	bool rooted = str_starts(rest, STR("/"));

	if (rest.n == 0 || rest.n + 2 > PATH_MAX)
		return false;
	while (str_split(&rest, '/', &part)) {
		if (part.n == 0 || str_eq(part, STR(".")))
			continue;
		if (n > 0 || rooted)
			out[n++] = '/';
		memcpy(out + n, part.p, part.n);
		n += part.n;
	}
	if (n == 0)
		out[n++] = rooted ? '/' : '.';
	out[n] = '\0';
	return true;
}

static struct str
parent_of(const char *clean)
{
	const char *slash = strrchr(clean, '/');

	if (slash == NULL)
		return STR(".");
	return slash == clean ? STR("/") :
	    (struct str){ clean, (size_t)(slash - clean) };
}

static bool
is_dir(struct str clean)
{
	return str_eq(clean, STR("/")) || str_eq(clean, STR(".")) ||
	    map_get(&d.dirs, clean) != NULL;
}

static struct str
copy_str(struct str s)
{
	char *p = mem_new(s.n + 1);

	memcpy(p, s.p, s.n);
	return (struct str){ p, s.n };
}

/* Note a change of names, and make it in what is read. */
static void
change_names(const char *add, const char *drop, struct inode *f)
{
	struct name_change c = { .file = f };
	struct str a = parent_of(add != NULL ? add : drop);
	struct str b = parent_of(drop != NULL ? drop : add);

	c.dirs[0] = copy_str(a);
	c.dirs[1] = str_eq(a, b) ? STR_NONE : copy_str(b);
	if (f != NULL)
		f->refs++;
	if (add != NULL) {
		c.add = mem_copy_text(add);
		link_name(&d.now, add, f);
	}
	if (drop != NULL) {
		c.drop = mem_copy_text(drop);
		unlink_name(&d.now, drop);
	}
	d.changes = mem_room(d.changes, d.changes_n, &d.changes_cap, 16,
	    sizeof(*d.changes));
	d.changes[d.changes_n++] = c;
}

static void
name_change_end(struct name_change *c, bool happened)
{
	if (happened && c->add != NULL)
		link_name(&d.disk, c->add, c->file);
	if (happened && c->drop != NULL)
		unlink_name(&d.disk, c->drop);
	if (c->file != NULL)
		drop_ref(c->file);
	free((char *)c->dirs[0].p);
	free((char *)c->dirs[1].p);
	mem_free(&c->add);
	mem_free(&c->drop);
}

/*
 * Changes of this directory; and, up to its last change that touched another
 * directory too, all: their order matters.
 */
static void
sync_names(struct str dir)
{
	size_t all = 0, kept = 0;

	for (size_t i = 0; i < d.changes_n; i++)
		if (d.changes[i].dirs[1].p != NULL &&
		    (str_eq(d.changes[i].dirs[0], dir) ||
		    str_eq(d.changes[i].dirs[1], dir)))
			all = i + 1;
	for (size_t i = 0; i < d.changes_n; i++) {
		if (i < all || str_eq(d.changes[i].dirs[0], dir))
			name_change_end(&d.changes[i], true);
		else
			d.changes[kept++] = d.changes[i];
	}
	d.changes_n = kept;
}

static void
end_all_name_changes(size_t happened)
{
	for (size_t i = 0; i < d.changes_n; i++)
		name_change_end(&d.changes[i], i < happened);
	d.changes_n = 0;
}

/* --- the disk as a whole ------------------------------------------------ */

static void
drop_handles(void)
{
	MAP_EACH(h, &d.handles, struct handle) {
		h->file->used_by--;
		drop_ref(h->file);
		mem_free(&h);
	}
	map_free(&d.handles);
}

static void
make_once(void)
{
	if (d.made)
		return;
	list_init(&d.files);
	d.next_handle = FIRST_HANDLE;
	d.made = true;
}

void
file_fake_reset(uint64_t seed)
{
	pthread_mutex_lock(&d.lock);
	make_once();
	drop_handles();
	end_all_name_changes(0);
	mem_free(&d.changes);
	d.changes_cap = 0;
	unlink_all(&d.now);
	unlink_all(&d.disk);
	CHECK(list_empty(&d.files));
	MAP_EACH(v, &d.dirs, void)
		free(v);
	map_free(&d.dirs);
	d.seed = seed;
	d.picks = d.next_id = 0;
	d.limit = UINT64_MAX;
	pthread_mutex_unlock(&d.lock);
	file_faults_reset();
}

void
file_fake_kill(void)
{
	pthread_mutex_lock(&d.lock);
	make_once();
	drop_handles();
	pthread_mutex_unlock(&d.lock);
}

void
file_fake_power_cut(void)
{
	pthread_mutex_lock(&d.lock);
	make_once();
	drop_handles();
	end_all_name_changes((size_t)pick(d.changes_n));
	unlink_all(&d.now);
	MAP_EACH(name, &d.disk, const struct name) {
		link_name(&d.now, name->path, name->file);
	}
	for (struct list *l = d.files.next; l != &d.files; l = l->next)
		cut_power_of(LIST_ITEM(l, struct inode, node));
	pthread_mutex_unlock(&d.lock);
}

void
file_fake_limit(uint64_t bytes)
{
	pthread_mutex_lock(&d.lock);
	d.limit = bytes;
	pthread_mutex_unlock(&d.lock);
}

static uint64_t
used_bytes(void)
{
	uint64_t sum = 0;

	LIST_EACH(f, &d.files, const struct inode, node) {
		if (f->used_by > 0)
			sum += f->now.size;
	}
	return sum;
}

/* --- the table ---------------------------------------------------------- */

/* Enter the disk for a call, which may be planned to fail. */
static enum err
enter(enum file_call call)
{
	pthread_mutex_lock(&d.lock);
	make_once();
	return file_fault_due(call, NULL);
}

static enum err
leave(enum err e)
{
	pthread_mutex_unlock(&d.lock);
	return e;
}

static struct inode *
file_of(int fd, bool to_write)
{
	const struct handle *h = fd < 0 ? NULL :
	    map_get_id(&d.handles, (uint64_t)fd);

	return h == NULL || (to_write && !h->writable) ? NULL : h->file;
}

static enum err
open_clean(const char *path, enum file_mode mode, int *fd)
{
	struct name *name = map_get(&d.now, str_of(path));

	if (is_dir(str_of(path)))
		return ERR_IO;
	if (!is_dir(parent_of(path)))
		return ERR_ABSENT;
	if (name == NULL && (mode == FILE_READ || mode == FILE_WRITE))
		return ERR_ABSENT;
	if (name != NULL && mode == FILE_NEW)
		return ERR_EXISTS;
	if (name == NULL)
		change_names(path, NULL, inode_new());
	name = map_get(&d.now, str_of(path));
	struct handle *h = mem_new(sizeof(*h));
	*h = (struct handle){ name->file, mode != FILE_READ };
	name->file->refs++;
	name->file->used_by++;
	*fd = d.next_handle++;
	map_put_id(&d.handles, (uint64_t)*fd, h);
	return OK;
}

static enum err
fake_open(const char *path, enum file_mode mode, int *fd)
{
	char clean[PATH_MAX];
	enum err e = enter(FILE_CALL_OPEN);

	*fd = -1;
	if (e == OK && !clean_path(path, clean))
		e = ERR_ABSENT;
	return leave(e == OK ? open_clean(clean, mode, fd) : e);
}

/* A handle may be of the real disk: file_lock_dir() knows no other. */
static void
fake_close(int fd)
{
	if (fd < FIRST_HANDLE) {
		file_real.close(fd);
		return;
	}
	pthread_mutex_lock(&d.lock);
	struct handle *h = map_take_id(&d.handles, (uint64_t)fd);
	if (h != NULL) {
		h->file->used_by--;
		drop_ref(h->file);
		mem_free(&h);
	}
	pthread_mutex_unlock(&d.lock);
}

static enum err
fake_read(int fd, uint64_t at, void *p, size_t n, size_t *got)
{
	enum err e = enter(FILE_CALL_READ);
	const struct inode *f = file_of(fd, false);

	*got = 0;
	if (e == OK && f == NULL)
		e = ERR_IO;
	if (e == OK)
		*got = image_read(&f->now, at, p, n);
	return leave(e);
}

/* Whole sectors, as disks and page caches have it. */
static size_t
part_of_write(uint64_t at, size_t n)
{
	uint64_t end = at + pick(n);

	end -= end % SECTOR_BYTES;
	return end <= at ? 0 : (size_t)(end - at);
}

/* As much as the limit lets through; a failing call does a part. */
static enum err
write_limited(struct inode *f, uint64_t at, const char *p, size_t n,
    enum err e)
{
	uint64_t used = d.limit == UINT64_MAX ? 0 : used_bytes();
	uint64_t may_end = MAX(f->now.size, d.limit == UINT64_MAX ?
	    UINT64_MAX : f->now.size + (d.limit - MIN(used, d.limit)));

	if (e != OK)
		n = part_of_write(at, n);
	if (at + n > may_end) {
		n = at < may_end ? (size_t)(may_end - at) : 0;
		e = ERR_DISK_FULL;
	}
	if (n > 0)
		change_file(f, (struct change){ .at = at, .n = n,
		    .bytes = (char *)(void *)(uintptr_t)p });
	return e;
}

static enum err
fake_write(int fd, uint64_t at, const void *p, size_t n)
{
	enum err e = enter(FILE_CALL_WRITE);
	struct inode *f = file_of(fd, true);

	if (f == NULL || at > INT64_MAX - n)
		return leave(ERR_IO);
	return leave(write_limited(f, at, p, n, e));
}

static enum err
fake_sync(int fd)
{
	bool stopped;

	pthread_mutex_lock(&d.lock);
	make_once();
	enum err e = file_fault_due(FILE_CALL_SYNC, &stopped);
	struct inode *f = file_of(fd, false);
	if (f == NULL)
		return leave(ERR_IO);
	if (e == OK)
		sync_file(f);
	else if (!stopped)
		forget_changes(f);
	return leave(e);
}

static enum err
fake_size(int fd, uint64_t *size)
{
	enum err e = enter(FILE_CALL_SIZE);
	const struct inode *f = file_of(fd, false);

	if (e == OK && f == NULL)
		e = ERR_IO;
	if (e == OK)
		*size = f->now.size;
	return leave(e);
}

static enum err
fake_cut(int fd, uint64_t size)
{
	enum err e = enter(FILE_CALL_CUT);
	struct inode *f = file_of(fd, true);

	if (e == OK && (f == NULL || size > INT64_MAX))
		e = ERR_IO;
	if (e == OK)
		change_file(f, (struct change){ .cut = true, .at = size });
	return leave(e);
}

static enum err
fake_allocate(int fd, uint64_t size)
{
	static const char zeros[1 << 16];
	enum err e = enter(FILE_CALL_ALLOCATE);
	struct inode *f = file_of(fd, true);

	if (f == NULL)
		return leave(ERR_IO);
	uint64_t end = e == OK ? size : pick(size);
	enum err done = OK;
	for (uint64_t at = 0; at < end && done == OK; at += sizeof(zeros))
		done = write_limited(f, at, zeros,
		    (size_t)MIN(sizeof(zeros), end - at), OK);
	if (e == OK && done == OK)
		sync_file(f);
	return leave(e != OK ? e : done);
}

static enum err
move(const char *from, const char *to, bool over)
{
	char a[PATH_MAX], b[PATH_MAX];

	if (!clean_path(from, a) || !clean_path(to, b))
		return ERR_ABSENT;
	struct name *name = map_get(&d.now, str_of(a));
	if (name == NULL || !is_dir(parent_of(b)))
		return is_dir(str_of(a)) ? ERR_IO : ERR_ABSENT;
	if (is_dir(str_of(b)) ||
	    (!over && map_get(&d.now, str_of(b)) != NULL))
		return ERR_EXISTS;
	if (strcmp(a, b) != 0)
		change_names(b, a, name->file);
	return OK;
}

static enum err
fake_rename_new(const char *from, const char *to)
{
	enum err e = enter(FILE_CALL_RENAME);

	return leave(e == OK ? move(from, to, false) : e);
}

static enum err
fake_replace(const char *from, const char *to)
{
	enum err e = enter(FILE_CALL_RENAME);

	return leave(e == OK ? move(from, to, true) : e);
}

static bool
dir_in_use(struct str dir)
{
	MAP_EACH(v, &d.now, void)
		if (str_eq(parent_of(((struct name *)v)->path), dir))
			return true;
	MAP_EACH(v, &d.dirs, void)
		if (str_eq(parent_of(v), dir))
			return true;
	return false;
}

static enum err
fake_remove(const char *path)
{
	char clean[PATH_MAX];
	enum err e = enter(FILE_CALL_REMOVE);

	if (e != OK)
		return leave(e);
	if (!clean_path(path, clean))
		return leave(ERR_ABSENT);
	if (map_get(&d.now, str_of(clean)) != NULL) {
		change_names(NULL, clean, NULL);
		return leave(OK);
	}
	if (map_get(&d.dirs, str_of(clean)) == NULL)
		return leave(ERR_ABSENT);
	if (dir_in_use(str_of(clean)))
		return leave(ERR_IO);
	free(map_take(&d.dirs, str_of(clean)));
	return leave(OK);
}

static enum err
fake_sync_dir(const char *path)
{
	char clean[PATH_MAX];
	enum err e = enter(FILE_CALL_SYNC_DIR);

	if (e == OK && (!clean_path(path, clean) || !is_dir(str_of(clean))))
		e = ERR_ABSENT;
	if (e == OK)
		sync_names(str_of(clean));
	return leave(e);
}

static enum err
make_clean(const char *clean)
{
	for (size_t i = 1; clean[i - 1] != '\0'; i++) {
		struct str part = { clean, i };
		if (clean[i] != '/' && clean[i] != '\0')
			continue;
		if (map_get(&d.now, part) != NULL)
			return ERR_EXISTS;
		if (is_dir(part))
			continue;
		struct str copy = copy_str(part);
		map_put(&d.dirs, copy, (char *)(void *)(uintptr_t)copy.p);
	}
	return OK;
}

static enum err
fake_make_dir(const char *path)
{
	char clean[PATH_MAX];
	enum err e = enter(FILE_CALL_MAKE_DIR);

	if (e == OK && !clean_path(path, clean))
		e = ERR_INPUT;
	return leave(e == OK ? make_clean(clean) : e);
}

struct listing {
	struct arena *a;
	struct str dir, *names;
	size_t n, cap;
};

static void
add_listed(struct listing *l, const char *path)
{
	if (!str_eq(parent_of(path), l->dir))
		return;
	if (l->n == l->cap) {
		size_t cap = MAX(32, l->cap * 2);
		struct str *more = ARENA_ARRAY(l->a, struct str, cap);
		if (l->n > 0)
			memcpy(more, l->names, l->n * sizeof(*more));
		l->names = more;
		l->cap = cap;
	}
	const char *slash = strrchr(path, '/');
	l->names[l->n++] = arena_copy(l->a,
	    str_of(slash == NULL ? path : slash + 1));
}

static enum err
fake_list(const char *path, struct arena *a, struct str **names, size_t *n)
{
	char clean[PATH_MAX];
	enum err e = enter(FILE_CALL_LIST);

	*n = 0;
	if (e == OK && (!clean_path(path, clean) || !is_dir(str_of(clean))))
		e = ERR_ABSENT;
	if (e != OK)
		return leave(e);
	struct listing l = { .a = a, .dir = str_of(clean) };
	MAP_EACH(v, &d.now, void)
		add_listed(&l, ((struct name *)v)->path);
	MAP_EACH(v, &d.dirs, void)
		add_listed(&l, v);
	*names = l.names;
	*n = l.n;
	return leave(OK);
}

static enum err
fake_free_bytes(const char *path, uint64_t *bytes)
{
	enum err e = enter(FILE_CALL_FREE_BYTES);

	(void)path;
	if (e == OK)
		*bytes = d.limit == UINT64_MAX ? FREE_WITHOUT_LIMIT :
		    d.limit - MIN(d.limit, used_bytes());
	return leave(e);
}

const struct file_table file_fake = {
	fake_open, fake_close, fake_read, fake_write, fake_sync, fake_size,
	fake_cut, fake_allocate, fake_rename_new, fake_replace, fake_remove,
	fake_sync_dir, fake_make_dir, fake_list, fake_free_bytes, NULL,
};
