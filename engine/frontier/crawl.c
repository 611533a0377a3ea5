/* Crawls in memory, and their records. */
#include "engine/archive/archive.h"
#include "engine/frontier/error_summary.h"
#include "engine/frontier/near_dup.h"
#include "engine/frontier/queue.h"

struct crawl *
crawl_get(const struct frontier *f, uint32_t id)
{
	return map_get_id(&f->crawls, id);
}

struct crawl *
crawl_make(struct frontier *f, uint32_t id)
{
	struct crawl *c = crawl_get(f, id);

	if (c != NULL)
		return c;
	c = mem_new(sizeof(*c));
	c->frontier = f;
	c->id = c->view.id = id;
	c->next_queue = QUEUE_SKIPPED + 1;
	c->next_seq = 1;
	c->next_log = 1;
	crawl_log_shown(c);
	list_init(&c->dirty_node);
	list_init(&c->changed_node);
	list_init(&c->deleted_node);
	list_init(&c->starved);
	map_put_id(&f->crawls, id, c);
	f->next_crawl = MAX(f->next_crawl, id + 1);
	return c;
}

void
crawl_free(struct crawl **cp)
{
	struct crawl *c = *cp;

	MAP_EACH(q, &c->queues, struct queue) {
		queue_free(&q);
	}
	map_free(&c->queues);
	map_free(&c->queues_by_id);
	near_dup_free(&c->near);
	error_summary_free(&c->problems);
	loop_timer_stop(c->frontier->loop, &c->deadline);
	list_take(&c->deleted_node);
	arena_free(&c->keys);
	arena_free(&c->arena);
	mem_free(cp);
}

static void
put_counts(struct buf *out, const struct crawl_counts *n)
{
	const uint64_t *words = (const uint64_t *)(const void *)n;

	for (size_t i = 0; i < sizeof(*n) / sizeof(*words); i++)
		buf_put_varint(out, words[i]);
}

void
crawl_note_bytes(const struct crawl *c, struct buf *out)
{
	buf_clear(out);
	buf_put_be32(out, c->id);
	buf_put_char(out, (char)c->view.kind);
	buf_put_char(out, (char)c->view.state);
	buf_put_field(out, str_of(c->view.reason));
	buf_put_be64(out, (uint64_t)c->view.created.us);
	buf_put_be64(out, (uint64_t)c->view.ended.us);
	buf_put_be32(out, c->next_queue);
	buf_put_varint(out, c->next_seq);
	buf_put_varint(out, c->next_log);
	buf_put_varint(out, c->max_items);
	buf_put_varint(out, c->host_urls_max);
	FREED(arena_free) struct arena a = ARENA_INIT;
	buf_put_field(out, c->name);
	buf_put_field(out, paths_store(ledger_paths(c->frontier->ledger),
	    c->warc_dir, &a));
	put_counts(out, &c->view.counts);
	buf_put_be64(out, (uint64_t)c->view.started.us);
	buf_put_varint(out, (uint64_t)c->duration_ms_max);
	buf_put_varint(out, c->sitemaps);
	buf_put_varint(out, c->view.sitemap_bytes);
	buf_put_varint(out, c->warc_bytes_max);
}

