/*
 * The sync thread: group after group, WARC members first, then the log.
 *
 *     take ─► space left? ─► WARC writes ─► WARC syncs ─► log ─► back
 *               │ no            │ ENOSPC
 *               └─── wait ◄─────┘   (the same bytes to the same places again)
 *
 * When low water is met the group in hand, if it has no captures, still goes:
 * that is what the reserve is for.  The owner is told, and refuses what is new;
 * what comes nevertheless waits.
 *
 * A lazy group goes back when its record is written.  The log is synced behind
 * it by the next group that is not, at the latest by a timer, and before a WARC
 * is touched: its members must not be ahead of the log by more than a group.
 */
#include "base/map.h"
#include "engine/archive/archive_port.h"
#include "engine/ledger/group.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"

#define FULL_RETRY_MS 500
#define SPACE_LOOK_MS 200
#define NEVER_SEEN (INT64_MIN / 2)
/* Bytes copied at a time from a spool file into a WARC. */
#define COPY_PIECE ((size_t)256 << 10)

struct open_warc {
	uint32_t id;
	int fd, cdxj_fd;
	bool no_lines;              /* any more: the WARC is read at its end */
	uint64_t cdxj_end;
	char *path, *cdxj_path;
};

struct syncer {
	struct loop *loop;
	struct ledger *ledger;
	struct commitlog *log;
	struct timer late;          /* to sync what lazy groups wrote */
	struct map warcs;           /* id -> struct open_warc */
	struct group *stalled;      /* waits for space */
	struct timer retry;
	struct mono space_seen;     /* when free space was last looked at */
	bool low;                   /* as of the last look */
	bool full_told, failed;
};

/* But its descriptor, which another may have now. */
static void
open_warc_free(struct open_warc **op)
{
	archive_port()->close(&(*op)->cdxj_fd);
	mem_free(&(*op)->path);
	mem_free(&(*op)->cdxj_path);
	mem_free(op);
}

static struct open_warc *
warc_of(struct syncer *s, uint32_t id)
{
	struct open_warc *w = map_get_id(&s->warcs, id);

	CHECK(w != NULL);
	return w;
}

static enum err
create_warc(struct syncer *s, const struct warc_write *w, struct why *why_)
{
	struct open_warc *o = map_get_id(&s->warcs, w->file);

	if (o == NULL) {
		o = mem_new(sizeof(*o));
		*o = (struct open_warc){ .id = w->file, .fd = -1,
		    .cdxj_fd = -1, .no_lines = w->no_lines,
		    .path = mem_copy_text(w->open_path.p),
		    .cdxj_path = mem_copy_text(w->open_cdxj.p) };
		map_put_id(&s->warcs, w->file, o);
	}
	return archive_port()->create(w->open_path.p, &o->fd, why_);
}

/*
 * The CDXJ is neither synced nor worth an error: lines that end too early are
 * not believed, and the index is made from the WARC when it is closed.
 */
static void
write_lines(struct open_warc *o, const struct warc_write *w)
{
	struct why why_ = WHY_INIT;
	enum err e = OK;

	if (o->cdxj_fd < 0)
		e = archive_port()->scratch(o->cdxj_path, &o->cdxj_fd,
		    &why_);
	if (e == OK)
		e = archive_port()->append(o->cdxj_fd, o->cdxj_end,
		    w->cdxj.p, w->cdxj.n, &why_);
	if (e == OK)
		return;
	log_warn("ledger.cdxj", "why=%s", log_why(&why_));
	o->no_lines = true;
	archive_port()->close(&o->cdxj_fd);
}

static enum err
copy_rest(int to, uint64_t at, const struct archive_extent *part)
{
	char *piece = mem_new(COPY_PIECE);
	enum err e = OK;
	size_t got;

	for (uint64_t done = 0; e == OK && done < part->n; done += got) {
		e = archive_port()->read_at(part->handle, part->at + done,
		    piece, MIN(COPY_PIECE, part->n - done), &got, NULL);
		if (e == OK && got == 0)
			e = ERR_CORRUPT;
		if (e == OK)
			e = archive_port()->append(to, at + done, piece, got,
			    NULL);
	}
	mem_free(&piece);
	return e;
}

