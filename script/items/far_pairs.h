/*
 * far_pairs -- pairs that were put back because their host's turn is far
 * (contracts/items.md §4, slow hosts), or would be: which of them claims pass
 * over, and until when.
 *
 * Each pair of a host that is put back gets a turn of its own, one delay after
 * the last, so that they do not all come back for the same one.  They are kept
 * in memory only: after a restart a pair is tried, and put back, once more.
 *
 * To start a pair just to put it back costs as much as to run one of a quick
 * host.  So a pair that will ask such a host first, by what runs of its task
 * did (first_hosts), gets its turn without being started.  Every
 * FAR_PAIRS_TRIED is started all the same, fewer the longer no guess was wrong;
 * when one is, those that were passed over by it are due at once.
 *
 * Thread: the writer's of the items, where claims ask and runs end; home's when
 * no request to the items is out.
 */
#ifndef SCRIPT_ITEMS_FAR_PAIRS_H
#define SCRIPT_ITEMS_FAR_PAIRS_H

#include "base/text.h"
#include "engine/items/worklist.h"
#include "os/clock.h"
#include "script/items/first_hosts.h"

/* More pairs are put back, but not passed over: they are tried again. */
#define FAR_PAIRS_MAX ((size_t)100000)
/* No pair is passed over for longer. */
#define FAR_PAIRS_MS_MAX (INT64_C(60) * 60 * 1000)
/* A host whose next turn is nearer is not far. */
#define FAR_PAIRS_MS_MIN INT64_C(2000)
#define FAR_PAIRS_TRIED 16u
#define FAR_PAIRS_TRIED_MAX 1024u    /* one in so many, at least */

struct far_pairs;

/* A host whose turn is far: nobody waits for the one in `turn_ms`, and there is
 * one each `delay_ms`. */
struct far_turn {
	struct str host;             /* empty: none */
	int64_t turn_ms, delay_ms;
};

/* The host of a URL, in the arena; empty: it is none. */
struct str far_host_of(struct str url, struct arena *);

struct far_pairs *far_pairs_new(void);
void far_pairs_free(struct far_pairs **);
/* Let a claim pass over them; kept until the claim has ended. */
void far_pairs_use(struct far_pairs *, struct worklist_claim *);
/* Pass the pair over until a turn that no other pair has; one that is passed
 * over already keeps its turn.  Returns when. */
struct mono far_pairs_put(struct far_pairs *, uint32_t task, int64_t item,
    const struct far_turn *);
/* For how many ms the pair is to be passed over from now on; 0: it is not. */
int64_t far_pairs_wait_ms(const struct far_pairs *, uint32_t task,
    int64_t item);
/* It is passed over no longer.  True: it has waited for the turn that it was
 * given, which has come; false: it is as any other, has waited for
 * FAR_PAIRS_MS_MAX and got no turn, or the guess about it was wrong. */
bool far_pairs_take(struct far_pairs *, uint32_t task, int64_t item);
size_t far_pairs_count(const struct far_pairs *);
/* Any other that is due: whether it is passed over from now on, because the
 * host that it will probably ask is far.  `data`: JSON. */
bool far_pairs_guess(struct far_pairs *, uint32_t task, int64_t item,
    struct str id, struct str data);
void far_pairs_learn(struct far_pairs *, uint32_t task,
    const struct first_fetch *);

#endif
