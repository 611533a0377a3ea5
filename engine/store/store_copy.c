/*
 * The rows of one store put into another, whatever their databases are.
 *
 * Both are read and written in one transaction each.  A row is held in memory
 * until it was sent, no longer: policies and seeds may be long.
 */
#include "engine/store/store_own.h"

#define SCHEDULE_COLUMNS "id, name, seeds, policy, policy_json, tags, every," \
	" unit, timing, name_template, start_at, next_at, runs, last_crawl,"  \
	" harvest_type, harvest, skips"
#define HARVEST_COLUMNS "number, id, type, path, state, accepted, started," \
	" ended, captures, outcome, merged, message, sealed, saved, totals"
#define WARC_COLUMNS "harvest, name, warc_id, sha1, bytes, created, placed," \
	" announced, urls"
#define ORDER_COLUMNS "harvest, routing_key, received, told, tokens_told," \
	" uids_told"
#define MESSAGE_COLUMNS "number, harvest, message_id, routing_key, created," \
	" bytes, body"
#define EXPORT_COLUMNS "number, id, type, format, path, message, routing_key," \
	" state, accepted, started, ended, cancelled, told, result"
#define TOKEN_COLUMNS "id, name, scopes, hash, created, used"

struct copied_table {
	const char *name, *select, *insert;
	const char *types;           /* of the columns: Text, Bytes, Number */
	bool has_node;               /* `insert` ends with this daemon's name */
	const char *id;              /* the column that counts; or NULL */
	size_t offset;               /* of its number in struct store_copied */
};

static const struct copied_table tables[] = {
	{ "policy", "SELECT name, json, created, changed FROM policy",
	    "INSERT INTO policy (name, json, created, changed)"
	    " VALUES (?1, ?2, ?3, ?4)", "TTNN", false, NULL,
	    offsetof(struct store_copied, policies) },
	/* Claims are not copied; the last crawls are this daemon's. */
	{ "schedule", "SELECT " SCHEDULE_COLUMNS " FROM schedule",
	    "INSERT INTO schedule (" SCHEDULE_COLUMNS ", node) VALUES (?1,"
	    " ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
	    " ?16, ?17, ?18)", "NTTTTTNTTTNNNNTTN", true, "id",
	    offsetof(struct store_copied, schedules) },
	{ "token", "SELECT " TOKEN_COLUMNS " FROM token",
	    "INSERT INTO token (" TOKEN_COLUMNS ")"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6)", "NTTBNN", false, "id",
	    offsetof(struct store_copied, tokens) },
	/* The ledger that has their captures is this daemon's. */
	{ "harvest", "SELECT " HARVEST_COLUMNS " FROM harvest",
	    "INSERT INTO harvest (" HARVEST_COLUMNS ", node) VALUES (?1, ?2,"
	    " ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
	    "NTTTTNNNNTNTBBT", true, "number",
	    offsetof(struct store_copied, harvests) },
	{ "harvest_warc", "SELECT " WARC_COLUMNS " FROM harvest_warc",
	    "INSERT INTO harvest_warc (" WARC_COLUMNS ")"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", "TTTTNNNNT", false,
	    NULL,
	    offsetof(struct store_copied, warcs) },
	{ "credential", "SELECT name, sealed, changed FROM credential",
	    "INSERT INTO credential (name, sealed, changed)"
	    " VALUES (?1, ?2, ?3)", "TBN", false, NULL,
	    offsetof(struct store_copied, credentials) },
	{ "harvest_order", "SELECT " ORDER_COLUMNS " FROM harvest_order",
	    "INSERT INTO harvest_order (" ORDER_COLUMNS ", node)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", "TTNTNN", true, NULL,
	    offsetof(struct store_copied, orders) },
	{ "harvest_stop", "SELECT harvest, stopped FROM harvest_stop",
	    "INSERT INTO harvest_stop (harvest, stopped) VALUES (?1, ?2)",
	    "TN", false, NULL, offsetof(struct store_copied, stops) },
	{ "outbox", "SELECT " MESSAGE_COLUMNS " FROM outbox",
	    "INSERT INTO outbox (" MESSAGE_COLUMNS ", node)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", "NTTTNNT", true,
	    "number", offsetof(struct store_copied, messages) },
	{ "export", "SELECT " EXPORT_COLUMNS " FROM export",
	    "INSERT INTO export (" EXPORT_COLUMNS ", node) VALUES (?1, ?2,"
	    " ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
	    "NTTTTTTTNNNNTT", true, "number",
	    offsetof(struct store_copied, exports) },
};

