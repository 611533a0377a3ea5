/*
 * external_grant -- grants of the token store beside a running daemon, for
 * scripts.  What it does at the same store is what another daemon could do.
 *
 *     external_grant KEY STORE put BACKEND CONNECTOR SUBDOMAIN UUID ACCOUNT
 *         the grant's text from standard input, with "expiry" and "refresh_at"
 *         in microseconds; prints its handle and when that was issued
 *     external_grant KEY STORE get BACKEND CONNECTOR SUBDOMAIN UUID
 *         prints its text; exits with 66 when there is none
 *     external_grant KEY STORE clear BACKEND CONNECTOR SUBDOMAIN UUID
 *
 * KEY is the file of secrets.key_file.  STORE is a data directory, or a URL of
 * PostgreSQL.
 */
#include <stdio.h>

#include "base/json.h"
#include "engine/store/store_grant.h"
#include "os/clock.h"
#include "os/key_file.h"

static struct arena arena;

static int
fail(const struct why *w, enum err e)
{
	fprintf(stderr, "external_grant: %s\n", w->text);
	return e == ERR_ABSENT ? 66 : 70;
}

static void
read_all(FILE *f, struct buf *out)
{
	char part[65536];
	size_t n;

	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_put(out, part, n);
}

static int
put_grant(struct store *st, const struct seal_key *key,
    const struct store_user *u, const char *account)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct store_grant out, ended;
	struct why w = WHY_INIT;
	char iso[WALL_ISO_MAX];

	read_all(stdin, &text);
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	const struct store_grant g = { .user = *u, .account = str_of(account),
		.text = buf_str(&text),
		.expiry = { yyjson_get_sint(yyjson_obj_get(root, "expiry")) },
		.refresh_at = { yyjson_get_sint(yyjson_obj_get(root,
		"refresh_at")) } };
	yyjson_doc_free(doc);
	enum err e = store_grant_put(st, key, &g, clock_wall(), &arena, &out,
	    &ended, &w);
	if (e != OK)
		return fail(&w, e);
	wall_to_iso(out.issued, iso);
	printf("%.*s %s\n", STR_FMT(out.handle), iso);
	return 0;
}

static int
get_grant(struct store *st, const struct seal_key *key,
    const struct store_user *u)
{
	struct store_grant g;
	struct why w = WHY_INIT;

	enum err e = store_grant_get(st, key, u, &arena, &g, &w);
	if (e != OK)
		return fail(&w, e);
	printf("%.*s\n", STR_FMT(g.text));
	return 0;
}

static int
clear_grant(struct store *st, const struct seal_key *key,
    const struct store_user *u)
{
	struct store_grant was;
	struct why w = WHY_INIT;
	bool found;

	enum err e = store_grant_clear(st, key, u, &arena, &found, &was, &w);
	return e != OK ? fail(&w, e) : found ? 0 : 66;
}

int
main(int argc, char **argv)
{
	struct store_options o = { .node = "external-grant" };
	struct seal_key key;
	struct store *st;
	struct why w = WHY_INIT;

	if (argc < 8)
		return 64;
	if (strncmp(argv[2], "postgresql:", 11) == 0)
		o.url = argv[2];
	enum err e = key_file_read(argv[1], false, key.bytes, &w);
	if (e == OK)
		e = store_open(o.url != NULL ? "." : argv[2], &o, &st, &w);
	if (e != OK)
		return fail(&w, e);
	const struct store_user u = { str_of(argv[4]), str_of(argv[5]),
		str_of(argv[6]), str_of(argv[7]) };
	int code = strcmp(argv[3], "put") == 0 && argc == 9 ?
	    put_grant(st, &key, &u, argv[8]) : strcmp(argv[3], "get") == 0 ?
	    get_grant(st, &key, &u) : clear_grant(st, &key, &u);
	store_close(&st);
	arena_free(&arena);
	return code;
}
