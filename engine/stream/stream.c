/*
 * The engine's stream, and the mark by which tokens are known to be of this
 * data directory: made once, kept in the index's meta records.
 */
#include "engine/control/control.h"
#include "engine/control/engine_own.h"
#include "engine/stream/stream.h"
#include "os/clock.h"

#define META_MARK STR("mark")

static void
make_mark(struct engine *e)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	unsigned char random[sizeof(e->mark) - 1];

	clock_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		e->mark[i] = letters[random[i] % (sizeof(letters) - 1)];
	/* In the first group, and so before any item that a token names. */
	ledger_put(frontier_ledger(e->frontier), INDEX_META, META_MARK,
	    str_of(e->mark));
}

static enum err
read_mark(struct engine *e, struct why *w)
{
	struct arena a = ARENA_INIT;
	struct str mark;

	enum err err = index_get(ledger_index(frontier_ledger(e->frontier)),
	    INDEX_META, META_MARK, &a, &mark, NULL);
	if (err == OK && mark.n == sizeof(e->mark) - 1) {
		memcpy(e->mark, mark.p, mark.n);
	} else if (err == ERR_ABSENT) {
		make_mark(e);
		err = OK;
	} else {
		err = why(w, err == OK ? ERR_CORRUPT : err,
		    "the mark of the data directory cannot be read");
	}
	arena_free(&a);
	return err;
}

enum err
stream_open(struct engine *e, struct why *w)
{
	struct stream_options o = {
		.home = e->options.home, .pool = e->pool,
		.ledger = frontier_ledger(e->frontier), .registry = e->registry,
		.mark = e->mark, .fresh = &e->fresh,
		.cache_bytes = conf_size(e->options.conf, CONF_FEED_CACHE),
		.frontier = e->frontier,
		.links_pages_max = (uint64_t)conf_int(e->options.conf,
		    CONF_FEED_LINKS_PAGES_MAX),
	};

	enum err err = read_mark(e, w);
	if (err == OK)
		e->stream = stream_new(&o);
	return err;
}

struct stream *
engine_stream(struct engine *e)
{
	return e->stream;
}

const char *
engine_mark(const struct engine *e)
{
	return e->mark;
}
