/* Questions about crawls that run, over a web on loopback. */
#include "engine/catalog/catalog.h"
#include "engine/control/engine_testing.h"
#include "engine/stream/stream.h"

static struct rig rig;

static atomic_int robots_status;     /* of every host; 0: no answer */

static void
robots_txt(struct rig_page *p)
{
	p->status = atomic_load(&robots_status);
	p->drop = p->status == 0;
	buf_put_text(&p->body, "User-agent: *\nDisallow: /no\n");
}

/* /1 ... /9 of each name; see below for the others. */
static void
site(struct str path, struct rig_page *p)
{
	static _Thread_local char link[64];

	if (str_eq(path, STR("/robots.txt"))) {
		robots_txt(p);
	} else if (str_eq(path, STR("/"))) {
		for (int i = 1; i < 10; i++) {
			snprintf(link, sizeof(link), "<a href=/%d>x</a>", i);
			buf_put_text(&p->body, link);
		}
	} else if (str_eq(path, STR("/bad"))) {
		buf_put_text(&p->body, "<a href=/no/1>x</a><a href=/404>x"
		    "</a><a href=/busy>x</a><a href=http://elsewhere.test/>x"
		    "</a><a href=/404b>x</a>");
	} else if (str_eq(path, STR("/drop"))) {
		p->drop = true;
	} else if (str_starts(path, STR("/404"))) {
		p->status = 404;
	} else if (str_eq(path, STR("/busy"))) {
		p->status = 503;
	} else if (str_eq(path, STR("/later"))) {
		p->status = 503;
		buf_put_text(&p->head, "Retry-After: 100\r\n");
	} else if (str_eq(path, STR("/slow"))) {
		p->delay_ms = 1500;
	} else if (str_eq(path, STR("/loop"))) {
		p->status = 302;
		buf_put_text(&p->head, "Location: /loop\r\n");
	} else if (str_eq(path, STR("/broken"))) {
		buf_put_text(&p->head, "Content-Encoding: gzip\r\n");
		buf_put(&p->body, "\x1f\x8b\x08\0\0\0\0\0\0\3\xff\xff\xff\xff",
		    14);
	}
}

