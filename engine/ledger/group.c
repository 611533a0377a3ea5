#include "engine/ledger/group.h"

struct group *
group_new(struct ledger *l)
{
	struct group *g = mem_new(sizeof(*g));

	g->ledger = l;
	g->last = &g->first;
	return g;
}

void
group_clear(struct group *g)
{
	CHECK(g->first == NULL);
	buf_clear(&g->body);
	buf_clear(&g->unlogged);
	for (size_t i = 0; i < g->writes_n; i++) {
		buf_clear(&g->writes[i].bytes);
		buf_clear(&g->writes[i].cdxj);
	}
	g->writes_n = g->fixups_n = g->bytes = g->note_bytes = 0;
	g->promises_n = g->durable_n = 0;
	g->lazy = g->hurry = false;
	g->checkpoint = 0;
	g->chain = g->checkpoint_chain = 0;
	g->marks = NULL;
	g->failed_file = 0;
	g->result = WHY_INIT;
	arena_reset(&g->arena);
}

void
group_free(struct group **gp)
{
	struct group *g = *gp;

	if (g == NULL)
		return;
	buf_free(&g->body);
	buf_free(&g->unlogged);
	for (size_t i = 0; i < g->writes_cap; i++) {
		buf_free(&g->writes[i].bytes);
		buf_free(&g->writes[i].cdxj);
	}
	mem_free(&g->writes);
	mem_free(&g->fixups);
	arena_free(&g->arena);
	mem_free(gp);
}

void
group_put_op(struct buf *b, enum op op, uint8_t kind, struct str one)
{
	buf_put_char(b, (char)op);
	buf_put_char(b, (char)kind);
	buf_put_field(b, one);
}

struct warc_write *
group_find(const struct group *g, uint32_t file)
{
	for (size_t i = g->writes_n; i-- > 0;)
		if (g->writes[i].file == file)
			return &g->writes[i];
	return NULL;
}

struct warc_write *
group_write(struct group *g, uint32_t file)
{
	struct warc_write *found = group_find(g, file);

	if (found != NULL)
		return found;
	if (g->writes_n == g->writes_cap) {
		size_t cap = g->writes_cap == 0 ? 4 : g->writes_cap * 2;
		g->writes = mem_resize(g->writes, cap, sizeof(*g->writes));
		memset(g->writes + g->writes_cap, 0,
		    (cap - g->writes_cap) * sizeof(*g->writes));
		g->writes_cap = cap;
	}
	struct warc_write *w = &g->writes[g->writes_n++];
	/* The buffers stay with the slot: their memory is used again. */
	*w = (struct warc_write){ .file = file, .bytes = w->bytes,
	    .cdxj = w->cdxj };
	return w;
}

void
group_add_rest(struct group *g, struct warc_write *w, size_t behind,
    const struct archive_extent *part)
{
	struct warc_rest **end = &w->rests;

	while (*end != NULL)
		end = &(*end)->next;
	*end = ARENA_NEW(&g->arena, struct warc_rest);
	**end = (struct warc_rest){ .behind = behind, .part = *part };
}

uint64_t
warc_write_size(const struct warc_write *w)
{
	uint64_t n = w->bytes.n;

	for (const struct warc_rest *r = w->rests; r != NULL; r = r->next)
		n += r->part.n;
	return n;
}

void
group_fixup(struct group *g, struct fixup f)
{
	g->fixups = mem_room(g->fixups, g->fixups_n, &g->fixups_cap, 64,
	    sizeof(*g->fixups));
	g->fixups[g->fixups_n++] = f;
}

void
group_move_places(struct group *g, uint32_t file, uint64_t from, uint32_t to,
    uint64_t at)
{
	FREED(buf_free) struct buf place = BUF_INIT;

	for (size_t i = 0; i < g->fixups_n; i++) {
		struct fixup *f = &g->fixups[i];
		if (f->file != file)
			continue;
		struct reader in = reader_of(str_from(buf_str(&g->body),
		    f->at + sizeof(uint32_t)));
		uint64_t offset = read_be48(&in);
		CHECK(!in.bad && offset >= from);
		buf_clear(&place);
		buf_put_be32(&place, to);
		buf_put_be48(&place, offset - from + at);
		memcpy(g->body.p + f->at, place.p, place.n);
		f->file = to;
	}
}

void
warc_record_put(const struct warc_record *r, const struct stored_paths *p,
    struct buf *out)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	buf_put_char(out, (char)r->state);
	buf_put_be32(out, r->crawl);
	buf_put_be64(out, r->end);
	buf_put_be64(out, r->first);
	buf_put_be64(out, (uint64_t)r->created.us);
	buf_put_field(out, paths_store(p, r->dir, &a));
	buf_put_field(out, paths_store(p, r->work_dir, &a));
	buf_put_field(out, r->name);
	if (r->owner != WARC_OF_CRAWL || r->digest != DIGEST_NONE) {
		buf_put_char(out, (char)r->owner);
		buf_put_char(out, (char)r->digest);
	}
}

bool
warc_record_parse(struct str value, const struct stored_paths *p,
    struct arena *a, struct warc_record *r)
{
	struct reader in = reader_of(value);

	r->state = read_u8(&in);
	r->crawl = read_be32(&in);
	r->end = read_be64(&in);
	r->first = read_be64(&in);
	r->created.us = (int64_t)read_be64(&in);
	r->dir = paths_resolve(p, read_field(&in), a);
	r->work_dir = paths_resolve(p, read_field(&in), a);
	r->name = read_field(&in);
	bool more = !in.bad && in.n > 0;
	r->owner = more ? read_u8(&in) : WARC_OF_CRAWL;
	r->digest = more ? read_u8(&in) : DIGEST_NONE;
	return !in.bad && r->owner < WARC_OWNERS;
}

struct str
warc_record_path(const struct warc_record *r, enum warc_path which,
    struct arena *a)
{
	static const char *const endings[] = { ".open", "", ".cdxj.open",
	    ".cdxj" };
	struct str dir = which == PATH_OPEN || which == PATH_OPEN_CDXJ ?
	    r->work_dir : r->dir;

	return arena_printf(a, "%.*s/%.*s%s", STR_FMT(dir), STR_FMT(r->name),
	    endings[which]);
}
