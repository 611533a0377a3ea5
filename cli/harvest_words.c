#include "cli/harvest_words.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/stores.h"
#include "engine/connector/connectors.h"
#include "engine/harvest/credential.h"
#include "os/file.h"

#define CREDENTIALS_BYTES_MAX ((size_t)1 << 20)

struct words {
	struct cli *cli;
	const struct connector *type;
	struct buf message;
	size_t seeds_n;
};

/* ---- Seeds ---------------------------------------------------------- */

/* Each has a number, by which warnings name it. */
static void
put_seed(struct words *x, const char *key, struct str text)
{
	yyjson_doc *doc = text.n > 0 && text.p[0] == '{' ?
	    yyjson_read(text.p, text.n, 0) : NULL;
	char id[24];

	snprintf(id, sizeof(id), "%zu", ++x->seeds_n);
	json_object(&x->message, NULL);
	json_str(&x->message, "id", str_of(id));
	if (doc != NULL)
		json_raw(&x->message, key, text);
	else
		json_str(&x->message, key, text);
	buf_put_char(&x->message, '}');
	yyjson_doc_free(doc);
}

static enum err
put_lines(struct words *x, struct why *w)
{
	struct str all, line;

	enum err e = cli_file(x->cli, "-", &all, w);
	while (e == OK && str_split(&all, '\n', &line)) {
		line = str_trim(line);
		if (line.n > 0)
			put_seed(x, "token", line);
	}
	return e;
}

static enum err
put_seeds(struct words *x, struct why *w)
{
	struct cli *c = x->cli;
	enum err e = OK;

	json_array(&x->message, "seeds");
	for (size_t i = 0; i < cli_count(c, "seed"); i++)
		put_seed(x, "token", str_of(cli_nth(c, "seed", i)));
	for (size_t i = 0; i < cli_count(c, "uid"); i++)
		put_seed(x, "uid", str_of(cli_nth(c, "uid", i)));
	if (cli_given(c, "stdin"))
		e = put_lines(x, w);
	buf_put_char(&x->message, ']');
	return e;
}

/* ---- Options -------------------------------------------------------- */

static const struct connector_param *
find_param(const struct connector *c, struct str name)
{
	for (const struct connector_param *p = c->params; p != NULL &&
	    p->name != NULL; p++)
		if (str_eq(str_of(p->name), name))
			return p;
	return NULL;
}

/* "NAME=VALUE" taken apart. */
static struct str
name_of(const char *text, struct str *value)
{
	struct str s = str_of(text), name;

	(void)str_split(&s, '=', &name);
	*value = s;
	return name;
}

static void
put_list(struct words *x, const char *name)
{
	struct cli *c = x->cli;
	struct str value;

	json_array(&x->message, name);
	for (size_t i = 0; i < cli_count(c, "option"); i++)
		if (str_eq(name_of(cli_nth(c, "option", i), &value),
		    str_of(name)))
			json_item(&x->message, value);
	buf_put_char(&x->message, ']');
}

/* A mistyped option would be left out silently: a message may have any. */
static enum err
check_option(const struct words *x, const char *text, struct why *w)
{
	struct str value, name = name_of(text, &value);

	if (str_find_char(str_of(text), '=') == strlen(text))
		return why(w, ERR_USAGE, "--option %.60s: NAME=VALUE is wanted",
		    text);
	if (find_param(x->type, name) == NULL)
		return why(w, ERR_USAGE, "--option %.60s: %s has no such "
		    "option; argiope harvest types %s lists them", text,
		    x->type->type, x->type->type);
	return OK;
}

/* A text that stands for a JSON value. */
static void
put_value(struct words *x, const char *name, struct str text)
{
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);

	/* The order says what is wrong with a text. */
	if (doc != NULL)
		json_raw(&x->message, name, str_trim(text));
	else
		json_str(&x->message, name, text);
	yyjson_doc_free(doc);
}

/* The description of a platform in its file. */
static enum err
put_api(struct words *x, struct why *w)
{
	const char *path = cli_text(x->cli, "api", NULL);
	struct str text;

	if (path == NULL)
		return OK;
	if (find_param(x->type, STR("api")) == NULL)
		return why(w, ERR_USAGE, "--api is for json_api, and %s takes "
		    "none", x->type->type);
	enum err e = cli_file(x->cli, path, &text, w);
	yyjson_read_err read = { 0 };
	yyjson_doc *doc = e == OK ? yyjson_read_opts((char *)(uintptr_t)
	    text.p, text.n, 0, NULL, &read) : NULL;
	if (e == OK && doc == NULL)
		e = why(w, ERR_INPUT, "%s is no JSON: %s at byte %zu", path,
		    read.msg, read.pos);
	if (e == OK)
		json_raw(&x->message, "api", str_trim(text));
	yyjson_doc_free(doc);
	return e;
}

