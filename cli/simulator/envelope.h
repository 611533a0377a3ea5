/*
 * envelope -- the texts in which both sides of the External Crawler protocol
 * answer.
 *
 *     {"success":true,"payload":PAYLOAD,"version":0}
 *     {"success":false,"messages":["..."],"payload":PAYLOAD}
 *
 * Thread: any; pure.
 * Source: external.md §1.
 */
#ifndef CLI_SIMULATOR_ENVELOPE_H
#define CLI_SIMULATOR_ENVELOPE_H

#include "base/bytes.h"

#define ENVELOPE_TYPE "application/json"

/* Append a success; `payload` is JSON. */
void envelope_put_success(struct buf *, struct str payload);
/* Append a failure with `n` messages; an empty payload is left out. */
void envelope_put_failure(struct buf *, const struct str *messages, size_t n,
    struct str payload);

#endif