/* Every name leads to the web. */
static int
setup(void **state)
{
	static const char *const set[] = { "fetch.backoff_ms=50",
		"fetch.backoff_max_ms=100000", "fetch.tries_max=2", NULL };
	char resolve[80];

	(void)state;
	atomic_store(&robots_status, 200);
	rig_open(&rig, site, set);
	snprintf(resolve, sizeof(resolve),
	    "fetch.resolve=*:80:127.0.0.1:%u", rig.port);
	assert_int_equal(conf_flag(&rig.conf, str_of(resolve), NULL), OK);
	rig_start(&rig);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static void
is_text(struct str s, const char *want)
{
	struct str copy = arena_copy(&rig.arena, s);

	assert_string_equal(copy.n == 0 ? "" : copy.p, want);
}

/* Seeds at several names, with one delay. */
static uint32_t
launch(const char *policy, double delay_s, const char *seed, ...)
{
	struct launch_seed seeds[8];
	struct launch l = { .seeds = seeds, .spec.policy = str_of(policy) };
	va_list list;

	va_start(list, seed);
	for (; seed != NULL; seed = va_arg(list, const char *))
		seeds[l.seeds_n++] = (struct launch_seed){ str_of(seed),
		    delay_s };
	va_end(list);
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	return l.crawl;
}

/* --- the log ------------------------------------------------------------- */

static void
log_came(struct log_query *q)
{
	*(bool *)q->arg = true;
}

static struct log_query
ask_log(uint32_t crawl, uint64_t from, size_t max)
{
	static struct log_query q;
	bool done = false;

	q = (struct log_query){ .crawl = crawl, .from = from, .max = max,
		.done = log_came, .arg = &done };
	catalog_log(engine_catalog(rig.engine), &q);
	RIG_UNTIL_DONE(&rig, done);
	return q;
}

static const struct log_entry *
entry_of(const struct log_query *q, const char *kind, const char *reason)
{
	for (size_t i = 0; i < q->n; i++)
		if (strcmp(q->entries[i].kind, kind) == 0 &&
		    str_eq(q->entries[i].reason, str_of(reason)))
			return &q->entries[i];
	fail_msg("the log has no %s of reason %s", kind, reason);
	return NULL;
}

static void
everything_is_told(void **state)
{
	(void)state;
	uint32_t id = launch("{\"limits\":{\"max_depth\":1}}", 0,
	    "http://a.test/bad", "http://d.test/drop", NULL);
	rig_until_state(&rig, id, CRAWL_COMPLETE);
	struct log_query q = ask_log(id, 1, 100);
	assert_int_equal(q.why.err, OK);
	for (size_t i = 0; i < q.n; i++) {
		assert_int_equal(q.entries[i].number, i + 1);
		assert_true(q.entries[i].at.us > 0);
		assert_true(q.entries[i].text.n > 0);
	}
	assert_string_equal(q.entries[0].kind, "started");
	const struct log_entry *e = entry_of(&q, "robots", "200");
	is_text(e->text, "robots.txt: 1 rules for us");
	assert_int_equal(e->host.n, 6);      /* whichever came first */
	is_text(e->url, arena_printf(&rig.arena, "http://%.*s/robots.txt",
	    STR_FMT(e->host)).p);
	e = entry_of(&q, "backoff", "503");
	is_text(e->url, "http://a.test/busy");
	is_text(e->host, "a.test");
	assert_true(str_ends(e->text, STR("ms: status 503")));
	e = entry_of(&q, "exception", "reset");
	is_text(e->url, "http://d.test/drop");
	e = entry_of(&q, "skipped", "robots");
	is_text(e->url, "http://a.test/no/1");
	assert_true(str_ends(e->text, STR("Disallow: /no")));
	e = entry_of(&q, "completed", "everything was fetched");
	assert_int_equal(e->number, q.n);
	is_text(e->text, "completed: everything was fetched");
	const struct crawl_row *row =
	    crawl_row(engine_registry(rig.engine), id);
	assert_int_equal(row->view.log_first, 1);
	assert_int_equal(row->view.log_last, q.n);
	size_t n = q.n;
	arena_free(&q.arena);
	/* From a number on, so many at most; past the end; no such crawl. */
	q = ask_log(id, 2, 2);
	assert_int_equal(q.n, 2);
	assert_int_equal(q.entries[0].number, 2);
	arena_free(&q.arena);
	q = ask_log(id, n + 1, 10);
	assert_int_equal(q.n, 0);
	assert_int_equal(q.why.err, OK);
	arena_free(&q.arena);
	q = ask_log(id + 1, 1, 10);
	assert_int_equal(q.why.err, ERR_ABSENT);
	arena_free(&q.arena);
}

/* A crawl that is told of is read at once. */
static void
a_log_is_readable_when_it_is_told(void **state)
{
	struct crawl_order o;

	(void)state;
	uint32_t id = launch("{}", 60, "http://a.test/", "http://b.test/",
	    NULL);
	rig_steer(&rig, id, CRAWL_PAUSED, &o);
	struct log_query q = ask_log(id, 1, 100);
	assert_true(q.n >= 2);
	const struct log_entry *e = entry_of(&q, "paused", "by a client");
	is_text(e->text, "paused by a client");
	arena_free(&q.arena);
	rig_stop(&rig);
	rig_start(&rig);
	rig_steer(&rig, id, CRAWL_CANCELLED, &o);
	q = ask_log(id, 1, 100);
	entry_of(&q, "restarted", "");
	is_text(q.entries[q.n - 1].text, "cancelled by a client");
	arena_free(&q.arena);
}

static void
a_limit_is_told(void **state)
{
	(void)state;
	uint32_t id = launch("{\"limits\":{\"max_items\":3}}", 0,
	    "http://a.test/", NULL);
	rig_until_state(&rig, id, CRAWL_COMPLETE);
	struct log_query q = ask_log(id, 1, 100);
	is_text(entry_of(&q, "limit", "max_items")->text,
	    "max_items is reached");
	is_text(q.entries[q.n - 1].text, "completed: max_items");
	arena_free(&q.arena);
}

/* --- exceptions and robots.txt ------------------------------------------- */

/* Every reason that a site on loopback can give. */
static void
exceptions_have_their_reason(void **state)
{
	(void)state;
	uint32_t id = launch("{\"limits\":{\"timeout\":1}}", 0,
	    "http://loop.test/loop", "http://code.test/broken",
	    "http://slow.test/slow", "http://127.0.0.1:1/",
	    "http://drop.test/drop", NULL);
	rig_until_state(&rig, id, CRAWL_COMPLETE);
	const struct crawl_counts *n = &crawl_row(engine_registry(rig.engine),
	    id)->view.counts;
	assert_int_equal(n->items, 0);
	assert_int_equal(n->exceptions[EXCEPTION_REDIRECTS], 1);
	assert_int_equal(n->exceptions[EXCEPTION_DECODE], 1);
	assert_int_equal(n->exceptions[EXCEPTION_TIMEOUT], 1);
	assert_int_equal(n->exceptions[EXCEPTION_CONNECT], 1);
	assert_int_equal(n->exceptions[EXCEPTION_RESET], 1);
	struct log_query q = ask_log(id, 1, 100);
	is_text(entry_of(&q, "exception", "decode")->text,
	    "nothing of the body can be decoded");
	is_text(entry_of(&q, "exception", "connect")->host, "127.0.0.1");
	arena_free(&q.arena);
}

/* realtime.md section 4: an exception with the reason of robots.txt. */
static void
robots_txt_is_unreachable(void **state)
{
	(void)state;
	atomic_store(&robots_status, 0);
	uint32_t id = launch("{}", 0, "http://a.test/", NULL);
	rig_until_state(&rig, id, CRAWL_COMPLETE);
	const struct crawl_counts *n = &crawl_row(engine_registry(rig.engine),
	    id)->view.counts;
	assert_int_equal(n->exceptions[EXCEPTION_RESET], 1);
	assert_int_equal(crawl_skips(n) + n->items, 0);
	struct log_query q = ask_log(id, 1, 100);
	is_text(entry_of(&q, "exception", "reset")->text,
	    "robots.txt could not be reached: closed without an answer");
	assert_true(str_starts(entry_of(&q, "robots", "reset")->text,
	    STR("robots.txt cannot be reached: ")));
	arena_free(&q.arena);
}

/* Its 5xx through all tries: skipped, by robots. */
static void
robots_txt_fails(void **state)
{
	(void)state;
	atomic_store(&robots_status, 500);
	uint32_t id = launch("{}", 0, "http://a.test/", NULL);
	rig_until_state(&rig, id, CRAWL_COMPLETE);
	const struct crawl_counts *n = &crawl_row(engine_registry(rig.engine),
	    id)->view.counts;
	assert_int_equal(n->skips[SKIP_ROBOTS], 1);
	assert_int_equal(crawl_exceptions(n) + n->items, 0);
	assert_int_equal(rig_requests(&rig, "/robots.txt"), 2);
	assert_int_equal(rig_requests(&rig, "/"), 0);
	struct log_query q = ask_log(id, 1, 100);
	is_text(entry_of(&q, "robots", "500")->text,
	    "robots.txt: status 500, nothing may be fetched; asked again in "
	    "60 s");
	is_text(entry_of(&q, "skipped", "robots")->url, "http://a.test/");
	is_text(entry_of(&q, "skipped", "robots")->text,
	    "robots.txt answered with status 500");
	arena_free(&q.arena);
}

/* --- the queue ----------------------------------------------------------- */

static void
queue_came(struct queue_query *q)
{
	*(bool *)q->arg = true;
}

static struct queue_query *
ask_queue(uint32_t crawl, size_t hosts, size_t urls)
{
	static struct queue_query q;
	bool done = false;

	arena_free(&q.arena);
	q = (struct queue_query){ .crawl = crawl, .hosts_max = hosts,
		.urls_max = urls, .done = queue_came, .arg = &done };
	catalog_queue(engine_catalog(rig.engine), &q);
	RIG_UNTIL_DONE(&rig, done);
	assert_true(q.reason[0] != '\0');
	return &q;
}

struct counts_wanted {
	uint32_t crawl;
	uint64_t items, queued;
};

static bool
has_counts(struct rig *r, void *arg)
{
	const struct counts_wanted *c = arg;
	const struct crawl_row *row = crawl_row(engine_registry(r->engine),
	    c->crawl);

	return row != NULL && row->view.counts.items == c->items &&
	    row->view.counts.queued == c->queued;
}

static void
until_counts(uint32_t crawl, uint64_t items, uint64_t queued)
{
	struct counts_wanted c = { crawl, items, queued };

	rig_until(&rig, has_counts, &c);
}

static void
delayed_hosts(void **state)
{
	static const char policy[] = "{\"robots\":\"ignore\",\"limits\":"
	    "{\"max_depth\":1}}";

	(void)state;
	uint32_t id = launch(policy, 60, "http://a.test/", "http://b.test/",
	    NULL);
	until_counts(id, 2, 18);
	struct queue_query *q = ask_queue(id, 10, 100);
	assert_int_equal(q->why.err, OK);
	assert_int_equal(q->queued, 18);
	assert_int_equal(q->in_flight, 0);
	assert_int_equal(q->hosts_all, 2);
	assert_int_equal(q->delayed, 2);
	assert_int_equal(q->ready + q->backoff, 0);
	assert_true(q->next_s > 50 && q->next_s <= 60);
	assert_int_equal(q->downloads, 0);
	assert_int_equal(q->downloads_max, 10);
	assert_true(str_starts(str_of(q->reason), STR("host ")));
	assert_non_null(strstr(q->reason, ".test is delayed "));
	assert_non_null(strstr(q->reason, " s; 1 more host is delayed"));
	assert_int_equal(q->hosts_n, 2);
	for (int i = 0; i < 2; i++) {
		is_text(q->hosts[i].host, i == 0 ? "a.test" : "b.test");
		assert_int_equal(q->hosts[i].queued, 9);
		assert_string_equal(q->hosts[i].state, "delayed");
		assert_true(q->hosts[i].delay_s == 60);
		assert_true(q->hosts[i].next_s > 50);
		assert_int_equal(q->hosts[i].in_flight, 0);
	}
	/* In turn, as they will be asked: in windows and behind them. */
	assert_int_equal(q->urls_n, 18);
	for (size_t i = 0; i < 18; i++) {
		char want[32];
		bool b = q->urls[i].host.p[0] == 'b';
		snprintf(want, sizeof(want), "http://%c.test/%zu",
		    b ? 'b' : 'a', i / 2 + 1);
		is_text(q->urls[i].url, want);
		assert_int_equal(q->urls[i].depth, 1);
		assert_true(q->urls[i].cost > 0);
	}
	/* At most so many. */
	q = ask_queue(id, 1, 3);
	assert_int_equal(q->hosts_n, 1);
	assert_int_equal(q->urls_n, 3);
	assert_int_equal(q->hosts_all, 2);
	/* Paused: the same, and the reason is another. */
	struct crawl_order o;
	rig_steer(&rig, id, CRAWL_PAUSED, &o);
	q = ask_queue(id, 10, 100);
	assert_string_equal(q->reason, "paused by a client");
	assert_int_equal(q->urls_n, 18);
	assert_true(q->next_s == -1);
	/* Over a restart, too. */
	rig_stop(&rig);
	rig_start(&rig);
	q = ask_queue(id, 10, 100);
	assert_string_equal(q->reason, "paused by a client");
	assert_int_equal(q->queued, 18);
	assert_int_equal(q->urls_n, 18);
	rig_steer(&rig, id, CRAWL_CANCELLED, &o);
	q = ask_queue(id, 10, 0);
	assert_string_equal(q->reason, "the crawl is cancelled by a client");
	assert_int_equal(q->queued, 18);
}

static void
back_off(void **state)
{
	(void)state;
	uint32_t id = launch("{\"robots\":\"ignore\"}", 0,
	    "http://a.test/later", NULL);
	bool waits = false;
	struct queue_query *q = NULL;
	for (int i = 0; i < 2000 && !waits; i++) {
		q = ask_queue(id, 10, 10);
		waits = q->backoff == 1;
	}
	assert_true(waits);
	assert_string_equal(q->hosts[0].state, "backoff");
	assert_true(q->hosts[0].next_s > 90);
	assert_non_null(strstr(q->reason, "host a.test is in back-off for 1 "
	    "min"));
	assert_int_equal(q->urls_n, 1);
	is_text(q->urls[0].url, "http://a.test/later");
}

static void
what_is_under_way(void **state)
{
	(void)state;
	uint32_t id = launch("{\"robots\":\"ignore\",\"downloads\":1}", 0,
	    "http://a.test/slow", "http://b.test/1", NULL);
	struct queue_query *q = NULL;
	bool slow = false;
	for (int i = 0; i < 2000 && !slow; i++) {
		q = ask_queue(id, 10, 10);
		slow = q->in_flight == 1 && q->hosts_n > 0 &&
		    q->hosts[0].in_flight == 1 &&
		    str_eq(q->hosts[0].host, STR("a.test"));
	}
	assert_true(slow);
	assert_int_equal(q->downloads, 1);
	assert_int_equal(q->downloads_max, 1);
	assert_true(str_starts(str_of(q->reason),
	    STR("1 request is under way")));
	/* What is under way is not next any more. */
	for (size_t i = 0; i < q->urls_n; i++)
		is_text(q->urls[i].url, "http://b.test/1");
	/* A host that another crawl asks. */
	uint32_t other = launch("{\"robots\":\"ignore\"}", 1,
	    "http://a.test/2", NULL);
	bool held = false;
	for (int i = 0; i < 1000 && !held; i++) {
		q = ask_queue(other, 10, 10);
		held = strcmp(q->reason, "1 host is being asked for another "
		    "crawl") == 0;
	}
	assert_true(held);
	rig_until_state(&rig, other, CRAWL_COMPLETE);
	q = ask_queue(other, 10, 10);
	assert_string_equal(q->reason,
	    "the crawl is complete: everything was fetched");
	assert_int_equal(q->hosts_all, 0);
	q = ask_queue(99, 10, 10);
	assert_int_equal(q->why.err, ERR_ABSENT);
}

/* Whatever a crawl does: there is a sentence, and no contradiction. */
static void
reasons_are_true_all_along(void **state)
{
	(void)state;
	uint32_t id = launch("{\"limits\":{\"max_depth\":1}}", 0.02,
	    "http://a.test/", "http://b.test/", "http://c.test/bad", NULL);
	bool over = false;
	for (unsigned n = 0; !over; n++) {
		struct queue_query *q = ask_queue(id, 10, 100);
		over = strcmp(q->reason, "the crawl is complete: everything "
		    "was fetched") == 0;
		assert_true(over || q->queued > 0);
		assert_true(q->delayed + q->backoff + q->ready ==
		    q->hosts_all);
		assert_true((q->in_flight > 0) ==
		    (strstr(q->reason, "under way") != NULL));
		assert_true(q->urls_n <= 100 && q->hosts_n <= 3);
		assert_true(n < 100000);
	}
}

/* --- problems ------------------------------------------------------------ */

static void
problems_came(struct errors_query *q)
{
	*(bool *)q->arg = true;
}

static struct errors_query
ask_problems(uint32_t crawl)
{
	static struct errors_query q;
	bool done = false;

	q = (struct errors_query){ .crawl = crawl, .done = problems_came,
		.arg = &done };
	catalog_errors(engine_catalog(rig.engine), &q);
	RIG_UNTIL_DONE(&rig, done);
	return q;
}

static void
assert_problem(const struct errors_query *q, const char *kind,
    const char *reason, uint64_t count, const char *newest)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct error_group *p = &q->problems[i];
		if (strcmp(p->kind, kind) != 0 ||
		    strcmp(p->reason, reason) != 0)
			continue;
		assert_int_equal(p->count, count);
		assert_int_equal(p->samples_n, count);
		is_text(p->samples[0], newest);
		assert_true(p->first.us > 0 && p->last.us >= p->first.us);
		return;
	}
	fail_msg("%s %s is missing", kind, reason);
}

