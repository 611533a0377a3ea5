/*
 * api_types -- the TypeScript declarations of what scripts see.
 */
#ifndef SCRIPT_WEB_API_TYPES_H
#define SCRIPT_WEB_API_TYPES_H

#include "base/bytes.h"

/* script/argiope.d.ts, as `argiope task types` prints it; static. */
struct str api_types(void);

#endif
