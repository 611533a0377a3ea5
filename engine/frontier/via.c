#include "engine/frontier/core.h"
#include "engine/frontier/journal.h"
#include "engine/frontier/serve.h"

static struct via_slot *
slot_of(struct via_memory *m, uint32_t crawl, uint64_t seq)
{
	return &m->slots[(seq + crawl) % VIA_SLOTS];
}

static bool
is_missing(const struct lease *l)
{
	return l->via_seq != 0 && l->via.n == 0;
}

void
via_free(struct via_memory *m)
{
	for (size_t i = 0; i < VIA_SLOTS; i++)
		buf_free(&m->slots[i].url);
}

void
via_put(struct via_memory *m, uint32_t crawl, uint64_t seq, struct str url)
{
	struct via_slot *s = slot_of(m, crawl, seq);

	if (url.n > VIA_BYTES_MAX)
		return;
	s->crawl = crawl;
	s->seq = seq;
	buf_clear(&s->url);
	buf_put_str(&s->url, url);
}

bool
via_find(struct via_memory *m, struct serve *s)
{
	const struct lease *before = NULL;
	bool all = true;

	for (size_t i = 0; i < s->n; i++) {
		struct lease *l = &s->leases[i];
		const struct via_slot *v = slot_of(m, s->crawl, l->via_seq);
		/* Links of one page wait side by side. */
		if (before != NULL && before->via_seq == l->via_seq)
			l->via = before->via;
		else if (v->seq == l->via_seq && v->crawl == s->crawl)
			l->via = arena_copy(&s->arena, buf_str(&v->url));
		all = all && !is_missing(l);
		before = l;
	}
	return all;
}

void
via_read(struct serve *s, struct index *x)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf key = BUF_INIT;
	uint64_t seq = 0;
	struct str url = STR_NONE;

	for (size_t i = 0; i < s->n; i++) {
		struct lease *l = &s->leases[i];
		struct journal_entry e;
		struct str value;
		if (!is_missing(l))
			continue;
		if (l->via_seq != seq) {
			seq = l->via_seq;
			url = STR_NONE;
			journal_key(s->crawl, seq, &key);
			arena_reset(&a);
			if (index_get(x, INDEX_JOURNAL, buf_str(&key), &a,
			    &value, NULL) == OK &&
			    journal_parse(buf_str(&key), value, &e))
				url = arena_copy(&s->arena,
				    seq < JOURNAL_FAILED ? e.url : e.via);
		}
		l->via = url;
	}
}

void
via_learn(struct via_memory *m, const struct serve *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct lease *l = &s->leases[i];
		if (l->via.n > 0 && (i == 0 || l[-1].via_seq != l->via_seq))
			via_put(m, s->crawl, l->via_seq, l->via);
	}
}
