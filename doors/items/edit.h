/*
 * edit -- what requests that change items share.
 *
 * Thread: home's.
 */
#ifndef DOORS_ITEMS_EDIT_H
#define DOORS_ITEMS_EDIT_H

#include "doors/items/input.h"

/* The members of a new item; with `id` or without. */
void edit_read_create(struct input *, struct item_create *, bool with_id);
/* Make one of this body, which lives as long as the exchange, and answer. */
void edit_create(struct exchange *, struct str body);
/* The body as a blob: no longer than items.blob_bytes_max. */
struct str edit_blob_bytes(struct input *);
/* {"name":...,"sha256":...,"bytes":...,"type":...}; parts that are
 * STR_NONE are left out. */
void edit_put_blob(struct buf *, struct str name,
    const uint8_t sha256[static 32], struct str bytes, struct str type);

#endif
