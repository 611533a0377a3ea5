/*
 * grants -- keeps the access tokens of grants fresh.
 *
 *     due ─► lease ─► the provider ─► commit ─► the tasks' next look
 *                         │ invalid_grant ─► the grant is deleted
 *                         └ another fault ─► due again later
 *
 * A grant is due when 10 % of its token's life are left.  The lease in the
 * store lets one daemon refresh it.  A rotated refresh token is committed
 * before any task can read the new access token, since both are one text.
 *
 * A crash between the provider's answer and the commit loses the new tokens.
 * When the lease has ended the old refresh token is tried again: a provider
 * that still takes it goes on, one that refuses it has the user sign in again.
 *
 * Grants that have expired are deleted by tend.c.
 *
 * Thread: the main loop's.
 * Limits: GRANTS_..._MAX.
 * Source: contracts/external.md §8 (token store).
 */
#ifndef DOORS_EXTERNAL_GRANTS_H
#define DOORS_EXTERNAL_GRANTS_H

#include "doors/external/external_door.h"

#define GRANTS_REFRESHES_MAX CALLER_PROVIDER_CALLS_MAX    /* at once */
#define GRANTS_LOOK_MS 1000
/* A refresh that failed is tried again after so long, by who has to act; a
 * provider's Retry-After counts up to the second. */
#define GRANTS_LATER_S 10
#define GRANTS_OPERATOR_S 300
/* The lease outlives two calls by this. */
#define GRANTS_LEASE_MORE_MS 5000

/* Look for grants that are due, as long as some connector has `oauth`. */
void grants_begin(struct external_door *);
/* Begin no further refresh; those under way end. */
void grants_stop(struct external_door *);
/* When none is under way; NULL is allowed. */
void grants_free(struct grants **);

/* When to try again after a failure: seconds, by the fault and the field
 * Retry-After, which may be empty. */
int64_t grants_pause_s(bool is_operators, struct str retry_after);

#endif
