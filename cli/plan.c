#include "cli/plan.h"

#include "base/text.h"
#include "engine/control/control.h"
#include "engine/policy/address.h"
#include "os/transport_proxy.h"
#include "wire/base64.h"

#define DOWNLOADS "64"

/*
 * Options that are one field of the policy each, with the value as typed; what
 * was typed as `typed`, which is nothing for a flag, means `value`.
 */
static const struct {
	const char *option, *field, *typed, *value;
} fields[] = {
	{ "max-pages", "limits.max_items", NULL, NULL },
	{ "concurrency", "downloads", NULL, NULL },
	{ "user-agent", "user_agent", NULL, NULL },
	{ "no-robots", "robots", "", "ignore" },
	{ "no-embeds", "embeds", "", "false" },
	{ "sitemaps", "sitemaps", "", "true" },
	{ "allow-private", "allow_private", "", "true" },
	{ "depth", "limits.max_depth", "any", "none" },
};

const char *
plan_edits(const struct cli *c)
{
	static const char *const names[] = {
#define PLAN_NAME(id, name, ...) name,
		PLAN_OPTIONS(PLAN_NAME)
#undef PLAN_NAME
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (cli_count(c, names[i]) > 0)
			return names[i];
	return NULL;
}

bool
plan_seconds(struct str s, double *out)
{
	static const struct {
		struct str suffix;
		double s;
	} units[] = {
		{ { "ms", 2 }, 0.001 }, { { "min", 3 }, 60 },
		{ { "s", 1 }, 1 }, { { "m", 1 }, 60 }, { { "h", 1 }, 3600 },
		{ { "d", 1 }, 86400 },
	};
	double factor = 1;

	s = str_trim(s);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (!str_ends(s, units[i].suffix))
			continue;
		factor = units[i].s;
		s = str_trim(str_cut(s, 0, s.n - units[i].suffix.n));
		break;
	}
	if (s.n == 0 || !ascii_is_digit(s.p[0]) || !str_to_double(s, out))
		return false;
	*out *= factor;
	return true;
}

/* --- fields ------------------------------------------------------------- */

/* An error of the policy, told with the option that brought it. */
static enum err
set(struct policy *p, const char *option, const char *field, struct str v,
    struct why *w)
{
	struct why inner = WHY_INIT;
	enum err e = policy_set(p, str_of(field), v, &inner);

	if (e == OK)
		return OK;
	return why(w, ERR_USAGE, "--%s %.*s: %s", option,
	    STR_FMT(str_cut(v, 0, 60)), inner.text);
}

static enum err
set_number(struct policy *p, const char *option, const char *field, double v,
    struct why *w)
{
	char text[40];

	snprintf(text, sizeof(text), "%.9g", v);
	return set(p, option, field, str_of(text), w);
}

/* Which option brought the User-Agent. */
static enum err
check_agent(struct cli *c, const struct policy *p, struct why *w)
{
	struct why inner = WHY_INIT;
	enum err e = policy_check_agent(p, &inner);

	if (e == OK)
		return OK;
	return why(w, ERR_USAGE, "%s%s", cli_count(c, "user-agent") > 0 ?
	    "--user-agent: " : cli_count(c, "header") > 0 ? "--header: " : "",
	    inner.text);
}

static enum err
set_fields(struct cli *c, struct policy *p, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; e == OK && i < ARRAY_LEN(fields); i++) {
		const char *text = cli_text(c, fields[i].option, NULL);
		if (text == NULL)
			continue;
		if (fields[i].typed != NULL &&
		    strcmp(text, fields[i].typed) == 0)
			text = fields[i].value;
		e = set(p, fields[i].option, fields[i].field, str_of(text), w);
	}
	return e;
}

static enum err
set_max_time(struct cli *c, struct policy *p, struct why *w)
{
	const char *text = cli_text(c, "max-time", NULL);
	double s;

	if (text == NULL)
		return OK;
	if (!plan_seconds(str_of(text), &s))
		return why(w, ERR_USAGE, "--max-time %.60s: must be a time "
		    "like 90s, 10min or 2h", text);
	return set_number(p, "max-time", "limits.max_duration", s, w);
}

