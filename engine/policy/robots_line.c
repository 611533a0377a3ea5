#include "engine/policy/robots_line.h"

/* The misspellings are those that search engines are known to forgive. */
static const struct {
	const char *word;
	enum robots_key key;
} words[] = {
	{ "user-agent", ROBOTS_KEY_AGENT },
	{ "useragent", ROBOTS_KEY_AGENT },
	{ "user agent", ROBOTS_KEY_AGENT },
	{ "useg-agent", ROBOTS_KEY_AGENT },
	{ "disallow", ROBOTS_KEY_DISALLOW },
	{ "desallow", ROBOTS_KEY_DISALLOW },
	{ "dissallow", ROBOTS_KEY_DISALLOW },
	{ "dissalow", ROBOTS_KEY_DISALLOW },
	{ "disalow", ROBOTS_KEY_DISALLOW },
	{ "diasllow", ROBOTS_KEY_DISALLOW },
	{ "disallaw", ROBOTS_KEY_DISALLOW },
	{ "allow", ROBOTS_KEY_ALLOW },
	{ "crawl-delay", ROBOTS_KEY_DELAY },
	{ "crawldelay", ROBOTS_KEY_DELAY },
	{ "crawl delay", ROBOTS_KEY_DELAY },
	{ "sitemap", ROBOTS_KEY_SITEMAP },
	{ "site-map", ROBOTS_KEY_SITEMAP },
};

static enum robots_key
key_of(struct str word)
{
	size_t i = STR_ROW_NOCASE(word, words);

	return i < ARRAY_LEN(words) ? words[i].key : ROBOTS_KEY_OTHER;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* "key value" without a colon is taken when the value is one word. */
static bool
split_at_blank(struct str line, struct str *word, struct str *value)
{
	size_t n = 0;

	while (n < line.n && !is_blank(line.p[n]))
		n++;
	*word = str_cut(line, 0, n);
	*value = str_trim(str_from(line, n));
	for (size_t i = 0; i < value->n; i++)
		if (is_blank(value->p[i]))
			return false;
	return true;
}

/* A line that is only the URL of a sitemap: "sitemap:" was forgotten. */
static bool
is_stray_sitemap(struct str line)
{
	if (!str_starts_nocase(line, STR("http://")) &&
	    !str_starts_nocase(line, STR("https://")))
		return false;
	return str_find(line, STR("sitemap")) < line.n &&
	    (str_ends(line, STR(".xml")) || str_ends(line, STR(".xml.gz")));
}

static bool
parse_line(struct str line, struct robots_line *out)
{
	struct str word;

	out->text = str_trim(line);
	line = str_trim(str_cut(line, 0, str_find_char(line, '#')));
	if (line.n == 0)
		return false;
	size_t colon = str_find_char(line, ':');
	if (colon < line.n) {
		word = str_trim(str_cut(line, 0, colon));
		out->value = str_trim(str_from(line, colon + 1));
	} else if (!split_at_blank(line, &word, &out->value)) {
		return false;
	}
	out->key = key_of(word);
	if (out->key == ROBOTS_KEY_OTHER && is_stray_sitemap(line)) {
		out->key = ROBOTS_KEY_SITEMAP;
		out->value = line;
	}
	return true;
}

struct robots_reader
robots_reader_of(struct str text)
{
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = str_from(text, 3);
	return (struct robots_reader){ text, 0 };
}

bool
robots_next(struct robots_reader *r, struct robots_line *out)
{
	while (r->rest.n > 0) {
		const char *p = r->rest.p;
		size_t n = 0;
		while (n < r->rest.n && p[n] != '\n' && p[n] != '\r')
			n++;
		struct str line = str_cut(r->rest, 0, n);
		n += n + 1 < r->rest.n && p[n] == '\r' && p[n + 1] == '\n';
		r->rest = str_from(r->rest, n + 1);
		out->number = ++r->number;
		if (parse_line(line, out))
			return true;
	}
	return false;
}

static bool
is_name_byte(char c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c) || c == '-' || c == '_';
}

bool
robots_agent_is(struct str agent, struct str token)
{
	if (token.n == 0 || !str_starts_nocase(agent, token))
		return false;
	return agent.n == token.n || !is_name_byte(agent.p[token.n]);
}

bool
robots_agent_is_star(struct str agent)
{
	return agent.n > 0 && agent.p[0] == '*' &&
	    (agent.n == 1 || is_blank(agent.p[1]));
}
