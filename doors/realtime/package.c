/*
 * /crawls/N/files/crawl-N.wacz: the crawl's WARC files, index and pages as one
 * package, made as it is sent.
 *
 *     thread: catalog_package() ─► pipe ─► home: pull() ─► the client
 *
 * The pipe stops the thread while the client takes nothing.  A client that
 * leaves closes the pipe, which ends the thread's work; what cannot be read is
 * cut off in a way that the client notices.  Packages need one thread each, and
 * no more than realtime.wacz_max are under way.
 */
#include "doors/realtime/own.h"

#include "os/file.h"
#include "os/log.h"
#include "os/pipe.h"

struct package {
	struct list node;            /* realtime.packages */
	struct web_pull pull;
	struct job job;
	struct watch watch;          /* of the read end */
	struct mail gone;
	struct realtime *door;
	uint32_t crawl;
	int write_end;
	bool ended;                  /* end() was called */
	bool done;                   /* the job has returned */
	bool back;                   /* `asked` was left */
	struct why why;
	struct package_request request;
	struct arena arena;
};

/* --- on the thread ------------------------------------------------------- */

static enum err
put_bytes(void *arg, struct str bytes, struct why *w)
{
	return pipe_write(((struct package *)arg)->write_end, bytes, w);
}

static void
pack(struct job *j)
{
	struct package *p = CONTAINER(j, struct package, job);

	/* The error is reported in `why`. */
	(void)!catalog_package(&p->request, &p->why);
	file_close(&p->write_end);
}

/* --- at home ------------------------------------------------------------- */

static void
free_package(struct package *p)
{
	list_take(&p->node);
	p->door->packages_n--;
	meter_packages(-1);
	arena_free(&p->arena);
	mem_free(&p);
}

static void
free_later(struct mail *m)
{
	struct package *p = CONTAINER(m, struct package, gone);
	struct realtime *d = p->door;

	free_package(p);
	drain_gate_leave(&d->asked);
}

/*
 * Frees a package that has ended.  An event of its watch may be pending in this
 * turn of the loop, so it is freed in a later one.  While the door drains it is
 * freed at once: the watch was closed long ago, and the port may end the answer
 * after the loop's last turn.
 */
static void
leave(struct package *p)
{
	if (!p->done)
		return;
	if (p->door->draining && !p->back) {
		p->back = true;
		drain_gate_leave(&p->door->asked);
	}
	if (p->ended && p->back) {
		free_package(p);
	} else if (p->ended) {
		loop_send(p->door->home, &p->gone, free_later);
	}
}

static void
packed(struct mail *m)
{
	struct job *j = CONTAINER(m, struct job, mail);
	struct package *p = CONTAINER(j, struct package, job);

	p->done = true;
	if (p->why.err != OK && p->why.err != ERR_CLOSED)
		log_error("realtime.wacz_failed", "crawl=%u why=%s", p->crawl,
		    log_why(&p->why));
	if (!p->ended)
		web_pull_wake(&p->pull);
	leave(p);
}

static void
came(struct watch *w, unsigned events)
{
	struct package *p = CONTAINER(w, struct package, watch);

	(void)events;
	if (p->ended)
		return;
	loop_watch(p->door->home, w, 0);
	web_pull_wake(&p->pull);
}

static bool
pull_bytes(struct web_pull *pull, struct buf *out, size_t room)
{
	struct package *p = CONTAINER(pull, struct package, pull);
	size_t before = out->n;

	if (p->watch.fd < 0 || !pipe_read(p->watch.fd, room, out)) {
		/* The job's result says whether the package is complete. */
		p->pull.broken = p->why.err != OK || p->watch.fd < 0;
		return !p->done;
	}
	if (out->n == before)
		loop_watch(p->door->home, &p->watch, LOOP_READ);
	return true;
}

/* The client has disconnected: the thread's next write fails. */
static void
close_read_end(struct package *p)
{
	if (p->watch.fd < 0)
		return;
	loop_watch(p->door->home, &p->watch, 0);
	file_close(&p->watch.fd);
}

static void
end_pull(struct web_pull *pull)
{
	struct package *p = CONTAINER(pull, struct package, pull);

	close_read_end(p);
	p->ended = true;
	leave(p);
}

void
packages_stop(struct realtime *d)
{
	struct list *next;

	for (struct list *l = d->packages.next; l != &d->packages; l = next) {
		struct package *p = LIST_ITEM(l, struct package, node);
		next = l->next;
		/* One that is freed in this turn or the next has its mail. */
		if (p->done && p->ended)
			continue;
		close_read_end(p);
		leave(p);
	}
}

struct str
package_name(uint32_t crawl, struct arena *a)
{
	return arena_printf(a, "crawl-%u.wacz", crawl);
}

static void
describe(struct package *p, const struct crawl_row *row,
    struct archive_file *files, size_t n)
{
	struct arena *a = &p->arena;

	p->crawl = row->id;
	p->watch.ready = came;
	p->pull.pull = pull_bytes;
	p->pull.end = end_pull;
	p->job = (struct job){ .run = pack, .home = p->door->home,
	    .mail.deliver = packed };
	p->request = (struct package_request){ .files = files, .files_n = n,
	    .title = arena_copy(a, row->name.n > 0 ? row->name : row->seed),
	    .seed = arena_copy(a, row->seed), .put = put_bytes, .arg = p,
	    .scratch = arena_printf(a, "%s/" PACKAGE_SCRATCH "%u-%u",
	    p->door->host->data_dir, p->crawl,
	    (unsigned)p->door->packages_made++).p };
}

void
package_send(struct realtime *d, struct web_request *r,
    const struct crawl_row *row, struct arena *memory,
    struct archive_file *files, size_t n)
{
	struct arena *a = web_arena(r);
	struct why w = WHY_INIT;

	if (d->packages_n >= (unsigned)conf_int(d->host->conf,
	    CONF_REALTIME_WACZ_MAX)) {
		web_fail(r, 429, "limit", "%u packages are being made "
		    "(realtime.wacz_max): try again when one is done.",
		    d->packages_n);
		return;
	}
	struct package *p = mem_new(sizeof(*p));
	if (pipe_open(&p->watch.fd, &p->write_end, &w) != OK) {
		mem_free(&p);
		web_fail_why(r, w.err, &w);
		return;
	}
	p->door = d;
	p->arena = *memory;
	*memory = ARENA_INIT;
	describe(p, row, files, n);
	list_put(&d->packages, &p->node);
	d->packages_n++;
	meter_packages(1);
	drain_gate_enter(&d->asked);
	if (d->packers == NULL)
		d->packers = pool_new((unsigned)conf_int(d->host->conf,
		    CONF_REALTIME_WACZ_MAX));
	pool_submit(d->packers, &p->job);
	web_add_field(r, "Content-Disposition", arena_printf(a,
	    "attachment; filename=\"%.*s\"", STR_FMT(package_name(row->id,
	    a))).p);
	web_answer_pull(r, 200, "application/wacz", UINT64_MAX, &p->pull);
}

void
packages_sweep(const char *data_dir)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	size_t n;

	if (file_list(data_dir, &a, &names, &n, NULL) != OK)
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], STR(PACKAGE_SCRATCH)))
			/* The next start removes files that remain. */
			(void)!file_remove(arena_printf(&a, "%s/%.*s", data_dir,
			    STR_FMT(names[i])).p, NULL);
}
