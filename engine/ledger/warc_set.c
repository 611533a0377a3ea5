#include "engine/ledger/warc_set.h"

#include "engine/archive/archive.h"
#include "engine/ledger/claims.h"
#include "os/clock.h"
#include "os/log.h"
#include "wire/gzip.h"

/* Without options: archive.open_files as base/settings.def has it. */
#define OPEN_FILES_MAX 256

struct warc_set {
	struct list node;
	struct warc_set_options options;
	struct arena strings;       /* the options' texts */
	struct arena file_strings;  /* the current file's */
	bool open;                  /* there is a current file */
	bool no_lines;              /* it took a failed one's place */
	uint64_t ended_group;       /* not 0: gone when that is durable */
	struct warc_record file;    /* end: of what was admitted */
	struct mono opened;
};

struct str
warc_work_dir(const char *dir, const char *work_dir, const char *prefix,
    struct arena *a)
{
	return work_dir != NULL ? arena_copy(a, str_of(work_dir)) :
	    arena_printf(a, "%s/.argiope/%s", dir, prefix);
}

struct warc_set *
ledger_series_open(struct ledger *l, const struct warc_set_options *o)
{
	struct warc_set *s = mem_new(sizeof(*s));

	s->options = *o;
	s->options.dir = arena_copy(&s->strings, str_of(o->dir)).p;
	s->options.work_dir = warc_work_dir(o->dir, o->work_dir, o->prefix,
	    &s->strings).p;
	s->options.prefix = arena_copy(&s->strings, str_of(o->prefix)).p;
	s->options.token = arena_copy(&s->strings, str_of(o->token)).p;
	list_put(ledger_series_list(l), &s->node);
	return s;
}

static void
free_series(struct warc_set **sp)
{
	list_take(&(*sp)->node);
	arena_free(&(*sp)->strings);
	arena_free(&(*sp)->file_strings);
	mem_free(sp);
}

/* After all earlier puts of this file in the body: the last put wins. */
static void
put_record_to(struct ledger *l, struct buf *body, const struct warc_record *r)
{
	FREED(buf_free) struct buf key = BUF_INIT, value = BUF_INIT;

	buf_put_be32(&key, r->id);
	warc_record_put(r, ledger_paths(l), &value);
	group_put_op(body, OP_PUT, INDEX_WARC, buf_str(&key));
	buf_put_field(body, buf_str(&value));
}

static void
put_record(struct ledger *l, const struct warc_record *r)
{
	FREED(buf_free) struct buf key = BUF_INIT, value = BUF_INIT;

	buf_put_be32(&key, r->id);
	warc_record_put(r, ledger_paths(l), &value);
	ledger_put(l, INDEX_WARC, buf_str(&key), buf_str(&value));
}

/* A record for the series' next file; nothing is in it yet.  Memory: `a`. */
static struct warc_record
next_record(struct ledger *l, const struct warc_set *s,
    struct wall created, struct arena *a)
{
	const struct warc_set_options *o = &s->options;
	struct warc_record r = { .id = ledger_new_warc(l), .state = WARC_OPEN,
	    .crawl = o->crawl, .created = created, .owner = o->owner,
	    .digest = o->digest };

	r.dir = arena_copy(a, str_of(o->dir));
	r.work_dir = arena_copy(a, str_of(o->work_dir));
	r.name = archive_name_make(str_of(o->prefix), created, r.id % 100000,
	    str_of(o->token), a);
	return r;
}

static void
create_with(struct group *g, struct warc_write *w, struct warc_set *s,
    const struct warc_record *r)
{
	w->create = true;
	w->series = s;
	w->open_path = warc_record_path(r, PATH_OPEN, &g->arena);
	w->open_cdxj = warc_record_path(r, PATH_OPEN_CDXJ, &g->arena);
}

