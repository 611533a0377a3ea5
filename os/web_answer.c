#include "os/web_parts.h"

#include <stdarg.h>
#include <time.h>

#include "os/clock.h"
#include "os/log.h"

#define FIELDS_BYTES 1024u         /* what every head holds, and some room */
#define ERROR_BYTES 600u

void
web_add_field(struct web_request *r, const char *name, const char *value)
{
	struct web_field *f = ARENA_NEW(&r->arena, struct web_field);
	struct str key = arena_printf(&r->arena, "%s:", name);
	char *k = (char *)(uintptr_t)key.p;

	CHECK(strpbrk(name, "\r\n: ") == NULL);
	CHECK(strpbrk(value, "\r\n") == NULL);
	for (size_t i = 0; i < key.n; i++)
		k[i] = ascii_lower(k[i]);
	f->name = k;
	f->value = arena_copy(&r->arena, str_of(value)).p;
	f->next = r->fields;
	r->fields = f;
}

static bool
has_field(const struct web_request *r, const char *name)
{
	for (const struct web_field *f = r->fields; f != NULL; f = f->next)
		if (strcmp(f->name, name) == 0)
			return true;
	return false;
}

/* RFC 9110 §6.6.1; made once a second. */
static const char *
date_now(struct web *w)
{
	int64_t now = wall_s(clock_wall());

	if (now != w->date_s) {
		time_t t = (time_t)now;
		struct tm tm;
		gmtime_r(&t, &tm);
		strftime(w->date, sizeof(w->date), "%a, %d %b %Y %H:%M:%S GMT",
		    &tm);
		w->date_s = now;
	}
	return w->date;
}

/* A head under way.  Sticky: `bad` once it ran out of room. */
struct head {
	struct lws *wsi;
	unsigned char *at, *end;
	bool bad;
};

static void
put_field(struct head *h, const char *name, const char *value)
{
	h->bad = h->bad || lws_add_http_header_by_name(h->wsi,
	    (const unsigned char *)name, (const unsigned char *)value,
	    (int)strlen(value), &h->at, h->end) != 0;
}

static void
put_fields(struct head *h, struct web_request *r)
{
	if (r->conn->close || r->linger || r->web->draining)
		put_field(h, "connection:", "close");
	put_field(h, "date:", date_now(r->web));
	if (!has_field(r, "cache-control:"))
		put_field(h, "cache-control:", "no-store");
	if (!has_field(r, "content-security-policy:"))
		put_field(h, "content-security-policy:",
		    "default-src 'none'; frame-ancestors 'none'");
	for (const struct web_field *f = r->fields; f != NULL; f = f->next)
		put_field(h, f->name, f->value);
}

static size_t
fields_bytes(const struct web_request *r, const char *type)
{
	size_t n = FIELDS_BYTES + (type == NULL ? 0 : strlen(type));

	for (const struct web_field *f = r->fields; f != NULL; f = f->next)
		n += strlen(f->name) + strlen(f->value) + 8;
	return n;
}

static void
build(struct web_request *r, int status, const char *type, struct str body)
{
	size_t room = fields_bytes(r, type);
	bool bodiless = status == 204 || status == 304 || status < 200;

	buf_reserve(&r->out, LWS_PRE + room + body.n);
	unsigned char *start = (unsigned char *)r->out.p + LWS_PRE;
	struct head h = { r->conn->wsi, start, start + room, false };
	h.bad = lws_add_http_header_status(h.wsi, (unsigned)status, &h.at,
	    h.end) != 0;
	if (type != NULL)
		put_field(&h, "content-type:", type);
	if (!bodiless)
		h.bad = h.bad || lws_add_http_header_content_length(h.wsi,
		    body.n, &h.at, h.end) != 0;
	put_fields(&h, r);
	h.bad = h.bad || lws_finalize_http_header(h.wsi, &h.at, h.end) != 0;
	CHECK(!h.bad);
	r->out.n = LWS_PRE + (size_t)(h.at - start);
	r->sent = LWS_PRE;
	if (!bodiless && !str_eq(r->method, STR("HEAD")))
		buf_put_str(&r->out, body);
}

static void
count(struct web_request *r, int status)
{
	web_add(&r->web->counters[r->row * WEB_STATUS_COUNT +
	    web_status_slot(status)], 1);
	log_debug("web.answer", "method=%.*s status=%d", STR_FMT(r->method),
	    status);
}

void
web_answer(struct web_request *r, int status, const char *content_type,
    struct str body)
{
	struct conn *c = r->conn;

	CHECK(!r->answered && status >= 100 && status <= 599);
	r->answered = true;
	count(r, status);
	if (!r->in_handler)
		web_add(&r->web->kept, (uint64_t)-1);
	if (c == NULL) {
		web_request_free(&r);
		return;
	}
	if (r->web->draining)
		c->close = true;
	build(r, status, content_type, body);
	if (r->in_handler)
		return;
	/*
	 * Write first, read again afterwards: between the two the connection
	 * is no more in the state in which reading does harm.
	 */
	bool ended = web_write_more(c) != 0;
	lws_rx_flow_control(c->wsi, 1);
	if (ended)
		web_conn_kill(c);
}

void
web_fail(struct web_request *r, int status, const char *code, const char *fmt,
    ...)
{
	char text[ERROR_BYTES];
	struct buf json = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	web_error_json(&json, str_of(text), code);
	web_answer(r, status, "application/json", buf_str(&json));
	buf_free(&json);
}

void
web_fail_why(struct web_request *r, enum err e, const struct why *w)
{
	char code[32];
	bool told = w != NULL && w->err != OK && w->text[0] != '\0';

	snprintf(code, sizeof(code), "%s", err_name(e));
	for (char *p = code; *p != '\0'; p++)
		*p = ascii_lower(*p);
	web_fail(r, err_http(e), code, "%s", told ? w->text : err_text(e));
}

/* -- Metrics -- */

static uint64_t
counter(const _Atomic uint64_t *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

void
web_counts(const struct web *w, struct web_counts *out)
{
	*out = (struct web_counts){
		.connections = counter(&w->connections),
		.requests_kept = counter(&w->kept),
		.accepted = counter(&w->accepted),
		.refused = counter(&w->refused),
		.requests = counter(&w->asked),
		.timeouts = counter(&w->timeouts),
		.bytes_in = counter(&w->bytes_in),
		.bytes_out = counter(&w->bytes_out),
	};
}

void
web_route_counts(const struct web *w, void (*each)(void *,
    const struct web_route *, int, uint64_t), void *arg)
{
	for (size_t row = 0; row <= w->routes_n; row++)
		for (size_t slot = 0; slot < WEB_STATUS_COUNT; slot++) {
			uint64_t n = counter(
			    &w->counters[row * WEB_STATUS_COUNT + slot]);
			if (n > 0)
				each(arg, row < w->routes_n ? &w->routes[row] :
				    NULL, web_status_of_slot(slot), n);
		}
}
