/*
 * SQLite behind os/database.h.
 *
 * A query is one prepared statement.  It runs once for each bound row: bind,
 * step to the end, reset, bind the next row.  One that reads the table `bulk`
 * runs once for all of them.
 */
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>

#include "os/clock.h"
#include "os/database_bulk.h"
#include "os/database_checkpoint.h"
#include "os/database_own.h"
#include "os/file.h"

#define BUSY_STEP_MS 5
/* After a wait in vain, for so long: waits of this length. */
#define BUSY_AGAIN_MS 2000
#define BUSY_SHORT_MS INT64_C(100)

struct sqlite_query {
	struct query q;
	sqlite3_stmt *stmt;
	bool reads_bulk;
	size_t row;                  /* the next to run */
	bool is_running;             /* the one before it has rows left */
};

struct sqlite_database {
	struct database d;
	sqlite3 *db;
	char *path;
	struct bulk bulk;
	struct checkpointer *checkpointer;   /* NULL: commits do it */
	/* Waits for another process's lock: how long, until when, and when one
	 * was in vain; ns 0: none was. */
	int64_t busy_ms;
	struct mono busy_end, busy_failed;
};

static const struct backend sqlite_backend;

static struct sqlite_database *
sqlite_of(struct database *d)
{
	return CONTAINER(d, struct sqlite_database, d);
}

static struct sqlite_query *
query_of(struct query *q)
{
	return CONTAINER(q, struct sqlite_query, q);
}

bool
database_is_postgresql(const struct database *d)
{
	return d->backend != &sqlite_backend;
}

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
sqlite_why(const struct sqlite_database *d, int r, struct why *w)
{
	enum err e = err_of(d->db, r);

	if (e == OK)
		return OK;
	return why(w, e, "%s: %s (%s)", d->path, err_text(e),
	    d->db == NULL ? sqlite3_errstr(r) : sqlite3_errmsg(d->db));
}

/* -- Queries -- */

static void
check_result(struct query *q, int r)
{
	/* Most calls; `w` is long. */
	if (r == SQLITE_OK || r == SQLITE_ROW || r == SQLITE_DONE)
		return;
	struct why w = WHY_INIT;
	query_fail(q, sqlite_why(sqlite_of(q->database), r, &w), &w);
}

static struct query *
sqlite_query_new(struct database *d, const char *text)
{
	struct sqlite_query *s = mem_new(sizeof(*s));
	struct bulk *bulk = &sqlite_of(d)->bulk;
	const char *tail = NULL;

	s->q.database = d;
	bulk->width = 0;
	int r = sqlite3_prepare_v3(sqlite_of(d)->db, text, -1,
	    SQLITE_PREPARE_PERSISTENT, &s->stmt, &tail);
	CHECK(r != SQLITE_OK || (s->stmt != NULL && *tail == '\0'));
	check_result(&s->q, r);
	s->q.is_prepared = r == SQLITE_OK;
	s->q.width = (unsigned)sqlite3_bind_parameter_count(s->stmt);
	s->reads_bulk = bulk->width > 0;
	CHECK(!s->reads_bulk || s->q.width == 0);
	if (s->reads_bulk)
		s->q.width = bulk->width;
	CHECK(s->q.width <= DATABASE_PARAMETERS_MAX);
	return &s->q;
}

static void
sqlite_query_free(struct query *q)
{
	struct sqlite_query *s = query_of(q);

	sqlite3_finalize(s->stmt);
	free(s);
}

static int
bind_one(sqlite3_stmt *stmt, int at, const struct value *v)
{
	switch (v->kind) {
	case VALUE_I64:
		return sqlite3_bind_int64(stmt, at, v->i64);
	case VALUE_STR:
		return sqlite3_bind_text64(stmt, at, v->str.p, v->str.n,
		    SQLITE_STATIC, SQLITE_UTF8);
	case VALUE_BYTES:
		return sqlite3_bind_blob64(stmt, at, v->str.p, v->str.n,
		    SQLITE_STATIC);
	case VALUE_NULL:
		break;
	}
	return sqlite3_bind_null(stmt, at);
}

/* The next row, or all of them. */
static void
bind_row(struct sqlite_query *s)
{
	if (s->reads_bulk) {
		sqlite_of(s->q.database)->bulk.query = &s->q;
		s->row = s->q.rows;
		return;
	}
	size_t row = s->row++;
	if (s->q.width == 0)
		return;
	const struct value *v = s->q.values + row * s->q.width;
	for (unsigned i = 0; i < s->q.width && s->q.err == OK; i++)
		check_result(&s->q, bind_one(s->stmt, (int)i + 1, &v[i]));
}

