/*
 * connector_fuzzing -- a driver for fuzz targets: it gives a connector any
 * answers.
 *
 * The first byte of an input chooses the harvest, the rest are answers that
 * lines of "--" part:
 *
 *     STATUS
 *     fields of the head, and an empty line
 *     body
 *
 * To a call that expects frames or lines, what begins with "F" is one, without
 * that letter.
 *
 * After each of them the run is saved and goes on in another one.  Calls must
 * go to the platform, texts must be on one line, counts within what came,
 * checkpoints small, and a run that has ended must have said so once.  Then the
 * input's bytes are loaded as a checkpoint.
 */
#ifndef ENGINE_CONNECTOR_CONNECTOR_FUZZING_H
#define ENGINE_CONNECTOR_CONNECTOR_FUZZING_H

#include "engine/connector/connector.h"

struct fuzzing {
	const char *base;            /* what each call's URL begins with */
	bool is_host;                /* "/", "?" or nothing must follow */
	/* Harvests: what is chosen from. */
	const struct {
		const char *type, *message;
	} harvests[8];
	size_t harvests_n;
	const struct connector_state *states;    /* of the last run, sorted */
	size_t states_n;
};

/* One input; what must hold and does not, aborts. */
void fuzzing_run(const struct fuzzing *, const uint8_t *data, size_t n);

#endif
