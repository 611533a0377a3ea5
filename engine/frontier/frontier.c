#include "engine/frontier/change.h"
#include "engine/frontier/crawl_state.h"
#include "engine/frontier/delete.h"
#include "engine/frontier/error_summary.h"
#include "engine/frontier/frontier.h"
#include "engine/frontier/lease_crawl.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/teardown.h"
#include "os/clock.h"

struct metric frontier_metrics[] = { FRONTIER_METRICS(METRIC_ROW) };

/* --- what the ledger asks of its owner ---------------------------------- */

static void
replay_note(void *arg, uint8_t kind, struct str note)
{
	struct frontier *f = arg;
	bool fine = kind == NOTE_CRAWL ? crawl_from_note(f, note) :
	    kind == NOTE_QUEUE ? queue_from_note(f, note) :
	    kind == NOTE_DELETED ? crawl_deleted_note(f, note) :
	    lease_replay(f, kind, note);

	if (!fine)
		f->damaged = true;
}

/*
 * A checkpoint: all that changed up to this group goes into the index, a part
 * with each group that follows.  A queue that changes again meanwhile is
 * written as it is then, and its note stands in the log behind the checkpoint.
 */
static void
begin_checkpoint(void *arg)
{
	struct frontier *f = arg;

	list_move_all(&f->leaving_queues, &f->changed_queues);
	list_move_all(&f->leaving_crawls, &f->changed_crawls);
	lease_begin_checkpoint(f);
}

static void
put_crawl(struct frontier *f, const struct crawl *c)
{
	crawl_key(c->id, 'D', &f->key);
	crawl_note_bytes(c, &f->value);
	ledger_put_unlogged(f->ledger, INDEX_CRAWL, buf_str(&f->key),
	    buf_str(&f->value));
}

static bool
put_checkpoint(void *arg, size_t n)
{
	struct frontier *f = arg;

	for (; n > 0 && !list_empty(&f->leaving_queues); n--)
		queue_put_record(LIST_POP(&f->leaving_queues, struct queue,
		    changed_node));
	for (; n > 0 && !list_empty(&f->leaving_crawls); n--)
		put_crawl(f, LIST_POP(&f->leaving_crawls, struct crawl,
		    changed_node));
	return lease_put_checkpoint(f, &n) || !list_empty(&f->leaving_queues) ||
	    !list_empty(&f->leaving_crawls);
}

/* Put the dirty queues and crawls as notes into the gathering group. */
static void
put_notes(struct frontier *f)
{
	while (!list_empty(&f->dirty_queues)) {
		struct queue *q = LIST_POP(&f->dirty_queues, struct queue,
		    dirty_node);
		q->dirty = false;
		if (list_empty(&q->changed_node))
			list_put(&f->changed_queues, &q->changed_node);
		queue_note_bytes(q, &f->value);
		ledger_note(f->ledger, NOTE_QUEUE, buf_str(&f->value));
	}
	while (!list_empty(&f->dirty_crawls)) {
		struct crawl *c = LIST_POP(&f->dirty_crawls, struct crawl,
		    dirty_node);
		c->dirty = false;
		if (list_empty(&c->changed_node))
			list_put(&f->changed_crawls, &c->changed_node);
		error_summary_put(c);
		crawl_note_bytes(c, &f->value);
		ledger_note(f->ledger, NOTE_CRAWL, buf_str(&f->value));
		crawl_promise_view(c);
	}
}

static void
before_seal(void *arg)
{
	put_notes(arg);
	teardown_put(arg);
	lease_put_notes(arg);
}

static void
health_changed(void *arg, enum ledger_health h, const char *text)
{
	struct frontier *f = arg;

	if (f->options.health != NULL)
		f->options.health(f->options.arg, h, text);
}

void
frontier_warcinfo(void *arg, const char *filename, struct buf *out)
{
	struct crawl *c = arg;
	const struct frontier_options *o = &c->frontier->options;

	o->warcinfo(o->arg, c->id, filename, out);
}

/* --- opening ------------------------------------------------------------ */

/*
 * RocksDB may have kept the end of a crawl's record, and not yet that of its
 * queues: the log has both, and drops what is passed over here.
 */
static bool
is_of_no_crawl(const struct frontier *f, struct str key)
{
	struct reader in = reader_of(key);
	uint32_t id = read_be32(&in);

	return !in.bad && crawl_get(f, id) == NULL;
}