static enum err
set_max_bytes(struct cli *c, struct policy *p, struct why *w)
{
	const char *text = cli_text(c, "max-bytes", NULL);
	int64_t bytes;

	if (text == NULL)
		return OK;
	if (!conf_read_size(str_of(text), &bytes))
		return why(w, ERR_USAGE, "--max-bytes %.60s: must be a size "
		    "like 500MiB, 2GiB, or a number of bytes", text);
	return set_number(p, "max-bytes", "limits.max_bytes", (double)bytes, w);
}

static enum err
set_delay(struct cli *c, struct policy *p, struct why *w)
{
	const char *delay = cli_text(c, "delay", NULL);
	const char *rate = cli_text(c, "rate", NULL);
	double s = 0, n, floor_s = 0;

	if (delay == NULL && rate == NULL)
		return OK;
	if (delay != NULL && !plan_seconds(str_of(delay), &s))
		return why(w, ERR_USAGE, "--delay %.60s: must be a time like "
		    "0, 0.5 or 250ms", delay);
	if (rate != NULL) {
		if (!str_to_double(str_of(rate), &n) || n <= 0)
			return why(w, ERR_USAGE, "--rate %.60s: must be a "
			    "number above 0, such as 0.5 or 20", rate);
		floor_s = 1 / n;
	}
	return set_number(p, delay != NULL ? "delay" : "rate", "rate_limit",
	    MAX(s, floor_s), w);
}

static enum err
add_pattern(struct policy *p, const char *option, const char *regex,
    struct why *w)
{
	struct why inner = WHY_INIT;
	enum err e = strcmp(option, "include") == 0 ?
	    policy_add_include(p, str_of(regex), &inner) :
	    policy_add_exclude(p, str_of(regex), &inner);

	return e == OK ? OK : why(w, ERR_USAGE, "--%s %.60s: %s", option,
	    regex, inner.text);
}

static enum err
set_scope(struct cli *c, struct policy *p, struct why *w)
{
	enum err e = OK;

	if (cli_count(c, "scope") > 0)
		policy_set_scope(p, (enum policy_scope)cli_number(c, "scope",
		    SCOPE_HOST));
	for (size_t i = 0; e == OK && i < cli_count(c, "include"); i++)
		e = add_pattern(p, "include", cli_nth(c, "include", i), w);
	for (size_t i = 0; e == OK && i < cli_count(c, "exclude"); i++)
		e = add_pattern(p, "exclude", cli_nth(c, "exclude", i), w);
	return e;
}

/* --- headers and proxy -------------------------------------------------- */

static bool
is_secret_header(struct str name)
{
	return str_eq_nocase(name, STR("Authorization")) ||
	    str_eq_nocase(name, STR("Proxy-Authorization")) ||
	    str_eq_nocase(name, STR("Cookie"));
}

/* The policy's own reader checks the field; then it joins the others. */
static enum err
add_header(struct policy *p, struct str name, struct str value, struct why *w)
{
	FREED(buf_free) struct buf json = BUF_INIT;
	FREED(policy_free) struct policy *one = NULL;
	struct why inner = WHY_INIT;

	buf_put_text(&json, "{\"headers\":{");
	text_json(&json, name);
	buf_put_char(&json, ':');
	text_json(&json, value);
	buf_put_text(&json, "}}");
	enum err e = policy_parse(buf_str(&json), &one, &inner);
	if (e != OK)
		return why(w, ERR_USAGE, "--header: %s", inner.text);
	if (p->headers_n == POLICY_HEADERS_MAX)
		return why(w, ERR_USAGE, "--header: more than %d",
		    POLICY_HEADERS_MAX);
	struct policy_header *all = ARENA_ARRAY(&p->memory,
	    struct policy_header, p->headers_n + 1);
	for (size_t i = 0; i < p->headers_n; i++)
		all[i] = p->headers[i];
	all[p->headers_n].name = arena_copy(&p->memory, name);
	all[p->headers_n].value = arena_copy(&p->memory, value);
	p->headers = all;
	p->headers_n++;
	return OK;
}

