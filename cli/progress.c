#include "cli/progress.h"

#include <stdarg.h>

#include "cli/format.h"
#include "os/clock.h"
#include "os/system.h"

void
progress_open(struct progress *p, bool quiet)
{
	*p = (struct progress){ .mode = quiet ? PROGRESS_QUIET :
	    system_is_terminal(2) ? PROGRESS_TERMINAL : PROGRESS_PIPE };
	p->printed = clock_mono();
}

static void
add_sample(struct progress *p, uint64_t items)
{
	if (p->samples_n == PROGRESS_SAMPLES) {
		memmove(p->samples, p->samples + 1,
		    (PROGRESS_SAMPLES - 1) * sizeof(p->samples[0]));
		p->samples_n--;
	}
	p->samples[p->samples_n].at = clock_mono();
	p->samples[p->samples_n++].items = items;
}

/* Captures per second over the samples. */
static double
rate(const struct progress *p)
{
	if (p->samples_n < 2)
		return 0;
	int64_t ns = mono_ns_between(p->samples[0].at,
	    p->samples[p->samples_n - 1].at);
	uint64_t n = p->samples[p->samples_n - 1].items - p->samples[0].items;
	return ns <= 0 ? 0 : (double)n * 1e9 / (double)ns;
}

void
progress_line(const struct progress *p, const struct crawl_view *v,
    const struct engine_look *k, bool stopping, size_t columns,
    struct buf *b)
{
	const struct crawl_counts *n = &v->counts;
	char one[FORMAT_MAX], two[FORMAT_MAX], why_text[300];
	unsigned waiting = k->hosts_delayed + k->hosts_backoff;
	size_t from = b->n;

	catalog_diagnose(k, v, why_text, sizeof(why_text));
	buf_printf(b, "%s page%s  %s/s  ", format_count(n->items, one),
	    n->items == 1 ? "" : "s", format_rate(rate(p), two));
	buf_printf(b, "%s  %s queued", format_bytes(n->body_bytes, one),
	    format_count(n->queued, two));
	if (waiting > 0)
		buf_printf(b, "  %u host%s waiting", waiting,
		    waiting == 1 ? "" : "s");
	if (crawl_exceptions(n) > 0)
		buf_printf(b, "  %s error%s", format_count(crawl_exceptions(n),
		    one), crawl_exceptions(n) == 1 ? "" : "s");
	if (stopping && k->health == ENGINE_DISK_FULL) {
		buf_put_text(b, " | stopping waits for space on the disk");
	} else if (stopping) {
		buf_printf(b, " | stopping, %u under way", k->in_flight);
	} else {
		buf_put_text(b, " | ");
		format_safe(b, str_of(why_text), sizeof(why_text));
	}
	if (b->n - from > columns)
		b->n = from + columns;
}

static void
draw(struct progress *p, struct buf *line)
{
	size_t width = line->n;

	for (size_t i = width; i < p->width; i++)
		buf_put_char(line, ' ');
	/* The cursor waits at the start: a log line overwrites this one. */
	buf_put_char(line, '\r');
	fwrite(line->p, 1, line->n, stderr);
	fflush(stderr);
	p->width = width;
}

void
progress_show(struct progress *p, const struct crawl_view *v,
    const struct engine_look *k, bool stopping)
{
	struct mono now = clock_mono();
	FREED(buf_free) struct buf line = BUF_INIT;

	add_sample(p, v->counts.items);
	if (p->mode == PROGRESS_TERMINAL) {
		progress_line(p, v, k, stopping, system_columns(2) - 1, &line);
		draw(p, &line);
	} else if (p->mode == PROGRESS_PIPE && mono_ns_between(p->printed,
	    now) >= PROGRESS_PIPE_MS * NS_PER_MS) {
		p->printed = now;
		progress_line(p, v, k, stopping, 300, &line);
		fprintf(stderr, "%s\n", buf_text(&line));
	}
}

void
progress_text(struct progress *p, const char *fmt, ...)
{
	struct mono now = clock_mono();
	bool drawn = p->mode == PROGRESS_TERMINAL;
	int64_t every_ms = drawn ? PROGRESS_LOOK_MS : PROGRESS_PIPE_MS;
	FREED(buf_free) struct buf line = BUF_INIT;
	char text[300];
	va_list ap;

	if (p->mode == PROGRESS_QUIET || mono_ns_between(p->printed, now) <
	    every_ms * NS_PER_MS)
		return;
	p->printed = now;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_put_text(&line, text);
	if (drawn) {
		line.n = MIN(line.n, system_columns(2) - 1);
		draw(p, &line);
	} else {
		fprintf(stderr, "%s\n", text);
	}
}

void
progress_clear(struct progress *p)
{
	FREED(buf_free) struct buf line = BUF_INIT;

	if (p->mode == PROGRESS_TERMINAL && p->width > 0)
		draw(p, &line);
}

void
progress_say(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	progress_clear(p);
	fputs("argiope: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	fflush(stderr);
}