/* Of its newest sample; NULL: any but none. */
static void
assert_cause(const struct errors_query *q, const char *reason,
    const char *cause)
{
	for (size_t i = 0; i < q->n; i++)
		if (strcmp(q->problems[i].reason, reason) == 0) {
			if (cause != NULL)
				is_text(q->problems[i].causes[0], cause);
			else
				assert_true(q->problems[i].causes[0].n > 0);
			return;
		}
	fail_msg("%s is missing", reason);
}

static void
assert_all_problems(uint32_t id)
{
	struct errors_query q = ask_problems(id);

	assert_int_equal(q.why.err, OK);
	assert_int_equal(q.n, 5);
	assert_problem(&q, "status", "404", 2, "http://a.test/404b");
	assert_problem(&q, "status", "503", 1, "http://a.test/busy");
	assert_problem(&q, "exception", "reset", 1, "http://d.test/drop");
	assert_problem(&q, "skipped", "robots", 1, "http://a.test/no/1");
	assert_problem(&q, "skipped", "scope", 1, "http://elsewhere.test/");
	assert_cause(&q, "robots", "robots.txt line 2: Disallow: /no");
	assert_cause(&q, "reset", NULL);
	assert_cause(&q, "404", "");
	/* The most frequent first. */
	assert_string_equal(q.problems[0].reason, "404");
	arena_free(&q.arena);
}