/* Name the next file; its warcinfo is the first thing written to it. */
static struct warc_write *
begin_file(struct ledger *l, struct warc_set *s, struct group *g)
{
	arena_reset(&s->file_strings);
	s->opened = loop_now(ledger_loop(l));
	s->file = next_record(l, s, clock_wall(), &s->file_strings);
	s->open = true;
	s->no_lines = false;

	struct warc_write *w = group_write(g, s->file.id);
	create_with(g, w, s, &s->file);
	claims_mark(ledger_claims(l), g, s->file.dir);
	s->options.warcinfo(s->options.arg, s->file.name.p, &w->bytes);
	gzip_patch(w->bytes.p, 0, g->number);
	s->file.first = s->file.end = w->bytes.n;
	return w;
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
end_file(struct ledger *l, struct warc_set *s)
{
	struct group *g = ledger_gathering(l);

	if (!s->open)
		return;
	struct warc_write *w = group_write(g, s->file.id);
	if (w->bytes.n == 0)
		w->offset = s->file.end;
	w->series = s;
	s->file.state = WARC_CLOSING;
	w->close = true;
	w->record = lasting(&s->file, &g->arena);
	put_record(l, &s->file);
	s->open = false;
	warc_finish_announce(l, &s->file);
	ledger_closing_expected(l);
}

void
ledger_series_close(struct ledger *l, struct warc_set **sp)
{
	if (*sp == NULL)
		return;
	end_file(l, *sp);
	/* Its file may still have to move: warc_set_move(). */
	(*sp)->ended_group = ledger_gathering(l)->number;
	*sp = NULL;
}

size_t
warc_set_open_files(const struct ledger *l)
{
	const struct list *head = ledger_series_seen(l);
	size_t open = 0;

	for (const struct list *n = head->next; n != head; n = n->next)
		open += LIST_ITEM(n, const struct warc_set, node)->open;
	return open;
}

/* archive.open_files: the file that nothing came to for longest is closed. */
static void
keep_limit(struct ledger *l)
{
	unsigned max = ledger_options(l)->open_files_max;
	struct list *n = ledger_series_list(l)->next;

	if (warc_set_open_files(l) < (max == 0 ? OPEN_FILES_MAX : max))
		return;
	while (!LIST_ITEM(n, struct warc_set, node)->open)
		n = n->next;
	struct warc_set *idle = LIST_ITEM(n, struct warc_set, node);
	log_info("ledger.open_files", "closed=%s text=\"archive.open_files "
	    "is reached\"", idle->file.name.p);
	ledger_counts(l)->warcs_squeezed++;
	end_file(l, idle);
}

/* The member's CDXJ line, now that file and offset are known. */
static void
put_cdxj(const struct warc_set *s, const struct archive_member *m,
    uint64_t offset, struct buf *out)
{
	if (m->cdxj.n == 0 || s->no_lines)
		return;
	buf_put_str(out, m->cdxj);
	buf_put_str(out, STR("\"offset\":\""));
	buf_put_decimal(out, offset, 1);
	buf_put_str(out, STR("\",\"filename\":\""));
	buf_put_str(out, s->file.name);
	buf_put_str(out, STR("\"}\n"));
}

static uint64_t
size_of(struct str bytes, const struct archive_member *m, size_t n)
{
	uint64_t size = bytes.n;

	for (size_t i = 0; i < n; i++)
		size += m[i].rest.n;
	return size;
}

enum err
ledger_archive(struct ledger *l, struct warc_set *s, struct str bytes,
    const struct archive_member *members, size_t n, uint64_t seq,
    struct archive_place *place, struct why *why_)
{
	struct group *g = ledger_gathering(l);

	if (ledger_health(l) == LEDGER_FAILED)
		return why(why_, ERR_BROKEN, "the ledger failed");
	if (s->open && s->file.end > s->file.first && s->file.end +
	    size_of(bytes, members, n) > s->options.rollover_bytes)
		end_file(l, s);
	/* The list is in the order of use. */
	list_take(&s->node);
	list_put(ledger_series_list(l), &s->node);
	if (!s->open)
		keep_limit(l);
	struct warc_write *w = s->open ? group_write(g, s->file.id) :
	    begin_file(l, s, g);
	if (w->bytes.n == 0)
		w->offset = s->file.end;
	w->series = s;
	*place = (struct archive_place){ s->file.id, s->file.end };
	size_t base = w->bytes.n;
	buf_put_str(&w->bytes, bytes);
	for (size_t i = 0; i < n; i++) {
		const struct archive_member *m = &members[i];
		gzip_patch(w->bytes.p + base + m->at, seq, g->number);
		put_cdxj(s, m, s->file.end + m->at, &w->cdxj);
		if (m->rest.n == 0)
			continue;
		group_add_rest(g, w, base + m->at + m->n, &m->rest);
		s->file.end += m->rest.n;
	}
	s->file.end += bytes.n;
	return OK;
}

void
warc_set_before_seal(struct ledger *l)
{
	struct list *head = ledger_series_list(l);
	struct group *g = ledger_gathering(l);

	LIST_EACH(s, head, struct warc_set, node) {
		if (!s->open)
			continue;
		for (size_t i = 0; i < g->writes_n; i++)
			if (g->writes[i].file == s->file.id)
				put_record(l, &s->file);
	}
}

void
warc_set_roll_over(struct ledger *l)
{
	struct list *head = ledger_series_list(l);
	struct mono now = loop_now(ledger_loop(l));

	LIST_EACH(s, head, struct warc_set, node) {
		if (s->open && mono_ns_between(s->opened, now) >=
		    s->options.rollover_s * NS_PER_S)
			end_file(l, s);
	}
}

void
warc_set_close_all(struct ledger *l)
{
	struct list *head = ledger_series_list(l);

	for (struct list *n = head->next; n != head; n = n->next)
		end_file(l, LIST_ITEM(n, struct warc_set, node));
}

void
warc_set_synced(struct ledger *l, uint64_t group)
{
	struct list *head = ledger_series_list(l);

	for (struct list *n = head->next, *next; n != head; n = next) {
		struct warc_set *s = LIST_ITEM(n, struct warc_set, node);
		next = n->next;
		if (s->ended_group != 0 && s->ended_group <= group)
			free_series(&s);
	}
}

void
warc_set_free_all(struct ledger *l)
{
	struct list *head = ledger_series_list(l);

	while (!list_empty(head)) {
		struct warc_set *s = LIST_ITEM(head->next,
		    struct warc_set, node);
		free_series(&s);
	}
}

void
warc_set_file_closed(struct ledger *l, const struct warc_record *r)
{
	put_record(l, r);
}

/* --- a file that cannot be written -------------------------------------- */

/* The file's record as far as it was admitted: with what closes it, or open. */
static const struct warc_record *
record_of(const struct warc_write *sealed, const struct warc_write *gathering)
{
	if (gathering != NULL && gathering->close)
		return &gathering->record;
	return sealed->close ? &sealed->record : &sealed->series->file;
}

/* After its own warcinfo the new file gets the failed file's members. */
static struct warc_write *
replace_write(struct group *g, uint32_t file, const struct warc_record *r)
{
	struct warc_write *to = group_write(g, r->id);
	struct warc_write *from = group_find(g, file);
	const struct warc_set_options *o = &from->series->options;

	create_with(g, to, from->series, r);
	o->warcinfo(o->arg, r->name.p, &to->bytes);
	gzip_patch(to->bytes.p, 0, g->number);
	to->moved_at = to->bytes.n;
	buf_put(&to->bytes, from->bytes.p, from->bytes.n);
	for (struct warc_rest *rest = from->rests; rest != NULL;
	    rest = rest->next)
		rest->behind += to->moved_at;
	to->rests = from->rests;
	from->rests = NULL;
	to->moved = to->no_lines = true;
	to->close = from->close;
	buf_clear(&from->bytes);
	buf_clear(&from->cdxj);
	from->create = false;
	from->close = true;
	return to;
}

/* Move the file's members in the gathering group, too. */
static void
follow(struct ledger *l, struct warc_write *w, const struct warc_record *old,
    const struct warc_record *now, uint64_t from, uint64_t at)
{
	struct group *g = ledger_gathering(l);

	w->file = now->id;
	w->offset = w->offset - from + at;
	w->no_lines = true;
	buf_clear(&w->cdxj);
	if (!w->close)
		return;
	w->record = lasting(now, &g->arena);
	w->record.state = WARC_CLOSING;
	/* It was put as closed at an end that it will not have. */
	put_record(l, old);
	put_record(l, &w->record);
}

/*
 *     old file:  ... committed | lost members          closed at `from`
 *     new file:  warcinfo | the same members | ...     begun at `at`
 *
 * A file that was new itself keeps its warcinfo among the members, since they
 * refer to it.
 */
bool
warc_set_move(struct ledger *l, struct group *g, uint32_t file)
{
	struct warc_write *w = group_find(g, file);
	struct warc_write *next = group_find(ledger_gathering(l), file);

	CHECK(w != NULL);
	if (w->moved)
		return false;
	struct warc_set *s = w->series;
	bool current = s->open && s->file.id == file, created = w->create;
	struct warc_record old = lasting(record_of(w, next), &g->arena);
	/* Its name has the old one's time: so it stands between that one and
	 * a next, and the numbers of the crawl go up from file to file. */
	struct warc_record now = next_record(l, s, old.created, current ?
	    &s->file_strings : &g->arena);
	uint64_t from = w->offset;
	struct warc_write *to = replace_write(g, file, &now);
	claims_mark(ledger_claims(l), g, now.dir);
	w = group_find(g, file);
	uint64_t at = to->moved_at;
	now.first = (created ? old.first : 0) + at;
	now.end = old.end - from + at;
	/* Never committed: nothing of it is kept. */
	old.end = from;
	old.first = created ? from : old.first;
	old.state = WARC_CLOSING;
	w->record = old;
	to->record = lasting(&now, &g->arena);
	to->record.end = warc_write_size(to);
	to->record.state = to->close ? WARC_CLOSING : WARC_OPEN;
	put_record_to(l, &g->body, &old);
	put_record_to(l, &g->body, &to->record);
	group_move_places(g, file, from, now.id, at);
	group_move_places(ledger_gathering(l), file, from, now.id, at);
	if (next != NULL)
		follow(l, next, &old, &now, from, at);
	if (current) {
		s->file = now;
		s->no_lines = true;
	}
	warc_finish_announce(l, &now);
	ledger_closing_expected(l);
	return true;
}
