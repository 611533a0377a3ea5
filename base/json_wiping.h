/*
 * json_wiping -- memory for documents of yyjson that contain secrets: each
 * piece is overwritten before it is freed, also where one grows.
 *
 *     doc = yyjson_read_opts(text, n, flags, &json_wiping, &error);
 *
 * Thread: any.
 */
#ifndef BASE_JSON_WIPING_H
#define BASE_JSON_WIPING_H

#include <yyjson.h>

extern const yyjson_alc json_wiping;

/* A text that yyjson has written with that memory; NULL is allowed. */
void json_wiping_free(char *);

#endif
