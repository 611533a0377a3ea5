#include "engine/ledger/series.h"

#include "os/clock.h"
#include "os/log.h"
#include "wire/gzip.h"

struct warc_series {
	struct list node;
	struct warc_series_options options;
	struct arena strings;       /* the options' texts */
	struct arena file_strings;  /* the current file's */
	bool open;                  /* there is a current file */
	struct warc_record file;    /* end: admitted, not yet committed, bytes */
	struct mono opened;
};

struct warc_series *
ledger_series_open(struct ledger *l, const struct warc_series_options *o)
{
	struct warc_series *s = mem_new(sizeof(*s));

	s->options = *o;
	s->options.dir = arena_copy(&s->strings, str_of(o->dir)).p;
	s->options.prefix = arena_copy(&s->strings, str_of(o->prefix)).p;
	s->options.token = arena_copy(&s->strings, str_of(o->token)).p;
	list_put(ledger_series_list(l), &s->node);
	return s;
}

static void
free_series(struct warc_series **sp)
{
	list_take(&(*sp)->node);
	arena_free(&(*sp)->strings);
	arena_free(&(*sp)->file_strings);
	mem_free(sp);
}

static void
put_record(struct ledger *l, const struct warc_record *r)
{
	struct buf key = BUF_INIT, value = BUF_INIT;

	buf_put_be32(&key, r->id);
	warc_record_put(r, &value);
	ledger_put(l, INDEX_WARC, buf_str(&key), buf_str(&value));
	buf_free(&key);
	buf_free(&value);
}

/* Name the next file; its warcinfo is the first thing written to it. */
static void
begin_file(struct ledger *l, struct warc_series *s, struct group *g,
    struct warc_write **out)
{
	char digits[18];
	struct arena *a = &s->file_strings;

	arena_reset(a);
	s->opened = loop_now(ledger_loop(l));
	s->file = (struct warc_record){ .id = ledger_new_warc(l),
	    .state = WARC_OPEN, .crawl = s->options.crawl,
	    .created = clock_wall() };
	wall_to_digits(s->file.created, 17, digits);
	s->file.dir = arena_copy(a, str_of(s->options.dir));
	s->file.work_dir = arena_printf(a, "%s/.argiope/%s", s->options.dir,
	    s->options.prefix);
	s->file.name = arena_printf(a, "%s-%s-%05u-%s.warc.gz",
	    s->options.prefix, digits, s->file.id % 100000, s->options.token);
	s->open = true;

	struct warc_write *w = group_write(g, s->file.id);
	w->create = true;
	w->open_path = warc_record_path(&s->file, PATH_OPEN, &g->arena);
	w->open_cdxj = warc_record_path(&s->file, PATH_OPEN_CDXJ, &g->arena);
	s->options.warcinfo(s->options.arg, s->file.name.p, &w->bytes);
	gzip_patch(w->bytes.p, 0, g->number);
	s->file.first = s->file.end = w->bytes.n;
	*out = w;
}

/* A copy of the record whose strings live as long as the group. */
static struct warc_record
lasting(const struct warc_record *r, struct arena *a)
{
	struct warc_record copy = *r;

	copy.dir = arena_copy(a, r->dir);
	copy.work_dir = arena_copy(a, r->work_dir);
	copy.name = arena_copy(a, r->name);
	return copy;
}

static void
end_file(struct ledger *l, struct warc_series *s)
{
	struct group *g = ledger_gathering(l);

	if (!s->open)
		return;
	struct warc_write *w = group_write(g, s->file.id);
	if (w->bytes.n == 0)
		w->offset = s->file.end;
	s->file.state = WARC_CLOSING;
	w->close = true;
	w->record = lasting(&s->file, &g->arena);
	put_record(l, &s->file);
	s->open = false;
	ledger_closing_expected(l);
}

void
ledger_series_close(struct ledger *l, struct warc_series **sp)
{
	if (*sp == NULL)
		return;
	end_file(l, *sp);
	free_series(sp);
}

/* The member's CDXJ line, now that file and offset are known. */
static void
put_cdxj(const struct warc_series *s, const struct archive_member *m,
    uint64_t offset, struct buf *out)
{
	if (m->cdxj.n == 0)
		return;
	buf_put_str(out, m->cdxj);
	buf_printf(out, "\"offset\":\"%llu\",\"filename\":\"%.*s\"}\n",
	    (unsigned long long)offset, STR_FMT(s->file.name));
}

enum err
ledger_archive(struct ledger *l, struct warc_series *s, struct str bytes,
    const struct archive_member *members, size_t n, uint64_t seq,
    struct archive_place *place, struct why *why_)
{
	struct group *g = ledger_gathering(l);
	struct warc_write *w = NULL;

	if (ledger_health(l) == LEDGER_FAILED)
		return why(why_, ERR_BROKEN, "the ledger failed");
	/* Begin the group's clock: members alone make it worth sealing. */
	if (g->began.ns == 0)
		g->began = clock_mono();
	if (s->open && s->file.end > s->file.first &&
	    s->file.end + bytes.n > s->options.rollover_bytes)
		end_file(l, s);
	if (!s->open)
		begin_file(l, s, g, &w);
	else
		w = group_write(g, s->file.id);
	if (w->bytes.n == 0)
		w->offset = s->file.end;
	*place = (struct archive_place){ s->file.id, s->file.end };
	size_t base = w->bytes.n;
	buf_put_str(&w->bytes, bytes);
	for (size_t i = 0; i < n; i++) {
		gzip_patch(w->bytes.p + base + members[i].at, seq, g->number);
		put_cdxj(s, &members[i], s->file.end + members[i].at,
		    &w->cdxj);
	}
	s->file.end += bytes.n;
	return OK;
}

void
series_before_seal(struct ledger *l)
{
	struct list *head = ledger_series_list(l);
	struct group *g = ledger_gathering(l);

	for (struct list *n = head->next; n != head; n = n->next) {
		struct warc_series *s = LIST_ITEM(n, struct warc_series, node);
		if (!s->open)
			continue;
		for (size_t i = 0; i < g->writes_n; i++)
			if (g->writes[i].file == s->file.id)
				put_record(l, &s->file);
	}
}

void
series_roll_over(struct ledger *l)
{
	struct list *head = ledger_series_list(l);
	struct mono now = loop_now(ledger_loop(l));

	for (struct list *n = head->next; n != head; n = n->next) {
		struct warc_series *s = LIST_ITEM(n, struct warc_series, node);
		if (s->open && mono_ns_between(s->opened, now) >=
		    s->options.rollover_s * NS_PER_S)
			end_file(l, s);
	}
}

void
series_close_all(struct ledger *l)
{
	struct list *head = ledger_series_list(l);

	while (!list_empty(head)) {
		struct warc_series *s = LIST_ITEM(head->next,
		    struct warc_series, node);
		ledger_series_close(l, &s);
	}
}

void
series_free_all(struct ledger *l)
{
	struct list *head = ledger_series_list(l);

	while (!list_empty(head)) {
		struct warc_series *s = LIST_ITEM(head->next,
		    struct warc_series, node);
		free_series(&s);
	}
}

void
series_file_closed(struct ledger *l, const struct warc_record *r)
{
	put_record(l, r);
}
