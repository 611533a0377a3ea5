/*
 * argiope store copy TARGET -- policies, schedules, tokens and harvests from
 * SQLite to PostgreSQL, and back.
 *
 *     postgresql://...   from the data directory
 *     sqlite:DIR         from store.url
 */
#include "base/json_writer.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/control/control.h"
#include "os/file.h"

#define FILE_SCHEME "sqlite:"

const struct option_verb store_copy_verb = {
	"store copy", "TARGET", 1, 1,
	"Copy what the store keeps between SQLite and PostgreSQL",
	"Policies, schedules, tokens, harvests and credentials are copied; "
	"the latter need the same secrets.key_file.  TARGET is the URL of a "
	"PostgreSQL database, to which the store of the "
	"data directory is copied; or sqlite:DIR, to which that of store.url "
	"is.  What is there stays; the copy is used once store.url says so.  "
	"No daemon may use the data directory meanwhile.  A password for "
	"either comes from store.password_file.\n"
	"Example: argiope store copy postgresql:///argiope\n"
	"Exit code: 0; 64 TARGET is neither; 66 there is no store; 69 the "
	"server cannot be reached; 73 TARGET is not empty; 75 a daemon runs; "
	"78 the URL or a setting is wrong.",
	verbs_json, ARRAY_LEN(verbs_json)
};

struct copying {
	struct cli *cli;
	const char *file_dir;        /* of the store that is a file */
	const char *url;             /* of the other one */
	bool to_file;
	int lock;
	struct store *file, *server;
	struct store_copied n;
};

static enum err
read_target(struct copying *x, struct why *w)
{
	struct cli *c = x->cli;
	const char *target = c->options.operands[0];

	x->to_file = str_starts(str_of(target), STR(FILE_SCHEME));
	x->url = x->to_file ? conf_str(&c->conf, CONF_STORE_URL).p : target;
	if (!x->to_file && !store_url_is_server(target))
		return why(w, ERR_USAGE, "store copy wants postgresql://... or "
		    "sqlite:DIR");
	if (x->to_file && x->url[0] == '\0')
		return why(w, ERR_USAGE, "store copy to sqlite:DIR copies the "
		    "store of store.url, which is not set");
	return x->to_file ? cli_dir(c, target + strlen(FILE_SCHEME),
	    &x->file_dir, w) : OK;
}

static enum err
find_source(struct copying *x, struct why *w)
{
	struct cli *c = x->cli;

	if (x->to_file)
		return OK;
	if (!cli_is_there(arena_printf(&c->arena, "%s/store.db",
	    c->data_dir).p))
		return why(w, ERR_ABSENT, "there is no store in %s",
		    c->data_dir);
	return cli_dir(c, c->data_dir, &x->file_dir, w);
}

/* A daemon would go on with the one while the copy grows old. */
static enum err
lock_file(struct copying *x, struct why *w)
{
	int64_t holder = 0;
	enum err e = file_lock_dir(x->file_dir, &x->lock, &holder, NULL);

	return e == OK ? OK : why(w, e, "%s is in use by process %lld; stop "
	    "it first", x->file_dir, (long long)holder);
}

static enum err
copy_store(struct copying *x, struct why *w)
{
	const struct conf *conf = &x->cli->conf;

	enum err e = read_target(x, w);
	if (e == OK)
		e = find_source(x, w);
	if (e == OK)
		e = lock_file(x, w);
	if (e == OK)
		e = engine_open_store(conf, x->url, x->file_dir, &x->server,
		    w);
	if (e == OK)
		e = engine_open_store(conf, "", x->file_dir, &x->file, w);
	if (e != OK)
		return e;
	return x->to_file ? store_copy(x->server, x->file, &x->n, w) :
	    store_copy(x->file, x->server, &x->n, w);
}

static void
print_counts(const struct copying *x)
{
	struct buf *b = &x->cli->out;

	if (cli_json(x->cli)) {
		json_object(b, NULL);
		json_u64(b, "policies", x->n.policies);
		json_u64(b, "schedules", x->n.schedules);
		json_u64(b, "tokens", x->n.tokens);
		json_u64(b, "harvests", x->n.harvests);
		json_u64(b, "credentials", x->n.credentials);
		buf_put_text(b, "}\n");
		return;
	}
	buf_printf(b, "copied: %zu policies, %zu schedules, %zu tokens, "
	    "%zu harvests, %zu credentials\n"
	    "To use them, set store.url = \"%s\"\n", x->n.policies,
	    x->n.schedules, x->n.tokens, x->n.harvests, x->n.credentials,
	    x->to_file ? "" : x->url);
}

enum err
store_copy_run(struct cli *c, struct why *w)
{
	struct copying x = { .cli = c, .lock = -1 };

	enum err e = cli_begin(c, w);
	if (e == OK)
		e = copy_store(&x, w);
	if (e == OK)
		print_counts(&x);
	store_close(&x.file);
	store_close(&x.server);
	file_close(&x.lock);
	return e;
}
