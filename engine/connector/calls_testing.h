/*
 * calls_testing -- a driver for fuzz targets: any bytes as the answers to a
 * connector's calls.
 *
 * The first byte chooses the harvest, the rest are answers that lines of "--"
 * part:
 *
 *     STATUS
 *     fields of the head, and an empty line
 *     body
 *
 * After each answer the run is saved and goes on in another.  A broken promise
 * ends the process: calls must stay where they belong, texts must be on one
 * line, counts within what came, and a run that has ended must have said so
 * once.
 */
#ifndef ENGINE_CONNECTOR_CALLS_TESTING_H
#define ENGINE_CONNECTOR_CALLS_TESTING_H

#include "engine/connector/connector.h"

struct testing_calls {
	const char *type;
	const char *message;         /* {"seeds":..,"options":..,...} */
	/* What the last run has left: key, value, key, value ..., NULL; sorted
	 * by key.  NULL: nothing. */
	const char *const *state;
	const char *base;            /* what every call's URL begins with */
	const char *key_ends[4];     /* ends of the keys of its state, NULL */
	size_t saved_bytes_max;      /* of a checkpoint */
};

void testing_fuzz_calls(const struct testing_calls *, size_t n,
    const uint8_t *data, size_t data_n);

#endif