static void
copy_value(struct query *from, int column, char type, struct query *to)
{
	if (query_is_null(from, column))
		query_null(to, column + 1);
	else if (type == 'N')
		query_i64(to, column + 1, query_get_i64(from, column));
	else if (type == 'T')
		query_str(to, column + 1, query_get_str(from, column));
	else
		query_bytes(to, column + 1, query_get_str(from, column));
}

static enum err
copy_rows(struct store *from, struct store *to, const struct copied_table *t,
    size_t *n, struct why *w)
{
	struct query *q = database_query(from->db, t->select);

	while (query_step(q)) {
		struct query *put = database_query(to->db, t->insert);
		int column = 0;
		for (const char *type = t->types; *type != '\0'; type++)
			copy_value(q, column++, *type, put);
		if (t->has_node)
			query_str(put, column + 1, to->node);
		query_post(&put);
		++*n;
	}
	return query_end(&q, w);
}

/* The greatest id that was ever given, so that none is given again. */
static enum err
copy_last_id(struct store *from, struct store *to,
    const struct copied_table *t, struct why *w)
{
	static const struct sql get = {
		"SELECT seq FROM sqlite_sequence WHERE name = ?1 AND ?2 <> ''",
		"SELECT pg_sequence_last_value(pg_get_serial_sequence(?1,"
		" ?2)::regclass)" };
	static const struct sql clear = {
		"DELETE FROM sqlite_sequence WHERE name = ?1",
		"SELECT 1 WHERE ?1 = ''" };
	static const struct sql set = {
		"INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2"
		" WHERE ?3 <> ''",
		"SELECT setval(pg_get_serial_sequence(?1, ?3)::regclass,"
		" ?2)" };
	struct query *q = database_query_sql(from->db, &get);
	int64_t last = 0;

	query_str(q, 1, str_of(t->name));
	query_str(q, 2, str_of(t->id));
	if (query_step(q))
		last = query_get_i64(q, 0);
	enum err e = query_end(&q, w);
	if (e != OK || last == 0)
		return e;
	q = database_query_sql(to->db, &clear);
	query_str(q, 1, str_of(t->name));
	query_post(&q);
	q = database_query_sql(to->db, &set);
	query_str(q, 1, str_of(t->name));
	query_i64(q, 2, last);
	query_str(q, 3, str_of(t->id));
	query_post(&q);
	return OK;
}

static enum err
check_empty(struct store *to, struct why *w)
{
	struct query *q = database_query(to->db, "SELECT"
	    " (SELECT count(*) FROM policy), (SELECT count(*) FROM schedule),"
	    " (SELECT count(*) FROM token), (SELECT count(*) FROM harvest),"
	    " (SELECT count(*) FROM credential)");
	long long n[5] = { 0 };

	if (query_step(q))
		for (int i = 0; i < 5; i++)
			n[i] = (long long)query_get_i64(q, i);
	enum err e = query_end(&q, w);
	if (e == OK && n[0] + n[1] + n[2] + n[3] + n[4] > 0)
		e = why(w, ERR_EXISTS, "the target is not empty: it has %lld "
		    "policies, %lld schedules, %lld tokens, %lld harvests and "
		    "%lld credentials", n[0], n[1], n[2], n[3], n[4]);
	return e;
}

static enum err
copy_tables(struct store *from, struct store *to, struct store_copied *n,
    struct why *w)
{
	enum err e = check_empty(to, w);

	for (size_t i = 0; i < ARRAY_LEN(tables) && e == OK; i++) {
		e = copy_rows(from, to, &tables[i],
		    (size_t *)(void *)((char *)n + tables[i].offset), w);
		if (e == OK && tables[i].id != NULL)
			e = copy_last_id(from, to, &tables[i], w);
	}
	return e;
}

enum err
store_copy(struct store *from, struct store *to, struct store_copied *n,
    struct why *w)
{
	*n = (struct store_copied){ .policies = 0 };
	enum err e = database_begin_read(from->db, w);
	if (e != OK)
		return e;
	e = store_begin(to, w);
	if (e == OK)
		e = store_end(to, copy_tables(from, to, n, w), w);
	return database_end(from->db, e, w);
}