static enum err
put_options(struct words *x, struct why *w)
{
	struct cli *c = x->cli;
	struct str value, found;

	for (size_t i = 0; i < cli_count(c, "option"); i++)
		if (check_option(x, cli_nth(c, "option", i), w) != OK)
			return w->err;
	json_object(&x->message, "options");
	for (const struct connector_param *p = x->type->params; p != NULL &&
	    p->name != NULL; p++) {
		found = STR_NONE;
		for (size_t i = 0; i < cli_count(c, "option"); i++)
			if (str_eq(name_of(cli_nth(c, "option", i), &value),
			    str_of(p->name)))
				found = value.p == NULL ? STR("") : value;
		if (found.p != NULL && p->type == CONNECTOR_TEXTS)
			put_list(x, p->name);
		else if (found.p != NULL && p->type == CONNECTOR_OBJECT)
			put_value(x, p->name, found);
		else if (found.p != NULL)
			json_str(&x->message, p->name, found);
	}
	enum err e = put_api(x, w);
	buf_put_char(&x->message, '}');
	return e;
}

/* ---- The credential ------------------------------------------------- */

/* From the store, beside a daemon or without one. */
static enum err
read_kept(struct cli *c, const char *name, struct str *json, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct seal_key key;

	enum err e = stores_find(c, "credential", &st, w);
	if (e == OK)
		e = credential_key(&c->conf, c->data_dir, &key, w);
	if (e == OK)
		e = credential_get(st, &key, str_of(name), &c->arena, json,
		    w);
	explicit_bzero(&key, sizeof(key));
	return e;
}

static enum err
read_private(struct cli *c, const char *path, struct str *json,
    struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	enum err e = file_load_private(path, CREDENTIALS_BYTES_MAX, &b, w);
	if (e != OK)
		return e;
	yyjson_doc *doc = yyjson_read(b.p, b.n, 0);
	if (!yyjson_is_obj(yyjson_doc_get_root(doc)))
		e = why(w, ERR_INPUT, "%s is no JSON object", path);
	else
		*json = arena_copy(&c->arena, str_trim(buf_str(&b)));
	yyjson_doc_free(doc);
	explicit_bzero(b.p, b.n);
	return e;
}

enum err
harvest_words_credential(struct cli *c, struct str *json, struct why *w)
{
	const char *path = cli_given(c, "credentials-file") ?
	    cli_text(c, "credentials-file", NULL) : NULL;
	const char *name = cli_text(c, "credential", NULL);

	*json = STR_NONE;
	if (path != NULL && name != NULL)
		return why(w, ERR_USAGE, "--credential and --credentials-file "
		    "name one each; leave one of them away");
	if (name != NULL)
		return read_kept(c, name, json, w);
	return path == NULL ? OK : read_private(c, path, json, w);
}

static enum err
put_credentials(struct words *x, struct why *w)
{
	struct str json;
	enum err e = harvest_words_credential(x->cli, &json, w);

	if (e == OK && json.n > 0)
		json_raw(&x->message, "credentials", json);
	return e;
}

/* ---- The message ---------------------------------------------------- */

static enum err
make_message(struct words *x, const char *type, bool with_credential,
    struct why *w)
{
	if (type == NULL)
		return why(w, ERR_USAGE, "harvest run wants a TYPE, --message "
		    "FILE or --resume");
	x->type = connector_find(str_of(type));
	if (x->type == NULL)
		return why(w, ERR_INPUT, "there is no type %.60s; argiope "
		    "harvest types lists them", type);
	json_object(&x->message, NULL);
	json_str(&x->message, "type", str_of(type));
	json_object(&x->message, "collection_set");
	json_str(&x->message, "id", str_of(cli_text(x->cli, "collection-set",
	    CONNECTOR_COLLECTION_SET)));
	buf_put_char(&x->message, '}');
	enum err e = put_seeds(x, w);
	if (e == OK)
		e = put_options(x, w);
	if (e == OK && with_credential)
		e = put_credentials(x, w);
	buf_put_char(&x->message, '}');
	return e;
}

enum err
harvest_words_order(struct cli *c, const char *type, bool with_credential,
    struct str *message, struct why *w)
{
	struct words x = { .cli = c };

	enum err e = make_message(&x, type, with_credential, w);
	*message = arena_copy(&c->arena, buf_str(&x.message));
	if (x.message.n > 0)
		explicit_bzero(x.message.p, x.message.n);
	buf_free(&x.message);
	return e;
}

static enum err
check_alone(struct cli *c, struct why *w)
{
	static const char *const others[] = { "seed", "uid", "stdin", "option",
	    "api", "credentials-file", "credential", "collection-set" };

	if (c->options.operands_n > 0)
		return why(w, ERR_USAGE, "--message has the type, too; leave "
		    "%.60s away", c->options.operands[0]);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (cli_given(c, others[i]))
			return why(w, ERR_USAGE, "--message is the whole "
			    "order; leave --%s away", others[i]);
	return OK;
}

static enum err
read_message(struct cli *c, struct str *message, const char **path,
    struct why *w)
{
	const char *file = cli_text(c, "message", "");

	enum err e = check_alone(c, w);
	if (e == OK)
		e = cli_file(c, file, message, w);
	if (e != OK)
		return e;
	yyjson_doc *doc = yyjson_read(message->p, message->n, 0);
	struct str own = json_text(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "path"));
	*path = own.n > 0 ? arena_copy(&c->arena, own).p : NULL;
	yyjson_doc_free(doc);
	return OK;
}

enum err
harvest_words_message(struct cli *c, struct str *message, const char **path,
    struct why *w)
{
	*path = NULL;
	if (cli_count(c, "message") > 0)
		return read_message(c, message, path, w);
	return harvest_words_order(c, c->options.operands_n > 0 ?
	    c->options.operands[0] : NULL, true, message, w);
}
