#include "doors/items/event_stream.h"

#include "base/json_writer.h"
#include "doors/items/handlers.h"
#include "doors/items/input.h"
#include "doors/items/meter.h"
#include "os/clock.h"

#define SSE_TYPE "text/event-stream"
#define LINES_TYPE "application/x-ndjson"
#define TICK_MS 1000
#define CURSOR_NOW UINT64_MAX        /* from the next event on */

/* What a request asks for; its texts are the exchange's. */
struct wish {
	struct event_filter filter;
	uint64_t since;
	unsigned limit;
	int64_t wait_ms;
	uint64_t last;               /* looked at */
};

/* A read for all followers that stand at one cursor with one filter. */
struct event_read {
	struct list node;            /* of door.event_reads */
	struct list members;         /* struct follower */
	struct items_read items;     /* its `out`: lines */
	struct items_door *door;
	struct arena arena;
	struct event_filter filter;
	struct str key;
	uint64_t since, last;
	struct buf framed;           /* the lines as streams send them */
};

/* What wants the events behind a cursor: a stream, or an update that waits. */
struct follower {
	struct list member;          /* of the read's */
	struct event_read *read;     /* under way; NULL: none */
	struct items_door *door;
	struct event_filter filter;  /* texts: the exchange's */
	struct str key;              /* equal ones let the same through */
	uint64_t cursor;             /* looked at last */
	void (*take)(struct follower *, const struct event_read *);
};

struct event_stream {
	struct list node;            /* of door.streams */
	struct follower follower;
	struct web_pull pull;
	struct exchange *x;
	bool live;                   /* it has been up to date once */
	bool over;
	bool inside;                 /* the client has a part of an event */
	struct buf waiting;          /* for the client, from `at` on */
	size_t at;
	struct buf held;             /* live events that came during a read */
	struct mono said;            /* when something was sent last */
};

struct update {
	struct list node;            /* of door.updates */
	struct follower follower;
	struct timer timer;
	struct exchange *x;
	bool waits;                  /* its first look found nothing */
};

/* -- What a request asks for -- */

static void
read_filter(struct input *in, struct event_filter *f)
{
	f->types = input_words(in, "types", NULL, &f->types_n);
	f->tags = input_words(in, "tags", NULL, &f->tags_n);
	f->tasks = input_words(in, "tasks", "operations", &f->tasks_n);
}

static void
read_cursor(struct input *in, struct str text, const char *field,
    uint64_t *cursor)
{
	if (text.p != NULL && (!str_to_u64(text, cursor) ||
	    *cursor > INT64_MAX))
		input_fault(in, ERR_INPUT, field, "it is no cursor");
}

/* That of a line: {"cursor":"N",...  False: it has none. */
static bool
line_cursor(struct str line, uint64_t *cursor)
{
	static const struct str head = { "{\"cursor\":\"", 11 };
	struct str rest = str_from(line, head.n);

	return str_starts(line, head) && str_to_u64(str_cut(rest, 0,
	    str_find_char(rest, '"')), cursor);
}

/* The cursor is older than what is kept, or of another time. */
static void
refuse_cursor(struct exchange *x, uint64_t oldest, const char *text)
{
	struct buf *b = &x->out;

	buf_clear(b);
	json_object(b, NULL);
	json_str(b, "error", str_of(text));
	json_str(b, "code", STR("gone"));
	json_str(b, "oldest", arena_printf(&x->arena, "%llu",
	    (unsigned long long)oldest));
	buf_put_char(b, '}');
	x->status = 410;
	exchange_answer(x);
}

/* Where a request begins, and the events from there on. */
static enum err
look_events(struct exchange *x, struct item_store *st, struct why *w)
{
	struct wish *q = x->in;
	uint64_t newest;

	buf_clear(&x->out);
	enum err e = item_query_cursor(st, &newest, w);
	if (e != OK)
		return e;
	if (q->since == CURSOR_NOW)
		q->since = newest;
	q->last = q->since;
	if (q->since > newest) {
		q->last = newest;
		return why_field(w, ERR_ABSENT, "since",
		    "no event has that cursor so far");
	}
	return item_query_events(st, q->since, &q->filter, q->limit, &x->out,
	    &q->last, w);
}

