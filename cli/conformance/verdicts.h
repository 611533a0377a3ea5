/*
 * verdicts -- the checks of `argiope external conformance`, and what became of
 * each.
 *
 *     PASS start/envelope
 *     FAIL start/missing-fid the answer is 200, not 400
 *     SKIP upload/schema there is no --object with a schema
 *     2 passed, 1 failed, 1 skipped
 *
 * A check begins undecided.  The first failure of it stays; a check that
 * nothing has decided is skipped, because it was not reached.
 *
 * Thread: one.
 * Source: external.md §13.
 */
#ifndef CLI_CONFORMANCE_VERDICTS_H
#define CLI_CONFORMANCE_VERDICTS_H

#include "base/bytes.h"
#include "base/err.h"

enum verdict_side { VERDICT_CRAWLER, VERDICT_BACKEND };

/*  side, enumerator, group, name, what is checked */
#define VERDICT_CHECKS(X)                                                     \
	X(CRAWLER, START_ENVELOPE, "start", "envelope",                      \
	    "POST /task answers the envelope of a success")                  \
	X(CRAWLER, START_STATUS, "start", "status",                          \
	    "the answer has a status with code and message")                 \
	X(CRAWLER, START_CALLBACK, "start", "callback",                      \
	    "callback begins with / or has the crawler's origin")            \
	X(CRAWLER, START_MISSING_ENDPOINT, "start", "missing-endpoint",      \
	    "a task without endpoint is refused with 400")                   \
	X(CRAWLER, START_MISSING_FID, "start", "missing-fid",                \
	    "a task without fid is refused with 400")                        \
	X(CRAWLER, START_NOT_JSON, "start", "not-json",                      \
	    "a body that is no JSON is refused with 400")                    \
	X(CRAWLER, START_BAD_PARAMS, "start", "bad-params",                  \
	    "each wrong parameter is refused with 400, and named")           \
	X(CRAWLER, START_OAUTH, "start", "oauth-without-token",              \
	    "an oauth credential without token is no server error")          \
	X(CRAWLER, UPLOAD_MEDIA_TYPE, "upload", "media-type",                \
	    "uploads are application/x-ndjson in UTF-8")                     \
	X(CRAWLER, UPLOAD_LINE_FORM, "upload", "line-form",                  \
	    "each line is an object; LF between lines, none at the end")     \
	X(CRAWLER, UPLOAD_GZIP, "upload", "gzip",                            \
	    "Content-Encoding is gzip, and the body is")                     \
	X(CRAWLER, UPLOAD_SCHEMA, "upload", "schema",                        \
	    "documents agree with the schema of --object")                   \
	X(CRAWLER, UPLOAD_ID_FIELD, "upload", "id-field",                    \
	    "documents have the docIdField of --object")                     \
	X(CRAWLER, UPLOAD_BATCH_SIZE, "upload", "batch-size",                \
	    "an upload has at most 500 documents and 1 MiB")                 \
	X(CRAWLER, UPLOAD_ORDER, "upload", "order",                          \
	    "a task has one upload under way, and repeats it first")         \
	X(CRAWLER, FAULTS_429, "faults", "too-many-requests",                \
	    "429 with Retry-After: the upload comes again, not earlier")     \
	X(CRAWLER, FAULTS_500, "faults", "server-errors",                    \
	    "500 three times: every document arrives once")                  \
	X(CRAWLER, FAULTS_413, "faults", "too-large",                        \
	    "413: smaller uploads, every document arrives once")             \
	X(CRAWLER, FAULTS_LINES, "faults", "refused-lines",                  \
	    "406 that names a line: the others are not sent again")          \
	X(CRAWLER, FAULTS_WHOLE, "faults", "refused-whole",                  \
	    "406 without lines: every document arrives once")                \
	X(CRAWLER, FAULTS_CUT, "faults", "cut-answer",                       \
	    "an answer that is cut: every document arrives once")            \
	X(CRAWLER, FAULTS_LOST, "faults", "lost-reply",                      \
	    "no answer: every document arrives once")                        \
	X(CRAWLER, FAULTS_TEXT, "faults", "text-answer",                     \
	    "200 that is no JSON is a success")                              \
	X(CRAWLER, FAULTS_GZIP, "faults", "gzip-refused",                    \
	    "415 to a gzipped upload: it comes without gzip")                \
	X(CRAWLER, FAULTS_GONE, "faults", "task-gone",                       \
	    "404: the task sends nothing more")                              \
	X(CRAWLER, FAULTS_STATUS, "faults", "status-refused",                \
	    "500 to a closing status: it comes again")                       \
	X(CRAWLER, STATUS_FORM, "status", "form",                            \
	    "statuses are JSON with code and message")                       \
	X(CRAWLER, STATUS_HEARTBEAT, "status", "heartbeat",                  \
	    "nothing is sent for at most a third of --silence")              \
	X(CRAWLER, STATUS_CLOSING_LAST, "status", "closing-last",            \
	    "a task ends with a closing status, nothing follows it")         \
	X(CRAWLER, STATUS_CLOSING_ONCE, "status", "closing-once",            \
	    "the closing status is sent once")                               \
	X(CRAWLER, STOP_408_CALLBACK, "stop", "timeout-at-callback",         \
	    "PATCH 408 at the callback: no upload after --stop")             \
	X(CRAWLER, STOP_408_PATH, "stop", "timeout-at-status",               \
	    "the same at /task/{fid}/status")                                \
	X(CRAWLER, STOP_200_CALLBACK, "stop", "done-at-callback",            \
	    "PATCH 200 at the callback: no upload after --stop")             \
	X(CRAWLER, STOP_200_PATH, "stop", "done-at-status",                  \
	    "the same at /task/{fid}/status")                                \
	X(CRAWLER, STOP_REPEATED, "stop", "repeated",                        \
	    "a second PATCH is answered 200")                                \
	X(CRAWLER, STOP_UNKNOWN, "stop", "unknown-task",                     \
	    "PATCH of a task that is not known is answered 404")             \
	X(CRAWLER, STOP_MALFORMED, "stop", "malformed",                      \
	    "PATCH without a code is refused with 400")                      \
	X(CRAWLER, OAUTH_REDIRECT, "oauth", "login-redirect",                \
	    "/login redirects to the provider by 302")                       \
	X(CRAWLER, OAUTH_STATE, "oauth", "state",                            \
	    "each login has a state of 128 bits or more")                    \
	X(CRAWLER, OAUTH_PKCE, "oauth", "pkce",                              \
	    "a login has a code_challenge by S256")                          \
	X(CRAWLER, OAUTH_REDIRECT_URI, "oauth", "redirect-uri",              \
	    "redirect_uri is {oauth}/callback")                              \
	X(CRAWLER, OAUTH_UNKNOWN_STATE, "oauth", "unknown-state",            \
	    "/callback refuses a state that was not made")                   \
	X(CRAWLER, OAUTH_FOREIGN, "oauth", "foreign-browser",                \
	    "/callback refuses a state without its cookie")                  \
	X(CRAWLER, OAUTH_REPLAYED, "oauth", "replayed-state",                \
	    "/callback refuses a state that was used")                       \
	X(CRAWLER, OAUTH_FOREIGN_REDIRECT, "oauth", "foreign-redirect-uri",  \
	    "/login leads back to no address that its call names")           \
	X(CRAWLER, OAUTH_CLOSING, "oauth", "closing-page",                   \
	    "a login ends with a page that closes its window")               \
	X(CRAWLER, OAUTH_REPLAYED_CODE, "oauth", "replayed-code",            \
	    "/callback refuses a code that was used")                        \
	X(CRAWLER, OAUTH_TOKEN, "oauth", "token-fields",                     \
	    "GET /token has user, token, issued and expiry")                 \
	X(CRAWLER, OAUTH_RESET, "oauth", "reset",                            \
	    "reset=1 ends the token; without it the page closes")            \
	X(CRAWLER, OAUTH_NO_TOKEN, "oauth", "no-token",                      \
	    "GET /token without a token is answered 404")                    \
	X(CRAWLER, OAUTH_MISSING_UUID, "oauth", "missing-uuid",              \
	    "calls without uuid or subdomain are refused with 400")          \
	X(CRAWLER, OAUTH_CLEAR, "oauth", "clear",                            \
	    "DELETE /token is answered 200, GET then 404")                   \
	X(CRAWLER, OAUTH_CLEAR_TWICE, "oauth", "clear-twice",                \
	    "a second DELETE /token is answered 200")                        \
	X(CRAWLER, SECURITY_NO_TOKEN, "security", "no-token",                \
	    "POST and PATCH without the token are refused with 401")         \
	X(CRAWLER, SECURITY_FOREIGN, "security", "foreign-endpoint",         \
	    "an endpoint at another host is refused with 403")               \
	X(CRAWLER, SECURITY_PRIVATE, "security", "private-endpoint",         \
	    "private and metadata addresses are refused with 403")           \
	X(CRAWLER, SECURITY_USERINFO, "security", "userinfo-endpoint",       \
	    "an endpoint with user or fragment is refused")                  \
	X(CRAWLER, SECURITY_REDIRECT, "security", "redirect",                \
	    "a redirected upload is not followed")                           \
	X(CRAWLER, EXT_KEYS, "extensions", "keys",                           \
	    "a retry has the Idempotency-Key and bytes of the first try")    \
	X(CRAWLER, EXT_REPEATED_FID, "extensions", "repeated-fid",           \
	    "the same POST /task again has the same callback")               \
	X(CRAWLER, EXT_CONFLICT, "extensions", "conflicting-fid",            \
	    "a fid with another endpoint is refused with 409")               \
	X(CRAWLER, EXT_TASK, "extensions", "task-view",                      \
	    "GET /task/{fid} shows status and counts")                       \
	X(CRAWLER, EXT_LOG, "extensions", "task-log",                        \
	    "GET /task/{fid}/log answers a success")                         \
	X(CRAWLER, EXT_OBJECT, "extensions", "object-view",                  \
	    "GET /object has an endpoint, and empty headers")                \
	X(CRAWLER, EXT_FORM, "extensions", "form-view",                      \
	    "GET /form is a JSON Schema of the parameters")                  \
	X(CRAWLER, EXT_TICKET, "extensions", "ticket-abuse",                 \
	    "OAuth calls with a wrong ticket are refused with 403")          \
	X(BACKEND, REGISTER_ADDED, "register", "added",                      \
	    "POST /externals answers fid and version")                       \
	X(BACKEND, REGISTER_CHANGED, "register", "changed",                  \
	    "PATCH merges objects, replaces arrays, counts the version")     \
	X(BACKEND, REGISTER_REMOVED, "register", "removed",                  \
	    "DELETE is answered 200, a PATCH then 404")                      \
	X(BACKEND, REGISTER_UNKNOWN, "register", "unknown",                  \
	    "PATCH of an object that is not known is answered 404")          \
	X(BACKEND, TASK_WITHOUT_STREAM, "start", "without-stream",           \
	    "a crawler without a stream is refused with 400")                \
	X(BACKEND, TASK_BAD_PARAMS, "start", "bad-params",                   \
	    "a crawler with a wrong parameter is refused with 400")          \
	X(BACKEND, TASK_CALL, "start", "call",                               \
	    "POST /task reaches the crawler with fid and params")            \
	X(BACKEND, TASK_ENDPOINT, "start", "endpoint",                       \
	    "the task has an endpoint, a URL")                               \
	X(BACKEND, TASK_HEADERS, "start", "headers",                         \
	    "the call has the headers of the external object")               \
	X(BACKEND, TASK_VERSION, "start", "version",                         \
	    "the call has the version of the external object")               \
	X(BACKEND, TASK_ONCE, "start", "running-once",                       \
	    "a crawler has one task at a time")                              \
	X(BACKEND, TASK_RETRY, "start", "retry",                             \
	    "a retry reaches the crawler under the same fid")                \
	X(BACKEND, TAKES_LINES, "upload", "lines",                           \
	    "lines that end in LF are accepted and counted")                 \
	X(BACKEND, TAKES_CRLF, "upload", "crlf",                             \
	    "lines that end in CR LF are accepted and counted")              \
	X(BACKEND, TAKES_GZIP, "upload", "gzip",                             \
	    "a gzipped upload is accepted, or refused with 400 or 415")      \
	X(BACKEND, TAKES_ID_AGAIN, "upload", "repeated-id",                  \
	    "a document with a known id is accepted")                        \
	X(BACKEND, TAKES_NOT_JSON, "upload", "not-json",                     \
	    "an upload that is no JSON is refused with 400")                 \
	X(BACKEND, TAKES_REFUSED, "upload", "refused-lines",                 \
	    "a document against the schema is refused with 406, by line")    \
	X(BACKEND, TAKES_UNKNOWN, "upload", "unknown-task",                  \
	    "an upload to no task is refused with 404")                      \
	X(BACKEND, HEARS_RUNNING, "status", "running",                       \
	    "a status of 102 is accepted")                                   \
	X(BACKEND, HEARS_MALFORMED, "status", "malformed",                   \
	    "a status without a code is refused with 400")                   \
	X(BACKEND, HEARS_UNKNOWN, "status", "unknown-task",                  \
	    "a status of no task is refused with 404")                       \
	X(BACKEND, HEARS_CLOSED, "status", "closed",                         \
	    "after a closing status an upload is refused with 404")          \
	X(BACKEND, STOPS_SILENT, "stop", "silence",                          \
	    "a silent task gets PATCH 408 at its callback")                  \
	X(BACKEND, STOPS_CANCELLED, "stop", "cancelled",                     \
	    "a deleted task gets a closing PATCH at its callback")           \
	X(BACKEND, STOPS_HEADERS, "stop", "headers",                         \
	    "that PATCH has the headers and the version")                    \
	X(BACKEND, EXT_KEY_AGAIN, "extensions", "repeated-key",              \
	    "an upload with a known key has the same answer")                \
	X(BACKEND, EXT_ONCE, "extensions", "documents-once",                 \
	    "GET /output/{fid} has each document once")

