/*
 * youtube -- videos of channels and comments on videos, by YouTube's Data API.
 *
 * Source: contracts/platforms.md §13,
 * https://developers.google.com/youtube/v3/docs.
 */
#ifndef ENGINE_CONNECTOR_YOUTUBE_YOUTUBE_H
#define ENGINE_CONNECTOR_YOUTUBE_YOUTUBE_H

#include "engine/connector/connector.h"

extern const struct connector youtube_channel, youtube_comments;

#endif
