/*
 * Statements of PostgreSQL: a text with $1 in place of ?1, a name under which
 * the server has prepared it, and parameters and results in binary form.
 *
 *     int8   8 bytes, the highest first
 *     text   its bytes
 *     bytea  its bytes
 *     array  dimensions (1), whether it has NULLs, the elements' type,
 *            their number, the first index (1), all of 4 bytes;
 *            then each element: its length (-1: NULL) and its bytes
 */
#include "os/database_postgresql.h"

/* The types' numbers are part of PostgreSQL's protocol. */
#define TYPE_BOOL 16u
#define TYPE_BYTEA 17u
#define TYPE_INT8 20u
#define TYPE_INT2 21u
#define TYPE_INT4 23u
#define TYPE_TEXT 25u
#define TYPE_BYTEA_ARRAY 1001u
#define TYPE_TEXT_ARRAY 1009u
#define TYPE_INT8_ARRAY 1016u
#define MESSAGE_BYTES_MAX (512u << 20)  /* PostgreSQL's limit is 1 GB */

struct pg_query {
	struct query q;
	char *text;
	uint64_t statement;          /* the number in its name; 0: none */
	uint64_t session;            /* that knows the statement */
	Oid types[DATABASE_PARAMETERS_MAX];  /* prepared with; 0: the server's
	                                        choice */
	PGresult *result;
	int row;                     /* -1: before the first */
};

/* Parameters as libpq takes them. */
struct parameters {
	struct buf *bytes;
	const char *values[DATABASE_PARAMETERS_MAX];
	size_t offsets[DATABASE_PARAMETERS_MAX];  /* in `bytes`, plus 1 */
	int lengths[DATABASE_PARAMETERS_MAX];
	int formats[DATABASE_PARAMETERS_MAX];
	Oid types[DATABASE_PARAMETERS_MAX];       /* 0: not known */
};

static struct pg_query *
query_of(struct query *q)
{
	return CONTAINER(q, struct pg_query, q);
}

/* -- Texts -- */

/* Copy a text, with $N in place of ?N; return the greatest N. */
static unsigned
translate_text(const char *text, struct buf *out)
{
	unsigned most = 0, n;
	char quote = '\0';

	for (const char *p = text; *p != '\0'; p++) {
		if (quote != '\0')
			quote = *p == quote ? '\0' : quote;
		else if (*p == '\'' || *p == '"')
			quote = *p;
		if (quote != '\0' || *p != '?') {
			buf_put_char(out, *p);
			continue;
		}
		for (n = 0; ascii_is_digit(p[1]) &&
		    n <= DATABASE_PARAMETERS_MAX; p++)
			n = 10 * n + (unsigned)(p[1] - '0');
		CHECK(n >= 1 && n <= DATABASE_PARAMETERS_MAX);
		buf_printf(out, "$%u", n);
		most = MAX(most, n);
	}
	return most;
}

struct query *
pg_query_new(struct database *d, const char *text)
{
	struct pg_query *s = mem_new(sizeof(*s));
	FREED(buf_free) struct buf b = BUF_INIT;

	s->q.database = d;
	s->q.width = translate_text(text, &b);
	s->text = mem_copy_text(buf_text(&b));
	s->row = -1;
	return &s->q;
}

/* -- Names -- */

static void
name_statement(uint64_t number, char name[static 40])
{
	snprintf(name, 40, "argiope_%llu", (unsigned long long)number);
}

/* The server forgets it when the next transaction begins. */
static void
forget_statement(struct pg_query *s)
{
	struct pg_database *p = pg_of(s->q.database);

	if (s->statement != 0 && s->session == p->session) {
		p->unused = mem_room(p->unused, p->unused_n, &p->unused_cap,
		    16, sizeof(*p->unused));
		p->unused[p->unused_n++] = s->statement;
	}
	s->statement = 0;
	s->q.is_prepared = false;
}

void
pg_query_free(struct query *q)
{
	struct pg_query *s = query_of(q);

	forget_statement(s);
	PQclear(s->result);
	mem_free(&s->text);
	free(s);
}

/* -- Parameters -- */

static Oid
type_of(enum value_kind kind, bool is_array)
{
	switch (kind) {
	case VALUE_I64:
		return is_array ? TYPE_INT8_ARRAY : TYPE_INT8;
	case VALUE_STR:
		return is_array ? TYPE_TEXT_ARRAY : TYPE_TEXT;
	case VALUE_BYTES:
		return is_array ? TYPE_BYTEA_ARRAY : TYPE_BYTEA;
	case VALUE_NULL:
		break;
	}
	return 0;
}

