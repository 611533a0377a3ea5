/*
 * harvest_words -- the words of `argiope harvest run` as a start message.
 *
 * Thread: the main one.
 */
#ifndef CLI_HARVEST_WORDS_H
#define CLI_HARVEST_WORDS_H

#include "cli/cli.h"

/* What a type harvests, and with which credential. */
#define HARVEST_ORDER_WORDS(X)                                               \
	X(SEED, "seed", 's', "TEXT", TEXT, 0, 0,                             \
	    "an account, a hashtag or what the type harvests; may be given " \
	    "again.  A JSON object is one seed with fields")                 \
	X(UID, "uid", 0, "ID", TEXT, 0, 0,                                   \
	    "the same by the platform's id; may be given again")             \
	X(STDIN, "stdin", 0, NULL, FLAG, 0, 0,                               \
	    "read seeds from standard input, one per line")                    \
	X(OPTION, "option", 'o', "NAME=VALUE", TEXT, 0, 0,                   \
	    "an option of the type; may be given again")                     \
	X(API, "api", 0, "FILE", PATH, 0, 0,                                 \
	    "the option api of json_api, a JSON object, from a file")        \
	X(COLLECTION_SET, "collection-set", 0, "ID", TEXT, 0, 0,             \
	    "whose state in DIR/state.json weibo_timeline goes on with: the " \
	    "id of SFM's collection set, for a collection of SFM's (local)") \
	X(CREDENTIAL, "credential", 0, "NAME", TEXT, 0, 0,                   \
	    "the credential that argiope credential put keeps by that name")
#define HARVEST_WORDS(X)                                                     \
	HARVEST_ORDER_WORDS(X)                                               \
	X(CREDENTIALS, "credentials-file", 0, "FILE", PATH, 0, 0,            \
	    "the credential, a JSON object in a file that only you may read") \
	X(MESSAGE, "message", 0, "FILE", PATH, 0, 0,                         \
	    "take the start message in FILE as it is, in place of TYPE, "    \
	    "seeds, options and credential; - is standard input")

/*
 * The message, JSON; memory: the cli's.  `*path` is the message's own, or NULL.
 * Errors: USAGE; INPUT; those of reading files.
 */
MUST_USE enum err harvest_words_message(struct cli *, struct str *message,
    const char **path, struct why *);
/* The same of HARVEST_ORDER_WORDS, with the credential or without it. */
MUST_USE enum err harvest_words_order(struct cli *, const char *type,
    bool with_credential, struct str *message, struct why *);

/*
 * The credential that --credential or --credentials-file names, a JSON object;
 * empty when neither is given.  Memory: the cli's.  Errors: USAGE: both are;
 * ABSENT; INPUT; those of the store and of reading files.
 */
MUST_USE enum err harvest_words_credential(struct cli *, struct str *json,
    struct why *);

#endif
