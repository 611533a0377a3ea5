#include "engine/ledger/commitlog.h"

#include "base/hash.h"
#include "engine/ledger/commitlog_own.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"

/* A record's buffer that grew beyond this is not kept. */
#define RECORD_KEPT_BYTES ((size_t)1 << 20)

static const char head_magic[8] = "ARLOG01\n";

const char *
segment_path(const struct commitlog *l, uint64_t number, const char *suffix,
    struct buf *b)
{
	buf_clear(b);
	buf_printf(b, "%s/log-%08llu%s", l->dir, (unsigned long long)number,
	    suffix);
	return buf_text(b);
}

static enum err
broken(struct commitlog *l, struct why *w, const struct why *cause)
{
	l->stats.broken = true;
	return why(w, ERR_BROKEN, "log: %s; nothing more is accepted until "
	    "restart", cause->text);
}

static enum err
still_broken(struct why *w)
{
	return why(w, ERR_BROKEN, "log: an earlier write or sync failed; "
	    "nothing more is accepted until restart");
}

/* A full disk may be tried again, to the same place. */
static enum err
write_failed(struct commitlog *l, enum err e, struct why *w,
    const struct why *cause)
{
	return e == ERR_DISK_FULL ? why(w, e, "log: %s", cause->text) :
	    broken(l, w, cause);
}

/*
 * After a failed sync nobody knows what is on the disk, and the next sync may
 * succeed without writing what this one lost.  So there is no next one.
 */
enum err
segment_sync(struct commitlog *l, const struct segment *s, struct why *w)
{
	struct why own = WHY_INIT;

	if (file_sync(s->fd, &own) != OK)
		return broken(l, w, &own);
	return OK;
}

/* A name that may not be on the disk must not hold groups. */
static enum err
sync_dir(struct commitlog *l, struct why *w)
{
	struct why own = WHY_INIT;

	if (file_sync_dir(l->dir, &own) != OK)
		return broken(l, w, &own);
	return OK;
}

void
segment_head(const struct segment *s, struct buf *out)
{
	buf_put(out, head_magic, sizeof(head_magic));
	buf_put_be64(out, s->number);
	buf_put_be64(out, s->size);
	buf_put_be64(out, s->key);
	buf_put_be64(out, s->first);
	buf_put_be32(out, crc32c_of(buf_str(out), 0));
}

void
segment_chain(struct str head, uint32_t chain, struct buf *out)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_str(&b, str_cut(head, 0, SEGMENT_HEAD_USED));
	buf_put(&b, "CHN1", 4);
	buf_put_be32(&b, chain);
	uint32_t crc = crc32c_of(buf_str(&b), 0);
	buf_put(out, b.p + SEGMENT_HEAD_USED, 8);
	buf_put_be32(out, crc);
}

uint32_t
chain_next(uint32_t chain, uint32_t crc)
{
	unsigned char bytes[4];

	if (chain == 0)
		return 0;
	for (int i = 0; i < 4; i++)
		bytes[i] = (unsigned char)(crc >> (24 - 8 * i));
	chain = crc32c_of((struct str){ (const char *)bytes, 4 }, chain);
	return chain == 0 ? 1 : chain;
}

uint32_t
record_crc(uint64_t key, struct str from_group_on)
{
	return crc32c_of(from_group_on, (uint32_t)(key >> 32));
}

struct segment *
segment_add(struct commitlog *l, uint64_t number, int fd, uint64_t size)
{
	l->segments = mem_room(l->segments, l->n, &l->cap, 8,
	    sizeof(*l->segments));
	struct segment *s = &l->segments[l->n++];
	*s = (struct segment){ .number = number, .fd = fd, .size = size };
	l->stats.segments++;
	l->stats.segment_bytes += size;
	return s;
}

static void
forget_first(struct commitlog *l)
{
	l->stats.segments--;
	l->stats.segment_bytes -= l->segments[0].size;
	l->n--;
	l->begun--;
	memmove(l->segments, l->segments + 1, l->n * sizeof(*l->segments));
}

/* Written under another name first: half a segment is never seen. */
static enum err
write_new(const char *path, uint64_t size, int *fd, struct why *w)
{
	enum err e = file_open(path, FILE_CREATE, fd, w);
	struct why inner = WHY_INIT;

	if (e != OK)
		return e;
	e = file_cut(*fd, 0, &inner);
	if (e == OK)
		e = file_allocate(*fd, size, &inner);
	if (e == OK)
		return OK;
	why(w, e, "%s: %s", path, inner.text);
	file_close(fd);
	/* Give back what there is of it. */
	if (file_remove(path, NULL) != OK)
		log_warn("ledger.log", "cannot remove %s", path);
	return e;
}

