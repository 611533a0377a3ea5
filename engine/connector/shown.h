/*
 * shown -- texts from outside within messages for people.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_SHOWN_H
#define ENGINE_CONNECTOR_SHOWN_H

#include "base/bytes.h"

/* Append at most the first 200 bytes of a text, in whole characters; control
 * characters become blanks, and bytes that are no UTF-8 question marks. */
void shown_put(struct buf *, struct str);

#endif
