#include "engine/policy/robots.h"

#include "base/map.h"
#include "engine/parser/charset.h"
#include "engine/policy/robots_line.h"

/*
 * A pattern is kept in its canonical form: every octet that is printable ASCII
 * stands for itself, the others and "%" are %XX in capitals; "*" is the
 * wildcard, a literal "*" or "$" is %2A or %24.  Targets are brought into the
 * same form, so that RFC 9309 section 2.2.2's comparison is memcmp.  Reserved
 * characters and their %XX forms thereby compare equal, as its table asks.
 */
struct rule {
	uint64_t key, mask;     /* the first eight literal bytes */
	uint32_t at, n;         /* canonical pattern, in `text` */
	uint32_t literal_n;     /* bytes before the first "*" */
	uint32_t octets_n;      /* that count: the "$", each "*" of a row */
	uint32_t line, line_at, line_n;
	bool allow, anchored;   /* anchored: it ended in "$" */
};

struct piece {
	uint32_t at, n;
};

struct robots {
	const struct rule *rules;       /* longest first, Allow first */
	const struct piece *sitemaps;
	const char *text;
	int64_t delay_ms;
	bool forbid_all;
	struct robots_facts facts;
};

/* Collected by the parser until the size of the one allocation is known. */
struct gathered {
	struct buf rules, sitemaps, text;
	struct map known_sitemaps;      /* keys borrow from the body */
	double delay_s;                 /* negative: none */
	struct robots_facts facts;
};

/* Which crawlers the lines now being read are meant for. */
struct group {
	bool agents_open;               /* the last record named an agent */
	bool ours, star;
	bool delay_agents_open, delay_ours, delay_star;
};

/* Room for the canonical form of n bytes. */
#define CANONICAL_MAX(n) (3 * (n))

static char *
put_escaped(char *out, unsigned char c)
{
	static const char hex[] = "0123456789ABCDEF";

	*out++ = '%';
	*out++ = hex[c >> 4];
	*out++ = hex[c & 15];
	return out;
}

/*
 * The canonical form of s; returns its length.  In a pattern "*" stays the
 * wildcard, and of several in a row one is kept.
 */
static size_t
canonical(struct str s, bool pattern, char *out)
{
	char *to = out;

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c > ' ' && c < 0x7f && c != '%' && c != '*' && c != '$') {
			*to++ = (char)c;
			continue;
		}
		if (c == '*' && pattern) {
			if (to == out || to[-1] != '*')
				*to++ = '*';
			continue;
		}
		int byte = str_percent_byte(str_from(s, i));
		if (byte >= 0) {
			c = (unsigned char)byte;
			i += 2;
			if (c > ' ' && c < 0x7f && c != '%' && c != '*' &&
			    c != '$') {
				*to++ = (char)c;
				continue;
			}
		}
		to = put_escaped(to, c);
	}
	return (size_t)(to - out);
}

static uint64_t
first_eight(const char *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, MIN(n, sizeof(v)));
	return v;
}

static uint32_t
stars_in(struct str s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '*';
	return n;
}

/* Put an Allow or Disallow line that binds us. */
static void
gather_rule(struct gathered *g, const struct robots_line *l)
{
	struct str pattern = l->value;
	struct rule r = { .allow = l->key == ROBOTS_KEY_ALLOW,
		.line = l->number };

	/* An empty Disallow forbids nothing; other values are no paths. */
	if (pattern.n == 0 || (pattern.p[0] != '/' && pattern.p[0] != '*'))
		return;
	if (g->facts.rules_n == ROBOTS_RULES_MAX) {
		g->facts.rules_left_out++;
		return;
	}
	if (pattern.p[pattern.n - 1] == '$') {
		r.anchored = true;
		pattern.n--;
	}
	r.at = (uint32_t)g->text.n;
	buf_reserve(&g->text, CANONICAL_MAX(pattern.n));
	char *form = g->text.p + g->text.n;
	r.n = (uint32_t)canonical(pattern, true, form);
	g->text.n += r.n;
	r.octets_n = r.n + r.anchored + stars_in(pattern) -
	    stars_in((struct str){ form, r.n });
	r.literal_n = (uint32_t)str_find_char((struct str){ form, r.n }, '*');
	r.key = first_eight(form, r.literal_n);
	memset(&r.mask, 0xff, MIN(r.literal_n, sizeof(r.mask)));
	r.line_at = (uint32_t)g->text.n;
	r.line_n = (uint32_t)MIN(l->text.n, ROBOTS_LINE_SHOWN_MAX);
	buf_put(&g->text, l->text.p, r.line_n);
	buf_put(&g->rules, &r, sizeof(r));
	g->facts.rules_n++;
}

