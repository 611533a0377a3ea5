/*
 * web -- the row of web harvests in the table of connectors.  A web harvest is
 * a crawl of the engine, which engine/harvest begins; so the row has no
 * functions.
 *
 * Source: contracts/platforms.md §2, Web.
 */
#ifndef ENGINE_CONNECTOR_WEB_H
#define ENGINE_CONNECTOR_WEB_H

#include "engine/connector/connector.h"

/* Of one harvest; URLs that connectors find come in several messages. */
#define WEB_SEEDS_MAX 100000u

extern const struct connector web_pages;

#endif
