/*
 * oauth_own -- what the files about signing in share.  Private to
 * engine/external.
 */
#ifndef ENGINE_EXTERNAL_OAUTH_OWN_H
#define ENGINE_EXTERNAL_OAUTH_OWN_H

#include "base/json.h"
#include "engine/external/oauth_flow.h"

struct external_reading;

/*
 * Read the member `oauth`; texts are the file's or the connector's.  Errors:
 * INPUT, with the place.
 */
MUST_USE enum err oauth_declaration_read(struct external_reading *,
    yyjson_val *oauth, struct oauth_declaration *);
/* By its name; params_n: there is none. */
size_t oauth_param_find(const struct oauth_declaration *, struct str name);
/*
 * Whether the host of another address of the connector, such as
 * "{instance}" or "{shop}.a.example", is named as one of the declared
 * addresses is: what a user has granted goes to no host but where they signed
 * in.  Without a placeholder it is.
 */
bool oauth_host_is_declared(const struct oauth_declaration *, struct str host);
/*
 * Take the text before the next "{NAME}", and NAME, off a text whose braces
 * match.  Without one `literal` is all of it and `name` STR_NONE.  False: the
 * text was used up.
 */
bool oauth_take_placeholder(struct str *rest, struct str *literal,
    struct str *name);

#endif
