/*
 * external_settings -- the external door's settings, as commands need them:
 * where the door is reached, its connectors, and its back ends.
 *
 * Thread: the main one.
 * Source: contracts/external.md §1.
 */
#ifndef CLI_EXTERNAL_SETTINGS_H
#define CLI_EXTERNAL_SETTINGS_H

#include "cli/cli.h"
#include "engine/backends/backends.h"
#include "engine/external/external_connector.h"

/* The value of "external.NAME".  Errors: USAGE: this build lacks the door. */
MUST_USE enum err external_setting(const struct cli *, const char *name,
    enum conf_id *, struct why *);
/*
 * The door's address with the connector's path, without "/" at its end:
 * external.public_url, or else http.listen.  Memory: the cli's.  Errors:
 * CONFIG, when neither says where back ends reach it.
 */
MUST_USE enum err external_endpoint(struct cli *, struct str connector,
    struct str *out, struct why *);
/*
 * The set of external.backends_file, and the back end `name` in it; the caller
 * releases the set.  Without a file it is backends_local()'s.  Errors: ABSENT;
 * CONFIG, naming the file.
 */
MUST_USE enum err external_backend(const struct cli *, struct str name,
    struct backends **, const struct backend **, struct why *);
/*
 * A built-in connector, or one of external.connectors, by its name; `text` is
 * its file's, or empty.  The caller frees the connector.  Memory: the cli's.
 * Errors: ABSENT; CONFIG, when a file of the directory is wrong.
 */
MUST_USE enum err external_named(struct cli *, struct str name,
    struct external_connector **, struct str *text, struct why *);

#endif
