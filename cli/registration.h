/*
 * registration -- what `argiope external register` sends to a back end, and
 * what the answer says.
 *
 *     object ─► body ─► POST /externals, PATCH /externals/FID ─► fid, version
 *
 * A PATCH is merged into the object that the back end has (RFC 7396), so a
 * member that the new object lacks is sent as null.
 *
 * Thread: any; pure.
 * Source: contracts/external.md §1 (envelope), §9, §12.
 */
#ifndef CLI_REGISTRATION_H
#define CLI_REGISTRATION_H

#include "base/arena.h"
#include "engine/backends/backends.h"
#include "engine/external/external_connector.h"

/* As of a task's fid: letters, digits, "_", ".", ":" and "-". */
#define REGISTRATION_FID_BYTES_MAX 128u
#define REGISTRATION_DEPTH_MAX 64u
/* A longer message of a back end is cut. */
#define REGISTRATION_MESSAGE_BYTES_MAX 200u

/*
 * The URL of the back end's API: `url`, or where that is empty the part of the
 * back end's prefix before "/actions/tasks/".  Memory: `a`.  Errors: INPUT,
 * naming --url; USAGE: the prefix does not end so.
 */
MUST_USE enum err registration_base(const struct backend *, struct str url,
    struct arena *a, struct url *out, struct why *);
/* BASE/externals, or BASE/externals/FID.  Memory: `a`. */
MUST_USE enum err registration_url(const struct url *base, struct str fid,
    struct arena *a, struct url *out, struct why *);

/* Append the external object without its member `headers`. */
void registration_put_object(const struct external_connector *,
    struct str endpoint, bool none_is_ignore, struct buf *out);
/*
 * Append a request's body: `object`, as registration_put_object() writes it;
 * `before`, which the back end has, or empty; and the member `headers` unless
 * `token` is STR_NONE.  An empty token: {}.  The caller overwrites the buffer.
 */
void registration_put_body(struct str object, struct str before,
    struct str token, struct buf *out);

struct registration_reply {
	struct str fid;              /* of the external object */
	uint64_t version;            /* from 1 */
};
/*
 * Read the answer to a request about the object `fid`, or a new one's if it is
 * empty.  Memory: `a`.  Errors, with a sentence that names the back end and has
 * its messages unless they repeat one of its header values or `token`:
 * DENIED (401, 403), ABSENT (404, 410), INPUT (other 4xx, and "success":false),
 * UNREACHED (5xx), STATE (3xx), and CORRUPT when a 2xx has no fid or version.
 */
MUST_USE enum err registration_read(const struct backend *, int status,
    struct str reply, struct str fid, struct str token, struct arena *a,
    struct registration_reply *out, struct why *);

#endif
