/*
 * The life of a run:
 *
 *     BEGINS ─► the policy `default` ─► a crawl is launched ─► READS
 *
 *     READS: list a piece of captures ─► compare ─► make documents ─► GIVES
 *               ▲                          each with the earlier crawl     │
 *               └──────────────────────────────────── taken ◄──────────────┘
 *
 *     ENDS ◄── the crawl is over, and the batch that says so was taken
 *
 * One question to the engine is out at a time (`busy`), so that a run has
 * nothing to withdraw when it ends.  The cursor moves with batches alone.
 */
#include "engine/harvest/web_documents.h"

#include "base/json.h"
#include "engine/catalog/catalog_open.h"
#include "engine/control/control.h"
#include "engine/external/web_document.h"
#include "engine/harvest/web_documents_cursor.h"
#include "engine/harvest/web_documents_plan.h"
#include "engine/parser/parse.h"
#include "os/clock.h"
#include "os/log.h"

#define NO_CRAWL WEB_DOCUMENTS_NO_CRAWL

struct web_documents {
	struct engine *engine;
	struct loop *home;
	struct registry_watch watch;
	struct list runs;            /* struct web_run */
};

enum web_state { WEB_BEGINS, WEB_READS, WEB_GIVES, WEB_ENDS };

/* Documents of a piece, made on the pool. */
struct web_batch {
	struct read_task task;
	struct arena arena;
	struct document list[WEB_DOCUMENTS_PIECE_MAX];
	size_t n, bytes;
	size_t looked;               /* captures of the piece */
	uint64_t broken;
};

struct web_run {
	struct web_documents *all;
	struct list node;
	struct web_documents_options options;
	struct arena arena;
	enum web_state state;
	bool busy;                   /* a question to the engine is out */
	bool stopped;
	struct web_documents_plan plan;
	struct web_documents_cursor at;      /* behind what was given */
	struct buf next;             /* the cursor of the batch */
	uint64_t looked, given, broken;
	/* Questions to the engine. */
	struct store_request store;
	struct buf policy;
	struct launch launch;
	struct crawl_order order;
	struct delete_request removal;           /* of a check */
	struct captures_query piece; /* its answer stays until the next one */
	bool wanted[WEB_DOCUMENTS_PIECE_MAX];    /* of the piece */
	size_t compared;             /* captures of the piece */
	struct url_query url;        /* of the earlier crawl */
	struct captures_query earlier;           /* likewise */
	struct web_batch batch;
	struct document_end end;
	struct mail begin_mail, end_mail;
};

static void read_on(struct web_run *);

/* ---- The end -------------------------------------------------------- */

static void
deliver_end(struct mail *m)
{
	struct web_run *r = CONTAINER(m, struct web_run, end_mail);

	r->options.ended(r->options.arg, &r->end);
}

static const struct crawl_row *row_of(const struct web_run *, uint32_t crawl);

static void
crawl_deleted(struct delete_request *q)
{
	struct web_run *r = CONTAINER(q, struct web_run, removal);

	r->busy = false;
	if (q->why.err != OK && q->why.err != ERR_ABSENT)
		log_warn("harvest.web_documents", "crawl=%u why=%s", q->crawl,
		    log_why(&q->why));
	loop_send(r->all->home, &r->end_mail, deliver_end);
}

static void
end_run(struct web_run *r, enum document_end_kind kind)
{
	r->state = WEB_ENDS;
	r->end.kind = kind;
	if (!r->options.is_check || row_of(r, r->at.crawl) == NULL ||
	    engine_is_closing(r->all->engine)) {
		loop_send(r->all->home, &r->end_mail, deliver_end);
		return;
	}
	r->busy = true;
	r->removal = (struct delete_request){ .crawl = r->at.crawl,
	    .done = crawl_deleted };
	crawl_delete(r->all->engine, &r->removal);
}

