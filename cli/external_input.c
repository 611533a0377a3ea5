#include "cli/external_input.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/json_writer.h"
#include "cli/format.h"
#include "engine/parser/url.h"
#include "script/connectors/module_load.h"

#define TEXT_MAX 1000u

void
external_input_say(const char *fmt, ...)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	char line[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, CLI_PROGRAM ": %s\n", format_text(&a, str_of(line),
	    TEXT_MAX));
}

/* ---- Files ---------------------------------------------------------- */

/* Whether the name is that of a built-in connector. */
static bool
load_built_in(struct external_input *x, struct str name)
{
	struct external_connector *c;

	for (size_t i = 0; (c = external_connector_builtin(i)) != NULL; i++) {
		if (str_eq(external_connector_name(c), name)) {
			x->connector = c;
			return true;
		}
		external_connector_free(&c);
	}
	return false;
}

enum err
external_input_load(struct external_input *x, struct why *w)
{
	const char *file = x->cli->options.operands[0];
	struct str text;

	if (load_built_in(x, str_of(file)))
		return OK;
	if (str_ends(str_of(file), STR(".js")))
		return module_load(file, &x->cli->conf, &x->bundle,
		    &x->connector, w);
	enum err e = cli_file(x->cli, file, &text, w);
	return e == OK ? external_connector_load(text, file, &x->connector,
	    w) : e;
}

void
external_input_free(struct external_input *x)
{
	external_connector_free(&x->connector);
	if (x->bundle != NULL)
		bundle_drop(&x->bundle);
}

enum err
external_input_object(struct cli *c, const char *file, yyjson_doc **out,
    struct why *w)
{
	yyjson_read_err at = { 0 };
	struct str text;

	*out = NULL;
	enum err e = cli_file(c, file, &text, w);
	if (e != OK)
		return e;
	*out = yyjson_read_opts((char *)(uintptr_t)text.p, text.n,
	    YYJSON_READ_NUMBER_AS_RAW, NULL, &at);
	if (*out == NULL)
		return why(w, ERR_INPUT, "%s is no JSON: %s at byte %zu", file,
		    at.msg, at.pos);
	if (yyjson_is_obj(yyjson_doc_get_root(*out)))
		return OK;
	yyjson_doc_free(*out);
	*out = NULL;
	return why(w, ERR_INPUT, "%s is no JSON object", file);
}

/* ---- Parameters ----------------------------------------------------- */

static void
say_wrong(void *arg, struct str name, struct str message)
{
	(void)arg, (void)name;
	external_input_say("parameter %.*s", STR_FMT(message));
}

static void
say_unknown(void *arg, struct str name)
{
	(void)arg;
	external_input_say("parameter %.*s: the connector has no such "
	    "parameter; it is left out", STR_FMT(name));
}

/* The order has other members, so it is not {}. */
static struct str
add_credential(struct arena *a, struct str order, struct str credential)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (credential.n == 0)
		return arena_copy(a, order);
	json_object(&b, NULL);
	json_raw(&b, "credentials", credential);
	buf_put_char(&b, ',');
	buf_put_str(&b, str_from(order, 1));
	struct str out = arena_copy(a, buf_str(&b));
	explicit_bzero(b.p, b.n);
	return out;
}

static void
add_host(struct external_input *x, yyjson_val *api, const char *place)
{
	struct arena *a = &x->cli->arena;
	struct url u;

	if (url_parse(json_text(yyjson_ptr_get(api, place)), NULL, a, &u,
	    NULL) == OK)
		x->hosts[x->hosts_n++] = arena_printf(a, "%.*s:%u",
		    STR_FMT(u.host), u.port);
}

static void
find_hosts(struct external_input *x, struct str order)
{
	yyjson_doc *doc = yyjson_read(order.p, order.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	yyjson_val *api = yyjson_ptr_get(yyjson_doc_get_root(doc),
	    "/options/api");

	add_host(x, api, "/url");
	add_host(x, api, "/auth/token_url");
	yyjson_doc_free(doc);
}

enum err
external_input_order(struct external_input *x, yyjson_val *params,
    struct str credential, struct why *w)
{
	FREED(buf_free) struct buf normal = BUF_INIT, order = BUF_INIT,
	    keys = BUF_INIT, all = BUF_INIT;
	const struct external_params_faults faults = { .wrong = say_wrong,
	    .unknown = say_unknown };
	struct why first = WHY_INIT;

	if (external_params_check(x->connector, params, &faults, &normal,
	    &first) != OK)
		return why(w, ERR_INPUT, "the parameters are invalid for %s",
		    x->cli->options.operands[0]);
	if (x->bundle != NULL) {
		x->params = arena_copy(&x->cli->arena, buf_str(&normal));
		x->credential = credential;
		return OK;
	}
	enum err e = external_order_make(x->connector, buf_str(&normal),
	    &order, w);
	if (e != OK)
		return e;
	find_hosts(x, buf_str(&order));
	external_keys_put(x->connector, buf_str(&normal), &keys);
	external_credential_join(buf_str(&keys), credential, &all);
	x->order = add_credential(&x->cli->arena, buf_str(&order),
	    buf_str(&all));
	if (all.cap > 0)
		explicit_bzero(all.p, all.cap);
	return OK;
}

/* ---- Documents ------------------------------------------------------ */

struct judging {
	const struct external_input *input;
	const struct document *document;
};

static void
say_fault(void *arg, struct str pointer, struct str message)
{
	const struct judging *j = arg;

	external_input_say("document %llu, %.*s: %s%.*s: %.*s",
	    (unsigned long long)j->input->documents,
	    STR_FMT(str_cut(j->document->id, 0, 100)), pointer.n == 0 ?
	    "the whole" : "", STR_FMT(pointer), STR_FMT(message));
}

bool
external_input_judge(struct external_input *x, const struct document *d)
{
	struct judging j = { x, d };
	yyjson_doc *doc = yyjson_read(d->json.p, d->json.n,
	    YYJSON_READ_BIGNUM_AS_RAW);

	x->documents++;
	bool fine = external_document_check(x->connector,
	    yyjson_doc_get_root(doc), EXTERNAL_FAULTS_MAX, say_fault, &j);
	x->rejected += !fine;
	yyjson_doc_free(doc);
	return fine;
}
