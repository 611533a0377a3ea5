#include "engine/fetcher/cookie.h"

#include <time.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/text.h"
#include "engine/policy/address.h"
#include "engine/policy/suffix.h"

#define HOST_BYTES_MAX 253       /* RFC 1035 section 2.3.4 */
/* Longer values of attributes are passed over (RFC 6265bis section 5.6). */
#define ATTRIBUTE_BYTES_MAX 1024
/* What does not fit is not sent, shortest path first: servers refuse more. */
#define HEADER_BYTES_MAX 65536
/* The end of a session's cookie, and the latest end of another. */
#define END_SESSION INT64_MAX
#define END_LATEST (INT64_MAX - 1)
#define END_PAST INT64_MIN

/*
 * One cookie.  Its strings stand in `bytes`.  HttpOnly is not kept: whoever
 * asks this jar speaks HTTP.
 */
struct cookie {
	struct list use;         /* in jar->uses */
	struct heap_node end;    /* in jar->ends, unless it is a session's */
	struct site *site;
	size_t at;               /* its place in site->cookies */
	uint64_t created, used;  /* the jar's clock, not the wall's */
	struct str name, value, domain, path;
	bool host_only, secure;
	char bytes[];
};

/*
 * All cookies of one registrable domain, or of one host that has none (an
 * address, "localhost", a public suffix).  Never empty between two calls.
 */
struct site {
	struct str key;          /* in `text`; no final dot */
	struct cookie **cookies;
	size_t n, cap;
	char text[];
};

struct cookie_jar {
	struct map sites;        /* key -> struct site */
	size_t labels_max;       /* most labels that a key ever had */
	struct list uses;        /* used longest ago first */
	struct heap ends;
	uint64_t clock;
	size_t n;
	struct cookie **found;   /* scratch of cookie_header() */
	size_t found_n, found_cap;
};

/* A cookie in the making; borrows. */
struct draft {
	struct str name, value;
	struct str domain, path;     /* empty: not given */
	int64_t end_us;
	bool host_only, secure;
	bool path_given;             /* else `path` is the default path */
	bool max_age_given;          /* Expires does not count */
};

/*
 * Dates (RFC 6265 section 5.1.1)
 */

static bool
is_date_delimiter(char c)
{
	return c == '\t' || (c >= 0x20 && c <= 0x2f) ||
	    (c >= 0x3b && c <= 0x40) || (c >= 0x5b && c <= 0x60) ||
	    (c >= 0x7b && c <= 0x7e);
}

/* `least` to `most` digits and no further one; moves on behind them. */
static bool
take_digits(struct str *s, size_t least, size_t most, int *out)
{
	size_t n = 0;
	int v = 0;

	for (; n < s->n && n <= most && ascii_is_digit(s->p[n]); n++)
		v = v * 10 + (s->p[n] - '0');
	if (n < least || n > most)
		return false;
	*out = v;
	*s = str_from(*s, n);
	return true;
}

static bool
date_clock(struct str token, struct tm *tm)
{
	struct tm t = *tm;

	if (!take_digits(&token, 1, 2, &t.tm_hour) ||
	    !str_take_char(&token, ':') ||
	    !take_digits(&token, 1, 2, &t.tm_min) ||
	    !str_take_char(&token, ':') ||
	    !take_digits(&token, 1, 2, &t.tm_sec))
		return false;
	*tm = t;
	return true;
}

static bool
date_token(struct str *s, struct str *token)
{
	size_t from = 0, to;

	while (from < s->n && is_date_delimiter(s->p[from]))
		from++;
	for (to = from; to < s->n && !is_date_delimiter(s->p[to]); )
		to++;
	*token = str_cut(*s, from, to);
	*s = str_from(*s, to);
	return token->n > 0;
}

