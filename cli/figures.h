/*
 * figures -- the crawls of an engine as JSON and as lines.
 */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include "engine/control/control.h"

/* What is shown of one crawl beside its view. */
struct figure {
	struct crawl_view view;
	struct str name, warc_dir;
	bool interrupted;            /* it runs, but no process does it */
};

/* All crawls of an engine that is not started.  Memory: `a`. */
size_t figures_read(struct engine *, struct arena *a, struct figure **out);

/* Put a figure as JSON: "id":0,"name":"","state":"running","reason":"",... */
void figures_json(const void *figure, struct buf *);
/* A line per struct figure under a head line. */
void figures_text(const void *figures, size_t n, struct buf *);

#endif
