#include "engine/archive/reindex.h"

#include "base/map.h"
#include "engine/archive/sort.h"
#include "engine/archive/walk.h"

#define INFO_MAX ((size_t)1 << 20)
#define SEEDS_MAX 100000
#define TYPE_MAX 200

/*
 * A capture as a line that sorts by crawl, number and hop:
 *
 *     crawl8 seq16 aux1 hop8 file8 offset16 (hex) | fields by TAB
 *
 * What has no number of its own (aux1 is 1) stands behind the capture that was
 * written before it, in the order of the file; its hop8 is 0.  Field values
 * have no control characters: a WARC field cannot hold a line end, and others
 * become blanks.
 */
/* The newest of an owner's; its key is the field's value, "CRAWL OWNER". */
struct checkpoint {
	struct buf key, bytes;
	uint64_t group;
};

struct scanner {
	const struct archive_catalogue *catalogue;
	const struct archive_reindex_events *events;
	void *arg;
	struct archive_reindex_counts *counts;
	struct sorter *sorter;
	struct buf head, line;
	struct arena arena;
	/* The record in hand. */
	bool told, numbered;
	struct warc_capture facts;
	uint32_t last_crawl;           /* of the newest number before it */
	uint64_t last_seq;
	struct http_head http;
	bool has_http;
	struct map checkpoints;
	/* For the lines that are read back. */
	struct archive_capture held;
	struct buf held_text;
	bool holding, held_aux;
	uint32_t held_hop;
	size_t files;
};

static void
put_field(struct buf *b, struct str s)
{
	buf_put_char(b, '\t');
	for (size_t i = 0; i < s.n; i++)
		buf_put_char(b, (unsigned char)s.p[i] < ' ' ? ' ' : s.p[i]);
}

static void
put_count(struct buf *b, uint64_t v)
{
	buf_printf(b, "\t%llu", (unsigned long long)v);
}

static void
put_line(struct scanner *x, const struct walk_visit *v)
{
	const struct warc_entry *e = v->entry;
	struct buf *b = &x->line;
	struct str type = x->has_http ? http_find(&x->http,
	    STR("content-type")) : e->type == WARC_RESOURCE ?
	    warc_entry_field(e, STR("Content-Type")) : STR_NONE;

	if (x->numbered || x->last_crawl != x->facts.crawl) {
		x->last_crawl = x->facts.crawl;
		x->last_seq = x->numbered ? e->gzip.seq : 0;
	}
	buf_clear(b);
	buf_printf(b, "%08x%016llx%c%08x%08zx%016llx", x->facts.crawl,
	    (unsigned long long)x->last_seq, x->numbered ? '0' : '1',
	    x->numbered ? x->facts.hop : 0,
	    (size_t)(v->file - x->catalogue->files),
	    (unsigned long long)e->offset);
	put_count(b, x->facts.hop);
	put_count(b, e->gzip.group);
	put_count(b, e->clen);
	put_count(b, e->ulen);
	put_count(b, e->block_at + (x->has_http ? x->http.n : 0));
	put_count(b, e->length - (x->has_http ? x->http.n : 0));
	put_count(b, x->facts.depth);
	put_count(b, (uint64_t)x->facts.start.us);
	put_count(b, (uint64_t)x->facts.duration_us);
	put_count(b, x->has_http ? (uint64_t)x->http.status : 0);
	put_count(b, e->type == WARC_REVISIT);
	put_count(b, str_eq(warc_entry_field(e, STR("WARC-Profile")),
	    STR(WARC_PROFILE_NOT_MODIFIED)));
	put_count(b, warc_entry_field(e, STR("WARC-Truncated")).p != NULL);
	put_field(b, warc_entry_field(e, STR("WARC-Payload-Digest")));
	put_field(b, str_cut(type, 0, TYPE_MAX));
	put_field(b, x->facts.requested_url);
	put_field(b, warc_entry_field(e, STR("Argiope-Via")));
	put_field(b, e->uri);
}

static void
read_info(struct scanner *x, struct warc_reader *r)
{
	struct str piece;

	buf_clear(&x->head);
	while (x->head.n < INFO_MAX && warc_read_block(r, &piece))
		buf_put_str(&x->head, piece);
}

static enum err
tell_crawl(struct scanner *x, struct walk_visit *v, struct why *w)
{
	struct archive_crawl c = { .file = v->file, .date = v->entry->date,
	    .bytes = v->entry->clen };
	struct http_head h;
	struct str value;
	struct str *seeds;
	uint64_t id;
	size_t at = 0;

	if (http_parse_fields(buf_str(&x->head), (struct http_limits){
	    SEEDS_MAX, INFO_MAX + (1 << 16) }, &x->arena, &h, NULL) != OK ||
	    !str_to_u64(http_find(&h, STR("argiope-crawl-id")), &id) ||
	    id > UINT32_MAX)
		return OK;
	c.crawl = (uint32_t)id;
	c.name = http_find(&h, STR("argiope-crawl-name"));
	c.kind = http_find(&h, STR("argiope-crawl-kind"));
	c.policy = http_find(&h, STR("argiope-policy"));
	c.is_part_of = http_find(&h, STR("isPartOf"));
	c.harvest_id = http_find(&h, STR("argiope-harvest-id"));
	c.harvest_type = http_find(&h, STR("argiope-harvest-type"));
	seeds = ARENA_ARRAY(&x->arena, struct str, h.fields_n + 1);
	while (http_next(&h, STR("argiope-seed"), &at, &value))
		seeds[c.seeds_n++] = value;
	c.seeds = seeds;
	return x->events->crawl(x->arg, &c, w);
}

