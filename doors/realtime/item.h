/*
 * item -- a capture as the realtime door sends it: docs/protocols/realtime.md
 * section 5.
 *
 *     {"url":"http://a.org/","final_url":...,"status_code":200,"depth":0,
 *      "crawl_id":0,"started_at":1795159500.321846,"completed_at":...,
 *      "duration":0.001721,"body_length":266,"truncated":false,
 *      "sync_token":"MS4wLm1hcmttYXJr","headers":{...},"body":"PGh0..."}
 *
 * A body that is left out leaves no key: it stood last, so that a door puts one
 * that is streamed in front of the last brace.  A body that cannot be read is
 * the empty text, and `truncated`.
 *
 * Thread: any; pure.
 */
#ifndef DOORS_REALTIME_ITEM_H
#define DOORS_REALTIME_ITEM_H

#include "engine/stream/stream.h"

/* Append the object; a stream_render_fn. */
void item_render(const struct stream_capture *, struct buf *);

#endif