static void
problems_by_reason(void **state)
{
	(void)state;
	uint32_t id = launch("{\"limits\":{\"max_depth\":1},\"downloads\":1}",
	    0, "http://a.test/bad", "http://d.test/drop", NULL);
	rig_until_state(&rig, id, CRAWL_COMPLETE);
	assert_all_problems(id);
	rig_stop(&rig);
	rig_start(&rig);
	assert_all_problems(id);
	struct errors_query q = ask_problems(id + 1);
	assert_int_equal(q.why.err, ERR_ABSENT);
	arena_free(&q.arena);
}

static void
listed(struct captures_query *q)
{
	*(bool *)q->arg = true;
}

/* --- one URL ------------------------------------------------------------- */

static void
url_came(struct url_query *q)
{
	*(bool *)q->arg = true;
}

static struct url_query *
find(uint32_t crawl, const char *url)
{
	static struct url_query q;
	bool done = false;

	arena_free(&q.arena);
	q = (struct url_query){ .crawl = crawl, .url = str_of(url),
		.done = url_came, .arg = &done };
	catalog_url(engine_catalog(rig.engine), &q);
	RIG_UNTIL_DONE(&rig, done);
	return &q;
}

static void
urls_are_found(void **state)
{
	struct url_query *q;

	(void)state;
	uint32_t id = launch("{\"robots\":\"ignore\",\"limits\":"
	    "{\"max_depth\":1}}", 60, "http://a.test/", "http://b.test/bad",
	    NULL);
	until_counts(id, 2, 9 + 4);
	q = find(id, " A.test/#top ");
	assert_int_equal(q->why.err, OK);
	is_text(q->canonical, "http://a.test/");
	is_text(q->host, "a.test");
	assert_int_equal(q->state, URL_DONE);
	assert_int_equal(q->fact.outcome, OUTCOME_ITEM);
	assert_true(q->number == 1 || q->number == 2);
	assert_true(q->host_known);
	assert_string_equal(q->host_view.state, "delayed");
	assert_int_equal(q->host_view.queued, 9);
	assert_true(q->host_view.next_s > 50);
	/* Four are in the loop's window, the others in the queue. */
	assert_int_equal(find(id, "http://a.test/1")->state, URL_LEASED);
	q = find(id, "http://a.test/9");
	assert_int_equal(q->state, URL_WAITING);
	assert_int_equal(q->fact.depth, 1);
	q = find(id, "http://elsewhere.test/");
	assert_int_equal(q->state, URL_SKIPPED);
	assert_int_equal(q->fact.reason, SKIP_SCOPE);
	assert_false(q->host_known);
	q = find(id, "http://a.test/unheard-of");
	assert_int_equal(q->state, URL_UNKNOWN);
	assert_true(q->verdict.take);
	is_text(q->verdict_text, "it would be taken by URL rule 1");
	q = find(id, "http://c.test/");
	assert_int_equal(q->state, URL_UNKNOWN);
	assert_false(q->verdict.take);
	assert_int_equal(q->verdict.reason, SKIP_SCOPE);
	assert_true(str_starts(q->verdict_text,
	    STR("it would be skipped: ")));
	q = find(id, "mailto:x");
	assert_int_equal(q->why.err, ERR_INPUT);
	assert_true(str_starts(str_of(q->why.text), STR("url: ")));
	assert_int_equal(find(id + 1, "http://a.test/")->why.err, ERR_ABSENT);
	arena_free(&q->arena);
}