static void
gather_sitemap(struct gathered *g, struct str value)
{
	if (value.n == 0 || g->facts.sitemaps_n == ROBOTS_SITEMAPS_MAX ||
	    map_get(&g->known_sitemaps, value) != NULL)
		return;
	map_put(&g->known_sitemaps, value, g);
	struct piece p = { (uint32_t)g->text.n, (uint32_t)value.n };
	buf_put_str(&g->text, value);
	buf_put(&g->sitemaps, &p, sizeof(p));
	g->facts.sitemaps_n++;
}

/* The number in front; several delays for us: the longest, to be polite. */
static void
gather_delay(struct gathered *g, struct str value)
{
	size_t n = 0;
	double s;

	while (n < value.n && (ascii_is_digit(value.p[n]) ||
	    value.p[n] == '.'))
		n++;
	if (!str_to_double(str_cut(value, 0, n), &s))
		return;
	if (s > ROBOTS_CRAWL_DELAY_MAX_S) {
		s = ROBOTS_CRAWL_DELAY_MAX_S;
		g->facts.delay_capped = true;
	}
	g->delay_s = MAX(g->delay_s, s);
}

static void
group_agent(struct group *now, struct str agent, struct str token)
{
	bool star = robots_agent_is_star(agent);
	bool ours = robots_agent_is(agent, token);

	if (!now->agents_open)
		now->ours = now->star = false;
	if (!now->delay_agents_open)
		now->delay_ours = now->delay_star = false;
	now->agents_open = now->delay_agents_open = true;
	now->ours |= ours;
	now->star |= star;
	now->delay_ours |= ours;
	now->delay_star |= star;
}

/* Whether any group names us; it then binds alone (section 2.2.1). */
static bool
text_names(struct str text, struct str token)
{
	struct robots_reader r = robots_reader_of(text);
	struct robots_line l;

	while (robots_next(&r, &l))
		if (l.key == ROBOTS_KEY_AGENT &&
		    robots_agent_is(l.value, token))
			return true;
	return false;
}

/*
 * Only Allow and Disallow end a list of agents: other records do not interfere
 * (section 2.2.4).  A Crawl-delay belongs to the agents named since the last
 * rule or Crawl-delay.
 */
static void
gather(struct gathered *g, struct str text, struct str token)
{
	struct robots_reader r = robots_reader_of(text);
	struct robots_line l;
	struct group now = { 0 };

	g->facts.named = text_names(text, token);
	while (robots_next(&r, &l)) {
		switch (l.key) {
		case ROBOTS_KEY_AGENT:
			group_agent(&now, l.value, token);
			break;
		case ROBOTS_KEY_ALLOW:
		case ROBOTS_KEY_DISALLOW:
			now.agents_open = now.delay_agents_open = false;
			if (g->facts.named ? now.ours : now.star)
				gather_rule(g, &l);
			break;
		case ROBOTS_KEY_DELAY:
			now.delay_agents_open = false;
			if (g->facts.named ? now.delay_ours : now.delay_star)
				gather_delay(g, l.value);
			break;
		case ROBOTS_KEY_SITEMAP:
			gather_sitemap(g, l.value);
			break;
		case ROBOTS_KEY_OTHER:
			break;
		}
	}
}

