/*
 * connectors -- the table of all connectors.
 *
 * Thread: any; it is read-only.
 */
#ifndef ENGINE_CONNECTOR_CONNECTORS_H
#define ENGINE_CONNECTOR_CONNECTORS_H

#include "engine/connector/connector.h"

/* The collection set of orders that name none: the key of a user's feed in
 * state.json begins with it. */
#define CONNECTOR_COLLECTION_SET "local"

/* By its type, "mastodon_account"; NULL when there is none. */
const struct connector *connector_find(struct str type);
/* The i-th, in the order of their types; NULL behind the last. */
const struct connector *connector_at(size_t i);

#endif
