#include "wire/cdxj.h"

#include "base/json.h"
#include "base/text.h"
#include "wire/base64.h"

#define JSON_DEPTH_MAX 32
#define JSON_PAIRS_MAX 512
#define LINE_BYTES 192u          /* most lines' besides key and URL */

void
cdxj_put_json(struct buf *b, struct str s)
{
	if (text_is_utf8(s)) {
		text_json(b, s);
		return;
	}
	FREED(buf_free) struct buf clean = BUF_INIT;
	while (s.n > 0) {
		size_t n = 1;
		while (n < 5 && !text_is_utf8(str_cut(s, 0, n)))
			n++;
		if (n < 5)
			buf_put(&clean, s.p, n);
		else
			buf_put_str(&clean, STR("\xef\xbf\xbd"));
		s = str_from(s, n < 5 ? n : 1);
	}
	text_json(b, buf_str(&clean));
}

static void
put_name(struct buf *b, const char *name)
{
	if (b->p[b->n - 1] != '{')
		buf_put_char(b, ',');
	buf_put_char(b, '"');
	buf_put_text(b, name);
	buf_put_text(b, "\":");
}

static void
put_member(struct buf *b, const char *name, struct str value)
{
	put_name(b, name);
	cdxj_put_json(b, value);
}

static void
put_number(struct buf *b, const char *name, uint64_t v)
{
	put_name(b, name);
	buf_put_char(b, '"');
	buf_put_decimal(b, v, 1);
	buf_put_char(b, '"');
}

/* A blank in the key would end it. */
static void
put_key(struct buf *b, struct str surt)
{
	for (size_t i = 0; i < surt.n; i++) {
		unsigned char c = (unsigned char)surt.p[i];
		if (c <= ' ' || c == 0x7f)
			buf_printf(b, "%%%02x", c);
		else
			buf_put_char(b, (char)c);
	}
}

void
cdxj_put_head(struct buf *b, const struct cdxj_line *l, struct wall date)
{
	char digits[18];
	struct str time = l->time;

	if (time.n == 0) {
		wall_to_digits(date, 14, digits);
		time = (struct str){ digits, 14 };
	}
	buf_reserve(b, l->surt.n + l->url.n + LINE_BYTES);
	put_key(b, l->surt);
	buf_put_char(b, ' ');
	buf_put_str(b, time);
	buf_put_str(b, STR(" {"));
	put_member(b, "url", l->url);
	put_member(b, "mime", l->mime);
	if (l->status != 0)
		put_number(b, "status", (uint64_t)l->status);
	if (l->digest.n > 0)
		put_member(b, "digest", l->digest);
	if (l->method.n > 0)
		put_member(b, "method", l->method);
	if (l->request_body.n > 0)
		put_member(b, "requestBody", l->request_body);
	put_number(b, "length", l->length);
	buf_put_char(b, ',');
}

void
cdxj_put_tail(struct buf *b, uint64_t offset, struct str filename)
{
	buf_put_str(b, STR("\"offset\":\""));
	buf_put_decimal(b, offset, 1);
	buf_put_str(b, STR("\",\"filename\":"));
	cdxj_put_json(b, filename);
	buf_put_str(b, STR("}\n"));
}

static struct str
member_text(yyjson_val *o, const char *name, struct arena *a)
{
	yyjson_val *v = yyjson_obj_get(o, name);

	return yyjson_is_str(v) ? arena_copy(a, json_text(v)) : STR_NONE;
}

static bool
member_number(yyjson_val *o, const char *name, uint64_t *out)
{
	yyjson_val *v = yyjson_obj_get(o, name);

	if (yyjson_is_uint(v)) {
		*out = yyjson_get_uint(v);
		return true;
	}
	return yyjson_is_str(v) && str_to_u64(json_text(v), out);
}

static enum err
parse_object(yyjson_val *o, struct arena *a, struct cdxj_line *l,
    struct why *w)
{
	uint64_t status = 0;

	if (!yyjson_is_obj(o))
		return why(w, ERR_INPUT, "behind the time: no JSON object");
	if (!member_number(o, "offset", &l->offset))
		return why(w, ERR_INPUT, "offset: missing or no number");
	l->length = 0;
	member_number(o, "length", &l->length);
	member_number(o, "status", &status);
	l->status = status <= 999 ? (int)status : 0;
	l->url = member_text(o, "url", a);
	l->mime = member_text(o, "mime", a);
	l->digest = member_text(o, "digest", a);
	l->method = member_text(o, "method", a);
	l->request_body = member_text(o, "requestBody", a);
	l->filename = member_text(o, "filename", a);
	return OK;
}

