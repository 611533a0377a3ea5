#include "doors/console/console.h"

#include "engine/catalog/catalog.h"
#include "engine/engine.h"

struct capture_ask {
	struct console *console;
	struct web_request *request;
	uint32_t crawl;
	uint64_t number;
	struct records_query record;
	struct capture_query page;
};

/* Reads "/crawls/N/pages/M/...".  NULL: the request was answered. */
static struct capture_ask *
begin(struct web_request *r)
{
	struct str crawl, page;
	uint64_t id, number;

	if (!web_segment(r, 1, &crawl) || !str_to_u64(crawl, &id) ||
	    id >= UINT32_MAX || !web_segment(r, 3, &page) ||
	    !str_to_u64(page, &number)) {
		web_fail(r, 404, "not_found", "a page is /crawls/NUMBER/pages/"
		    "NUMBER");
		return NULL;
	}
	struct capture_ask *k = mem_new(sizeof(*k));
	k->console = web_arg(r);
	k->request = r;
	k->crawl = (uint32_t)id;
	k->number = number;
	drain_gate_enter(&k->console->asked);
	return k;
}

static void
end(struct capture_ask *k)
{
	struct console *c = k->console;

	mem_free(&k);
	drain_gate_leave(&c->asked);
}

/*
 * Answers, or refuses.  Downloads are sent as plain data, whatever type they
 * claim.
 */
static void
answer(struct capture_ask *k, const struct why *w, const char *name_end,
    const char *type, struct str bytes)
{
	struct web_request *r = k->request;
	char name[96];

	if (w->err != OK) {
		web_fail_why(r, w->err, w);
		return;
	}
	snprintf(name, sizeof(name), "attachment; filename=\"crawl-%u-page-"
	    "%llu%s\"", k->crawl, (unsigned long long)k->number, name_end);
	web_add_field(r, "Content-Disposition", name);
	web_add_field(r, "Content-Security-Policy",
	    "default-src 'none'; sandbox; frame-ancestors 'none'");
	web_answer(r, 200, type, bytes);
}

static void
got_record(struct records_query *a)
{
	struct capture_ask *k = a->arg;

	answer(k, &a->why, ".warc.gz", "application/gzip",
	    buf_str(&a->bytes));
	buf_free(&a->bytes);
	arena_free(&a->arena);
	end(k);
}

void
console_get_record(struct web_request *r)
{
	struct capture_ask *k = begin(r);

	if (k == NULL)
		return;
	k->record = (struct records_query){ .crawl = k->crawl,
	    .number = k->number, .done = got_record, .arg = k };
	catalog_records(engine_catalog(k->console->engine), &k->record);
}

static void
got_page(struct capture_query *a)
{
	struct capture_ask *k = a->arg;

	if (a->why.err == OK && a->entry.file == 0)
		(void)why(&a->why, ERR_ABSENT, "the page is not archived");
	if (a->why.err == OK && (a->cut || a->damaged))
		web_add_field(k->request, "Argiope-Body", a->cut ? "cut" :
		    "damaged");
	answer(k, &a->why, ".body", "application/octet-stream",
	    a->body_bytes);
	arena_free(&a->arena);
	end(k);
}

void
console_get_body(struct web_request *r)
{
	struct capture_ask *k = begin(r);

	if (k == NULL)
		return;
	k->page = (struct capture_query){ .crawl = k->crawl,
	    .number = k->number, .body = true,
	    .body_bytes_max = CONSOLE_BODY_BYTES_MAX, .done = got_page,
	    .arg = k };
	catalog_capture(engine_catalog(k->console->engine), &k->page);
}
