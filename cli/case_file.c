#include "cli/case_file.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/cli.h"
#include "os/file.h"

const char *
case_file_path(struct case_file *c, const char *name)
{
	return arena_printf(&c->arena, "%s/%s", c->dir, name).p;
}

/* -- Reading -- */

static enum err
read_json(struct case_file *c, const char *name, yyjson_doc **doc,
    struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	const char *path = case_file_path(c, name);
	enum err e = file_load(path, CASE_BYTES_MAX, &b, w);

	if (e != OK)
		return e;
	*doc = yyjson_read(b.p, b.n, 0);
	return yyjson_is_obj(yyjson_doc_get_root(*doc)) ? OK :
	    why(w, ERR_CORRUPT, "%s is no JSON object", path);
}

static struct str
text_member(yyjson_val *object, const char *name)
{
	return json_text(yyjson_obj_get(object, name));
}

/* The expected outcome takes the place of the recorded one. */
static enum err
use_expected(struct case_file *c, struct why *w)
{
	yyjson_val *root = yyjson_doc_get_root(c->expected);
	yyjson_val *error = yyjson_obj_get(root, "error");
	yyjson_val *success = yyjson_obj_get(root, "success");
	struct replay_record *r = c->record;

	r->mutations = yyjson_obj_get(root, "mutations");
	if (!yyjson_is_bool(success) || !yyjson_is_arr(r->mutations) ||
	    (!yyjson_get_bool(success) && !yyjson_is_obj(error)))
		return why(w, ERR_CORRUPT, "%s has no outcome",
		    case_file_path(c, CASE_EXPECTED));
	r->success = yyjson_get_bool(success);
	r->class = text_member(error, "class");
	r->code = text_member(error, "code");
	r->message = text_member(error, "message");
	return OK;
}

enum err
case_file_read(const char *dir, struct case_file *c, struct why *w)
{
	struct why inner = WHY_INIT;
	size_t n = 0;

	*c = (struct case_file){ .dir = dir };
	enum err e = read_json(c, CASE_NAME, &c->doc, w);
	if (e == OK)
		e = read_json(c, CASE_EXPECTED, &c->expected, w);
	if (e != OK)
		return e;
	yyjson_val *root = yyjson_doc_get_root(c->doc);
	c->config = text_member(root, "config");
	char *text = yyjson_val_write(root, 0, &n);
	if (replay_record_read((struct str){ text, n }, &c->record, &inner) !=
	    OK || c->config.n == 0 || str_find_char(c->config, '/') <
	    c->config.n)
		e = why(w, ERR_CORRUPT, "%s: %s", case_file_path(c, CASE_NAME),
		    inner.err != OK ? inner.text : "config names no file");
	free(text);
	return e == OK ? use_expected(c, w) : e;
}

void
case_file_free(struct case_file *c)
{
	replay_record_free(&c->record);
	yyjson_doc_free(c->doc);
	yyjson_doc_free(c->expected);
	arena_free(&c->arena);
}

enum err
case_file_config(struct case_file *c, const char **path, struct why *w)
{
	char *real = realpath(c->dir, NULL);
	struct str dir = arena_copy(&c->arena, str_of(real == NULL ? c->dir :
	    real));

	free(real);
	while (dir.n > 0) {
		while (dir.n > 0 && dir.p[dir.n - 1] != '/')
			dir.n--;
		*path = arena_printf(&c->arena, "%.*s%.*s", STR_FMT(dir),
		    STR_FMT(c->config)).p;
		if (dir.n > 0 && cli_is_there(*path))
			return OK;
		dir.n -= dir.n > 0;
	}
	return why(w, ERR_ABSENT, "no folder above %s has %.*s; name the "
	    "configuration with --module", c->dir, STR_FMT(c->config));
}

/* -- Writing -- */

enum err
case_file_store(const char *dir, const char *name, struct str json,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	size_t n = 0;
	char *text = yyjson_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES |
	    YYJSON_WRITE_NEWLINE_AT_END, &n);

	yyjson_doc_free(doc);
	if (text == NULL)
		return why(w, ERR_CORRUPT, "%s: what was recorded is no JSON",
		    name);
	enum err e = file_store(arena_printf(&a, "%s/%s", dir, name).p,
	    (struct str){ text, n }, w);
	free(text);
	return e;
}

void
case_file_put_expected(struct buf *b, struct str class, struct str code,
    struct str message, struct str mutations)
{
	json_object(b, NULL);
	json_bool(b, "success", class.n == 0);
	if (class.n == 0) {
		json_null(b, "error");
	} else {
		json_object(b, "error");
		json_str(b, "class", class);
		json_str(b, "code", code);
		json_str(b, "message", message);
		buf_put_char(b, '}');
	}
	json_raw(b, "mutations", mutations.n > 0 ? mutations : STR("[]"));
	buf_put_char(b, '}');
}
