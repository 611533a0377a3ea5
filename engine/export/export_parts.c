#include "engine/export/export_parts.h"

#include <stdatomic.h>

#include "os/file.h"
#include "os/pool.h"

/*
 * What was made of one file: entries in memory, after those in `fd`.  There
 * they stand in frames, each a length and so many bytes of whole entries.
 */
struct part {
	struct job job;
	struct parts *all;
	const struct archive_file *file;
	struct export_source *source;
	struct buf bytes;
	int fd;
	uint64_t written, frames;
	struct export_counts counts;
	struct export_notes notes;
	enum err err;                /* of the file, or of keeping entries */
	bool keeping_failed;
	struct why why;
	bool done;
};

struct parts {
	const struct export_order *order;
	const char *scratch;
	struct loop *home;
	struct pool *pool;
	struct part *slots;          /* file i uses slot i modulo slots_n */
	size_t slots_n;
	atomic_bool stopped;         /* nobody wants the rest */
};

/* An entry in a part: its head, then its bytes. */
struct kept_entry {
	struct export_entry entry;   /* without its bytes */
	size_t bytes_n;
};

/* --- keeping, on the pool ----------------------------------------------- */

static enum err
open_unnamed(struct part *p, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t slot = (size_t)(p - p->all->slots);
	const char *path = arena_printf(&a, "%s.part-%zu", p->all->scratch,
	    slot).p;
	enum err e = file_open(path, FILE_NEW, &p->fd, w);

	return e == OK ? file_remove(path, w) : e;
}

/* Move the entries in memory to the file, as a frame. */
static enum err
write_frame(struct part *p, struct why *w)
{
	uint64_t n = p->bytes.n;
	enum err e = p->fd < 0 ? open_unnamed(p, w) : OK;

	if (e == OK)
		e = file_write(p->fd, p->written, &n, sizeof(n), w);
	if (e == OK)
		e = file_write(p->fd, p->written + sizeof(n), p->bytes.p,
		    p->bytes.n, w);
	p->written += sizeof(n) + n;
	p->frames++;
	buf_clear(&p->bytes);
	return e;
}

static enum err
keep_entry(void *arg, const struct export_entry *entry, struct why *w)
{
	struct part *p = arg;
	struct kept_entry head = { *entry, entry->bytes.n };
	enum err e = atomic_load_explicit(&p->all->stopped,
	    memory_order_relaxed) ? ERR_CLOSED : OK;

	buf_put(&p->bytes, &head, sizeof(head));
	buf_put_str(&p->bytes, entry->bytes);
	if (e == OK && p->bytes.n >= PART_BYTES_MAX)
		e = write_frame(p, w);
	p->keeping_failed |= e != OK;
	return e;
}

static void
read_part(struct job *job)
{
	struct part *p = CONTAINER(job, struct part, job);

	p->err = export_source_read(p->source, p->file, keep_entry, p,
	    &p->counts, &p->notes, &p->why);
}

static void
part_read(struct mail *mail)
{
	CONTAINER(mail, struct part, job.mail)->done = true;
}

/* --- the caller's thread ------------------------------------------------ */

static void
submit_part(struct parts *all, size_t i)
{
	struct part *p = &all->slots[i % all->slots_n];

	p->file = &all->order->files[i];
	p->counts = (struct export_counts){ .records = 0 };
	p->why = (struct why)WHY_INIT;
	p->err = OK;
	p->done = p->keeping_failed = false;
	p->job = (struct job){ .home = all->home, .run = read_part,
		.mail = { .deliver = part_read } };
	pool_submit(all->pool, &p->job);
}

static enum err
give_entries(struct str bytes, export_entry_fn *put, void *arg,
    struct why *w)
{
	struct kept_entry head;
	enum err e = OK;

	while (e == OK && bytes.n > 0) {
		memcpy(&head, bytes.p, sizeof(head));
		head.entry.bytes = str_cut(bytes, sizeof(head), sizeof(head) +
		    head.bytes_n);
		e = put(arg, &head.entry, w);
		bytes = str_from(bytes, sizeof(head) + head.bytes_n);
	}
	return e;
}

static enum err
give_frames(struct part *p, export_entry_fn *put, void *arg, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	uint64_t at = 0, n = 0;
	size_t got;
	enum err e = OK;

	for (uint64_t i = 0; i < p->frames && e == OK; i++) {
		e = file_read(p->fd, at, &n, sizeof(n), &got, w);
		at += sizeof(n);
		buf_clear(&b);
		if (e == OK)
			e = file_read(p->fd, at, buf_grow(&b, (size_t)n),
			    (size_t)n, &got, w);
		at += n;
		if (e == OK && got < n)
			e = why(w, ERR_IO, "a temporary file has lost its "
			    "end");
		if (e == OK)
			e = give_entries(buf_str(&b), put, arg, w);
	}
	return e;
}

/* Hand on what was made of a file, in order, and make the slot empty. */
static enum err
take_part(struct part *p, export_entry_fn *put, void *arg,
    struct export_result *r, struct why *w)
{
	enum err e = p->keeping_failed ? why(w, p->err, "%s", p->why.text) :
	    OK;

	if (e == OK)
		e = give_frames(p, put, arg, w);
	if (e == OK)
		e = give_entries(buf_str(&p->bytes), put, arg, w);
	export_counts_add(&r->counts, &p->counts);
	export_notes_merge(&r->notes, &p->notes);
	if (e == OK && p->err != OK)
		export_note_missing(r, p->file, &p->why);
	export_notes_free(&p->notes);
	buf_clear(&p->bytes);
	file_close(&p->fd);
	p->written = p->frames = 0;
	return e;
}

static void
free_parts(struct parts *all)
{
	atomic_store(&all->stopped, true);
	pool_free(&all->pool);
	loop_free(&all->home);
	for (size_t i = 0; i < all->slots_n; i++) {
		struct part *p = &all->slots[i];
		export_source_free(&p->source);
		export_notes_free(&p->notes);
		buf_free(&p->bytes);
		file_close(&p->fd);
	}
	mem_free(&all->slots);
}

enum err
export_parts_read(const struct export_order *o, unsigned jobs,
    struct export_pass pass, const char *scratch, export_entry_fn *put,
    void *arg, struct export_result *r, struct why *w)
{
	struct parts all = { .order = o, .scratch = scratch };
	size_t next = 0;
	enum err e = OK;

	all.slots_n = MIN(o->files_n, (size_t)jobs + 1);
	all.slots = mem_array(all.slots_n, sizeof(*all.slots));
	all.home = loop_new("export");
	all.pool = pool_new(jobs);
	for (size_t i = 0; i < all.slots_n; i++) {
		all.slots[i].all = &all;
		all.slots[i].fd = -1;
		all.slots[i].source = export_source_new(o, pass);
		submit_part(&all, next++);
	}
	for (size_t i = 0; i < o->files_n && e == OK &&
	    !export_is_stopped(o); i++) {
		struct part *p = &all.slots[i % all.slots_n];
		loop_run_until(all.home, &p->done);
		e = take_part(p, put, arg, r, w);
		export_count_file(o, pass);
		if (e == OK && next < o->files_n)
			submit_part(&all, next++);
	}
	free_parts(&all);
	return e;
}
