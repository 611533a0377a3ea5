#include "engine/store/store_testing.h"

#include <stdio.h>

#include "os/postgresql_testing.h"

static struct postgresql_test *server;
static const char *url;

bool
store_test_begin(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "postgresql") != 0)
		return true;
	server = postgresql_test_start();
	return server != NULL;
}

int
store_test_end(int failed)
{
	postgresql_test_stop(&server);
	return failed;
}

struct postgresql_test *
store_test_server(void)
{
	return server;
}

void
store_test_renew(void)
{
	if (server != NULL)
		url = postgresql_test_url(server, NULL);
}

enum err
store_test_open(const char *dir, const struct store_options *o,
    struct store **out, struct why *w)
{
	struct store_options used = o == NULL ? (struct store_options){
	    .url = NULL } : *o;

	used.url = url;
	if (used.node == NULL)
		used.node = "here";
	return store_open(dir, &used, out, w);
}

enum err
store_test_database(const char *dir, struct database **out, struct why *w)
{
	static const struct database_options o = {
		.application = 0x41726769u };
	struct database_url u = { .url = url };
	char path[256];

	snprintf(path, sizeof(path), "%s/store.db", dir);
	return server != NULL ? database_open_url(&u, &o, out, w) :
	    database_open(path, &o, out, w);
}

static enum err
check_schedule(struct store *st, uint64_t id, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct schedule s;
	struct why found = WHY_INIT;

	enum err e = store_schedule_get(st, id, &a, &s, w);
	if (e == OK && schedule_check(&s, &found) != OK)
		e = why(w, ERR_CORRUPT, "schedule %llu: %s",
		    (unsigned long long)id, found.text);
	if (e == OK && s.harvest_type.n == 0 &&
	    (s.runs == 0) != (s.last_crawl == SCHEDULE_NO_CRAWL))
		e = why(w, ERR_CORRUPT, "schedule %llu: %llu runs, but its "
		    "last crawl says otherwise", (unsigned long long)id,
		    (unsigned long long)s.runs);
	return e;
}

enum err
store_test_check(const char *dir, struct store *st, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct database *d = NULL;
	struct schedule *list;
	struct token *tokens;
	size_t n = 0, tokens_n;

	enum err e = store_test_database(dir, &d, w);
	if (e == OK)
		e = database_check(d, w);
	database_close(&d);
	if (e == OK)
		e = store_schedule_list(st, &a, &list, &n, w);
	for (size_t i = 0; i < n && e == OK; i++)
		e = check_schedule(st, list[i].id, w);
	/* Reading a token judges it. */
	return e == OK ? store_token_list(st, &a, &tokens, &tokens_n, w) : e;
}
