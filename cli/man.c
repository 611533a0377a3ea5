/* argiope man -- the manual page, made from the tables. */
#include "base/text.h"
#include "cli/verbs.h"
#include "server/door.h"

const struct option_verb man_verb = {
	"man", "[VERB]", 0, 2, "Print the manual page, or one verb's, as troff",
	"Read it with: argiope man | man -l -",
	verbs_plain, ARRAY_LEN(verbs_plain)
};

static void
put_head(struct buf *b, const char *title, const char *summary)
{
	buf_put_text(b, ".TH ");
	for (const char *p = title; *p != '\0'; p++)
		buf_put_char(b, *p >= 'a' && *p <= 'z' ? (char)(*p - 32) :
		    *p == ' ' ? '-' : *p);
	buf_put_text(b, " 1 \"\" \"" CLI_PROGRAM " " ARGIOPE_VERSION
	    "\"\n.SH NAME\n");
	for (const char *p = title; *p != '\0'; p++)
		buf_put_text(b, *p == ' ' || *p == '-' ? "\\-" :
		    (char[]){ *p, '\0' });
	buf_put_text(b, " \\- ");
	text_troff(b, str_of(summary));
	buf_put_char(b, '\n');
}

static void
put_exit_codes(struct buf *b)
{
	buf_put_text(b, ".SH EXIT STATUS\n"
	    "Codes are those of sysexits.\n");
	for (int i = 0; i < ERR_COUNT; i++) {
		bool first = true;
		int code = err_exit((enum err)i);
		for (int k = 0; k < i; k++)
			first &= err_exit((enum err)k) != code;
		if (!first)
			continue;
		buf_printf(b, ".TP\n.B %d\n", code);
		for (int k = i; k < ERR_COUNT; k++) {
			if (err_exit((enum err)k) != code)
				continue;
			buf_put_text(b, k == i ? "" : "; ");
			text_troff(b, str_of(err_text((enum err)k)));
		}
		buf_put_text(b, ".\n");
	}
}

static void
put_scope(struct buf *b, const char *door, const char *access, const char *may)
{
	if (may == NULL)
		return;
	buf_printf(b, ".br\n%s:%s lets a token ", door, access);
	text_troff(b, str_of(may));
	buf_put_text(b, ".\n");
}

static void
put_doors(struct buf *b)
{
	const struct door *d;

	if (doors_nth(0) != NULL)
		buf_put_text(b, ".SH DOORS\n"
		    "The protocols that " CLI_PROGRAM " serve speaks.\n");
	for (size_t i = 0; (d = doors_nth(i)) != NULL; i++) {
		buf_printf(b, ".TP\n.B %s\n", d->name);
		text_troff(b, str_of(d->help));
		buf_put_char(b, '\n');
		put_scope(b, d->name, "read", d->may_read);
		put_scope(b, d->name, "write", d->may_write);
	}
}

static void
put_files(struct buf *b)
{
	buf_put_text(b, ".SH FILES\n.TP\n"
	    ".I $XDG_DATA_HOME/argiope\n"
	    "The data directory, else\n.IR ~/.local/share/argiope ;\n"
	    "for a service\n.IR /var/lib/argiope .\n.TP\n"
	    ".I DATA/archive\nWARC files, unless \\-\\-warc\\-dir names "
	    "another place.\n.TP\n.I DATA/serve.json\n"
	    "Where the process listens that serves this directory.\n");
}

static void
put_whole(struct buf *b)
{
	size_t n;
	const struct option_verb *verbs = verbs_all(&n);

	put_head(b, CLI_PROGRAM, "crawls web sites into WARC archives");
	buf_put_text(b, ".SH SYNOPSIS\n.B " CLI_PROGRAM "\n.I VERB\n"
	    "[\\fIoption\\fR...] [\\fIoperand\\fR...]\n.SH VERBS\n");
	for (size_t i = 0; i < n; i++)
		option_man(CLI_PROGRAM, &verbs[i], b);
	put_doors(b);
	conf_man(b);
	put_exit_codes(b);
	put_files(b);
}

static void
put_one(struct buf *b, const struct option_verb *v)
{
	FREED(buf_free) struct buf title = BUF_INIT;

	buf_printf(&title, CLI_PROGRAM " %s", v->name);
	put_head(b, buf_text(&title), v->summary);
	buf_put_text(b, ".SH SYNOPSIS AND OPTIONS\n");
	option_man(CLI_PROGRAM, v, b);
	buf_put_text(b, ".SH SEE ALSO\n.BR " CLI_PROGRAM " (1)\n");
}

enum err
man_run(struct cli *c, struct why *w)
{
	const struct options *o = &c->options;
	size_t n;
	int words;
	const struct option_verb *verbs = verbs_all(&n);
	const struct option_verb *v = option_find_verb(verbs, n,
	    (int)o->operands_n, o->operands, &words);

	if (o->operands_n > 0 && (v == NULL || (size_t)words != o->operands_n))
		return why(w, ERR_USAGE, "there is no verb %.40s; " CLI_PROGRAM
		    " --help lists them", o->operands[0]);
	if (v == NULL)
		put_whole(&c->out);
	else
		put_one(&c->out, v);
	return OK;
}
