#include "doors/items/openapi.h"

#include "base/conf.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "doors/items/exchange.h"
#include "doors/items/handlers.h"
#include "doors/items/openapi_schemas.h"
#include "doors/items/routes.h"

/* A parameter of a query; `schema` as in openapi_schemas.h. */
struct param {
	const char *name, *schema, *help;
};
#define PARAM_AFTER { "after", S_TEXT, "`next` of the answer before" }
#define PARAM_LIMIT { "limit", \
	"{'type':'integer','minimum':1,'maximum':1000,'default':100}", \
	"how many at most" }
#define PARAM_END { NULL, NULL, NULL }

static const struct param params_none[] = { PARAM_END };
static const struct param params_page[] = { PARAM_AFTER, PARAM_LIMIT,
	PARAM_END };
static const struct param params_items[] = {
	{ "tag", S_TEXT, "a tag's name" },
	{ "value", S_TEXT, "the value of that tag" },
	{ "prefix", S_TEXT, "the beginning of ids" },
	{ "updated_since", S_TIME, "data changed since" },
	{ "metadata", S_TEXTS, "tasks whose metadata comes with each item" },
	PARAM_AFTER, PARAM_LIMIT, PARAM_END
};
static const struct param params_metadata[] = {
	{ "operations", S_TEXTS, "tasks; also `tasks`, `operations[]`, or with"
	    " commas" },
	PARAM_END
};
static const struct param params_worklist[] = {
	{ "task", S_TEXT, "of this task; also `operation`" },
	{ "value", S_TEXT, "with that value of the tag" },
	{ "limit",
	    "{'type':'integer','minimum':1,'maximum':1000,'default':10}",
	    "how many at most" },
	PARAM_END
};
static const struct param params_failures[] = {
	{ "handled", S_YES, "only those, or only the others" },
	{ "group", "{'const':'message'}", "groups by their message" },
	PARAM_AFTER, PARAM_LIMIT, PARAM_END
};
static const struct param params_events[] = {
	{ "types", S_TEXTS, "types or patterns, such as item.*" },
	{ "tags", S_TEXTS, "of items with one of these tags" },
	{ "tasks", S_TEXTS, "of these tasks or patterns; also `operations`" },
	{ "since", S_TEXT, "behind this cursor; without one, from now on" },
	PARAM_END
};
static const struct param params_updates[] = {
	{ "types", S_TEXTS, "types or patterns, such as item.*" },
	{ "tags", S_TEXTS, "of items with one of these tags" },
	{ "tasks", S_TEXTS, "of these tasks or patterns; also `operations`" },
	{ "since", S_TEXT, "behind this cursor; without one, from now on" },
	{ "wait_ms", "{'type':'integer','minimum':0,'maximum':60000}",
	    "how long to wait for the first" },
	{ "limit",
	    "{'type':'integer','minimum':1,'maximum':1000,'default':500}",
	    "how many at most" },
	PARAM_END
};
static const struct param params_blob[] = {
	{ "lease", S_TEXT, "the run's" }, { "id", S_TEXT, "the item's" },
	{ "name", S_TEXT, "the blob's" }, PARAM_END
};
static const struct param params_lease[] = {
	{ "lease", S_TEXT, "the run's" }, PARAM_END
};

struct row {
	const char *method, *path, *names;
	enum token_door door;
	enum token_access access;
	const char *help;
	const struct param *params;
	const char *body, *answers;
};
static const struct row rows[] = {
#define OPENAPI_ROW(method_, path_, names_, scope, more, handle_, help_,       \
    params_, body_, answers_)                                                 \
	{ .method = method_, .path = path_, .names = names_, scope,           \
	    .help = help_, .params = params_, .body = body_,                  \
	    .answers = answers_ },
	ITEMS_ROUTES(OPENAPI_ROW)
#undef OPENAPI_ROW
};

static const struct {
	const char *word, *media;
} medias[] = {
	{ "json", "application/json" }, { "lines", "application/x-ndjson" },
	{ "sse", "text/event-stream" }, { "bytes", "application/octet-stream" },
	{ "text", "text/plain" }, { "merge", "application/merge-patch+json" },
};