static void
fail_run(struct web_run *r, const struct why *w)
{
	enum document_fault fault = DOCUMENT_SYSTEM;

	if (w->err == ERR_CLOSED) {
		end_run(r, DOCUMENTS_INTERRUPTED);
		return;
	}
	if (w->err == ERR_INPUT)
		fault = DOCUMENT_CONFIG;
	else if (w->err == ERR_FULL || w->err == ERR_DISK_FULL)
		fault = DOCUMENT_TRANSIENT;
	r->end = (struct document_end){ .fault = fault,
	    .code = fault == DOCUMENT_CONFIG ? STR("bad_request") :
	    STR("unknown_error"),
	    .text = arena_copy(&r->arena, str_of(w->text)) };
	end_run(r, DOCUMENTS_FAILED);
}

static const struct crawl_row *
row_of(const struct web_run *r, uint32_t crawl)
{
	const struct crawl_row *row = crawl == NO_CRAWL ? NULL :
	    crawl_row(engine_registry(r->all->engine), crawl);

	return row == NULL || row->deleted ? NULL : row;
}

/* 0: there is no such crawl. */
static uint64_t
created_us(const struct web_run *r, uint32_t crawl)
{
	const struct crawl_row *row = row_of(r, crawl);

	return row == NULL ? 0 : (uint64_t)row->view.created.us;
}

static void
crawl_stopped(struct crawl_order *o)
{
	struct web_run *r = CONTAINER(o, struct web_run, order);

	r->busy = false;
	if (o->why.err != OK && o->why.err != ERR_ABSENT)
		log_warn("harvest.web_documents", "crawl=%u why=%s", o->crawl,
		    log_why(&o->why));
	end_run(r, DOCUMENTS_STOPPED);
}

static void
stop_crawl(struct web_run *r)
{
	if (row_of(r, r->at.crawl) == NULL) {
		end_run(r, DOCUMENTS_STOPPED);
		return;
	}
	r->busy = true;
	r->order = (struct crawl_order){ .crawl = r->at.crawl,
	    .want = CRAWL_CANCELLED, .reason = CRAWL_BY_CLIENT,
	    .done = crawl_stopped };
	crawl_set_state(r->all->engine, &r->order);
}

/* An answer of the engine has come.  False: the run ends. */
static bool
take_answer(struct web_run *r)
{
	r->busy = false;
	if (r->stopped)
		stop_crawl(r);
	else if (engine_is_closing(r->all->engine))
		end_run(r, DOCUMENTS_INTERRUPTED);
	else
		return true;
	return false;
}

/* ---- The crawl ------------------------------------------------------ */

static void
crawl_began(struct launch *l)
{
	struct web_run *r = l->arg;

	/* A cancelled crawl with the same key keeps its place. */
	if (l->why.err == OK && l->crawl != r->at.crawl) {
		r->at.crawl = l->crawl;
		r->at.crawl_created = created_us(r, l->crawl);
		r->at.captures = 0;
	}
	if (!take_answer(r))
		return;
	if (l->why.err != OK) {
		fail_run(r, &l->why);
		return;
	}
	r->state = WEB_READS;
	read_on(r);
}

static void
launch_crawl(struct web_run *r)
{
	r->busy = true;
	r->launch = (struct launch){ .spec.kind = CRAWL_CRAWL,
	    .spec.name = r->options.name, .spec.key = r->options.key,
	    .spec.policy = buf_str(&r->policy), .seeds = r->plan.seeds,
	    .seeds_n = r->plan.seeds_n, .done = crawl_began, .arg = r };
	crawl_launch(r->all->engine, &r->launch);
}

static void
policy_came(struct store_request *s)
{
	struct web_run *r = s->arg;
	struct why w = s->why;

	enum err e = w.err == OK ? web_documents_plan_policy(&r->plan,
	    s->policy.json, &r->policy, &w) : w.err;
	arena_free(&s->arena);
	if (!take_answer(r))
		return;
	if (e == OK)
		launch_crawl(r);
	else
		fail_run(r, &w);
}

