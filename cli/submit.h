/*
 * submit -- argiope crawl --submit: the crawl that the options make is handed
 * to a running daemon, which does it in its own data directory.
 *
 * Secrets stay in the process that read them, so what needs some is refused.
 */
#ifndef CLI_SUBMIT_H
#define CLI_SUBMIT_H

#include "cli/cli.h"
#include "engine/policy/policy.h"

/* Errors: USAGE naming an option that cannot be handed over. */
MUST_USE enum err submit_check(const struct cli *, struct why *);
/* Hand it over and print its number.  Errors: those of daemon_command(). */
MUST_USE enum err submit_crawl(struct cli *, const struct str *seeds,
    size_t seeds_n, const struct policy *, struct why *);

#endif
