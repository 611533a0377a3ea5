#include "engine/external/external_connector.h"

bool
external_name_is_valid(struct str name)
{
	if (name.n == 0 || name.n > EXTERNAL_NAME_BYTES_MAX)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (!(c >= 'a' && c <= 'z') && !ascii_is_digit(c) &&
		    c != '_' && c != '-')
			return false;
	}
	return true;
}
