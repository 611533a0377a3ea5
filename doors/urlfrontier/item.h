/*
 * item -- the messages that come and go by the million, read and written where
 * they lie; all others are protobuf-c's business.
 *
 *     URLItem, DiscoveredBatch ─► struct lease_item
 *     struct item_info ─► URLInfo, URLItem;  status ─► AckMessage, BatchAck
 *     struct lease_item ─► URLItem;  AckMessage ─► status
 *
 * Metadata stays as it came: the fields `metadata` of a URLInfo, tags and all,
 * looked through and stored; so it goes out again without being built anew.
 * Texts may hold any character, NUL too, but must be UTF-8: another client's
 * library would fail on what is none.
 *
 * Thread: any.  Source: protobuf.dev, "Encoding"; urlfrontier.proto.
 */
#ifndef DOORS_URLFRONTIER_ITEM_H
#define DOORS_URLFRONTIER_ITEM_H

#include "base/arena.h"
#include "engine/frontier/lease_service.h"

/*
 * Read one message into `*out`, all of which is set, and its ID.  Both borrow
 * from the message; metadata that is scattered in it is joined in the arena.
 * False: it cannot be decoded.
 */
bool item_read(struct str message, struct arena *, struct lease_item *out,
    struct str *id);
/* The same with a URLInfo alone: a discovered URL. */
bool item_read_info(struct str info, struct arena *,
    struct lease_item *out);
/* Whether all of a DiscoveredBatch can be decoded; and its ID. */
bool item_check_batch(struct str message, struct str *id);
/* Take the next URLInfo off a batch that was checked; false: no more. */
bool item_next(struct str *rest, struct str *info);

/* Whether it is UTF-8. */
bool item_is_text(struct str);

struct item_info {
	struct str url, key, metadata, crawl;
};

/* The size of a message, and its bytes; write returns what lies behind them. */
size_t item_info_size(const struct item_info *);
char *item_info_write(char *p, const struct item_info *);

/* A URLItem with a known URL; dates in seconds, 0 is not written. */
size_t item_known_size(const struct item_info *, uint64_t date_s,
    uint64_t created_s);
char *item_known_write(char *p, const struct item_info *, uint64_t date_s,
    uint64_t created_s);

/* A URLItem of what was read, for another node: under an ID of ours. */
size_t item_put_size(const struct lease_item *, struct str id);
char *item_put_write(char *p, const struct lease_item *, struct str id);
/* An AckMessage; a status that is none counts as FAIL.  False: malformed. */
bool item_read_ack(struct str message, struct str *id, enum lease_status *);

/* AckMessage, and BatchAck: a byte for each status. */
size_t item_ack_size(struct str id, enum lease_status);
char *item_ack_write(char *p, struct str id, enum lease_status);
size_t item_batch_ack_size(struct str id, struct str statuses);
char *item_batch_ack_write(char *p, struct str id, struct str statuses);

#endif
