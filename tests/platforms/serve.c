/*
 * One connection: requests are read, answered under the lock, and sent as the
 * fault plan says.  Calls below /.platforms/ are the tests' own.
 */
#include <libdeflate.h>
#include <pthread.h>
#include <zlib.h>

#include "tests/platforms/platforms.h"

#define HEAD_MAX 65536u
#define BODY_MAX ((size_t)16 << 20)
#define CHUNK 4096u
#define OWN "/.platforms/"
#define STREAM_LOOK_MS 20
#define HEARTBEAT_MS 15000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t requests_n;
static struct buf requests_log;      /* a line of JSON for each */
static FILE *log_file;

void
serve_log_to(FILE *f)
{
	log_file = f;
}

/* ---- Of a request ------------------------------------------------------ */

bool
request_segment(struct request *r, struct str *path, struct str *segment)
{
	struct str raw;

	(void)str_take_char(path, '/');
	if (path->n == 0)
		return false;
	size_t n = str_find_char(*path, '/');
	raw = str_cut(*path, 0, n);
	*path = str_from(*path, n);
	return head_decode(raw, false, &r->arena, segment);
}

bool
request_param(struct request *r, const char *name, struct str *value)
{
	size_t at = 0;

	return head_param(r->head.query, &at, str_of(name), &r->arena, value);
}

uint64_t
request_number(struct request *r, const char *name, uint64_t otherwise)
{
	struct str text;
	uint64_t n;

	return request_param(r, name, &text) && str_to_u64(text, &n) ? n :
	    otherwise;
}

struct str
request_bearer(struct request *r)
{
	struct str value;

	if (!head_find(&r->head, STR("Authorization"), &r->arena, &value) ||
	    !str_starts_nocase(value, STR("Bearer ")))
		return STR_NONE;
	return str_trim(str_from(value, 7));
}

static const struct platform *
platform_of(struct str host)
{
	for (size_t i = 0; platforms[i] != NULL; i++)
		for (const char *const *h = platforms[i]->hosts; *h != NULL;
		    h++)
			if (str_eq(host, str_of(*h)))
				return platforms[i];
	return NULL;
}

/* ---- The tests' own calls ---------------------------------------------- */

static void
set_clock(yyjson_val *what)
{
	clock_advance(yyjson_get_sint(yyjson_obj_get(what, "advance")));
}

static bool
change_world(struct request *r, yyjson_val *what, char sentence[static 200])
{
	struct str host = json_text(yyjson_obj_get(what, "host"));
	const struct platform *p = platform_of(host);

	(void)r;
	snprintf(sentence, 200, "no platform has that host");
	return p != NULL && p->change(host, what, sentence);
}

static void
answer_own_get(struct request *r, struct str verb)
{
	struct str host;
	const struct platform *p;

	if (str_eq(verb, STR("log"))) {
		r->status = 200;
		buf_put_str(&r->out, buf_str(&requests_log));
	} else if (str_eq(verb, STR("world")) &&
	    request_param(r, "host", &host) &&
	    (p = platform_of(host)) != NULL) {
		r->status = 200;
		p->describe(host, &r->out);
	}
}

static void
answer_own_post(struct request *r, struct str verb)
{
	char sentence[200] = "";
	yyjson_doc *doc = yyjson_read(r->body.p, r->body.n, 0);
	yyjson_val *what = yyjson_doc_get_root(doc);
	bool fine = true;

	json_object(&r->out, NULL);
	if (str_eq(verb, STR("faults"))) {
		fault_met(&r->out);
		fine = fault_plan(r->body, sentence);
	} else if (str_eq(verb, STR("clock")))
		set_clock(what);
	else if (str_eq(verb, STR("budget")))
		budget_set(yyjson_get_uint(yyjson_obj_get(what, "limit")));
	else if (str_eq(verb, STR("change")))
		fine = change_world(r, what, sentence);
	else if (str_eq(verb, STR("forget")))
		buf_clear(&requests_log);
	else
		fine = false;
	memo_forget();
	yyjson_doc_free(doc);
	r->status = fine ? 200 : 400;
	if (!fine)
		json_str(&r->out, "error", str_of(sentence));
	buf_put_text(&r->out, "}\n");
}

/* ---- Answering --------------------------------------------------------- */

