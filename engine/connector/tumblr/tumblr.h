/*
 * tumblr -- posts of blogs, by Tumblr's API.
 *
 * Source: contracts/platforms.md §6, https://www.tumblr.com/docs/en/api/v2.
 */
#ifndef ENGINE_CONNECTOR_TUMBLR_TUMBLR_H
#define ENGINE_CONNECTOR_TUMBLR_TUMBLR_H

#include "engine/connector/connector.h"

extern const struct connector tumblr_blog_posts;

#endif