static bool
date_parse(struct str s, int64_t *us)
{
	struct tm tm = { 0 };
	struct str token;
	bool clock = false, day = false, month = false, year = false;

	while (date_token(&s, &token)) {
		if (!clock && date_clock(token, &tm))
			clock = true;
		else if (!day && take_digits(&token, 1, 2, &tm.tm_mday))
			day = true;
		else if (!month && str_take_month(&token, &tm.tm_mon))
			month = true;
		else if (!year && take_digits(&token, 2, 4, &tm.tm_year))
			year = true;
	}
	if (!clock || !day || !month || !year || tm.tm_hour > 23 ||
	    tm.tm_min > 59 || tm.tm_sec > 59)
		return false;
	if (tm.tm_year < 100)
		tm.tm_year += tm.tm_year < 70 ? 2000 : 1900;
	if (tm.tm_year < 1601)
		return false;
	tm.tm_year -= 1900;
	int wanted = tm.tm_mday;
	time_t at = timegm(&tm);
	/* timegm() carries day 0 and 31 February over; such days are none. */
	if (tm.tm_mday != wanted)
		return false;
	*us = (int64_t)at * US_PER_S;
	return true;
}

/* Section 5.2.2: false when the attribute is to be passed over. */
static bool
max_age_parse(struct str s, struct wall now, int64_t *us)
{
	bool minus = s.n > 0 && s.p[0] == '-';
	struct str digits = str_from(s, minus);
	uint64_t v;

	if (digits.n == 0)
		return false;
	for (size_t i = 0; i < digits.n; i++)
		if (!ascii_is_digit(digits.p[i]))
			return false;
	if (!str_to_u64(digits, &v))
		v = UINT64_MAX;
	if (minus)
		*us = END_PAST;
	else if (v > (uint64_t)(END_LATEST - MAX(now.us, 0)) / US_PER_S)
		*us = END_LATEST;
	else
		*us = now.us + (int64_t)v * US_PER_S;
	return true;
}

/*
 * Matching (sections 5.1.3 and 5.1.4)
 */

/* The host without the dot that may stand behind it. */
static struct str
bare(struct str host)
{
	if (host.n > 0 && host.p[host.n - 1] == '.')
		host.n--;
	return host;
}

/* Whether `host` is `domain` or below it; the caller knows it is a name. */
static bool
domain_match(struct str host, struct str domain)
{
	return str_ends(host, domain) && (host.n == domain.n ||
	    (domain.n > 0 && host.p[host.n - domain.n - 1] == '.'));
}

static bool
path_match(struct str asked, struct str path)
{
	return str_starts(asked, path) && (asked.n == path.n ||
	    (path.n > 0 && path.p[path.n - 1] == '/') ||
	    asked.p[path.n] == '/');
}

static struct str
default_path(struct str path)
{
	if (path.n == 0 || path.p[0] != '/')
		return STR("/");
	while (path.n > 1 && path.p[path.n - 1] != '/')
		path.n--;
	return path.n == 1 ? path : str_cut(path, 0, path.n - 1);
}

static bool
is_secure(const struct url *u)
{
	return u->scheme == URL_HTTPS || u->scheme == URL_WSS;
}

static bool
host_fits(struct str host)
{
	host = bare(host);
	return host.n > 0 && host.n <= HOST_BYTES_MAX;
}

static bool
has_char(struct str s, char c)
{
	return str_find_char(s, c) < s.n;
}

/*
 * The jar
 */

struct cookie_jar *
cookie_jar_new(void)
{
	struct cookie_jar *jar = mem_new(sizeof(*jar));

	list_init(&jar->uses);
	return jar;
}

/* The key under which the cookies of `host` stand; borrows from it. */
static struct str
site_key(struct str host, struct str registrable)
{
	return registrable.n > 0 ? registrable : bare(host);
}

static struct site *
site_get(struct cookie_jar *jar, struct str key, bool make)
{
	struct site *site = map_get(&jar->sites, key);
	size_t labels = 1;

	if (site != NULL || !make)
		return site;
	site = mem_new(sizeof(*site) + key.n);
	memcpy(site->text, key.p, key.n);
	site->key = (struct str){ site->text, key.n };
	map_put(&jar->sites, site->key, site);
	for (size_t i = 0; i < key.n; i++)
		labels += key.p[i] == '.';
	jar->labels_max = MAX(jar->labels_max, labels);
	return site;
}

static struct str
put_bytes(char **at, struct str s)
{
	struct str copy = { *at, s.n };

	if (s.n > 0)
		memcpy(*at, s.p, s.n);
	*at += s.n;
	return copy;
}

static struct cookie *
cookie_new(const struct draft *d)
{
	struct cookie *c = mem_new(sizeof(*c) + d->name.n + d->value.n +
	    d->domain.n + d->path.n);
	char *at = c->bytes;

	c->name = put_bytes(&at, d->name);
	c->value = put_bytes(&at, d->value);
	c->domain = put_bytes(&at, d->domain);
	c->path = put_bytes(&at, d->path);
	c->host_only = d->host_only;
	c->secure = d->secure;
	return c;
}

