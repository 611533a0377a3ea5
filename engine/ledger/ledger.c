#include "engine/ledger/ledger.h"

#include "engine/ledger/claims.h"
#include "engine/ledger/group.h"
#include "engine/ledger/warc_set.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"

/* Groups that the index thread has not applied yet; more stop the sealing. */
#define UNAPPLIED_MAX 64
/*
 * ... or so many bytes, which a read would have to wait for; but two groups at
 * least, so that the index thread need not wait for the next.
 */
#define UNAPPLIED_BYTES_MAX ((size_t)1 << 20)
#define UNAPPLIED_MIN 2
/* A group's buffer that grew beyond this is not kept. */
#define BODY_KEPT_BYTES ((size_t)1 << 20)
/* Things of the owner's memory that a checkpoint puts into one group: 1 ms. */
#define CHECKPOINT_PART 1024

struct ledger {
	struct loop *loop, *sync_loop, *index_loop, *read_loop;
	struct ledger_options options;
	char *dir;
	struct index *index;
	struct commitlog *log;
	struct claims *claims;
	struct syncer *syncer;
	struct indexer *indexer;

	struct group *gathering;    /* always there */
	struct group *syncing;      /* with the sync thread; NULL: it is free */
	struct group *groups;       /* all there are, by `older` */
	struct group *spare;        /* emptied ones, by mail.next */
	uint64_t next_number;
	struct timer seal_timer;
	struct mono sealed;         /* the last group was */
	struct turn_hook turn;
	struct timer rollover_timer;

	uint64_t log_bytes_since;   /* the last checkpoint */
	uint64_t checkpoint;        /* its parts are being written; 0: none */
	uint64_t chain_group;       /* the newest checkpoint's, ... */
	uint32_t checkpoint_chain;  /* ... and the log's chain up to it */
	bool checkpointing;         /* until the index is flushed behind it */
	bool started, stopped, closing, final_checkpoint;
	unsigned closings;          /* WARCs on their way to their names */
	struct warc_finish *later; /* ... to their CDXJ, from the start on */
	bool recovered;             /* ledger_recover() was fine */
	struct timer later_timer;
	void (*closed)(void *);
	void *closed_arg;

	uint32_t next_warc;
	struct list series;
	enum ledger_health health;
	struct ledger_stats stats;
	size_t bytes_in_flight, bytes_unapplied;
	uint64_t applied;           /* the last group */
	struct hold hold;
};

#define META_NEXT_WARC STR("next-warc")

struct syncer *
ledger_syncer(const struct ledger *l)
{
	return l->syncer;
}

struct indexer *
ledger_indexer(const struct ledger *l)
{
	return l->indexer;
}

const struct ledger_options *
ledger_options(const struct ledger *l)
{
	return &l->options;
}

struct claims *
ledger_claims(const struct ledger *l)
{
	return l->claims;
}

const struct stored_paths *
ledger_paths(const struct ledger *l)
{
	return claims_paths(l->claims);
}

enum err
ledger_may_archive(struct ledger *l, struct str warc_dir, struct why *w)
{
	struct why own = WHY_INIT;
	enum err e = claims_may_use(l->claims, l->next_number - 1, warc_dir,
	    &own);

	return identity_advise(ledger_paths(l)->home, &own, e, w);
}

struct loop *
ledger_loop(const struct ledger *l)
{
	return l->loop;
}

struct index *
ledger_index(struct ledger *l)
{
	return l->index;
}

struct list *
ledger_series_list(struct ledger *l)
{
	return &l->series;
}

const struct list *
ledger_series_seen(const struct ledger *l)
{
	return &l->series;
}

struct group *
ledger_gathering(struct ledger *l)
{
	return l->gathering;
}

uint32_t
ledger_new_warc(struct ledger *l)
{
	return l->next_warc++;
}

/* --- gathering ---------------------------------------------------------- */

static struct buf *
body(struct ledger *l)
{
	return &l->gathering->body;
}

void
ledger_put(struct ledger *l, enum index_family f, struct str key,
    struct str value)
{
	struct buf *b = body(l);