static void
begin_crawl(struct web_run *r)
{
	r->busy = true;
	r->store = (struct store_request){ .verb = STORE_POLICY_GET,
	    .name = STR(STORE_POLICY_DEFAULT), .done = policy_came,
	    .arg = r };
	engine_store(r->all->engine, &r->store);
}

/* ---- Batches -------------------------------------------------------- */

static void
give_batch(struct web_run *r, uint64_t captures, bool ended)
{
	r->at.captures = captures;
	r->at.ended = ended;
	buf_clear(&r->next);
	web_documents_cursor_put(&r->at, &r->next);
	const struct document_batch b = { r->batch.list, r->batch.n,
	    buf_str(&r->next) };
	r->given += b.n;
	r->state = WEB_GIVES;
	r->options.batch(r->options.arg, &b);
}

static void
clear_batch(struct web_run *r)
{
	arena_reset(&r->batch.arena);
	r->batch.n = r->batch.bytes = r->batch.looked = 0;
}

void
web_documents_taken(struct web_run *r)
{
	if (r->state != WEB_GIVES || r->stopped)
		return;
	clear_batch(r);
	if (r->at.ended) {
		end_run(r, DOCUMENTS_DONE);
		return;
	}
	r->state = WEB_READS;
	read_on(r);
}

/* ---- Documents, on the pool ----------------------------------------- */

static struct str
field_of(const struct capture *c, struct str name)
{
	return c->has_http ? http_find(&c->http, name) : STR_NONE;
}

static void
put_document(struct web_batch *b, struct parser *parser,
    const struct journal_entry *e, const struct capture *c, struct str body)
{
	FREED(buf_free) struct buf json = BUF_INIT;
	const struct web_document_page page = {
		.id = e->url, .url = e->final_url, .status = e->status,
		.fetched = e->start, .body = body,
		.content_type = field_of(c, STR("Content-Type")),
		.content_language = field_of(c, STR("Content-Language")),
		.nosniff = str_eq_nocase(field_of(c,
		    STR("X-Content-Type-Options")), STR("nosniff")),
		.cpu_ns = clock_thread_cpu_ns };

	enum err err = web_document_put(parser, &page, &json, NULL);
	b->broken += err != OK && err != ERR_ABSENT;
	if (err != OK)
		return;
	b->list[b->n++] = (struct document){
		.id = arena_copy(&b->arena, e->url),
		.date = { .at = e->start, .has_zone = true, .has_time = true,
		    .known = true },
		.json = arena_copy(&b->arena, buf_str(&json)) };
	b->bytes += json.n;
}

/* Reads as much of the body as can be decoded. */
static void
make_document(struct web_batch *b, struct parser *parser,
    const struct journal_entry *e)
{
	struct record_reader *reader = b->task.reader;
	const struct http_decode_limits limits = {
		WEB_DOCUMENTS_BODY_BYTES_MAX,
		HTTP_DECODE_LIMITS_DEFAULT.ratio_max };
	struct why w = WHY_INIT;
	struct capture c;

	if (record_reader_read(reader, e, &c, &w) != OK) {
		log_warn("harvest.web_documents", "crawl=%u item=%llu "
		    "why=%s", e->crawl, (unsigned long long)e->seq,
		    log_why(&w));
		b->broken++;
		return;
	}
	buf_clear(&reader->body);
	(void)capture_decode(&c, limits, &reader->body);
	put_document(b, parser, e, &c, str_cut(buf_str(&reader->body), 0,
	    (size_t)limits.bytes_max));
}

static void
make_documents(struct read_task *task)
{
	struct web_batch *b = CONTAINER(task, struct web_batch, task);
	struct web_run *r = CONTAINER(b, struct web_run, batch);
	FREED(parser_free) struct parser *parser = parser_new();

	for (size_t i = 0; i < r->piece.n &&
	    b->bytes < WEB_DOCUMENTS_BATCH_BYTES_MAX; i++) {
		if (r->wanted[i])
			make_document(b, parser, &r->piece.pages[i]);
		b->looked = i + 1;
	}
}

