#include "engine/connector/shown.h"

#include "base/text.h"

#define SHOWN_MAX 200u

void
shown_put(struct buf *b, struct str s)
{
	size_t length;

	for (size_t i = 0; i < s.n; i += length) {
		struct str one = str_from(s, i);
		length = MAX(text_utf8_length(one), 1);
		if (i + length > SHOWN_MAX)
			return;
		one = str_cut(one, 0, length);
		if (!text_is_utf8(one))
			buf_put_char(b, '?');
		else if (text_has_control(one))
			buf_put_char(b, ' ');
		else
			buf_put_str(b, one);
	}
}
