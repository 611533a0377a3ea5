#include "os/database.h"

#include <limits.h>
#include <sqlite3.h>

#include "base/list.h"
#include "base/map.h"
#include "os/clock.h"
#include "os/file.h"

#define BUSY_STEP_MS 5

struct query {
	struct list node;            /* of database.unused, oldest first */
	struct database *database;
	const char *sql;
	sqlite3_stmt *stmt;
	bool cached;                 /* in database.queries */
	bool used;
	enum err err;                /* sticky */
	struct why why;
};

struct database {
	sqlite3 *db;
	char *path;
	struct map queries;          /* by text */
	struct list unused;
	bool in_transaction;
};

/* -- Errors -- */

static enum err
err_of_constraint(int extended)
{
	return extended == SQLITE_CONSTRAINT_UNIQUE ||
	    extended == SQLITE_CONSTRAINT_PRIMARYKEY ||
	    extended == SQLITE_CONSTRAINT_ROWID ? ERR_EXISTS : ERR_STATE;
}

/* What the system said, where SQLite only says that it failed. */
static enum err
err_of_system(sqlite3 *db)
{
	int no = db == NULL ? 0 : sqlite3_system_errno(db);
	enum err e = err_from_errno(no);

	return e == OK || e == ERR_BUSY || e == ERR_EXISTS ? ERR_IO : e;
}

static enum err
err_of(sqlite3 *db, int r)
{
	switch (r & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return OK;
	case SQLITE_FULL:
		return ERR_DISK_FULL;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return ERR_CORRUPT;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ERR_BUSY;
	case SQLITE_CONSTRAINT:
		return err_of_constraint(r);
	case SQLITE_TOOBIG:
		return ERR_FULL;
	case SQLITE_PERM:
	case SQLITE_READONLY:
	case SQLITE_AUTH:
		return ERR_DENIED;
	case SQLITE_CANTOPEN:
	case SQLITE_IOERR:
		return err_of_system(db);
	case SQLITE_NOMEM:
		CHECK(!"out of memory in SQLite");
		return ERR_BROKEN;
	default:
		/* SQLITE_ERROR, MISUSE, RANGE ...: our SQL is wrong. */
		return ERR_BROKEN;
	}
}

static enum err
tell(const struct database *d, int r, struct why *w)
{
	enum err e = err_of(d->db, r);

	if (e == OK)
		return OK;
	return why(w, e, "%s: %s (%s)", d->path, err_text(e),
	    d->db == NULL ? sqlite3_errstr(r) : sqlite3_errmsg(d->db));
}

/* -- Queries -- */

static void
query_free(struct query *q)
{
	if (q->cached) {
		map_take(&q->database->queries, str_of(q->sql));
		list_take(&q->node);
	}
	sqlite3_finalize(q->stmt);
	free(q);
}

static void
query_failed(struct query *q, int r)
{
	if (q->err == OK)
		q->err = tell(q->database, r, &q->why);
}

static struct query *
query_new(struct database *d, const char *sql, bool cached)
{
	struct query *q = mem_new(sizeof(*q));
	const char *tail = NULL;

	q->database = d;
	q->sql = sql;
	q->cached = cached;
	list_init(&q->node);
	int r = sqlite3_prepare_v3(d->db, sql, -1,
	    cached ? SQLITE_PREPARE_PERSISTENT : 0, &q->stmt, &tail);
	CHECK(r != SQLITE_OK || (q->stmt != NULL && *tail == '\0'));
	query_failed(q, r);
	if (cached)
		map_put(&d->queries, str_of(sql), q);
	return q;
}

static void
forget_oldest(struct database *d)
{
	if (d->queries.n >= DATABASE_QUERIES_MAX && !list_empty(&d->unused))
		query_free(LIST_ITEM(d->unused.next, struct query, node));
}

struct query *
database_query(struct database *d, const char *sql)
{
	struct query *q = map_get(&d->queries, str_of(sql));

	if (q == NULL) {
		forget_oldest(d);
		q = query_new(d, sql, true);
	} else if (q->used)
		q = query_new(d, sql, false);
	list_take(&q->node);
	q->used = true;
	return q;
}

