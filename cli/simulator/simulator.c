/*
 * simulator -- the table of requests, their answers, and the log of calls.
 */
#include "cli/simulator/envelope.h"
#include "cli/simulator/own.h"

#include <stdarg.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "engine/policy/address.h"
#include "os/clock.h"
#include "os/log.h"

#define AGENT "argiope-backend-simulator/" ARGIOPE_VERSION

/* One row of the table of requests; "*" is any segment. */
struct row {
	const char *method, *path;
	void (*handle)(struct web_request *);
	const char *help;
	bool upload;                 /* its body may have upload_bytes_max */
};

static void refuse_unknown(struct web_request *);

/* Below / and below /backend; the demo's crawler is below /demo/crawler. */
static const struct row rows[] = {
	{ "POST", "/externals", post_external, "add an external object",
	    false },
	{ "GET", "/externals/*", get_external, "show one", false },
	{ "PATCH", "/externals/*", patch_external, "change it", false },
	{ "PUT", "/externals/*", put_external, "replace it", false },
	{ "DELETE", "/externals/*", delete_external, "delete it, with its "
	    "crawlers and tasks", false },
	{ "GET", "/crawlers/*", get_crawler, "show a crawler", false },
	{ "GET", "/tasks/*", get_task, "show a task", false },
	{ "POST", "/actions/externals/*/crawler", post_crawler,
	    "make a crawler", false },
	{ "POST", "/actions/crawlers/*/task", post_task, "start a task",
	    false },
	{ "POST", "/actions/crawlers/*/task/*", retry_task,
	    "start a closed task again", false },
	{ "DELETE", "/actions/tasks/*", delete_task,
	    "stop a task and delete its documents", false },
	{ "POST", "/actions/tasks/*/upload", post_upload,
	    "upload documents", true },
	{ "POST", "/actions/tasks/*/status", post_status,
	    "report a task's status", false },
	{ "POST", "/run", post_run, "run one test", false },
	{ "GET", "/demo", get_demo, "run the built-in demo", false },
	{ "GET", "/log/*", get_log, "show a task's log", false },
	{ "GET", "/output/*", get_output, "show a task's documents", false },
	{ "POST", "/demo/crawler/task", demo_post_task,
	    "the demo's crawler: start", false },
	{ "PATCH", "/demo/crawler/task/*", demo_patch_task,
	    "the demo's crawler: notice", false },
	/* A path that ends in "/" is a prefix. */
	{ "GET", "/", refuse_unknown, "all else", false },
	{ "POST", "/", refuse_unknown, "all else", false },
	{ "PATCH", "/", refuse_unknown, "all else", false },
	{ "PUT", "/", refuse_unknown, "all else", false },
	{ "DELETE", "/", refuse_unknown, "all else", false },
};
static const char *const mounts[] = { "", "/backend" };

/* A row at one of its mounts; a route's argument. */
struct place {
	struct simulator *simulator;
	const struct row *row;
	size_t skip;                 /* segments of the mount */
};

/* ---- Requests ------------------------------------------------------- */

static const struct place *
request_place(const struct web_request *r)
{
	return web_arg(r);
}

struct simulator *
request_simulator(const struct web_request *r)
{
	return request_place(r)->simulator;
}

struct str
request_segment(struct web_request *r, size_t i)
{
	struct str s;

	return web_segment(r, request_place(r)->skip + i, &s) ? s : STR("");
}

void
json_doc_free(yyjson_doc **dp)
{
	yyjson_doc_free(*dp);
	*dp = NULL;
}

bool
request_json(struct web_request *r, yyjson_doc **out)
{
	struct str body = web_body(r);
	struct why w = WHY_INIT;

	if (json_body_read(body.n == 0 ? STR("{}") : body, "the body", out,
	    &w) == OK)
		return true;
	answer_why(r, &w);
	return false;
}

/* ---- Answers -------------------------------------------------------- */

/* The first segment of the path that the row leaves open; "" without one. */
static struct str
request_fid(struct web_request *r)
{
	struct str rest = str_of(request_place(r)->row->path + 1), word;

	for (size_t i = 0; str_split(&rest, '/', &word); i++)
		if (str_eq(word, STR("*")))
			return request_segment(r, i);
	return STR("");
}

void
log_request(struct web_request *r, int status, const char *note)
{
	const struct place *p = request_place(r);
	struct str fid = request_fid(r);

	log_info("simulator.call", "number=%llu call=\"%s %s\"%s%s "
	    "status=%d%s%s", (unsigned long long)++p->simulator->calls_n,
	    p->row->method, p->row->path, fid.n == 0 ? "" : " fid=",
	    fid.n == 0 ? "" : log_quoted(fid), status,
	    note[0] == '\0' ? "" : " ", note);
}

void
answer_payload(struct web_request *r, int status, struct str payload)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	envelope_put_success(&b, payload);
	log_request(r, status, "");
	web_answer(r, status, ENVELOPE_TYPE, buf_str(&b));
}

void
answer_json(struct web_request *r, int status, yyjson_val *payload)
{
	size_t n;
	char *text = yyjson_val_write(payload, 0, &n);

	CHECK(text != NULL);
	answer_payload(r, status, (struct str){ text, n });
	free(text);
}

void
answer_failure(struct web_request *r, int status, const struct str *messages,
    size_t n, struct str payload)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	envelope_put_failure(&b, messages, n, payload);
	log_request(r, status, "");
	web_answer(r, status, ENVELOPE_TYPE, buf_str(&b));
}