	group_put_op(b, OP_PUT, (uint8_t)f, key);
	buf_put_field(b, value);
}

void
ledger_put_placed(struct ledger *l, enum index_family f, struct str key,
    struct str value)
{
	struct reader in = reader_of(value);

	ledger_put(l, f, key, value);
	group_fixup(l->gathering, (struct fixup){
	    l->gathering->body.n - value.n, read_be32(&in) });
}

void
ledger_delete(struct ledger *l, enum index_family f, struct str key)
{
	group_put_op(body(l), OP_DELETE, (uint8_t)f, key);
}

void
ledger_delete_range(struct ledger *l, enum index_family f, struct str from,
    struct str to)
{
	struct buf *b = body(l);

	group_put_op(b, OP_DELETE_RANGE, (uint8_t)f, from);
	buf_put_field(b, to);
}

void
ledger_note(struct ledger *l, uint8_t kind, struct str note)
{
	struct buf *b = body(l);
	size_t before = b->n;

	group_put_op(b, OP_NOTE, kind, note);
	l->gathering->note_bytes += b->n - before;
}

void
ledger_put_unlogged(struct ledger *l, enum index_family f, struct str key,
    struct str value)
{
	struct buf *b = &l->gathering->unlogged;

	body(l);
	group_put_op(b, OP_PUT, (uint8_t)f, key);
	buf_put_field(b, value);
}

void
ledger_hurry(struct ledger *l)
{
	l->gathering->hurry = true;
}

uint64_t
ledger_group(const struct ledger *l)
{
	return l->gathering->number;
}

enum ledger_health
ledger_health(const struct ledger *l)
{
	return l->health;
}

size_t
ledger_bytes_waiting(const struct ledger *l)
{
	return l->bytes_in_flight + l->gathering->body.n;
}

void
ledger_stats(const struct ledger *l, struct ledger_stats *out)
{
	*out = l->stats;
	out->warcs_open = warc_set_open_files(l);
}

struct ledger_stats *
ledger_counts(struct ledger *l)
{
	return &l->stats;
}

static void
end_closing(struct ledger *l)
{
	l->closing = false;
	l->closed(l->closed_arg);
}

/* A close does not wait for space: unpromised work is repeated later. */
static void
close_unwritten(struct ledger *l)
{
	log_warn("ledger.left", "text=\"the disk is full: what could not be "
	    "written is done again after the next start\"");
	end_closing(l);
}

void
ledger_tell_health(struct ledger *l, enum ledger_health h, const char *text)
{
	/* A failure is for good, whatever the other thread tells later. */
	if (h == l->health || l->health == LEDGER_FAILED)
		return;
	l->health = h;
	if (h == LEDGER_FINE)
		log_info("ledger.fine", "text=\"writing goes on\"");
	else
		log_error(h == LEDGER_FAILED ? "ledger.failed" :
		    "ledger.disk_full", "why=%s", log_quoted(str_of(text)));
	if (l->options.health != NULL)
		l->options.health(l->options.arg, h, text);
	if (h == LEDGER_DISK_FULL && l->closing)
		close_unwritten(l);
}

/* --- sealing ------------------------------------------------------------ */

static struct group *
take_group(struct ledger *l)
{
	struct group *g = l->spare;

	if (g == NULL) {
		g = group_new(l);
		g->older = l->groups;
		l->groups = g;
	} else {
		l->spare = CONTAINER(g->mail.next, struct group, mail);
	}
	g->number = l->next_number++;
	return g;
}

static void
keep_promises(struct group *g, enum err e)
{
	struct promise *p = g->first;

	g->first = NULL;
	g->last = &g->first;
	while (p != NULL) {
		struct promise *next = p->next;
		p->kept(p, e);
		p = next;
	}
}

static bool
group_empty(const struct group *g)
{
	return g->body.n == 0 && g->unlogged.n == 0 && g->first == NULL &&
	    g->writes_n == 0;
}

static size_t
archive_bytes(const struct group *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->writes_n; i++)
		n += g->writes[i].bytes.n;
	return n;
}

