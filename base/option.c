#include "base/option.h"

#include "base/guess.h"

/* The state of one reading. */
struct words {
	const struct option_verb *verb;
	int argc;
	const char *const *argv;
	int at;                    /* the next word */
	struct options *out;
	struct why *why;
};

static const struct option_row *
find_long(const struct option_verb *v, struct str name)
{
	size_t i = str_find_row(name, v->rows, v->rows_n, sizeof(*v->rows),
	    str_eq);

	return i < v->rows_n ? &v->rows[i] : NULL;
}

static const struct option_row *
find_letter(const struct option_verb *v, char letter)
{
	for (size_t i = 0; i < v->rows_n; i++)
		if (v->rows[i].letter == letter)
			return &v->rows[i];
	return NULL;
}

static enum err
unknown_long(struct words *w, struct str name)
{
	struct guess near = { name, NULL, 0 };

	for (size_t i = 0; i < w->verb->rows_n; i++)
		guess_look(&near, w->verb->rows[i].name);
	return why(w->why, ERR_USAGE, "%s: there is no option --%.*s%s%s%s",
	    w->verb->name, (int)MIN(name.n, 60), name.p,
	    near.best == NULL ? "" : "; did you mean --",
	    near.best == NULL ? "" : near.best, near.best == NULL ? "" : "?");
}

static bool
find_word(const char *choices, struct str s, int64_t *at)
{
	struct str rest = str_of(choices), word;

	for (*at = 0; str_split(&rest, '|', &word); (*at)++)
		if (str_eq(s, word))
			return true;
	return false;
}

static enum err
check_value(struct words *w, const struct option_row *row, const char *text,
    int64_t *number)
{
	if (row->type == OPTION_NUMBER && (!str_to_i64(str_of(text), number) ||
	    *number < row->least || *number > row->most))
		return why(w->why, ERR_USAGE, "%s: --%s %.60s: must be a whole "
		    "number from %lld to %lld", w->verb->name, row->name, text,
		    (long long)row->least, (long long)row->most);
	if (row->type == OPTION_CHOICE &&
	    !find_word(row->value, str_of(text), number))
		return why(w->why, ERR_USAGE, "%s: --%s %.60s: must be one of "
		    "%s", w->verb->name, row->name, text, row->value);
	return OK;
}

static enum err
take(struct words *w, const struct option_row *row, const char *text)
{
	struct option_given *g = &w->out->given[row - w->verb->rows];
	enum err e = text == NULL ? OK : check_value(w, row, text, &g->number);

	if (e != OK)
		return e;
	g->texts = mem_resize(g->texts, g->count + 1, sizeof(*g->texts));
	g->texts[g->count++] = text == NULL ? "" : text;
	return OK;
}

/* The value of an option that stands alone: the next word. */
static enum err
take_with_next(struct words *w, const struct option_row *row)
{
	if (w->at == w->argc)
		return why(w->why, ERR_USAGE, "%s: --%s wants a value: %s",
		    w->verb->name, row->name, row->value);
	return take(w, row, w->argv[w->at++]);
}

/* "name" or "name=value". */
static enum err
read_long(struct words *w, const char *word)
{
	size_t n = strcspn(word, "=");
	const char *value = word[n] == '=' ? word + n + 1 : NULL;
	const struct option_row *row = find_long(w->verb,
	    (struct str){ word, n });

	if (row == NULL)
		return unknown_long(w, (struct str){ word, n });
	if (row->type == OPTION_FLAG && value != NULL)
		return why(w->why, ERR_USAGE, "%s: --%s takes no value",
		    w->verb->name, row->name);
	if (row->type == OPTION_FLAG || value != NULL)
		return take(w, row, value);
	return take_with_next(w, row);
}

/* "vxn5": flags, and perhaps one option with its value at the end. */
static enum err
read_letters(struct words *w, const char *letters)
{
	enum err e = OK;

	for (; e == OK && *letters != '\0'; letters++) {
		const struct option_row *row = find_letter(w->verb, *letters);
		if (row == NULL)
			return why(w->why, ERR_USAGE, "%s: there is no option "
			    "-%c", w->verb->name,
			    (unsigned char)*letters < 0x20 ? '?' : *letters);
		if (row->type == OPTION_FLAG)
			e = take(w, row, NULL);
		else if (letters[1] != '\0')
			return take(w, row, letters + 1);
		else
			e = take_with_next(w, row);
	}
	return e;
}

