#include "cli/items_data.h"

#include <yyjson.h>

#include "cli/format.h"
#include "engine/items/generation.h"
#include "os/file.h"

#define FAULT_BYTES_MAX 300u
/* A run that is tried waits for hosts' turns, at most script.turn_ms_max. */
#define ORDER_MS_MAX 900000

bool
items_data_is_shared(const struct cli *c)
{
	return conf_str(&c->conf, CONF_STORE_URL).n > 0;
}

/* --- reading ------------------------------------------------------------ */

enum err
items_data_read(struct cli *c, struct item_store **out, struct why *w)
{
	enum err e = cli_begin(c, w);
	struct str file = arena_printf(&c->arena, "%s/items.db", c->data_dir);

	if (e == OK && !items_data_is_shared(c) && !cli_is_there(file.p))
		e = why(w, ERR_ABSENT, "there are no items in %s",
		    c->data_dir);
	if (e == OK)
		e = items_open_store(&c->conf, c->data_dir, true, out, w);
	return e == OK ? generation_open(*out, w) : e;
}

/* --- writing here ------------------------------------------------------- */

enum err
items_data_open(struct cli *c, struct items_data *d, struct why *w)
{
	struct items_options o = { .conf = &c->conf, .no_threads = true,
	    .guest = true };
	int64_t holder = 0;

	*d = (struct items_data){ .cli = c, .lock_fd = -1 };
	enum err e = cli_begin(c, w);
	if (e == OK)
		e = cli_dir(c, c->data_dir, &c->data_dir, w);
	if (e != OK)
		return e;
	/* A shared store has one process more, and no one asks a daemon. */
	if (!items_data_is_shared(c))
		e = file_lock_dir(c->data_dir, &d->lock_fd, &holder, NULL);
	if (e == ERR_BUSY && cli_is_there(arena_printf(&c->arena,
	    "%s/serve.json", c->data_dir).p))
		return OK;
	if (e != OK)
		return why(w, e, "process %lld holds %s and serves no port; "
		    "wait for it, or end it", (long long)holder, c->data_dir);
	d->home = loop_new("home");
	o.home = d->home;
	o.data_dir = c->data_dir;
	return items_open(&o, &d->items, w);
}

static void
set_closed(void *arg)
{
	*(bool *)arg = true;
}

void
items_data_close(struct items_data *d)
{
	bool closed = false;

	if (d->items != NULL) {
		items_close(d->items, set_closed, &closed);
		loop_run_until(d->home, &closed);
		items_free(&d->items);
	}
	loop_free(&d->home);
	if (d->lock_fd >= 0)
		file_close(&d->lock_fd);
	d->lock_fd = -1;
}

static void
request_done(struct items_write *r)
{
	CONTAINER(r, struct items_data_write, write)->is_done = true;
}

enum err
items_data_write(struct items_data *d, struct items_data_write *r,
    struct why *w)
{
	r->is_done = false;
	r->write.done = request_done;
	items_write(d->items, &r->write);
	loop_run_until(d->home, &r->is_done);
	if (r->write.result != OK)
		*w = r->write.why;
	return r->write.result;
}

/* --- asking the daemon --------------------------------------------------- */

void
items_data_part(struct buf *b, struct str part)
{
	for (size_t i = 0; i < part.n; i++) {
		char c = part.p[i];
		/* The first is encoded always: an item may be called "add". */
		if (i > 0 && (ascii_is_alpha(c) || ascii_is_digit(c) ||
		    c == '-' || c == '_' || c == '~'))
			buf_put_char(b, c);
		else
			buf_printf(b, "%%%02X", (unsigned)(unsigned char)c);
	}
}

static enum err
error_of(int status)
{
	static const struct {
		int status;
		enum err err;
	} rows[] = { { 400, ERR_INPUT }, { 401, ERR_DENIED },
		{ 403, ERR_DENIED }, { 404, ERR_ABSENT }, { 409, ERR_STATE },
		{ 413, ERR_INPUT }, { 415, ERR_INPUT }, { 422, ERR_INPUT },
		{ 429, ERR_FULL }, { 503, ERR_BUSY }, { 507, ERR_DISK_FULL } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].status == status)
			return rows[i].err;
	return ERR_UNREACHED;
}

/* OK for an answer of 200 or 201; else what the daemon says. */
static enum err
judge_answer(struct cli *c, int status, struct str answer, struct why *w)
{
	yyjson_val *fault;
	size_t at, n;
	FREED(buf_free) struct buf said = BUF_INIT;

	if (status == 200 || status == 201)
		return OK;
	yyjson_doc *doc = yyjson_read(answer.p, answer.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	/* A refused configuration lists all its faults. */
	yyjson_arr_foreach(yyjson_obj_get(root, "faults"), at, n, fault)
		buf_printf(&said, "%s%s", at == 0 ? "" : "; ",
		    format_text(&c->arena, str_of(yyjson_get_str(fault)),
		    FAULT_BYTES_MAX));
	if (said.n == 0)
		format_safe(&said, ask_text(root, "error"), FAULT_BYTES_MAX);
	if (said.n == 0)
		buf_printf(&said, "the daemon answers %d", status);
	enum err e = why(w, error_of(status), "%.*s",
	    STR_FMT(buf_str(&said)));
	yyjson_doc_free(doc);
	return e;
}

enum err
items_data_ask(struct items_data *d, const struct ask_request *r,
    struct str *answer, struct why *w)
{
	struct ask_target t = { .data_dir = d->cli->data_dir };
	int status = 0;

	enum err e = ask_request(&t, r, &d->cli->arena, &status, answer, w);
	return e == OK ? judge_answer(d->cli, status, *answer, w) : e;
}

enum err
items_data_order(struct cli *c, const struct ask_request *r,
    struct str *answer, struct why *w)
{
	struct ask_target t = { .total_ms = ORDER_MS_MAX };
	struct why inner = WHY_INIT;
	int status = 0;

	enum err e = cli_begin(c, w);
	if (e != OK)
		return e;
	t.data_dir = c->data_dir;
	e = ask_request(&t, r, &c->arena, &status, answer, &inner);
	if (e == ERR_ABSENT)
		return why(w, ERR_UNREACHED, "no daemon serves %s; start one "
		    "with argiope serve", c->data_dir);
	if (e == ERR_UNREACHED)
		return why(w, e, "the daemon of %s: %s; argiope serve starts "
		    "one", c->data_dir, inner.text);
	return e == OK ? judge_answer(c, status, *answer, w) :
	    why(w, e, "%s", inner.text);
}
