/*
 * verbs -- the one table of what `argiope` can do: parser, --help, the manual
 * and the shell's completion come from it.
 *
 * Each verb has its row `<name>_verb` and its function `<name>_run`.  An error
 * that it returns is printed and gives the exit code.  `serve` is in daemon/,
 * above this folder, so the program gives the table to verbs_use().
 */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "cli/cli.h"

/* Clients of the doors come and go with them. */
#if DOOR_REALTIME
#define VERBS_REALTIME(X) X(pause) X(resume) X(cancel) X(rerun)
#else
#define VERBS_REALTIME(X)
#endif
#if DOOR_URLFRONTIER
#define VERBS_URLFRONTIER(X)                                                 \
	X(frontier_puturls)                                                  \
	X(frontier_dumpurls)                                                 \
	X(frontier_geturls)                                                  \
	X(frontier_geturlstatus)                                             \
	X(frontier_listurls)                                                 \
	X(frontier_counturls)                                                \
	X(frontier_purgeurls)                                                \
	X(frontier_getstats)                                                 \
	X(frontier_listqueues)                                               \
	X(frontier_deletequeue)                                              \
	X(frontier_blockqueueuntil)                                          \
	X(frontier_setdelay)                                                 \
	X(frontier_setcrawllimit)                                            \
	X(frontier_listcrawls)                                               \
	X(frontier_deletecrawl)                                              \
	X(frontier_listnodes)                                                \
	X(frontier_getactive)                                                \
	X(frontier_setactive)                                                \
	X(frontier_setloglevel)
#else
#define VERBS_URLFRONTIER(X)
#endif

/* In the order of --help. */
#define VERBS(X)                                                             \
	X(crawl)                                                             \
	X(explain)                                                           \
	VERBS_REALTIME(X)                                                    \
	X(harvest_types)                                                     \
	X(harvest_run)                                                       \
	X(harvest_list)                                                      \
	X(harvest_show)                                                      \
	X(harvest_stop)                                                      \
	X(harvest_pause)                                                     \
	X(harvest_resume)                                                    \
	X(harvest_letters)                                                   \
	X(harvest_retire)                                                    \
	X(credential_put)                                                    \
	X(credential_list)                                                   \
	X(credential_delete)                                                 \
	X(external_new)                                                      \
	X(external_check)                                                    \
	X(external_tap)                                                      \
	X(external_register)                                                 \
	X(external_publish)                                                  \
	X(external_rekey)                                                    \
	X(external_tasks)                                                    \
	X(external_rejected)                                                 \
	X(external_redeliver)                                                \
	X(external_cursor)                                                   \
	X(external_simulate_backend)                                         \
	X(external_conformance)                                              \
	X(status)                                                            \
	X(backup)                                                            \
	X(archive_ls)                                                        \
	X(archive_cat)                                                       \
	X(archive_check)                                                     \
	X(archive_index)                                                     \
	X(archive_reindex)                                                   \
	X(archive_wacz)                                                      \
	X(archive_export)                                                    \
	X(archive_items)                                                     \
	VERBS_URLFRONTIER(X)                                                 \
	X(serve)                                                             \
	X(policy_list)                                                       \
	X(policy_get)                                                        \
	X(policy_put)                                                        \
	X(policy_delete)                                                     \
	X(schedule_list)                                                     \
	X(schedule_put)                                                      \
	X(schedule_delete)                                                   \
	X(store_copy)                                                        \
	X(items_list)                                                        \
	X(items_show)                                                        \
	X(items_add)                                                         \
	X(items_set)                                                         \
	X(items_delete)                                                      \
	X(items_tags)                                                        \
	X(items_worklist)                                                    \
	X(items_failures)                                                    \
	X(items_handle)                                                      \
	X(items_check)                                                       \
	X(items_export)                                                      \
	X(items_import)                                                      \
	X(task_run)                                                          \
	X(task_list)                                                         \
	X(task_pause)                                                        \
	X(task_resume)                                                       \
	X(task_expire)                                                       \
	X(task_reload)                                                       \
	X(task_replay)                                                       \
	X(task_simulate)                                                     \
	X(task_record)                                                       \
	X(task_test)                                                         \
	X(task_types)                                                        \
	X(worker)                                                            \
	X(token_add)                                                         \
	X(token_list)                                                        \
	X(token_revoke)                                                      \
	X(config)                                                            \
	X(completion)                                                        \
	X(man)                                                               \
	X(version)

#define VERB_DECLARE(name)                                                   \
	extern const struct option_verb name##_verb;                         \
	enum err name##_run(struct cli *, struct why *);
VERBS(VERB_DECLARE)
#undef VERB_DECLARE

/* The options of a verb without its own; of one that prints facts. */
extern const struct option_row verbs_plain[4], verbs_json[5];

/* Write the help of `token add --scope`, which names the doors. */
void token_help(void);

struct verb {
	const struct option_verb *row;
	enum err (*run)(struct cli *, struct why *);
};

/* The program's verbs, up to the process's end; before any other call, and
 * after doors_use(). */
void verbs_use(const struct verb *, size_t n);
/* The rows of all verbs, for help and manual.  Static. */
const struct option_verb *verbs_all(size_t *n);
/*
 * Do what the words say; `program` is the word before them, as it was called.
 * The exit code.
 */
int verbs_run(const char *program, int argc, const char *const *argv,
    const char *const *environment);

#endif