static void
log_request(struct request *r, bool known)
{
	struct buf *b = &requests_log;
	struct str agent = STR_NONE;
	size_t at = b->n;
	char iso[WALL_ISO_MAX];

	(void)head_find(&r->head, STR("User-Agent"), &r->arena, &agent);
	wall_to_iso(r->now, iso);
	json_object(b, NULL);
	json_u64(b, "n", r->n);
	json_str(b, "time", str_of(iso));
	json_str(b, "host", r->host);
	json_str(b, "method", r->head.method);
	json_str(b, "path", r->head.path);
	json_str(b, "query", r->head.query);
	json_str(b, "who", str_of(r->who == NULL ? "" : r->who));
	json_str(b, "agent", agent);
	json_u64(b, "status", (uint64_t)r->status);
	json_bool(b, "known", known);
	buf_put_text(b, "}\n");
	if (log_file != NULL) {
		fwrite(b->p + at, 1, b->n - at, log_file);
		fflush(log_file);
	}
}

static void
answer_platform(struct request *r)
{
	const struct platform *p = platform_of(r->host);

	r->n = ++requests_n;
	fault_find(r, &r->fault);
	if (r->fault.rename.n > 0 || r->fault.suspend.n > 0)
		memo_forget();
	if (p != NULL)
		p->answer(r);
	bool known = r->status != 0;
	if (!known) {
		r->status = 404;
		buf_put_text(&r->out, "{\"error\":\"no such call\"}");
	}
	log_request(r, known);
}

static void
answer(struct request *r)
{
	struct str path = r->head.path;

	pthread_mutex_lock(&lock);
	r->now = clock_wall();
	r->type = "application/json; charset=utf-8";
	if (!str_starts(path, STR(OWN))) {
		answer_platform(r);
	} else if (str_eq(r->head.method, STR("POST"))) {
		answer_own_post(r, str_from(path, sizeof(OWN) - 1));
	} else {
		answer_own_get(r, str_from(path, sizeof(OWN) - 1));
		if (r->status == 0)
			r->status = 404;
	}
	pthread_mutex_unlock(&lock);
}

/* ---- Spoiling ---------------------------------------------------------- */

static void
print_pretty(struct buf *out)
{
	yyjson_doc *doc = yyjson_read(out->p, out->n, 0);
	size_t n;

	if (doc == NULL)
		return;
	char *text = yyjson_write(doc, YYJSON_WRITE_PRETTY, &n);
	buf_clear(out);
	buf_put(out, text, n);
	free(text);
	yyjson_doc_free(doc);
}

static void
spoil_body(struct request *r)
{
	switch (r->fault.body) {
	case BODY_FINE:
		return;
	case BODY_HTML:
		r->type = "text/html";
		buf_clear(&r->out);
		buf_put_text(&r->out, "<!DOCTYPE html><title>Down</title>\n");
		return;
	case BODY_PRETTY:
		print_pretty(&r->out);
		return;
	case BODY_UTF8:
		/* In the middle of some text. */
		for (size_t i = r->out.n / 2; i < r->out.n; i++)
			if (ascii_is_alpha(r->out.p[i])) {
				r->out.p[i] = (char)0xff;
				return;
			}
		return;
	case BODY_EMPTY:
		buf_clear(&r->out);
		return;
	}
}

/* By libdeflate: the simulator is no part of what benches measure. */
static void
compress_body(struct buf *out)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
	struct buf packed = BUF_INIT;

	CHECK(c != NULL);
	size_t room = libdeflate_gzip_compress_bound(c, out->n);
	char *p = buf_grow(&packed, room);
	size_t n = libdeflate_gzip_compress(c, out->p, out->n, p, room);
	CHECK(n > 0);
	packed.n = n;
	libdeflate_free_compressor(c);
	buf_free(out);
	*out = packed;
}

static void
chunk_body(struct buf *out)
{
	struct buf chunked = BUF_INIT;
	struct str rest = buf_str(out);

	while (rest.n > 0) {
		struct str part = str_cut(rest, 0, CHUNK);
		buf_printf(&chunked, "%zx\r\n", part.n);
		buf_put_str(&chunked, part);
		buf_put_text(&chunked, "\r\n");
		rest = str_from(rest, part.n);
	}
	buf_put_text(&chunked, "0\r\n\r\n");
	buf_free(out);
	*out = chunked;
}

/* ---- Sending ----------------------------------------------------------- */

static const char *
reason_of(int status)
{
	return status == 200 ? "OK" : status == 404 ? "Not Found" : "Said";
}

