/*
 * commitlog_testing -- what the tests of the commit log share: a log of tiny
 * segments on the fake disk, and groups whose bodies tell which they are.
 */
#ifndef ENGINE_LEDGER_COMMITLOG_TESTING_H
#define ENGINE_LEDGER_COMMITLOG_TESTING_H

#include "engine/ledger/commitlog.h"
#include "os/world_testing.h"

#define DIR "data/log"
#define HEAD 512
#define RECORD_HEAD 24

extern const struct commitlog_options tiny;
extern size_t body_max;          /* of group_body() */

/* Filled by replay(); what begins with 0 is not asked for. */
struct replayed {
	uint64_t first, last;
	uint64_t fail_group;         /* refuse this one */
};

int testing_setup(void **state);
/* The body of a group; the same whenever it is asked for. */
struct str group_body(uint64_t group, struct buf *);
/* Asserts that groups come in order with their bodies. */
enum err replay(void *replayed, uint64_t group, struct str body, struct why *);
/* Open; the test fails when that fails. */
struct commitlog *open_from(uint64_t from, struct replayed *);
struct commitlog *open_ok(void);
/* Opening is refused as CORRUPT with a text that holds this one. */
void refused(uint64_t from, const char *text);
enum err append(struct commitlog *, struct why *);
/* Append and sync, group by group. */
void commit(struct commitlog *, uint64_t upto);
/* A log of groups 1 to `upto`, closed. */
void make_log(uint64_t upto);
/* Open, look at what is replayed, close. */
uint64_t last_group(uint64_t from);
/* Whole files. */
void load(const char *path, struct buf *);
void store(const char *path, struct str);
bool there(const char *path);

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, testing_setup, world_teardown)

#endif