/*
 * What changed in memory up to group C goes into the index, a part with each
 * group from C on; behind the last the index is flushed, and then the number C.
 * The log is needed from C + 1 on: of what changed meanwhile the parts hold a
 * later state than the next notes, but the last note is the newest of all.
 */
static void
begin_checkpoint(struct ledger *l)
{
	l->options.checkpoint_begin(l->options.arg);
	l->checkpoint = l->chain_group = l->gathering->number;
	l->checkpoint_chain = 0;
	l->checkpointing = true;
	l->log_bytes_since = 0;
}

/* How much log there is between two checkpoints. */
static uint64_t
checkpoint_bytes(const struct ledger *l)
{
	return commitlog_grown(l->stats.log_bytes, l->options.segment_bytes,
	    l->options.segment_bytes_max);
}

static void
end_checkpoint(struct ledger *l)
{
	FREED(buf_free) struct buf value = BUF_INIT;

	buf_put_be32(&value, l->next_warc);
	ledger_put_unlogged(l, INDEX_META, META_NEXT_WARC, buf_str(&value));
	l->gathering->checkpoint = l->checkpoint;
	l->checkpoint = 0;
}

/*
 * The last checkpoint waits until all WARC files are finished: an audit reads
 * the index without the log, and needs their records there.
 */
static bool
final_checkpoint_is_due(const struct ledger *l)
{
	return l->final_checkpoint && !l->checkpointing && l->closings == 0;
}

static void
consider_checkpoint(struct ledger *l)
{
	if (final_checkpoint_is_due(l) || (!l->checkpointing &&
	    l->log_bytes_since >= checkpoint_bytes(l))) {
		l->final_checkpoint = l->final_checkpoint && l->closings > 0;
		begin_checkpoint(l);
	}
	/* At the end nobody is kept waiting by a bigger part. */
	size_t part = l->options.checkpoint_part * (l->closing ? 16 : 1);
	if (l->checkpoint != 0 && !l->options.checkpoint_put(l->options.arg,
	    part))
		end_checkpoint(l);
}

static void
seal(struct ledger *l)
{
	struct group *g = l->gathering;

	l->options.before_seal(l->options.arg);
	warc_set_before_seal(l);
	consider_checkpoint(l);
	g->lazy = g->promises_n > 0 && g->durable_n == 0 &&
	    g->writes_n == 0 && g->marks == NULL && g->checkpoint == 0 &&
	    !l->closing;
	g->bytes = g->body.n + g->unlogged.n + archive_bytes(g);
	l->bytes_in_flight += g->bytes;
	l->log_bytes_since += g->body.n;
	l->stats.groups++;
	l->stats.log_bytes += g->body.n;
	l->stats.warc_bytes += archive_bytes(g);
	l->syncing = g;
	l->gathering = take_group(l);
	l->sealed = loop_now(l->loop);
	loop_timer_stop(l->loop, &l->seal_timer);
	syncer_take(l->syncer, g);
}

/* When the ledger closes, a checkpoint does not wait for others' groups. */
static bool
checkpoint_wants_group(const struct ledger *l)
{
	return l->closing && (l->checkpoint != 0 ||
	    final_checkpoint_is_due(l));
}

static bool
index_is_behind(const struct ledger *l)
{
	return l->stats.groups_unapplied >= UNAPPLIED_MAX ||
	    (l->stats.groups_unapplied >= UNAPPLIED_MIN &&
	    l->bytes_unapplied >= UNAPPLIED_BYTES_MAX);
}

/* --- holding: barrier.c ----------------------------------------------------
 */

struct hold *
ledger_hold_of(struct ledger *l)
{
	return &l->hold;
}

/* A flush of the index ends with a release of the log. */
bool
ledger_is_quiet(struct ledger *l)
{
	bool flushing = l->checkpointing && l->checkpoint == 0;

	return l->started && l->syncing == NULL && !flushing &&
	    l->closings <= hold_gathered_closings(l) &&
	    l->stats.groups_unapplied == 0;
}