/* Forget the cookie, and its site when it was the last one there. */
static void
drop(struct cookie_jar *jar, struct cookie *c)
{
	struct site *site = c->site;

	site->cookies[c->at] = site->cookies[--site->n];
	site->cookies[c->at]->at = c->at;
	list_take(&c->use);
	heap_take(&jar->ends, &c->end);
	jar->n--;
	free(c);
	if (site->n > 0)
		return;
	map_take(&jar->sites, site->key);
	mem_free(&site->cookies);
	free(site);
	if (jar->sites.n == 0)
		jar->labels_max = 0;
}

static void
drop_ended(struct cookie_jar *jar, struct wall now)
{
	struct heap_node *first;

	while ((first = heap_first(&jar->ends)) != NULL && first->key <= now.us)
		drop(jar, CONTAINER(first, struct cookie, end));
}

void
cookie_jar_free(struct cookie_jar **jp)
{
	struct cookie_jar *jar = *jp;

	if (jar == NULL)
		return;
	while (!list_empty(&jar->uses))
		drop(jar, LIST_ITEM(jar->uses.next, struct cookie, use));
	map_free(&jar->sites);
	heap_free(&jar->ends);
	mem_free(&jar->found);
	mem_free(jp);
}

size_t
cookie_count(const struct cookie_jar *jar)
{
	return jar->n;
}

static void
use(struct cookie_jar *jar, struct cookie *c)
{
	c->used = ++jar->clock;
	list_take(&c->use);
	list_put(&jar->uses, &c->use);
}

static void
add(struct cookie_jar *jar, struct str key, struct cookie *c, int64_t end_us)
{
	struct site *site = site_get(jar, key, true);

	site->cookies = mem_room(site->cookies, site->n, &site->cap, 4,
	    sizeof(*site->cookies));
	c->site = site;
	c->at = site->n;
	site->cookies[site->n++] = c;
	jar->n++;
	list_init(&c->use);
	use(jar, c);
	if (end_us != END_SESSION)
		heap_put(&jar->ends, &c->end, end_us, c->created);
}

/* The cookie that `d` replaces. */
static struct cookie *
find_same(const struct site *site, const struct draft *d)
{
	for (size_t i = 0; site != NULL && i < site->n; i++) {
		struct cookie *c = site->cookies[i];
		if (str_eq(c->name, d->name) && str_eq(c->domain, d->domain) &&
		    str_eq(c->path, d->path))
			return c;
	}
	return NULL;
}

/* Evict the least recently used cookie to make room for one of `domain`. */
static void
make_room(struct cookie_jar *jar, const struct site *site, struct str domain)
{
	struct cookie *oldest = NULL;
	size_t n = 0;

	for (size_t i = 0; site != NULL && i < site->n; i++) {
		struct cookie *c = site->cookies[i];
		if (!str_eq(c->domain, domain))
			continue;
		n++;
		if (oldest == NULL || c->used < oldest->used)
			oldest = c;
	}
	if (n >= COOKIES_PER_HOST_MAX)
		drop(jar, oldest);
	else if (jar->n >= COOKIES_MAX)
		drop(jar, LIST_ITEM(jar->uses.next, struct cookie, use));
}

/* Section 5.3, steps 11 and 12; `key` is the key of the cookie's site. */
static void
put(struct cookie_jar *jar, struct str key, const struct draft *d,
    struct wall now)
{
	drop_ended(jar, now);
	struct cookie *old = find_same(site_get(jar, key, false), d);
	uint64_t created = old != NULL ? old->created : ++jar->clock;
	if (old != NULL)
		drop(jar, old);
	if (d->end_us <= now.us)
		return;
	make_room(jar, site_get(jar, key, false), d->domain);
	struct cookie *c = cookie_new(d);
	c->created = created;
	add(jar, key, c, d->end_us);
}

/*
 * Set-Cookie (sections 5.2 and 5.3)
 */

/* "name = value" in two; the value is empty where no "=" stands. */
static void
split_pair(struct str pair, struct str *name, struct str *value)
{
	size_t at = str_find_char(pair, '=');

	*name = str_trim(str_cut(pair, 0, at));
	*value = str_trim(str_from(pair, at + 1));
}

