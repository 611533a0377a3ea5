#include "engine/archive/wacz.h"
#include "engine/catalog/catalog.h"
#include "engine/policy/seed_list.h"

enum err
catalog_package(const struct package_request *q, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct wacz_options o = { .titles = true, .title = q->title,
	    .software = STR("argiope " ARGIOPE_VERSION) };
	struct archive_catalogue c = { .files = q->files, .n = q->files_n };
	struct wacz_counts counts;
	struct url u;

	if (seed_parse(q->seed, &a, &u, NULL) == OK)
		o.main_url = u.href;
	return wacz_send(&c, q->scratch, &o, q->put, q->arg, &counts, w);
}