bool
ledger_is_closing(const struct ledger *l)
{
	return l->closing;
}

/*
 * Seal when the sync thread is free: at once for a few promises (someone is
 * waiting) or after a pause, a little after the last group when many gather
 * (one sync serves them all).
 */
static void
consider_sealing(struct ledger *l)
{
	struct group *g = l->gathering;

	if (hold_stops(l))
		return;
	if (!l->started || l->syncing != NULL || l->health == LEDGER_FAILED ||
	    index_is_behind(l))
		return;
	if (group_empty(g) && !checkpoint_wants_group(l))
		return;
	struct mono due = mono_add_ms(l->sealed, l->options.group_ms_max);
	if (!l->closing && !g->hurry &&
	    g->promises_n > l->options.group_promises_few &&
	    g->promises_n < l->options.group_records_max &&
	    g->body.n + archive_bytes(g) < l->options.group_bytes_max &&
	    mono_before(loop_now(l->loop), due)) {
		loop_timer_set(l->loop, &l->seal_timer, due);
		return;
	}
	seal(l);
}

void
ledger_go_on(struct ledger *l)
{
	consider_sealing(l);
}

static void
seal_due(struct timer *t)
{
	consider_sealing(CONTAINER(t, struct ledger, seal_timer));
}

static void
turn_end(struct turn_hook *h)
{
	consider_sealing(CONTAINER(h, struct ledger, turn));
}

static size_t
index_bytes(const struct group *g)
{
	return g->body.n + g->unlogged.n;
}

static void
recycle(struct ledger *l, struct group *g)
{
	group_clear(g);
	if (g->body.cap > BODY_KEPT_BYTES)
		buf_free(&g->body);
	if (g->unlogged.cap > BODY_KEPT_BYTES)
		buf_free(&g->unlogged);
	g->mail.next = l->spare == NULL ? NULL : &l->spare->mail;
	l->spare = g;
}

static void
finish_closing(struct ledger *l)
{
	if (!l->closing || l->syncing != NULL || l->checkpointing ||
	    l->closings > 0 || l->stats.groups_unapplied > 0 ||
	    l->final_checkpoint || !group_empty(l->gathering))
		return;
	end_closing(l);
}

static void
give_up(struct ledger *l)
{
	keep_promises(l->gathering, ERR_BROKEN);
	if (l->closing)
		end_closing(l);
}

static void
fail(struct ledger *l, struct group *g)
{
	ledger_tell_health(l, LEDGER_FAILED, g->result.text);
	keep_promises(g, ERR_BROKEN);
	recycle(l, g);
	give_up(l);
}

void
ledger_log_failed(struct ledger *l, const char *text)
{
	ledger_tell_health(l, LEDGER_FAILED, text);
	give_up(l);
}

/* One of its WARC files failed, and what it held goes to another. */
static void
write_again(struct ledger *l, struct group *g)
{
	log_error("ledger.warc_moved", "group=%llu why=%s",
	    (unsigned long long)g->number, log_why(&g->result));
	l->stats.warcs_moved++;
	g->failed_file = 0;
	g->result = WHY_INIT;
	g->bytes = g->body.n + g->unlogged.n + archive_bytes(g);
	l->bytes_in_flight += g->bytes;
	syncer_take(l->syncer, g);
}

/* The index remembers the log's chain at its checkpoint: ledger_recover(). */
static void
note_chain(struct ledger *l, struct group *g)
{
	if (g->number == l->chain_group)
		l->checkpoint_chain = g->chain;
	if (g->checkpoint != 0 && g->checkpoint == l->chain_group)
		g->checkpoint_chain = l->checkpoint_chain;
}

/* Nothing for the index is in it, nor in a group before it. */
static bool
needs_no_index(const struct ledger *l, const struct group *g)
{
	return g->note_bytes == g->body.n && g->unlogged.n == 0 &&
	    g->checkpoint == 0 && l->stats.groups_unapplied == 0;
}

