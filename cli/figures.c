#include "cli/figures.h"

#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/report.h"

size_t
figures_read(struct engine *e, struct arena *a, struct figure **out)
{
	FREED(arena_free) struct arena specs = ARENA_INIT;
	struct crawl_view v;
	size_t at = 0, n = 0;

	while (engine_next_view(e, &at, &v))
		n++;
	*out = ARENA_ARRAY(a, struct figure, n + 1);
	at = n = 0;
	while (engine_next_view(e, &at, &v)) {
		struct figure *f = &(*out)[n++];
		struct crawl_spec spec;
		f->view = v;
		/* The caller keeps none of their policies. */
		arena_reset(&specs);
		if (engine_spec(e, v.id, &specs, &spec, NULL) != OK)
			continue;
		f->name = arena_copy(a, spec.name);
		f->warc_dir = arena_copy(a, spec.warc_dir);
	}
	return n;
}

static const char *
state_word(const struct figure *f)
{
	return f->interrupted ? "interrupted" : crawl_state_name(f->view.state);
}

void
figures_json(const void *figure, struct buf *b)
{
	const struct figure *f = figure;
	const struct crawl_view *v = &f->view;

	json_u64(b, "id", v->id);
	json_str(b, "name", f->name);
	json_str(b, "kind", str_of(crawl_kind_name(v->kind)));
	json_str(b, "state", str_of(state_word(f)));
	json_str(b, "reason", str_of(v->reason));
	if (v->created.us != 0)
		format_json_time(b, "created", v->created);
	if (v->ended.us != 0)
		format_json_time(b, "ended", v->ended);
	json_u64(b, "queues", v->queues);
	json_str(b, "warc_dir", f->warc_dir);
	json_name(b, "counts");
	report_counts_json(&v->counts, b);
}

static void
put_figure(const struct figure *f, struct buf *b)
{
	const struct crawl_counts *n = &f->view.counts;
	char one[FORMAT_MAX], two[FORMAT_MAX], iso[WALL_ISO_MAX];
	FREED(arena_free) struct arena a = ARENA_INIT;

	wall_to_iso(f->view.created, iso);
	buf_printf(b, "%4u  %-16s %-10s %10s %10s", f->view.id,
	    format_text(&a, f->name.n > 0 ? f->name : STR("-"), 20),
	    state_word(f), format_count(n->items, one),
	    format_count(n->queued, two));
	buf_printf(b, " %9s  %.10s %.5s\n", format_bytes(n->body_bytes, one),
	    iso, iso + 11);
	buf_put_text(b, "      ");
	if (f->view.reason[0] != '\0')
		buf_printf(b, "%s; ", f->view.reason);
	format_safe(b, f->warc_dir.n > 0 ? f->warc_dir : STR("no archive"),
	    4000);
	buf_put_char(b, '\n');
}

void
figures_text(const void *figures, size_t n, struct buf *b)
{
	const struct figure *f = figures;

	buf_printf(b, "%4s  %-16s %-10s %10s %10s %9s  %s\n", "id", "name",
	    "state", "captures", "queued", "bytes", "begun (UTC)");
	for (size_t i = 0; i < n; i++)
		put_figure(&f[i], b);
}
