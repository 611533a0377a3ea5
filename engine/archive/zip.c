#include "engine/archive/zip.h"

#include <libdeflate.h>

#include "base/arena.h"
#include "os/file.h"

#define WRITE_BYTES ((size_t)1 << 20)
#define NAME_MAX_BYTES 1024
#define DOS_DATE 0x0021       /* 1980-01-01 */
#define FLAG_UTF8 0x0800
#define FLAG_DESCRIPTOR 0x0008
#define SMALL_MAX UINT64_C(0xfffffffe)

enum { VERSION = 20, VERSION_64 = 45, MADE_BY_UNIX = 3 << 8 };

struct entry {
	struct str name;
	uint64_t at, size;
	uint32_t crc;
	bool big;
};

struct zip_writer {
	int fd;                   /* -1: `sink` takes it */
	zip_sink *sink;
	void *sink_arg;
	uint64_t at;              /* of the buffer's first byte */
	struct buf buf;
	struct arena names;
	struct entry *entries;
	size_t n, cap;
	bool open;
};

static void
put16(struct buf *b, unsigned v)
{
	buf_put_char(b, (char)(v & 0xff));
	buf_put_char(b, (char)(v >> 8 & 0xff));
}

static void
put32(struct buf *b, uint64_t v)
{
	put16(b, (unsigned)(v & 0xffff));
	put16(b, (unsigned)(v >> 16 & 0xffff));
}

static void
put64(struct buf *b, uint64_t v)
{
	put32(b, v & 0xffffffff);
	put32(b, v >> 32);
}

enum err
zip_open(const char *path, struct zip_writer **out, struct why *w)
{
	struct zip_writer *z = mem_new(sizeof(*z));
	enum err err = file_open(path, FILE_CREATE, &z->fd, w);

	if (err == OK)
		err = file_cut(z->fd, 0, w);
	if (err != OK) {
		zip_abandon(&z);
		return err;
	}
	*out = z;
	return OK;
}

struct zip_writer *
zip_open_sink(zip_sink *put, void *arg)
{
	struct zip_writer *z = mem_new(sizeof(*z));

	z->fd = -1;
	z->sink = put;
	z->sink_arg = arg;
	return z;
}

void
zip_abandon(struct zip_writer **zp)
{
	struct zip_writer *z = *zp;

	if (z == NULL)
		return;
	file_close(&z->fd);
	buf_free(&z->buf);
	arena_free(&z->names);
	mem_free(&z->entries);
	mem_free(zp);
}

static enum err
flush(struct zip_writer *z, size_t above, struct why *w)
{
	if (z->buf.n <= above)
		return OK;
	enum err err = z->sink != NULL ? z->sink(z->sink_arg, buf_str(&z->buf),
	    w) : file_write(z->fd, z->at, z->buf.p, z->buf.n, w);
	z->at += z->buf.n;
	buf_clear(&z->buf);
	return err;
}

static unsigned
flags_of(const struct zip_writer *z)
{
	return FLAG_UTF8 | (z->sink != NULL ? FLAG_DESCRIPTOR : 0);
}

/* Packed and unpacked; what is stored has one size. */
static void
put_sizes(struct buf *b, const struct entry *e)
{
	if (e->big) {
		put64(b, e->size);
		put64(b, e->size);
	} else {
		put32(b, e->size);
		put32(b, e->size);
	}
}

/*
 * What the local and the central head have in common (APPNOTE §4.4); sizes of
 * big entries are in the extra field (§4.5.3).
 */
static void
put_facts(struct buf *b, const struct zip_writer *z, const struct entry *e,
    unsigned version, unsigned extra)
{
	put16(b, version);
	put16(b, flags_of(z));
	put16(b, 0);
	put16(b, 0);
	put16(b, DOS_DATE);
	put32(b, e->crc);
	put32(b, e->big ? 0xffffffff : e->size);
	put32(b, e->big ? 0xffffffff : e->size);
	put16(b, (unsigned)e->name.n);
	put16(b, extra > 0 ? extra + 4 : 0);
}

/* APPNOTE §4.3.7. */
static void
put_local(struct buf *b, const struct zip_writer *z, const struct entry *e)
{
	put32(b, 0x04034b50);
	put_facts(b, z, e, e->big ? VERSION_64 : VERSION, e->big ? 16 : 0);
	buf_put_str(b, e->name);
	if (e->big) {
		put16(b, 1);
		put16(b, 16);
		put_sizes(b, e);
	}
}