void
ledger_group_synced(struct ledger *l, struct group *g)
{
	CHECK(g == l->syncing);
	l->stats.sync_ns_sum += g->sync_ns;
	l->stats.sync_ns_max = MAX(l->stats.sync_ns_max, g->sync_ns);
	l->bytes_in_flight -= g->bytes;
	if (g->failed_file != 0 && warc_set_move(l, g, g->failed_file)) {
		write_again(l, g);
		return;
	}
	l->syncing = NULL;
	if (g->result.err != OK) {
		fail(l, g);
		return;
	}
	warc_set_synced(l, g->number);
	note_chain(l, g);
	struct promise *first = g->first, **last = g->last;
	g->first = NULL;
	g->last = &g->first;
	/* First to the index: whoever is told now reads behind it. */
	if (needs_no_index(l, g)) {
		l->applied = g->number;
		recycle(l, g);
	} else {
		l->stats.groups_unapplied++;
		l->bytes_unapplied += index_bytes(g);
		indexer_apply(l->indexer, g);
	}
	struct group told = { .first = first, .last = last };
	keep_promises(&told, OK);
	/* It was on its way when another sync failed. */
	if (l->health == LEDGER_FAILED) {
		give_up(l);
		return;
	}
	consider_sealing(l);
	finish_closing(l);
}

void
ledger_group_applied(struct ledger *l, struct group *g)
{
	l->stats.groups_unapplied--;
	l->bytes_unapplied -= index_bytes(g);
	l->applied = g->number;
	if (g->result.err != OK) {
		fail(l, g);
		return;
	}
	recycle(l, g);
	consider_sealing(l);
	finish_closing(l);
}

void
ledger_flushed(struct ledger *l, uint64_t group, enum err e)
{
	l->checkpointing = false;
	if (e != OK) {
		/* The log keeps what the index lost; try again later. */
		log_error("ledger.flush", "error=%s", err_name(e));
		l->log_bytes_since = checkpoint_bytes(l);
	} else {
		l->stats.checkpoints++;
		syncer_release(l->syncer, group);
	}
	consider_sealing(l);
	finish_closing(l);
}

/* --- closing of WARC files ---------------------------------------------- */

static void
warc_finish_came_back(struct warc_finish *c)
{
	struct ledger *l = c->ledger;

	l->closings--;
	if (c->result.err != OK) {
		log_error("ledger.warc_close", "why=%s", log_why(&c->result));
		/* It stays "closing", as without a CDXJ: the next start
		 * finishes it. */
	} else if (!c->no_cdxj) {
		warc_finish_put(c);
	}
	warc_finish_free(&c);
	consider_sealing(l);
	finish_closing(l);
}

void
ledger_closing_start(struct ledger *l, struct warc_finish *c)
{
	c->done = warc_finish_came_back;
	pool_submit(l->options.pool, &c->job);
}

void
ledger_closing_later(struct ledger *l, struct warc_finish *c)
{
	c->next = l->later;
	l->later = c;
}

static void
start_those_later(struct timer *t)
{
	struct ledger *l = CONTAINER(t, struct ledger, later_timer);

	while (l->later != NULL) {
		struct warc_finish *c = l->later;
		l->later = c->next;
		l->closings++;
		ledger_closing_start(l, c);
	}
}

void
ledger_closing_expected(struct ledger *l)
{
	l->closings++;
}

/* --- opening and closing ------------------------------------------------ */

static void
rollover_tick(struct timer *t)
{
	struct ledger *l = CONTAINER(t, struct ledger, rollover_timer);

	warc_set_roll_over(l);
	loop_timer_set(l->loop, t, mono_add_ms(loop_now(l->loop), 1000));
	consider_sealing(l);
}

