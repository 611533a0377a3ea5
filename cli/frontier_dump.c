/*
 * argiope frontier DumpURLs -- all URLs as lines that PutURLs reads.
 *
 * One connection takes crawl after crawl.  With more of them the queues are
 * listed, page by page, and each connection that is free takes the next one:
 * the lines of a queue stand in their order, among those of others.
 */
#include <inttypes.h>

#include "cli/frontier.h"
#include "cli/remote.h"
#include "cli/verbs.h"
#include "os/system.h"
#include "wire/urlfrontier/interchange.h"

#define PAGE_QUEUES 10000

static const struct option_row rows[] = {
	OPTION_ROW(OUTPUT, "output", 'o', "FILE", PATH, 0, 0,
	    "write them to FILE, packed when its name ends in .gz")
	OPTION_ROW(THREADS, "threads", 't', "N", NUMBER, 1, 256,
	    "queue by queue, on N connections at once (1: whole crawls)")
	OPTION_ROW(CRAWL, "crawl", 'c', "CRAWL", TEXT, 0, 0, "the crawl (all)")
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_dumpurls_verb = {
	"frontier DumpURLs", NULL, 0, 0,
	"Write all URLs as lines of JSON",
	"PutURLs reads them; completed URLs have no date. Let nobody write or "
	"be served meanwhile (SetActive false) where the dump must be "
	"complete. Of a cluster of the Java service each node is to be dumped, "
	"with --local.\n"
	FRONTIER_CODES, rows, ARRAY_LEN(rows)
};

struct dump;
struct worker {
	struct dump *dump;
	struct remote_link *link;
	struct remote_call urls;
	bool busy;
};

struct dump {
	struct remote remote;
	struct frontier_out out;
	struct buf line;
	char **crawls;
	size_t crawls_n, crawl_at;
	bool local, done;
	uint64_t urls;
	struct why why;
	struct worker *workers;
	size_t workers_n;
	struct remote_call pages;      /* of the crawl at crawl_at */
	bool paging;
	uint32_t start;
	char *crawl;                     /* of the page in hand */
	char **keys;                     /* in the arena of `pages` */
	char *no_key;                    /* "" */
	size_t keys_n, key_at;
};

static bool
put_item(void *dump, const void *message)
{
	struct dump *d = dump;

	interchange_put(&d->line, message);
	buf_put_char(&d->line, '\n');
	d->urls++;
	return frontier_out_put(&d->out, &d->line, &d->why) == OK;
}

static void
fill(struct dump *d, Urlfrontier__ListUrlParams *p, char *crawl, char *key)
{
	urlfrontier__list_url_params__init(p);
	p->crawlid = crawl;
	p->key = key;
	p->local = d->local;
	/* All of them: the reference takes a signed number. */
	p->size = INT32_MAX;
}

/* --- crawl by crawl, or queue by queue ------------------------------------ */

static void go_on(struct dump *);

/* The first cause is told; what is under way ends with the connections. */
static void
fail(struct dump *d, const struct why *w)
{
	(void)why(&d->why, w->err, "%s", w->text);
	d->done = true;
}

static void
page_came(struct remote_call *k, const void *message)
{
	const Urlfrontier__QueueList *q = message;
	struct dump *d = k->arg;

	d->keys = q->values;
	d->keys_n = q->n_values;
}

static void
page_ended(struct remote_call *k)
{
	struct dump *d = k->arg;

	d->paging = false;
	if (k->why.err != OK) {
		fail(d, &k->why);
		return;
	}
	d->crawl = d->crawls[d->crawl_at];
	d->start += (uint32_t)d->keys_n;
	/* A page that is not full is the last. */
	if (d->keys_n < PAGE_QUEUES) {
		d->crawl_at++;
		d->start = 0;
	}
	go_on(d);
}

static void
ask_page(struct dump *d)
{
	Urlfrontier__Pagination p = URLFRONTIER__PAGINATION__INIT;
	struct why w = WHY_INIT;

	d->keys_n = d->key_at = 0;
	p.crawlid = d->crawls[d->crawl_at];
	p.start = d->start;
	p.size = PAGE_QUEUES;
	p.include_inactive = true;
	p.local = d->local;
	if (remote_begin(d->remote.first, &d->pages, &w) != OK) {
		fail(d, &w);
		return;
	}
	d->paging = true;
	remote_send(&d->pages, &p);
	remote_half_close(&d->pages);
}

static void
url_came(struct remote_call *k, const void *message)
{
	struct worker *worker = k->arg;
	struct dump *d = worker->dump;

	if (!d->done && !put_item(d, message))
		d->done = true;
}

static void
urls_ended(struct remote_call *k)
{
	struct worker *worker = k->arg;
	struct dump *d = worker->dump;

	worker->busy = false;
	if (k->why.err != OK)
		fail(d, &k->why);
	else if (!d->done)
		go_on(d);
}

static void
ask_urls(struct dump *d, struct worker *worker)
{
	Urlfrontier__ListUrlParams p;
	struct why w = WHY_INIT;

	fill(d, &p, d->crawl, d->keys[d->key_at++]);
	if (remote_begin(worker->link, &worker->urls, &w) != OK) {
		fail(d, &w);
		return;
	}
	worker->busy = true;
	remote_send(&worker->urls, &p);
	remote_half_close(&worker->urls);
}

/* The empty key means all queues of the crawl. */
static void
take_crawl(struct dump *d)
{
	d->crawl = d->crawls[d->crawl_at++];
	d->keys = &d->no_key;
	d->keys_n = 1;
	d->key_at = 0;
	go_on(d);
}

/* Give queues to who is free; ask for more of them; or it is done. */
static void
go_on(struct dump *d)
{
	bool busy = false;

	for (size_t i = 0; !d->done && i < d->workers_n; i++) {
		struct worker *worker = &d->workers[i];
		if (!worker->busy && d->key_at < d->keys_n)
			ask_urls(d, worker);
		busy |= worker->busy;
	}
	if (d->done || d->paging || d->key_at < d->keys_n)
		return;
	if (d->crawl_at < d->crawls_n && d->workers_n == 1)
		take_crawl(d);
	else if (d->crawl_at < d->crawls_n)
		ask_page(d);
	else if (!busy)
		d->done = true;
}

static enum err
dump_all(struct dump *d)
{
	d->pages = (struct remote_call){ .rpc = "ListQueues",
	    .message = page_came, .ended = page_ended, .arg = d };
	for (size_t i = 0; i < d->workers_n; i++) {
		struct worker *worker = &d->workers[i];
		worker->dump = d;
		worker->link = d->remote.first;
		worker->urls = (struct remote_call){ .rpc = "ListURLs",
		    .message = url_came, .ended = urls_ended, .arg = worker };
		enum err e = i == 0 ? OK : remote_connect(&d->remote,
		    &worker->link, &d->why);
		if (e != OK)
			return e;
	}
	go_on(d);
	loop_run_until(d->remote.loop, &d->done);
	return d->why.err;
}

/* --- the verb ------------------------------------------------------------- */

/* The message lasts only until its call ends. */
static bool
keep_crawls(void *dump, const void *message)
{
	const Urlfrontier__StringList *l = message;
	struct dump *d = dump;
	struct arena *a = &d->remote.cli->arena;

	d->crawls = ARENA_ARRAY(a, char *, l->n_values + 1);
	for (; d->crawls_n < l->n_values; d->crawls_n++) {
		size_t n = strlen(l->values[d->crawls_n]) + 1;
		d->crawls[d->crawls_n] = memcpy(arena_bytes(a, n),
		    l->values[d->crawls_n], n);
	}
	return true;
}

static enum err
find_crawls(struct dump *d, struct cli *c)
{
	Urlfrontier__Local l = URLFRONTIER__LOCAL__INIT;

	if (cli_count(c, "crawl") > 0) {
		d->crawls = ARENA_NEW(&c->arena, char *);
		d->crawls[d->crawls_n++] = frontier_text(c, "crawl", "");
		return OK;
	}
	l.local = d->local;
	enum err e = remote_each(&d->remote, "ListCrawls", &l, keep_crawls, d,
	    &d->why);
	return e == OK && d->crawls == NULL ? why(&d->why, ERR_IO,
	    "ListCrawls: no answer came") : e;
}

/* The exit code. */
static int
dump_end(struct dump *d, enum err e)
{
	enum err end = frontier_out_close(&d->out, &d->why);

	/* Calls that are under way end here, and find us done. */
	d->done = true;
	remote_close(&d->remote);
	for (size_t i = 0; i < d->workers_n; i++)
		remote_call_free(&d->workers[i].urls);
	remote_call_free(&d->pages);
	mem_free(&d->workers);
	buf_free(&d->line);
	if (e == OK && end == OK) {
		if (system_is_terminal(2))
			fprintf(stderr, "%" PRIu64 " URLs\n", d->urls);
		return 0;
	}
	(void)cli_fail(&d->why);
	fprintf(stderr, CLI_PROGRAM ": the dump is not complete; it has %"
	    PRIu64 " URLs\n", d->urls);
	return 1;
}

enum err
frontier_dumpurls_run(struct cli *c, struct why *w)
{
	(void)w;
	char none[] = "";
	struct dump d = { .why = WHY_INIT, .line = BUF_INIT, .no_key = none,
	    .workers_n = (size_t)cli_number(c, "threads", 1),
	    .local = cli_count(c, "local") > 0 };

	d.workers = mem_array(d.workers_n, sizeof(*d.workers));
	enum err e = remote_open(c, &d.remote, &d.why);
	if (e == OK)
		e = find_crawls(&d, c);
	if (e == OK)
		e = frontier_out_open(&d.out, cli_text(c, "output", NULL),
		    &d.why);
	if (e == OK)
		e = dump_all(&d);
	c->code = dump_end(&d, e);
	return OK;
}
