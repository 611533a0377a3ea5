#include "engine/connector/shown.h"

#include "base/text.h"

#define SHOWN_MAX 200u

void
shown_put(struct buf *b, struct str s)
{
	size_t n = MIN(s.n, SHOWN_MAX);

	while (n > 0 && n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		buf_put_char(b, text_has_control(str_cut(s, i, i + 1)) ? ' ' :
		    s.p[i]);
}
