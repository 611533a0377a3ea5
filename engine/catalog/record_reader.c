#include "engine/catalog/record_reader.h"

#include "engine/archive/archive_port.h"
#include "engine/ledger/ledger.h"

struct record_reader *
record_reader_new(struct index *index)
{
	struct record_reader *r = mem_new(sizeof(*r));

	r->index = index;
	r->own = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	r->source = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	for (size_t i = 0; i < RECORD_READER_FILES; i++)
		r->files[i].fd = -1;
	return r;
}

static void
free_scratch(struct record_reader *r)
{
	buf_free(&r->body);
	buf_free(&r->text);
	buf_free(&r->key);
	buf_free(&r->rows);
	arena_free(&r->heads);
}

void
record_reader_free(struct record_reader **rp)
{
	struct record_reader *r = *rp;

	if (r == NULL)
		return;
	capture_reader_free(&r->own);
	capture_reader_free(&r->source);
	for (size_t i = 0; i < RECORD_READER_FILES; i++)
		archive_port()->close(&r->files[i].fd);
	free_scratch(r);
	mem_free(rp);
}

bool
record_reader_trim(struct record_reader *r)
{
	bool any = r->body.cap + r->text.cap + r->key.cap + r->rows.cap > 0;

	for (size_t i = 0; i < RECORD_READER_FILES; i++) {
		any |= r->files[i].fd >= 0;
		if (r->files[i].used == 0)
			archive_port()->close(&r->files[i].fd);
		r->files[i].used = 0;
	}
	r->tick = 0;
	free_scratch(r);
	return any;
}

/* --- files -------------------------------------------------------------- */

enum err
record_reader_file(struct record_reader *r, uint32_t id, int *fd, struct why *w)
{
	struct record_file *oldest = &r->files[0];

	for (size_t i = 0; i < RECORD_READER_FILES; i++) {
		struct record_file *f = &r->files[i];
		if (f->fd >= 0 && f->id == id) {
			f->used = ++r->tick;
			*fd = f->fd;
			return OK;
		}
		if (oldest->fd >= 0 && (f->fd < 0 || f->used < oldest->used))
			oldest = f;
	}
	archive_port()->close(&oldest->fd);
	enum err e = ledger_warc_open(r->index, id, &oldest->fd, w);
	if (e != OK)
		return e;
	oldest->id = id;
	oldest->used = ++r->tick;
	*fd = oldest->fd;
	return OK;
}

/* --- one capture -------------------------------------------------------- */

static enum err
read_at(struct record_reader *r, struct capture_reader *c, uint32_t file,
    uint64_t offset, uint32_t clen, uint32_t ulen, struct capture *out,
    struct why *w)
{
	int fd;
	enum err e = record_reader_file(r, file, &fd, w);

	return e != OK ? e :
	    capture_read(c, fd, offset, clen, ulen, out, w);
}

enum err
record_reader_heads(struct record_reader *r, const struct journal_entry *e,
    struct capture *out, struct why *w)
{
	int fd;

	/* Some entries do not know where their body begins. */
	if (e->body_at == 0)
		return read_at(r, r->own, e->file, e->offset, e->clen, e->ulen,
		    out, w);
	enum err err = record_reader_file(r, e->file, &fd, w);
	return err != OK ? err : capture_read_heads(r->own, fd, e->offset,
	    e->clen, e->body_at, out, w);
}

/* A revisit of a 304 answer has no body; others have that of the original. */
enum err
record_reader_read(struct record_reader *r, const struct journal_entry *e,
    struct capture *c, struct why *w)
{
	struct capture source;

	enum err err = read_at(r, r->own, e->file, e->offset, e->clen,
	    e->ulen, c, w);
	if (err != OK || !(e->flags & JOURNAL_SOURCED))
		return err;
	err = read_at(r, r->source, e->source.file, e->source.offset,
	    e->source.clen, e->source.ulen, &source, w);
	c->body = err == OK ? source.body : STR_NONE;
	return err;
}

/* --- the journal -------------------------------------------------------- */

enum err
record_reader_entry(struct record_reader *r, uint32_t crawl, uint64_t number,
    struct arena *a, struct journal_entry *out, struct why *w)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct why inner = WHY_INIT;
	struct str value;

	journal_key(crawl, number, &key);
	enum err e = index_get(r->index, INDEX_JOURNAL, buf_str(&key), a,
	    &value, &inner);
	if (e == ERR_ABSENT)
		why(w, e, "crawl %u has no page %llu", crawl,
		    (unsigned long long)number);
	else if (e != OK)
		why(w, e, "%s", inner.text);
	else if (!journal_parse(buf_str(&key), value, out))
		e = why(w, ERR_CORRUPT, "the entry of page %llu is damaged",
		    (unsigned long long)number);
	return e;
}
