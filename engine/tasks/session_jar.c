#include "engine/tasks/session_jar.h"

#include "base/map.h"
#include "engine/fetcher/cookie.h"
#include "os/clock.h"

/* Fields of a line, separated by tabs. */
enum { DOMAIN, BELOW, PATH, SECURE, END, NAME, VALUE, FIELDS };

struct cookie_jar *
session_jar_new(struct str lines)
{
	struct cookie_jar *jar = cookie_jar_new();

	/* Sealed by us: damage would have been noticed before. */
	(void)!cookie_load(jar, lines, clock_wall(), NULL);
	return jar;
}

void
session_jar_free(struct cookie_jar **jp)
{
	cookie_jar_free(jp);
}

void
session_jar_put(struct cookie_jar *jar, struct buf *lines)
{
	cookie_put_lines(jar, clock_wall(), lines);
}

static void
split(struct str line, struct str f[static FIELDS])
{
	for (size_t i = 0; i < VALUE; i++)
		if (!str_split(&line, '\t', &f[i]))
			f[i] = STR_NONE;
	f[VALUE] = line;
}

/* What tells a cookie from others: RFC 6265 §5.3, step 11. */
static struct str
key_of(const struct str f[static FIELDS], struct arena *a)
{
	return arena_printf(a, "%.*s\t%.*s\t%.*s", STR_FMT(f[DOMAIN]),
	    STR_FMT(f[PATH]), STR_FMT(f[NAME]));
}

/* The same cookie with an end in the past. */
static void
put_deletion(const struct str f[static FIELDS], struct buf *b)
{
	for (size_t i = 0; i < VALUE; i++) {
		buf_put_str(b, i == END ? STR("-1") : f[i]);
		buf_put_char(b, '\t');
	}
	buf_put_char(b, '\n');
}

/* Lines of `after` that are not among those of `before`. */
static void
put_new(struct str before, struct str after, struct buf *b)
{
	FREED(map_free) struct map had = MAP_INIT;
	struct str line;

	while (str_split(&before, '\n', &line))
		map_put(&had, line, &had);
	while (str_split(&after, '\n', &line))
		if (map_get(&had, line) == NULL) {
			buf_put_str(b, line);
			buf_put_char(b, '\n');
		}
}

/* Cookies of `before` that `after` has no more. */
static void
put_deletions(struct str before, struct str after, struct buf *b)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(map_free) struct map kept = MAP_INIT;
	struct str line, f[FIELDS];

	while (str_split(&after, '\n', &line)) {
		split(line, f);
		map_put(&kept, key_of(f, &a), &kept);
	}
	while (str_split(&before, '\n', &line)) {
		split(line, f);
		if (line.n > 0 && map_get(&kept, key_of(f, &a)) == NULL)
			put_deletion(f, b);
	}
}

bool
session_jar_take(struct cookie_jar *jar, struct str before,
    struct cookie_jar *after)
{
	FREED(buf_free) struct buf lines = BUF_INIT, changes = BUF_INIT;
	struct wall now = clock_wall();

	cookie_put_lines(after, now, &lines);
	put_deletions(before, buf_str(&lines), &changes);
	put_new(before, buf_str(&lines), &changes);
	(void)!cookie_load(jar, buf_str(&changes), now, NULL);
	return changes.n > 0;
}