bool
crawl_from_note(struct frontier *f, struct str note)
{
	struct reader in = reader_of(note);
	struct crawl *c = crawl_make(f, read_be32(&in));

	c->view.kind = read_u8(&in);
	c->view.state = read_u8(&in);
	struct str reason = read_field(&in);
	snprintf(c->view.reason, sizeof(c->view.reason), "%.*s",
	    STR_FMT(reason));
	c->view.created.us = (int64_t)read_be64(&in);
	c->view.ended.us = (int64_t)read_be64(&in);
	c->next_queue = read_be32(&in);
	c->view.queues = c->next_queue - 1 - QUEUE_SKIPPED;
	c->next_seq = read_varint(&in);
	c->view.item_last = c->next_seq - 1;
	c->next_log = read_varint(&in);
	c->max_items = read_varint(&in);
	c->host_urls_max = read_varint(&in);
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str name = read_field(&in);
	struct str dir = paths_resolve(ledger_paths(f->ledger),
	    read_field(&in), &a);
	arena_room(&c->arena, name.n + 1 + dir.n + 1);
	if (!str_eq(name, c->name))
		c->name = arena_copy(&c->arena, name);
	if (!str_eq(dir, c->warc_dir))
		c->warc_dir = arena_copy(&c->arena, dir);
	uint64_t before = c->view.counts.warc_bytes;
	uint64_t *words = (uint64_t *)(void *)&c->view.counts;
	for (size_t i = 0; i < sizeof(c->view.counts) / sizeof(*words); i++)
		words[i] = read_varint(&in);
	uint64_t written = c->view.counts.warc_bytes;
	c->view.counts.warc_bytes = before;
	bytes_limit_set(c, written);
	c->view.started = c->view.created;
	/* Notes of earlier versions end here. */
	if (in.n > 0) {
		c->view.started.us = (int64_t)read_be64(&in);
		c->duration_ms_max = (int64_t)read_varint(&in);
	}
	if (in.n > 0) {
		c->sitemaps = read_varint(&in);
		c->view.sitemap_bytes = read_varint(&in);
	}
	if (in.n > 0)
		c->warc_bytes_max = read_varint(&in);
	crawl_log_shown(c);
	c->view.counts.leased = 0;
	/* State only in the log must reach the index before the log goes. */
	if (!f->loading && list_empty(&c->changed_node))
		list_put(&f->changed_crawls, &c->changed_node);
	if (!in.bad && c->view.state < CRAWL_STATE_COUNT && c->name.n != 0)
		map_put(&f->names, c->name, c);
	return !in.bad && c->view.state < CRAWL_STATE_COUNT;
}

void
crawl_prefix(const struct crawl *c, char out[static CRAWL_PREFIX_MAX])
{
	struct str own = archive_base_name(c->warc_dir);

	if (c->view.kind == CRAWL_HARVEST && own.n > 0 &&
	    own.n < CRAWL_PREFIX_MAX)
		snprintf(out, CRAWL_PREFIX_MAX, "%.*s", STR_FMT(own));
	else
		snprintf(out, CRAWL_PREFIX_MAX, "crawl-%u", c->id);
}

void
frontier_end_file(struct frontier *f, uint32_t id)
{
	struct crawl *c = crawl_get(f, id);

	if (c != NULL)
		ledger_series_close(f->ledger, &c->series);
}

/* --- changes ------------------------------------------------------------ */

void
crawl_touch(struct crawl *c)
{
	struct frontier *f = c->frontier;

	if (!c->dirty) {
		c->dirty = true;
		list_put(&f->dirty_crawls, &c->dirty_node);
	}
}

/* --- beginning ---------------------------------------------------------- */

void
crawl_put_part(struct frontier *f, uint32_t id, char part, struct str value)
{
	crawl_key(id, part, &f->key);
	ledger_put(f->ledger, INDEX_CRAWL, buf_str(&f->key), value);
}

struct crawl *
crawl_begin(struct frontier *f, uint32_t id, const struct crawl_spec *spec,
    struct wall created)
{
	struct crawl *c = crawl_make(f, id);

	c->loaded = true;
	c->view.kind = spec->kind;
	c->view.state = CRAWL_PENDING;
	c->view.created = created;
	c->max_items = spec->max_items;
	c->warc_bytes_max = spec->warc_bytes_max;
	c->host_urls_max = spec->host_urls_max;
	c->duration_ms_max = spec->duration_ms_max;
	arena_room(&c->arena, spec->name.n + 1 + spec->warc_dir.n + 1);
	c->name = arena_copy(&c->arena, spec->name);
	c->warc_dir = arena_copy(&c->arena, spec->warc_dir);
	if (c->name.n != 0)
		map_put(&f->names, c->name, c);
	buf_clear(&f->value);
	struct crawl_spec stored = *spec;
	FREED(arena_free) struct arena a = ARENA_INIT;
	stored.warc_dir = paths_store(ledger_paths(f->ledger),
	    spec->warc_dir, &a);
	crawl_spec_put(&stored, &f->value);
	crawl_put_part(f, c->id, 'S', buf_str(&f->value));
	return c;
}

struct collection_crawls
frontier_collection(struct frontier *f, struct str warc_dir, uint32_t id)
{
	struct collection_crawls found = { UINT32_MAX, UINT32_MAX, true };

	for (uint32_t i = 0; i < f->next_crawl; i++) {
		const struct crawl *c = i == id ? NULL : crawl_get(f, i);
		if (c == NULL || !str_eq(c->warc_dir, warc_dir))
			continue;
		found.first &= i > id;
		if (c->view.counts.items == 0 ||
		    c->view.state == CRAWL_RUNNING)
			continue;
		found.newest = i;
		found.oldest = MIN(found.oldest, i);
	}
	return found;
}