static enum err
load_family(struct frontier *f, enum index_family family, struct why *w)
{
	struct index_iter *i = index_iter_new(ledger_index(f->ledger), family);
	struct str key, value;
	bool fine = true;

	for (index_iter_seek(i, STR("")); fine &&
	    index_iter_valid(i, &key, &value); index_iter_next(i)) {
		if (lease_record(f, family, key, value, &fine))
			continue;
		if (family == INDEX_QUEUE)
			fine = is_of_no_crawl(f, key) ||
			    teardown_record(f, key) ||
			    queue_from_note(f, value);
		else if (key.n == 5 && key.p[4] == 'D')
			fine = crawl_from_note(f, value);
		else
			crawl_tomb_record(f, key);
	}
	enum err e = index_iter_error(i, w);
	index_iter_free(&i);
	if (e == OK && !fine)
		e = why(w, ERR_CORRUPT, "a %s's record in the index is damaged",
		    family == INDEX_QUEUE ? "queue" : "crawl");
	return e;
}

/* Files of a group that was lost: only crawls under way can have them. */
static enum err
quarantine(struct frontier *f, struct why *w)
{
	enum err e = OK;
	char prefix[CRAWL_PREFIX_MAX];

	MAP_EACH(c, &f->crawls, const struct crawl) {
		if (e != OK || crawl_state_is_ended(c->view.state) ||
		    c->warc_dir.n == 0)
			continue;
		crawl_prefix(c, prefix);
		e = ledger_quarantine(f->ledger, c->warc_dir.p, NULL,
		    prefix, w);
	}
	return e;
}

/* All that can be read of the log is in the index's memory after this. */
static enum err
recover_old(struct frontier *f, struct why *w)
{
	enum err e = ledger_recover_old(f->ledger, w);

	if (e != OK)
		return e;
	begin_checkpoint(f);
	while (put_checkpoint(f, 1024))
		;
	return ledger_apply_unlogged(f->ledger, w);
}

static enum err
recover(struct frontier *f, struct why *w)
{
	f->loading = true;
	enum err e = load_family(f, INDEX_CRAWL, w);

	if (e == OK)
		e = load_family(f, INDEX_QUEUE, w);
	if (e == OK)
		e = lease_load_control(f, w);
	f->loading = false;
	if (e == OK && f->options.old)
		return recover_old(f, w);
	if (e == OK)
		e = ledger_recover(f->ledger, w);
	if (e == OK)
		e = known_evict_clear(f, w);
	if (e == OK && f->damaged)
		e = why(w, ERR_CORRUPT, "a note in the commit log is damaged");
	if (e == OK)
		e = teardown_load(f, w);
	if (e == OK && !f->options.load_later)
		e = frontier_load(f, w);
	return e == OK ? quarantine(f, w) : e;
}

void
frontier_loaded(struct frontier *f, uint64_t urls)
{
	if (f->options.urls_loaded != NULL)
		atomic_fetch_add_explicit(f->options.urls_loaded, urls,
		    memory_order_relaxed);
}

uint64_t
frontier_load_urls(const struct frontier *f)
{
	const struct lease_stats *s = &f->leases->stats;

	return s->active + s->completed;
}

enum err
frontier_open(struct loop *loop, const struct frontier_options *o,
    struct frontier **out, struct why *w)
{
	struct frontier *f = mem_new(sizeof(*f));
	struct list *const lists[] = { &f->dirty_queues, &f->dirty_crawls,
		&f->changed_queues, &f->changed_crawls, &f->leaving_queues,
		&f->leaving_crawls, &f->batches, &f->views, &f->changes,
		&f->deleted, &f->teardowns };

	metric_register(frontier_metrics, ARRAY_LEN(frontier_metrics));
	metric_set(&frontier_metrics[METRIC_ARCHIVE_BYTES_MAX],
	    (int64_t)o->archive_bytes_max);
	f->loop = loop;
	f->options = *o;
	f->data_dir = mem_copy_text(o->data_dir);
	f->token = mem_copy_text(o->token);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_init(lists[i]);
	f->known = url_table_new();
	f->via = mem_new(sizeof(*f->via));
	known_evict_open(f);
	host_slots_open(f);
	lease_open(f);
	f->options.ledger.dir = f->data_dir;
	f->options.ledger.replay = replay_note;
	f->options.ledger.checkpoint_begin = begin_checkpoint;
	f->options.ledger.checkpoint_put = put_checkpoint;
	f->options.ledger.before_seal = before_seal;
	f->options.ledger.health = health_changed;
	f->options.ledger.arg = f;
	struct why own = WHY_INIT;
	enum err e = ledger_open(loop, &f->options.ledger, &f->ledger, &own);
	if (e == OK)
		e = recover(f, &own);
	if (e != OK) {
		frontier_free(&f);
		return identity_advise(o->ledger.home != NULL ?
		    o->ledger.home : o->data_dir, &own, e, w);
	}
	if (!o->old) {
		ledger_start(f->ledger);
		teardown_open(f);
	}
	*out = f;
	return OK;
}

void
frontier_close(struct frontier *f, void (*closed)(void *), void *arg)
{
	loop_timer_stop(f->loop, &f->leases->tick);
	crawl_stop_deadlines(f);
	ledger_close(f->ledger, closed, arg);
}

