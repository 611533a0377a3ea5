/*
 * ask -- our answers, for oracles.py to hold against those of others.
 *
 *     ask [LIST] < QUESTIONS      LIST: a public suffix list of one's own
 *
 * A question is a line, a verb and fields behind tabs; a field is bytes in hex.
 * Each gets one line:
 *
 *     url INPUT [BASE]            the URL in hex; "-" when it is none;
 *                                 "differ" when our two parsers disagree
 *     domain HOST                 the registrable domain in hex, or "-"
 *     robots BODY TOKEN TARGET    "1" or "0", and the number of the line
 */
#include <libpsl.h>

#include "engine/parser/url.h"
#include "engine/policy/robots.h"
#include "engine/policy/suffix.h"

#define FIELDS_MAX 3

static psl_ctx_t *list;

static struct str
unhex(struct arena *a, struct str hex)
{
	char *p = arena_bytes(a, hex.n / 2 + 1);

	for (size_t i = 0; i + 1 < hex.n; i += 2)
		p[i / 2] = (char)(16 * ascii_hex_value(hex.p[i]) +
		    ascii_hex_value(hex.p[i + 1]));
	return (struct str){ p, hex.n / 2 };
}

static void
say_hex(struct str s)
{
	if (s.p == NULL)
		putchar('-');
	for (size_t i = 0; i < s.n; i++)
		printf("%02x", (unsigned char)s.p[i]);
	putchar('\n');
}

static void
ask_url(struct arena *a, const struct str *field, size_t n)
{
	struct url base, quick, slow;
	const struct url *b = n > 1 ? &base : NULL;

	if (n > 1 && url_parse(field[1], NULL, a, &base, NULL) != OK) {
		say_hex(STR_NONE);
		return;
	}
	enum err e = url_parse(field[0], b, a, &quick, NULL);
	enum err e2 = url_parse_slow(field[0], b, a, &slow, NULL);
	if ((e == OK) != (e2 == OK) ||
	    (e == OK && !str_eq(quick.href, slow.href)))
		puts("differ");
	else
		say_hex(e == OK ? quick.href : STR_NONE);
}

static void
ask_robots(const struct str *field)
{
	struct robots *r = robots_parse(field[0], field[1]);
	struct robots_match m;

	bool allowed = robots_allows(r, field[2], &m);
	printf("%d %u\n", allowed, m.line);
	robots_free(&r);
}

static void
ask(struct arena *a, struct str line)
{
	struct str verb, part, field[FIELDS_MAX];
	size_t n = 0;

	CHECK(str_split(&line, '\t', &verb));
	while (n < FIELDS_MAX && str_split(&line, '\t', &part))
		field[n++] = unhex(a, part);
	if (str_eq(verb, STR("url")) && n >= 1)
		ask_url(a, field, n);
	else if (str_eq(verb, STR("domain")) && n == 1)
		say_hex(list != NULL ? suffix_domain_by(list, field[0]) :
		    suffix_domain(field[0]));
	else if (str_eq(verb, STR("robots")) && n == 3)
		ask_robots(field);
	else
		puts("what?");
}

int
main(int argc, char **argv)
{
	struct arena a = ARENA_INIT;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	if (argc > 1 && (list = psl_load_file(argv[1])) == NULL) {
		fprintf(stderr, "ask: %s cannot be read\n", argv[1]);
		return 1;
	}
	while ((n = getline(&line, &cap, stdin)) > 0) {
		arena_reset(&a);
		n -= line[n - 1] == '\n';
		ask(&a, (struct str){ line, (size_t)n });
	}
	free(line);
	arena_free(&a);
	psl_free(list);
	return 0;
}