static void
documents_made(struct read_task *task)
{
	struct web_batch *b = CONTAINER(task, struct web_batch, task);
	struct web_run *r = CONTAINER(b, struct web_run, batch);

	r->looked += b->looked;
	r->broken += b->broken;
	b->broken = 0;
	if (!take_answer(r))
		return;
	if (b->n > 0) {
		give_batch(r, r->at.captures + b->looked, false);
		return;
	}
	/* The cursor of the next batch includes them. */
	r->at.captures += b->looked;
	clear_batch(r);
	read_on(r);
}

/* ---- Captures ------------------------------------------------------- */

/* It may have a document. */
static bool
may_be_page(const struct journal_entry *e)
{
	static const char *const others[] = { "image/", "video/", "audio/",
		"font/" };

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (str_starts_nocase(e->type, str_of(others[i])))
			return false;
	return e->file != 0 && e->status >= 200 && e->status <= 299 &&
	    !(e->flags & JOURNAL_EMBED);
}

static bool
is_unchanged(const struct journal_entry *e, const struct captures_query *q,
    uint64_t number)
{
	return q->why.err == OK && q->n == 1 && q->pages[0].seq == number &&
	    q->pages[0].status >= 200 && q->pages[0].status <= 299 &&
	    e->digest.kind != DIGEST_NONE &&
	    digest_eq(&q->pages[0].digest, &e->digest);
}

static void compare_next(struct web_run *);

static void
earlier_came(struct captures_query *q)
{
	struct web_run *r = CONTAINER(q, struct web_run, earlier);
	const struct journal_entry *e = &r->piece.pages[r->compared];

	r->wanted[r->compared++] = !is_unchanged(e, q, q->start + 1);
	arena_free(&q->arena);
	if (take_answer(r))
		compare_next(r);
}

static void
url_came(struct url_query *q)
{
	struct web_run *r = CONTAINER(q, struct web_run, url);
	uint64_t number = q->why.err == OK ? q->number : 0;

	arena_free(&q->arena);
	if (!take_answer(r))
		return;
	if (number == 0) {
		r->compared++;
		compare_next(r);
		return;
	}
	r->busy = true;
	r->earlier = (struct captures_query){ .crawl = r->at.base,
	    .start = number - 1, .size = 1, .done = earlier_came };
	catalog_captures(engine_catalog(r->all->engine), &r->earlier);
}

/* The next capture of the piece that may be in the earlier crawl. */
static void
compare_next(struct web_run *r)
{
	bool compares = row_of(r, r->at.base) != NULL;

	while (r->compared < r->piece.n && !(compares &&
	    r->wanted[r->compared]))
		r->compared++;
	r->busy = true;
	if (r->compared < r->piece.n) {
		r->url = (struct url_query){ .crawl = r->at.base,
		    .url = r->piece.pages[r->compared].url,
		    .done = url_came };
		catalog_url(engine_catalog(r->all->engine), &r->url);
	} else {
		r->batch.task.run = make_documents;
		r->batch.task.done = documents_made;
		read_task_put(catalog_tasks(engine_catalog(r->all->engine)),
		    &r->batch.task);
	}
}

static void
piece_came(struct captures_query *q)
{
	struct web_run *r = CONTAINER(q, struct web_run, piece);

	if (!take_answer(r))
		return;
	if (q->why.err != OK) {
		fail_run(r, &q->why);
		return;
	}
	if (q->n == 0) {
		/* Its entry is damaged. */
		r->at.captures++;
		r->broken++;
		read_on(r);
		return;
	}
	for (size_t i = 0; i < q->n; i++)
		r->wanted[i] = may_be_page(&q->pages[i]);
	r->compared = 0;
	compare_next(r);
}

