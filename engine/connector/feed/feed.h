/*
 * feed -- entries of feeds: RSS, Atom and JSON Feed.
 *
 * Source: contracts/platforms.md §12; RFC 5005; RFC 9110 §13.
 */
#ifndef ENGINE_CONNECTOR_FEED_FEED_H
#define ENGINE_CONNECTOR_FEED_FEED_H

#include "engine/connector/connector.h"

extern const struct connector feed_entries;

#endif
