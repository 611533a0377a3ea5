/*
 * A ledger that is made anew from WARC files: these are taken over as they
 * are, and what is gathered goes straight into the index.
 */
#include "engine/ledger/series.h"

uint32_t
ledger_adopt(struct ledger *l, const struct ledger_file *f)
{
	struct buf key = BUF_INIT, value = BUF_INIT;
	struct warc_record r = {
		.id = ledger_new_warc(l), .crawl = f->crawl,
		.state = f->open ? WARC_OPEN : WARC_CLOSED,
		.first = f->first, .end = f->end, .created = f->created,
		.dir = f->dir, .work_dir = f->work_dir, .name = f->name,
	};

	buf_put_be32(&key, r.id);
	warc_record_put(&r, ledger_paths(l), &value);
	ledger_put(l, INDEX_WARC, buf_str(&key), buf_str(&value));
	buf_free(&key);
	buf_free(&value);
	return r.id;
}

enum err
ledger_apply(struct ledger *l, struct why *w)
{
	struct group *g = ledger_gathering(l);
	struct index_batch *b = index_batch_new();

	CHECK(!ledger_options(l)->threads && g->writes_n == 0);
	enum err e = indexer_replay(ledger_index(l), b, buf_str(&g->body),
	    NULL, NULL, w);
	buf_clear(&g->body);
	g->fixups_n = 0;
	index_batch_free(&b);
	return e;
}
