/*
 * PostgreSQL behind os/database.h: the connection, transactions, the schema.
 *
 *     BEGIN, statements that were posted ──► not read yet: `sent` counts them
 *     a query that waits, or COMMIT      ──► sync: all results are read
 *
 * A lost connection is UNREACHED for the query or transaction that it meets.
 * The next one connects again.  While that fails it is tried after 100 ms, 200
 * ms ... 5 s; in between the answer is UNREACHED at once.
 */
#include "os/database_postgresql.h"

#include <errno.h>
#include <sys/stat.h>

#include "os/clock.h"
#include "os/file.h"

#define RETRY_MS_MIN 100u
#define RETRY_MS_MAX 5000u
#define SERVER_VERSION_MIN 150000
#define PASSWORD_BYTES_MAX 4096u
#define PARTS_MAX 96u                /* libpq 17 knows 50 */
#define MIGRATE_S_MAX "600s"         /* that another one may take */
/* Of advisory locks: "Argi". */
#define SCHEMA_LOCK "1098016617"
/* Statements that nobody needs, before they are given up early. */
#define UNUSED_MAX 16u

static const struct backend pg_backend;

/* -- Errors -- */

static enum err
err_of_class(const char *state)
{
	static const struct { const char *prefix; enum err e; } classes[] = {
		{ "23505", ERR_EXISTS }, { "23", ERR_STATE },
		{ "40", ERR_BUSY }, { "55P03", ERR_BUSY },
		{ "53100", ERR_DISK_FULL }, { "533", ERR_UNREACHED },
		{ "08", ERR_UNREACHED }, { "57P0", ERR_UNREACHED },
		{ "57014", ERR_TIMEOUT }, { "54", ERR_FULL },
		{ "53", ERR_FULL }, { "25006", ERR_DENIED },
		{ "42501", ERR_DENIED }, { "28", ERR_DENIED },
		{ "3D000", ERR_ABSENT }, { "XX000", ERR_IO },
		{ "XX", ERR_CORRUPT }, { "25P03", ERR_UNREACHED },
		{ "58", ERR_IO }, { "22021", ERR_INPUT },
	};

	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		if (str_starts(str_of(state), str_of(classes[i].prefix)))
			return classes[i].e;
	/* Our SQL is wrong. */
	return ERR_BROKEN;
}

/* Put `text` on one line, without the password wherever it came from. */
static void
put_message(const struct pg_database *p, const char *text, struct buf *out)
{
	struct str rest = str_trim(str_of(text));
	struct str secret = str_of(p->conn == NULL ? NULL : PQpass(p->conn));

	while (rest.n > 0) {
		if (secret.n > 0 && str_starts(rest, secret)) {
			buf_put_text(out, "***");
			rest = str_from(rest, secret.n);
			continue;
		}
		buf_put_char(out, *rest.p == '\n' || *rest.p == '\t' ? ' ' :
		    *rest.p);
		rest = str_from(rest, 1);
	}
}

static enum err
pg_why(const struct pg_database *p, enum err e, const char *text,
    struct why *w)
{
	FREED(buf_free) struct buf message = BUF_INIT;

	put_message(p, text, &message);
	return why(w, e, "%s: %s (%s)", p->name, err_text(e),
	    buf_text(&message));
}

/* -- The connection -- */

static void
drop_connection(struct pg_database *p)
{
	PQfinish(p->conn);
	p->conn = NULL;
	p->sent = 0;
	p->unused_n = 0;
}

static enum err
lose_connection(struct pg_database *p, struct why *w)
{
	enum err e = pg_why(p, ERR_UNREACHED, PQerrorMessage(p->conn), w);

	drop_connection(p);
	return e;
}

