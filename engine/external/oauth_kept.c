/*
 * The sealed text of logins and grants.
 *
 *     {"client_id":"i","client_secret":"s","verifier":"v",
 *      "parameters":{"instance":"social.example"}}
 *     {"client_id":"i","client_secret":"s","access":"a","refresh":"r",
 *      "access_ends":1795166296000000,"refresh_ends":253402214400000000,
 *      "former":["b"],"account":"https://social.example/@ada","name":"Ada",
 *      "parameters":{"instance":"social.example"}}
 *
 * Moments are microseconds since 1970.
 */
#include "base/json_writer.h"
#include "engine/external/external_own.h"
#include "engine/external/oauth_own.h"

/* ---- Writing ----------------------------------------------------------- */

static void
put_given(struct buf *out, const char *name, struct str s)
{
	if (s.n > 0)
		json_str(out, name, s);
}

static void
put_client(struct buf *out, const struct oauth_client *c)
{
	json_str(out, "client_id", c->id);
	put_given(out, "client_secret", c->secret);
}

static void
put_values(struct buf *out, const struct oauth_declaration *d,
    const struct str *values)
{
	json_object(out, "parameters");
	for (size_t i = 0; i < d->params_n; i++)
		json_str(out, d->params[i].name.p, values[i]);
	buf_put_char(out, '}');
}

void
oauth_pending_write(const struct oauth_declaration *d,
    const struct oauth_pending *p, struct buf *out)
{
	json_object(out, NULL);
	put_client(out, &p->client);
	put_given(out, "verifier", p->verifier);
	put_given(out, "request_secret", p->request_secret);
	put_values(out, d, p->values);
	buf_put_char(out, '}');
}

void
oauth_granted_write(const struct oauth_declaration *d,
    const struct oauth_granted *g, struct buf *out)
{
	const struct oauth_tokens *t = &g->tokens;

	json_object(out, NULL);
	put_client(out, &g->client);
	json_str(out, "access", t->access);
	put_given(out, "refresh", t->refresh);
	put_given(out, "secret", t->secret);
	json_u64(out, "access_ends", (uint64_t)t->access_ends.us);
	json_u64(out, "refresh_ends", (uint64_t)t->refresh_ends.us);
	json_u64(out, "expiry", (uint64_t)t->expiry.us);
	json_u64(out, "refresh_at", (uint64_t)t->refresh_at.us);
	if (t->former_n > 0)
		json_strs(out, "former", t->former, t->former_n);
	put_given(out, "account", g->account.account);
	put_given(out, "name", g->account.name);
	put_given(out, "email", g->account.email);
	put_values(out, d, g->values);
	buf_put_char(out, '}');
}

/* ---- Reading ----------------------------------------------------------- */

struct reading {
	const struct oauth_declaration *d;
	yyjson_val *root;
	struct arena *a;
	bool bad;
};

static void
free_doc(yyjson_doc **doc)
{
	yyjson_doc_free(*doc);
}

/* A text, or STR_NONE. */
static struct str
take_text(struct reading *r, const char *name)
{
	yyjson_val *v = yyjson_obj_get(r->root, name);

	r->bad |= v != NULL && !yyjson_is_str(v);
	return json_text(v).n > 0 ? arena_copy(r->a, json_text(v)) : STR_NONE;
}

static struct str
take_needed(struct reading *r, const char *name)
{
	struct str s = take_text(r, name);

	r->bad |= s.n == 0;
	return s;
}

static void
take_former(struct reading *r, struct oauth_tokens *t)
{
	yyjson_val *list = yyjson_obj_get(r->root, "former"), *v;
	size_t i, n;

	r->bad |= list != NULL && !yyjson_is_arr(list);
	yyjson_arr_foreach(list, i, n, v) {
		r->bad |= !yyjson_is_str(v);
		if (t->former_n < OAUTH_FORMER_MAX)
			t->former[t->former_n++] = arena_copy(r->a,
			    json_text(v));
	}
}

static struct wall
take_moment(struct reading *r, const char *name)
{
	yyjson_val *v = yyjson_obj_get(r->root, name);
	uint64_t us = yyjson_get_uint(v);

	r->bad |= !yyjson_is_uint(v) || us > INT64_MAX;
	return (struct wall){ (int64_t)us };
}

static struct oauth_client
take_client(struct reading *r)
{
	struct oauth_client c = { .id = take_needed(r, "client_id") };

	c.secret = take_text(r, "client_secret");
	return c;
}

/* A parameter that was added to the declaration since has its default. */
static enum err
take_values(struct reading *r, struct str *values, struct why *w)
{
	yyjson_val *kept = yyjson_obj_get(r->root, "parameters");
	enum err e = OK;

	if (r->bad || !yyjson_is_obj(kept))
		return why(w, ERR_CORRUPT, "what was sealed is not as it was "
		    "written");
	for (size_t i = 0; i < r->d->params_n && e == OK; i++)
		e = oauth_param_read(r->d, i, json_text(yyjson_obj_get(kept,
		    r->d->params[i].name.p)), r->a, &values[i], w);
	return e;
}

enum err
oauth_pending_read(const struct oauth_declaration *d, struct str text,
    struct arena *a, struct oauth_pending *p, struct why *w)
{
	FREED(free_doc) yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	struct reading r = { d, yyjson_doc_get_root(doc), a, false };

	*p = (struct oauth_pending){ .client = take_client(&r) };
	p->verifier = take_text(&r, "verifier");
	p->request_secret = take_text(&r, "request_secret");
	return take_values(&r, p->values, w);
}

enum err
oauth_granted_read(const struct oauth_declaration *d, struct str text,
    struct arena *a, struct oauth_granted *g, struct why *w)
{
	FREED(free_doc) yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	struct reading r = { d, yyjson_doc_get_root(doc), a, false };

	*g = (struct oauth_granted){ .client = take_client(&r) };
	g->tokens = (struct oauth_tokens){
		.access = take_needed(&r, "access"),
		.refresh = take_text(&r, "refresh"),
		.secret = take_text(&r, "secret"),
		.access_ends = take_moment(&r, "access_ends"),
		.refresh_ends = take_moment(&r, "refresh_ends"),
		.expiry = take_moment(&r, "expiry"),
		.refresh_at = take_moment(&r, "refresh_at"),
	};
	take_former(&r, &g->tokens);
	g->account = (struct oauth_account){
		.account = take_text(&r, "account"),
		.name = take_text(&r, "name"),
		.email = take_text(&r, "email"),
	};
	return take_values(&r, g->values, w);
}
