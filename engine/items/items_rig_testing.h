/*
 * items_rig_testing -- items with their threads, home, and requests for tests
 * of them: in a folder of its own, or, when the test gets the argument
 * `postgresql`, on a server of its own.
 *
 * Thread: home is the test's.
 */
#ifndef ENGINE_ITEMS_ITEMS_RIG_TESTING_H
#define ENGINE_ITEMS_ITEMS_RIG_TESTING_H

#include "base/conf.h"
#include "engine/items/items_own.h"
#include "os/postgresql_testing.h"

struct rig {
	char dir[64];
	struct postgresql_test *server;      /* NULL: files */
	struct conf conf;
	struct loop *home;
	struct items *items;
	bool threads;
	bool is_closed;                      /* closed() was called */
	unsigned done_n, claimed;            /* calls of done() */
};
extern struct rig rig;

/* For cmocka: with threads, and without. */
int rig_setup(void **state);
int rig_setup_alone(void **state);
int rig_teardown(void **state);
#define RIG_WITH(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)
#define RIG_ALONE(f) \
	{ #f " without threads", f, rig_setup_alone, rig_teardown, NULL }
/* What main() of a test returns; run() runs the group. */
int rig_main(int argc, char **argv, int (*run)(void));

void rig_open(void);
void rig_set_closed(void *arg);
void rig_close(void);
void rig_turn(void);
/* Until `*n` is `want`; 10 s at most. */
void rig_until(const unsigned *n, unsigned want);
void rig_wait_ms(unsigned ms);

/* -- Writes -- */

struct rig_write {
	struct items_write write;
	const char *id;              /* an item of this id, tagged t */
	enum err fail;               /* after it was made */
	unsigned fail_times;         /* so often; 0: always */
	unsigned runs, dones;
	void *tx;                    /* of the last run */
	atomic_bool *gate;           /* wait for it first */
	atomic_bool entered;
};
enum err rig_run_write(struct items_write *, struct item_tx *, struct why *);
void rig_write_done(struct items_write *);
void rig_put(struct rig_write *);
/* Put it with another run(), and wait: its result. */
enum err rig_put_and_wait(struct rig_write *, enum err (*run)(
    struct items_write *, struct item_tx *, struct why *));
/*
 * The writer is in this request until `open` is set.  Without threads there is
 * no need of it: requests run in the next turn, together.
 */
void rig_put_gate(struct rig_write *, atomic_bool *open);
/* Tasks a, of items with the tag t, and b, of none. */
void rig_use_config(void);

/* -- Reads: how many items there are -- */

struct rig_count {
	struct items_read read;
	int64_t n;
	unsigned done;
	atomic_bool *gate;
};
enum err rig_run_count(struct items_read *, struct item_store *,
    struct why *);
void rig_count_done(struct items_read *);
int64_t rig_count_items(void);

/* -- Claims -- */

struct rig_claim {
	struct items_claim claim;
	unsigned dones;
};
void rig_claim(struct rig_claim *, const struct str *task, int64_t ms);
void rig_forget(struct rig_claim *);

#endif
