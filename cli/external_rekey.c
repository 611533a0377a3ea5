/*
 * argiope external rekey -- what users have granted, sealed by another key.
 */
#include "base/json_writer.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/harvest/credential.h"
#include "engine/store/store_grant.h"
#include "os/key_file.h"

static const struct option_row rows[] = {
	OPTION_ROW(FROM, "from", 0, "FILE", PATH, 0, 0,
	    "the key that they have been sealed by")
	OPTION_ROW(TO, "to", 0, "FILE", PATH, 0, 0,
	    "the key to seal them by, instead of secrets.key_file")
	OPTION_ROW(JSON, "json", 'j', NULL, FLAG, 0, 0, "print JSON")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb external_rekey_verb = {
	"external rekey", NULL, 0, 0,
	"Seal what users have granted to connectors by another key",
	"A key is a file of 32 random bytes that only its owner may read.  To "
	"replace secrets.key_file, keep the old file, set the setting to the "
	"new one, start the daemons again, and run this with --from and the "
	"old file; users whose grants have the old key sign in again "
	"otherwise.  What was interrupted goes on when the verb is run again, "
	"and grants that have the new key already stay as they are.\n"
	"Grants that cannot be opened are counted as damaged and stay.  "
	"Clients that connectors have registered at providers are registered "
	"again by themselves; credentials of argiope credential put are to be "
	"put again.\n"
	"Exit code: 0; 64 the command line is wrong; 66 there is no such key "
	"file, or no data; 70 some grants are damaged, or a file is no key; "
	"77 others may read a key file.",
	rows, ARRAY_LEN(rows)
};

static enum err
read_key(const char *path, struct seal_key *key, struct why *w)
{
	return key_file_read(path, false, key->bytes, w);
}

static enum err
read_keys(struct cli *c, struct seal_key *from, struct seal_key *to,
    struct why *w)
{
	const char *file = cli_text(c, "from", NULL);

	enum err e = file != NULL ? read_key(file, from, w) :
	    why(w, ERR_USAGE, "--from: it is missing");
	if (e != OK)
		return e;
	file = cli_text(c, "to", NULL);
	e = file != NULL ? read_key(file, to, w) :
	    credential_key(&c->conf, c->data_dir, to, w);
	if (e == OK && memcmp(from->bytes, to->bytes, sizeof(to->bytes)) == 0)
		e = why(w, ERR_USAGE, "--from: it has the key that grants are "
		    "to be sealed by");
	return e;
}

static enum err
reseal_all(struct store *st, const struct seal_key *from,
    const struct seal_key *to, struct store_rekey *r, struct why *w)
{
	enum err e = OK;

	while (e == OK && !r->is_complete)
		e = store_grant_rekey(st, from, to, 0, r, w);
	return e;
}

static void
print_counts(struct cli *c, const struct store_rekey *r)
{
	if (!cli_json(c)) {
		buf_printf(&c->out, "grants: %zu sealed by the new key, %zu "
		    "damaged\n", r->done, r->damaged);
		return;
	}
	json_object(&c->out, NULL);
	json_u64(&c->out, "sealed", r->done);
	json_u64(&c->out, "damaged", r->damaged);
	buf_put_text(&c->out, "}\n");
}

enum err
external_rekey_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct seal_key from, to;
	struct store_rekey r = { .after = 0 };

	enum err e = stores_find(c, "grant", &st, w);
	if (e == OK)
		e = read_keys(c, &from, &to, w);
	if (e == OK)
		e = reseal_all(st, &from, &to, &r, w);
	explicit_bzero(&from, sizeof(from));
	explicit_bzero(&to, sizeof(to));
	/* Grants that were sealed before an error stay committed. */
	if (e == OK || r.done > 0)
		print_counts(c, &r);
	if (e == OK && r.damaged > 0)
		c->code = err_exit(ERR_CORRUPT);
	return e;
}
