/*
 * export_described -- declared platforms in an order's files: their WARC files
 * begin with a metadata record that describes the answers.
 *
 * All sources share what is made of equal descriptions, so that their tables
 * are one.  Only what precedes the first answer of a file is read for it, or
 * the first item where a description names no columns.
 *
 * Thread: one makes it; then it is read-only, from any.
 */
#ifndef ENGINE_EXPORT_EXPORT_DESCRIBED_H
#define ENGINE_EXPORT_EXPORT_DESCRIBED_H

#include "engine/export/export.h"

struct export_described;
/* Never fails: what cannot be read is noted when the files are exported. */
struct export_described *export_described_new(const struct export_order *);
void export_described_free(struct export_described **);
/* The items that this description declares; NULL: none. */
const struct connector_items *export_described_find(
    const struct export_described *, struct str description);

#endif
