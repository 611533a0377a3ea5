#include "server/web_own.h"

#include <stdarg.h>
#include <time.h>

#include "base/text.h"
#include "os/clock.h"
#include "os/log.h"

#define ERROR_BYTES 600u

/* Header fields of every answer, unless the handler sets them. */
static const struct {
	const char *name, *value;
} defaults[] = {
	{ "cache-control", "no-store" },
	{ "content-security-policy",
	    "default-src 'none'; frame-ancestors 'none'" },
	{ "x-content-type-options", "nosniff" },
	{ "referrer-policy", "no-referrer" },
	{ "x-frame-options", "DENY" },
	{ "cross-origin-resource-policy", "same-origin" },
};

/* -- Fields -- */

/* The texts last as long as the request. */
static void
put_field(struct web_request *r, const char *name, const char *value)
{
	struct web_field *f = ARENA_NEW(&r->arena, struct web_field);

	*f = (struct web_field){ r->fields, name, value };
	r->fields = f;
}

void
web_add_field(struct web_request *r, const char *name, const char *value)
{
	char *key = arena_bytes(&r->arena, strlen(name) + 1);

	CHECK(text_is_token(str_of(name)));
	CHECK(text_is_field_value(str_of(value)));
	for (size_t i = 0; i <= strlen(name); i++)
		key[i] = ascii_lower(name[i]);
	put_field(r, key, arena_copy(&r->arena, str_of(value)).p);
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

void
web_add_default(struct web_request *r, const char *name, const char *value)
{
	if (!has_field(r, name))
		put_field(r, name, value);
}

/* Every field that the answer has stands in r->fields afterwards. */
static void
complete_fields(struct web_request *r, const char *type, uint64_t length)
{
	bool bodiless = r->status == 204 || r->status == 304;

	for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
		web_add_default(r, defaults[i].name, defaults[i].value);
	put_field(r, "date", arena_copy(&r->arena,
	    str_of(date_now(r->web))).p);
	if (!bodiless && length != UINT64_MAX)
		put_field(r, "content-length", arena_printf(&r->arena, "%llu",
		    (unsigned long long)length).p);
	if (type != NULL && !has_field(r, "content-type"))
		put_field(r, "content-type",
		    arena_copy(&r->arena, str_of(type)).p);
}

/* -- Answers -- */

/* Take the status; false when there is nobody for the answer any more. */
static bool
begin(struct web_request *r, int status)
{
	CHECK(r->status == 0 && status >= 200 && status <= 599);
	r->status = status;
	r->upload = NULL;
	r->web->counters[r->row * WEB_STATUS_COUNT +
	    web_status_slot(status)]++;
	log_debug("web.answer", "method=%.*s status=%d",
	    STR_FMT(r->head.method), status);
	if (r->kept) {
		r->kept = false;
		r->web->n.requests_kept--;
		list_take(&r->node);
	}
	r->bodiless = status == 204 || status == 304 ||
	    str_eq(r->head.method, STR("HEAD"));
	if (r->conn != NULL)
		return true;
	web_request_over(r);
	return false;
}

void
web_answer(struct web_request *r, int status, const char *content_type,
    struct str body)
{
	if (!begin(r, status))
		return;
	complete_fields(r, content_type, body.n);
	r->answer = r->bodiless ? STR("") : body;
	r->carrier->answered(r);
}

void
web_answer_pull(struct web_request *r, int status, const char *content_type,
    uint64_t length, struct web_pull *p)
{
	p->request = r;
	r->pull = p;
	r->pull_length = length;
	if (!begin(r, status))
		return;
	complete_fields(r, content_type, length);
	r->carrier->answered(r);
}

void
web_pull_wake(struct web_pull *p)
{
	if (p->request->conn != NULL)
		p->request->carrier->more(p->request);
}

/* -- The body -- */

static enum web_taken
take_pulled(struct web_request *r, struct buf *out, size_t room)
{
	size_t before = out->n;
	uint64_t left = r->pull_length - r->pulled;
	bool more = r->pull->pull(r->pull, out, (size_t)MIN(room, left));

	CHECK(out->n - before <= MIN(room, left));
	r->pulled += out->n - before;
	if (r->pulled == r->pull_length)
		return WEB_END;
	if (more)
		return WEB_MORE;
	return r->pull_length == UINT64_MAX && !r->pull->broken ? WEB_END :
	    WEB_CUT;
}

enum web_taken
web_take_body(struct web_request *r, struct buf *out, size_t room)
{
	if (r->bodiless || (r->pull != NULL && r->pull_length == 0))
		return WEB_END;
	if (r->pull != NULL)
		return room == 0 ? WEB_MORE : take_pulled(r, out, room);
	size_t n = MIN(room, r->answer.n - r->answer_at);
	buf_put(out, r->answer.p + r->answer_at, n);
	r->answer_at += n;
	return r->answer_at == r->answer.n ? WEB_END : WEB_MORE;
}

void
web_keep_body(struct web_request *r)
{
	if (r->lasting || r->pull != NULL)
		return;
	buf_put_str(&r->copy, str_from(r->answer, r->answer_at));
	r->answer = buf_str(&r->copy);
	r->answer_at = 0;
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
	if (r->route != NULL && r->route->refuse != NULL) {
		r->route->refuse(r, status, code, str_of(text));
		return;
	}
	web_error_json(&json, str_of(text), code);
	web_answer(r, status, "application/json", buf_str(&json));
	buf_free(&json);
}

void
web_fail_why(struct web_request *r, enum err e, const struct why *w)
{
	char code[32];
	bool told = w != NULL && w->err != OK && w->text[0] != '\0';
	struct log_text path, text;

	if (told && err_is_internal(e)) {
		log_error("web.failed", "path=%s why=%s", log_quote(&path,
		    r->head.path), log_quote(&text, str_of(w->text)));
		told = false;
	}
	snprintf(code, sizeof(code), "%s", err_name(e));
	for (char *p = code; *p != '\0'; p++)
		*p = ascii_lower(*p);
	web_fail(r, err_http(e), code, "%s", told ? w->text : err_text(e));
}
