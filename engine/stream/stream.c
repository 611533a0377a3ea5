/*
 * A data directory's stream, and the mark by which tokens are known to be of
 * this directory: made once, kept in the index's meta records.
 */
#include "engine/stream/stream_open.h"

#include "engine/ledger/ledger.h"
#include "os/clock.h"

#define META_MARK STR("mark")

static void
make_mark(struct ledger *l, char mark[STREAM_MARK_BYTES])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	unsigned char random[STREAM_MARK_BYTES];

	clock_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		mark[i] = letters[random[i] % (sizeof(letters) - 1)];
	/* In the first group, and so before any item that a token names. */
	ledger_put(l, INDEX_META, META_MARK,
	    (struct str){ mark, STREAM_MARK_BYTES });
}

static enum err
read_mark(struct ledger *l, char mark[STREAM_MARK_BYTES], struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str stored;

	enum err e = index_get(ledger_index(l), INDEX_META, META_MARK, &a,
	    &stored, NULL);
	if (e == OK && stored.n == STREAM_MARK_BYTES) {
		memcpy(mark, stored.p, stored.n);
	} else if (e == ERR_ABSENT) {
		make_mark(l, mark);
		e = OK;
	} else {
		e = why(w, e == OK ? ERR_CORRUPT : e,
		    "the mark of the data directory cannot be read");
	}
	return e;
}

enum err
stream_open(const struct stream_options *o, struct ledger *l,
    struct stream **out, struct why *w)
{
	char mark[STREAM_MARK_BYTES];

	enum err e = read_mark(l, mark, w);
	if (e == OK)
		*out = stream_new(o, mark);
	return e;
}