/* Every second answer is chunked, and all are gzip for those who take it. */
static void
finish_answer(struct request *r, struct buf *head)
{
	bool bodiless = r->status == 304;
	bool gzip = !bodiless && head_lists(&r->head, STR("Accept-Encoding"),
	    STR("gzip"));
	bool chunked = !bodiless && (r->fault.chunked ||
	    (r->n % 2 == 0 && r->fault.length == 0));

	spoil_body(r);
	buf_printf(head, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", r->status,
	    reason_of(r->status), r->type);
	if (gzip) {
		if (!r->packed)
			compress_body(&r->out);
		memo_keep(r);
		buf_put_text(head, "Content-Encoding: gzip\r\n");
	}
	if (chunked) {
		chunk_body(&r->out);
		buf_put_text(head, "Transfer-Encoding: chunked\r\n");
	} else {
		buf_printf(head, "Content-Length: %lld\r\n",
		    (long long)r->out.n + r->fault.length);
	}
	buf_put_str(head, buf_str(&r->fields));
	buf_put_text(head, "\r\n");
}

static bool
drip_body(struct tls *t, struct str body, int64_t ms)
{
	for (size_t i = 0; i < body.n; i++) {
		if (!tls_write(t, str_cut(body, i, i + 1)))
			return false;
		clock_sleep(ms);
	}
	return true;
}

static bool
send_body(struct tls *t, const struct fault *f, struct str body)
{
	struct str first = str_cut(body, 0, f->stall_at);

	if (f->drip_ms > 0)
		return drip_body(t, body, f->drip_ms);
	if (f->stall_ms == 0)
		return tls_write(t, body);
	if (!tls_write(t, first))
		return false;
	clock_sleep(f->stall_ms);
	return tls_write(t, str_from(body, first.n));
}

void
serve_news(struct request *r, struct buf *out)
{
	pthread_mutex_lock(&lock);
	r->stream(r, out);
	pthread_mutex_unlock(&lock);
}

void
serve_message(struct request *r, struct str message)
{
	pthread_mutex_lock(&lock);
	r->message(r, message);
	pthread_mutex_unlock(&lock);
}

/* What there is to send of a stream, after so long without anything. */
static void
take_news(struct request *r, int64_t quiet_ms, struct buf *news)
{
	buf_clear(news);
	serve_news(r, news);
	if (news->n == 0 && quiet_ms % HEARTBEAT_MS == 0)
		buf_put_text(news, r->heartbeat);
}

/* What is sent of it, as one chunk; gzip goes on from chunk to chunk. */
static void
put_chunk(z_stream *z, const struct buf *news, struct buf *chunk)
{
	FREED(buf_free) struct buf packed = BUF_INIT;
	struct str text = buf_str(news);

	if (z != NULL) {
		size_t room = news->n + 1024;
		z->next_in = (unsigned char *)news->p;
		z->avail_in = (unsigned)news->n;
		z->next_out = buf_grow(&packed, room);
		z->avail_out = (unsigned)room;
		CHECK(deflate(z, Z_SYNC_FLUSH) == Z_OK && z->avail_out > 0);
		text = (struct str){ packed.p, room - z->avail_out };
	}
	buf_printf(chunk, "%zx\r\n", text.n);
	buf_put_str(chunk, text);
	buf_put_text(chunk, "\r\n");
}

/* Until the client leaves, the platform ends it, or the plan cuts it. */
static void
send_news(struct tls *t, struct request *r, z_stream *z)
{
	FREED(buf_free) struct buf news = BUF_INIT;
	FREED(buf_free) struct buf chunk = BUF_INIT;
	uint64_t left = r->fault.cuts ? r->fault.cut : UINT64_MAX;
	bool open = true;

	for (int64_t quiet_ms = 0; open && left > 0 && !tls_has_input(t);) {
		take_news(r, quiet_ms, &news);
		buf_clear(&chunk);
		if (news.n > 0 && !r->fault.silent) {
			put_chunk(z, &news, &chunk);
			struct str out = str_cut(buf_str(&chunk), 0, left);
			open = tls_write(t, out) && !r->stream_over;
			left -= out.n;
		}
		quiet_ms = news.n > 0 ? STREAM_LOOK_MS :
		    quiet_ms + STREAM_LOOK_MS;
		clock_sleep(STREAM_LOOK_MS);
	}
}

