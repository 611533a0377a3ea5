/*
 * argiope token add|list|revoke -- the tokens that open the doors.
 *
 * They are the store's, which several processes may have open: a daemon needs
 * not be asked, and sees what changed in about a second.
 */
#include <errno.h>

#include "base/json_writer.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "os/clock.h"
#include "os/system.h"

/* token_help() writes it, because the doors are known when the program runs. */
static char scope_help[1000];

static const struct option_row add_rows[] = {
	OPTION_ROW(SCOPE, "scope", 's', "DOOR:ACCESS[,...]", TEXT, 0, 0,
	    scope_help)
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb token_add_verb = {
	"token add", "NAME", 1, 1,
	"Make a token that opens doors, and print it, this once",
	"Standard output has the token and nothing else; what is kept is a "
	"hash of it.  A door wants a token from the first that names it on; a "
	"daemon that runs knows it within two seconds.  Run it as the user "
	"whom the daemon runs as.\n"
	"A name is at most 64 letters, digits and ._@-.\n"
	"Exit code: 0; 64 the scope is none; 65 the name is none; 73 the name "
	"is taken; 74 the token could not be printed, and is none; 75 there "
	"are 1,000 already.",
	add_rows, ARRAY_LEN(add_rows)
};
const struct option_verb token_list_verb = {
	"token list", NULL, 0, 0,
	"List the tokens: name, scopes, when made, about when last used",
	"The tokens themselves are not kept and cannot be listed.",
	verbs_json, ARRAY_LEN(verbs_json)
};
#if DOOR_URLFRONTIER
#define TOKEN_SETTING_HELP ", unless a setting such as " \
	"urlfrontier.token = required says otherwise"
#elif DOOR_REALTIME
#define TOKEN_SETTING_HELP ", unless realtime.token = required"
#else
#define TOKEN_SETTING_HELP ""
#endif
const struct option_verb token_revoke_verb = {
	"token revoke", "NAME", 1, 1,
	"Revoke a token, at once and for good",
	"A daemon that runs refuses it within two seconds.  A door that tokens "
	"named wants one as long as that daemon runs, even when none is left; "
	"one that is started without any asks for none on loopback"
	TOKEN_SETTING_HELP ".\n"
	"Exit code: 0; 66 there is no such token.",
	verbs_plain, ARRAY_LEN(verbs_plain)
};

void
token_help(void)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	size_t n;
	const char *const *names = token_door_names(&n);

	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%s", i > 0 ? ", " : "", names[i]);
	snprintf(scope_help, sizeof(scope_help), "what it opens; may be given "
	    "again.  DOOR is %s or *; ACCESS is read or write, which includes "
	    "read", buf_text(&b));
}

/* --- add ---------------------------------------------------------------- */

static enum err
read_scopes(struct cli *c, struct token_scopes *out, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct why inner = WHY_INIT;

	if (cli_count(c, "scope") == 0)
		return why(w, ERR_USAGE, "token add wants --scope, such as "
		    "--scope urlfrontier:write");
	for (size_t i = 0; i < cli_count(c, "scope"); i++)
		buf_printf(&b, "%s%s", i > 0 ? "," : "",
		    cli_nth(c, "scope", i));
	return token_scopes_read(buf_str(&b), false, out, &inner) == OK ? OK
	    : why(w, ERR_USAGE, "token add: %s", inner.text);
}

/* A token that nobody has seen must not stay. */
static enum err
show(struct store *st, struct str name, const char *text, struct why *w)
{
	struct why unseen = WHY_INIT;

	/* No buffer of which a copy could stay, or be written later. */
	setvbuf(stdout, NULL, _IONBF, 0);
	if (printf("%s\n", text) > 0) {
		if (system_is_terminal(2))
			fprintf(stderr, "This is the only time that it is "
			    "shown.\n");
		return OK;
	}
	int no = errno;
	clearerr(stdout);
	if (store_token_revoke(st, name, &unseen) != OK)
		return why(w, ERR_IO, "the token could not be printed, nor "
		    "revoked: %s", unseen.text);
	errno = no;
	return why_errno(w, ERR_IO, "the token could not be printed, and is "
	    "none");
}