static enum err
on_record(void *arg, struct walk_visit *v, struct why *w)
{
	struct scanner *x = arg;
	struct warc_entry *e = v->entry;
	struct str facts = warc_entry_field(e, STR("Argiope-Capture"));

	(void)w;
	arena_reset(&x->arena);
	x->counts->records++;
	x->told = x->numbered = x->has_http = false;
	if (e->type == WARC_WARCINFO && x->events->crawl != NULL)
		read_info(x, v->reader);
	if (warc_entry_field(e, STR("Argiope-Checkpoint")).p != NULL)
		read_info(x, v->reader);
	/* Metadata with a number is the answer of a call, a resource messages
	 * of a WebSocket. */
	if (e->type != WARC_RESPONSE && e->type != WARC_REVISIT &&
	    e->type != WARC_METADATA && e->type != WARC_RESOURCE)
		return OK;
	/* The answer of a failed URL is no capture. */
	if (warc_entry_field(e, STR("Argiope-Outcome")).p != NULL) {
		x->counts->failed++;
		return OK;
	}
	x->told = facts.p != NULL && warc_capture_parse(facts, &x->facts);
	x->numbered = x->told && e->gzip.seq != 0;
	bool answer = e->type == WARC_RESPONSE || e->type == WARC_REVISIT;
	x->counts->unnumbered += answer && !x->numbered;
	x->told = x->numbered || (answer && x->told && x->events->aux);
	x->has_http = x->told && answer && walk_http_head(v->reader, false, 0,
	    &x->head, &x->arena, &x->http);
	return OK;
}

static void
keep_checkpoint(struct scanner *x, const struct warc_entry *e)
{
	struct str key = warc_entry_field(e, STR("Argiope-Checkpoint"));
	struct checkpoint *c = map_get(&x->checkpoints, key);

	if (c == NULL) {
		c = mem_new(sizeof(*c));
		buf_put_str(&c->key, key);
		map_put(&x->checkpoints, buf_str(&c->key), c);
	}
	if (e->gzip.group < c->group)
		return;
	c->group = e->gzip.group;
	buf_clear(&c->bytes);
	buf_put_str(&c->bytes, buf_str(&x->head));
}

static enum err
tell_checkpoints(struct scanner *x, struct why *w)
{
	enum err err = OK;
	uint64_t crawl;

	MAP_EACH(c, &x->checkpoints, struct checkpoint) {
		struct str owner = buf_str(&c->key), id;
		if (err == OK && x->events->checkpoint != NULL &&
		    str_split(&owner, ' ', &id) && str_to_u64(id, &crawl) &&
		    crawl <= UINT32_MAX)
			err = x->events->checkpoint(x->arg, (uint32_t)crawl,
			    owner, buf_str(&c->bytes), w);
		buf_free(&c->key);
		buf_free(&c->bytes);
		mem_free(&c);
	}
	map_free(&x->checkpoints);
	return err;
}

static enum err
on_record_end(void *arg, struct walk_visit *v, bool whole, struct why *w)
{
	struct scanner *x = arg;

	if (whole && v->entry->type == WARC_WARCINFO &&
	    x->events->crawl != NULL)
		return tell_crawl(x, v, w);
	if (whole && warc_entry_field(v->entry,
	    STR("Argiope-Checkpoint")).p != NULL)
		keep_checkpoint(x, v->entry);
	if (!whole || !x->told || v->entry->clen == 0 ||
	    v->entry->clen > UINT32_MAX || v->entry->ulen > UINT32_MAX)
		return OK;
	put_line(x, v);
	return sorter_put(x->sorter, buf_str(&x->line), w);
}

static enum err
on_damage(void *arg, const struct archive_file *file,
    const struct warc_damage *d, struct why *w)
{
	struct scanner *x = arg;

	x->counts->damaged++;
	return x->events->damage == NULL ? OK :
	    x->events->damage(x->arg, file, d, w);
}

static enum err
on_file(void *arg, const struct archive_file *file, bool begins,
    struct why *w)
{
	struct scanner *x = arg;

	(void)file;
	(void)w;
	if (!begins && x->events->progress != NULL)
		x->events->progress(x->arg, ++x->files, x->counts->records);
	return OK;
}

/* --- back from the lines ------------------------------------------------ */

static uint64_t
take_hex(struct str *s, size_t digits)
{
	uint64_t v = 0;

	for (size_t i = 0; i < digits; i++)
		v = v << 4 | (uint64_t)ascii_hex_value(s->p[i]);
	*s = str_from(*s, digits);
	return v;
}

