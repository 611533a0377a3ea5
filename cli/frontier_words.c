/*
 * From the words of `argiope frontier` to those of the table: options that
 * stand before the verb go behind it under their long names.
 */
#include "cli/frontier.h"
#include "cli/verbs.h"

#define FAMILY "frontier"

/* Options before the verb. */
static const struct {
	const char *name;
	char letter;
	bool flag;
} before[] = {
	{ "host", 't', false }, { "port", 'p', false }, { "tls", 0, true },
	{ "ca", 0, false }, { "token-file", 0, false }, { "json", 0, true },
	{ "config", 0, false }, { "data", 0, false }, { "set", 0, false },
};

struct walk {
	int argc, at;
	const char *const *argv;
	struct frontier_words *out;
	struct why *why;
};

static void
put(struct frontier_words *f, const char *word)
{
	f->argv[f->argc++] = word;
}

/* "--name" and, where the option takes one, its value. */
static enum err
take(struct walk *k, size_t row, const char *value)
{
	struct arena *a = &k->out->arena;

	if (before[row].flag && value != NULL)
		return why(k->why, ERR_USAGE, FAMILY ": --%s takes no value",
		    before[row].name);
	if (!before[row].flag && value == NULL && k->at == k->argc)
		return why(k->why, ERR_USAGE, FAMILY ": --%s wants a value",
		    before[row].name);
	put(k->out, arena_printf(a, "--%s", before[row].name).p);
	if (!before[row].flag)
		put(k->out, value != NULL ? value : k->argv[k->at++]);
	return OK;
}

/* "--name", "--name=value", "-t value", "-tvalue". */
static enum err
take_option(struct walk *k, const char *word)
{
	size_t n = strcspn(word, "=");

	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		if (word[1] == '-') {
			struct str name = { word + 2, n - 2 };
			if (str_eq(name, str_of(before[i].name)))
				return take(k, i, word[n] == '=' ?
				    word + n + 1 : NULL);
		} else if (before[i].letter == word[1]) {
			return take(k, i, word[2] != '\0' ? word + 2 : NULL);
		}
	}
	return why(k->why, ERR_USAGE, FAMILY ": there is no option %.40s "
	    "before the verb; those of a verb stand behind it", word);
}

/* Whether `word` is the verb but for case, hyphens and underscores. */
static bool
is_verb(const char *word, const char *verb)
{
	for (;; word++, verb++) {
		while (*word == '-' || *word == '_')
			word++;
		if (ascii_lower(*word) != ascii_lower(*verb))
			return false;
		if (*word == '\0')
			return true;
	}
}

static enum err
find_verb(struct walk *k, const char *word, const char **out)
{
	struct str family = STR(FAMILY " ");
	const char *two[] = { FAMILY, word };
	size_t n;
	const struct option_verb *rows = verbs_all(&n);

	for (size_t i = 0; i < n; i++)
		if (str_starts(str_of(rows[i].name), family) &&
		    is_verb(word, rows[i].name + family.n)) {
			*out = rows[i].name + family.n;
			return OK;
		}
	if (is_verb(word, "PutDiscovered"))
		return why(k->why, ERR_USAGE, "PutDiscovered is "
		    CLI_PROGRAM " " FAMILY " PutURLs --batch N");
	const char *near = option_nearest_verb(rows, n, 2, two);
	return why(k->why, ERR_USAGE, "there is no verb " FAMILY " %.40s%s%s; "
	    CLI_PROGRAM " " FAMILY " --help lists them", word,
	    near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
}

static enum err
walk(struct walk *k)
{
	struct frontier_words *f = k->out;
	int verb_at = f->argc;
	const char *verb = NULL;
	enum err e = OK;

	put(f, NULL);
	while (e == OK && verb == NULL && k->at < k->argc) {
		const char *word = k->argv[k->at++];
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
			verb = word;
		else if (word[0] == '-' && word[1] != '\0')
			e = take_option(k, word);
		else
			e = find_verb(k, word, &verb);
	}
	if (e != OK)
		return e;
	/* The table says what is missing. */
	if (verb == NULL)
		f->argc = verb_at;
	else
		f->argv[verb_at] = verb;
	while (verb != NULL && k->at < k->argc)
		put(f, k->argv[k->at++]);
	return OK;
}

enum err
frontier_words(int argc, const char *const *argv, struct frontier_words *f,
    struct why *w)
{
	struct walk k = { argc, 1, argv, f, w };

	/* "-tH" becomes two words, and there is one for the verb. */
	*f = (struct frontier_words){ .arena = ARENA_INIT };
	f->argv = ARENA_ARRAY(&f->arena, const char *, 2 * (size_t)argc + 2);
	put(f, argv[0]);
	return walk(&k);
}

void
frontier_words_free(struct frontier_words *f)
{
	arena_free(&f->arena);
	*f = (struct frontier_words){ .arena = ARENA_INIT };
}

int
frontier_exit(int code)
{
	if (code == 0)
		return 0;
	return code == err_exit(ERR_USAGE) ? 2 : 1;
}

enum err
frontier_wants(struct cli *c, const char *option, struct why *w)
{
	if (cli_count(c, option) > 0)
		return OK;
	return why(w, ERR_USAGE, "%s wants --%s", c->verb->name, option);
}

char *
frontier_text(struct cli *c, const char *option, const char *otherwise)
{
	return (char *)(uintptr_t)cli_text(c, option, otherwise);
}
