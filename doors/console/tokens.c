#include <yyjson.h>

#include "doors/console/own.h"

#include "engine/control/control.h"
#include "server/json_writer.h"

struct token_ask {
	struct console *console;
	struct web_request *request;
	struct store_request ask;
};

static struct token_ask *
begin(struct web_request *r, enum store_verb verb)
{
	struct token_ask *t = mem_new(sizeof(*t));

	t->console = web_arg(r);
	t->request = r;
	t->ask.verb = verb;
	t->ask.arg = t;
	return t;
}

static void
say(struct token_ask *t, void (*done)(struct store_request *))
{
	t->ask.done = done;
	console_out(t->console);
	engine_store(t->console->engine, &t->ask);
}

static void
end(struct token_ask *t)
{
	struct console *c = t->console;

	arena_free(&t->ask.arena);
	explicit_bzero(t->ask.token_text, sizeof(t->ask.token_text));
	mem_free(&t);
	console_back(c);
}

/* False: the request was answered with an error. */
static bool
fine(struct token_ask *t)
{
	if (t->ask.why.err == OK)
		return true;
	web_fail_why(t->request, t->ask.why.err, &t->ask.why);
	return false;
}

/* --- listing ------------------------------------------------------------- */

static void
put_scopes(struct buf *b, struct token_scopes s)
{
	struct buf text = BUF_INIT;
	struct str rest, scope;

	token_scopes_write(s, &text);
	rest = buf_str(&text);
	json_array(b, "scopes");
	while (str_split(&rest, ',', &scope))
		json_item(b, scope);
	buf_put_char(b, ']');
	buf_free(&text);
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
listed(struct store_request *a)
{
	struct token_ask *t = a->arg;
	struct buf b = BUF_INIT;

	if (fine(t)) {
		buf_put_text(&b, "{\"tokens\":[");
		for (size_t i = 0; i < a->n; i++)
			put_token(&b, &a->tokens[i]);
		buf_put_text(&b, "]}\n");
		web_answer(t->request, 200, CONSOLE_JSON, buf_str(&b));
	}
	buf_free(&b);
	end(t);
}

void
console_get_tokens(struct web_request *r)
{
	say(begin(r, STORE_TOKEN_LIST), listed);
}

/* --- making -------------------------------------------------------------- */

static void
added(struct store_request *a)
{
	struct token_ask *t = a->arg;
	struct buf b = BUF_INIT;

	if (fine(t)) {
		json_object(&b, NULL);
		json_str(&b, "token", str_of(a->token_text));
		buf_put_text(&b, "}\n");
		web_answer(t->request, 201, CONSOLE_JSON, buf_str(&b));
		explicit_bzero(b.p, b.n);
	}
	buf_free(&b);
	end(t);
}

static struct str
text_of(yyjson_val *v)
{
	return (struct str){ yyjson_get_str(v), yyjson_get_len(v) };
}

/* {"name": text, "scopes": ["door:access", ...]} */
static enum err
read_new(yyjson_val *root, struct str *name, struct token_scopes *scopes,
    struct why *w)
{
	yyjson_val *n = yyjson_obj_get(root, "name");
	yyjson_val *list = yyjson_obj_get(root, "scopes"), *v;
	struct buf b = BUF_INIT;
	size_t i, most;

	if (!yyjson_is_str(n))
		return why(w, ERR_INPUT, "name: a text is wanted");
	if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0)
		return why(w, ERR_INPUT, "scopes: a list is wanted, such as "
		    "[\"realtime:read\"]");
	*name = text_of(n);
	enum err e = token_name_check(*name, w);
	yyjson_arr_foreach(list, i, most, v) {
		buf_put_text(&b, i > 0 ? "," : "");
		if (yyjson_is_str(v))
			buf_put_str(&b, text_of(v));
	}
	if (e == OK)
		e = token_scopes_read(buf_str(&b), scopes, w);
	buf_free(&b);
	return e;
}

void
console_post_token(struct web_request *r)
{
	struct str body = web_body(r), name;
	yyjson_doc *doc = yyjson_read(body.p, body.n, 0);
	struct token_scopes scopes;
	struct why w = WHY_INIT;

	if (read_new(yyjson_doc_get_root(doc), &name, &scopes, &w) != OK) {
		web_fail_why(r, w.err, &w);
	} else {
		struct token_ask *t = begin(r, STORE_TOKEN_ADD);
		t->ask.name = arena_copy(&t->ask.arena, name);
		t->ask.scopes = scopes;
		say(t, added);
	}
	yyjson_doc_free(doc);
}

/* --- revoking ------------------------------------------------------------ */

static void
revoked(struct store_request *a)
{
	struct token_ask *t = a->arg;

	if (fine(t))
		web_answer(t->request, 204, NULL, STR(""));
	end(t);
}

void
console_delete_token(struct web_request *r)
{
	struct token_ask *t = begin(r, STORE_TOKEN_REVOKE);

	t->ask.name = arena_copy(&t->ask.arena, str_from(web_path(r),
	    sizeof("/tokens/") - 1));
	say(t, revoked);
}