static struct str
take_field(struct str *s)
{
	struct str part = STR_NONE;

	CHECK(str_split(s, '\t', &part));
	return part;
}

static uint64_t
take_count(struct str *s)
{
	uint64_t v;

	CHECK(str_to_u64(take_field(s), &v));
	return v;
}

static void
parse_line(struct scanner *x, struct str s, struct archive_capture *c,
    uint32_t *hop, bool *aux)
{
	memset(c, 0, sizeof(*c));
	c->crawl = (uint32_t)take_hex(&s, 8);
	c->seq = take_hex(&s, 16);
	*aux = take_hex(&s, 1) != 0;
	take_hex(&s, 8);
	c->file = &x->catalogue->files[take_hex(&s, 8)];
	c->offset = take_hex(&s, 16);
	take_field(&s);
	*hop = (uint32_t)take_count(&s);
	c->group = take_count(&s);
	c->clen = (uint32_t)take_count(&s);
	c->ulen = (uint32_t)take_count(&s);
	c->body_at = (uint32_t)take_count(&s);
	c->body_bytes = take_count(&s);
	c->depth = (uint32_t)take_count(&s);
	c->start.us = (int64_t)take_count(&s);
	c->began = c->start;
	c->duration_us = (int64_t)take_count(&s);
	c->status = (int)take_count(&s);
	c->revisit = take_count(&s) != 0;
	c->unchanged = take_count(&s) != 0;
	c->truncated = take_count(&s) != 0;
	if (!digest_from_text(take_field(&s), &c->digest))
		c->digest.kind = DIGEST_NONE;
	c->type = take_field(&s);
	c->url = take_field(&s);
	c->via = take_field(&s);
	c->final_url = s;
}

static enum err
tell_held(struct scanner *x, struct why *w)
{
	struct archive_capture c = x->held;

	if (!x->holding)
		return OK;
	x->holding = false;
	if (x->held_aux)
		c.seq = 0;
	x->counts->captures += !x->held_aux;
	return x->events->capture(x->arg, &c, w);
}

/* A hop of what is held?  Without a number the place alone tells. */
static bool
same_capture(const struct scanner *x, const struct archive_capture *c,
    uint32_t hop, bool aux)
{
	if (x->held.seq != c->seq || x->held.crawl != c->crawl ||
	    x->held_aux != aux)
		return false;
	return !aux || (x->holding && hop == x->held_hop + 1 &&
	    x->held.file == c->file && str_eq(x->held.url, c->url));
}

/* Lines of one number follow each other, the last hop last. */
static enum err
on_line(void *arg, struct str line, struct why *w)
{
	struct scanner *x = arg;
	struct archive_capture c;
	struct wall began;
	uint32_t hop, hops = 0;
	enum err err = OK;
	bool aux;

	parse_line(x, line, &c, &hop, &aux);
	bool same = same_capture(x, &c, hop, aux);
	/* A hop without a number belongs to the answer behind it. */
	bool led = x->holding && x->held_aux && !aux &&
	    hop == x->held_hop + 1 && x->held.file == c.file &&
	    x->held.crawl == c.crawl && str_eq(x->held.url, c.url);
	if (same && hop == x->held_hop) {
		x->counts->repeated++;
		return OK;
	}
	began = same || led ? x->held.began : c.began;
	if (same || led)
		hops = x->held.hops + 1;
	if (same)
		x->counts->hops += !aux;
	else if (!aux)
		x->counts->missing += c.seq - 1 -
		    (x->held.crawl == c.crawl ? x->held.seq : 0);
	if (!same && !led)
		err = tell_held(x, w);
	buf_clear(&x->held_text);
	buf_put_str(&x->held_text, line);
	parse_line(x, buf_str(&x->held_text), &x->held, &x->held_hop,
	    &x->held_aux);
	/* A lone final answer states by its own hop how many came before. */
	x->held.hops = MAX(hops, hop);
	x->held.began = began;
	x->holding = true;
	return err;
}

enum err
archive_reindex(const struct archive_catalogue *c, const char *scratch,
    size_t sort_bytes_max, const struct archive_reindex_events *events,
    void *arg, struct archive_reindex_counts *counts, struct why *w)
{
	static const struct walk_events walk = { on_file, on_record,
		on_record_end, on_damage, .io_ends = true };
	struct scanner x = { .catalogue = c, .events = events, .arg = arg,
		.counts = counts };

	memset(counts, 0, sizeof(*counts));
	x.sorter = sorter_new(scratch, sort_bytes_max);
	enum err err = walk_files(c, &walk, &x, w);
	if (err == OK)
		err = sorter_finish(x.sorter, on_line, &x, w);
	if (err == OK)
		err = tell_held(&x, w);
	enum err told = tell_checkpoints(&x, w);
	err = err == OK ? told : err;
	sorter_free(&x.sorter);
	buf_free(&x.head);
	buf_free(&x.line);
	buf_free(&x.held_text);
	arena_free(&x.arena);
	return err;
}
