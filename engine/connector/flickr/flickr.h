/*
 * flickr -- public photos of people, or single ones, by Flickr's API.
 *
 * Source: contracts/platforms.md §5, https://www.flickr.com/services/api/.
 */
#ifndef ENGINE_CONNECTOR_FLICKR_FLICKR_H
#define ENGINE_CONNECTOR_FLICKR_FLICKR_H

#include "engine/connector/connector.h"

extern const struct connector flickr_photo, flickr_user;

#endif
