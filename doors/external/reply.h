/*
 * reply -- answers in the form that back ends read:
 *
 *     {"success":true,"payload":{...},"version":0}
 *     {"success":false,"messages":["..."]}
 *
 * Source: contracts/external.md §1, "Envelope".
 */
#ifndef DOORS_EXTERNAL_REPLY_H
#define DOORS_EXTERNAL_REPLY_H

#include "server/web.h"

/* 200, with a payload that is JSON. */
void reply_success(struct web_request *, struct str payload);
/* `status` with one message, or several. */
void reply_fail(struct web_request *, int status, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
void reply_fail_all(struct web_request *, int status,
    const struct str *messages, size_t n);
/*
 * From an error: its HTTP status.  The text of an internal one goes to the log,
 * not to the client.
 */
void reply_fail_why(struct web_request *, enum err, const struct why *);
/* As web_route.refuse. */
void reply_refuse(struct web_request *, int status, const char *code,
    struct str text);

#endif
