/*
 * The ends of harvests' WARC files: their owner takes them elsewhere once they
 * have their names.
 */
#include "engine/control/engine_own.h"

/* A crawl's files on their way to their names; the ledger's loop's. */
struct closing_files {
	unsigned n;
	struct list waiting;         /* struct end_file_request */
};

#define END_FILE_STEPS(X)                                                    \
	X(END_FILE, AT_LEDGER, end_file, "its file is closed in this group") \
	X(CLOSED, AT_DURABLE, wait_for_names, "have its files their names?") \
	X(NAMED, AT_LEDGER, request_end, "they have, and it is committed")
enum { END_FILE_STEPS(REQUEST_ENUM) };

static struct closing_files *
files_of(struct engine *e, uint32_t crawl)
{
	struct closing_files *f = map_get_id(&e->closing_files, crawl);

	if (f == NULL) {
		f = mem_new(sizeof(*f));
		list_init(&f->waiting);
		map_put_id(&e->closing_files, crawl, f);
	}
	return f;
}

static void
file_closing(void *arg, uint32_t crawl)
{
	files_of(arg, crawl)->n++;
}

static void
file_finished(void *arg, uint32_t crawl, uint32_t file)
{
	struct engine *e = arg;
	struct closing_files *f = map_get_id(&e->closing_files, crawl);

	(void)file;
	CHECK(f != NULL && f->n > 0);
	if (--f->n > 0)
		return;
	while (!list_empty(&f->waiting))
		request_resume(&LIST_POP(&f->waiting, struct end_file_request,
		    node)->request, NAMED);
	map_take_id(&e->closing_files, crawl);
	mem_free(&f);
}

void
engine_files_options(struct engine *e, struct frontier_options *o)
{
	o->ledger.owners[WARC_OF_HARVEST] = (struct warc_owner){ file_closing,
	    NULL, file_finished, e };
}

void
engine_files_free(struct engine *e)
{
	MAP_EACH(f, &e->closing_files, struct closing_files)
		mem_free(&f);
	map_free(&e->closing_files);
}

/* --- the verb ------------------------------------------------------------ */

static int
end_file(struct request *r)
{
	struct end_file_request *q = CONTAINER(r, struct end_file_request,
	    request);

	frontier_end_file(q->engine->frontier, q->crawl);
	return CLOSED;
}

static int
wait_for_names(struct request *r)
{
	struct end_file_request *q = CONTAINER(r, struct end_file_request,
	    request);
	struct closing_files *f = map_get_id(&q->engine->closing_files,
	    q->crawl);

	if (r->why.err != OK || f == NULL)
		return REQUEST_DONE;
	list_put(&f->waiting, &q->node);
	return REQUEST_WAIT;
}

static void
end_file_done(struct request *r)
{
	struct end_file_request *q = CONTAINER(r, struct end_file_request,
	    request);

	q->why = r->why;
	q->done(q);
}

static const struct request_step end_file_steps[] = {
	END_FILE_STEPS(REQUEST_ROW)
};

void
crawl_end_file(struct engine *e, struct end_file_request *q)
{
	q->engine = e;
	list_init(&q->node);
	q->request.done = end_file_done;
	request_start(&q->request, &e->places, end_file_steps, END_FILE);
}
