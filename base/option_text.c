/* From the rows of verbs to texts: help, the manual, bash's completion. */
#include "base/option.h"
#include "base/text.h"

#define HELP_TAB 30

static void
put_usage(struct buf *b, const char *program, const struct option_verb *v)
{
	buf_printf(b, "%s %s [option...]%s%s", program, v->name,
	    v->operands == NULL ? "" : " ",
	    v->operands == NULL ? "" : v->operands);
}

/* "-n, --limit N" */
static void
put_names(struct buf *b, const struct option_row *row)
{
	if (row->letter != 0)
		buf_printf(b, "-%c, ", row->letter);
	else
		buf_put_text(b, "    ");
	buf_printf(b, "--%s", row->name);
	if (row->type != OPTION_FLAG)
		buf_printf(b, " %s", row->value);
}

static void
put_range(struct buf *b, const struct option_row *row)
{
	if (row->type != OPTION_NUMBER)
		return;
	if (row->most == INT64_MAX)
		buf_printf(b, " (%lld or more)", (long long)row->least);
	else
		buf_printf(b, " (%lld to %lld)", (long long)row->least,
		    (long long)row->most);
}

void
option_help(const char *program, const struct option_verb *v, struct buf *b)
{
	FREED(buf_free) struct buf left = BUF_INIT, right = BUF_INIT;
	struct str rest = str_of(v->about), paragraph;

	buf_put_text(b, "usage: ");
	put_usage(b, program, v);
	buf_put_text(b, "\n\n");
	buf_printf(&right, "%s.", v->summary);
	text_wrap(b, buf_str(&right), 0, NULL, 0);
	while (v->about != NULL && str_split(&rest, '\n', &paragraph)) {
		buf_put_char(b, '\n');
		text_wrap(b, paragraph, 0, NULL, 0);
	}
	buf_put_char(b, '\n');
	for (size_t i = 0; i < v->rows_n; i++) {
		buf_clear(&left);
		buf_clear(&right);
		put_names(&left, &v->rows[i]);
		buf_put_text(&right, v->rows[i].help);
		put_range(&right, &v->rows[i]);
		text_row(b, buf_str(&left), HELP_TAB, buf_str(&right));
	}
}

void
option_help_verbs(const char *program, const char *summary,
    const struct option_verb *verbs, size_t n, struct buf *b)
{
	buf_printf(b, "usage: %s VERB [option...] [operand...]\n\n", program);
	text_wrap(b, str_of(summary), 0, NULL, 0);
	buf_put_char(b, '\n');
	for (size_t i = 0; i < n; i++) {
		FREED(buf_free) struct buf left = BUF_INIT;
		buf_printf(&left, "%s%s%s", verbs[i].name,
		    verbs[i].operands == NULL ? "" : " ",
		    verbs[i].operands == NULL ? "" : verbs[i].operands);
		text_row(b, buf_str(&left), HELP_TAB, str_of(verbs[i].summary));
	}
	buf_printf(b, "\n%s VERB --help tells more of each.\n", program);
}

void
option_man(const char *program, const struct option_verb *v, struct buf *b)
{
	struct str rest = str_of(v->about), paragraph;

	buf_put_text(b, ".SS \"");
	text_troff(b, str_of(v->name));
	buf_put_text(b, "\"\n.B ");
	text_troff(b, str_of(program));
	buf_put_char(b, ' ');
	text_troff(b, str_of(v->name));
	buf_put_text(b, "\n[\\fIoption\\fR...]");
	if (v->operands != NULL) {
		buf_put_text(b, " \\fI");
		text_troff(b, str_of(v->operands));
		buf_put_text(b, "\\fR");
	}
	buf_put_text(b, "\n.PP\n");
	text_troff(b, str_of(v->summary));
	buf_put_text(b, ".\n");
	while (v->about != NULL && str_split(&rest, '\n', &paragraph)) {
		buf_put_text(b, ".PP\n");
		text_troff(b, paragraph);
		buf_put_char(b, '\n');
	}
	for (size_t i = 0; i < v->rows_n; i++) {
		const struct option_row *row = &v->rows[i];
		FREED(buf_free) struct buf text = BUF_INIT;
		buf_put_text(b, ".TP\n");
		if (row->letter != 0)
			buf_printf(b, "\\fB\\-%c\\fR, ", row->letter);
		buf_put_text(b, "\\fB\\-\\-");
		text_troff(b, str_of(row->name));
		buf_put_text(b, "\\fR");
		if (row->type != OPTION_FLAG) {
			buf_put_text(b, " \\fI");
			text_troff(b, str_of(row->value));
			buf_put_text(b, "\\fR");
		}
		buf_put_char(b, '\n');
		buf_put_text(&text, row->help);
		put_range(&text, row);
		text_troff(b, buf_str(&text));
		buf_put_text(b, ".\n");
	}
}