/* Its answer before the failure is archived, at a known place. */
static void
answers_of_failed_urls_are_found(void **state)
{
	struct url_query *q;

	(void)state;
	uint32_t id = launch("{\"robots\":\"ignore\"}", 0,
	    "http://a.test/1", "http://a.test/loop", "http://d.test/drop",
	    NULL);
	rig_until_state(&rig, id, CRAWL_COMPLETE);
	q = find(id, "http://a.test/loop");
	assert_int_equal(q->state, URL_DONE);
	assert_int_equal(q->fact.outcome, OUTCOME_EXCEPTION);
	assert_int_equal(q->fact.reason, EXCEPTION_REDIRECTS);
	assert_int_equal(q->number, 0);
	assert_int_equal(q->answer.status, 302);
	assert_true(str_ends(q->answer.file, STR(".warc.gz")));
	assert_true(q->answer.offset > 0);
	/* No answer, so nothing of it. */
	q = find(id, "http://d.test/drop");
	assert_int_equal(q->fact.outcome, OUTCOME_EXCEPTION);
	assert_int_equal(q->answer.status, 0);
	q = find(id, "http://a.test/1");
	assert_int_equal(q->number, 1);
	assert_int_equal(q->answer.status, 0);
	arena_free(&q->arena);
	/* It is no capture for lists, which end before it. */
	bool done = false;
	struct captures_query all = { .crawl = id, .size = 10, .done = listed,
	    .arg = &done };
	catalog_captures(engine_catalog(rig.engine), &all);
	RIG_UNTIL_DONE(&rig, done);
	assert_int_equal(all.total, 1);
	assert_int_equal(all.n, 1);
	arena_free(&all.arena);
}

