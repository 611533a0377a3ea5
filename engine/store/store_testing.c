#include "engine/store/store_testing.h"

#include <stdio.h>

#include "os/database.h"

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
	if (e == OK && (s.runs == 0) != (s.last_crawl == SCHEDULE_NO_CRAWL))
		e = why(w, ERR_CORRUPT, "schedule %llu: %llu runs, but its "
		    "last crawl says otherwise", (unsigned long long)id,
		    (unsigned long long)s.runs);
	return e;
}

enum err
store_test_check(const char *dir, struct store *st, struct why *w)
{
	static const struct database_options o = {
		.application = 0x41726769u };
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct database *d = NULL;
	struct schedule *list;
	struct token *tokens;
	char path[256];
	size_t n = 0, tokens_n;

	snprintf(path, sizeof(path), "%s/store.db", dir);
	enum err e = database_open(path, &o, &d, w);
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
