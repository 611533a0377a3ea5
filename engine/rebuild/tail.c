/*
 * The end of a file that nobody finished.  The members of one capture stand
 * together: response and request of each hop, the last hop no redirect.  A
 * resource is a capture of its own.
 */
#include "engine/archive/walk.h"
#include "engine/rebuild/parts.h"

struct tail_walk {
	struct tail *tail;
	struct buf head;
	struct arena arena;
	bool redirected;             /* by the newest response */
};

static bool
is_redirect(struct tail_walk *x, struct walk_visit *v)
{
	struct http_head h;

	arena_reset(&x->arena);
	return walk_http_head(v->reader, false, 0, &x->head, &x->arena,
	    &h) && http_is_redirect(h.status) &&
	    http_find(&h, STR("Location")).n != 0;
}

static enum err
on_record(void *arg, struct walk_visit *v, struct why *w)
{
	struct tail_walk *x = arg;
	const struct warc_entry *e = v->entry;
	struct warc_capture facts;

	(void)w;
	if (e->type == WARC_RESOURCE)
		x->tail->end = e->offset;
	if (e->type != WARC_RESPONSE && e->type != WARC_REVISIT)
		return OK;
	/* A first hop begins: all before it is whole. */
	if (warc_capture_parse(warc_entry_field(e, STR("Argiope-Capture")),
	    &facts) && facts.hop == 0)
		x->tail->end = e->offset;
	x->redirected = is_redirect(x, v);
	return OK;
}

static enum err
on_record_end(void *arg, struct walk_visit *v, bool whole, struct why *w)
{
	struct tail_walk *x = arg;
	const struct warc_entry *e = v->entry;

	(void)w;
	if (!whole)
		return OK;
	if (e->type == WARC_WARCINFO && x->tail->first == 0)
		x->tail->first = x->tail->end = e->offset + e->clen;
	else if (e->type == WARC_RESOURCE || (e->type == WARC_REQUEST &&
	    !x->redirected))
		x->tail->end = e->offset + e->clen;
	return OK;
}

enum err
tail_find(const struct archive_file *file, struct tail *tail, struct why *w)
{
	static const struct walk_events events = { .record = on_record,
		.record_end = on_record_end, .io_ends = true };
	struct tail_walk x = { .tail = tail };

	*tail = (struct tail){ .size = file->size };
	enum err e = walk_file(file, &events, &x, w);
	buf_free(&x.head);
	arena_free(&x.arena);
	return e;
}