/* Writes the bytes, and the parts of other files at their places. */
static enum err
write_members(struct open_warc *o, const struct warc_write *w)
{
	uint64_t at = w->offset;
	size_t done = 0;
	enum err e = OK;

	for (const struct warc_rest *r = w->rests; e == OK && r != NULL;
	    r = r->next) {
		e = archive_port()->append(o->fd, at, w->bytes.p + done,
		    r->behind - done, NULL);
		at += r->behind - done;
		done = r->behind;
		if (e == OK)
			e = copy_rest(o->fd, at, &r->part);
		at += r->part.n;
	}
	return e != OK ? e : archive_port()->append(o->fd, at,
	    w->bytes.p + done, w->bytes.n - done, NULL);
}

static enum err
write_warc(struct syncer *s, struct warc_write *w, struct why *why_)
{
	if (w->create) {
		enum err e = create_warc(s, w, why_);
		if (e != OK)
			return e;
	}
	if (w->bytes.n == 0)
		return OK;
	struct open_warc *o = warc_of(s, w->file);
	enum err e = write_members(o, w);
	if (e != OK)
		return why(why_, e, "cannot write to %s: %s", o->path,
		    err_text(e));
	if (w->cdxj.n != 0 && !o->no_lines)
		write_lines(o, w);
	return OK;
}

static enum err
sync_warcs(struct syncer *s, struct group *g, struct why *why_)
{
	struct arena *a = &g->arena;
	int *fds = ARENA_ARRAY(a, int, g->writes_n);
	uint32_t *ids = ARENA_ARRAY(a, uint32_t, g->writes_n);
	size_t n = 0, failed;

	for (size_t i = 0; i < g->writes_n; i++) {
		if (g->writes[i].bytes.n == 0)
			continue;
		ids[n] = g->writes[i].file;
		fds[n] = warc_of(s, ids[n])->fd;
		n++;
	}
	enum err e = n == 0 ? OK : archive_port()->sync(fds, n, &failed,
	    NULL);
	if (e == OK)
		return OK;
	g->failed_file = ids[failed];
	return why(why_, e, "cannot sync %s: %s", warc_of(s,
	    ids[failed])->path, err_text(e));
}

static enum err
write_warcs(struct syncer *s, struct group *g, struct why *why_)
{
	enum err e = OK;

	for (size_t i = 0; i < g->writes_n && e == OK; i++) {
		e = write_warc(s, &g->writes[i], why_);
		if (e != OK)
			g->failed_file = g->writes[i].file;
	}
	if (e == OK)
		e = sync_warcs(s, g, why_);
	/* A full disk is waited for. */
	if (e == ERR_DISK_FULL)
		g->failed_file = 0;
	if (e == OK) {
		for (size_t i = 0; i < g->writes_n; i++)
			if (g->writes[i].cdxj.n != 0)
				warc_of(s, g->writes[i].file)->cdxj_end +=
				    g->writes[i].cdxj.n;
	}
	return e;
}

/* Whose the archive is, on the disk before any new file of it: claims.h. */
static enum err
write_marks(struct group *g, struct why *why_)
{
	enum err e = OK;

	for (const struct mark *m = g->marks; m != NULL && e == OK;
	    m = m->next) {
		struct why own = WHY_INIT;
		if (m->lists)
			e = identity_write(m->owner.place.p, &m->identity,
			    &own);
		if (e == OK)
			e = owner_write(m->root.p, &m->owner, &own);
		if (e != OK)
			e = why(why_, e, "cannot write to %s: %s", m->root.p,
			    own.text);
	}
	return e;
}

static enum err
too_little(const struct ledger_options *o, const char *path, uint64_t left,
    struct why *why_)
{
	return why(why_, ERR_DISK_FULL, "%llu MiB left at %s, less than "
	    "data.free_bytes_min (%llu MiB)", (unsigned long long)(left >> 20),
	    path, (unsigned long long)(o->free_bytes_min >> 20));
}

/* Low water: refuse before the disk does. */
static enum err
look_at_space(struct syncer *s, struct group *g, struct why *why_)
{
	const struct ledger_options *o = ledger_options(s->ledger);
	struct mono now = clock_mono();
	uint64_t left;

	if (s->stalled == NULL &&
	    mono_ns_between(s->space_seen, now) < SPACE_LOOK_MS * NS_PER_MS)
		return OK;
	enum err e = file_free_bytes(o->dir, &left, why_);
	if (e != OK)
		return e;
	if (left < o->free_bytes_min)
		return too_little(o, o->dir, left, why_);
	for (size_t i = 0; i < g->writes_n; i++) {
		const struct open_warc *w = map_get_id(&s->warcs,
		    g->writes[i].file);
		/* A file that is gone shows when it is written. */
		if (w == NULL ||
		    archive_port()->free_bytes(w->path, &left, NULL) != OK)
			continue;
		if (left < o->free_bytes_min)
			return too_little(o, w->path, left, why_);
	}
	s->space_seen = now;
	return OK;
}