enum err
cdxj_parse(struct str line, struct arena *a, struct cdxj_line *l,
    struct why *w)
{
	memset(l, 0, sizeof(*l));
	if (line.n > CDXJ_LINE_MAX)
		return why(w, ERR_INPUT, "a line of more than %zu bytes",
		    CDXJ_LINE_MAX);
	struct str rest = str_trim(line);
	if (!str_split(&rest, ' ', &l->surt) || l->surt.n == 0 ||
	    !str_split(&rest, ' ', &l->time) || l->time.n != 14)
		return why(w, ERR_INPUT, "no key and 14 digits");
	for (size_t i = 0; i < 14; i++)
		if (!ascii_is_digit(l->time.p[i]))
			return why(w, ERR_INPUT, "no key and 14 digits");
	if (rest.n == 0)
		return why(w, ERR_INPUT, "nothing behind the time");
	yyjson_doc *doc = yyjson_read(rest.p, rest.n, 0);
	if (doc == NULL)
		return why(w, ERR_INPUT, "behind the time: no JSON");
	enum err err = parse_object(yyjson_doc_get_root(doc), a, l, w);
	yyjson_doc_free(doc);
	return err;
}

/* application/x-www-form-urlencoded, as replay software does it. */
static void
put_form(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (ascii_is_alpha(c) || ascii_is_digit(c) || c == '-' ||
		    c == '_' || c == '.' || c == '~')
			buf_put_char(b, c);
		else if (c == ' ')
			buf_put_char(b, '+');
		else
			buf_printf(b, "%%%02X", (unsigned char)c);
	}
}

struct flatten {
	struct buf *out;
	struct str names[JSON_PAIRS_MAX];
	size_t n;
};

static void
put_pair(struct flatten *f, struct str name, struct str value)
{
	size_t before = 0;

	if (f->n == JSON_PAIRS_MAX)
		return;
	for (size_t i = 0; i < f->n; i++)
		before += str_eq(f->names[i], name);
	if (f->n > 0)
		buf_put_char(f->out, '&');
	f->names[f->n++] = name;
	put_form(f->out, name);
	/* A name that was used before gets a number: "a.2_". */
	if (before > 0)
		buf_printf(f->out, ".%zu_", before + 1);
	buf_put_char(f->out, '=');
	put_form(f->out, value);
}

/* The shortest form that reads back as the same number. */
static void
put_real(char *text, size_t n, double v)
{
	double back;

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, n, "%.*g", digits, v);
		if (str_to_double(str_of(text), &back) && back == v)
			return;
	}
}

static void
put_value(struct flatten *f, struct str name, yyjson_val *v)
{
	char text[40];

	if (yyjson_is_str(v)) {
		put_pair(f, name, json_text(v));
		return;
	}
	if (yyjson_is_bool(v))
		snprintf(text, sizeof(text), "%s",
		    yyjson_get_bool(v) ? "true" : "false");
	else if (yyjson_is_null(v))
		snprintf(text, sizeof(text), "null");
	else if (yyjson_is_real(v))
		put_real(text, sizeof(text), yyjson_get_real(v));
	else if (yyjson_is_sint(v) && !yyjson_is_uint(v))
		snprintf(text, sizeof(text), "%lld",
		    (long long)yyjson_get_sint(v));
	else
		snprintf(text, sizeof(text), "%llu",
		    (unsigned long long)yyjson_get_uint(v));
	put_pair(f, name, str_of(text));
}

static void
flatten(struct flatten *f, struct str name, yyjson_val *v, int depth)
{
	size_t i, n;
	yyjson_val *key, *value;

	if (depth > JSON_DEPTH_MAX)
		return;
	if (yyjson_is_obj(v)) {
		yyjson_obj_foreach(v, i, n, key, value)
			flatten(f, json_text(key), value, depth + 1);
	} else if (yyjson_is_arr(v)) {
		yyjson_arr_foreach(v, i, n, value)
			flatten(f, name, value, depth + 1);
	} else if (name.n > 0) {
		put_value(f, name, v);
	}
}

static bool
put_json_body(struct buf *b, struct str body)
{
	yyjson_doc *doc = yyjson_read(body.p, body.n, 0);

	if (doc == NULL)
		return false;
	struct flatten *f = mem_new(sizeof(*f));
	f->out = b;
	flatten(f, STR_NONE, yyjson_doc_get_root(doc), 0);
	mem_free(&f);
	yyjson_doc_free(doc);
	return true;
}

void
cdxj_put_request_body(struct buf *b, struct str content_type,
    struct str body)
{
	struct str type = str_trim(str_cut(content_type, 0,
	    str_find_char(content_type, ';')));

	body = str_cut(body, 0, CDXJ_POST_BYTES_MAX);
	if (body.n == 0)
		return;
	if (str_eq_nocase(type, STR("application/x-www-form-urlencoded"))) {
		for (size_t i = 0; i < body.n; i++)
			if ((unsigned char)body.p[i] <= ' ' ||
			    body.p[i] == '#')
				buf_printf(b, "%%%02X",
				    (unsigned char)body.p[i]);
			else
				buf_put_char(b, body.p[i]);
		return;
	}
	if ((str_eq_nocase(type, STR("application/json")) ||
	    str_ends(type, STR("+json"))) && put_json_body(b, body))
		return;
	FREED(buf_free) struct buf base64 = BUF_INIT;
	base64_put(&base64, body);
	buf_put_text(b, "__wb_post_data=");
	put_form(b, buf_str(&base64));
}
