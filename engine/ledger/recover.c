/*
 * WARC files after a crash: each is cut to what was committed and closed; none
 * is ever appended to again (LEDGER.md, "Recovery" 5 and 6).
 */
#include "engine/ledger/series.h"
#include "os/file.h"
#include "os/log.h"
#include "wire/gzip.h"

/* Whole members behind the committed end must be of the group that was lost. */
static enum err
check_tail(const struct warc_record *r, int fd, const char *path,
    uint64_t size, uint64_t last_group, struct why *w)
{
	char bytes[GZIP_HEAD_BYTES];
	struct gzip_head h;
	size_t got;

	for (uint64_t at = r->end; at + sizeof(bytes) <= size;) {
		enum err e = file_read(fd, at, bytes, sizeof(bytes), &got, w);
		if (e != OK)
			return e;
		if (gzip_head_parse((struct str){ bytes, got }, &h) !=
		    GZIP_HEAD_OK || !h.has_numbers || !h.has_lengths ||
		    h.lengths.clen == 0)
			return OK;      /* torn: no whole member */
		if (h.group != last_group + 1)
			return why(w, ERR_CORRUPT, "%s holds a record of commit "
			    "group %llu, but the commit log ends at group %llu: "
			    "the log is older than the archive. Restore the "
			    "data directory that belongs to this archive, or "
			    "rebuild it with `argiope archive reindex`", path,
			    (unsigned long long)h.group,
			    (unsigned long long)last_group);
		at += h.lengths.clen;
	}
	return OK;
}

static enum err
cut_tail(struct ledger *l, struct warc_record *r, uint64_t last_group,
    struct why *w)
{
	struct arena a = ARENA_INIT;
	struct str path = warc_record_path(r, PATH_OPEN, &a);
	uint64_t size = 0;
	int fd = -1;

	(void)l;
	enum err e = file_open(path.p, FILE_WRITE, &fd, NULL);
	if (e == ERR_ABSENT) {
		/* Its closing may be all but recorded; closing_run() knows. */
		arena_free(&a);
		return OK;
	}
	if (e == OK)
		e = file_size(fd, &size, w);
	if (e == OK && size < r->end)
		e = why(w, ERR_CORRUPT, "%s has %llu bytes, but %llu were "
		    "committed: the archive is older than the data directory. "
		    "Restore the file, or remove the data directory and run "
		    "`argiope archive reindex`", path.p,
		    (unsigned long long)size, (unsigned long long)r->end);
	if (e == OK && size > r->end) {
		e = check_tail(r, fd, path.p, size, last_group, w);
		if (e == OK)
			e = file_cut(fd, r->end, w);
		if (e == OK)
			e = file_sync(fd, w);
		if (e == OK)
			log_info("ledger.cut", "file=%s bytes=%llu", path.p,
			    (unsigned long long)(size - r->end));
	} else if (e != OK) {
		e = why(w, e, "cannot open %s: %s", path.p, err_text(e));
	}
	file_close(&fd);
	arena_free(&a);
	return e;
}

static enum err
finish_file(struct ledger *l, struct index *x, struct index_batch *b,
    const struct warc_record *r, struct why *w)
{
	struct closing *c = closing_new(l, r, -1);
	struct buf key = BUF_INIT, value = BUF_INIT;

	closing_run(c);
	enum err e = c->result.err == OK ? OK : why(w, c->result.err, "%s",
	    c->result.text);
	if (e == OK) {
		buf_put_be32(&key, c->record.id);
		warc_record_put(&c->record, &value);
		index_put(x, b, INDEX_WARC, buf_str(&key), buf_str(&value));
		e = index_write(x, b, w);
	}
	buf_free(&key);
	buf_free(&value);
	closing_free(&c);
	return e;
}

/*
 * The records written here are only in the index's memory; if they are lost
 * too, the next start does the same work again and finds it done.
 */
enum err
ledger_recover_warcs(struct ledger *l, struct index *x, uint64_t last_group,
    struct why *w)
{
	struct arena a = ARENA_INIT;
	struct index_iter *i = index_iter_new(x, INDEX_WARC);
	struct index_batch *b = index_batch_new();
	struct str key, value;
	enum err e = OK;

	for (index_iter_seek(i, STR("")); e == OK &&
	    index_iter_valid(i, &key, &value); index_iter_next(i)) {
		struct warc_record r;
		struct reader in = reader_of(key);
		if (!warc_record_parse(arena_copy(&a, value), &r)) {
			e = why(w, ERR_CORRUPT, "a WARC's record in the index "
			    "is damaged");
			break;
		}
		r.id = read_be32(&in);
		ledger_warc_seen(l, r.id);
		if (r.state != WARC_OPEN && r.state != WARC_CLOSING)
			continue;
		e = cut_tail(l, &r, last_group, w);
		if (e == OK)
			e = finish_file(l, x, b, &r, w);
	}
	if (e == OK)
		e = index_iter_error(i, w);
	index_iter_free(&i);
	index_batch_free(&b);
	arena_free(&a);
	return e;
}

enum err
ledger_warc_path(struct index *x, uint32_t file, struct arena *a,
    struct str *path, struct why *w)
{
	struct buf key = BUF_INIT;
	struct warc_record r;
	struct str value;

	buf_put_be32(&key, file);
	enum err e = index_get(x, INDEX_WARC, buf_str(&key), a, &value, w);
	buf_free(&key);
	if (e != OK)
		return e;
	if (!warc_record_parse(value, &r))
		return why(w, ERR_CORRUPT, "the record of WARC %u is damaged",
		    file);
	*path = warc_record_path(&r, r.state == WARC_OPEN ? PATH_OPEN :
	    PATH_DONE, a);
	return OK;
}
