/*
 * json_items -- items of declared platforms: what a description says of the
 * answers of its host.
 *
 * Source: contracts/platforms.md §14, export.md §5.
 */
#ifndef ENGINE_CONNECTOR_JSON_JSON_ITEMS_H
#define ENGINE_CONNECTOR_JSON_JSON_ITEMS_H

#include "engine/connector/items.h"

/* The row of json_api, and what descriptions make of it. */
extern const struct connector_items json_items;

#endif