static void
read_piece(struct web_run *r, uint64_t items)
{
	r->busy = true;
	arena_free(&r->piece.arena);
	r->piece = (struct captures_query){ .crawl = r->at.crawl,
	    .start = r->at.captures, .size = (size_t)MIN(items -
	    r->at.captures, WEB_DOCUMENTS_PIECE_MAX), .done = piece_came };
	catalog_captures(engine_catalog(r->all->engine), &r->piece);
}

/* ---- The crawl is over ---------------------------------------------- */

static void
note_failures(const struct web_run *r, const struct crawl_row *row)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	uint64_t n = crawl_exceptions(&row->view.counts);

	if (n == 0 || r->options.note == NULL)
		return;
	buf_printf(&text, "%llu address%s could not be fetched",
	    (unsigned long long)n, n == 1 ? "" : "es");
	const struct document_note note = { "warning", STR("web_failures"),
		buf_str(&text) };
	r->options.note(r->options.arg, &note);
}

static void
finish_run(struct web_run *r, const struct crawl_row *row)
{
	FREED(buf_free) struct buf reason = BUF_INIT;
	struct why w = WHY_INIT;

	if (row == NULL || row->view.state == CRAWL_CANCELLED) {
		end_run(r, DOCUMENTS_INTERRUPTED);
	} else if (row->view.state == CRAWL_FAILED) {
		crawl_reason_put(str_of(row->view.reason), &reason);
		(void)why(&w, ERR_BROKEN, "the crawl has failed%s",
		    buf_text(&reason));
		fail_run(r, &w);
	} else {
		note_failures(r, row);
		give_batch(r, r->at.captures, true);
	}
}

static void
read_on(struct web_run *r)
{
	const struct crawl_row *row;

	if (r->state != WEB_READS || r->busy || r->stopped)
		return;
	if (engine_is_closing(r->all->engine)) {
		end_run(r, DOCUMENTS_INTERRUPTED);
		return;
	}
	row = row_of(r, r->at.crawl);
	if (row != NULL && r->at.captures < row->view.counts.items)
		read_piece(r, row->view.counts.items);
	else if (crawl_row_is_over(row))
		finish_run(r, row);
}

static void
crawls_changed(struct registry_watch *x)
{
	struct web_documents *all = CONTAINER(x, struct web_documents, watch);

	LIST_EACH(r, &all->runs, struct web_run, node)
		read_on(r);
}

/* ---- A run ---------------------------------------------------------- */

/* Whether the cursor's crawl can still give the rest of its pages. */
static bool
can_be_read_on(const struct web_run *r)
{
	const struct crawl_row *row = row_of(r, r->at.crawl);

	return row != NULL && row->view.state != CRAWL_CANCELLED &&
	    row->view.state != CRAWL_FAILED;
}

/* The cursor of a task that another daemon has had names crawls of that one;
 * those with the same numbers here may be anyone's. */
static void
leave_out_others(struct web_run *r)
{
	if (r->at.crawl_created == 0 ||
	    created_us(r, r->at.crawl) != r->at.crawl_created)
		r->at.crawl = NO_CRAWL;
	if (r->at.base_created == 0 ||
	    created_us(r, r->at.base) != r->at.base_created)
		r->at.base = NO_CRAWL;
}

static void
begin_run(struct web_run *r, struct str digest)
{
	if (r->at.ended && r->options.resumes) {
		end_run(r, DOCUMENTS_DONE);
		return;
	}
	leave_out_others(r);
	if (r->at.ended) {
		r->at.base = r->at.crawl;
		r->at.base_created = r->at.crawl_created;
	} else if (str_eq(r->at.params, digest) && can_be_read_on(r)) {
		r->state = WEB_READS;
	}
	r->at.ended = false;
	r->at.params = digest;
	if (r->state == WEB_BEGINS)
		begin_crawl(r);
}

static struct str
digest_text(struct str params, struct arena *a)
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	struct digest d;

	digest_of(DIGEST_SHA256, params, &d);
	digest_put_hex(&hex, d.bytes, digest_size(d.kind));
	return arena_copy(a, buf_str(&hex));
}

