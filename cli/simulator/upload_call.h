/*
 * upload_call -- what a simulated back end does with any upload or status: it
 * decodes the body, and answers as a fault of its plan wants.
 *
 * Thread: the loop's.
 * Source: external.md §4, §12; RFC 9110 §8.4, §10.2.3.
 */
#ifndef CLI_SIMULATOR_UPLOAD_CALL_H
#define CLI_SIMULATOR_UPLOAD_CALL_H

#include "cli/simulator/fault_plan.h"
#include "server/web.h"
#include "wire/http.h"

/*
 * Append the body of the request, without its Content-Encoding, to `out`; more
 * than `bytes_max` is TOO_LONG.
 */
enum http_damage upload_call_decode(struct web_request *, uint64_t bytes_max,
    struct buf *out);

/* Whether the fault, which may be NULL, keeps a call from being accepted. */
bool upload_call_is_refused(const struct fault *);
/* The status that is answered to a call that has earned `status`. */
int upload_call_status(const struct fault *, int status);
/* The member of the plan that names the fault; "" for none and a delay. */
const char *upload_call_fault(const struct fault *);
/*
 * Answer a call that has earned `status` and `json`, as the fault wants; NULL:
 * as it is.  The request is done with.
 */
void upload_call_answer(struct web_request *, const struct fault *,
    int status, struct str json);

#endif