static enum err
set_headers(struct cli *c, struct policy *p, struct why *w)
{
	for (size_t i = 0; i < cli_count(c, "header"); i++) {
		struct str text = str_of(cli_nth(c, "header", i));
		size_t colon = str_find_char(text, ':');
		struct str name = str_trim(str_cut(text, 0, colon));
		if (colon == text.n || name.n == 0)
			return why(w, ERR_USAGE, "--header %.60s: must be "
			    "\"NAME: VALUE\"", text.p);
		if (is_secret_header(name))
			return why(w, ERR_USAGE, "--header %.*s would stand on "
			    "the process list and in the archive; use --%s",
			    STR_FMT(name), str_eq_nocase(name, STR("Cookie")) ?
			    "cookie-file" : "auth-file");
		enum err e = add_header(p, name,
		    str_trim(str_from(text, colon + 1)), w);
		if (e != OK)
			return e;
	}
	return OK;
}

static enum err
set_proxy(struct cli *c, struct policy *p, struct why *w)
{
	struct str url = str_of(cli_text(c, "proxy", NULL));

	if (url.p == NULL)
		return OK;
	if (str_find_char(url, '@') < url.n)
		return why(w, ERR_USAGE, "--proxy: a password would stand on "
		    "the process list; write the URL into a file and name it "
		    "with --proxy-file");
	return set(p, "proxy", "proxy", url, w);
}

/* --- the policy --------------------------------------------------------- */

static bool
is_loopback(struct str host)
{
	uint8_t ip[16];

	if (str_eq(host, STR("localhost")) || str_ends(host, STR(".localhost")))
		return true;
	return address_parse(host, ip) &&
	    address_classify(ip) == ADDRESS_LOOPBACK;
}

static bool
all_loopback(const struct str *seeds, size_t n)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t urls_n, local = 0;
	const struct url *urls = seeds_parse(seeds, n, &a, &urls_n);

	for (size_t i = 0; i < urls_n; i++)
		local += is_loopback(urls[i].host);
	return urls_n > 0 && local == urls_n;
}

/* The defaults of `argiope crawl`. */
static enum err
own_defaults(struct policy *p, bool loopback, struct why *w)
{
	const char *const values[][2] = { { "limits.max_depth", "none" },
		{ "embeds", "true" }, { "downloads", DOWNLOADS },
		{ "rate_limit", loopback ? "0" : "1" } };
	enum err e = OK;

	policy_set_scope(p, SCOPE_HOST);
	for (size_t i = 0; e == OK && i < ARRAY_LEN(values); i++)
		e = policy_set(p, str_of(values[i][0]), str_of(values[i][1]),
		    w);
	return e;
}

static enum err
begin_with(struct cli *c, const struct str *seeds, size_t seeds_n,
    struct policy **out, struct why *w)
{
	const char *path = cli_text(c, "policy", NULL);
	struct why inner = WHY_INIT;
	struct str json;

	if (path == NULL) {
		*out = policy_new();
		return own_defaults(*out, all_loopback(seeds, seeds_n), w);
	}
	enum err e = cli_file(c, path, &json, w);
	if (e != OK)
		return e;
	e = policy_parse(json, out, &inner);
	return e == OK ? OK : why(w, e, "%s: %s", path, inner.text);
}

enum err
plan_policy(struct cli *c, const struct str *seeds, size_t seeds_n,
    struct policy **out, struct why *w)
{
	static enum err (*const steps[])(struct cli *, struct policy *,
	    struct why *) = { set_fields, set_max_time, set_max_bytes,
	    set_delay, set_scope, set_headers, set_proxy };

	*out = NULL;
	enum err e = begin_with(c, seeds, seeds_n, out, w);
	for (size_t i = 0; e == OK && i < ARRAY_LEN(steps); i++)
		e = steps[i](c, *out, w);
	if (e == OK)
		e = check_agent(c, *out, w);
	if (e != OK)
		policy_free(out);
	return e;
}

/* --- seeds and secrets -------------------------------------------------- */

static void
read_lines(struct cli *c, struct str rest, struct str *seeds, size_t *n)
{
	struct str line;

	while (str_split(&rest, '\n', &line)) {
		line = str_trim(line);
		if (line.n > 0 && line.p[0] != '#')
			seeds[(*n)++] = arena_copy(&c->arena, line);
	}
}