enum err
token_add_run(struct cli *c, struct why *w)
{
	struct str name = str_of(c->options.operands[0]);
	char text[TOKEN_TEXT_BYTES + 1];
	struct token_scopes scopes = { 0, 0 };
	FREED(store_close) struct store *st = NULL;

	enum err e = token_name_check(name, w);
	if (e == OK)
		e = read_scopes(c, &scopes, w);
	if (e == OK)
		e = stores_open(c, &st, w);
	if (e == OK)
		e = store_token_add(st, name, scopes, clock_wall(), text, w);
	if (e == OK)
		e = show(st, name, text, w);
	explicit_bzero(text, sizeof(text));
	return e;
}

/* --- list --------------------------------------------------------------- */

static void
put_text(const void *rows, size_t n, struct buf *b)
{
	const struct token *list = rows;
	char made[WALL_ISO_MAX], used[WALL_ISO_MAX];
	size_t width = 4;

	for (size_t i = 0; i < n; i++)
		width = MAX(width, list[i].name.n);
	buf_printf(b, "%-*s  %-20s  %-20s  SCOPES\n", (int)width, "NAME",
	    "MADE", "LAST USED");
	for (size_t i = 0; i < n; i++) {
		buf_printf(b, "%-*.*s  %-20s  %-20s  ", (int)width,
		    STR_FMT(list[i].name), stores_date(list[i].created, made),
		    stores_date(list[i].used, used));
		token_scopes_write(list[i].scopes, b);
		buf_put_char(b, '\n');
	}
}

static void
put_scopes(struct token_scopes s, struct buf *b)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct str rest, scope;

	token_scopes_write(s, &text);
	rest = buf_str(&text);
	json_array(b, "scopes");
	while (str_split(&rest, ',', &scope))
		json_item(b, scope);
	buf_put_char(b, ']');
}

static void
row_json(const void *row, struct buf *b)
{
	const struct token *t = row;

	json_u64(b, "id", t->id);
	json_str(b, "name", t->name);
	put_scopes(t->scopes, b);
	stores_put_date(b, "created", t->created);
	stores_put_date(b, "used", t->used);
}

enum err
token_list_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct token *list = NULL;
	size_t n = 0;

	enum err e = stores_find(c, "token", &st, w);
	if (e == OK)
		e = store_token_list(st, &c->arena, &list, &n, w);
	return stores_print(c, &(struct stores_list){ "token", "tokens", list,
	    n, sizeof(*list), row_json, put_text }, e);
}

/* --- revoke ------------------------------------------------------------- */

static bool
opens(const struct token *list, size_t n, enum token_door d)
{
	for (size_t i = 0; i < n; i++)
		if (token_scopes_allow(list[i].scopes, d, TOKEN_READ))
			return true;
	return false;
}

/* Doors that had a token before, and have none now. */
static void
tell_left(const struct token *before, size_t before_n,
    const struct token *now, size_t now_n)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	size_t n;
	const char *const *names = token_door_names(&n);

	for (size_t i = 0; i < n; i++) {
		enum token_door d = (enum token_door)i;
		if (opens(before, before_n, d) && !opens(now, now_n, d))
			buf_printf(&b, "%s%s", b.n > 0 ? ", " : "", names[i]);
	}
	if (b.n > 0)
		fprintf(stderr, CLI_PROGRAM ": no token is left for %s; a "
		    "daemon that is started now asks for none there on "
		    "loopback\n", buf_text(&b));
}

enum err
token_revoke_run(struct cli *c, struct why *w)
{
	struct str name = str_of(c->options.operands[0]);
	struct token *before = NULL, *now = NULL;
	size_t before_n = 0, now_n = 0;
	FREED(store_close) struct store *st = NULL;

	enum err e = stores_find(c, "token", &st, w);
	if (e == OK)
		e = store_begin(st, w);
	if (e == OK) {
		e = store_token_list(st, &c->arena, &before, &before_n, w);
		if (e == OK)
			e = store_token_revoke(st, name, w);
		if (e == OK)
			e = store_token_list(st, &c->arena, &now, &now_n, w);
		e = store_end(st, e, w);
	}
	if (e == OK)
		tell_left(before, before_n, now, now_n);
	return e;
}
