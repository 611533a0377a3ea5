/*
 * weibo_items -- posts of Weibo: timelines and topic searches.
 *
 * Source: contracts/platforms.md section 7, export.md sections 5 and 9.4.
 */
#ifndef ENGINE_CONNECTOR_WEIBO_WEIBO_ITEMS_H
#define ENGINE_CONNECTOR_WEIBO_WEIBO_ITEMS_H

#include "engine/connector/items.h"

extern const struct connector_items weibo_items;

/* --- of weibo_text.c ---------------------------------------------------- */

/*
 * Append the topics of a text, ", " between: what stands between two "#" and
 * consists of word characters, backslashes and white space.
 */
void weibo_put_topics(struct str text, struct arena *, struct buf *out);
/* Take the next short link off a text, such as "http://t.cn/RqAbc12"; false:
 * there is none. */
bool weibo_take_link(struct str *text, struct str *link);

#endif
