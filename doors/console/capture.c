#include "doors/console/own.h"

#include "engine/control/control.h"
#include "engine/catalog/catalog.h"

struct capture_ask {
	struct console *console;
	struct web_request *request;
	uint32_t crawl;
	uint64_t number;
	struct records_query record;
	struct capture_query page;
};

/* Parses "/crawls/N/pages/M/..."; the route has checked the rest. */
static bool
read_path(struct str path, uint32_t *crawl, uint64_t *number)
{
	struct str part[6] = { { NULL, 0 } };
	uint64_t id;

	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		if (!str_split(&path, '/', &part[i]))
			return false;
	if (!str_to_u64(part[2], &id) || id >= UINT32_MAX ||
	    !str_to_u64(part[4], number))
		return false;
	*crawl = (uint32_t)id;
	return true;
}

static struct capture_ask *
begin(struct web_request *r)
{
	struct capture_ask *k;
	uint64_t number;
	uint32_t crawl;

	if (!read_path(web_path(r), &crawl, &number)) {
		web_fail(r, 404, "not_found", "a page is /crawls/NUMBER/pages/"
		    "NUMBER");
		return NULL;
	}
	k = mem_new(sizeof(*k));
	k->console = web_arg(r);
	k->request = r;
	k->crawl = crawl;
	k->number = number;
	console_out(k->console);
	return k;
}

static void
end(struct capture_ask *k)
{
	struct console *c = k->console;

	mem_free(&k);
	console_back(c);
}

/* Downloads are sent as plain data, whatever type they claim. */
static void
answer(struct capture_ask *k, const char *name_end, const char *type,
    struct str bytes)
{
	struct web_request *r = k->request;
	char name[96];

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

	if (a->why.err != OK)
		web_fail_why(k->request, a->why.err, &a->why);
	else
		answer(k, ".warc.gz", "application/gzip", buf_str(&a->bytes));
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
	k->record.crawl = k->crawl;
	k->record.number = k->number;
	k->record.done = got_record;
	k->record.arg = k;
	catalog_records(engine_catalog(k->console->engine), &k->record);
}

static void
got_page(struct capture_query *a)
{
	struct capture_ask *k = a->arg;

	if (a->why.err != OK) {
		web_fail_why(k->request, a->why.err, &a->why);
	} else {
		if (a->cut || a->damaged)
			web_add_field(k->request, "Argiope-Body", a->cut ?
			    "cut" : "damaged");
		answer(k, ".body", "application/octet-stream", a->body_bytes);
	}
	arena_free(&a->arena);
	end(k);
}

void
console_get_body(struct web_request *r)
{
	struct capture_ask *k = begin(r);

	if (k == NULL)
		return;
	k->page.crawl = k->crawl;
	k->page.number = k->number;
	k->page.body = true;
	k->page.body_bytes_max = CONSOLE_BODY_BYTES_MAX;
	k->page.done = got_page;
	k->page.arg = k;
	catalog_capture(engine_catalog(k->console->engine), &k->page);
}