/* Of errors that any request may meet, and those of the rows. */
static const struct {
	int status;
	const char *text;
} statuses[] = {
	{ 200, "done" }, { 201, "made" },
	{ 400, "the request is malformed; the text names the field" },
	{ 401, "a token is needed" },
	{ 403, "the token does not allow it; of /worker/fetch, also robots.txt"
	    " or the policy" },
	{ 404, "no such thing" }, { 409, "not possible in this state" },
	{ 410, "older than what is kept" },
	{ 412, "the item has another rev" }, { 413, "too long" },
	{ 415, "another media type is expected" },
	{ 422, "a limit of the configuration" },
	{ 429, "a limit is reached" },
	{ 502, "the site could not be reached, or did not answer in full" },
	{ 503, "not now: the store is away, a limit is reached, or the program"
	    " ends" },
	{ 507, "the disk is full" },
};
static const char common[] = "401 403 503";

/* -- Schemas -- */

/* That of a name; `any` is anything. */
static void
put_ref(struct buf *b, struct str name)
{
	if (str_eq(name, STR("any"))) {
		buf_put_text(b, "{}");
		return;
	}
	CHECK(STR_ROW(name, schemas) < ARRAY_LEN(schemas));
	buf_printf(b, "{\"$ref\":\"#/components/schemas/%.*s\"}",
	    STR_FMT(name));
}

/* The text with " for ', and references for #Name. */
static void
put_schema(struct buf *b, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '#') {
			size_t from = ++i;
			while (i < text.n && ascii_is_alpha(text.p[i]))
				i++;
			put_ref(b, str_cut(text, from, i));
			i--;
		} else {
			buf_put_char(b, text.p[i] == '\'' ? '"' : text.p[i]);
		}
	}
}

/* "SCHEMA@MEDIA" as a member of "content". */
static void
put_content(struct buf *b, struct str word)
{
	size_t at = str_find_char(word, '@');
	struct str media = at < word.n ? str_from(word, at + 1) : STR("json");
	size_t i = STR_ROW(media, medias);

	CHECK(i < ARRAY_LEN(medias));
	json_object(b, medias[i].media);
	json_name(b, "schema");
	put_ref(b, str_cut(word, 0, at));
	buf_put_char(b, '}');
}

/* -- Operations -- */

/* "get_items_id_operations" of GET /items/{id}/operations: words of the path,
 * and what is in braces. */
static void
put_id(struct buf *b, const struct row *r, struct str path)
{
	json_name(b, "operationId");
	buf_put_char(b, '"');
	for (const char *p = r->method; *p != '\0'; p++)
		buf_put_char(b, ascii_lower(*p));
	for (size_t i = 0; i < path.n; i++)
		if (path.p[i] != '{' && path.p[i] != '}')
			buf_put_char(b, ascii_is_alpha(path.p[i]) ?
			    path.p[i] : '_');
	buf_put_char(b, '"');
}

static void
put_param(struct buf *b, const char *in, struct str name, const char *schema,
    const char *help)
{
	json_object(b, NULL);
	json_str(b, "name", name);
	json_str(b, "in", str_of(in));
	if (strcmp(in, "path") == 0)
		json_bool(b, "required", true);
	if (help != NULL)
		json_str(b, "description", str_of(help));
	json_name(b, "schema");
	put_schema(b, str_of(schema));
	buf_put_char(b, '}');
}

static void
put_params(struct buf *b, const struct row *r)
{
	struct str names = str_of(r->names), name;

	json_array(b, "parameters");
	while (names.n > 0 && str_split(&names, ' ', &name))
		put_param(b, "path", name, S_TEXT, NULL);
	for (const struct param *p = r->params; p->name != NULL; p++)
		put_param(b, "query", str_of(p->name), p->schema, p->help);
	if (strcmp(r->method, "PATCH") == 0)
		put_param(b, "header", STR("If-Match"), S_TEXT,
		    "the ETag of the item as it was read");
	buf_put_char(b, ']');
}

static void
put_body(struct buf *b, const struct row *r)
{
	struct str rest = str_of(r->body), word;
	bool optional = rest.n > 0 && rest.p[0] == '?';

	if (rest.n == 0)
		return;
	rest = str_from(rest, optional);
	json_object(b, "requestBody");
	json_bool(b, "required", !optional);
	json_object(b, "content");
	while (str_split(&rest, ' ', &word))
		put_content(b, word);
	buf_put_text(b, "}}");
}

