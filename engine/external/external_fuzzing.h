/*
 * external_fuzzing -- what must be true of any parameters of any connector.
 */
#ifndef ENGINE_EXTERNAL_EXTERNAL_FUZZING_H
#define ENGINE_EXTERNAL_EXTERNAL_FUZZING_H

#include "engine/external/external_connector.h"

/*
 * Check them.  If they are right, their normal form is its own normal form,
 * and the order that they make, if it is not too long, is one that the driver
 * takes if the credential is there.  Aborts otherwise.
 */
void fuzzing_params(const struct external_connector *, yyjson_val *params);

#endif