static enum err
write_log(struct syncer *s, struct group *g, struct why *why_)
{
	enum err e = commitlog_append(s->log, g->number, buf_str(&g->body),
	    why_);

	g->chain = commitlog_chain(s->log);
	if (e != OK || !g->lazy)
		return e == OK ? commitlog_sync(s->log, why_) : e;
	if (!heap_holds(&s->late.node))
		loop_timer_set(s->loop, &s->late, mono_add_ms(clock_mono(),
		    LEDGER_LATE_MS));
	return OK;
}

static void
close_warcs(struct syncer *s, struct group *g)
{
	for (size_t i = 0; i < g->writes_n; i++) {
		if (!g->writes[i].close)
			continue;
		struct open_warc *o = map_take_id(&s->warcs,
		    g->writes[i].file);
		CHECK(o != NULL);
		ledger_closing_start(s->ledger, warc_finish_new(s->ledger,
		    &g->writes[i].record, o->fd));
		open_warc_free(&o);
	}
}

struct health_mail {
	struct mail mail;
	struct ledger *ledger;
	enum ledger_health health;
	struct why why;
};

static void
deliver_health(struct mail *m)
{
	struct health_mail *h = CONTAINER(m, struct health_mail, mail);

	ledger_tell_health(h->ledger, h->health, h->why.text);
	mem_free(&h);
}

static void
tell(struct syncer *s, enum ledger_health health, const struct why *w)
{
	struct health_mail *h = mem_new(sizeof(*h));

	h->ledger = s->ledger;
	h->health = health;
	h->why = *w;
	loop_send(ledger_loop(s->ledger), &h->mail, deliver_health);
}

static void
deliver_synced(struct mail *m)
{
	struct group *g = CONTAINER(m, struct group, mail);

	ledger_group_synced(g->ledger, g);
}

/* The owner hears of the group before anyone whose answer depends on it. */
static void
hand_back(struct syncer *s, struct group *g, const struct why *result)
{
	struct promise *p = result->err == OK ? group_take_answers(g) : NULL;

	g->result = *result;
	loop_send(ledger_loop(s->ledger), &g->mail, deliver_synced);
	while (p != NULL) {
		struct promise *next = p->next;
		loop_post(p->home, p->answer);
		p = next;
	}
}

static void
tell_full(struct syncer *s, struct why *w)
{
	if (!s->full_told)
		tell(s, LEDGER_DISK_FULL, w);
	s->full_told = true;
	loop_timer_set(s->loop, &s->retry,
	    mono_add_ms(clock_mono(), FULL_RETRY_MS));
}

static void
tell_fine(struct syncer *s)
{
	struct why w = WHY_INIT;

	if (s->full_told)
		tell(s, LEDGER_FINE, &w);
	s->full_told = false;
}

static enum err
write_group(struct syncer *s, struct group *g, struct why *w)
{
	enum err e = s->failed ? why(w, ERR_BROKEN, "an earlier sync failed") :
	    look_at_space(s, g, w);

	bool fell = !s->low && s->space_seen.ns != NEVER_SEEN;
	s->low = e == ERR_DISK_FULL;
	if (s->low && fell && g->writes_n == 0) {
		tell_full(s, w);
		*w = WHY_INIT;
		e = OK;
	}
	/* Room in the log first: nothing is begun that cannot be ended. */
	if (e == OK)
		e = commitlog_prepare(s->log, g->body.n, w);
	if (e == OK && (g->writes_n > 0 || g->marks != NULL))
		e = commitlog_sync(s->log, w);
	if (e == OK)
		e = write_marks(g, w);
	if (e == OK)
		e = write_warcs(s, g, w);
	if (e == OK)
		e = write_log(s, g, w);
	/* One failed WARC is not the end: the owner may have another file. */
	if (e != OK && e != ERR_DISK_FULL && g->failed_file == 0)
		s->failed = true;
	return e;
}