enum err
segment_allocate(struct commitlog *l, uint64_t size, struct why *w)
{
	FREED(buf_free) struct buf new = BUF_INIT, path = BUF_INIT;
	uint64_t number = l->n == 0 ? 1 : l->segments[l->n - 1].number + 1;
	int fd = -1;

	segment_path(l, number, ".new", &new);
	segment_path(l, number, "", &path);
	enum err e = write_new(new.p, size, &fd, w);
	if (e == OK)
		e = file_rename_new(new.p, path.p, w);
	if (e == OK)
		e = sync_dir(l, w);
	if (e == OK) {
		segment_add(l, number, fd, size);
		l->stats.allocated++;
	} else {
		file_close(&fd);
	}
	return e;
}

size_t
commitlog_grown(uint64_t appended, size_t first, size_t later)
{
	return appended < COMMITLOG_SEGMENTS_FIRST * (uint64_t)first ? first :
	    MAX(first, later);
}

/* The size of a segment that is made now. */
static size_t
next_bytes(const struct commitlog *l)
{
	return commitlog_grown(l->stats.bytes, l->segment_bytes,
	    l->segment_bytes_max);
}

static struct segment *
current(const struct commitlog *l)
{
	return l->begun == 0 ? NULL : &l->segments[l->begun - 1];
}

static uint64_t
room_of(const struct segment *s)
{
	return s->size - (s->begun ? s->end : SEGMENT_HEAD_BYTES);
}

/* The segment that a record of so many bytes goes to; l->n: there is none. */
static size_t
place_for(const struct commitlog *l, uint64_t bytes)
{
	size_t i = l->begun == 0 ? 0 : l->begun - 1;

	while (i < l->n && room_of(&l->segments[i]) < bytes)
		i++;
	return i;
}

/* Make the next spare the current segment, with a key of its own. */
static enum err
begin_next(struct commitlog *l, struct why *w)
{
	struct segment *s = &l->segments[l->begun];
	FREED(buf_free) struct buf head = BUF_INIT;
	struct why own = WHY_INIT;

	if (l->dirty && commitlog_sync(l, w) != OK)
		return ERR_BROKEN;
	clock_random(&s->key, sizeof(s->key));
	s->key |= 1;                 /* zeros are never a record's magic */
	s->first = l->group + 1;
	s->last = l->group;
	s->end = SEGMENT_HEAD_BYTES;
	/* One that begins here is as good as any. */
	if (l->chain == 0)
		l->chain = (uint32_t)(s->key >> 32) | 1;
	s->chain = l->chain;
	segment_head(s, &head);
	segment_chain(buf_str(&head), s->chain, &head);
	buf_put(&head, (char[SEGMENT_HEAD_BYTES]){ 0 },
	    SEGMENT_HEAD_BYTES - head.n);
	CHECK(head.n == SEGMENT_HEAD_BYTES);
	enum err e = file_write(s->fd, 0, head.p, head.n, &own);
	if (e != OK)
		return write_failed(l, e, w, &own);
	/* On the disk before any record: a record has no meaning without it. */
	e = segment_sync(l, s, w);
	if (e != OK)
		return e;
	s->begun = true;
	l->begun++;
	return OK;
}

/* Make `bytes` fit into the current segment. */
static enum err
make_room(struct commitlog *l, uint64_t bytes, struct why *w)
{
	enum err e = OK;

	if (place_for(l, bytes) == l->n)
		e = segment_allocate(l, MAX(next_bytes(l),
		    SEGMENT_HEAD_BYTES + bytes), w);
	/* Spares that are too small are passed by: begun, and left empty. */
	while (e == OK &&
	    (l->begun == 0 || room_of(current(l)) < bytes))
		e = begin_next(l, w);
	return e;
}

enum err
commitlog_prepare(struct commitlog *l, size_t bytes, struct why *w)
{
	enum err e = OK;

	if (l->stats.broken)
		return still_broken(w);
	if (bytes > COMMITLOG_BODY_BYTES_MAX)
		return why(w, ERR_FULL, "log: a group of %zu bytes is above "
		    "%zu", bytes, COMMITLOG_BODY_BYTES_MAX);
	if (place_for(l, record_bytes(bytes)) == l->n)
		e = segment_allocate(l, MAX(next_bytes(l),
		    SEGMENT_HEAD_BYTES + record_bytes(bytes)), w);
	const struct segment *s = current(l);
	if (e == OK && l->begun == l->n && s != NULL &&
	    room_of(s) < s->size / 2)
		e = segment_allocate(l, next_bytes(l), w);
	return e;
}

static void
build_record(struct commitlog *l, const struct segment *s, uint64_t group,
    struct str body)
{
	struct buf *b = &l->record;
	uint32_t crc;

