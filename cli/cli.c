#include "cli/cli.h"

#include <errno.h>

#include "os/file.h"
#include "os/log.h"
#include "os/system.h"

/* --- options ------------------------------------------------------------ */

static size_t
row_of(const struct cli *c, const char *name)
{
	for (size_t i = 0; i < c->verb->rows_n; i++)
		if (strcmp(c->verb->rows[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

bool
cli_has(const struct cli *c, const char *name)
{
	return row_of(c, name) != SIZE_MAX;
}

bool
cli_given(const struct cli *c, const char *name)
{
	return cli_has(c, name) && cli_count(c, name) > 0;
}

size_t
cli_count(const struct cli *c, const char *name)
{
	return option_count(&c->options, row_of(c, name));
}

const char *
cli_text(const struct cli *c, const char *name, const char *otherwise)
{
	return option_text(&c->options, row_of(c, name), otherwise);
}

const char *
cli_nth(const struct cli *c, const char *name, size_t i)
{
	CHECK(i < cli_count(c, name));
	return c->options.given[row_of(c, name)].texts[i];
}

int64_t
cli_number(const struct cli *c, const char *name, int64_t otherwise)
{
	return option_number(&c->options, row_of(c, name), otherwise);
}

bool
cli_json(const struct cli *c)
{
	return cli_given(c, "json");
}

/* --- the configuration -------------------------------------------------- */

/* $NAME, where it is an absolute path. */
static struct str
path_variable(const char *name)
{
	const char *text = getenv(name);

	return text != NULL && text[0] == '/' ? str_of(text) : STR_NONE;
}

/*
 * Where data is kept when nobody has said it.  INVOCATION_ID would be no sign
 * of a service: every program of a systemd user session has it.
 */
static enum err
settle_data_dir(struct conf *conf, struct why *w)
{
	struct str service = path_variable("STATE_DIRECTORY");
	struct str xdg = path_variable("XDG_DATA_HOME");
	struct str home = path_variable("HOME");
	const char *place = "$HOME";
	FREED(buf_free) struct buf b = BUF_INIT;

	if (conf_str(conf, CONF_DATA_DIR).n > 0)
		return OK;
	if (service.n > 0) {
		/* systemd.exec(5): several are separated by colons. */
		place = "$STATE_DIRECTORY";
		buf_put_str(&b, str_cut(service, 0,
		    str_find_char(service, ':')));
	} else if (xdg.n > 0) {
		place = "$XDG_DATA_HOME";
		buf_printf(&b, "%s/argiope", xdg.p);
	} else if (home.n > 0) {
		buf_printf(&b, "%s/.local/share/argiope", home.p);
	}
	return b.n == 0 ? OK : conf_put(conf, CONF_DATA_DIR, buf_str(&b),
	    CONF_FROM_DEFAULT, place, w);
}

static enum err
read_file(struct conf *conf, const char *path, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	enum err e = file_load(path, CONF_FILE_BYTES_MAX, &text, w);

	return e == OK ? conf_file(conf, buf_str(&text), path, w) : e;
}

enum err
cli_settle(const struct cli *c, struct conf *conf, struct why *w)
{
	/* A worker's --config is that of its tasks. */
	const char *files = cli_has(c, "settings") ? "settings" : "config";
	enum err e = OK;

	for (size_t i = 0; e == OK && i < cli_count(c, files); i++)
		e = read_file(conf, cli_nth(c, files, i), w);
	if (e == OK)
		e = conf_env(conf, c->environment, w);
	for (size_t i = 0; e == OK && i < cli_count(c, "set"); i++)
		e = conf_flag(conf, str_of(cli_nth(c, "set", i)), w);
	if (e == OK && cli_given(c, "data"))
		e = conf_put(conf, CONF_DATA_DIR, str_of(cli_text(c, "data",
		    "")), CONF_FROM_FLAG, "--data", w);
	if (e == OK)
		e = settle_data_dir(conf, w);
	return e == OK ? conf_check(conf, w) : e;
}

enum err
cli_open(struct cli *c, const struct option_verb *verb, int argc,
    const char *const *argv, const char *const *environment, struct why *w)
{
	*c = (struct cli){ .program = CLI_PROGRAM, .verb = verb,
	    .environment = environment, .arena = ARENA_INIT };
	conf_init(&c->conf);
	enum err e = options_read(verb, argc, argv, &c->options, w);
	if (e == OK && cli_count(c, "help") == 0)
		e = cli_settle(c, &c->conf, w);
	/* From here on there may be secrets in memory. */
	if (e == OK && !conf_bool(&c->conf, CONF_SECRETS_CORE_DUMPS))
		system_hide_memory();
	if (e != OK)
		cli_close(c);
	return e;
}

void
cli_close(struct cli *c)
{
	options_free(&c->options);
	conf_free(&c->conf);
	buf_free(&c->out);
	yyjson_doc_free(c->answer);
	arena_free(&c->arena);
}

/* --- speaking ----------------------------------------------------------- */

int
cli_fail(const struct why *w)
{
	fflush(stdout);
	fprintf(stderr, CLI_PROGRAM ": %s\n", w->text[0] != '\0' ? w->text :
	    err_text(w->err));
	return err_exit(w->err == OK ? ERR_IO : w->err);
}

int
cli_end(int code)
{
	bool fine = fflush(stdout) == 0 && !ferror(stdout);

	/* The reader closed the pipe: end silently. */
	if (fine || errno == EPIPE)
		return code;
	struct why w = WHY_INIT;
	return cli_fail((why_errno(&w, ERR_IO,
	    "standard output cannot be written"), &w));
}

void
cli_put(struct buf *b)
{
	if (b->n > 0)
		fwrite(b->p, 1, b->n, stdout);
	buf_free(b);
}

/* --- places ------------------------------------------------------------- */

bool
cli_is_there(const char *path)
{
	int fd;

	/* A directory opens for reading too. */
	if (file_open(path, FILE_READ, &fd, NULL) != OK)
		return false;
	file_close(&fd);
	return true;
}

enum err
cli_data_dir(struct cli *c, struct why *w)
{
	struct str set = conf_str(&c->conf, CONF_DATA_DIR);

	if (set.n == 0)
		return why(w, ERR_CONFIG, "there is no home directory to keep "
		    "data in; name one with --data DIR");
	c->data_dir = arena_copy(&c->arena, set).p;
	return OK;
}

enum err
cli_dir(struct cli *c, const char *path, const char **out, struct why *w)
{
	enum err e = file_make_dir(path, w);

	if (e != OK)
		return e;
	char *real = realpath(path, NULL);
	if (real == NULL)
		return why_errno(w, err_from_errno(errno), "%s", path);
	*out = arena_copy(&c->arena, str_of(real)).p;
	free(real);
	return OK;
}

static enum err
read_all(FILE *f, const char *name, struct buf *b, struct why *w)
{
	size_t n;

	do {
		buf_reserve(b, 65536);
		n = fread(b->p + b->n, 1, 65536, f);
		b->n += n;
	} while (n > 0 && b->n <= CLI_FILE_BYTES_MAX);
	if (ferror(f))
		return why_errno(w, ERR_IO, "%s cannot be read", name);
	if (b->n > CLI_FILE_BYTES_MAX)
		return why(w, ERR_FULL, "%s is longer than %zu bytes", name,
		    CLI_FILE_BYTES_MAX);
	return OK;
}

enum err
cli_file(struct cli *c, const char *path, struct str *out, struct why *w)
{
	bool input = strcmp(path, "-") == 0;
	/* A pipe of the shell's too, of which no size is known. */
	FILE *f = input ? stdin : fopen(path, "re");
	FREED(buf_free) struct buf b = BUF_INIT;

	if (f == NULL)
		return why_errno(w, err_from_errno(errno), "%s cannot be "
		    "opened", path);
	enum err e = read_all(f, input ? "standard input" : path, &b, w);
	if (e == OK)
		*out = arena_copy(&c->arena, buf_str(&b));
	if (!input)
		fclose(f);
	return e;
}

enum err
cli_token(struct cli *c, struct str *out, struct why *w)
{
	const char *file = cli_has(c, "token-file") ?
	    cli_text(c, "token-file", NULL) : NULL;
	enum err e;

	*out = STR_NONE;
	if (file == NULL)
		return OK;
	e = cli_file(c, file, out, w);
	*out = str_trim(*out);
	if (e == OK && out->n == 0)
		e = why(w, ERR_CONFIG, "--token-file %s: it holds no token",
		    file);
	for (size_t i = 0; e == OK && i < out->n; i++)
		if (out->p[i] <= ' ' || out->p[i] > '~')
			e = why(w, ERR_CONFIG, "--token-file %s: a token is "
			    "one word of ASCII", file);
	return e;
}

enum err
cli_log(const struct conf *c, bool foreground, struct why *w)
{
	enum log_level level = (enum log_level)conf_choice(c, CONF_LOG_LEVEL);

	if (foreground && c->values[CONF_LOG_LEVEL].origin == CONF_FROM_DEFAULT)
		level = LOG_WARN;
	return log_open_file(level, conf_str(c, CONF_LOG_FILE).p,
	    conf_choice(c, CONF_LOG_FORMAT) == 1, w);
}

enum err
cli_begin(struct cli *c, struct why *w)
{
	enum err e = cli_log(&c->conf, true, w);

	return e == OK ? cli_data_dir(c, w) : e;
}
