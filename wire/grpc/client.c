#include "wire/grpc/grpc_own.h"

#define FIELDS_OWN 9
#define FIELDS_MAX 200

void
grpc_client_field(struct grpc_call *c, struct str name, struct str value)
{
	struct buf b = BUF_INIT;
	uint64_t status;

	if (str_eq(name, STR(":status"))) {
		if (str_to_u64(value, &status) && status < 1000)
			c->http_status = (unsigned)status;
	} else if (str_eq(name, STR("content-type"))) {
		c->content_type = arena_copy(&c->arena, value);
	} else if (str_eq(name, STR("grpc-encoding"))) {
		c->in.gzip = str_eq(value, STR("gzip"));
	} else if (str_eq(name, STR("grpc-status"))) {
		c->code = grpc_code_read(value);
		c->has_status = true;
	} else if (str_eq(name, STR("grpc-message"))) {
		grpc_percent_decode(&b, value);
		c->text = arena_copy(&c->arena, buf_str(&b));
		buf_free(&b);
	} else {
		grpc_keep_field(c, name, value);
	}
}

void
grpc_client_fields_end(struct grpc_call *c, bool last)
{
	if (c->too_many_fields) {
		grpc_call_abort(c, GRPC_RESOURCE_EXHAUSTED,
		    "the metadata of the answer is larger than the limit");
		return;
	}
	if (c->answered || c->http_status < 200)
		return;
	c->answered = true;
	if (c->http_status != 200) {
		c->has_status = false;
		if (!last)
			grpc_call_reset(c, NGHTTP2_CANCEL);
	} else if (!grpc_is_content_type(c->content_type)) {
		grpc_call_abort(c, GRPC_UNKNOWN,
		    "the answer's content-type is not gRPC's");
	}
}

static size_t
request_fields(struct grpc_call *c, const struct grpc_request *r,
    struct str timeout, nghttp2_nv *nv)
{
	struct grpc_session *s = c->session;
	size_t n = 0;

	nv[n++] = grpc_nv(STR(":method"), STR("POST"));
	nv[n++] = grpc_nv(STR(":scheme"), str_of(s->scheme));
	nv[n++] = grpc_nv(STR(":path"), c->path);
	nv[n++] = grpc_nv(STR(":authority"), str_of(s->authority));
	nv[n++] = grpc_nv(STR("te"), STR("trailers"));
	nv[n++] = grpc_nv(STR("content-type"), STR("application/grpc"));
	nv[n++] = grpc_nv(STR("user-agent"), STR("argiope/" ARGIOPE_VERSION));
	nv[n++] = grpc_nv(STR("grpc-accept-encoding"), STR("identity,gzip"));
	if (r->timeout_ns > 0)
		nv[n++] = grpc_nv(STR("grpc-timeout"), timeout);
	return grpc_put_fields(nv, n, &c->headers);
}

static enum err
submit(struct grpc_call *c, const struct grpc_request *r, struct why *w)
{
	struct grpc_session *s = c->session;
	nghttp2_nv *nv = ARENA_ARRAY(&c->arena, nghttp2_nv,
	    FIELDS_OWN + r->fields_n);
	nghttp2_data_provider data = grpc_call_provider(c);
	char timeout[GRPC_TIMEOUT_MAX];

	for (size_t i = 0; i < r->fields_n; i++) {
		struct grpc_field f = r->fields[i];
		if (!grpc_field_is_fine(f.name, f.value))
			return why(w, ERR_INPUT,
			    "the metadata \"%.*s\" cannot be sent",
			    STR_FMT(f.name));
		grpc_fields_add(&c->headers, &c->arena,
		    arena_copy(&c->arena, f.name),
		    grpc_value_write(&c->arena, f.name, f.value));
	}
	grpc_timeout_write(r->timeout_ns, timeout);
	c->stream = nghttp2_submit_request(s->h2, NULL, nv,
	    request_fields(c, r, str_of(timeout), nv), &data, c);
	if (c->stream < 0)
		return why(w, ERR_CLOSED, "%s", nghttp2_strerror(c->stream));
	return OK;
}

struct grpc_call *
grpc_call_new(struct grpc_session *s, const struct grpc_request *r,
    struct mono now, struct why *w)
{
	CHECK(s->server == NULL);
	if (s->failed || s->draining ||
	    nghttp2_session_check_request_allowed(s->h2) == 0) {
		(void)why(w, ERR_CLOSED, "the connection takes no calls");
		return NULL;
	}
	if (s->calls_n >= (size_t)s->limits.streams_max ||
	    r->fields_n > FIELDS_MAX) {
		(void)why(w, ERR_FULL, "too many calls or fields");
		return NULL;
	}
	struct grpc_call *c = grpc_call_take(s, -1);
	c->kind = GRPC_BIDI;
	c->arg = r->arg;
	c->path = arena_copy(&c->arena, str_of(r->path));
	if (submit(c, r, w) != OK) {
		grpc_call_free(c);
		return NULL;
	}
	c->on = r->on;
	if (r->timeout_ns > 0) {
		c->deadline = mono_add_ns(now,
		    MIN(r->timeout_ns, INT64_MAX - now.ns));
		heap_put(&s->deadlines, &c->due, c->deadline.ns,
		    (uint64_t)c->stream);
	}
	grpc_wake(s);
	return c;
}

void
grpc_half_close(struct grpc_call *c)
{
	CHECK(c->session->server == NULL);
	if (c->finished || c->gone)
		return;
	c->finished = true;
	grpc_call_go(c);
}

void
grpc_cancel(struct grpc_call *c)
{
	if (c->ended)
		return;
	grpc_call_end(c, GRPC_CANCELLED, STR("cancelled"));
	grpc_call_reset(c, NGHTTP2_CANCEL);
}