static enum err
check_size(const struct pg_database *p, const struct value *v, struct why *w)
{
	if ((v->kind == VALUE_STR || v->kind == VALUE_BYTES) &&
	    v->str.n > DATABASE_VALUE_BYTES_MAX)
		return why(w, ERR_FULL, "%s: %s (a value of %zu bytes)",
		    p->name, err_text(ERR_FULL), v->str.n);
	return OK;
}

static enum err
put_plain(struct pg_query *s, struct parameters *m, unsigned at, struct why *w)
{
	const struct value *v = &s->q.values[at];

	m->formats[at] = 1;
	m->types[at] = type_of(v->kind, false);
	if (v->kind == VALUE_I64) {
		m->offsets[at] = m->bytes->n + 1;
		m->lengths[at] = 8;
		buf_put_be64(m->bytes, (uint64_t)v->i64);
	} else if (v->kind != VALUE_NULL) {
		m->values[at] = v->str.p;
		m->lengths[at] = (int)v->str.n;
	}
	return check_size(pg_of(s->q.database), v, w);
}

/* What the parameter is in those rows where it is not NULL. */
static enum err
find_kind(const struct pg_query *s, unsigned at, enum value_kind *kind,
    bool *has_null, struct why *w)
{
	const struct value *v = &s->q.values[at];

	*kind = VALUE_NULL;
	*has_null = false;
	for (size_t row = 0; row < s->q.rows; row++, v += s->q.width) {
		*has_null |= v->kind == VALUE_NULL;
		if (*kind == VALUE_NULL)
			*kind = v->kind;
		else if (v->kind != VALUE_NULL && v->kind != *kind)
			return why(w, ERR_BROKEN, "the parameter ?%u has two "
			    "types", at + 1);
	}
	return OK;
}

/* An array of unknown type: in the form of text it may have any. */
static void
put_nulls(struct buf *b, size_t n)
{
	buf_put_char(b, '{');
	for (size_t i = 0; i < n; i++)
		buf_put_text(b, i == 0 ? "NULL" : ",NULL");
	buf_put_text(b, "}");
	buf_put_char(b, '\0');
}

static void
put_element(struct buf *b, const struct value *v)
{
	if (v->kind == VALUE_NULL) {
		buf_put_be32(b, UINT32_MAX);
	} else if (v->kind == VALUE_I64) {
		buf_put_be32(b, 8);
		buf_put_be64(b, (uint64_t)v->i64);
	} else {
		buf_put_be32(b, (uint32_t)v->str.n);
		buf_put_str(b, v->str);
	}
}

static enum err
put_array(struct pg_query *s, struct parameters *m, unsigned at, struct why *w)
{
	const struct pg_database *p = pg_of(s->q.database);
	const struct value *v = &s->q.values[at];
	struct buf *b = m->bytes;
	size_t begin = b->n;
	enum value_kind kind;
	bool has_null;

	enum err e = find_kind(s, at, &kind, &has_null, w);
	m->offsets[at] = begin + 1;
	m->types[at] = type_of(kind, true);
	m->formats[at] = kind != VALUE_NULL;
	if (kind == VALUE_NULL) {
		put_nulls(b, s->q.rows);
		return e;
	}
	buf_put_be32(b, 1);
	buf_put_be32(b, has_null);
	buf_put_be32(b, type_of(kind, false));
	buf_put_be32(b, (uint32_t)s->q.rows);
	buf_put_be32(b, 1);
	for (size_t row = 0; row < s->q.rows && e == OK; row++) {
		e = check_size(p, v, w);
		if (e == OK && b->n > MESSAGE_BYTES_MAX)
			e = why(w, ERR_FULL, "%s: %s (more than %u bytes in "
			    "one statement)", p->name, err_text(ERR_FULL),
			    MESSAGE_BYTES_MAX);
		if (e == OK)
			put_element(b, v);
		v += s->q.width;
	}
	m->lengths[at] = (int)(b->n - begin);
	return e;
}

static enum err
put_parameters(struct pg_query *s, struct parameters *m, struct why *w)
{
	enum err e = OK;

	m->bytes = &pg_of(s->q.database)->scratch;
	buf_clear(m->bytes);
	for (unsigned i = 0; i < s->q.width && e == OK; i++)
		e = s->q.is_bulk ? put_array(s, m, i, w) :
		    put_plain(s, m, i, w);
	for (unsigned i = 0; i < s->q.width && e == OK; i++)
		if (m->offsets[i] != 0)
			m->values[i] = m->bytes->p + m->offsets[i] - 1;
	return e;
}

/* -- Sending -- */

/* Whether the server knows the statement, with these types. */
static bool
is_prepared_for(const struct pg_query *s, const struct parameters *m)
{
	if (s->statement == 0 ||
	    s->session != pg_of(s->q.database)->session)
		return false;
	for (unsigned i = 0; i < s->q.width; i++)
		if (m->types[i] != 0 && m->types[i] != s->types[i])
			return false;
	return true;
}

