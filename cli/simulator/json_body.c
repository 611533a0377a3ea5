#include "cli/simulator/json_body.h"

/* The depth is counted in the text, because values are merged by recursion. */
static bool
is_shallow(struct str s)
{
	size_t depth = 0;
	bool in_text = false;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (in_text && c == '\\')
			i++;
		else if (c == '"')
			in_text = !in_text;
		else if (!in_text && (c == '{' || c == '['))
			depth++;
		else if (!in_text && (c == '}' || c == ']') && depth > 0)
			depth--;
		if (depth > JSON_BODY_DEPTH_MAX)
			return false;
	}
	return true;
}

enum err
json_body_read(struct str text, const char *what, yyjson_doc **out,
    struct why *w)
{
	yyjson_read_err fault = { 0 };

	*out = NULL;
	if (!is_shallow(text))
		return why(w, ERR_INPUT, "%s: more than %u levels deep", what,
		    JSON_BODY_DEPTH_MAX);
	/* Without YYJSON_READ_INSITU the bytes are not written to. */
	*out = yyjson_read_opts((char *)(uintptr_t)text.p, text.n,
	    YYJSON_READ_BIGNUM_AS_RAW, NULL, &fault);
	if (*out == NULL)
		return why(w, ERR_INPUT, "%s: no JSON: %s at byte %zu", what,
		    fault.msg == NULL ? "nothing" : fault.msg, fault.pos);
	if (yyjson_is_obj(yyjson_doc_get_root(*out)))
		return OK;
	yyjson_doc_free(*out);
	*out = NULL;
	return why(w, ERR_INPUT, "%s: must be a JSON object", what);
}

enum err
ndjson_next(struct ndjson *n, yyjson_doc **out, struct str *line,
    struct why *w)
{
	size_t end = str_find_char(n->rest, '\n');
	char what[40];

	*out = NULL;
	*line = STR_NONE;
	if (n->ended)
		return OK;
	n->line++;
	n->ended = end == n->rest.n;
	*line = str_cut(n->rest, 0, end);
	n->rest = str_from(n->rest, end + 1);
	if (!n->ended && str_ends(*line, STR("\r")))
		line->n--;
	snprintf(what, sizeof(what), "line %zu", n->line);
	if (line->n == 0)
		return why(w, ERR_INPUT, "%s: is empty; no line feed follows "
		    "the last document", what);
	return json_body_read(*line, what, out, w);
}