static int
rule_order(const void *x, const void *y)
{
	const struct rule *a = x, *b = y;
	if (a->octets_n != b->octets_n)
		return a->octets_n > b->octets_n ? -1 : 1;
	if (a->allow != b->allow)
		return a->allow ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* One allocation: the head, the rules, the sitemaps, the text. */
static struct robots *
compile(struct gathered *g)
{
	size_t size = sizeof(struct robots) + g->rules.n + g->sitemaps.n +
	    g->text.n;
	struct robots *r = mem_new(size);
	char *at = (char *)(r + 1);

	if (g->rules.n != 0)
		qsort(g->rules.p, g->facts.rules_n, sizeof(struct rule),
		    rule_order);
	struct buf *const parts[] = { &g->rules, &g->sitemaps, &g->text };
	const char *starts[ARRAY_LEN(parts)];
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		starts[i] = at;
		if (parts[i]->n != 0)
			memcpy(at, parts[i]->p, parts[i]->n);
		at += parts[i]->n;
	}
	r->rules = (const void *)starts[0];
	r->sitemaps = (const void *)starts[1];
	r->text = starts[2];
	r->delay_ms = g->delay_s < 0 ? -1 : (int64_t)(g->delay_s * 1000 + 0.5);
	r->facts = g->facts;
	r->facts.memory = size;
	return r;
}

/* End the text at its last whole line: half a rule could say another thing. */
static struct str
cut_to_lines(struct str body, bool *cut)
{
	if (body.n <= ROBOTS_BYTES_MAX)
		return body;
	*cut = true;
	size_t n = ROBOTS_BYTES_MAX;
	if (body.p[n] == '\n' || body.p[n] == '\r')
		return str_cut(body, 0, n);
	while (n > 0 && body.p[n - 1] != '\n' && body.p[n - 1] != '\r')
		n--;
	return str_cut(body, 0, n);
}

struct robots *
robots_parse(struct str body, struct str product_token)
{
	struct gathered g = { .delay_s = -1 };
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *bom = charset_by_bom(body);
	struct robots *r;

	if (bom != NULL && str_starts(str_of(bom), STR("UTF-16"))) {
		/* A cut UTF-16 text ends in a half line; it is dropped too. */
		g.facts.cut = body.n > ROBOTS_BYTES_MAX;
		body = charset_to_utf8(bom, str_cut(body, 0, ROBOTS_BYTES_MAX),
		    &a);
		while (g.facts.cut && body.n > 0 &&
		    body.p[body.n - 1] != '\n' && body.p[body.n - 1] != '\r')
			body.n--;
	} else {
		body = cut_to_lines(body, &g.facts.cut);
	}
	gather(&g, body, product_token);
	r = compile(&g);
	buf_free(&g.rules);
	buf_free(&g.sitemaps);
	buf_free(&g.text);
	map_free(&g.known_sitemaps);
	return r;
}

struct robots *
robots_all(bool allow)
{
	struct robots *r = mem_new(sizeof(*r));

	r->forbid_all = !allow;
	r->delay_ms = -1;
	r->facts.memory = sizeof(*r);
	return r;
}

void
robots_free(struct robots **r)
{
	mem_free(r);
}

enum robots_status
robots_from_status(int http_status)
{
	if (http_status == 429)
		return ROBOTS_FORBID_ALL;
	if (http_status >= 200 && http_status <= 299)
		return ROBOTS_PARSE;
	if (http_status >= 300 && http_status <= 499)
		return ROBOTS_ALLOW_ALL;
	return ROBOTS_FORBID_ALL;
}

/*
 * Match what follows the literal beginning.  Greedy: each piece between two
 * wildcards is found as early as it can be, which never loses a match, and no
 * byte of the target is passed twice by two pieces.
 */
static bool
pieces_match(struct str pattern, bool anchored, struct str target)
{
	while (pattern.n > 0) {
		pattern = str_from(pattern, 1);        /* the "*" */
		size_t n = str_find_char(pattern, '*');
		struct str piece = str_cut(pattern, 0, n);
		if (n == pattern.n && anchored)
			return str_ends(target, piece);
		size_t at = str_find(target, piece);
		if (at == target.n && piece.n != 0)
			return false;
		target = str_from(target, at + piece.n);
		pattern = str_from(pattern, n);
	}
	return !anchored || target.n == 0;
}

