/*
 * op_order -- a group's puts and deletions on their way into the index, by key.
 *
 * RocksDB keeps in memory what was written last, in a skip list.  A key's place
 * there is found in half the time when the key before it stood nearby: the
 * search then meets what the processor's cache has already.
 *
 * Operations on one key keep their order.
 * Thread: one at a time.
 */
#ifndef ENGINE_LEDGER_OP_ORDER_H
#define ENGINE_LEDGER_OP_ORDER_H

#include "os/index.h"

struct op_order {
	struct op_entry *ops;
	size_t n, cap;
};
#define OP_ORDER_INIT ((struct op_order){ NULL, 0, 0 })

void op_order_free(struct op_order *);
/* Both borrow; the bytes stay as they are until op_order_write(). */
void op_order_put(struct op_order *, enum index_family, struct str key,
    struct str value);
void op_order_delete(struct op_order *, enum index_family, struct str key);
/* Append all of them to the batch, and forget them. */
void op_order_write(struct op_order *, struct index *, struct index_batch *);

#endif
