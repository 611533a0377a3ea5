/*
 * input -- reads what the broker delivers: start messages and stops.
 *
 * A byte-order mark is passed over, and so are unknown members.  Whether an
 * order makes sense is not judged here: that is engine/harvest's business.
 *
 * Thread: any; pure.
 * Source: contracts/harvest.md §2, §3.
 */
#ifndef DOORS_HARVEST_INPUT_H
#define DOORS_HARVEST_INPUT_H

#include "doors/harvest/letter.h"

struct input {
	struct str text;             /* the message, without a mark */
	struct str id;
	struct str type, path;       /* empty where they are missing, no text,
	                              * or longer than the store takes */
	struct str kept;             /* the message without "credentials" */
};

/*
 * Read a message.  LETTER_NONE: it has an id, which the store takes; else why
 * it is a dead letter, and only `text` is set.  Memory: `a`, and the body.
 */
enum letter_reason input_read(struct str body, struct arena *a,
    struct input *out);

#endif