static void
looked(struct items_read *r, void (*then)(struct exchange *))
{
	struct exchange *x = CONTAINER(r, struct exchange, read);
	const struct wish *q = x->in;

	if (r->result == ERR_ABSENT)
		refuse_cursor(x, q->last, r->why.text);
	else if (r->result != OK)
		exchange_refuse(x, r->result, &r->why);
	else
		then(x);
}

/* False: it is refused. */
static bool
take_reader(struct exchange *x)
{
	struct items_door *d = x->door;
	struct why w = WHY_INIT;

	if (d->readers < d->limits.event_readers_max && !d->stopping) {
		d->readers++;
		items_meter_readers(1);
		return true;
	}
	x->refusal = 503;
	x->refusal_code = "limit";
	enum err e = why_field(&w, ERR_FULL, "readers", "%u follow the events "
	    "already", d->readers);
	exchange_refuse(x, e, &w);
	return false;
}

static void
leave_reader(struct items_door *d)
{
	d->readers--;
	items_meter_readers(-1);
}

/* -- Reads that followers share -- */

/* "id: CURSOR", then the line as data (HTML standard, 9.2.6). */
static void
put_event(struct buf *out, struct str line)
{
	uint64_t cursor;

	if (line_cursor(line, &cursor))
		buf_printf(out, "id: %llu\n", (unsigned long long)cursor);
	buf_put_text(out, "data: ");
	buf_put_str(out, line);
	buf_put_text(out, "\n\n");
}

static void
put_events(struct buf *out, struct str lines)
{
	struct str line;

	while (lines.n > 0 && str_split(&lines, '\n', &line))
		if (line.n > 0)
			put_event(out, line);
}

static void
read_done(struct items_read *items)
{
	struct event_read *r = CONTAINER(items, struct event_read, items);
	struct items_door *d = r->door;

	list_take(&r->node);
	while (!list_empty(&r->members)) {
		struct follower *f = LIST_POP(&r->members, struct follower,
		    member);
		f->read = NULL;
		f->take(f, r);
	}
	buf_free(&r->items.out);
	buf_free(&r->framed);
	arena_free(&r->items.arena);
	arena_free(&r->arena);
	mem_free(&r);
	drain_gate_leave(&d->asked);
}

static enum err
read_events(struct items_read *items, struct item_store *st, struct why *w)
{
	struct event_read *r = CONTAINER(items, struct event_read, items);

	buf_clear(&items->out);
	buf_clear(&r->framed);
	enum err e = item_query_events(st, r->since, &r->filter,
	    ITEMS_EVENTS_MAX, &items->out, &r->last, w);
	if (e == OK)
		put_events(&r->framed, buf_str(&items->out));
	return e;
}

/* It outlives the follower that it was begun for. */
static struct event_read *
begin_read(struct follower *f)
{
	struct event_read *r = mem_new(sizeof(*r));
	const struct event_filter *q = &f->filter;

	r->door = f->door;
	r->since = f->cursor;
	r->key = arena_copy(&r->arena, f->key);
	r->filter = (struct event_filter){
		.types = arena_copy_list(&r->arena, q->types, q->types_n),
		.tags = arena_copy_list(&r->arena, q->tags, q->tags_n),
		.tasks = arena_copy_list(&r->arena, q->tasks, q->tasks_n),
		.types_n = q->types_n, .tags_n = q->tags_n,
		.tasks_n = q->tasks_n,
	};
	list_init(&r->members);
	list_put(&f->door->event_reads, &r->node);
	drain_gate_enter(&f->door->asked);
	r->items.run = read_events;
	r->items.done = read_done;
	r->items.why = WHY_INIT;
	items_read(f->door->items, &r->items);
	return r;
}

/* Read what is behind its cursor, unless that is under way or nothing is. */
static void
follower_read(struct follower *f)
{
	if (f->read != NULL || f->cursor >= f->door->newest)
		return;
	LIST_EACH(r, &f->door->event_reads, struct event_read, node)
		if (r->since == f->cursor && str_eq(r->key, f->key))
			f->read = r;
	if (f->read == NULL)
		f->read = begin_read(f);
	list_put(&f->read->members, &f->member);
}