/* The last of several attributes of one name wins. */
static void
read_attribute(struct str part, struct wall now, struct draft *d)
{
	struct str name, value;
	int64_t us;

	split_pair(part, &name, &value);
	if (value.n > ATTRIBUTE_BYTES_MAX)
		return;
	if (str_eq_nocase(name, STR("Expires"))) {
		if (date_parse(value, &us) && !d->max_age_given)
			d->end_us = us;
	} else if (str_eq_nocase(name, STR("Max-Age"))) {
		if (max_age_parse(value, now, &us)) {
			d->end_us = us;
			d->max_age_given = true;
		}
	} else if (str_eq_nocase(name, STR("Domain"))) {
		if (value.n > 0)
			d->domain = str_from(value, value.p[0] == '.');
	} else if (str_eq_nocase(name, STR("Path"))) {
		d->path_given = value.n > 0 && value.p[0] == '/';
		d->path = d->path_given ? value : STR_NONE;
	} else if (str_eq_nocase(name, STR("Secure"))) {
		d->secure = true;
	}
}

/*
 * Which hosts get the cookie.  A domain is taken if it holds the host and is
 * not above the host's registrable domain; a host that has none (a public
 * suffix, an address) can only name itself.  False: refused.
 */
static bool
settle_domain(struct str host, struct str registrable, struct draft *d)
{
	struct str given = d->domain;

	d->host_only = given.n == 0 || registrable.n == 0;
	if (given.n == 0) {
		d->domain = host;
		return true;
	}
	if (given.n > host.n)
		return false;
	/* The host's own tail is in lower case. */
	d->domain = str_from(host, host.n - given.n);
	return str_eq_nocase(d->domain, given) &&
	    (d->host_only ? given.n == host.n : given.n >= registrable.n &&
	    domain_match(host, d->domain));
}

/* RFC 6265bis section 5.7: what a name may promise about its cookie. */
static bool
keeps_prefix(const struct draft *d)
{
	if (str_starts_nocase(d->name, STR("__Secure-")))
		return d->secure;
	if (str_starts_nocase(d->name, STR("__Host-")))
		return d->secure && d->host_only && d->path_given &&
		    str_eq(d->path, STR("/"));
	return true;
}

/*
 * RFC 6265bis section 5.7: without TLS nobody may shadow a cookie that was set
 * with Secure.
 */
static bool
shadows_secure(const struct site *site, const struct draft *d)
{
	for (size_t i = 0; site != NULL && i < site->n; i++) {
		const struct cookie *c = site->cookies[i];
		if (c->secure && str_eq(c->name, d->name) &&
		    (domain_match(c->domain, d->domain) ||
		    domain_match(d->domain, c->domain)) &&
		    path_match(d->path, c->path))
			return true;
	}
	return false;
}

/* Limits that hold for a cookie from anywhere. */
static bool
draft_fits(const struct draft *d)
{
	return d->name.n > 0 &&
	    d->name.n + d->value.n <= COOKIE_BYTES_MAX &&
	    d->path.n <= ATTRIBUTE_BYTES_MAX;
}

bool
cookie_store(struct cookie_jar *jar, const struct url *u, struct str value,
    struct wall now)
{
	struct draft d = { .end_us = END_SESSION };
	struct str pair, part;

	if (!host_fits(u->host) || !text_is_field_value(value) ||
	    !str_split(&value, ';', &pair) || !has_char(pair, '='))
		return false;
	split_pair(pair, &d.name, &d.value);
	while (str_split(&value, ';', &part))
		read_attribute(part, now, &d);
	if (!d.path_given)
		d.path = default_path(u->path);
	struct str registrable = suffix_domain(u->host);
	struct str key = site_key(u->host, registrable);
	if (!draft_fits(&d) || !settle_domain(u->host, registrable, &d) ||
	    !keeps_prefix(&d))
		return false;
	if (!is_secure(u) && (d.secure ||
	    shadows_secure(site_get(jar, key, false), &d)))
		return false;
	put(jar, key, &d, now);
	return true;
}

/*
 * Cookie (section 5.4)
 */