void
frontier_free(struct frontier **fp)
{
	struct frontier *f = *fp;

	if (f == NULL)
		return;
	lease_free_walks(f);
	lease_free_reader(f);
	ledger_free(&f->ledger);
	queue_forget_fresh(f);
	crawl_forget_views(f);
	change_forget(f);
	teardown_close(f);
	delete_forget(f);
	host_slots_close(f);
	lease_close(f);
	MAP_EACH(c, &f->crawls, struct crawl) {
		crawl_free(&c);
	}
	map_free(&f->crawls);
	map_free(&f->names);
	url_table_free(&f->known);
	via_free(f->via);
	mem_free(&f->via);
	mem_free(&f->evict);
	buf_free(&f->key);
	buf_free(&f->value);
	mem_free(&f->data_dir);
	mem_free(&f->token);
	mem_free(fp);
}

struct ledger *
frontier_ledger(struct frontier *f)
{
	return f->ledger;
}

/* --- crawls ------------------------------------------------------------- */

uint32_t
frontier_next_crawl(const struct frontier *f)
{
	return f->next_crawl;
}

enum err
frontier_may_write(const struct frontier *f, struct why *w)
{
	switch (ledger_health(f->ledger)) {
	case LEDGER_FAILED:
		return why(w, ERR_BROKEN, "a write failed; the program must "
		    "be started again");
	case LEDGER_DISK_FULL:
		return why(w, ERR_DISK_FULL, "the disk is full");
	case LEDGER_FINE:
		break;
	}
	return OK;
}

enum err
frontier_may_begin(const struct frontier *f, struct why *w)
{
	unsigned pending = 0;

	enum err e = frontier_may_write(f, w);
	if (e != OK)
		return e;
	MAP_EACH(v, &f->crawls, void)
		pending += ((struct crawl *)v)->view.state == CRAWL_PENDING;
	if (f->options.pending_max != 0 && pending >= f->options.pending_max)
		return why(w, ERR_FULL, "%u crawls are waiting to be started "
		    "already (crawl.pending_max)", pending);
	return OK;
}

enum err
frontier_begin(struct frontier *f, const struct crawl_spec *spec,
    const struct found *seeds, size_t seeds_n, struct promise *p,
    uint32_t *id, struct why *w)
{
	enum err e = frontier_may_begin(f, w);
	if (e != OK)
		return e;
	struct crawl *c = crawl_begin(f, f->next_crawl, spec, clock_wall());
	crawl_start_new(c);
	for (size_t i = 0; i < seeds_n; i++)
		frontier_discover(c, &seeds[i], 0);
	crawl_touch(c);
	crawl_consider_end(c);
	if (p != NULL)
		ledger_promise(f->ledger, p);
	*id = c->id;
	return OK;
}

enum err
frontier_spec(struct frontier *f, uint32_t id, struct arena *a,
    struct crawl_spec *spec, struct why *w)
{
	struct why inner = WHY_INIT;
	FREED(buf_free) struct buf key = BUF_INIT;
	struct str value;

	crawl_key(id, 'S', &key);
	enum err e = index_get(ledger_index(f->ledger), INDEX_CRAWL,
	    buf_str(&key), a, &value, &inner);
	if (e == ERR_ABSENT)
		why(w, e, "there is no crawl %u", id);
	else if (e != OK)
		why(w, e, "%s", inner.text);
	else if (!crawl_spec_parse(value, a, spec))
		e = why(w, ERR_CORRUPT, "the record of crawl %u is damaged",
		    id);
	if (e == OK)
		spec->warc_dir = paths_resolve(ledger_paths(f->ledger),
		    spec->warc_dir, a);
	return e;
}

enum err
frontier_view(struct frontier *f, uint32_t id, struct crawl_view *out)
{
	const struct crawl *c = crawl_get(f, id);

	if (c == NULL)
		return ERR_ABSENT;
	*out = c->view;
	return OK;
}

struct crawl *
frontier_ref(struct frontier *f, uint32_t id)
{
	struct crawl *c = crawl_get(f, id);

	CHECK(c != NULL);
	crawl_ref(c);
	return c;
}

void
frontier_log(struct frontier *f, uint32_t id, const struct crawl_line *l)
{
	struct crawl *c = crawl_get(f, id);

	if (c != NULL)
		crawl_log(c, l);
}

bool
frontier_next_view(struct frontier *f, size_t *at, struct crawl_view *out)
{
	for (; *at < f->next_crawl; (*at)++)
		if (frontier_view(f, (uint32_t)*at, out) == OK) {
			(*at)++;
			return true;
		}
	return false;
}

uint32_t
frontier_find_name(struct frontier *f, struct str name)
{
	const struct crawl *c = map_get(&f->names, name);

	return c == NULL ? UINT32_MAX : c->id;
}