enum check_id {
#define VERDICT_ENUM(side, id, group, name, help) CHECK_##id,
	VERDICT_CHECKS(VERDICT_ENUM)
#undef VERDICT_ENUM
	CHECK_COUNT
};

#define VERDICT_REASON_BYTES_MAX 300u

struct verdicts;

/* `json`: one JSON object per line in place of words. */
struct verdicts *verdicts_new(enum verdict_side, bool json);
void verdicts_free(struct verdicts **);
/*
 * Restrict the report to these checks; more calls add more.  `name` is a group
 * or GROUP/NAME.  Errors: USAGE, when no check of this side has the name.
 */
MUST_USE enum err verdicts_choose(struct verdicts *, struct str name,
    struct why *);
/* Leave a group out. */
void verdicts_leave_out(struct verdicts *, const char *group);
/* Whether any check of the group is wanted; NULL: of any group. */
bool verdicts_wants(const struct verdicts *, const char *group);

/* The first failure of a check stays; it wins over a pass and a skip. */
PRINTF_LIKE(3, 4) void verdict_fail(struct verdicts *, enum check_id,
    const char *fmt, ...);
void verdict_pass(struct verdicts *, enum check_id);
PRINTF_LIKE(3, 4) void verdict_skip(struct verdicts *, enum check_id,
    const char *fmt, ...);
/* Pass, or fail with the reason; returns `fine`. */
PRINTF_LIKE(4, 5) bool verdict_judge(struct verdicts *, enum check_id,
    bool fine, const char *fmt, ...);

/* Append the lines of a group's checks, in the order of the table. */
void verdicts_put_group(const struct verdicts *, const char *group,
    struct buf *);
/* Append the last line; returns the number of failures. */
size_t verdicts_put_end(const struct verdicts *, struct buf *);
/* Append all checks of both sides with what they check. */
void verdicts_put_table(struct buf *);

#endif