/* The statement of one bound row has ended. */
static void
end_row(struct sqlite_query *s)
{
	if (!sqlite3_stmt_readonly(s->stmt))
		s->q.changes += sqlite3_changes64(
		    sqlite_of(s->q.database)->db);
	s->is_running = false;
	sqlite3_reset(s->stmt);
}

/* Whether the query is one that its transaction allows. */
static bool
check_right(struct sqlite_query *s)
{
	const struct database *d = s->q.database;

	if (!d->only_reads || sqlite3_stmt_readonly(s->stmt))
		return true;
	struct why w = WHY_INIT;
	query_fail(&s->q, why(&w, ERR_DENIED, "%s: a transaction that reads "
	    "must not write", sqlite_of(s->q.database)->path), &w);
	return false;
}

static bool
sqlite_step(struct query *q)
{
	struct sqlite_query *s = query_of(q);

	while (q->err == OK) {
		if (!s->is_running) {
			if (s->row == q->rows || !check_right(s))
				return false;
			bind_row(s);
			s->is_running = true;
			continue;
		}
		int r = sqlite3_step(s->stmt);
		if (r == SQLITE_ROW)
			return true;
		check_result(q, r);
		if (r == SQLITE_DONE)
			end_row(s);
	}
	return false;
}

static void
sqlite_post(struct query *q)
{
	while (sqlite_step(q))
		;
}

static void
sqlite_reset(struct query *q)
{
	struct sqlite_query *s = query_of(q);

	if (s->stmt == NULL)
		return;
	/* A change whose rows were not all read ends here, and may fail. */
	int r = sqlite3_reset(s->stmt);
	if (q->err == OK)
		check_result(q, r);
	sqlite3_clear_bindings(s->stmt);
	s->row = 0;
	s->is_running = false;
}

static struct str
sqlite_get_str(struct query *q, int column)
{
	sqlite3_stmt *stmt = query_of(q)->stmt;
	const void *p = sqlite3_column_blob(stmt, column);
	int n = sqlite3_column_bytes(stmt, column);

	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return STR_NONE;
	/* SQLite gives NULL for what is there and empty. */
	return (struct str){ p == NULL ? "" : p, (size_t)n };
}

static int64_t
sqlite_get_i64(struct query *q, int column)
{
	return sqlite3_column_int64(query_of(q)->stmt, column);
}

static bool
sqlite_is_null(struct query *q, int column)
{
	return sqlite3_column_type(query_of(q)->stmt, column) == SQLITE_NULL;
}

/* -- Transactions -- */

static enum err
sqlite_begin(struct database *d, struct why *w)
{
	/* The write lock at once: a reader that writes later may not get it. */
	return database_do(d, d->only_reads ? "BEGIN" : "BEGIN IMMEDIATE", w);
}

static enum err
sqlite_commit(struct database *d, struct why *w)
{
	return database_do(d, "COMMIT", w);
}

static void
sqlite_roll_back(struct database *d)
{
	/* Some errors have rolled back already. */
	if (sqlite3_get_autocommit(sqlite_of(d)->db))
		return;
	enum err undo = database_do(d, "ROLLBACK", NULL);
	(void)undo;
}

/* -- Opening -- */

static enum err
set_number(struct sqlite_database *s, const char *pragma, int64_t value,
    struct why *w)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA %s = %lld", pragma,
	    (long long)value);
	return sqlite_why(s, sqlite3_exec(s->db, sql, NULL, NULL, NULL), w);
}