enum err
zip_begin(struct zip_writer *z, struct str name, bool big, struct why *w)
{
	CHECK(!z->open);
	if (z->n == ZIP_ENTRIES_MAX || name.n > NAME_MAX_BYTES)
		return why(w, ERR_FULL, "too many or too long names in a zip");
	z->entries = mem_room(z->entries, z->n, &z->cap, 16,
	    sizeof(*z->entries));
	struct entry *e = &z->entries[z->n++];
	*e = (struct entry){ .name = arena_copy(&z->names, name),
		.at = z->at + z->buf.n, .big = big };
	put_local(&z->buf, z, e);
	z->open = true;
	return OK;
}

enum err
zip_put(struct zip_writer *z, struct str s, struct why *w)
{
	CHECK(z->open);
	struct entry *e = &z->entries[z->n - 1];

	e->crc = libdeflate_crc32(e->crc, s.p, s.n);
	e->size += s.n;
	if (!e->big && e->size > SMALL_MAX)
		return why(w, ERR_FULL, "an entry of more than 4 GiB");
	buf_put_str(&z->buf, s);
	return flush(z, WRITE_BYTES, w);
}

/* APPNOTE §4.3.9: sizes of 8 bytes where the head has a zip64 field. */
static void
put_descriptor(struct buf *b, const struct entry *e)
{
	put32(b, 0x08074b50);
	put32(b, e->crc);
	put_sizes(b, e);
}

enum err
zip_end(struct zip_writer *z, struct why *w)
{
	struct entry *e = &z->entries[z->n - 1];
	FREED(buf_free) struct buf head = BUF_INIT;

	CHECK(z->open);
	z->open = false;
	if (z->sink != NULL) {
		put_descriptor(&z->buf, e);
		return flush(z, WRITE_BYTES, w);
	}
	enum err err = flush(z, 0, w);
	put_local(&head, z, e);
	return err == OK ? file_write(z->fd, e->at, head.p, head.n, w) : err;
}

/* APPNOTE §4.3.12. */
static void
put_central(struct buf *b, const struct zip_writer *z, const struct entry *e)
{
	bool far = e->at > SMALL_MAX;
	unsigned extra = (e->big ? 16 : 0) + (far ? 8 : 0);
	unsigned version = extra > 0 ? VERSION_64 : VERSION;

	put32(b, 0x02014b50);
	put16(b, MADE_BY_UNIX | version);
	put_facts(b, z, e, version, extra);
	put16(b, 0);
	put16(b, 0);
	put16(b, 0);
	put32(b, (uint64_t)0100644 << 16);
	put32(b, far ? 0xffffffff : e->at);
	buf_put_str(b, e->name);
	if (extra == 0)
		return;
	put16(b, 1);
	put16(b, extra);
	if (e->big)
		put_sizes(b, e);
	if (far)
		put64(b, e->at);
}

/* APPNOTE §4.3.14 to 4.3.16. */
static void
put_end(struct buf *b, size_t n, uint64_t at, uint64_t size)
{
	if (n > 0xfffe || at > SMALL_MAX || size > SMALL_MAX) {
		put32(b, 0x06064b50);
		put64(b, 44);
		put16(b, MADE_BY_UNIX | VERSION_64);
		put16(b, VERSION_64);
		put32(b, 0);
		put32(b, 0);
		put64(b, n);
		put64(b, n);
		put64(b, size);
		put64(b, at);
		put32(b, 0x07064b50);
		put32(b, 0);
		put64(b, at + size);
		put32(b, 1);
	}
	put32(b, 0x06054b50);
	put16(b, 0);
	put16(b, 0);
	put16(b, (unsigned)MIN(n, 0xffff));
	put16(b, (unsigned)MIN(n, 0xffff));
	put32(b, MIN(size, 0xffffffff));
	put32(b, MIN(at, 0xffffffff));
	put16(b, 0);
}

enum err
zip_close(struct zip_writer **zp, struct why *w)
{
	struct zip_writer *z = *zp;
	enum err err = OK;
	uint64_t start = z->at + z->buf.n;

	CHECK(!z->open);
	for (size_t i = 0; i < z->n && err == OK; i++) {
		put_central(&z->buf, z, &z->entries[i]);
		err = flush(z, WRITE_BYTES, w);
	}
	put_end(&z->buf, z->n, start, z->at + z->buf.n - start);
	if (err == OK)
		err = flush(z, 0, w);
	if (err == OK && z->sink == NULL)
		err = file_sync(z->fd, w);
	zip_abandon(zp);
	return err;
}
