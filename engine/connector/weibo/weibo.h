/*
 * weibo -- posts of the timeline of a user and of topics, by Weibo's API.
 *
 * Source: contracts/platforms.md §7, https://open.weibo.com/wiki/API.
 */
#ifndef ENGINE_CONNECTOR_WEIBO_WEIBO_H
#define ENGINE_CONNECTOR_WEIBO_WEIBO_H

#include "engine/connector/connector.h"

extern const struct connector weibo_search, weibo_timeline;

#endif