/* A page of the file changes even when the number does not. */
static enum err
sqlite_touch(struct database *d, struct why *w)
{
	int64_t version;
	enum err e = database_number(d, "PRAGMA user_version", &version, w);

	return e == OK ? set_number(sqlite_of(d), "user_version", version, w) :
	    e;
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
use_wal(struct sqlite_database *s, struct why *w)
{
	struct query *q = database_query(&s->d, "PRAGMA journal_mode = WAL");
	bool wal = query_step(q) && str_eq(query_get_str(q, 0), STR("wal"));
	enum err e = query_end(&q, w);

	if (e == OK && !wal)
		e = why(w, ERR_IO, "%s: its file system cannot share memory "
		    "between processes, as WAL needs it", s->path);
	return e;
}

static enum err
settle(struct sqlite_database *s, const struct database_options *o,
    struct why *w)
{
	static const char *const pragmas[] = {
		"PRAGMA synchronous = FULL",
		"PRAGMA foreign_keys = ON",
		"PRAGMA trusted_schema = OFF",
		"PRAGMA cell_size_check = ON",
		"PRAGMA temp_store = MEMORY",
	};

	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, DATABASE_VALUE_BYTES_MAX);
	enum err e = o->read_only ? OK : use_wal(s, w);
	for (size_t i = 0; i < ARRAY_LEN(pragmas) && e == OK; i++)
		e = database_do(&s->d, pragmas[i], w);
	/* Its default depends on how the library was built. */
	if (e == OK)
		e = set_number(s, "secure_delete", !o->keeps_deleted, w);
	/* Negative: KiB, not pages. */
	if (e == OK && o->cache_bytes > 0)
		e = set_number(s, "cache_size", -(int64_t)MAX(1,
		    o->cache_bytes >> 10), w);
	return e == OK ? set_number(s, "journal_size_limit",
	    o->checkpoint_pages == 0 ? DATABASE_WAL_BYTES_MAX :
	    2 * (int64_t)o->checkpoint_pages * DATABASE_PAGE_BYTES, w) : e;
}

static enum err
start_checkpoints(struct sqlite_database *s, const struct database_options *o,
    struct why *w)
{

	if (o->read_only || o->checkpoint_pages == 0)
		return OK;
	return sqlite_why(s, checkpointer_start(s->db, s->path,
	    o->checkpoint_pages, &s->checkpointer), w);
}

/* A file of somebody else's is not touched. */
static enum err
check_mark(struct sqlite_database *s, const struct database_options *o,
    struct why *w)
{
	int64_t mark = 0, tables = 0;

	CHECK(o->application != 0 && o->application <= INT32_MAX);
	/* The mark comes before the tables: so it is looked for after them. */
	enum err e = database_number(&s->d,
	    "SELECT count(*) FROM sqlite_schema", &tables, w);
	if (e == OK)
		e = database_number(&s->d, "PRAGMA application_id", &mark, w);
	if (e != OK || mark == o->application)
		return e;
	if (mark != 0 || tables != 0)
		return why(w, ERR_CORRUPT, "%s is a database, but not one of "
		    "this program", s->path);
	if (o->read_only)
		return why(w, ERR_STATE, "%s is empty", s->path);
	return set_number(s, "application_id", o->application, w);
}

/*
 * Wait for the lock of another process; 0: no longer.  Right after a wait in
 * vain the next one is short: jobs that stand in a queue would otherwise each
 * wait as long, and the last one for minutes.
 */
static int
wait_for_lock(void *arg, int waits)
{
	struct sqlite_database *s = arg;
	struct mono now = clock_mono();

	if (waits == 0) {
		bool again = s->busy_failed.ns != 0 && mono_before(now,
		    mono_add_ms(s->busy_failed, BUSY_AGAIN_MS));
		s->busy_end = mono_add_ms(now, again ? MIN(s->busy_ms,
		    BUSY_SHORT_MS) : s->busy_ms);
	}
	if (!mono_before(now, s->busy_end)) {
		s->busy_failed = now;
		return 0;
	}
	sqlite3_sleep(BUSY_STEP_MS);
	return 1;
}

/*
 * Of processes that make a file together some find it locked at once, without
 * the wait that SQLite has else: in the turn to WAL nobody waits for anybody.
 */
static enum err
prepare(struct sqlite_database *s, const struct database_options *o,
    struct why *w)
{
	unsigned busy_ms = o->busy_ms_max == 0 ? DATABASE_BUSY_MS_MAX :
	    o->busy_ms_max;
	struct mono end = mono_add_ms(clock_mono(), busy_ms);

	sqlite3_extended_result_codes(s->db, 1);
	s->busy_ms = busy_ms;
	sqlite3_busy_handler(s->db, wait_for_lock, s);
	for (;;) {
		struct why inner = WHY_INIT;
		enum err e = check_mark(s, o, &inner);
		if (e == OK)
			e = settle(s, o, &inner);
		if (e == OK)
			return OK;
		if (e != ERR_BUSY || !mono_before(clock_mono(), end))
			return why(w, e, "%s", inner.text);
		sqlite3_sleep(BUSY_STEP_MS);
	}
}