static struct str
filter_key(struct arena *a, const struct event_filter *f)
{
	const struct str *const lists[] = { f->types, f->tags, f->tasks };
	const size_t n[] = { f->types_n, f->tags_n, f->tasks_n };
	FREED(buf_free) struct buf b = BUF_INIT;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		for (size_t k = 0; k < n[i]; k++)
			buf_put_field(&b, lists[i][k]);
		buf_put_char(&b, '\n');
	}
	return arena_copy(a, buf_str(&b));
}

static void
follower_init(struct follower *f, struct exchange *x,
    void (*take)(struct follower *, const struct event_read *))
{
	const struct wish *q = x->in;

	*f = (struct follower){ .door = x->door, .filter = q->filter,
		.key = filter_key(&x->arena, &q->filter), .take = take };
	list_init(&f->member);
}

/* -- Streams -- */

static void
free_stream(struct event_stream *s)
{
	struct exchange *x = s->x;

	list_take(&s->node);
	list_take(&s->follower.member);
	leave_reader(x->door);
	buf_free(&s->waiting);
	buf_free(&s->held);
	mem_free(&s);
	exchange_free(&x);
}

static size_t
behind(const struct event_stream *s)
{
	return s->waiting.n - s->at;
}

/* Drop everything after the event being sent and close: the client is too slow.
 * It reconnects with the id of its last event. */
static void
cut_lagged(struct event_stream *s)
{
	struct str rest = str_from(buf_str(&s->waiting), s->at);
	size_t end = s->inside ? str_find(rest, STR("\n\n")) + 2 : 0;

	s->waiting.n = s->at + MIN(end, rest.n);
	buf_put_text(&s->waiting, "event: lagged\ndata: {}\n\n");
	s->over = true;
	items_meter_lagged();
}

/* Read on, if the client is not too far behind. */
static void
stream_read(struct event_stream *s)
{
	if (!s->over && (s->live || behind(s) <= ITEMS_STREAM_AHEAD))
		follower_read(&s->follower);
}

static void
stream_take(struct follower *f, const struct event_read *r)
{
	struct event_stream *s = CONTAINER(f, struct event_stream, follower);

	if (r->items.result == OK) {
		buf_put_str(&s->waiting, buf_str(&r->framed));
		buf_put_str(&s->waiting, buf_str(&s->held));
		f->cursor = r->last;
	} else if (r->items.result == ERR_ABSENT) {
		cut_lagged(s);
	}
	buf_clear(&s->held);
	s->over |= r->items.result != OK;
	s->live |= f->cursor >= f->door->newest;
	if (!s->over && s->live && behind(s) > ITEMS_STREAM_BEHIND_MAX)
		cut_lagged(s);
	stream_read(s);
	web_pull_wake(&s->pull);
}

static bool
pull_events(struct web_pull *p, struct buf *out, size_t room)
{
	struct event_stream *s = CONTAINER(p, struct event_stream, pull);
	struct str part = str_cut(buf_str(&s->waiting), s->at, s->at + room);

	buf_put_str(out, part);
	s->at += part.n;
	if (part.n > 0) {
		s->said = loop_now(s->x->door->host->home);
		s->inside = !str_ends(str_cut(buf_str(&s->waiting), 0, s->at),
		    STR("\n\n"));
	}
	if (s->at == s->waiting.n) {
		buf_clear(&s->waiting);
		s->at = 0;
	} else if (s->at > ITEMS_STREAM_BEHIND_MAX) {
		s->waiting.n -= s->at;
		memmove(s->waiting.p, s->waiting.p + s->at, s->waiting.n);
		s->at = 0;
	}
	stream_read(s);
	return !s->over || behind(s) > 0;
}

static void
end_events(struct web_pull *p)
{
	free_stream(CONTAINER(p, struct event_stream, pull));
}

static void
send_stream(struct exchange *x)
{
	const struct wish *q = x->in;
	struct items_door *d = x->door;
	struct event_stream *s = mem_new(sizeof(*s));

	follower_init(&s->follower, x, stream_take);
	s->follower.cursor = q->last;
	s->x = x;
	s->said = loop_now(d->host->home);
	list_put(&d->streams, &s->node);
	/* So that the head leaves, and the client knows that it is heard. */
	buf_put_text(&s->waiting, ": events of items\nretry: 1000\n\n");
	put_events(&s->waiting, buf_str(&x->out));
	buf_free(&x->out);
	s->live = q->last >= d->newest;
	s->over = d->stopping;
	s->pull.pull = pull_events;
	s->pull.end = end_events;
	web_answer_pull(x->request, 200, SSE_TYPE, UINT64_MAX, &s->pull);
}

