#include "cli/listen.h"

enum err
listen_read(struct cli *c, const char *otherwise, const char **address,
    uint16_t *port, struct why *w)
{
	const char *text = cli_text(c, "listen", otherwise);
	struct str s = str_of(text), host;
	size_t colon = s.n;
	uint64_t number;

	while (colon > 0 && s.p[colon - 1] != ':')
		colon--;
	host = str_cut(s, 0, colon == 0 ? 0 : colon - 1);
	if (colon == 0 || !str_to_u64(str_from(s, colon), &number) ||
	    number > UINT16_MAX)
		return why(w, ERR_USAGE, "--listen %.60s: must be an address "
		    "and a port, like %s", text, otherwise);
	if (str_starts(host, STR("[")) && str_ends(host, STR("]")))
		host = str_cut(host, 1, host.n - 1);
	*address = arena_copy(&c->arena, host).p;
	*port = (uint16_t)number;
	return OK;
}
