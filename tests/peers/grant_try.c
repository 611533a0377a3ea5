/*
 * grant_try -- grants of users in a store, for scripts.
 *
 *     grant_try DATA KEY-FILE put N      puts those of the users 0 to N - 1
 *     grant_try DATA KEY-FILE count N    prints how many of them can be opened
 *
 * It exits with 1 when the store fails.
 */
#include "engine/store/store_grant.h"
#include "os/clock.h"
#include "os/key_file.h"

static struct store_user
make_user(struct arena *a, size_t i)
{
	return (struct store_user){ STR("acme"), STR("things"), STR("s"),
		arena_printf(a, "user%zu", i) };
}

static enum err
put_grants(struct store *st, const struct seal_key *key, size_t n,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	enum err e = store_begin(st, w);

	for (size_t i = 0; i < n && e == OK; i++) {
		const struct store_grant g = { .user = make_user(&a, i),
			.account = arena_printf(&a, "account %zu", i),
			.text = arena_printf(&a, "granted to %zu", i),
			.expiry = { INT64_MAX } };
		struct store_grant out, ended;
		e = store_grant_put(st, key, &g, clock_wall(), &a, &out,
		    &ended, w);
	}
	return store_end(st, e, w);
}

static enum err
count_grants(struct store *st, const struct seal_key *key, size_t n,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t opened = 0;

	for (size_t i = 0; i < n; i++) {
		const struct store_user u = make_user(&a, i);
		struct why first = WHY_INIT;
		struct store_grant g;
		enum err e = store_grant_get(st, key, &u, &a, &g, &first);
		if (e != OK && e != ERR_ABSENT && e != ERR_CORRUPT)
			return why(w, e, "%s", first.text);
		opened += e == OK && str_eq(g.text, arena_printf(&a,
		    "granted to %zu", i));
	}
	printf("%zu\n", opened);
	return OK;
}

int
main(int argc, char **argv)
{
	FREED(store_close) struct store *st = NULL;
	struct seal_key key;
	struct why w = WHY_INIT;
	uint64_t n = 0;

	if (argc != 5 || !str_to_u64(str_of(argv[4]), &n)) {
		fprintf(stderr, "usage: grant_try DATA KEY-FILE put|count "
		    "N\n");
		return 2;
	}
	enum err e = key_file_read(argv[2], true, key.bytes, &w);
	if (e == OK)
		e = store_open(argv[1], NULL, &st, &w);
	if (e == OK)
		e = strcmp(argv[3], "put") == 0 ? put_grants(st, &key, n, &w)
		    : count_grants(st, &key, n, &w);
	if (e != OK)
		fprintf(stderr, "grant_try: %s\n", w.text);
	return e != OK;
}
