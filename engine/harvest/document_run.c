/*
 * The life of a run:
 *
 *     BEGINS ─► ASKS ─► an answer: the driver is held ─► quiet ─► GIVES
 *                ▲                                                  │
 *                └── driver_go_on() ◄─── taken ◄────────────────────┤
 *     ENDS ◄── the driver has ended, and its last batch was taken ◄─┘
 *
 * The cursor moves with batches alone.  When the driver fails, what was found
 * since is dropped: the next run finds it again, from the cursor before it.
 *
 * With an archive the driver takes an answer when its records are durable.  So
 * they are older than the batch, and the caller's commit is younger than both.
 */
#include "engine/harvest/document_own.h"
#include "os/clock.h"
#include "wire/digest.h"

#define PARAM_INCREMENTAL "incremental"
/* Of the crawls that runs without an archive share. */
#define CRAWL_NAME "external"

const char *
document_fault_name(enum document_fault f)
{
	static const char *const names[] = { [DOCUMENT_SYSTEM] = "system",
		[DOCUMENT_CONFIG] = "config",
		[DOCUMENT_TRANSIENT] = "transient" };

	return names[f];
}

/* ---- The end -------------------------------------------------------- */

static void
deliver_end(struct mail *m)
{
	struct document_run *r = CONTAINER(m, struct document_run, end_mail);

	r->options.ended(r->options.arg, &r->end);
}

static void
end_run(struct document_run *r, enum document_end_kind kind)
{
	if (r->state == DOCUMENT_RUN_ENDS)
		return;
	r->state = DOCUMENT_RUN_ENDS;
	r->end.kind = kind;
	if (r->driver != NULL)
		driver_rest(r->driver);
	document_crawl_leave(&r->archive, kind != DOCUMENTS_INTERRUPTED &&
	    !(r->is_ending != NULL && *r->is_ending));
	loop_send(r->all->home, &r->end_mail, deliver_end);
}

static void
fail_run(struct document_run *r, enum document_fault fault, const char *code,
    struct str text)
{
	r->end = (struct document_end){ .fault = fault,
	    .code = arena_copy(&r->arena, str_of(code)),
	    .text = arena_copy(&r->arena, text) };
	end_run(r, DOCUMENTS_FAILED);
}

static enum document_fault
fault_of(enum driver_fault f)
{
	switch (f) {
	case DRIVER_FAULT_CONFIG:
		return DOCUMENT_CONFIG;
	case DRIVER_FAULT_TRANSIENT:
		return DOCUMENT_TRANSIENT;
	case DRIVER_FAULT_SYSTEM:
		break;
	}
	return DOCUMENT_SYSTEM;
}

/* The driver's last note is of the error. */
static void
end_by_failure(struct document_run *r)
{
	const struct totals *t = &r->totals;
	struct str code = STR("unknown_error"), text = STR_NONE;

	for (size_t i = 0; i < t->notes_n; i++)
		if (t->notes[i].level == TOTALS_ERROR) {
			code = t->notes[i].code;
			text = t->notes[i].text;
		}
	r->end = (struct document_end){ .code = code, .text = text,
	    .fault = fault_of(driver_look(r->driver).fault) };
	end_run(r, DOCUMENTS_FAILED);
}

/* ---- Batches -------------------------------------------------------- */

/* The connector's state for the next run, so far. */
static void
take_found(const struct document_run *r, struct arena *a,
    struct document_cursor *c)
{
	const struct totals_pairs *all = &r->totals.state;

	c->found = ARENA_ARRAY(a, struct connector_state, all->n);
	c->found_n = all->n;
	for (size_t i = 0; i < all->n; i++)
		c->found[i] = (struct connector_state){ all->list[i].key,
			all->list[i].value };
	if (all->n > 0)
		qsort(c->found, all->n, sizeof(*c->found), str_order);
}

