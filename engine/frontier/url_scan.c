#include "engine/frontier/url_scan.h"

#include "engine/frontier/core.h"

static void
set_from(struct url_scan *s, uint32_t queue, uint32_t rank)
{
	url_key(s->crawl, queue, rank, STR(""), &s->from);
}

/* False at the end of what is scanned. */
static bool
read_row(struct url_scan *s, struct index_iter *i, struct str *key,
    struct url_row *u)
{
	if (!index_iter_valid(i, key, &u->value))
		return false;
	struct reader in = reader_of(*key);
	uint32_t crawl = read_be32(&in);
	u->queue = read_be32(&in);
	u->rank = read_be32(&in);
	u->url = (struct str){ in.p, in.n };
	return crawl == s->crawl && (s->queue == 0 || u->queue == s->queue);
}

static void
go_on(struct url_scan *s, struct index_iter *i, enum url_scan_next next,
    uint32_t queue)
{
	if (next == URL_SCAN_NEXT) {
		index_iter_next(i);
		return;
	}
	if (next == URL_SCAN_WAITING)
		set_from(s, queue, 1);
	else
		set_from(s, queue + 1, 0);
	index_iter_seek(i, buf_str(&s->from));
}

enum err
url_scan_piece(struct url_scan *s, struct index *x, unsigned looks_max,
    url_scan_fn *visit, void *arg, struct why *w)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_URL);
	struct url_row u = { 0 };
	struct str key;

	if (s->from.n == 0)
		set_from(s, s->queue, 0);
	index_iter_seek(i, buf_str(&s->from));
	for (unsigned looks = 0;; looks++) {
		s->ended = !read_row(s, i, &key, &u);
		if (s->ended || looks == looks_max)
			break;
		enum url_scan_next next = visit(arg, &u);
		if (next == URL_SCAN_PAUSE)
			break;
		go_on(s, i, next, u.queue);
	}
	if (!s->ended) {
		buf_clear(&s->from);
		buf_put_str(&s->from, key);
	}
	return index_iter_error(i, w);
}
