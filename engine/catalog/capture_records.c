/*
 * All records of one capture.  The journal knows where the final answer's
 * stands; those of redirects stand before it, behind what was written earlier.
 *
 *     ... [capture 6] [7: hop 0, request, hop 1, request] [capture 8] ...
 *          ▲ journal                        ▲ journal
 */
#include "engine/catalog/capture_records.h"

#include "engine/archive/archive.h"
#include "engine/archive/archive_port.h"
#include "engine/ledger/ledger.h"

/* Entries looked back at for one in the same file. */
#define BACK_MAX 100u
/* Members walked over before the capture's own. */
#define WALK_MAX 200000u

/* Where to begin walking: at an earlier capture's record in that file. */
static uint64_t
place_before(struct record_reader *r, const struct journal_entry *e)
{
	FREED(buf_free) struct buf at = BUF_INIT;
	struct journal_entry other;
	struct str key, value;
	uint64_t place = 0;

	journal_key(e->crawl, e->seq, &at);
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(r->index, INDEX_JOURNAL);
	index_iter_seek_last(i, buf_str(&at));
	for (unsigned n = 0; n < BACK_MAX && index_iter_valid(i, &key,
	    &value); n++, index_iter_prev(i)) {
		if (!journal_parse(key, value, &other) ||
		    other.crawl != e->crawl)
			break;
		if (other.seq != e->seq && other.file == e->file &&
		    other.offset < e->offset) {
			place = other.offset;
			break;
		}
	}
	return place;
}

/* The head of the member at `at`; false when none of ours begins there. */
static bool
read_head(int fd, uint64_t at, struct gzip_head *head)
{
	char bytes[GZIP_HEAD_BYTES];
	size_t got;

	return archive_port()->read_at(fd, at, bytes, sizeof(bytes), &got,
	    NULL) == OK &&
	    gzip_head_parse((struct str){ bytes, got }, head) ==
	    GZIP_HEAD_OK && head->has_lengths && head->lengths.clen > 0;
}

enum err
capture_records(struct record_reader *r, const struct journal_entry *e,
    struct arena *a, struct capture_members *out, struct why *w)
{
	uint64_t at = e->hops == 0 ? e->offset : place_before(r, e);
	struct gzip_head head;
	struct str path;
	bool final = false;

	out->n = 0;
	enum err err = ledger_warc_path(r->index, e->file, a, &path, w);
	if (err == OK)
		err = record_reader_file(r, e->file, &out->fd, w);
	if (err != OK)
		return err;
	out->file = archive_final_name(archive_base_name(path));
	for (unsigned i = 0; i < WALK_MAX && out->n < CAPTURE_MEMBERS_MAX - 1 &&
	    read_head(out->fd, at, &head); i++) {
		bool ours = head.has_numbers && head.seq == e->seq;
		if (ours)
			out->at[out->n++] = (struct capture_member){ at,
			    head.lengths.clen };
		else if (at > e->offset)
			break;
		final |= ours && at == e->offset;
		at += head.lengths.clen;
	}
	if (!final) {
		out->n = 1;
		out->at[0] = (struct capture_member){ e->offset, e->clen };
	}
	return OK;
}
