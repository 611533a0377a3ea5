#include "engine/exporting/exporting_find.h"

#include "base/json.h"
#include "base/map.h"
#include "engine/parser/url.h"
#include "os/clock.h"
#include "os/resolve.h"

#define WARCS_PATH "/api/v1/warcs/"
#define ANSWER_BYTES_MAX ((size_t)64 << 20)
#define CONNECT_MS 10000
#define TOTAL_MS 60000
#define RETRY_MS 1000
#define RETRY_MS_MAX 60000
#define LOOK_MS 100              /* how often the watch is looked at */
/* Pages of one list: more is an interface that goes round in circles. */
#define PAGES_MAX 100000u

/* ---- One request ---------------------------------------------------- */

struct asking {
	struct exchange exchange;
	struct buf body;
	int status;
	enum transport_end end;
	bool done;
	struct transport_header headers[2];
};

static bool
on_connected(struct exchange *x, const struct ip *ip)
{
	(void)x;
	(void)ip;
	return true;
}

static bool
on_head(struct exchange *x, struct str bytes, int status)
{
	(void)bytes;
	CONTAINER(x, struct asking, exchange)->status = status;
	return true;
}

static bool
on_body(struct exchange *x, struct str bytes)
{
	struct asking *q = CONTAINER(x, struct asking, exchange);

	buf_put_str(&q->body, bytes);
	return q->body.n <= ANSWER_BYTES_MAX;
}

static void
on_done(struct exchange *x, enum transport_end end, struct str detail)
{
	struct asking *q = CONTAINER(x, struct asking, exchange);

	(void)detail;
	q->end = end;
	q->done = true;
}

static enum err
find_address(struct loop *l, const struct url *u, struct ip *ip,
    struct why *w)
{
	struct str host = u->host;
	struct resolve_query q;

	if (str_starts(host, STR("[")))
		host = str_cut(host, 1, host.n - 1);
	if (ip_from_text(host, ip))
		return OK;
	if (!resolve_now(l, host, CONNECT_MS, &q))
		return why(w, ERR_UNREACHED, "%.*s cannot be resolved: %s",
		    STR_FMT(host), q.error);
	*ip = q.addresses[0];
	return OK;
}

static void
describe(struct asking *q, const struct url *u, const struct ip *ip,
    struct arena *a)
{
	static const struct exchange_events events = { on_connected, on_head,
		on_body, on_done };

	q->headers[0] = (struct transport_header){ STR("Host"), u->port_given ?
	    arena_printf(a, "%.*s:%u", STR_FMT(u->host), u->port) : u->host };
	q->headers[1] = (struct transport_header){ STR("Accept"),
	    STR("application/json") };
	q->exchange = (struct exchange){ .events = &events,
	    .method = STR("GET"), .url = u->href, .host = u->host,
	    .port = u->port, .tls = u->scheme == URL_HTTPS,
	    .verify = u->scheme == URL_HTTPS, .headers = q->headers,
	    .headers_n = 2, .addresses = ip, .addresses_n = 1,
	    .connect_ms = CONNECT_MS, .total_ms = TOTAL_MS,
	    .head_bytes_max = 65536 };
}

static enum err
judge(const struct asking *q, const struct url *u, struct why *w)
{
	if (q->end != TRANSPORT_DONE)
		return why(w, ERR_UNREACHED, "%.*s does not answer: %s",
		    STR_FMT(u->host), transport_end_text(q->end));
	if (q->status == 400)
		return why(w, ERR_INPUT, "%.*s refuses the look-up: %.*s",
		    STR_FMT(u->host), STR_FMT(str_cut(buf_str(&q->body), 0,
		    200)));
	return q->status == 200 ? OK : why(w, ERR_UNREACHED, "%.*s answers "
	    "with HTTP status %d", STR_FMT(u->host), q->status);
}

static enum err
ask_once(struct loop *l, const struct url *u, struct arena *a,
    struct str *body, struct why *w)
{
	struct transport_options o = { .connections_max = 1,
	    .host_connections_max = 1 };
	struct asking q = { .status = 0 };
	struct ip ip;

	enum err e = find_address(l, u, &ip, w);
	if (e != OK)
		return e;
	describe(&q, u, &ip, a);
	struct transport *t = transport_new(l, &o);
	transport_start(t, &q.exchange);
	loop_run_until(l, &q.done);
	transport_free(&t);
	e = judge(&q, u, w);
	if (e == OK)
		*body = arena_copy(a, buf_str(&q.body));
	buf_free(&q.body);
	return e;
}

/* ---- Again and again ------------------------------------------------ */

struct searching {
	const struct exporting_find *find;
	struct loop *loop;
	struct mono until;
	struct arena *arena;
	struct map seen;             /* warc ids */
	struct str *paths;
	size_t n, cap;
};

struct pause {
	struct timer timer;
	bool over;
};

static void
pause_over(struct timer *t)
{
	CONTAINER(t, struct pause, timer)->over = true;
}

/* False: it was stopped meanwhile. */
static bool
wait_ms(struct searching *s, int64_t ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);

	while (mono_before(clock_mono(), until)) {
		struct pause p = { .timer.fire = pause_over };
		if (atomic_load(&s->find->watch->stop))
			return false;
		loop_timer_set(s->loop, &p.timer, mono_add_ms(clock_mono(),
		    MIN(LOOK_MS, ms)));
		loop_run_until(s->loop, &p.over);
	}
	return true;
}

static enum err
ask(struct searching *s, const struct url *u, struct str *body,
    struct why *w)
{
	int64_t pause_ms = RETRY_MS;
	struct why last = WHY_INIT;

