/*
 * lease_testing -- outsiders' verbs for tests, each of which returns when its
 * answer is there.  Texts of answers are in the rig's arena.
 */
#ifndef ENGINE_FRONTIER_LEASE_TESTING_H
#define ENGINE_FRONTIER_LEASE_TESTING_H

#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/lease_service.h"

#define GOT_MAX 4096
#define DISCOVERED (-1)

/* What the last verb of its kind brought. */
struct got {
	struct lease_url urls[GOT_MAX];
	size_t n, pieces;
	uint64_t examined, served;
	struct lease_entry entries[GOT_MAX];
	size_t entries_n;
	uint64_t count;
};
extern struct got got;

/* A fixture: an empty store; in the end all of it is looked through. */
extern struct rig rig;
#define R (&rig)
int out_setup(void **state);
int out_teardown(void **state);
/* A text for this test alone. */
#define out_text(...) arena_printf(&rig.arena, __VA_ARGS__).p

struct lease_item out_item(const char *crawl, const char *key,
    const char *url, int64_t date, const char *metadata);
enum lease_status out_put(struct rig *, const char *crawl, const char *key,
    const char *url, int64_t date);
void out_put_all(struct rig *, struct lease_item *, size_t n);
/* crawl NULL: any; returns the number of URLs. */
size_t out_get(struct rig *, const char *crawl, const char *key,
    uint32_t urls_max, uint32_t queues_max, uint32_t lease_s);
/* The URLs of the last get, with blanks between. */
const char *out_urls(struct rig *);
void out_release(struct rig *, size_t from, size_t n);  /* of the last get */
enum err out_control(struct rig *, enum lease_verb, const char *crawl,
    const char *key, uint64_t value, uint64_t *answer);
/* Of the crawl without a name. */
void out_set(enum lease_verb, const char *key, uint64_t value);
/* How many a verb of deletion took. */
uint64_t out_gone(enum lease_verb, const char *crawl, const char *key);
struct lease_stats out_stats(struct rig *, const char *crawl,
    const char *key);
void out_assert_stats(struct rig *, const char *crawl, const char *key,
    uint64_t active, uint64_t leased, uint64_t completed, uint64_t queues);
enum err out_status(struct rig *, const char *crawl, const char *key,
    const char *url, struct lease_entry *);
/* All pieces; returns the number of entries. */
size_t out_list(struct rig *, struct lease_list *);
uint32_t out_now_s(void);
void out_restart(struct rig *, bool crash);
/* Of calls that a test makes itself: before it, and until *back. */
void out_prepare(struct rig *, struct lease_call *);
void out_wait(struct rig *, const bool *back);
void out_done(struct lease_call *);        /* sets *(bool *) of the below */
extern bool out_back;
/* Compare memory with the index, on the ledger's loop when all is applied. */
void lease_check(struct frontier *);

#endif
