#include "server/web_own.h"

#define BODY_FIRST_BYTES ((uint64_t)16 << 10)
#define UPLOAD_STEP_BYTES ((uint64_t)64 << 10)   /* in body_ms */

struct web_request *
web_request_new(struct web *w, struct web_conn *c,
    const struct web_carrier *carrier)
{
	struct web_request *r = mem_new(sizeof(*r));

	r->web = w;
	r->conn = c;
	r->carrier = carrier;
	r->row = w->routes_n;
	r->head.method = r->head.path = r->rest = STR("");
	list_init(&r->node);
	w->n.requests++;
	return r;
}

bool
web_count_coming(struct web *w, uint64_t *counted, uint64_t now)
{
	w->coming += now - *counted;
	*counted = now;
	return w->coming <= (uint64_t)w->limits.coming_bytes_max;
}

static void
release(struct web_request *r)
{
	if (r->pull != NULL)
		r->pull->end(r->pull);
	list_take(&r->node);
	if (r->kept)
		r->web->n.requests_kept--;
	(void)web_count_coming(r->web, &r->counted, 0);
	/* It may have been a credential. */
	if (r->body.cap > 0)
		explicit_bzero(r->body.p, r->body.cap);
	buf_free(&r->body);
	buf_free(&r->copy);
	/* The head may have had a token. */
	arena_wipe(&r->arena);
	mem_free(&r);
}

void
web_request_over(struct web_request *r)
{
	r->over = true;
	if (!r->busy)
		release(r);
}

/* Tell the upload that its body will stay incomplete.  False: there is none. */
static bool
cut_upload(struct web_request *r)
{
	struct web_upload *u = r->upload;

	r->upload = NULL;
	if (u != NULL)
		u->cut(u);
	return u != NULL;
}

void
web_request_drop(struct web_request *r)
{
	/* The handler that kept it will still answer; that frees it. */
	if (!cut_upload(r) && r->kept)
		r->conn = NULL;
	else
		web_request_over(r);
}

void
web_request_refuse(struct web_request *r, const struct head_refusal *f)
{
	(void)cut_upload(r);
	web_fail(r, f->status, f->code, "%s", f->text);
}

bool
web_request_admit(struct web_request *r)
{
	r->busy = true;
	bool fine = web_admit(r);
	r->busy = false;
	if (r->over)
		release(r);
	return fine;
}

/* -- The body and the handler -- */

bool
web_request_put_body(struct web_request *r, struct str bytes)
{
	static const struct head_refusal many = { 503, "limit",
	    "too many bodies are on their way here" };

	/* A small body stays in one place: a buffer that grows would leave a
	 * copy of its first part behind. */
	if (r->body.cap == 0)
		buf_reserve(&r->body, MAX(bytes.n, (size_t)MIN(r->head.length,
		    BODY_FIRST_BYTES)));
	buf_put_str(&r->body, bytes);
	if (web_count_coming(r->web, &r->counted, r->body.n))
		return true;
	web_request_refuse(r, &many);
	return false;
}

/* Hand on what has come of an upload. */
static void
read_piece(struct web_request *r)
{
	struct web_upload *u = r->upload;
	uint64_t step = r->read_n / UPLOAD_STEP_BYTES;

	if (!r->coming)
		r->upload = NULL;
	r->read_n += r->body.n;
	r->busy = true;
	r->held = !u->piece(u, buf_str(&r->body), !r->coming);
	r->busy = false;
	if (r->over) {
		release(r);
		return;
	}
	buf_clear(&r->body);
	(void)web_count_coming(r->web, &r->counted, 0);
	if (r->upload != NULL && r->read_n / UPLOAD_STEP_BYTES > step)
		r->carrier->read(r);
}

void
web_request_call(struct web_request *r)
{
	struct web *w = r->web;

	r->busy = true;
	if (web_check_drain(r))
		r->route->handle(r);
	r->busy = false;
	CHECK(!r->route->upload || r->upload != NULL || r->status != 0);
	if (r->over) {
		release(r);
	} else if (r->status == 0) {
		r->kept = true;
		w->n.requests_kept++;
		list_put(&w->kept, &r->node);
		if (r->upload != NULL && !r->coming)
			read_piece(r);
	}
}

void
web_request_go_on(struct web_request *r)
{
	if (r->upload == NULL && !r->coming)
		web_request_call(r);
	else if (r->upload != NULL && !r->held)
		read_piece(r);
}

void
web_read_body(struct web_request *r, struct web_upload *u)
{
	CHECK(r->busy && r->route->upload && r->upload == NULL &&
	    r->status == 0);
	u->request = r;
	r->upload = u;
}

void
web_read_more(struct web_upload *u)
{
	struct web_request *r = u->request;

	CHECK(!r->busy);
	if (r->upload == NULL || !r->held)
		return;
	r->held = false;
	r->carrier->read(r);
}

/* -- What a handler may ask -- */

void *
web_arg(const struct web_request *r)
{
	return r->route->arg;
}

struct str
web_rest(const struct web_request *r)
{
	return r->rest;
}

bool
web_segment(struct web_request *r, size_t i, struct str *decoded)
{
	struct str rest = str_from(r->head.raw_path, 1), part;

	while (str_split(&rest, '/', &part))
		if (i-- == 0)
			return head_decode(part, false, &r->arena, decoded);
	return false;
}

struct str
web_body(const struct web_request *r)
{
	return buf_str(&r->body);
}

struct arena *
web_arena(struct web_request *r)
{
	return &r->arena;
}

bool
web_param(struct web_request *r, const char *name, struct str *value)
{
	size_t at = 0;

	return web_param_next(r, name, &at, value);
}

bool
web_param_next(struct web_request *r, const char *name, size_t *at,
    struct str *value)
{
	return head_param(r->head.query, at, str_of(name), &r->arena, value);
}

const char *
web_peer(const struct web_request *r)
{
	return r->conn == NULL ? "" : net_peer(r->conn->net);
}

bool
web_is_tls(const struct web_request *r)
{
	return r->web->tls != NULL;
}

bool
web_is_of(const struct web_request *r, const struct web *w)
{
	return r->web == w;
}

bool
web_has_left(const struct web_request *r)
{
	return r->conn == NULL || r->conn->ended;
}

const struct token_pass *
web_pass(const struct web_request *r)
{
	return r->passed ? &r->pass : NULL;
}

bool
web_field(struct web_request *r, const char *name, struct str *value)
{
	return head_find(&r->head, str_of(name), &r->arena, value);
}

bool
web_cookie(const struct web_request *r, const char *name, struct str *value)
{
	struct str part;

	for (size_t i = 0; i < r->head.fields_n; i++) {
		struct str rest = r->head.fields[i].value;
		if (!str_eq_nocase(r->head.fields[i].name, STR("cookie")))
			continue;
		while (str_split(&rest, ';', &part)) {
			part = str_trim(part);
			size_t equals = str_find_char(part, '=');
			if (equals == part.n || !str_eq(str_cut(part, 0,
			    equals), str_of(name)))
				continue;
			*value = str_from(part, equals + 1);
			return true;
		}
	}
	return false;
}

bool
web_is_head(const struct web_request *r)
{
	return str_eq(r->head.method, STR("HEAD"));
}

bool
web_may(const struct web_request *r, enum token_door door,
    enum token_access access)
{
	return web_allows(r->web, r->passed || r->known, &r->pass, door,
	    access);
}

bool
web_is_operator(const struct web_request *r)
{
	return (r->passed || r->known) && r->pass.id == TOKEN_OPERATOR_ID;
}
