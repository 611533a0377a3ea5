#include "wire/urlfrontier/schema.h"

static const unsigned char bytes[] = {
#include "wire/urlfrontier/urlfrontier.schema.inc"
};

struct str
urlfrontier_schema(void)
{
	return (struct str){ (const char *)bytes, sizeof(bytes) };
}