enum err
ledger_open(struct loop *loop, const struct ledger_options *o,
    struct ledger **out, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct ledger *l = mem_new(sizeof(*l));

	l->loop = loop;
	l->options = *o;
	l->dir = mem_copy_text(o->dir);
	l->options.dir = l->dir;
	if (l->options.checkpoint_part == 0)
		l->options.checkpoint_part = CHECKPOINT_PART;
	list_init(&l->series);
	l->seal_timer.fire = seal_due;
	l->rollover_timer.fire = rollover_tick;
	l->later_timer.fire = start_those_later;
	l->turn.run = turn_end;
	l->health = LEDGER_FINE;
	struct str index_dir = arena_printf(&a, "%s/index", o->dir);
	enum err e = file_make_dir(index_dir.p, w);
	if (e == OK)
		e = index_open(index_dir.p, &o->index, &l->index, w);
	if (e == OK)
		e = claims_new(o->home != NULL ? o->home : l->dir, o->claims,
		    l->index, &l->claims, w);
	if (e != OK) {
		claims_free(&l->claims);
		index_close(&l->index);
		mem_free(&l->dir);
		mem_free(&l);
	}
	*out = l;
	return e;
}

struct replaying {
	struct body_replay replay;
	uint64_t last;
};

static void
replaying_begin(struct replaying *r, struct ledger *l)
{
	r->last = 0;
	body_replay_begin(&r->replay, l->index);
	r->replay.note = l->options.replay;
	r->replay.arg = l->options.arg;
}

static enum err
replay_group(void *arg, uint64_t group, struct str body_bytes, struct why *w)
{
	struct replaying *r = arg;

	r->last = group;
	return body_replay_later(&r->replay, body_bytes, w);
}

uint64_t
ledger_last_group(const struct ledger *l)
{
	return l->next_number - 1;
}

static enum err
open_log(struct ledger *l, struct replaying *r, uint32_t chain,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str dir = arena_printf(&a, "%s/log", l->dir);
	struct commitlog_options lo = {
		.segment_bytes = l->options.segment_bytes,
		.segment_bytes_max = l->options.segment_bytes_max,
		.from_chain = chain,
	};

	return commitlog_open(dir.p, &lo, r->last, replay_group, r, &l->log, w);
}

enum err
ledger_recover(struct ledger *l, struct why *w)
{
	struct replaying r;
	struct commitlog_stats stats;
	uint64_t next_warc, checkpoint = 0;
	uint32_t chain = 0;

	replaying_begin(&r, l);
	enum err e = ledger_load_number(l->index, META_CHECKPOINT, &r.last, w);
	checkpoint = r.last;
	if (e == OK)
		e = ledger_load_chain(l->index, checkpoint, &chain, w);
	if (e == OK)
		e = open_log(l, &r, chain, w);
	if (e == OK)
		e = body_replay_rest(&r.replay, w);
	if (e == OK)
		e = ledger_load_number(l->index, META_NEXT_WARC, &next_warc, w);
	if (e == OK) {
		commitlog_stats(l->log, &stats);
		l->next_number = r.last + 1;
		l->next_warc = MAX((uint32_t)next_warc, 1);
		e = claims_check(l->claims, &(struct claims_facts){
		    .last = r.last, .log_lost = stats.fresh && checkpoint > 0,
		    }, w);
	}
	if (e == OK)
		e = ledger_recover_warcs(l, l->index, r.last, w);
	l->recovered = e == OK;
	body_replay_end(&r.replay);
	return e;
}

enum err
ledger_recover_old(struct ledger *l, struct why *w)
{
	struct replaying r;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct why own = WHY_INIT;
	uint32_t chain = 0;

	replaying_begin(&r, l);
	enum err e = ledger_load_number(l->index, META_CHECKPOINT, &r.last, w);
	if (e == OK)
		e = ledger_load_chain(l->index, r.last, &chain, w);
	if (e == OK && commitlog_read(arena_printf(&a, "%s/log", l->dir).p,
	    r.last, chain, replay_group, &r, &own) != OK)
		log_warn("ledger.old_log", "why=%s", log_why(&own));
	if (e == OK)
		e = body_replay_rest(&r.replay, w);
	l->next_number = r.last + 1;
	if (e == OK)
		l->gathering = take_group(l);
	body_replay_end(&r.replay);
	return e;
}

void
ledger_warc_seen(struct ledger *l, uint32_t id)
{
	l->next_warc = MAX(l->next_warc, id + 1);
}