static void
collect(struct cookie_jar *jar, const struct site *site, const struct url *u)
{
	if (jar->found_n + site->n > jar->found_cap) {
		jar->found_cap = jar->found_n + site->n;
		jar->found = mem_resize(jar->found, jar->found_cap,
		    sizeof(struct cookie *));
	}
	for (size_t i = 0; i < site->n; i++) {
		struct cookie *c = site->cookies[i];
		if ((!c->secure || is_secure(u)) &&
		    (c->host_only ? str_eq(u->host, c->domain) :
		    domain_match(u->host, c->domain)) &&
		    path_match(u->path, c->path))
			jar->found[jar->found_n++] = c;
	}
}

/*
 * Ask for the site of every tail of the host that has few enough labels: that
 * is cheaper than asking for its registrable domain.  Two of them may be there
 * ("github.io" and "a.github.io"); cookies of the other do not match.
 */
static void
collect_all(struct cookie_jar *jar, const struct url *u)
{
	struct str host = bare(u->host);
	size_t at = host.n;

	jar->found_n = 0;
	for (size_t labels = 1; labels <= jar->labels_max; labels++) {
		const char *dot = memrchr(host.p, '.', at);
		size_t from = dot == NULL ? 0 : (size_t)(dot - host.p) + 1;
		const struct site *site = map_get(&jar->sites,
		    str_from(host, from));
		if (site != NULL)
			collect(jar, site, u);
		if (dot == NULL)
			break;
		at = from - 1;
	}
}

/* Longest path first, then the oldest. */
static int
cookie_order(const void *pa, const void *pb)
{
	const struct cookie *a = *(struct cookie *const *)pa;
	const struct cookie *b = *(struct cookie *const *)pb;

	if (a->path.n != b->path.n)
		return a->path.n > b->path.n ? -1 : 1;
	return a->created < b->created ? -1 : a->created > b->created;
}

/* "a=1; b=2" of what was found, as much as HEADER_BYTES_MAX holds. */
static struct str
join(struct cookie_jar *jar, struct arena *a)
{
	size_t n = 0, total = 0;

	for (; n < jar->found_n; n++) {
		const struct cookie *c = jar->found[n];
		size_t more = c->name.n + 1 + c->value.n + (n > 0 ? 2 : 0);
		if (total + more > HEADER_BYTES_MAX)
			break;
		total += more;
	}
	char *p = arena_bytes(a, total + 1), *at = p;
	for (size_t i = 0; i < n; i++) {
		struct cookie *c = jar->found[i];
		if (i > 0)
			put_bytes(&at, STR("; "));
		put_bytes(&at, c->name);
		put_bytes(&at, STR("="));
		put_bytes(&at, c->value);
		use(jar, c);
	}
	*at = '\0';
	return (struct str){ p, total };
}

struct str
cookie_header(struct cookie_jar *jar, const struct url *u, struct wall now,
    struct arena *a)
{
	drop_ended(jar, now);
	if (jar->n == 0 || !host_fits(u->host))
		return STR_NONE;
	collect_all(jar, u);
	if (jar->found_n == 0)
		return STR_NONE;
	if (jar->found_n > 1)
		qsort(jar->found, jar->found_n, sizeof(*jar->found),
		    cookie_order);
	return join(jar, a);
}

/*
 * Cookie files: seven fields between tabs.  "#HttpOnly_" before the domain is
 * curl's; wget writes a port behind a domain, which says nothing to us.
 *
 *     domain  below-it-too  path  secure  end  name  value
 */

struct file_line {
	struct str text;
	size_t number;
};

static bool
read_flag(struct str s, bool *out)
{
	*out = str_eq_nocase(s, STR("TRUE"));
	return *out || str_eq_nocase(s, STR("FALSE"));
}

/* The host as a URL would have it: lower case, punycode, IPv6 in brackets. */
static bool
read_domain(struct str s, struct arena *a, struct str *out)
{
	struct str inner = str_from(s, s.n > 0 && s.p[0] == '.');
	uint8_t ip[16];
	struct url u;

	for (size_t i = 0; i < inner.n; i++)
		if (str_has_char(STR("/\\?#@ "), inner.p[i]))
			return false;
	bool six = inner.n > 0 && inner.p[0] != '[' &&
	    has_char(inner, ':') && address_parse(inner, ip);
	struct str text = arena_printf(a, six ? "http://[%.*s]/" :
	    "http://%.*s/", STR_FMT(inner));
	if (url_parse(text, NULL, a, &u, NULL) != OK || !host_fits(u.host))
		return false;
	*out = u.host;
	return true;
}