void
answer_fault(struct web_request *r, int status, const char *fmt, ...)
{
	char text[600];
	struct str message;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	message = str_of(text);
	answer_failure(r, status, &message, 1, STR(""));
}

void
answer_why(struct web_request *r, const struct why *w)
{
	answer_fault(r, err_http(w->err), "%s", w->text);
}

void
answer_absent(struct web_request *r, const char *what, struct str fid)
{
	answer_fault(r, 404, "there is no %s %.*s", what,
	    (int)MIN(fid.n, FID_BYTES_MAX), fid.p);
}

/* The port's own refusals have the envelope, too (external.md §1). */
static void
refuse_request(struct web_request *r, int status, const char *code,
    struct str text)
{
	(void)code;
	answer_failure(r, status, &text, 1, STR(""));
}

enum err
simulator_call(struct simulator *s, const struct crawler_order *o,
    struct why *w)
{
	return s->closing ? why(w, ERR_CLOSED, "the simulator is ending") :
	    crawler_call_start(s->calls, o, w);
}

static void
refuse_unknown(struct web_request *r)
{
	answer_fault(r, 404, "there is no such request, or not by this "
	    "method");
}

/* ---- Names ---------------------------------------------------------- */

void
make_fid(struct simulator *s, char letter, char out[static FID_BYTES_MAX])
{
	/* A crawler may know fids of an earlier process. */
	snprintf(out, FID_BYTES_MAX, "%c-%s-%llu", letter, s->run,
	    (unsigned long long)++s->fids);
}

struct str
simulator_base(const struct simulator *s, struct arena *a)
{
	return arena_printf(a, str_find_char(str_of(s->address), ':') <
	    strlen(s->address) ? "%s://[%s]:%u" : "%s://%s:%u",
	    s->is_tls ? "https" : "http", s->address,
	    (unsigned)web_port(s->web));
}

/* ---- The simulator -------------------------------------------------- */

static void
make_routes(struct simulator *s)
{
	size_t n = ARRAY_LEN(rows) * ARRAY_LEN(mounts);

	s->routes = mem_array(n, sizeof(*s->routes));
	s->places = mem_array(n, sizeof(*s->places));
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i % ARRAY_LEN(rows)];
		size_t mount = i / ARRAY_LEN(rows);
		s->places[i] = (struct place){ s, row, mount };
		s->routes[i] = (struct web_route){ .method = row->method,
		    .path = arena_printf(&s->arena, "%s%s", mounts[mount],
		    row->path).p, .match = str_ends(str_of(row->path),
		    STR("/")) ? WEB_PREFIX : WEB_EXACT, .handle = row->handle,
		    .arg = &s->places[i], .help = row->help,
		    .door = TOKEN_DOOR_CONSOLE, .ids = true,
		    .body_bytes_max = row->upload ?
		    s->limits.upload_bytes_max : 0,
		    .refuse = refuse_request };
	}
}

static bool
is_loopback(const char *address)
{
	uint8_t ip[16];

	return address_parse(str_of(address), ip) &&
	    address_classify(ip) == ADDRESS_LOOPBACK;
}

enum err
simulator_open(const struct simulator_options *o, struct simulator **out,
    struct why *w)
{
	struct simulator *s;
	struct web_options web = { .loop = o->loop, .address = o->address,
	    .port = o->port, .tls_chain = o->tls_cert,
	    .tls_key = o->tls_key };
	uint32_t chance;

	*out = NULL;
	if (!is_loopback(o->address))
		return why(w, ERR_USAGE, "%.60s: the simulator listens on "
		    "loopback only, like 127.0.0.1 or ::1", o->address);
	s = mem_new(sizeof(*s));
	s->loop = o->loop;
	s->address = arena_copy(&s->arena, str_of(o->address)).p;
	s->limits = o->limits == NULL ? SIMULATOR_LIMITS_DEFAULT : *o->limits;
	s->is_tls = o->tls_cert != NULL;
	s->discards = o->discard;
	s->faults = o->faults;
	s->silence_ms = o->silence_s * 1000;
	list_init(&s->delayed);
	list_init(&s->demos);
	clock_random(&chance, sizeof(chance));
	snprintf(s->run, sizeof(s->run), "%08x", (unsigned)chance);
	make_routes(s);
	s->calls = crawler_calls_new(s->loop, AGENT, o->ca != NULL ? o->ca :
	    o->tls_cert, s->limits.call_ms,
	    (size_t)s->limits.crawler_calls_max);
	enum err e = web_open(&web, s->routes, ARRAY_LEN(rows) *
	    ARRAY_LEN(mounts), &s->web, w);
	if (e == OK)
		*out = s;
	else
		simulator_close(&s);
	return e;
}

uint16_t
simulator_port(const struct simulator *s)
{
	return web_port(s->web);
}

void
simulator_drain(struct simulator *s, void (*drained)(void *arg), void *arg)
{
	s->closing = true;
	/* Each of them answers the request that waits for it. */
	crawler_calls_free(&s->calls);
	refuse_delayed(s);
	web_drain(s->web, drained, arg);
}

void
simulator_close(struct simulator **sp)
{
	struct simulator *s = *sp;

	if (s == NULL)
		return;
	s->closing = true;
	crawler_calls_free(&s->calls);
	refuse_delayed(s);
	demo_free(s);
	externals_free(s);
	web_close(&s->web);
	map_free(&s->externals);
	map_free(&s->crawlers);
	map_free(&s->tasks);
	mem_free(&s->routes);
	mem_free(&s->places);
	arena_free(&s->arena);
	mem_free(sp);
}
