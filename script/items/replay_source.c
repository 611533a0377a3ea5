#include "script/items/replay_source.h"

#include "base/json_writer.h"
#include "engine/items/item_query.h"
#include "engine/items/item_states.h"
#include "engine/tasks/task_capture.h"
#include "wire/digest.h"

/* What a need is looked for with, and what was found. */
struct finding {
	struct replay_need *need;
	struct task_capture capture;
	struct task_fetch fetch;
	struct items_read read;
	struct items_write write;
	struct item_states states;
	struct buf out;
	struct digest digest;
};

static void
release_finding(struct replay_need *n)
{
	struct finding *f = n->own;

	if (f->capture.done != NULL)
		task_capture_free(&f->capture);
	if (f->fetch.done != NULL)
		task_fetch_free(&f->fetch);
	buf_free(&f->out);
	buf_free(&f->read.out);
	arena_free(&f->read.arena);
	arena_free(&f->write.arena);
	mem_free(&f);
}

/* -- Captures -- */

static void
capture_found(struct task_capture *c)
{
	struct replay_need *n = CONTAINER(c, struct finding, capture)->need;

	n->found = c->found;
	n->fields = c->fields;
	n->fields_n = c->fields_n;
	n->body = c->content;
	replay_need_done(n);
}

static void
find_capture(struct task_runner *r, struct finding *f)
{
	f->capture.crawl = f->need->crawl;
	f->capture.number = f->need->number;
	f->capture.done = capture_found;
	task_capture_start(r->o.fetcher, r->o.secrets, &f->capture);
}

static void
newest_found(struct task_fetch *t)
{
	struct replay_need *n = CONTAINER(t, struct finding, fetch)->need;

	n->found = t->end == TASK_FETCH_ANSWERED;
	n->status = t->status;
	n->final_url = t->final_url;
	n->fields = t->fields;
	n->fields_n = t->fields_n;
	n->body = t->content;
	n->crawl = t->crawl;
	n->number = t->number;
	replay_need_done(n);
}

static void
find_newest(struct task_runner *r, struct finding *f)
{
	f->fetch.url = f->need->url;
	f->fetch.live = f->fetch.archived = true;
	f->fetch.done = newest_found;
	task_fetch_start(r->o.fetcher, &f->fetch);
}

/* -- Blobs -- */

static enum err
read_blob(struct items_read *r, struct item_store *s, struct why *w)
{
	struct finding *f = CONTAINER(r, struct finding, read);

	buf_clear(&r->out);
	return item_query_bytes(s, f->digest.bytes, &r->out, w);
}

static void
blob_read(struct items_read *r)
{
	struct replay_need *n = CONTAINER(r, struct finding, read)->need;

	n->found = r->result == OK;
	n->body = buf_str(&r->out);
	replay_need_done(n);
}

static void
find_blob(struct task_runner *r, struct finding *f)
{
	FREED(buf_free) struct buf label = BUF_INIT;

	buf_printf(&label, "sha256:%.*s", STR_FMT(f->need->sha256));
	(void)digest_from_text(buf_str(&label), &f->digest);
	f->read.run = read_blob;
	f->read.done = blob_read;
	f->read.why = WHY_INIT;
	items_read(r->o.items, &f->read);
}

/* -- What the store has now -- */

static enum err
read_states(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct finding *f = CONTAINER(w, struct finding, write);

	buf_clear(&f->out);
	buf_put_char(&f->out, '{');
	enum err e = item_states_put(tx, &f->states, &f->out, why);
	buf_put_char(&f->out, '}');
	return e;
}

static void
states_read(struct items_write *w)
{
	struct finding *f = CONTAINER(w, struct finding, write);

	f->need->found = w->result == OK;
	f->need->states = buf_str(&f->out);
	replay_need_done(f->need);
}

static void
find_states(struct task_runner *r, struct finding *f)
{
	if (item_states_read(f->need->args, &f->need->arena, &f->states,
	    NULL) != OK) {
		replay_need_done(f->need);
		return;
	}
	f->write.run = read_states;
	f->write.done = states_read;
	f->write.why = WHY_INIT;
	items_write(r->o.items, &f->write);
}

/* -- The source -- */

static void
find(void *arg, struct replay_need *n)
{
	struct finding *f = mem_new(sizeof(*f));

	f->need = n;
	n->own = f;
	n->release = release_finding;
	switch (n->kind) {
	case REPLAY_CAPTURE:
		find_capture(arg, f);
		break;
	case REPLAY_NEWEST:
		find_newest(arg, f);
		break;
	case REPLAY_BLOB:
		find_blob(arg, f);
		break;
	case REPLAY_STATES:
		find_states(arg, f);
		break;
	case REPLAY_NOTHING:
		replay_need_done(n);
		break;
	}
}

struct replay_source
replay_source_of(struct task_runner *r)
{
	return (struct replay_source){ .find = find, .arg = r };
}