static bool
read_end(struct str s, int64_t *us)
{
	int64_t seconds;

	if (!str_to_i64(s, &seconds))
		return false;
	if (seconds == 0)
		*us = END_SESSION;
	else if (seconds < 0)
		*us = END_PAST;
	else
		*us = seconds > END_LATEST / US_PER_S ? END_LATEST :
		    seconds * US_PER_S;
	return true;
}

/* Characters that would turn one pair into two. */
static bool
pair_is_clean(const struct draft *d)
{
	return !has_char(d->name, ';') && !has_char(d->name, '=') &&
	    !has_char(d->value, ';');
}

/* The name of the field that is wrong, or NULL.  Memory: `a`. */
static const char *
read_fields(struct str line, struct arena *a, struct draft *d)
{
	struct str field[6] = { STR_NONE };
	bool below;

	for (size_t i = 0; i < ARRAY_LEN(field); i++)
		if (!str_split(&line, '\t', &field[i]))
			return "number of fields";
	*d = (struct draft){ .name = field[5], .value = line,
	    .path = field[2], .path_given = true };
	if (!read_domain(field[0], a, &d->domain))
		return "domain";
	if (!read_flag(field[1], &below))
		return "second field";
	if (d->path.n == 0 || d->path.p[0] != '/')
		return "path";
	if (!read_flag(field[3], &d->secure))
		return "fourth field";
	if (!read_end(field[4], &d->end_us))
		return "time of its end";
	/* As if the host itself had named its domain. */
	d->host_only = !below || suffix_domain(d->domain).n == 0;
	if (!draft_fits(d) || !pair_is_clean(d))
		return "name, or its length";
	return keeps_prefix(d) ? NULL : "prefix of its name";
}

/* The next line that holds a cookie. */
static bool
next_line(struct str *rest, struct file_line *line)
{
	static const struct str http_only = STR("#HttpOnly_");

	while (str_split(rest, '\n', &line->text)) {
		struct str *s = &line->text;
		line->number++;
		if (s->n > 0 && s->p[s->n - 1] == '\r')
			s->n--;
		if (str_starts(*s, http_only)) {
			*s = str_from(*s, http_only.n);
			return true;
		}
		if (str_trim(*s).n > 0 && s->p[0] != '#')
			return true;
	}
	return false;
}

/* All lines; without a jar they are only looked at. */
static enum err
load(struct cookie_jar *jar, struct str text, struct wall now, struct why *w)
{
	struct file_line line = { STR_NONE, 0 };
	FREED(arena_free) struct arena a = ARENA_INIT;
	enum err e = OK;

	while (e == OK && next_line(&text, &line)) {
		struct draft d;
		const char *wrong = !text_is_field_value(line.text) ?
		    "control character in it" : read_fields(line.text, &a, &d);
		/* Never the line itself: it may hold a credential. */
		if (wrong != NULL)
			e = why(w, ERR_INPUT, "cookie file, line %zu: bad %s",
			    line.number, wrong);
		else if (jar != NULL)
			put(jar, site_key(d.domain,
			    suffix_domain(d.domain)), &d, now);
		arena_reset(&a);
	}
	return e;
}

enum err
cookie_load(struct cookie_jar *jar, struct str text, struct wall now,
    struct why *w)
{
	/* Look first: a bad file leaves the jar as it was. */
	enum err e = load(NULL, text, now, w);

	return e == OK ? load(jar, text, now, w) : e;
}

static void
put_line(const struct cookie *c, bool ends, struct buf *b)
{
	int64_t end_s = ends ? MAX(c->end.key, US_PER_S) / US_PER_S : 0;

	buf_printf(b, "%.*s\t%s\t%.*s\t%s\t%lld\t%.*s\t%.*s\n",
	    STR_FMT(c->domain), c->host_only ? "FALSE" : "TRUE",
	    STR_FMT(c->path), c->secure ? "TRUE" : "FALSE",
	    (long long)end_s, STR_FMT(c->name), STR_FMT(c->value));
}

void
cookie_put_lines(struct cookie_jar *jar, struct wall now, struct buf *b)
{
	drop_ended(jar, now);
	LIST_EACH(c, &jar->uses, struct cookie, use)
		if (!has_char(c->name, '\t'))
			put_line(c, heap_holds(&c->end), b);
}
