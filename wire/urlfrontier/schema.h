/*
 * schema -- the description of the service: what server reflection tells.
 *
 * A FileDescriptorSet of urlfrontier.proto, as protoc made it with the program.
 *
 * Thread: any.
 */
#ifndef WIRE_URLFRONTIER_SCHEMA_H
#define WIRE_URLFRONTIER_SCHEMA_H

#include "base/bytes.h"

#define URLFRONTIER_SERVICE "urlfrontier.URLFrontier"

/* For reflection_add(); static. */
struct str urlfrontier_schema(void);

#endif
