/*
 * flickr_items -- photos of Flickr: answers of flickr.photos.getInfo.
 *
 * Source: contracts/platforms.md section 5, export.md section 5.
 */
#ifndef ENGINE_CONNECTOR_FLICKR_FLICKR_ITEMS_H
#define ENGINE_CONNECTOR_FLICKR_FLICKR_ITEMS_H

#include "engine/connector/items.h"

extern const struct connector_items flickr_items;

#endif