enum err
query_end(struct query **qp, struct why *w)
{
	struct query *q = *qp;
	enum err e = q->err;

	*qp = NULL;
	if (e != OK)
		why(w, e, "%s", q->why.text);
	/* One that failed may not be prepared at all: do not keep it. */
	if (!q->cached || e != OK) {
		query_free(q);
		return e;
	}
	sqlite3_reset(q->stmt);
	sqlite3_clear_bindings(q->stmt);
	q->used = false;
	list_put(&q->database->unused, &q->node);
	return OK;
}

enum err
database_do(struct database *d, const char *sql, struct why *w)
{
	struct query *q = database_query(d, sql);

	while (query_step(q))
		;
	return query_end(&q, w);
}

void
query_str(struct query *q, int at, struct str s)
{
	if (q->err != OK)
		return;
	if (s.p == NULL)
		query_null(q, at);
	else
		query_failed(q, sqlite3_bind_text64(q->stmt, at, s.p, s.n,
		    SQLITE_STATIC, SQLITE_UTF8));
}

void
query_bytes(struct query *q, int at, struct str s)
{
	if (q->err == OK)
		query_failed(q, sqlite3_bind_blob64(q->stmt, at,
		    s.n == 0 ? "" : s.p, s.n, SQLITE_STATIC));
}

void
query_i64(struct query *q, int at, int64_t v)
{
	if (q->err == OK)
		query_failed(q, sqlite3_bind_int64(q->stmt, at, v));
}

void
query_null(struct query *q, int at)
{
	if (q->err == OK)
		query_failed(q, sqlite3_bind_null(q->stmt, at));
}

bool
query_step(struct query *q)
{
	if (q->err != OK)
		return false;
	int r = sqlite3_step(q->stmt);
	query_failed(q, r);
	return r == SQLITE_ROW;
}

struct str
query_get_str(struct query *q, int column)
{
	const void *p = sqlite3_column_blob(q->stmt, column);
	int n = sqlite3_column_bytes(q->stmt, column);

	if (sqlite3_column_type(q->stmt, column) == SQLITE_NULL)
		return STR_NONE;
	/* SQLite gives NULL for what is there and empty. */
	return (struct str){ p == NULL ? "" : p, (size_t)n };
}

int64_t
query_get_i64(struct query *q, int column)
{
	return sqlite3_column_int64(q->stmt, column);
}

bool
query_is_null(struct query *q, int column)
{
	return sqlite3_column_type(q->stmt, column) == SQLITE_NULL;
}

int64_t
query_changes(const struct query *q)
{
	return q->err == OK ? sqlite3_changes64(q->database->db) : 0;
}

int64_t
query_last_id(const struct query *q)
{
	return sqlite3_last_insert_rowid(q->database->db);
}

/* -- Transactions -- */

enum err
database_begin(struct database *d, struct why *w)
{
	CHECK(!d->in_transaction);
	/* The write lock at once: a reader that writes later may not get it. */
	enum err e = database_do(d, "BEGIN IMMEDIATE", w);
	d->in_transaction = e == OK;
	return e;
}

enum err
database_end(struct database *d, enum err so_far, struct why *w)
{
	enum err e = so_far;

	CHECK(d->in_transaction);
	d->in_transaction = false;
	if (e == OK)
		e = database_do(d, "COMMIT", w);
	/* Some errors have rolled back already. */
	if (e != OK && !sqlite3_get_autocommit(d->db)) {
		enum err undo = database_do(d, "ROLLBACK", w);
		(void)undo;
	}
	return e;
}

/* -- Opening -- */

static enum err
set_number(struct database *d, const char *pragma, unsigned value,
    struct why *w)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA %s = %u", pragma, value);
	return tell(d, sqlite3_exec(d->db, sql, NULL, NULL, NULL), w);
}

/* The first number that a pragma, or another query, gives. */
static enum err
read_number(struct database *d, const char *sql, int64_t *out, struct why *w)
{
	struct query *q = database_query(d, sql);

	*out = 0;
	if (query_step(q))
		*out = query_get_i64(q, 0);
	return query_end(&q, w);
}