static size_t
count_lines(struct str text)
{
	size_t n = 1;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '\n';
	return n;
}

static enum err
check_passwords(const struct str *seeds, size_t n, struct why *w)
{
	for (size_t i = 0; i < n; i++)
		if (seed_has_password(seeds[i]))
			return why(w, ERR_USAGE, "seed %zu holds a user or "
			    "password, which would be archived; leave it away "
			    "and use --auth-file", i + 1);
	return OK;
}

enum err
plan_seeds(struct cli *c, const struct str **seeds, size_t *n, struct why *w)
{
	const struct options *o = &c->options;
	struct str texts[8];
	size_t files = cli_count(c, "seeds"), most = o->operands_n;

	*n = 0;
	if (files > ARRAY_LEN(texts))
		return why(w, ERR_USAGE, "--seeds: at most %zu files",
		    ARRAY_LEN(texts));
	for (size_t i = 0; i < files; i++) {
		enum err e = cli_file(c, cli_nth(c, "seeds", i), &texts[i], w);
		if (e != OK)
			return e;
		most += count_lines(texts[i]);
	}
	struct str *all = ARENA_ARRAY(&c->arena, struct str, most + 1);
	for (size_t i = 0; i < o->operands_n; i++)
		all[(*n)++] = str_of(o->operands[i]);
	for (size_t i = 0; i < files; i++)
		read_lines(c, texts[i], all, n);
	*seeds = all;
	return check_passwords(*seeds, *n, w);
}

static enum err
read_line(struct cli *c, const char *option, struct str *out, struct why *w)
{
	const char *path = cli_text(c, option, NULL);

	*out = STR_NONE;
	if (path == NULL)
		return OK;
	enum err e = cli_file(c, path, out, w);
	if (e != OK)
		return e;
	*out = str_trim(*out);
	if (out->n == 0 || str_find_char(*out, '\n') < out->n)
		return why(w, ERR_CONFIG, "--%s %s: the file must hold one "
		    "line", option, path);
	return OK;
}

static enum err
read_auth(struct cli *c, struct plan_secrets *s, struct why *w)
{
	struct str line;
	FREED(buf_free) struct buf b = BUF_INIT;
	enum err e = read_line(c, "auth-file", &line, w);

	if (e != OK || line.n == 0)
		return e;
	if (str_starts_nocase(line, STR("Bearer ")) ||
	    str_starts_nocase(line, STR("Basic "))) {
		s->authorization = line;
		return OK;
	}
	if (str_find_char(line, ':') == line.n)
		return why(w, ERR_CONFIG, "--auth-file: the file must hold "
		    "user:pass or Bearer TOKEN");
	buf_put_text(&b, "Basic ");
	base64_put(&b, line);
	s->authorization = arena_copy(&c->arena, buf_str(&b));
	return OK;
}

static enum err
read_cookies(struct cli *c, struct plan_secrets *s, struct why *w)
{
	const char *path = cli_text(c, "cookie-file", NULL);
	struct why inner = WHY_INIT;

	if (path == NULL)
		return OK;
	enum err e = cli_file(c, path, &s->cookies, w);
	if (e == OK && crawl_check_cookies(s->cookies, &inner) != OK)
		e = why(w, ERR_CONFIG, "--cookie-file %s: %s; it must be a "
		    "Netscape cookie file, as browsers' add-ons and curl "
		    "write them", path, inner.text);
	return e;
}

static enum err
read_proxy(struct cli *c, struct plan_secrets *s, struct why *w)
{
	struct transport_proxy p;
	enum err e = read_line(c, "proxy-file", &s->proxy, w);

	if (e == OK && !transport_proxy_read(s->proxy, &p))
		e = why(w, ERR_CONFIG, "--proxy-file: the file must hold the "
		    "URL of a proxy: http, socks4, socks4a, socks5 or socks5h");
	return e;
}

enum err
plan_secrets(struct cli *c, struct plan_secrets *s, struct why *w)
{
	*s = (struct plan_secrets){ .proxy = STR_NONE };
	enum err e = read_auth(c, s, w);
	if (e == OK)
		e = read_proxy(c, s, w);
	return e == OK ? read_cookies(c, s, w) : e;
}