	buf_clear(b);
	buf_reserve(b, record_bytes(body.n));
	buf_put_be32(b, record_magic(s->key));
	buf_put_be32(b, 0);
	buf_put_be64(b, group);
	buf_put_be32(b, (uint32_t)body.n);
	buf_put_be32(b, (uint32_t)(group - 1 - l->synced));
	buf_put_str(b, body);
	crc = record_crc(s->key, str_from(buf_str(b), 8));
	for (size_t i = 0; i < 4; i++)
		b->p[4 + i] = (char)(crc >> (24 - 8 * i));
	buf_put(b, (char[RECORD_ALIGN]){ 0 }, record_bytes(body.n) - b->n);
}

static uint32_t
built_crc(const struct buf *record)
{
	struct reader in = reader_of(str_from(buf_str(record), 4));

	return read_be32(&in);
}

enum err
commitlog_append(struct commitlog *l, uint64_t group, struct str body,
    struct why *w)
{
	struct why own = WHY_INIT;

	CHECK(group == l->group + 1);
	if (l->stats.broken)
		return still_broken(w);
	if (body.n > COMMITLOG_BODY_BYTES_MAX)
		return why(w, ERR_FULL, "log: a group of %zu bytes is above "
		    "%zu", body.n, COMMITLOG_BODY_BYTES_MAX);
	enum err e = make_room(l, record_bytes(body.n), w);
	if (e != OK)
		return e;
	struct segment *s = current(l);
	build_record(l, s, group, body);
	e = file_write(s->fd, s->end, l->record.p, l->record.n, &own);
	if (e != OK)
		return write_failed(l, e, w, &own);
	s->end += l->record.n;
	s->last = l->group = group;
	l->chain = chain_next(l->chain, built_crc(&l->record));
	l->dirty = true;
	l->stats.records++;
	l->stats.bytes += l->record.n;
	if (l->record.cap > RECORD_KEPT_BYTES)
		buf_free(&l->record);
	return OK;
}

enum err
commitlog_sync(struct commitlog *l, struct why *w)
{
	if (l->stats.broken)
		return still_broken(w);
	if (!l->dirty)
		return OK;
	enum err e = segment_sync(l, current(l), w);
	if (e == OK) {
		l->dirty = false;
		l->synced = l->group;
	}
	return e;
}

/* The oldest segment becomes the newest spare. */
static enum err
recycle(struct commitlog *l, struct why *w)
{
	struct segment s = l->segments[0];
	FREED(buf_free) struct buf from = BUF_INIT, to = BUF_INIT;
	uint64_t number = l->segments[l->n - 1].number + 1;

	segment_path(l, s.number, "", &from);
	segment_path(l, number, "", &to);
	enum err e = file_rename_new(from.p, to.p, w);
	if (e == OK) {
		forget_first(l);
		segment_add(l, number, s.fd, s.size);
		l->stats.recycled++;
		e = sync_dir(l, w);
	}
	return e;
}

static enum err
remove_first(struct commitlog *l, struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT;

	enum err e = file_remove(segment_path(l, l->segments[0].number, "",
	    &path), w);
	if (e == OK) {
		file_close(&l->segments[0].fd);
		forget_first(l);
		l->stats.removed++;
		e = sync_dir(l, w);
	}
	return e;
}

void
commitlog_release(struct commitlog *l, uint64_t group)
{
	struct why w = WHY_INIT;
	enum err e = OK;

	if (l->stats.broken)
		return;
	while (e == OK && l->begun > 1 && l->segments[0].last <= group) {
		bool wanted = l->n <= l->segments_min &&
		    l->segments[0].size == next_bytes(l);
		e = wanted ? recycle(l, &w) : remove_first(l, &w);
	}
	if (e != OK)
		log_warn("ledger.log", "releasing up to group %llu: %s",
		    (unsigned long long)group, w.text);
}

void
commitlog_close(struct commitlog **lp)
{
	struct commitlog *l = *lp;

	if (l == NULL)
		return;
	for (size_t i = 0; i < l->n; i++)
		file_close(&l->segments[i].fd);
	mem_free(&l->segments);
	mem_free(&l->dir);
	buf_free(&l->record);
	mem_free(lp);
}

uint64_t
commitlog_group(const struct commitlog *l)
{
	return l->group;
}

uint32_t
commitlog_chain(const struct commitlog *l)
{
	return l->chain;
}

size_t
commitlog_room(const struct commitlog *l)
{
	uint64_t most = 0;

	for (size_t i = l->begun == 0 ? 0 : l->begun - 1; i < l->n; i++)
		most = MAX(most, room_of(&l->segments[i]));
	return most < RECORD_HEAD_BYTES ? 0 :
	    (size_t)MIN(most - RECORD_HEAD_BYTES, COMMITLOG_BODY_BYTES_MAX);
}

void
commitlog_stats(const struct commitlog *l, struct commitlog_stats *out)
{
	*out = l->stats;
	out->spares = l->n - l->begun;
}