static void
take_operand(struct words *w, const char *word)
{
	struct options *o = w->out;

	o->operands[o->operands_n++] = word;
}

static bool
wants_help(const struct options *o)
{
	const struct option_row *row = find_long(o->verb, STR("help"));

	return row != NULL && o->given[row - o->verb->rows].count > 0;
}

static enum err
check_operands(struct words *w)
{
	const struct option_verb *v = w->verb;
	const struct options *o = w->out;

	if (wants_help(o))
		return OK;
	if (o->operands_n < v->operands_min)
		return why(w->why, ERR_USAGE, "%s wants %s", v->name,
		    v->operands);
	if (o->operands_n > v->operands_max)
		return why(w->why, ERR_USAGE, "%s: too many words: %.60s",
		    v->name, o->operands[v->operands_max]);
	return OK;
}

enum err
options_read(const struct option_verb *verb, int argc,
    const char *const *argv, struct options *o, struct why *why)
{
	struct words w = { verb, argc, argv, 0, o, why };
	bool only_operands = false;
	enum err e = OK;

	o->verb = verb;
	o->given = mem_array(MAX(verb->rows_n, 1), sizeof(*o->given));
	o->operands = mem_array((size_t)MAX(argc, 1), sizeof(*o->operands));
	o->operands_n = 0;
	while (e == OK && w.at < argc) {
		const char *word = argv[w.at++];
		/* "-" alone is an operand: standard input, mostly. */
		if (only_operands || word[0] != '-' || word[1] == '\0')
			take_operand(&w, word);
		else if (strcmp(word, "--") == 0)
			only_operands = true;
		else if (word[1] == '-')
			e = read_long(&w, word + 2);
		else
			e = read_letters(&w, word + 1);
	}
	if (e == OK)
		e = check_operands(&w);
	if (e != OK)
		options_free(o);
	return e;
}

void
options_free(struct options *o)
{
	for (size_t i = 0; o->given != NULL && i < o->verb->rows_n; i++)
		mem_free(&o->given[i].texts);
	mem_free(&o->given);
	mem_free(&o->operands);
	o->operands_n = 0;
}

static const struct option_given *
given(const struct options *o, size_t row)
{
	CHECK(o->given != NULL && row < o->verb->rows_n);
	return &o->given[row];
}

size_t
option_count(const struct options *o, size_t row)
{
	return given(o, row)->count;
}

const char *
option_text(const struct options *o, size_t row, const char *otherwise)
{
	const struct option_given *g = given(o, row);

	return g->count == 0 ? otherwise : g->texts[g->count - 1];
}

int64_t
option_number(const struct options *o, size_t row, int64_t otherwise)
{
	const struct option_given *g = given(o, row);

	CHECK(o->verb->rows[row].type == OPTION_NUMBER ||
	    o->verb->rows[row].type == OPTION_CHOICE);
	return g->count == 0 ? otherwise : g->number;
}

/* How many words the name has when argv begins with it, else 0. */
static int
name_matches(const char *name, int argc, const char *const *argv)
{
	struct str rest = str_of(name), word;
	int n = 0;

	for (; str_split(&rest, ' ', &word); n++)
		if (n >= argc || !str_eq(word, str_of(argv[n])))
			return 0;
	return n;
}

const struct option_verb *
option_find_verb(const struct option_verb *verbs, size_t n, int argc,
    const char *const *argv, int *words)
{
	const struct option_verb *found = NULL;

	*words = 0;
	for (size_t i = 0; i < n; i++) {
		int k = name_matches(verbs[i].name, argc, argv);
		/* "archive ls" before "archive". */
		if (k > *words) {
			found = &verbs[i];
			*words = k;
		}
	}
	return found;
}

const char *
option_nearest_verb(const struct option_verb *verbs, size_t n, int argc,
    const char *const *argv)
{
	FREED(buf_free) struct buf two = BUF_INIT;
	const char *best = NULL;

	if (argc == 0)
		return NULL;
	buf_put_text(&two, argv[0]);
	struct guess near = { buf_str(&two), NULL, 0 };
	if (argc > 1) {
		buf_printf(&two, " %s", argv[1]);
		near.wrong = buf_str(&two);
		for (size_t i = 0; i < n; i++)
			guess_look(&near, verbs[i].name);
	}
	if (near.best == NULL) {
		near.wrong = str_of(argv[0]);
		for (size_t i = 0; i < n; i++)
			guess_look(&near, verbs[i].name);
	}
	best = near.best;
	return best;
}