static void
work(struct syncer *s, struct group *g)
{
	struct why w = WHY_INIT;
	struct mono began = clock_mono();

	enum err e = write_group(s, g, &w);
	if (e == ERR_DISK_FULL) {
		s->stalled = g;
		tell_full(s, &w);
		return;
	}
	s->stalled = NULL;
	if (e == OK && !s->low)
		tell_fine(s);
	if (e == OK)
		close_warcs(s, g);
	g->sync_ns = mono_ns_between(began, clock_mono());
	hand_back(s, g, &w);
}

static enum err
sync_now(struct syncer *s, struct why *w)
{
	enum err e = s->failed ? why(w, ERR_BROKEN, "an earlier sync failed") :
	    commitlog_sync(s->log, w);

	s->failed |= e != OK;
	return e;
}

static void
deliver_asked(struct mail *m)
{
	struct sync_ask *a = CONTAINER(m, struct sync_ask, mail);

	a->done(a);
}

static void
deliver_ask(struct mail *m)
{
	struct sync_ask *a = CONTAINER(m, struct sync_ask, mail);

	a->result = WHY_INIT;
	if (sync_now(a->syncer, &a->result) == OK)
		a->upto = commitlog_group(a->syncer->log);
	else
		a->result.err = ERR_BROKEN;
	loop_send(a->home, &a->mail, deliver_asked);
}

void
syncer_ask(struct syncer *s, struct sync_ask *a)
{
	a->syncer = s;
	loop_send(s->loop, &a->mail, deliver_ask);
}

struct failure_mail {
	struct mail mail;
	struct ledger *ledger;
	struct why why;
};

static void
deliver_failure(struct mail *m)
{
	struct failure_mail *f = CONTAINER(m, struct failure_mail, mail);

	ledger_log_failed(f->ledger, f->why.text);
	mem_free(&f);
}

/* No promise waits for this sync, so a failure is reported to the ledger. */
static void
sync_late(struct timer *t)
{
	struct syncer *s = CONTAINER(t, struct syncer, late);
	struct why w = WHY_INIT;

	if (sync_now(s, &w) == OK)
		return;
	struct failure_mail *f = mem_new(sizeof(*f));
	f->ledger = s->ledger;
	f->why = w;
	loop_send(ledger_loop(s->ledger), &f->mail, deliver_failure);
}

static void
retry_now(struct timer *t)
{
	struct syncer *s = CONTAINER(t, struct syncer, retry);

	if (s->stalled != NULL) {
		work(s, s->stalled);
	} else if (s->low) {
		struct group none = { .writes_n = 0 };
		struct why w = WHY_INIT;
		s->low = look_at_space(s, &none, &w) == ERR_DISK_FULL;
		if (s->low)
			tell_full(s, &w);
		else
			tell_fine(s);
	}
}

static void
deliver_group(struct mail *m)
{
	struct group *g = CONTAINER(m, struct group, mail);

	work(ledger_syncer(g->ledger), g);
}

void
syncer_take(struct syncer *s, struct group *g)
{
	loop_send(s->loop, &g->mail, deliver_group);
}

struct release_mail {
	struct mail mail;
	struct syncer *syncer;
	uint64_t group;
};

static void
deliver_release(struct mail *m)
{
	struct release_mail *r = CONTAINER(m, struct release_mail, mail);

	commitlog_release(r->syncer->log, r->group);
	mem_free(&r);
}

void
syncer_release(struct syncer *s, uint64_t group)
{
	struct release_mail *r = mem_new(sizeof(*r));

	r->syncer = s;
	r->group = group;
	loop_send(s->loop, &r->mail, deliver_release);
}

struct syncer *
syncer_new(struct loop *own, struct ledger *l, struct commitlog *log)
{
	struct syncer *s = mem_new(sizeof(*s));

	s->loop = own;
	s->ledger = l;
	s->log = log;
	s->retry.fire = retry_now;
	s->late.fire = sync_late;
	s->space_seen = (struct mono){ NEVER_SEEN };
	return s;
}

void
syncer_free(struct syncer **sp)
{
	struct syncer *s = *sp;

	if (s == NULL)
		return;
	MAP_EACH(o, &s->warcs, struct open_warc) {
		archive_port()->close(&o->fd);
		open_warc_free(&o);
	}
	map_free(&s->warcs);
	loop_timer_stop(s->loop, &s->retry);
	loop_timer_stop(s->loop, &s->late);
	mem_free(sp);
}
