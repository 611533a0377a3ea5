/*
 * json_api -- lists of any JSON API, by a description (json_description.h).
 *
 * Source: contracts/platforms.md §14.
 */
#ifndef ENGINE_CONNECTOR_JSON_JSON_API_H
#define ENGINE_CONNECTOR_JSON_JSON_API_H

#include "engine/connector/connector.h"

extern const struct connector json_api;

#endif
