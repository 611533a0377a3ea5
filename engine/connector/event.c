#include "engine/connector/event.h"

/* The next line, which ends in CR, LF or both. */
static bool
take_line(struct str *rest, struct str *line)
{
	size_t n = 0;

	if (rest->n == 0)
		return false;
	while (n < rest->n && rest->p[n] != '\n' && rest->p[n] != '\r')
		n++;
	*line = str_cut(*rest, 0, n);
	bool both = n + 1 < rest->n && rest->p[n] == '\r' &&
	    rest->p[n + 1] == '\n';
	*rest = str_from(*rest, n + (both ? 2 : 1));
	return true;
}

bool
event_read(struct str lines, struct arena *a, struct str *name,
    struct str *data)
{
	char *joined = arena_bytes(a, lines.n + 1);
	struct str line;
	size_t n = 0;
	bool has_data = false;

	*name = STR("message");
	while (take_line(&lines, &line)) {
		size_t at = str_find_char(line, ':');
		struct str field = str_cut(line, 0, at);
		struct str value = str_from(line, at + 1);
		(void)str_take_char(&value, ' ');
		if (str_eq(field, STR("event")) && value.n > 0)
			*name = value;
		if (!str_eq(field, STR("data")))
			continue;
		if (has_data)
			joined[n++] = '\n';
		if (value.n > 0)
			memcpy(joined + n, value.p, value.n);
		n += value.n;
		has_data = true;
	}
	*data = (struct str){ joined, n };
	return has_data;
}
