#include "engine/store/spool_block.h"

void
spool_block_put(struct buf *b, struct str json)
{
	buf_printf(b, "%zu:", json.n);
	buf_put_str(b, json);
	buf_put_char(b, '\n');
}

bool
spool_block_take(struct str *block, struct str *json)
{
	size_t colon = str_find_char(*block, ':');
	uint64_t n;

	if (!str_to_u64(str_cut(*block, 0, colon), &n) || n >= block->n)
		return false;
	struct str rest = str_from(*block, colon + 1);
	if (rest.n <= n || rest.p[n] != '\n')
		return false;
	*json = str_cut(rest, 0, n);
	*block = str_from(rest, n + 1);
	return true;
}