static void
stream_begun(struct items_read *r)
{
	struct exchange *x = CONTAINER(r, struct exchange, read);

	if (r->result != OK)
		leave_reader(x->door);
	looked(r, send_stream);
}

static void
tick(struct timer *t)
{
	struct items_door *d = CONTAINER(t, struct items_door, tick);
	struct mono now = loop_now(d->host->home);
	struct list *next;

	for (struct list *n = d->streams.next; n != &d->streams; n = next) {
		struct event_stream *s = LIST_ITEM(n, struct event_stream,
		    node);
		next = n->next;
		if (!web_may(s->x->request, TOKEN_DOOR_ITEMS, TOKEN_READ))
			s->over = true;
		else if (behind(s) > 0 || (!web_has_left(s->x->request) &&
		    mono_ns_between(s->said, now) <
		    ITEMS_COMMENT_MS * NS_PER_MS))
			continue;
		else
			buf_put_text(&s->waiting, ":\n\n");
		web_pull_wake(&s->pull);
	}
	loop_timer_set(d->host->home, &d->tick, mono_add_ms(now, TICK_MS));
}

void
event_stream_open(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct wish *q = in.x->in = ARENA_NEW(&in.x->arena, struct wish);
	struct str last = STR_NONE;

	read_filter(&in, &q->filter);
	q->since = CURSOR_NOW;
	q->limit = ITEMS_EVENTS_MAX;
	read_cursor(&in, input_param(&in, "since"), "since", &q->since);
	/* A browser that comes back names it here; it is the newer one. */
	(void)web_field(r, "last-event-id", &last);
	if (last.n > 0)
		read_cursor(&in, last, "last-event-id", &q->since);
	if (!input_end(&in) || !take_reader(in.x))
		return;
	exchange_read_to(in.x, look_events, stream_begun);
}

/* -- Updates: one answer -- */

static void
answer_update(struct update *u, struct str lines, uint64_t last)
{
	struct exchange *x = u->x;
	char cursor[24];

	snprintf(cursor, sizeof(cursor), "%llu", (unsigned long long)last);
	loop_timer_stop(x->door->host->home, &u->timer);
	list_take(&u->node);
	list_take(&u->follower.member);
	leave_reader(x->door);
	web_add_field(x->request, "argiope-cursor", cursor);
	web_answer(x->request, 200, LINES_TYPE, lines);
	exchange_free(&x);
}

/* No more than the client wants; `*last` is then the cursor of the last one. */
static struct str
cut_lines(struct str lines, unsigned limit, uint64_t *last)
{
	size_t at = 0;

	for (unsigned i = 0; i < limit && at < lines.n; i++) {
		struct str rest = str_from(lines, at);
		size_t end = str_find_char(rest, '\n') + 1;
		if (i + 1 == limit && at + end < lines.n)
			(void)line_cursor(rest, last);
		at += end;
	}
	return str_cut(lines, 0, at);
}

static void
update_take(struct follower *f, const struct event_read *r)
{
	struct update *u = CONTAINER(f, struct update, follower);
	struct exchange *x = u->x;
	const struct wish *q = x->in;
	uint64_t last = r->last;

	if (r->items.result != OK) {
		list_take(&u->node);
		loop_timer_stop(x->door->host->home, &u->timer);
		leave_reader(x->door);
		exchange_refuse(x, r->items.result, &r->items.why);
		return;
	}
	struct str lines = cut_lines(buf_str(&r->items.out), q->limit, &last);
	f->cursor = last;
	if (lines.n > 0)
		answer_update(u, lines, last);
	else
		follower_read(f);
}

/* The first look: it may find something, or refuse the cursor. */
static void
update_found(struct exchange *x)
{
	struct update *u = x->more;
	const struct wish *q = x->in;

	u->follower.cursor = q->last;
	if (x->out.n > 0 || q->wait_ms == 0 || x->door->stopping) {
		answer_update(u, buf_str(&x->out), q->last);
		return;
	}
	u->waits = true;
	loop_timer_set(x->door->host->home, &u->timer, mono_add_ms(
	    loop_now(x->door->host->home), q->wait_ms));
	follower_read(&u->follower);
}

