/*
 * A ledger that is made anew from WARC files: these are taken over as they
 * are, and what is gathered goes straight into the index.  Numbers of META, for
 * any start.
 */
#include "engine/ledger/warc_set.h"

uint32_t
ledger_adopt(struct ledger *l, const struct ledger_file *f)
{
	FREED(buf_free) struct buf key = BUF_INIT, value = BUF_INIT;
	struct warc_record r = {
		.id = ledger_new_warc(l), .crawl = f->crawl,
		.state = f->open ? WARC_OPEN : WARC_CLOSED,
		.first = f->first, .end = f->end, .created = f->created,
		.dir = f->dir, .work_dir = f->work_dir, .name = f->name,
	};

	buf_put_be32(&key, r.id);
	warc_record_put(&r, ledger_paths(l), &value);
	ledger_put(l, INDEX_WARC, buf_str(&key), buf_str(&value));
	return r.id;
}

enum err
ledger_apply(struct ledger *l, struct why *w)
{
	struct group *g = ledger_gathering(l);
	FREED(body_replay_end) struct body_replay r;

	CHECK(!ledger_options(l)->threads && g->writes_n == 0);
	body_replay_begin(&r, ledger_index(l));
	enum err e = body_replay_now(&r, buf_str(&g->body), w);
	buf_clear(&g->body);
	g->fixups_n = 0;
	return e;
}

enum err
ledger_apply_unlogged(struct ledger *l, struct why *w)
{
	FREED(body_replay_end) struct body_replay r;

	body_replay_begin(&r, ledger_index(l));
	enum err e = body_replay_now(&r,
	    buf_str(&ledger_gathering(l)->unlogged), w);
	buf_clear(&ledger_gathering(l)->unlogged);
	return e;
}

/* --- what META says -------------------------------------------------- */

enum err
ledger_load_number(struct index *x, struct str name, uint64_t *out,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str value;

	enum err e = index_get(x, INDEX_META, name, &a, &value, NULL);
	*out = 0;
	if (e == OK) {
		struct reader in = reader_of(value);
		*out = value.n == 8 ? read_be64(&in) : read_be32(&in);
		if (in.bad)
			e = why(w, ERR_CORRUPT, "the index's %.*s is damaged",
			    STR_FMT(name));
	} else if (e == ERR_ABSENT) {
		e = OK;
	} else {
		e = why(w, e, "cannot read the index: %s", err_text(e));
	}
	return e;
}

/* ABSENT in directories of earlier versions: then nothing is compared. */
enum err
ledger_load_chain(struct index *x, uint64_t checkpoint, uint32_t *chain,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str value;

	*chain = 0;
	enum err e = index_get(x, INDEX_META, META_CHAIN, &a, &value,
	    NULL);
	if (e == OK) {
		struct reader in = reader_of(value);
		if (read_be64(&in) == checkpoint)
			*chain = read_be32(&in);
	}
	return e == OK || e == ERR_ABSENT ? OK : why(w, e, "cannot read the "
	    "index: %s", err_text(e));
}