/* The first eight bytes are known to match. */
static bool
rule_matches(const struct robots *r, const struct rule *rule,
    struct str target)
{
	const char *pattern = r->text + rule->at;

	if (target.n < rule->literal_n ||
	    memcmp(pattern, target.p, rule->literal_n) != 0)
		return false;
	if (rule->literal_n == rule->n)
		return !rule->anchored || target.n == rule->n;
	struct str rest = { pattern + rule->literal_n,
		rule->n - rule->literal_n };
	return pieces_match(rest, rule->anchored,
	    str_from(target, rule->literal_n));
}

/* The reason of a verdict that no line of robots.txt decided. */
static const struct rule no_rule = { .allow = true };
static const struct rule too_much_work = { .allow = false };

static const struct rule *
deciding_rule(const struct robots *r, struct str target)
{
	uint64_t key = first_eight(target.p, target.n);
	size_t work = 0;

	for (size_t i = 0; i < r->facts.rules_n; i++) {
		const struct rule *rule = &r->rules[i];
		if (((key ^ rule->key) & rule->mask) != 0)
			continue;
		if (rule->literal_n < rule->n)
			work += target.n;
		if (work > ROBOTS_WORK_MAX)
			return &too_much_work;
		if (rule_matches(r, rule, target))
			return rule;
	}
	return &no_rule;
}

static bool
is_robots_txt(struct str target)
{
	static const struct str name = STR("/robots.txt");

	return str_starts(target, name) &&
	    (target.n == name.n || target.p[name.n] == '?');
}

static bool
decide(const struct robots *r, const struct rule *rule, struct str target,
    struct robots_match *why)
{
	struct robots_match m = { .allowed = true };

	if (is_robots_txt(target)) {
		m.text = STR("robots.txt itself may always be fetched");
	} else if (r->forbid_all) {
		m.allowed = false;
		m.text = STR("robots.txt could not be read, which forbids all");
	} else if (rule == &no_rule) {
		m.text = STR("no rule of robots.txt matches");
	} else if (rule == &too_much_work) {
		m.allowed = false;
		m.text = STR("robots.txt has too many wildcards for this URL");
	} else {
		m.allowed = rule->allow;
		m.line = rule->line;
		m.text = (struct str){ r->text + rule->line_at, rule->line_n };
	}
	if (why != NULL)
		*why = m;
	return m.allowed;
}

bool
robots_allows(const struct robots *r, struct str target,
    struct robots_match *why)
{
	char room[4096], *form = room;
	const struct rule *rule = &no_rule;

	if (target.n == 0)
		target = STR("/");
	if (r->facts.rules_n > 0) {
		if (CANONICAL_MAX(target.n) > sizeof(room))
			form = mem_array(target.n, CANONICAL_MAX(1));
		size_t n = canonical(target, false, form);
		rule = deciding_rule(r, (struct str){ form, n });
		if (form != room)
			mem_free(&form);
	}
	return decide(r, rule, target, why);
}

int64_t
robots_delay_ms(const struct robots *r)
{
	return r->delay_ms;
}

struct str
robots_sitemap(const struct robots *r, size_t i)
{
	if (i >= r->facts.sitemaps_n)
		return STR_NONE;
	return (struct str){ r->text + r->sitemaps[i].at, r->sitemaps[i].n };
}

enum err
robots_sitemap_url(const struct robots *r, size_t i,
    const struct url *robots_url, struct arena *a, struct url *out,
    struct why *w)
{
	struct str s = robots_sitemap(r, i);

	if (s.p == NULL)
		return why(w, ERR_ABSENT, "robots.txt names %zu sitemaps",
		    r->facts.sitemaps_n);
	return url_parse(s, robots_url, a, out, w);
}

struct robots_facts
robots_facts(const struct robots *r)
{
	return r->facts;
}