static void
update_looked(struct items_read *r)
{
	struct exchange *x = CONTAINER(r, struct exchange, read);
	struct update *u = x->more;

	if (r->result != OK) {
		list_take(&u->node);
		leave_reader(x->door);
	}
	looked(r, update_found);
}

static void
update_late(struct timer *t)
{
	struct update *u = CONTAINER(t, struct update, timer);

	answer_update(u, STR(""), u->follower.cursor);
}

void
event_stream_updates(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct wish *q = in.x->in = ARENA_NEW(&in.x->arena, struct wish);

	read_filter(&in, &q->filter);
	q->since = CURSOR_NOW;
	read_cursor(&in, input_param(&in, "since"), "since", &q->since);
	q->limit = (unsigned)input_number(&in, "limit", ITEMS_EVENTS_MAX, 1,
	    ITEM_LIST_MAX);
	q->wait_ms = (int64_t)input_number(&in, "wait_ms", 0, 0,
	    ITEMS_WAIT_MS_MAX);
	if (!input_end(&in) || !take_reader(in.x))
		return;
	struct update *u = in.x->more = mem_new(sizeof(*u));
	u->x = in.x;
	u->timer.fire = update_late;
	follower_init(&u->follower, in.x, update_take);
	list_put(&in.x->door->updates, &u->node);
	exchange_read_to(in.x, look_events, update_looked);
}

/* -- The door's part -- */

static void
committed(struct items_listener *l, uint64_t cursor)
{
	struct items_door *d = CONTAINER(l, struct items_door, listener);

	d->newest = MAX(d->newest, cursor);
	LIST_EACH(s, &d->streams, struct event_stream, node)
		stream_read(s);
	LIST_EACH(u, &d->updates, struct update, node)
		if (u->waits)
			follower_read(&u->follower);
}

static bool
matches(const struct str *words, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (task_matches(words[i], name))
			return true;
	return n == 0;
}

/*
 * An event that is not stored: it has no cursor, and no tags.  Streams that are
 * up to date get it, behind the stored ones that they are reading.
 */
static void
live_event(struct items_listener *l, struct str json)
{
	struct items_door *d = CONTAINER(l, struct items_door, listener);
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct str type = json_text(yyjson_obj_get(root, "type"));
	struct str task = json_text(yyjson_obj_get(root, "task"));

	LIST_EACH(s, &d->streams, struct event_stream, node) {
		const struct event_filter *f = &s->follower.filter;
		if (s->over || !s->live || f->tags_n > 0 ||
		    behind(s) + s->held.n > ITEMS_STREAM_AHEAD ||
		    !matches(f->types, f->types_n, type) ||
		    !matches(f->tasks, f->tasks_n, task))
			continue;
		bool reads = s->follower.read != NULL;
		put_event(reads ? &s->held : &s->waiting, json);
		if (!reads)
			web_pull_wake(&s->pull);
	}
	yyjson_doc_free(doc);
}

void
event_stream_start(struct items_door *d)
{
	d->listener.committed = committed;
	d->listener.live = live_event;
	d->newest = items_cursor(d->items);
	d->tick.fire = tick;
	items_listen(d->items, &d->listener);
	loop_timer_set(d->host->home, &d->tick, mono_add_ms(clock_mono(),
	    TICK_MS));
}

void
event_stream_stop(struct items_door *d)
{
	struct list *next;

	for (struct list *n = d->streams.next; n != &d->streams; n = next) {
		struct event_stream *s = LIST_ITEM(n, struct event_stream,
		    node);
		next = n->next;
		s->over = true;
		web_pull_wake(&s->pull);
	}
	for (struct list *n = d->updates.next; n != &d->updates; n = next) {
		struct update *u = LIST_ITEM(n, struct update, node);
		next = n->next;
		if (u->waits)
			answer_update(u, STR(""), u->follower.cursor);
	}
}

void
event_stream_end(struct items_door *d)
{
	loop_timer_stop(d->host->home, &d->tick);
	items_unlisten(&d->listener);
}