/* --- crawls that cannot go on -------------------------------------------- */

/* What stops crawls is told, and what can be read is read. */
static void
full_disk(void **state)
{
	(void)state;
	uint32_t id = launch("{\"robots\":\"ignore\"}", 30,
	    "http://a.test/", NULL);
	until_counts(id, 1, 9);
	rig_stop(&rig);
	assert_int_equal(conf_flag(&rig.conf,
	    STR("data.free_bytes_min=1000TiB"), NULL), OK);
	rig_start(&rig);
	struct queue_query *q = NULL;
	bool full = false;
	for (int i = 0; i < 1000 && !full; i++) {
		q = ask_queue(id, 10, 10);
		full = strcmp(q->reason, "the disk is full") == 0 &&
		    q->urls_n == 9;
	}
	assert_true(full);
	assert_int_equal(q->queued, 9);
	struct log_query log = ask_log(id, 1, 10);
	assert_true(log.n > 0);
	arena_free(&log.arena);
	assert_int_equal(find(id, "http://a.test/9")->state, URL_WAITING);
	struct errors_query p = ask_problems(id);
	assert_int_equal(p.why.err, OK);
	arena_free(&p.arena);
	/* It would wait for room for ever. */
	rig_crash(&rig);
}

static void
a_crawl_that_waits_for_another(void **state)
{
	(void)state;
	rig_stop(&rig);
	assert_int_equal(conf_flag(&rig.conf, STR("crawl.running_max=1"),
	    NULL), OK);
	rig_start(&rig);
	launch("{}", 60, "http://a.test/", NULL);
	uint32_t id = launch("{}", 60, "http://b.test/", NULL);
	struct queue_query *q = ask_queue(id, 10, 10);
	assert_string_equal(q->reason, "the crawl is pending: other crawls "
	    "run first");
	assert_int_equal(q->urls_n, 1);
	assert_true(q->next_s == -1);
}

