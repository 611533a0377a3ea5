/*
 * worklist_testing -- a store of items with tasks, for tests of the worklist.
 *
 * JSON is written with single quotes.  Each call is a transaction of its own,
 * one millisecond after the call before; rows that are returned are copies.
 * What fails ends the test.
 */
#ifndef ENGINE_ITEMS_WORKLIST_TESTING_H
#define ENGINE_ITEMS_WORKLIST_TESTING_H

#include "engine/items/items_testing.h"
#include "engine/items/worklist.h"

struct work_test {
	struct items_test items;
	struct arena arena;          /* of copies and JSON */
	unsigned configs;            /* loaded so far */
};
void work_open(struct work_test *, const char *config);
/* items_check() must find nothing. */
void work_close(struct work_test *);
/* Close the store and open it again; the configuration stays in force. */
void work_restart(struct work_test *);
/* Load the next generation, and rewrite all that it changes. */
void work_config(struct work_test *, const char *config);
struct str work_json(struct work_test *, const char *text);
void work_begin(struct work_test *);
void work_commit(struct work_test *);
void work_sleep(struct work_test *, int64_t ms);

/* Parts of completions, for work_complete(). */
#define WORK_UPDATES \
	"'mutations':[{'op':'updateData','id':'x','rev':1,'data':{'n':1}}," \
	"{'op':'updateMetadata','rev':0,'metadata':{'m':1}}]"
#define WORK_ERROR(class) \
	"'outcome':'failure','error':{'class':'" class "','message':'no'}"

void work_assert_text(struct work_test *, struct str, const char *text);
/* The stored data of an item. */
void work_assert_data(struct work_test *, const char *id, const char *text);

/* `tags`: "a,b=1". */
void work_item(struct work_test *, const char *id, const char *tags);
void work_tag(struct work_test *, const char *id, const char *add,
    const char *remove);
void work_delete(struct work_test *, const char *id);
uint32_t work_task(struct work_test *, const char *task);
struct pair_row work_pair(struct work_test *, const char *id,
    const char *task);
struct result_row work_result(struct work_test *, const char *id,
    const char *task);
/* "fresh 1795166356000", "stale 1", "leased -" of the pair; "" if none. */
const char *work_state(struct work_test *, const char *id, const char *task);
enum pair_expiry { EXPIRY_PERSON, EXPIRY_FIRST, EXPIRY_SCRIPT };
void work_expire(struct work_test *, const char *id, const char *task,
    enum pair_expiry);

struct work_lease {
	char text[LEASE_TEXT_BYTES + 1];
	char id[64], task[32];
	unsigned attempt;
};
/* Of all tasks, by the daemon's own workers. */
size_t work_claim(struct work_test *, unsigned max, struct work_lease *);
/* The one pair that a claim of one gives; the test fails without any. */
struct work_lease work_claim_one(struct work_test *);
/* `members`: what follows the lease, "'outcome':'success'". */
struct completion work_complete(struct work_test *, const char *lease,
    const char *members);
void work_succeed(struct work_test *, const char *lease);
/* An error of this class with this message. */
void work_fail(struct work_test *, const char *lease, const char *class,
    const char *message);
int64_t work_events(struct work_test *, const char *type);
/* Failures of a pair that are open, or all. */
int64_t work_failures(struct work_test *, const char *id, bool all);

#endif