static enum err
prepare_statement(struct pg_query *s, const struct parameters *m,
    struct why *w)
{
	struct pg_database *p = pg_of(s->q.database);
	char name[40];

	if (is_prepared_for(s, m))
		return OK;
	forget_statement(s);
	/* What was known of a parameter that is NULL this time stays known. */
	for (unsigned i = 0; i < s->q.width; i++)
		if (m->types[i] != 0)
			s->types[i] = m->types[i];
	name_statement(p->statements + 1, name);
	enum err e = pg_count(p, PQsendPrepare(p->conn, name, s->text,
	    (int)s->q.width, s->types), w);
	/* With a wait of its own, which says whether the name exists. */
	if (e == OK)
		e = pg_sync(p, NULL, w);
	if (e != OK)
		return e;
	s->statement = ++p->statements;
	s->session = p->session;
	s->q.is_prepared = true;
	return OK;
}

static enum err
send_statement(struct pg_query *s, struct why *w)
{
	struct pg_database *p = pg_of(s->q.database);
	struct parameters m = { .bytes = NULL };
	char name[40];

	enum err e = put_parameters(s, &m, w);
	if (e == OK)
		e = pg_ready(p, w);
	if (e == OK)
		e = prepare_statement(s, &m, w);
	if (e != OK)
		return e;
	name_statement(s->statement, name);
	return pg_count(p, PQsendQueryPrepared(p->conn, name, (int)s->q.width,
	    m.values, m.lengths, m.formats, 1), w);
}

/* "INSERT 0 12": only such a word says that rows were changed. */
static int64_t
count_changes(PGresult *r)
{
	uint64_t n = 0;

	if (str_starts(str_of(PQcmdStatus(r)), STR("SELECT")) ||
	    !str_to_u64(str_of(PQcmdTuples(r)), &n))
		return 0;
	return (int64_t)n;
}

static void
run_query(struct pg_query *s)
{
	struct why w = WHY_INIT;

	enum err e = send_statement(s, &w);
	if (e == OK)
		e = pg_sync(pg_of(s->q.database), &s->result, &w);
	query_fail(&s->q, e, &w);
	if (e == OK)
		s->q.changes = count_changes(s->result);
}

bool
pg_step(struct query *q)
{
	struct pg_query *s = query_of(q);

	if (s->result == NULL)
		run_query(s);
	if (q->err != OK || s->row + 1 >= PQntuples(s->result))
		return false;
	s->row++;
	return true;
}

void
pg_post(struct query *q)
{
	struct pg_query *s = query_of(q);
	struct pg_database *p = pg_of(q->database);
	struct why w = WHY_INIT;

	enum err e = send_statement(s, &w);
	if (e == OK && p->sent >= PG_SENT_MAX)
		e = pg_sync(p, NULL, &w);
	query_fail(q, e, &w);
}

void
pg_reset(struct query *q)
{
	struct pg_query *s = query_of(q);

	PQclear(s->result);
	s->result = NULL;
	s->row = -1;
}

/* -- Results -- */

static bool
is_integer(Oid type)
{
	return type == TYPE_INT8 || type == TYPE_INT4 || type == TYPE_INT2 ||
	    type == TYPE_BOOL;
}

/* The bytes of a column that is not NULL and of the right kind of type. */
static bool
find_value(struct pg_query *s, int column, bool integer, struct str *value)
{
	struct why w = WHY_INIT;

	if (s->row < 0 || pg_is_null(&s->q, column))
		return false;
	if (is_integer(PQftype(s->result, column)) != integer) {
		query_fail(&s->q, why(&w, ERR_BROKEN, "%s: column %d is %s: "
		    "cast it", pg_of(s->q.database)->name, column,
		    integer ? "no int8" : "an integer"), &w);
		return false;
	}
	*value = (struct str){ PQgetvalue(s->result, s->row, column),
	    (size_t)PQgetlength(s->result, s->row, column) };
	return true;
}

struct str
pg_get_str(struct query *q, int column)
{
	struct str s;

	return find_value(query_of(q), column, false, &s) ? s : STR_NONE;
}

int64_t
pg_get_i64(struct query *q, int column)
{
	struct str s;

	if (!find_value(query_of(q), column, true, &s))
		return 0;
	struct reader r = reader_of(s);
	switch (s.n) {
	case 8:
		return (int64_t)read_be64(&r);
	case 4:
		return (int32_t)read_be32(&r);
	case 2:
		return (int16_t)read_be16(&r);
	default:
		return read_u8(&r);
	}
}

bool
pg_is_null(struct query *q, int column)
{
	struct pg_query *s = query_of(q);

	return s->row < 0 || PQgetisnull(s->result, s->row, column) != 0;
}