	while (ask_once(s->loop, u, s->arena, body, &last) != OK) {
		if (last.err != ERR_UNREACHED || !mono_before(clock_mono(),
		    s->until))
			return why(w, last.err, "%s", last.text);
		if (!wait_ms(s, pause_ms))
			return why(w, ERR_CLOSED, "it was stopped");
		pause_ms = MIN(pause_ms * 2, RETRY_MS_MAX);
		last = WHY_INIT;
	}
	return OK;
}

/* ---- Lists ---------------------------------------------------------- */

static enum err
take_file(struct searching *s, yyjson_val *warc, struct why *w)
{
	struct str path = json_text(yyjson_obj_get(warc, "path"));
	struct str id = json_text(yyjson_obj_get(warc, "warc_id"));

	if (path.n == 0 || id.n == 0)
		return why(w, ERR_UNREACHED, "the list of WARC files has one "
		    "without warc_id or path");
	if (map_get(&s->seen, id) != NULL)
		return OK;
	if (s->n == ARCHIVE_FILES_MAX)
		return why(w, ERR_FULL, "there are more than %zu WARC files",
		    ARCHIVE_FILES_MAX);
	(void)map_put(&s->seen, arena_copy(s->arena, id), s);
	s->paths = arena_grow(s->arena, s->paths, s->n, &s->cap, 64,
	    sizeof(*s->paths));
	s->paths[s->n++] = arena_copy(s->arena, path);
	return OK;
}

/*
 * The next page's address is as the interface's own host calls itself, which
 * may be a name that is not known here: only its query is taken.
 */
static enum err
take_next(struct searching *s, yyjson_val *next, struct url *u,
    struct why *w)
{
	struct str text = json_text(next);
	size_t query = str_find_char(text, '?');

	if (query == text.n) {
		u->href = STR("");
		return OK;
	}
	return url_parse(arena_printf(s->arena, WARCS_PATH "%.*s",
	    STR_FMT(str_from(text, query))), u, s->arena, u, w);
}

static enum err
take_page(struct searching *s, struct str body, struct url *u, struct why *w)
{
	yyjson_doc *doc = yyjson_read(body.p, body.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc), *warc;
	yyjson_val *results = yyjson_obj_get(root, "results");
	yyjson_arr_iter list = yyjson_arr_iter_with(results);
	enum err e = yyjson_is_arr(results) ? OK : why(w, ERR_UNREACHED,
	    "the list of WARC files has no \"results\"");

	while (e == OK && (warc = yyjson_arr_iter_next(&list)) != NULL)
		e = take_file(s, warc, w);
	if (e == OK)
		e = take_next(s, yyjson_obj_get(root, "next"), u, w);
	yyjson_doc_free(doc);
	return e;
}

static enum err
read_list(struct searching *s, struct str target, const struct url *base,
    struct why *w)
{
	struct str body;
	struct url u;
	enum err e = url_parse(target, base, s->arena, &u, w);

	for (unsigned i = 0; e == OK && u.href.n > 0; i++) {
		if (i == PAGES_MAX)
			return why(w, ERR_UNREACHED, "the list of WARC files "
			    "does not end");
		e = ask(s, &u, &body, w);
		if (e == OK)
			e = take_page(s, body, &u, w);
	}
	return e;
}

/* ---- What is asked -------------------------------------------------- */

static void
put_value(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (ascii_is_alpha(c) || ascii_is_digit(c) || c == '-' ||
		    c == '_' || c == '.' || c == '~')
			buf_put_char(b, c);
		else
			buf_printf(b, "%%%02X", (unsigned char)c);
	}
}

static void
put_parameter(struct buf *b, const char *name, struct str value)
{
	if (value.n == 0)
		return;
	buf_printf(b, "%s%s=", str_ends(buf_str(b), STR("/")) ? "?" : "&",
	    name);
	put_value(b, value);
}

/* Seeds from `first` on, as many as one request may name. */
static struct str
make_target(const struct exporting_order *o, size_t first, struct arena *a)
{
	FREED(buf_free) struct buf b = BUF_INIT, seeds = BUF_INIT;

	for (size_t i = first; i < o->seeds_n && i < first +
	    EXPORTING_SEEDS_EACH; i++)
		buf_printf(&seeds, "%s%.*s", i > first ? "," : "",
		    STR_FMT(o->seeds[i].id));
	buf_put_text(&b, WARCS_PATH);
	put_parameter(&b, "collection", o->collection);
	put_parameter(&b, "seed", buf_str(&seeds));
	put_parameter(&b, "harvest_date_start", o->harvest_from.text);
	put_parameter(&b, "harvest_date_end", o->harvest_to.text);
	return arena_copy(a, buf_str(&b));
}

enum err
exporting_find(const struct exporting_find *f, struct arena *a,
    struct str **paths, size_t *n, struct why *w)
{
	struct searching s = { .find = f, .arena = a,
		.until = mono_add_ms(clock_mono(), f->tries_ms) };
	struct url base;
	size_t first = 0;
	enum err e = url_parse(str_of(f->api), NULL, a, &base, w);

	if (e == OK && base.scheme != URL_HTTP && base.scheme != URL_HTTPS)
		e = why(w, ERR_INPUT, "harvest.sfm_api is no URL of http or "
		    "https");
	if (e != OK)
		return e;
	s.loop = loop_new("exporting");
	do {
		e = read_list(&s, make_target(f->order, first, a), &base, w);
		first += EXPORTING_SEEDS_EACH;
	} while (e == OK && first < f->order->seeds_n);
	loop_free(&s.loop);
	map_free(&s.seen);
	*paths = s.paths;
	*n = s.n;
	return e;
}
