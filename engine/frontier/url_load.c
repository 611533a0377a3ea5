#include "engine/frontier/url_load.h"

#include "engine/frontier/core.h"
#include "os/index.h"
#include "os/pool.h"
#include "os/system.h"

/* Entries that travel from a thread to the caller at a time. */
#define BATCH_ENTRIES 4096
/* More parts than threads, so that all threads end at about the same time. */
#define PARTS_PER_THREAD 8
#define PARTS_MAX 64
/* Beyond this the caller, who fills the table alone, is the slowest. */
#define THREADS_MAX 4

struct load;

/* Reads one part after the other; on a thread while it is a job of the pool. */
struct load_worker {
	struct job job;
	struct load *load;
	struct index_iter *iter;     /* NULL: the part has not begun */
	struct url_load_part part;
	struct str end;              /* of the part */
	size_t n;
	bool ended;                  /* the part */
	struct why why;
	struct url_load_entry entries[BATCH_ENTRIES];
};

struct load {
	const struct url_load *url;
	struct loop *home;           /* NULL without threads */
	struct pool *pool;
	struct buf cuts[PARTS_MAX];
	size_t parts, next;          /* the next part to begin */
	unsigned running;            /* workers with a part */
	bool over;
	struct why why;              /* the first error */
};

/* --- a part, on a thread -------------------------------------------------- */

static void
pass_records(struct load_worker *w)
{
	struct str to = buf_str(&w->part.pass_to);

	w->ended = to.n == 0;
	if (!w->ended)
		index_iter_seek(w->iter, to);
}

static void
fill_batch(struct job *j)
{
	struct load_worker *w = CONTAINER(j, struct load_worker, job);
	const struct url_load *u = w->load->url;
	struct str key, value;

	w->n = 0;
	if (w->iter == NULL) {
		w->iter = index_iter_new_long(u->index, INDEX_URL);
		index_iter_seek(w->iter, buf_str(&w->part.pass_to));
	}
	while (w->n < BATCH_ENTRIES && !w->ended) {
		if (!index_iter_valid(w->iter, &key, &value) ||
		    str_cmp(key, w->end) >= 0) {
			w->ended = true;
			break;
		}
		int next = u->read(u->arg, &w->part, key, value,
		    &w->entries[w->n]);
		if (next & URL_LOAD_TAKE)
			w->n++;
		if (next & URL_LOAD_PASS)
			pass_records(w);
		else
			index_iter_next(w->iter);
	}
	if (w->ended)
		(void)!index_iter_error(w->iter, &w->why);
}

/* --- all parts, on the caller's thread ------------------------------------ */

static void
end_part(struct load_worker *w)
{
	index_iter_free(&w->iter);
	buf_free(&w->part.pass_to);
	w->part = (struct url_load_part){ 0 };
}

/* False when all parts have begun. */
static bool
begin_part(struct load_worker *w)
{
	struct load *l = w->load;
	const struct url_load *u = l->url;

	if (l->next == l->parts || l->why.err != OK)
		return false;
	buf_put_str(&w->part.pass_to, l->next == 0 ? u->from :
	    buf_str(&l->cuts[l->next - 1]));
	w->end = l->next + 1 == l->parts ? u->to : buf_str(&l->cuts[l->next]);
	w->ended = false;
	l->next++;
	return true;
}

/* Take a worker's batch.  False when there is nothing left for it to do. */
static bool
take_batch(struct load_worker *w)
{
	struct load *l = w->load;
	const struct url_load *u = l->url;

	if (w->why.err != OK && l->why.err == OK)
		l->why = w->why;
	if (w->n > 0 && l->why.err == OK) {
		enum err e = u->take(u->arg, w->entries, w->n, &l->why);
		if (e != OK)
			why(&l->why, e, "%s", err_text(e));
	}
	if (!w->ended && l->why.err == OK)
		return true;
	end_part(w);
	return begin_part(w);
}

static void
deliver_batch(struct mail *m)
{
	struct load_worker *w = CONTAINER(CONTAINER(m, struct job, mail),
	    struct load_worker, job);
	struct load *l = w->load;

	if (take_batch(w))
		pool_submit(l->pool, &w->job);
	else
		l->over = --l->running == 0;
}

static struct load_worker *
worker_new(struct load *l)
{
	struct load_worker *w = mem_new(sizeof(*w));

	w->load = l;
	w->job = (struct job){ .mail.deliver = deliver_batch,
	    .home = l->home, .run = fill_batch };
	return w;
}

/* One worker more than threads: its batch is taken while the others read. */
static void
run_threads(struct load *l, unsigned threads)
{
	struct load_worker **workers = mem_array(threads + 1,
	    sizeof(struct load_worker *));

	l->home = loop_new("url_load");
	l->pool = pool_new(threads);
	for (unsigned i = 0; i <= threads; i++) {
		workers[i] = worker_new(l);
		if (!begin_part(workers[i]))
			continue;
		l->running++;
		pool_submit(l->pool, &workers[i]->job);
	}
	loop_run_until(l->home, &l->over);
	pool_free(&l->pool);
	loop_free(&l->home);
	for (unsigned i = 0; i <= threads; i++)
		mem_free(&workers[i]);
	mem_free(&workers);
}

static void
run_here(struct load *l)
{
	struct load_worker *w = worker_new(l);
	bool more = begin_part(w);

	while (more) {
		fill_batch(&w->job);
		more = take_batch(w);
	}
	mem_free(&w);
}

enum err
url_load(const struct url_load *u, struct why *w)
{
	struct load l = { .url = u, .parts = 1, .why = WHY_INIT };

	if (u->threads > 0)
		l.parts = index_split(u->index, INDEX_URL, u->from, u->to,
		    MIN(PARTS_PER_THREAD * u->threads, PARTS_MAX), l.cuts);
	if (l.parts > 1)
		run_threads(&l, u->threads);
	else
		run_here(&l);
	for (size_t i = 0; i < ARRAY_LEN(l.cuts); i++)
		buf_free(&l.cuts[i]);
	return l.why.err == OK ? OK : why(w, l.why.err, "%s", l.why.text);
}

unsigned
url_load_threads(const struct frontier *f)
{
	return f->options.ledger.threads ? MIN(system_cores(), THREADS_MAX) : 0;
}