/* SQLite would make it readable for all, and names the WAL's mode after it. */
static enum err
make_file(const char *path, struct why *w)
{
	char dir[PATH_MAX];
	int fd = -1;
	enum err e = file_open(path, FILE_NEW, &fd, NULL);

	if (e == ERR_EXISTS)
		return OK;
	if (e != OK)
		return why(w, e, "cannot make %s: %s", path, err_text(e));
	file_close(&fd);
	const char *slash = strrchr(path, '/');
	int n = slash == NULL ? snprintf(dir, sizeof(dir), ".") :
	    snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path + 1), path);
	CHECK(n > 0 && (size_t)n < sizeof(dir));
	return file_sync_dir(dir, w);
}

static enum err
use_wal(struct database *d, struct why *w)
{
	struct query *q = database_query(d, "PRAGMA journal_mode = WAL");
	bool wal = query_step(q) && str_eq(query_get_str(q, 0), STR("wal"));
	enum err e = query_end(&q, w);

	if (e == OK && !wal)
		e = why(w, ERR_IO, "%s: its file system cannot share memory "
		    "between processes, as WAL needs it", d->path);
	return e;
}

static enum err
settle(struct database *d, struct why *w)
{
	static const char *const pragmas[] = {
		"PRAGMA synchronous = FULL",
		"PRAGMA foreign_keys = ON",
		"PRAGMA trusted_schema = OFF",
		"PRAGMA cell_size_check = ON",
		"PRAGMA temp_store = MEMORY",
	};

	sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH, DATABASE_VALUE_BYTES_MAX);
	enum err e = use_wal(d, w);
	for (size_t i = 0; i < ARRAY_LEN(pragmas) && e == OK; i++)
		e = database_do(d, pragmas[i], w);
	return e == OK ? set_number(d, "journal_size_limit",
	    DATABASE_WAL_BYTES_MAX, w) : e;
}

/* A file of somebody else's is not touched. */
static enum err
know_file(struct database *d, uint32_t application, struct why *w)
{
	int64_t mark = 0, tables = 0;

	CHECK(application != 0 && application <= INT32_MAX);
	/* The mark comes before the tables: so it is looked for after them. */
	enum err e = read_number(d, "SELECT count(*) FROM sqlite_schema",
	    &tables, w);
	if (e == OK)
		e = read_number(d, "PRAGMA application_id", &mark, w);
	if (e != OK || mark == application)
		return e;
	if (mark != 0 || tables != 0)
		return why(w, ERR_CORRUPT, "%s is a database, but not one of "
		    "this program", d->path);
	return set_number(d, "application_id", application, w);
}

/*
 * Of processes that make a file together some find it locked at once, without
 * the wait that SQLite has else: in the turn to WAL nobody waits for anybody.
 */
static enum err
prepare(struct database *d, const struct database_options *o, struct why *w)
{
	unsigned busy_ms = o->busy_ms_max == 0 ? DATABASE_BUSY_MS_MAX :
	    o->busy_ms_max;
	struct mono end = mono_add_ms(clock_mono(), busy_ms);

	sqlite3_extended_result_codes(d->db, 1);
	sqlite3_busy_timeout(d->db, (int)busy_ms);
	for (;;) {
		struct why inner = WHY_INIT;
		enum err e = know_file(d, o->application, &inner);
		if (e == OK)
			e = settle(d, &inner);
		if (e == OK)
			return OK;
		if (e != ERR_BUSY || !mono_before(clock_mono(), end))
			return why(w, e, "%s", inner.text);
		sqlite3_sleep(BUSY_STEP_MS);
	}
}

enum err
database_open(const char *path, const struct database_options *o,
    struct database **out, struct why *w)
{
	struct database *d;

	*out = NULL;
	if (strlen(path) >= PATH_MAX - 8)
		return why(w, ERR_INPUT, "the path of the database is too "
		    "long");
	enum err e = make_file(path, w);
	if (e != OK)
		return e;
	d = mem_new(sizeof(*d));
	d->path = mem_copy_text(path);
	list_init(&d->unused);
	e = tell(d, sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READWRITE |
	    SQLITE_OPEN_NOMUTEX, NULL), w);
	if (e == OK)
		e = prepare(d, o, w);
	if (e != OK)
		database_close(&d);
	*out = d;
	return e;
}