static void
put_cursor(const struct document_run *r, struct buf *out)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf saved = BUF_INIT;
	struct document_cursor c = { .order = buf_str(&r->digest),
	    .from = r->began.from, .from_n = r->began.from_n,
	    .ended = driver_end(r->driver) == DRIVER_SUCCESS };

	take_found(r, &a, &c);
	driver_save(r->driver, &saved);
	c.saved = buf_str(&saved);
	document_cursor_put(&c, out);
}

static void
go_on(struct document_run *r)
{
	r->holds = false;
	if (driver_end(r->driver) != DRIVER_GOES_ON) {
		end_run(r, DOCUMENTS_DONE);
		return;
	}
	r->state = DOCUMENT_RUN_ASKS;
	driver_go_on(r->driver);
}

static void
clear_found(struct document_run *r)
{
	arena_reset(&r->found.arena);
	r->found.list = NULL;
	r->found.n = r->found.cap = 0;
}

static void
give_batch(struct document_run *r)
{
	buf_clear(&r->next);
	put_cursor(r, &r->next);
	if (r->next.n > DOCUMENT_CURSOR_BYTES_MAX) {
		fail_run(r, DOCUMENT_SYSTEM, "unknown_error", STR("the cursor "
		    "is longer than 4 MiB"));
		return;
	}
	if (r->found.n == 0 && str_eq(buf_str(&r->next), buf_str(&r->kept))) {
		go_on(r);
		return;
	}
	const struct document_batch b = { r->found.list, r->found.n,
	    buf_str(&r->next) };
	r->state = DOCUMENT_RUN_GIVES;
	r->given += b.n;
	r->options.batch(r->options.arg, &b);
}

void
document_run_taken(struct document_run *r)
{
	if (r->state != DOCUMENT_RUN_GIVES)
		return;
	buf_clear(&r->kept);
	buf_put_str(&r->kept, buf_str(&r->next));
	clear_found(r);
	go_on(r);
}

/* ---- The driver's calls --------------------------------------------- */

static void
tell_notes(struct document_run *r)
{
	static const char *const levels[] = { "info", "warning" };

	for (; r->notes_told < r->totals.notes_n; r->notes_told++) {
		const struct totals_note *n =
		    &r->totals.notes[r->notes_told];
		if (n->level == TOTALS_ERROR || r->options.note == NULL)
			continue;
		const struct document_note x = { levels[n->level], n->code,
		    n->text };
		r->options.note(r->options.arg, &x);
	}
}

static void
take_answered(void *arg, const struct driver_answered *x)
{
	struct document_run *r = arg;
	struct why w = WHY_INIT;

	if (document_items_take(r->items, x, &r->found, &w) != OK)
		totals_note(&r->totals, TOTALS_WARNING, STR("unknown_error"),
		    str_of(w.text), STR_NONE);
}

static void
tell_called(void *arg, const struct driver_called *x)
{
	const struct document_run *r = arg;
	const struct document_call call = { x->method, x->url, x->status,
	    x->failure };

	if (r->options.called != NULL)
		r->options.called(r->options.arg, &call);
}

/* An answer may have come: no other call leaves before it was taken. */
static void
driver_moved(void *arg)
{
	struct document_run *r = arg;
	uint64_t answers = driver_look(r->driver).calls;

	tell_notes(r);
	if (answers == r->answers || r->holds)
		return;
	r->answers = answers;
	r->holds = true;
	driver_hold(r->driver);
}

static void
take_next_credential(struct document_run *r)
{
	struct document_credential *c = &r->next_credential;

	if (!r->has_next_credential)
		return;
	r->has_next_credential = false;
	r->text.order.credentials = c->credentials;
	r->text.order.credentials_n = c->credentials_n;
	r->text.secrets = c->secrets;
	r->text.secrets_n = c->secrets_n;
	if (r->driver != NULL)
		driver_set_secrets(r->driver, c->secrets, c->secrets_n);
	secret_memory_free(&r->secrets);
	r->secrets = c->memory;
	c->memory = SECRET_MEMORY_INIT;
}