void
ledger_start(struct ledger *l)
{
	l->gathering = take_group(l);
	l->applied = l->gathering->number - 1;
	claims_start(l->claims, l);
	l->sync_loop = l->index_loop = l->read_loop = l->loop;
	if (l->options.threads) {
		l->sync_loop = loop_new("sync");
		l->index_loop = loop_new("index");
		l->read_loop = loop_new("reads");
	}
	l->syncer = syncer_new(l->sync_loop, l, l->log);
	l->indexer = indexer_new(l->index_loop, l, l->index);
	if (l->options.threads) {
		loop_start(l->sync_loop);
		loop_start(l->index_loop);
		loop_start(l->read_loop);
	}
	loop_hook(l->loop, &l->turn);
	loop_timer_set(l->loop, &l->rollover_timer,
	    mono_add_ms(clock_mono(), 1000));
	/* In the loop's first turn, when all is loaded. */
	if (l->later != NULL)
		loop_timer_set(l->loop, &l->later_timer, clock_mono());
	l->started = true;
}

void
ledger_close(struct ledger *l, void (*closed)(void *), void *arg)
{
	loop_timer_stop(l->loop, &l->rollover_timer);
	l->closed = closed;
	l->closed_arg = arg;
	if (l->health == LEDGER_FAILED) {
		closed(arg);
		return;
	}
	warc_set_close_all(l);
	l->closing = l->final_checkpoint = true;
	if (l->health == LEDGER_DISK_FULL)
		close_unwritten(l);
	else
		consider_sealing(l);
}

void
ledger_stop(struct ledger *l)
{
	if (!l->started || !l->options.threads || l->stopped)
		return;
	l->stopped = true;
	loop_stop(l->sync_loop);
	loop_join(l->sync_loop);
	loop_stop(l->index_loop);
	loop_join(l->index_loop);
	loop_stop(l->read_loop);
	loop_join(l->read_loop);
	/* Jobs that still run on the pool post to these loops. */
	pool_finish(l->options.pool);
}

void
ledger_free(struct ledger **lp)
{
	struct ledger *l = *lp;

	if (l == NULL)
		return;
	ledger_stop(l);
	loop_timer_stop(l->loop, &l->seal_timer);
	loop_timer_stop(l->loop, &l->rollover_timer);
	loop_timer_stop(l->loop, &l->later_timer);
	/* A command that only reads never starts the ledger, and may be the
	 * last that opens it: it writes the CDXJ too. */
	while (l->later != NULL) {
		struct warc_finish *c = l->later;
		l->later = c->next;
		if (l->recovered)
			warc_finish_run(c);
		warc_finish_free(&c);
	}
	if (l->started)
		list_take(&l->turn.node);
	syncer_free(&l->syncer);
	indexer_free(&l->indexer);
	if (l->sync_loop != l->loop)
		loop_free(&l->sync_loop);
	if (l->index_loop != l->loop)
		loop_free(&l->index_loop);
	if (l->read_loop != l->loop)
		loop_free(&l->read_loop);
	commitlog_close(&l->log);
	index_close(&l->index);
	claims_free(&l->claims);
	warc_set_free_all(l);
	/* Also those that a failure left with one of the threads. */
	while (l->groups != NULL) {
		struct group *g = l->groups;
		l->groups = g->older;
		group_free(&g);
	}
	mem_free(&l->dir);
	mem_free(lp);
}

uint64_t
ledger_applied(const struct ledger *l)
{
	return l->applied;
}

void
ledger_read_beside(struct ledger *l, struct ledger_query *q, struct loop *home,
    ledger_query_run *run, ledger_query_done *done)
{
	*q = (struct ledger_query){ .ledger = l, .home = home, .run = run,
	    .done = done };
	indexer_read_beside(l->read_loop, q);
}

void
ledger_read(struct ledger *l, struct ledger_query *q, struct loop *home,
    ledger_query_run *run, ledger_query_done *done)
{
	*q = (struct ledger_query){ .ledger = l, .home = home, .run = run,
	    .done = done };
	indexer_read(l->indexer, q);
}