static void
send_stream(struct tls *t, struct request *r)
{
	FREED(buf_free) struct buf head = BUF_INIT;
	z_stream z = { .next_in = NULL };
	bool gzip = r->stream_packs && head_lists(&r->head,
	    STR("Accept-Encoding"), STR("gzip"));

	buf_printf(&head, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%s"
	    "Transfer-Encoding: chunked\r\n\r\n", r->type,
	    gzip ? "Content-Encoding: gzip\r\n" : "");
	if (gzip)
		CHECK(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8,
		    Z_DEFAULT_STRATEGY) == Z_OK);
	if (tls_write(t, buf_str(&head)))
		send_news(t, r, gzip ? &z : NULL);
	if (r->stream_over)
		(void)tls_write(t, STR("0\r\n\r\n"));
	if (gzip)
		deflateEnd(&z);
	if (r->stream_end == NULL)
		return;
	pthread_mutex_lock(&lock);
	r->stream_end(r);
	pthread_mutex_unlock(&lock);
}

/* False: the connection is cut. */
static bool
send_answer(struct tls *t, struct request *r)
{
	FREED(buf_free) struct buf head = BUF_INIT;
	const struct fault *f = &r->fault;

	if (r->socket) {
		socket_serve(t, r);
		return false;
	}
	if (r->stream != NULL) {
		send_stream(t, r);
		return false;
	}
	finish_answer(r, &head);
	struct str body = buf_str(&r->out);
	if (f->close == CLOSE_BEFORE)
		return false;
	if (f->close == CLOSE_HEAD) {
		(void)tls_write(t, str_cut(buf_str(&head), 0, head.n / 2));
		return false;
	}
	if (!tls_write(t, buf_str(&head)) || f->close == CLOSE_BODY)
		return false;
	if (f->cuts)
		body = str_cut(body, 0, f->cut);
	if (str_eq(r->head.method, STR("HEAD")))
		body = STR_NONE;
	return send_body(t, f, body) && !f->cuts && f->length == 0;
}

/* ---- Receiving --------------------------------------------------------- */

static bool
read_more(struct tls *t, struct buf *in)
{
	char part[16384];
	size_t n = tls_read(t, part, sizeof(part));

	buf_put(in, part, n);
	return n > 0;
}

/* The length of the head, 0 when there will be none. */
static size_t
read_head(struct tls *t, struct buf *in, struct request *r)
{
	static const struct head_limits limits = { HEAD_MAX, 100 };
	struct head_scan scan = { .at = 0 };
	struct head_refusal refusal = { .status = 0 };
	size_t n;

	while ((n = head_scan(&scan, buf_str(in), &limits, &refusal)) == 0)
		if (refusal.status != 0 || !read_more(t, in))
			return 0;
	return head_parse(str_cut(buf_str(in), 0, n), &limits, &r->arena,
	    &r->head, &refusal) ? n : 0;
}

static struct str
host_of(struct request *r)
{
	struct str host = str_cut(r->head.host, 0,
	    str_find_char(r->head.host, ':'));
	char *lower = arena_bytes(&r->arena, host.n + 1);

	for (size_t i = 0; i < host.n; i++)
		lower[i] = ascii_lower(host.p[i]);
	return (struct str){ lower, host.n };
}

/* How it goes on with a connection. */
enum then { THEN_NEXT, THEN_CLOSE, THEN_CUT };

static enum then
serve_request(struct tls *t, struct buf *in)
{
	struct request r = { .arena = ARENA_INIT };
	/* What the head borrows must not move. */
	FREED(buf_free) struct buf copy = BUF_INIT;
	size_t n = read_head(t, in, &r);
	bool fine = n > 0 && !r.head.chunked && r.head.length <= BODY_MAX;
	enum then then = THEN_CLOSE;

	while (fine && in->n < n + r.head.length)
		fine = read_more(t, in);
	if (fine) {
		size_t all = n + (size_t)r.head.length;
		buf_put(&copy, in->p, all);
		memmove(in->p, in->p + all, in->n - all);
		in->n -= all;
		arena_free(&r.arena);
		n = read_head(t, &copy, &r);
		r.host = host_of(&r);
		r.body = str_from(buf_str(&copy), n);
		answer(&r);
		then = !send_answer(t, &r) ? THEN_CUT : r.head.close ?
		    THEN_CLOSE : THEN_NEXT;
	}
	buf_free(&r.fields);
	buf_free(&r.out);
	arena_free(&r.arena);
	return then;
}

void
serve_connection(int fd)
{
	struct tls *t = tls_accept(fd);
	struct buf in = BUF_INIT;
	enum then then;

	if (t == NULL)
		return;
	do
		then = serve_request(t, &in);
	while (then == THEN_NEXT);
	buf_free(&in);
	tls_close(t, then == THEN_CLOSE);
}