static void
driver_quiet(void *arg)
{
	struct document_run *r = arg;
	enum driver_end end = driver_end(r->driver);

	if (r->state != DOCUMENT_RUN_ASKS)
		return;
	take_next_credential(r);
	if (r->stopped)
		end_run(r, DOCUMENTS_STOPPED);
	else if (end == DRIVER_FAILURE)
		end_by_failure(r);
	else if (r->holds || end == DRIVER_SUCCESS)
		give_batch(r);
	else
		end_run(r, DOCUMENTS_INTERRUPTED);
}

/* ---- The beginning -------------------------------------------------- */

static void
note_archive(const struct document_run *r, uint32_t crawl)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	if (r->archive == NULL || r->options.note == NULL)
		return;
	document_crawl_describe(crawl, &text);
	const struct document_note n = { "info", STR("archive"),
		buf_str(&text) };
	r->options.note(r->options.arg, &n);
}

static void
crawl_found(struct document_wait *x, uint32_t crawl, const struct why *w)
{
	struct document_run *r = CONTAINER(x, struct document_run, wait);

	if (w->err == ERR_CLOSED) {
		end_run(r, DOCUMENTS_INTERRUPTED);
	} else if (w->err != OK) {
		fail_run(r, DOCUMENT_SYSTEM, "unknown_error", str_of(w->text));
	} else {
		r->state = DOCUMENT_RUN_ASKS;
		note_archive(r, crawl);
		driver_start(r->driver, crawl, 0);
	}
}

static bool
takes_incremental(const struct connector *c)
{
	for (const struct connector_param *p = c->params; p != NULL &&
	    p->name != NULL; p++)
		if (strcmp(p->name, PARAM_INCREMENTAL) == 0)
			return true;
	return false;
}