static enum err
result_err(struct pg_database *p, PGresult *r, struct why *w)
{
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);

	switch (PQresultStatus(r)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
	case PGRES_PIPELINE_SYNC:
		return OK;
	case PGRES_PIPELINE_ABORTED:
		return why(w, ERR_STATE, "%s: an earlier statement has failed",
		    p->name);
	default:
		if (text == NULL)
			text = r == NULL ? PQerrorMessage(p->conn) :
			    PQresultErrorMessage(r);
		return pg_why(p, state == NULL ? ERR_UNREACHED :
		    err_of_class(state), text, w);
	}
}

enum err
pg_count(struct pg_database *p, int accepted, struct why *w)
{
	if (accepted == 0)
		return lose_connection(p, w);
	p->sent++;
	return OK;
}

/* The result of one command; NULL when the connection is lost. */
static PGresult *
read_result(struct pg_database *p)
{
	PGresult *r = PQgetResult(p->conn), *more;

	while (r != NULL && (more = PQgetResult(p->conn)) != NULL)
		PQclear(more);
	return r;
}

enum err
pg_sync(struct pg_database *p, PGresult **last, struct why *w)
{
	enum err e = OK, one;

	if (PQpipelineSync(p->conn) == 0)
		return lose_connection(p, w);
	for (; p->sent > 0; p->sent--) {
		PGresult *r = read_result(p);
		one = r == NULL ? ERR_UNREACHED : result_err(p, r, w);
		e = e == OK ? one : e;
		if (p->sent == 1 && last != NULL && e == OK)
			*last = r;
		else
			PQclear(r);
		if (PQstatus(p->conn) != CONNECTION_OK)
			break;
	}
	PGresult *r = PQgetResult(p->conn);
	bool is_end = PQresultStatus(r) == PGRES_PIPELINE_SYNC;
	PQclear(r);
	if (is_end)
		return e;
	if (e == OK && last != NULL) {
		PQclear(*last);
		*last = NULL;
	}
	one = lose_connection(p, w);
	return e == OK ? one : e;
}

/* A command without parameters, whose name nobody keeps. */
static enum err
send_text(struct pg_database *p, const char *text, struct why *w)
{
	return pg_count(p, PQsendQueryParams(p->conn, text, 0, NULL, NULL,
	    NULL, NULL, 1), w);
}

/* One or several statements; libpq is not in pipeline mode. */
static enum err
run_simply(struct pg_database *p, const char *text, struct why *w)
{
	PGresult *r = PQexec(p->conn, text);
	enum err e = result_err(p, r, w);

	PQclear(r);
	if (PQstatus(p->conn) != CONNECTION_OK)
		drop_connection(p);
	return e;
}