static enum err
check_there(const char *path, struct why *w)
{
	int fd = -1;
	enum err e = file_open(path, FILE_READ, &fd, w);

	file_close(&fd);
	return e;
}

/* Nobody asks how much memory SQLite has; counting takes a lock at each
 * allocation. */
static void
configure(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

enum err
database_open(const char *path, const struct database_options *o,
    struct database **out, struct why *w)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sqlite_database *s;
	int flags = o->read_only ? SQLITE_OPEN_READONLY :
	    SQLITE_OPEN_READWRITE;

	*out = NULL;
	if (strlen(path) >= PATH_MAX - 8)
		return why(w, ERR_INPUT, "the path of the database is too "
		    "long");
	enum err e = o->read_only ? check_there(path, w) : make_file(path, w);
	if (e != OK)
		return e;
	pthread_once(&once, configure);
	s = mem_new(sizeof(*s));
	database_init(&s->d, &sqlite_backend);
	s->path = mem_copy_text(path);
	e = sqlite_why(s, sqlite3_open_v2(path, &s->db, flags |
	    SQLITE_OPEN_NOMUTEX, NULL), w);
	if (e == OK)
		e = sqlite_why(s, bulk_register(s->db, &s->bulk), w);
	if (e == OK)
		e = prepare(s, o, w);
	if (e == OK)
		e = start_checkpoints(s, o, w);
	*out = &s->d;
	if (e != OK)
		database_close(out);
	return e;
}

static void
sqlite_close(struct database *d)
{
	struct sqlite_database *s = sqlite_of(d);

	database_forget_queries(d);
	checkpointer_stop(&s->checkpointer);
	CHECK(sqlite3_close(s->db) == SQLITE_OK);
	mem_free(&s->path);
	free(s);
}

/* -- The schema -- */

static enum err
migrate_once(struct sqlite_database *s, const struct sql *step, unsigned to,
    struct why *w)
{
	int64_t version;

	enum err e = database_begin(&s->d, w);
	if (e != OK)
		return e;
	e = database_number(&s->d, "PRAGMA user_version", &version, w);
	/* Another process was quicker. */
	if (e != OK || version >= to)
		return database_end(&s->d, e, w);
	/* Several statements: these alone do not go through a query. */
	e = sqlite_why(s, sqlite3_exec(s->db, step->sqlite, NULL, NULL, NULL),
	    w);
	if (e == OK)
		e = set_number(s, "user_version", to, w);
	return database_end(&s->d, e, w);
}

static enum err
sqlite_migrate(struct database *d, const struct sql *steps, unsigned n,
    struct why *w)
{
	struct sqlite_database *s = sqlite_of(d);
	int64_t version;

	enum err e = database_number(d, "PRAGMA user_version", &version, w);
	if (e != OK)
		return e;
	if (version < 0 || version > n)
		return why(w, ERR_STATE, "%s has version %lld; this program "
		    "knows versions up to %u: use the newer program", s->path,
		    (long long)version, n);
	for (unsigned v = (unsigned)version; v < n && e == OK; v++)
		e = migrate_once(s, &steps[v], v + 1, w);
	return e;
}

static enum err
sqlite_check(struct database *d, struct why *w)
{
	struct query *q = database_query(d, "PRAGMA integrity_check(1)");
	struct why found = WHY_INIT;

	if (query_step(q) && !str_eq(query_get_str(q, 0), STR("ok")))
		why(&found, ERR_CORRUPT, "%s is damaged: %.*s",
		    sqlite_of(d)->path, STR_FMT(query_get_str(q, 0)));
	enum err e = query_end(&q, w);
	if (e == OK && found.err != OK)
		e = why(w, found.err, "%s", found.text);
	return e;
}

static const struct backend sqlite_backend = {
	.close = sqlite_close, .check = sqlite_check,
	.migrate = sqlite_migrate, .begin = sqlite_begin,
	.commit = sqlite_commit, .roll_back = sqlite_roll_back,
	.touch = sqlite_touch,
	.query_new = sqlite_query_new, .query_free = sqlite_query_free,
	.step = sqlite_step, .post = sqlite_post, .reset = sqlite_reset,
	.get_str = sqlite_get_str, .get_i64 = sqlite_get_i64,
	.is_null = sqlite_is_null,
};

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

	enum err e = check_there(path, w);
	/* Made here, so that nobody else can ever read it. */
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