static void
a_policy_explains(void **state)
{
	struct arena a = ARENA_INIT;
	struct policy_explanation x;
	struct why w = WHY_INIT;
	struct policy *p = policy_new();
	struct str canonical, seeds[] = { STR("a.test"), STR("b.test/x") };

	(void)state;
	assert_int_equal(catalog_explain(STR("b.test/y#z"), p, seeds, 2, 1, 3,
	    &a, &x, &canonical, &w), OK);
	is_text(canonical, "http://b.test/y");
	assert_int_equal(x.rules_n, 2);
	assert_int_equal(x.matches[0], POLICY_MATCH);
	assert_true(str_eq(x.rules[0].pattern, STR(POLICY_RULE_HOST)));
	assert_true(x.verdict.take);
	assert_int_equal(x.verdict.rule, 0);
	assert_true(x.verdict.cost == 2);
	/* Too deep; another host; a trap; alone it is its own seed. */
	assert_int_equal(catalog_explain(STR("b.test/y"), p, seeds, 2, 1, 4,
	    &a, &x, &canonical, &w), OK);
	assert_int_equal(x.verdict.reason, SKIP_DEPTH);
	assert_int_equal(catalog_explain(STR("c.test/"), p, seeds, 2, 1, 1,
	    &a, &x, &canonical, &w), OK);
	assert_int_equal(x.verdict.reason, SKIP_SCOPE);
	assert_int_equal(x.matches[0], POLICY_NO_MATCH);
	assert_int_equal(catalog_explain(STR("a.test/x/x/x/x/x/x/x/x/x"), p,
	    seeds, 2, 1, 1, &a, &x, &canonical, &w), OK);
	assert_int_equal(x.verdict.reason, SKIP_URL);
	assert_int_equal(catalog_explain(STR("c.test/"), p, NULL, 0, 1, 1,
	    &a, &x, &canonical, &w), OK);
	assert_true(x.verdict.take);
	assert_int_equal(catalog_explain(STR("ftp://c.test/"), p, NULL, 0, 1,
	    1, &a, &x, &canonical, &w), ERR_INPUT);
	assert_string_equal(w.text, "url: only http and https are fetched");
	policy_free(&p);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		TEST(everything_is_told),
		TEST(a_log_is_readable_when_it_is_told),
		TEST(a_limit_is_told),
		TEST(exceptions_have_their_reason),
		TEST(robots_txt_is_unreachable),
		TEST(robots_txt_fails),
		TEST(delayed_hosts),
		TEST(back_off),
		TEST(what_is_under_way),
		TEST(reasons_are_true_all_along),
		TEST(problems_by_reason),
		TEST(urls_are_found),
		TEST(answers_of_failed_urls_are_found),
		TEST(full_disk),
		TEST(a_crawl_that_waits_for_another),
		TEST(a_policy_explains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
