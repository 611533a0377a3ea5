#include "cli/engines.h"

enum err
engines_open(engines_open_fn *open, const struct engine_options *o,
    struct engine **out, struct why *w)
{
	struct why lock = WHY_INIT;
	enum err e = open(o, out, &lock);

	return e == OK ? OK : why(w, e, "%s%s", lock.text, e == ERR_BUSY ?
	    "; wait for it, or name another directory with --data" : "");
}

enum err
engines_find(struct engine *e, struct str name, uint32_t *id, struct why *w)
{
	struct crawl_view v;
	uint64_t number;

	*id = engine_find(e, name);
	if (*id != UINT32_MAX)
		return OK;
	if (name.n == 0)
		return why(w, ERR_ABSENT, "no crawl is left that could go on; "
		    "argiope status lists them");
	if (str_to_u64(name, &number) && number < UINT32_MAX &&
	    engine_view(e, (uint32_t)number, &v) == OK) {
		*id = (uint32_t)number;
		return OK;
	}
	return why(w, ERR_ABSENT, "there is no crawl %.*s; argiope status "
	    "lists them", STR_FMT(str_cut(name, 0, 100)));
}