/* After web_documents_open() has returned: reads the captures so far. */
static void
begin_reading(struct mail *m)
{
	read_on(CONTAINER(m, struct web_run, begin_mail));
}

enum err
web_documents_open(struct web_documents *all,
    const struct web_documents_options *o, struct web_run **out,
    struct why *w)
{
	struct web_run *r = mem_new(sizeof(*r));

	r->all = all;
	r->options = *o;
	list_put(&all->runs, &r->node);
	enum err e = web_documents_plan_read(o->params, &r->arena, &r->plan,
	    w);
	if (e == OK)
		e = web_documents_cursor_read(o->cursor, &r->arena, &r->at, w);
	*out = r;
	if (e != OK) {
		web_documents_close(out);
		return e;
	}
	r->options.key = arena_copy(&r->arena, o->key);
	r->options.name = arena_copy(&r->arena, o->name);
	r->options.params = r->options.cursor = STR_NONE;
	begin_run(r, digest_text(o->params, &r->arena));
	if (r->state == WEB_READS)
		loop_send(all->home, &r->begin_mail, begin_reading);
	return OK;
}

void
web_documents_stop(struct web_run *r)
{
	if (r->state == WEB_ENDS || r->stopped)
		return;
	r->stopped = true;
	if (!r->busy)
		stop_crawl(r);
}

struct document_look
web_documents_look(const struct web_run *r)
{
	return (struct document_look){ .answers = r->looked,
	    .documents = r->given, .broken = r->broken };
}

void
web_documents_close(struct web_run **rp)
{
	struct web_run *r = *rp;

	if (r == NULL)
		return;
	list_take(&r->node);
	/* The engine may have been freed before it answered. */
	arena_free(&r->store.arena);
	arena_free(&r->piece.arena);
	arena_free(&r->url.arena);
	arena_free(&r->earlier.arena);
	buf_free(&r->policy);
	buf_free(&r->next);
	arena_free(&r->batch.arena);
	arena_free(&r->arena);
	mem_free(rp);
}

/* After the end of a run the next one needs only that run's crawl. */
size_t
web_documents_crawls(struct str cursor,
    uint32_t crawls[static WEB_DOCUMENTS_CURSOR_CRAWLS_MAX])
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct web_documents_cursor c;
	size_t n = 0;

	if (web_documents_cursor_read(cursor, &a, &c, NULL) != OK)
		return 0;
	if (c.crawl != NO_CRAWL)
		crawls[n++] = c.crawl;
	if (c.base != NO_CRAWL && !c.ended)
		crawls[n++] = c.base;
	return n;
}

size_t
web_documents_list_crawls(const struct web_documents *all, struct str prefix,
    uint32_t *below, struct web_crawl *list, size_t most)
{
	const struct crawl_registry *registry = engine_registry(all->engine);
	size_t n = 0;

	for (size_t i = 0; i < WEB_DOCUMENTS_LOOKS_MAX && n < most; i++) {
		const struct crawl_row *row = crawl_registry_below(registry,
		    *below);
		if (row == NULL) {
			*below = UINT32_MAX;
			break;
		}
		*below = row->id;
		if (!row->deleted && row->view.kind == CRAWL_CRAWL &&
		    crawl_row_is_over(row) && str_starts(row->key, prefix))
			list[n++] = (struct web_crawl){ row->id, row->key,
			    row->view.ended };
	}
	return n;
}

/* ---- All of them ---------------------------------------------------- */

struct web_documents *
web_documents_new(struct engine *engine, struct loop *home)
{
	struct web_documents *all = mem_new(sizeof(*all));

	all->engine = engine;
	all->home = home;
	all->watch.changed = crawls_changed;
	list_init(&all->runs);
	crawl_registry_watch(engine_registry(engine), &all->watch);
	return all;
}

/* The registry, and with it its list of watches, is gone. */
void
web_documents_free(struct web_documents **ap)
{
	mem_free(ap);
}
