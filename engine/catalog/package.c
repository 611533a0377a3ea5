#include "engine/archive/wacz.h"
#include "engine/catalog/catalog.h"
#include "engine/policy/seed_list.h"

enum err
catalog_package(const struct package_request *q, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct wacz_options o = { .titles = true, .title = q->title,
	    .software = STR("argiope " ARGIOPE_VERSION) };
	struct archive_catalogue c = { .n = q->files_n,
	    .files = ARENA_ARRAY(&a, struct archive_file, q->files_n + 1) };
	struct wacz_counts counts;
	struct url u;

	for (size_t i = 0; i < q->files_n; i++)
		c.files[i] = (struct archive_file){ .path = q->files[i].path,
		    .name = q->files[i].name, .size = q->files[i].size };
	if (seed_parse(q->seed, &a, &u, NULL) == OK)
		o.main_url = u.href;
	return wacz_send(&c, q->scratch, &o, q->put, q->arg, &counts, w);
}
