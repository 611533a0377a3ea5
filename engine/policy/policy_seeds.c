#include "engine/policy/policy_seeds.h"

#include "engine/policy/suffix.h"

/* Sort, and drop repeats and, where asked, what begins with another. */
static size_t
tidy(struct str *list, size_t n, bool prefixes)
{
	size_t kept = 0;

	if (n != 0)
		qsort(list, n, sizeof(*list), str_order);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && (str_eq(list[kept - 1], list[i]) ||
		    (prefixes && str_starts(list[i], list[kept - 1]))))
			continue;
		list[kept++] = list[i];
	}
	return kept;
}

/* The registrable domain; a host that has none stands for itself. */
static struct str
site_of(struct str host)
{
	struct str site = suffix_domain(host);

	if (site.p == NULL)
		return host;
	/* A final dot belongs to the name: "a.org." is not "a.org". */
	return str_from(host, (size_t)(site.p - host.p));
}

/* "host:port/path" up to the last "/". */
static struct str
prefix_of(const struct url *u)
{
	struct str path = u->path;
	size_t before = u->scheme_text.n + 3;

	while (path.n > 0 && path.p[path.n - 1] != '/')
		path.n--;
	if (path.n == 0)
		return str_from(u->href, before);
	size_t end = (size_t)(path.p - u->href.p) + path.n;
	return str_cut(u->href, before, end);
}

enum err
policy_seeds_make(const struct policy *p, const struct url *seeds,
    size_t seeds_n, struct policy_seeds *s, struct why *w)
{
	*s = (struct policy_seeds){ .memory = ARENA_INIT };
	s->hosts = ARENA_ARRAY(&s->memory, struct str, seeds_n);
	s->sites = ARENA_ARRAY(&s->memory, struct str, seeds_n);
	s->prefixes = ARENA_ARRAY(&s->memory, struct str, seeds_n);
	for (size_t i = 0; i < seeds_n; i++) {
		struct url u;
		struct why cause = WHY_INIT;
		enum err e = url_canonical(&seeds[i], p->strip, p->strip_n,
		    &s->memory, &u, &cause);
		if (e != OK) {
			policy_seeds_free(s);
			return why(w, e, "seeds[%zu]: %s", i, cause.text);
		}
		s->hosts[i] = arena_copy(&s->memory, u.host);
		s->sites[i] = site_of(s->hosts[i]);
		s->prefixes[i] = arena_copy(&s->memory, prefix_of(&u));
	}
	s->hosts_n = tidy(s->hosts, seeds_n, false);
	s->sites_n = tidy(s->sites, seeds_n, false);
	s->prefixes_n = tidy(s->prefixes, seeds_n, true);
	for (size_t i = 0; i < s->hosts_n; i++)
		map_put(&s->host_set, s->hosts[i], s);
	for (size_t i = 0; i < s->sites_n; i++)
		map_put(&s->site_set, s->sites[i], s);
	return OK;
}

void
policy_seeds_free(struct policy_seeds *s)
{
	map_free(&s->host_set);
	map_free(&s->site_set);
	arena_free(&s->memory);
	*s = (struct policy_seeds){ .memory = ARENA_INIT };
}

static const struct str placeholders[] = {
	{ "{SEED_DOMAINS}", 14 }, { "{SEED_SITES}", 12 },
	{ "{SEED_PREFIXES}", 15 },
};

/* Which placeholder stands at the front of s; -1: none. */
static int
placeholder_at(struct str s)
{
	for (size_t i = 0; i < ARRAY_LEN(placeholders); i++)
		if (str_starts(s, placeholders[i]))
			return (int)i;
	return -1;
}

bool
policy_seeds_named(struct str pattern)
{
	for (size_t i = 0; i < pattern.n; i++)
		if (pattern.p[i] == '{' &&
		    placeholder_at(str_from(pattern, i)) >= 0)
			return true;
	return false;
}

static void
put_escaped(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]))
			buf_put_char(out, '\\');
		buf_put_char(out, s.p[i]);
	}
}

static void
put_alternation(struct buf *out, const struct str *list, size_t n)
{
	if (n == 0) {
		buf_put_text(out, "(?!)");     /* matches nothing */
		return;
	}
	buf_put_text(out, "(?:");
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_put_char(out, '|');
		put_escaped(out, list[i]);
	}
	buf_put_char(out, ')');
}

struct str
policy_seeds_fill(const struct policy_seeds *s, struct str pattern,
    struct arena *a)
{
	FREED(buf_free) struct buf out = BUF_INIT;

	for (size_t i = 0; i < pattern.n; ) {
		int which = pattern.p[i] != '{' ? -1 :
		    placeholder_at(str_from(pattern, i));
		if (which == 0)
			put_alternation(&out, s->hosts, s->hosts_n);
		else if (which == 1)
			put_alternation(&out, s->sites, s->sites_n);
		else if (which == 2)
			put_alternation(&out, s->prefixes, s->prefixes_n);
		else
			buf_put_char(&out, pattern.p[i]);
		i += which < 0 ? 1 : placeholders[which].n;
	}
	return arena_copy(a, buf_str(&out));
}

/* The patterns leave no room for "user:password@". */
static bool
has_credentials(const struct url *u)
{
	return u->username.n != 0 || u->password.n != 0;
}

bool
policy_seeds_host(const struct policy_seeds *s, const struct url *u)
{
	return !has_credentials(u) && map_get(&s->host_set, u->host) != NULL;
}

bool
policy_seeds_site(const struct policy_seeds *s, const struct url *u)
{
	struct str host = u->host;

	if (has_credentials(u))
		return false;
	while (map_get(&s->site_set, host) == NULL) {
		size_t dot = str_find_char(host, '.');
		if (dot == host.n)
			return false;
		host = str_from(host, dot + 1);
	}
	return true;
}

bool
policy_seeds_prefix(const struct policy_seeds *s, const struct url *u)
{
	struct str text = str_from(u->href, u->scheme_text.n + 3);
	size_t low = 0, high = s->prefixes_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (str_cmp(s->prefixes[middle], text) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && str_starts(text, s->prefixes[low - 1]);
}