/* A message, which has passed as it is, with that option. */
static struct str
add_incremental(struct str message, struct arena *a)
{
	yyjson_doc *doc = yyjson_read(message.p, message.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	yyjson_mut_doc *m = yyjson_doc_mut_copy(doc, NULL);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(m);
	yyjson_mut_val *options = yyjson_mut_obj_get(root, "options");
	size_t n;

	if (!yyjson_mut_is_obj(options)) {
		yyjson_mut_obj_remove_key(root, "options");
		options = yyjson_mut_obj_add_obj(m, root, "options");
	}
	CHECK(yyjson_mut_obj_add_bool(m, options, PARAM_INCREMENTAL, true));
	char *text = yyjson_mut_write(m, 0, &n);
	CHECK(text != NULL);
	struct str out = arena_copy(a, (struct str){ text, n });
	free(text);
	yyjson_mut_doc_free(m);
	yyjson_doc_free(doc);
	return out;
}

static enum err
read_order(struct document_run *r, const char **code, struct why *w)
{
	struct order_text *t = &r->text;
	struct digest d;

	enum err e = order_text_read(r->options.order, &r->arena, t, code, w);
	if (e == OK && takes_incremental(t->connector) && yyjson_obj_get(
	    t->order.options, PARAM_INCREMENTAL) == NULL) {
		struct order_text given = *t;
		e = order_text_read_kept(add_incremental(given.message,
		    &r->arena), given.credentials, &r->arena, t, w);
		order_text_free(&given);
	}
	if (e != OK)
		return e;
	*code = "bad_request";
	order_text_hide(t, &r->secrets);
	digest_of(DIGEST_SHA256, t->message, &d);
	digest_put_hex(&r->digest, d.bytes, digest_size(d.kind));
	return document_items_find(&t->order, &r->items, &r->made, w);
}

static enum err
read_cursor(struct document_run *r, struct why *w)
{
	struct document_cursor *c = &r->began;

	enum err e = document_cursor_read(r->options.cursor, &r->arena, c, w);
	if (e != OK || (c->ended && r->options.resumes))
		return e;
	if (c->ended) {
		document_cursor_begin_next(c, &r->arena);
	} else if (!str_eq(c->order, buf_str(&r->digest))) {
		c->found_n = 0;
		c->saved = STR_NONE;
	}
	for (size_t i = 0; i < c->found_n; i++)
		totals_state(&r->totals, c->found[i].key, c->found[i].value);
	r->text.order.state = c->from;
	r->text.order.state_n = c->from_n;
	return OK;
}

static enum err
open_driver(struct document_run *r, struct why *w)
{
	const struct document_run_options *o = &r->options;
	struct driver_options d = { .engine = r->all->engine,
	    .home = r->all->home, .budgets = r->all->budgets,
	    .order = &r->text.order, .secrets = r->text.secrets,
	    .secrets_n = r->text.secrets_n, .former = o->former,
	    .former_n = o->former_n, .totals = &r->totals,
	    .private_hosts = arena_copy_list(&r->arena, o->private_hosts,
	    o->private_n), .private_n = o->private_n,
	    .tries_max = o->tries_max > 0 ? o->tries_max :
	    DOCUMENT_TRIES_MAX, .call_tries_max = o->call_tries_max,
	    .saved = r->began.saved, .answered = take_answered,
	    .archives = o->archive != NULL, .redact = true,
	    .called = tell_called, .moved = driver_moved,
	    .quiet = driver_quiet, .arg = r };
	struct why inner = WHY_INIT;

	enum err e = driver_open(&d, &r->driver, &inner);
	if (e == ERR_CORRUPT)
		return why_field(w, ERR_INPUT, "cursor.saved", "%s",
		    inner.text);
	if (e != OK && w != NULL)
		*w = inner;
	return e;
}

static struct document_crawl *
find_crawl(struct document_run *r)
{
	const struct document_archive *x = r->options.archive;
	struct documents *all = r->all;
	bool as_crawl = r->text.connector->as_crawl;

	if (x == NULL)
		return as_crawl ? all->as_crawl : all->plain;
	r->is_ending = x->is_ending;
	r->archive = document_crawl_of_archive(all->engine, x, "calls",
	    as_crawl ? STR(DOCUMENT_CRAWL_POLICY) : STR(DOCUMENT_POLICY),
	    order_text_description(&r->text, &r->arena), &all->crawls);
	return r->archive;
}

static void
begin_run(struct document_run *r)
{
	/* They are the caller's. */
	r->options.order = r->options.cursor = STR_NONE;
	r->options.private_hosts = r->options.former = NULL;
	if (r->driver == NULL) {
		end_run(r, DOCUMENTS_DONE);
		return;
	}
	put_cursor(r, &r->kept);
	document_crawl_want(find_crawl(r), &r->wait);
	r->options.archive = NULL;
}

enum err
document_run_open(struct documents *all, const struct document_run_options *o,
    struct document_run **out, const char **code, struct why *w)
{
	struct document_run *r = mem_new(sizeof(*r));

	r->all = all;
	r->options = *o;
	r->found.id_member = r->options.id_member = arena_copy(&r->arena,
	    o->id_member);
	r->wait.done = crawl_found;
	list_init(&r->wait.node);
	enum err e = read_order(r, code, w);
	if (e == OK)
		e = read_cursor(r, w);
	if (e == OK && !r->began.ended)
		e = open_driver(r, w);
	*out = r;
	if (e == OK)
		begin_run(r);
	else
		document_run_free(out);
	return e;
}

/* ---- Another credential --------------------------------------------- */

/* Whether the connector would open with it. */
static enum err
try_order(const struct order_text *t, struct why *w)
{
	struct connector_run *run = NULL;

	enum err e = t->connector->open(&t->order, &run, w);
	if (run != NULL)
		t->connector->close(&run);
	return e;
}

static void
hide_credential(struct order_text *t, struct document_credential *out)
{
	secret_memory_free(&out->memory);
	order_text_hide(t, &out->memory);
	out->credentials = t->order.credentials;
	out->credentials_n = t->order.credentials_n;
	out->secrets = t->secrets;
	out->secrets_n = t->secrets_n;
	/* They are not overwritten with the text. */
	t->secrets_n = 0;
}

enum err
document_run_set_credential(struct document_run *r, struct str credentials,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct order_text t;
	struct why inner = WHY_INIT;

	enum err e = order_text_read_kept(r->text.message, credentials, &a,
	    &t, &inner);
	if (e == OK)
		e = try_order(&t, &inner);
	if (e == OK) {
		hide_credential(&t, &r->next_credential);
		r->has_next_credential = true;
	}
	order_text_free(&t);
	if (e != OK)
		return why_field(w, ERR_INPUT, "credential", "%s", inner.text);
	if (r->state != DOCUMENT_RUN_ASKS) {
		take_next_credential(r);
	} else if (!r->holds) {
		r->holds = true;
		driver_hold(r->driver);
	}
	return OK;
}

/* ---- Stopping, looking, freeing ------------------------------------- */

void
document_run_stop(struct document_run *r)
{
	if (r->state == DOCUMENT_RUN_ENDS)
		return;
	r->stopped = true;
	if (r->state == DOCUMENT_RUN_ASKS) {
		driver_hold(r->driver);
		driver_cut(r->driver);
		return;
	}
	list_take(&r->wait.node);
	end_run(r, DOCUMENTS_STOPPED);
}

struct document_look
document_run_look(const struct document_run *r)
{
	struct document_look x = { .documents = r->given,
	    .broken = r->found.broken };

	if (r->driver == NULL)
		return x;
	struct driver_look look = driver_look(r->driver);
	x.answers = look.calls;
	x.waits_for = look.waits_for;
	if (x.waits_for != NULL)
		x.waits_ms = MAX(0, mono_ns_between(clock_mono(),
		    look.waits_until) / NS_PER_MS);
	return x;
}

void
document_run_free(struct document_run **rp)
{
	struct document_run *r = *rp;

	if (r == NULL)
		return;
	list_take(&r->wait.node);
	document_crawl_leave(&r->archive, false);
	driver_close(&r->driver);
	document_items_free(&r->made);
	order_text_free(&r->text);
	secret_memory_free(&r->secrets);
	secret_memory_free(&r->next_credential.memory);
	totals_free(&r->totals);
	buf_free(&r->digest);
	buf_free(&r->kept);
	buf_free(&r->next);
	arena_free(&r->found.arena);
	arena_free(&r->arena);
	mem_free(rp);
}

/* ---- All of them ---------------------------------------------------- */

/* The counts of rates are not kept over a restart. */
static void
rates_counted(void *arg)
{
	(void)arg;
}

/* The keys stay as they are: the crawls are the same after a restart. */
static struct document_crawl *
new_shared(struct documents *all, const char *part, const char *policy)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct document_crawl_options o = { .engine = all->engine,
		.name = STR(CRAWL_NAME), .key = arena_printf(&a, CRAWL_NAME
		" %s", part), .policy = str_of(policy) };

	return document_crawl_new(&o, &all->crawls);
}

struct documents *
documents_new(struct engine *engine, struct loop *home)
{
	struct documents *all = mem_new(sizeof(*all));

	all->engine = engine;
	all->home = home;
	all->budgets = budgets_new(rates_counted, NULL);
	list_init(&all->crawls);
	all->plain = new_shared(all, "budgets", DOCUMENT_POLICY);
	all->as_crawl = new_shared(all, "polite", DOCUMENT_CRAWL_POLICY);
	return all;
}

void
documents_free(struct documents **ap)
{
	struct documents *all = *ap;

	if (all == NULL)
		return;
	document_crawls_free(&all->crawls);
	budgets_free(&all->budgets);
	mem_free(ap);
}