/* The first word of each verb, or the second words behind a first. */
static void
put_words(struct buf *b, const struct option_verb *verbs, size_t n,
    struct str first)
{
	for (size_t i = 0; i < n; i++) {
		struct str rest = str_of(verbs[i].name), word, before;
		str_split(&rest, ' ', &word);
		if (first.n > 0) {
			if (!str_eq(word, first) || rest.n == 0)
				continue;
			word = rest;
		} else if (i > 0) {
			/* Verbs of one first word stand together. */
			rest = str_of(verbs[i - 1].name);
			str_split(&rest, ' ', &before);
			if (str_eq(before, word))
				continue;
		}
		buf_printf(b, "%.*s ", STR_FMT(word));
	}
}

static void
put_value_cases(struct buf *b, const struct option_verb *v)
{
	buf_put_text(b, "\t\tcase $before in\n");
	for (size_t i = 0; i < v->rows_n; i++) {
		const struct option_row *row = &v->rows[i];
		if (row->type == OPTION_FLAG)
			continue;
		buf_printf(b, "\t\t--%s", row->name);
		if (row->letter != 0)
			buf_printf(b, "|-%c", row->letter);
		if (row->type == OPTION_PATH)
			buf_put_text(b, ") COMPREPLY=($(compgen -f -- "
			    "\"$word\")); return ;;\n");
		else if (row->type == OPTION_CHOICE)
			buf_printf(b, ") choices='%s'; COMPREPLY=($(compgen -W "
			    "\"${choices//|/ }\" -- \"$word\")); return ;;\n",
			    row->value);
		else
			buf_put_text(b, ") return ;;\n");
	}
	buf_put_text(b, "\t\tesac\n");
}

static void
put_verb_case(struct buf *b, const struct option_verb *v)
{
	buf_printf(b, "\t'%s')\n", v->name);
	put_value_cases(b, v);
	buf_put_text(b, "\t\toptions='");
	for (size_t i = 0; i < v->rows_n; i++)
		buf_printf(b, "--%s ", v->rows[i].name);
	buf_put_text(b, "' ;;\n");
}

void
option_completion(const char *program, const struct option_verb *verbs,
    size_t n, struct buf *b)
{
	buf_printf(b, "# bash completion for %s; made by it.\n_%s()\n{\n",
	    program, program);
	buf_put_text(b, "\tlocal word=${COMP_WORDS[COMP_CWORD]}\n"
	    "\tlocal before=${COMP_WORDS[COMP_CWORD-1]}\n"
	    "\tlocal verb=${COMP_WORDS[1]} options='' words='' choices\n"
	    "\tCOMPREPLY=()\n"
	    "\tif ((COMP_CWORD == 1)); then\n\t\twords='");
	put_words(b, verbs, n, STR(""));
	buf_put_text(b, "'\n\t\tCOMPREPLY=($(compgen -W \"$words\" -- "
	    "\"$word\"))\n\t\treturn\n\tfi\n\tcase $verb in\n");
	for (size_t i = 0; i < n; i++) {
		struct str rest = str_of(verbs[i].name), first;
		str_split(&rest, ' ', &first);
		if (rest.n == 0)
			continue;
		buf_printf(b, "\t%.*s) words='", STR_FMT(first));
		put_words(b, verbs, n, first);
		buf_put_text(b, "' ;;\n");
	}
	buf_put_text(b, "\tesac\n"
	    "\tif ((COMP_CWORD == 2)) && [[ $words ]]; then\n"
	    "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	    "\t\treturn\n\tfi\n"
	    "\t[[ $words ]] && verb=\"$verb ${COMP_WORDS[2]}\"\n"
	    "\tcase $verb in\n");
	for (size_t i = 0; i < n; i++)
		put_verb_case(b, &verbs[i]);
	buf_printf(b, "\tesac\n"
	    "\tif [[ $word == -* ]]; then\n"
	    "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
	    "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n\tfi\n"
	    "}\ncomplete -F _%s %s\n", program, program);
}
