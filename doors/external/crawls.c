#include "doors/external/crawls.h"

#include "engine/control/control.h"
#include "engine/harvest/web_documents.h"
#include "os/log.h"

/* The connector whose tasks have crawls. */
#define CONNECTOR "web_crawl"

/* ---- At home ------------------------------------------------------------ */

/* The number of the task in a key of task_run.c; 0: it is none of a task. */
static uint64_t
read_task_number(struct str key)
{
	struct str rest = str_from(key, sizeof(CRAWLS_KEY) - 1), number;
	uint64_t task = 0;

	return str_split(&rest, ':', &number) && str_to_u64(number, &task) ?
	    task : 0;
}

void
crawls_list_ended(struct crawls *x, struct external_door *d, struct wall now)
{
	struct web_crawl found[CRAWLS_ROUND_MAX];
	int64_t before_us = now.us - d->set.keep_ms * 1000;

	if (d->crawls_below == 0)
		d->crawls_below = UINT32_MAX;
	x->n = 0;
	size_t n = web_documents_list_crawls(d->web, STR(CRAWLS_KEY),
	    &d->crawls_below, found, CRAWLS_ROUND_MAX);
	for (size_t i = 0; i < n; i++) {
		struct crawl_look look = { .id = found[i].id,
		    .task = read_task_number(found[i].key) };
		look.is_unused = look.task == 0 &&
		    found[i].ended.us < before_us;
		/* Its captures are the task's archive. */
		if (look.task != 0 && d->set.archives)
			continue;
		if (look.task != 0 || look.is_unused)
			x->list[x->n++] = look;
	}
}

static void
crawl_deleted(struct delete_request *q)
{
	struct external_door *d = q->arg;

	if (q->why.err == OK)
		log_info("external.crawl", "crawl=%u deleted=1", q->crawl);
	else if (q->why.err != ERR_ABSENT)
		log_warn("external.crawl", "crawl=%u why=%s", q->crawl,
		    log_why(&q->why));
	mem_free(&q);
	drain_gate_leave(&d->asked);
}

void
crawls_delete_unused(const struct crawls *x, struct external_door *d)
{
	for (size_t i = 0; i < x->n; i++) {
		if (!x->list[i].is_unused)
			continue;
		struct delete_request *q = mem_new(sizeof(*q));
		*q = (struct delete_request){ .crawl = x->list[i].id,
		    .done = crawl_deleted, .arg = d };
		drain_gate_enter(&d->asked);
		crawl_delete(d->engine, q);
	}
}

/* ---- On the store's thread ---------------------------------------------- */

/* The crawls that cursors name. */
static enum err
read_cursors(struct store *st, struct arena *a, struct map *named,
    struct why *w)
{
	uint32_t crawls[WEB_DOCUMENTS_CURSOR_CRAWLS_MAX];
	struct str *cursors;
	size_t n;

	enum err e = store_cursor_list(st, STR(CONNECTOR), a, &cursors, &n,
	    w);
	for (size_t i = 0; e == OK && i < n; i++) {
		size_t crawls_n = web_documents_crawls(cursors[i], crawls);
		for (size_t k = 0; k < crawls_n; k++)
			(void)map_put_id(named, crawls[k], named);
	}
	return e;
}

enum err
crawls_find_unused(struct crawls *x, struct store *st, struct arena *a,
    struct why *w)
{
	FREED(map_free) struct map named = MAP_INIT;
	bool exists, any = false;
	enum err e = OK;

	for (size_t i = 0; e == OK && i < x->n; i++) {
		struct crawl_look *look = &x->list[i];
		if (look->task == 0)
			continue;
		e = store_task_exists(st, look->task, &exists, w);
		look->is_unused = e == OK && !exists;
		any |= look->is_unused;
	}
	if (e == OK && any)
		e = read_cursors(st, a, &named, w);
	for (size_t i = 0; e == OK && i < x->n; i++)
		x->list[i].is_unused &= x->list[i].task == 0 ||
		    map_get_id(&named, x->list[i].id) == NULL;
	return e;
}