void
database_close(struct database **dp)
{
	struct database *d = *dp;

	if (d == NULL)
		return;
	CHECK(!d->in_transaction);
	while (!list_empty(&d->unused))
		query_free(LIST_ITEM(d->unused.next, struct query, node));
	CHECK(d->queries.n == 0);
	map_free(&d->queries);
	CHECK(sqlite3_close(d->db) == SQLITE_OK);
	mem_free(&d->path);
	mem_free(dp);
}

static enum err
migrate_once(struct database *d, const char *step, unsigned to, struct why *w)
{
	int64_t version;

	enum err e = database_begin(d, w);
	if (e != OK)
		return e;
	e = read_number(d, "PRAGMA user_version", &version, w);
	/* Another process was quicker. */
	if (e != OK || version >= to)
		return database_end(d, e, w);
	/* Several statements: these alone do not go through a query. */
	e = tell(d, sqlite3_exec(d->db, step, NULL, NULL, NULL), w);
	if (e == OK)
		e = set_number(d, "user_version", to, w);
	return database_end(d, e, w);
}

enum err
database_migrate(struct database *d, const char *const *steps, unsigned n,
    struct why *w)
{
	int64_t version;

	enum err e = read_number(d, "PRAGMA user_version", &version, w);
	if (e != OK)
		return e;
	if (version < 0 || version > n)
		return why(w, ERR_STATE, "%s has version %lld; this program "
		    "knows versions up to %u: use the newer program", d->path,
		    (long long)version, n);
	for (unsigned v = (unsigned)version; v < n && e == OK; v++)
		e = migrate_once(d, steps[v], v + 1, w);
	return e;
}

enum err
database_check(struct database *d, struct why *w)
{
	struct query *q = database_query(d, "PRAGMA integrity_check(1)");
	struct why found = WHY_INIT;

	if (query_step(q) && !str_eq(query_get_str(q, 0), STR("ok")))
		why(&found, ERR_CORRUPT, "%s is damaged: %.*s", d->path,
		    STR_FMT(query_get_str(q, 0)));
	enum err e = query_end(&q, w);
	if (e == OK && found.err != OK)
		e = why(w, found.err, "%s", found.text);
	return e;
}

/* -- Copying -- */

static enum err
open_plain(const char *path, int flags, sqlite3 **db, struct why *w)
{
	if (sqlite3_open_v2(path, db, flags | SQLITE_OPEN_NOFOLLOW, NULL) ==
	    SQLITE_OK)
		return OK;
	return why(w, err_of(*db, sqlite3_errcode(*db)), "cannot open %s: %s",
	    path, sqlite3_errmsg(*db));
}

enum err
database_copy(const char *path, const char *to, struct why *w)
{
	sqlite3 *from = NULL, *into = NULL;
	int fd = -1;

	/* Made here, so that nobody else can ever read it. */
	enum err e = file_open(path, FILE_READ, &fd, w);
	file_close(&fd);
	if (e == OK)
		e = file_open(to, FILE_NEW, &fd, w);
	file_close(&fd);
	if (e == OK)
		e = open_plain(path, SQLITE_OPEN_READWRITE, &from, w);
	if (e == OK)
		e = open_plain(to, SQLITE_OPEN_READWRITE, &into, w);
	if (e == OK) {
		sqlite3_busy_timeout(from, DATABASE_BUSY_MS_MAX);
		sqlite3_backup *b = sqlite3_backup_init(into, "main", from,
		    "main");
		if (b != NULL)
			(void)sqlite3_backup_step(b, -1);
		int r = b != NULL ? sqlite3_backup_finish(b) :
		    sqlite3_errcode(into);
		if (r != SQLITE_OK)
			e = why(w, err_of(into, r), "cannot copy %s: %s",
			    path, sqlite3_errstr(r));
	}
	sqlite3_close(into);
	sqlite3_close(from);
	return e;
}
