/*
 * openapi -- the document that describes the door's requests (OpenAPI 3.1),
 * made of the table of routes.
 *
 * Thread: any; pure.
 */
#ifndef DOORS_ITEMS_OPENAPI_H
#define DOORS_ITEMS_OPENAPI_H

#include "base/bytes.h"

/* Append the document, one JSON text. */
void openapi_write(struct buf *);

#endif
