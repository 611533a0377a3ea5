#include "engine/frontier/failed_urls.h"
#include "engine/frontier/submission.h"
#include "engine/frontier/url_key.h"

/* The record of a URL that is done. */
static void
consider(struct failures *f, struct str url, struct str value)
{
	struct url_value v;

	if (!url_value_parse(value, &v) ||
	    (enum outcome)(v.why >> 4) != OUTCOME_EXCEPTION)
		return;
	if (f->all++ >= f->start && f->urls_n < f->urls_max)
		f->urls[f->urls_n++] = arena_copy(f->arena, url);
}

/*
 * In each queue, the URLs that are done (rank 0) come before those that wait,
 * which are passed over.
 */
void
failures_read(struct failures *f, struct index *x)
{
	struct index_iter *i = index_iter_new(x, INDEX_URL);
	struct str key, value;
	unsigned looks = 0;

	if (f->from.n == 0)
		buf_put_be32(&f->from, f->crawl);
	index_iter_seek(i, buf_str(&f->from));
	for (;;) {
		struct reader in = reader_of(STR_NONE);
		f->ended = !index_iter_valid(i, &key, &value);
		if (!f->ended) {
			in = reader_of(key);
			f->ended = read_be32(&in) != f->crawl;
		}
		if (f->ended || looks++ == FAILURES_LOOKS_MAX)
			break;
		uint32_t queue = read_be32(&in), rank = read_be32(&in);
		if (rank == 0) {
			if (queue != QUEUE_SKIPPED)
				consider(f, (struct str){ in.p, in.n }, value);
			index_iter_next(i);
			continue;
		}
		buf_clear(&f->from);
		url_key(f->crawl, queue + 1, 0, STR(""), &f->from);
		index_iter_seek(i, buf_str(&f->from));
	}
	buf_clear(&f->from);
	if (!f->ended)
		buf_put_str(&f->from, key);
	index_iter_free(&i);
	if (f->ended)
		buf_free(&f->from);
}
