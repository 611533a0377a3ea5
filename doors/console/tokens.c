#include "doors/console/console.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "engine/control/control.h"

struct token_ask {
	struct console *console;
	struct web_request *request;
	struct store_request ask;
	/* Answer; the store has done it. */
	void (*answer)(struct web_request *, const struct store_request *);
};

static void
done(struct store_request *a)
{
	struct token_ask *t = a->arg;
	struct console *c = t->console;

	if (a->why.err == OK)
		t->answer(t->request, a);
	else
		web_fail_why(t->request, a->why.err, &a->why);
	arena_free(&a->arena);
	explicit_bzero(a->token_text, sizeof(a->token_text));
	mem_free(&t);
	drain_gate_leave(&c->asked);
}

static void
ask(struct web_request *r, struct store_request what,
    void (*answer)(struct web_request *, const struct store_request *))
{
	struct token_ask *t = mem_new(sizeof(*t));

	t->console = web_arg(r);
	t->request = r;
	t->answer = answer;
	t->ask = what;
	t->ask.name = arena_copy(&t->ask.arena, what.name);
	t->ask.done = done;
	t->ask.arg = t;
	drain_gate_enter(&t->console->asked);
	engine_store(t->console->engine, &t->ask);
}

/* --- listing ------------------------------------------------------------- */

static void
put_scopes(struct buf *b, struct token_scopes s)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct str rest, scope;

	token_scopes_write(s, &text);
	rest = buf_str(&text);
	json_array(b, "scopes");
	while (str_split(&rest, ',', &scope))
		json_item(b, scope);
	buf_put_char(b, ']');
}

static void
put_token(struct buf *b, const struct token *t)
{
	json_object(b, NULL);
	json_str(b, "name", t->name);
	put_scopes(b, t->scopes);
	json_decimals(b, "created", (double)t->created.us / 1e6, 3);
	if (t->used.us == 0)
		json_null(b, "used");
	else
		json_decimals(b, "used", (double)t->used.us / 1e6, 3);
	buf_put_char(b, '}');
}

static void
listed(struct web_request *r, const struct store_request *a)
{
	struct buf b = BUF_INIT;

	buf_put_text(&b, "{\"tokens\":[");
	for (size_t i = 0; i < a->n; i++)
		put_token(&b, &a->tokens[i]);
	buf_put_text(&b, "]}\n");
	console_answer(r, 200, &b);
}

void
console_get_tokens(struct web_request *r)
{
	ask(r, (struct store_request){ .verb = STORE_TOKEN_LIST }, listed);
}

/* --- making -------------------------------------------------------------- */

static void
added(struct web_request *r, const struct store_request *a)
{
	struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_str(&b, "token", str_of(a->token_text));
	buf_put_text(&b, "}\n");
	console_answer(r, 201, &b);
}

/* {"name": text, "scopes": ["door:access", ...]} */
static enum err
read_new(yyjson_val *root, struct str *name, struct token_scopes *scopes,
    struct why *w)
{
	yyjson_val *n = yyjson_obj_get(root, "name");
	yyjson_val *list = yyjson_obj_get(root, "scopes"), *v;
	FREED(buf_free) struct buf b = BUF_INIT;
	size_t i, most;

	if (!yyjson_is_str(n))
		return why(w, ERR_INPUT, "name: a text is wanted");
	if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0)
		return why(w, ERR_INPUT, "scopes: a list is wanted, such as "
		    "[\"realtime:read\"]");
	*name = json_text(n);
	enum err e = token_name_check(*name, w);
	yyjson_arr_foreach(list, i, most, v) {
		buf_put_text(&b, i > 0 ? "," : "");
		if (yyjson_is_str(v))
			buf_put_str(&b, json_text(v));
	}
	return e == OK ? token_scopes_read(buf_str(&b), false, scopes, w) : e;
}

void
console_post_token(struct web_request *r)
{
	struct str body = web_body(r), name;
	yyjson_doc *doc = yyjson_read(body.p, body.n, 0);
	struct token_scopes scopes;
	struct why w = WHY_INIT;

	if (read_new(yyjson_doc_get_root(doc), &name, &scopes, &w) != OK)
		web_fail_why(r, w.err, &w);
	else
		ask(r, (struct store_request){ .verb = STORE_TOKEN_ADD,
		    .name = name, .scopes = scopes }, added);
	yyjson_doc_free(doc);
}

/* --- revoking ------------------------------------------------------------ */

static void
revoked(struct web_request *r, const struct store_request *a)
{
	(void)a;
	web_answer(r, 204, NULL, STR(""));
}

void
console_delete_token(struct web_request *r)
{
	struct store_request what = { .verb = STORE_TOKEN_REVOKE };

	/* The route has this segment. */
	(void)!web_segment(r, 1, &what.name);
	ask(r, what, revoked);
}