/* All words of `answers` with that status, as one response. */
static void
put_response(struct buf *b, int status, const char *text, struct str answers)
{
	char number[8];
	struct str word;
	bool found = false, body = false;

	snprintf(number, sizeof(number), "%d", status);
	while (answers.n > 0 && str_split(&answers, ' ', &word)) {
		if (!str_starts(word, str_of(number)))
			continue;
		if (!found) {
			json_object(b, number);
			json_str(b, "description", str_of(text));
			json_object(b, "content");
		}
		found = true;
		word = str_from(word, 4);
		body |= word.n > 0;
		if (word.n > 0)
			put_content(b, word);
	}
	if (found && !body)
		put_content(b, STR("Error"));
	if (found)
		buf_put_text(b, "}}");
}

/* A status that the table lacks would be left out without a word. */
static void
check_answers(struct str answers)
{
	struct str word;
	int64_t status = 0;

	while (answers.n > 0 && str_split(&answers, ' ', &word)) {
		size_t i = 0;

		CHECK(str_to_i64(str_cut(word, 0, 3), &status));
		while (i < ARRAY_LEN(statuses) && statuses[i].status != status)
			i++;
		CHECK(i < ARRAY_LEN(statuses));
	}
}

static void
put_operation(struct buf *b, const struct row *r, struct str path)
{
	char method[8];
	size_t i;

	check_answers(str_of(r->answers));
	for (i = 0; r->method[i] != '\0'; i++)
		method[i] = ascii_lower(r->method[i]);
	method[i] = '\0';
	json_object(b, method);
	put_id(b, r, path);
	json_str(b, "summary", str_of(r->help));
	buf_printf(b, ",\"security\":[{\"bearer\":[\"%s:%s\"]}]",
	    token_door_text(r->door), token_access_text(r->access));
	put_params(b, r);
	put_body(b, r);
	json_object(b, "responses");
	for (i = 0; i < ARRAY_LEN(statuses); i++) {
		put_response(b, statuses[i].status, statuses[i].text,
		    str_of(r->answers));
		put_response(b, statuses[i].status, statuses[i].text,
		    str_of(common));
	}
	buf_put_text(b, "}}");
}

/* "/items/{id}/tags/{tag}" of "/items/ * /tags/ *". */
static void
write_path(struct buf *b, const struct row *r)
{
	struct str names = str_of(r->names), name;

	for (const char *p = r->path; *p != '\0'; p++) {
		if (*p != '*')
			buf_put_char(b, *p);
		else if (str_split(&names, ' ', &name))
			buf_printf(b, "{%.*s}", STR_FMT(name));
	}
	/* The rest of a prefix. */
	if (b->n > 0 && b->p[b->n - 1] == '/' && str_split(&names, ' ', &name))
		buf_printf(b, "{%.*s}", STR_FMT(name));
}

/* Rows of one path: those that follow the first one belong to it. */
static void
put_path(struct buf *b, size_t first)
{
	FREED(buf_free) struct buf path = BUF_INIT;

	for (size_t i = 0; i < first; i++)
		if (strcmp(rows[i].path, rows[first].path) == 0)
			return;
	write_path(&path, &rows[first]);
	json_object(b, buf_text(&path));
	for (size_t i = first; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].path, rows[first].path) == 0)
			put_operation(b, &rows[i], buf_str(&path));
	buf_put_char(b, '}');
}

void
openapi_write(struct buf *b)
{
	json_object(b, NULL);
	json_str(b, "openapi", STR("3.1.0"));
	json_object(b, "info");
	json_str(b, "title", STR("Argiope: items and tasks"));
	json_str(b, "version", STR(ARGIOPE_VERSION));
	json_str(b, "description", STR("Ids and names in paths are "
	    "percent-encoded, slashes and dots included."));
	buf_put_text(b, "},\"servers\":[{\"url\":\"/\"}]");
	json_object(b, "paths");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		put_path(b, i);
	buf_put_char(b, '}');
	json_object(b, "components");
	json_object(b, "securitySchemes");
	json_object(b, "bearer");
	json_str(b, "type", STR("http"));
	json_str(b, "scheme", STR("bearer"));
	buf_put_text(b, "}}");
	json_object(b, "schemas");
	for (size_t i = 0; i < ARRAY_LEN(schemas); i++) {
		json_name(b, schemas[i].name);
		put_schema(b, str_of(schemas[i].text));
	}
	buf_put_text(b, "}}}\n");
}

void
openapi_show(struct web_request *r)
{
	struct items_door *d = web_arg(r);

	if (d->openapi == NULL) {
		openapi_write(&d->document);
		d->openapi = web_text_new("application/json",
		    buf_str(&d->document));
	}
	web_answer_text(r, d->openapi);
}
