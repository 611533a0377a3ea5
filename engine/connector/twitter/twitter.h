/*
 * twitter -- searches, timelines of accounts and streams of Twitter, by its API
 * v1.1, which lives on in simulators alone, and by v2.
 *
 * Source: contracts/platforms.md §3, §4; https://docs.x.com/x-api/.
 */
#ifndef ENGINE_CONNECTOR_TWITTER_TWITTER_H
#define ENGINE_CONNECTOR_TWITTER_TWITTER_H

#include "engine/connector/connector.h"

extern const struct connector twitter_search, twitter_user_timeline,
    twitter_filter, twitter_sample;
extern const struct connector twitter_search_2, twitter_academic_search,
    twitter_user_timeline_2, twitter_filter_stream;

#endif