static void
ignore_notice(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/* What the session must have, whatever the server's or role's settings are. */
static enum err
settle_session(struct pg_database *p, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const char *encoding = PQparameterStatus(p->conn, "server_encoding");
	int version = PQserverVersion(p->conn);

	PQsetNoticeProcessor(p->conn, ignore_notice, NULL);
	if (version < SERVER_VERSION_MIN)
		return why(w, ERR_STATE, "%s: PostgreSQL %d; %d or later is "
		    "needed", p->name, version / 10000,
		    SERVER_VERSION_MIN / 10000);
	if (encoding == NULL || !str_eq(str_of(encoding), STR("UTF8")))
		return why(w, ERR_STATE, "%s: its encoding is %s; UTF8 is "
		    "needed", p->name, encoding == NULL ? "unknown" :
		    encoding);
	buf_printf(&text, "SET lock_timeout = %u;"
	    " SET default_transaction_isolation = 'read committed';"
	    " SET default_transaction_read_only = %s;"
	    " SET standard_conforming_strings = on;"
	    /* Acknowledged is durable; a stronger value stays. */
	    " SELECT set_config('synchronous_commit', 'on', false)"
	    "  WHERE current_setting('synchronous_commit') = 'off'",
	    p->busy_ms, p->read_only ? "on" : "off");
	/* Tables grow under plans that were made while these were empty. */
	if (p->plans_by_key)
		buf_put_text(&text, "; SET enable_seqscan = off;"
		    " SET enable_hashjoin = off; SET enable_mergejoin = off;"
		    " SET plan_cache_mode = force_generic_plan;"
		    " SET jit = off");
	return run_simply(p, buf_text(&text), w);
}

/* The file's first line, into `out`; nothing when there is no file. */
static enum err
read_password(const struct pg_database *p, struct buf *out, struct why *w)
{
	const char *path = p->password_file;
	struct why inner = WHY_INIT;
	struct stat st;

	if (path == NULL)
		return OK;
	if (stat(path, &st) != 0)
		return why_field(w, err_from_errno(errno), "password_file",
		    "%s: %s", path, err_text(err_from_errno(errno)));
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return why_field(w, ERR_DENIED, "password_file", "%s: its mode "
		    "is %03o; only its owner may read it", path,
		    st.st_mode & 0777u);
	enum err e = file_load(path, PASSWORD_BYTES_MAX, out, &inner);
	if (e != OK)
		return why_field(w, e, "password_file", "%s", inner.text);
	out->n = str_find_char(buf_str(out), '\n');
	if (out->n == 0)
		return why_field(w, ERR_INPUT, "password_file", "%s: it is "
		    "empty", path);
	return OK;
}

static void
wipe(struct buf *b)
{
	if (b->cap > 0)
		explicit_bzero(b->p, b->cap);
	buf_free(b);
}

/*
 * Of a connection, where the URL does not say otherwise.  A server that has
 * vanished without a word is given up after some 20 s, not after two hours.
 */
static const char *const defaults[][2] = {
	{ "fallback_application_name", "argiope" },
	{ "connect_timeout", "5" },
	{ "keepalives_idle", "10" }, { "keepalives_interval", "3" },
	{ "keepalives_count", "3" }, { "tcp_user_timeout", "20000" },
};

static enum err
connect_now(struct pg_database *p, struct why *w)
{
	const char *keys[PARTS_MAX], *values[PARTS_MAX];
	FREED(wipe) struct buf password = BUF_INIT;
	size_t n = 0;

	enum err e = read_password(p, &password, w);
	if (e != OK)
		return e;
#define PART(key, value) (keys[n] = (key), values[n++] = (value))
	for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
		PART(defaults[i][0], defaults[i][1]);
	for (PQconninfoOption *o = p->parts; o->keyword != NULL; o++) {
		CHECK(n < PARTS_MAX - 4);
		if (o->val != NULL)
			PART(o->keyword, o->val);
	}
	PART("client_encoding", "UTF8");
	if (password.n > 0)
		PART("password", buf_text(&password));
	PART(NULL, NULL);
#undef PART
	p->conn = PQconnectdbParams(keys, values, 0);
	if (PQstatus(p->conn) != CONNECTION_OK)
		return lose_connection(p, w);
	p->session++;
	e = settle_session(p, w);
	if (e == OK && PQenterPipelineMode(p->conn) == 0)
		e = lose_connection(p, w);
	if (e != OK)
		drop_connection(p);
	return e;
}

/* Connect, unless an attempt has failed just now. */
static enum err
connect_again(struct pg_database *p, struct why *w)
{
	struct mono now = clock_mono();

	if (p->retry_ms > 0 && mono_before(now, p->retry_at))
		return why(w, p->refused.err, "%s", p->refused.text);
	p->refused = WHY_INIT;
	enum err e = connect_now(p, &p->refused);
	if (e == OK) {
		p->retry_ms = 0;
		return OK;
	}
	p->retry_ms = p->retry_ms == 0 ? RETRY_MS_MIN :
	    MIN(2 * p->retry_ms, RETRY_MS_MAX);
	/* From the end of the attempt: that may have lasted. */
	p->retry_at = mono_add_ms(clock_mono(), p->retry_ms);
	return why(w, e, "%s", p->refused.text);
}

/* Let the server forget statements; it has all of them. */
static enum err
send_unused(struct pg_database *p, struct why *w)
{
	enum err e = OK;
	char text[64];

	while (p->unused_n > 0 && e == OK) {
		snprintf(text, sizeof(text), "DEALLOCATE argiope_%llu",
		    (unsigned long long)p->unused[--p->unused_n]);
		e = send_text(p, text, w);
	}
	return e;
}

/* The server may have closed it since the last query. */
static bool
is_alive(const struct pg_database *p)
{
	/* The first read gets its last words, the second one the end. */
	return PQconsumeInput(p->conn) != 0 && PQconsumeInput(p->conn) != 0 &&
	    PQstatus(p->conn) == CONNECTION_OK;
}

enum err
pg_ready(struct pg_database *p, struct why *w)
{
	if (p->d.in_transaction)
		return p->conn != NULL ? OK : why(w, ERR_UNREACHED, "%s: the "
		    "connection was lost", p->name);
	if (p->conn != NULL && !is_alive(p))
		drop_connection(p);
	if (p->conn == NULL)
		return connect_again(p, w);
	return p->unused_n >= UNUSED_MAX ? send_unused(p, w) : OK;
}

/* -- Transactions -- */

static enum err
pg_begin(struct database *d, struct why *w)
{
	struct pg_database *p = pg_of(d);
	enum err e = pg_ready(p, w);

	return e == OK ? send_text(p, d->only_reads ? "BEGIN ISOLATION LEVEL"
	    " REPEATABLE READ READ ONLY" : "BEGIN", w) : e;
}

static enum err
pg_commit(struct database *d, struct why *w)
{
	struct pg_database *p = pg_of(d);
	PGresult *r = NULL;

	if (p->conn == NULL)
		return why(w, ERR_UNREACHED, "%s: the connection was lost",
		    p->name);
	enum err e = send_text(p, "COMMIT", w);
	if (e == OK)
		e = pg_sync(p, &r, w);
	if (e == OK && !str_eq(str_of(PQcmdStatus(r)), STR("COMMIT")))
		e = why(w, ERR_BROKEN, "%s: the commit ended as %s", p->name,
		    PQcmdStatus(r));
	PQclear(r);
	return e;
}

static void
pg_roll_back(struct database *d)
{
	struct pg_database *p = pg_of(d);
	enum err e = OK;

	/* What was posted comes first: its error is known, or of no use. */
	if (p->conn != NULL && p->sent > 0)
		e = pg_sync(p, NULL, NULL);
	if (p->conn == NULL || PQtransactionStatus(p->conn) == PQTRANS_IDLE)
		return;
	e = send_text(p, "ROLLBACK", NULL);
	if (e == OK)
		e = pg_sync(p, NULL, NULL);
	/* A connection whose state is not known is not used again. */
	if (e != OK && p->conn != NULL)
		drop_connection(p);
}

/* -- Whose the database is, and its schema -- */

/* Take the lock that everybody who changes the schema takes. */
static enum err
lock_schema(struct pg_database *p, struct why *w)
{
	enum err e = database_do(&p->d, "SET LOCAL lock_timeout = '"
	    MIGRATE_S_MAX "'", w);

	return e == OK ? database_do(&p->d, "SELECT pg_advisory_xact_lock("
	    SCHEMA_LOCK ")", w) : e;
}

static enum err
read_version(struct pg_database *p, int64_t *version, struct why *w)
{
	struct query *q = database_query(&p->d, "SELECT version"
	    " FROM argiope_schema WHERE application = ?1");

	*version = -1;
	query_i64(q, 1, p->application);
	if (query_step(q))
		*version = query_get_i64(q, 0);
	return query_end(&q, w);
}

static enum err
write_version(struct pg_database *p, unsigned version, struct why *w)
{
	struct query *q = database_query(&p->d, "INSERT INTO argiope_schema"
	    " (application, version) VALUES (?1, ?2) ON CONFLICT (application)"
	    " DO UPDATE SET version = excluded.version");

	query_i64(q, 1, p->application);
	query_i64(q, 2, version);
	query_step(q);
	return query_end(&q, w);
}

static enum err
pg_touch(struct database *d, struct why *w)
{
	struct query *q = database_query(d, "UPDATE argiope_schema"
	    " SET version = version WHERE application = ?1");

	query_i64(q, 1, pg_of(d)->application);
	query_step(q);
	return query_end(&q, w);
}

/* Of the schema that new tables go to: whether ours is there, and any other. */
static enum err
count_tables(struct pg_database *p, int64_t *ours, int64_t *others,
    struct why *w)
{
	struct query *q = database_query(&p->d, "SELECT"
	    " count(*) FILTER (WHERE relname = 'argiope_schema'),"
	    " count(*) FILTER (WHERE relname <> 'argiope_schema')"
	    " FROM pg_class WHERE relkind IN ('r', 'p')"
	    " AND relnamespace = current_schema()::regnamespace");

	*ours = *others = 0;
	if (query_step(q)) {
		*ours = query_get_i64(q, 0);
		*others = query_get_i64(q, 1);
	}
	return query_end(&q, w);
}

/* Within a transaction. */
static enum err
make_mark(struct pg_database *p, struct why *w)
{
	int64_t ours, others, version = -1;

	enum err e = lock_schema(p, w);
	if (e == OK)
		e = count_tables(p, &ours, &others, w);
	if (e == OK && ours == 0 && others > 0)
		e = why(w, ERR_CORRUPT, "%s is a database, but not one of "
		    "this program", p->name);
	if (e == OK && ours == 0)
		e = database_do(&p->d, "CREATE TABLE argiope_schema ("
		    " application BIGINT PRIMARY KEY,"
		    " version BIGINT NOT NULL)", w);
	if (e == OK)
		e = read_version(p, &version, w);
	return e == OK && version < 0 ? write_version(p, 0, w) : e;
}

/* A database of somebody else's is not touched. */
static enum err
check_mark(struct pg_database *p, struct why *w)
{
	int64_t ours, others, version = -1;

	enum err e = count_tables(p, &ours, &others, w);
	if (e == OK && ours > 0)
		e = read_version(p, &version, w);
	if (e != OK || version >= 0)
		return e;
	if (p->read_only)
		return why(w, ERR_STATE, "%s is empty", p->name);
	e = database_begin(&p->d, w);
	if (e != OK)
		return e;
	e = make_mark(p, w);
	return database_end(&p->d, e, w);
}

/* Several statements: these alone do not go through a query. */
static enum err
run_step(struct pg_database *p, const struct sql *step, struct why *w)
{
	enum err e = p->sent == 0 ? OK : pg_sync(p, NULL, w);

	if (e != OK)
		return e;
	CHECK(PQexitPipelineMode(p->conn) == 1);
	e = run_simply(p, step->postgresql != NULL ? step->postgresql :
	    step->sqlite, w);
	if (p->conn != NULL)
		CHECK(PQenterPipelineMode(p->conn) == 1);
	return e;
}

static enum err
migrate_once(struct pg_database *p, const struct sql *step, unsigned to,
    struct why *w)
{
	int64_t version;

	enum err e = database_begin(&p->d, w);
	if (e != OK)
		return e;
	e = lock_schema(p, w);
	if (e == OK)
		e = read_version(p, &version, w);
	/* Another process was quicker. */
	if (e != OK || version >= to)
		return database_end(&p->d, e, w);
	e = run_step(p, step, w);
	if (e == OK)
		e = write_version(p, to, w);
	return database_end(&p->d, e, w);
}

static enum err
pg_migrate(struct database *d, const struct sql *steps, unsigned n,
    struct why *w)
{
	struct pg_database *p = pg_of(d);
	int64_t version;

	enum err e = read_version(p, &version, w);
	if (e != OK)
		return e;
	if (version < 0 || version > n)
		return why(w, ERR_STATE, "%s has version %lld; this program "
		    "knows versions up to %u: use the newer program", p->name,
		    (long long)version, n);
	for (unsigned v = (unsigned)version; v < n && e == OK; v++)
		e = migrate_once(p, &steps[v], v + 1, w);
	return e;
}

/* Its pages are the server's to check (data checksums, amcheck). */
static enum err
pg_check(struct database *d, struct why *w)
{
	int64_t version;

	return read_version(pg_of(d), &version, w);
}

/* -- Opening -- */

static const char *
part_of(const struct pg_database *p, const char *key)
{
	for (PQconninfoOption *o = p->parts; o->keyword != NULL; o++)
		if (strcmp(o->keyword, key) == 0)
			return o->val;
	return NULL;
}

static enum err
read_url(struct pg_database *p, const char *url, struct why *w)
{
	FREED(buf_free) struct buf name = BUF_INIT;
	char *said = NULL;

	if (!database_url_is_postgresql(url))
		return why_field(w, ERR_CONFIG, "url", "it does not begin "
		    "with postgresql://");
	p->parts = PQconninfoParse(url, &said);
	/* libpq quotes what it did not like, which may be a password. */
	PQfreemem(said);
	if (p->parts == NULL)
		return why_field(w, ERR_CONFIG, "url", "it is no URL of "
		    "PostgreSQL");
	if (part_of(p, "password") != NULL || part_of(p, "sslpassword") !=
	    NULL)
		return why_field(w, ERR_CONFIG, "url", "it contains a "
		    "password, which belongs into a file");
	const char *host = part_of(p, "host"), *base = part_of(p, "dbname");
	buf_printf(&name, "PostgreSQL%s%s%s%s", host == NULL ? "" : " at ",
	    host == NULL ? "" : host, base == NULL ? "" : ", database ",
	    base == NULL ? "" : base);
	mem_free(&p->name);
	p->name = mem_copy_text(buf_text(&name));
	return OK;
}

bool
database_url_is_postgresql(const char *url)
{
	return str_starts(str_of(url), STR("postgresql://")) ||
	    str_starts(str_of(url), STR("postgres://"));
}

enum err
database_open_url(const struct database_url *u,
    const struct database_options *o, struct database **out, struct why *w)
{
	struct pg_database *p = mem_new(sizeof(*p));

	CHECK(o->application != 0);
	database_init(&p->d, &pg_backend);
	p->name = mem_copy_text("PostgreSQL");
	p->application = o->application;
	p->plans_by_key = o->plans_by_key;
	p->read_only = o->read_only;
	p->busy_ms = o->busy_ms_max == 0 ? DATABASE_BUSY_MS_MAX :
	    o->busy_ms_max;
	if (u->password_file != NULL && u->password_file[0] != '\0')
		p->password_file = mem_copy_text(u->password_file);
	enum err e = read_url(p, u->url, w);
	if (e == OK)
		e = connect_now(p, w);
	if (e == OK)
		e = check_mark(p, w);
	*out = &p->d;
	if (e != OK)
		database_close(out);
	return e;
}

static void
pg_close(struct database *d)
{
	struct pg_database *p = pg_of(d);

	database_forget_queries(d);
	drop_connection(p);
	PQconninfoFree(p->parts);
	buf_free(&p->scratch);
	mem_free(&p->unused);
	mem_free(&p->password_file);
	mem_free(&p->name);
	free(p);
}

static const struct backend pg_backend = {
	.close = pg_close, .check = pg_check, .migrate = pg_migrate,
	.begin = pg_begin, .commit = pg_commit, .roll_back = pg_roll_back,
	.touch = pg_touch,
	.query_new = pg_query_new, .query_free = pg_query_free,
	.step = pg_step, .post = pg_post, .reset = pg_reset,
	.get_str = pg_get_str, .get_i64 = pg_get_i64,
	.is_null = pg_is_null,
};
