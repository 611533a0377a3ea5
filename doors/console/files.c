#include "doors/console/console.h"

/* The page's security policy: only files of this server, nothing inline. */
#define POLICY "default-src 'none'; script-src 'self'; style-src 'self'; "   \
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; "         \
	"form-action 'none'; frame-ancestors 'none'"

#define SCRIPT "text/javascript; charset=utf-8"
#define FILES(X)                                                             \
	X(index, "html", "text/html; charset=utf-8")                         \
	X(style, "css", "text/css; charset=utf-8")                           \
	X(views, "css", "text/css; charset=utf-8")                           \
	X(browse, "css", "text/css; charset=utf-8")                          \
	X(icon, "svg", "image/svg+xml")                                      \
	X(backends, "js", SCRIPT)                                            \
	X(bits, "js", SCRIPT) X(bulk, "js", SCRIPT)                          \
	X(body, "js", SCRIPT) X(chart, "js", SCRIPT)                         \
	X(connector, "js", SCRIPT) X(connector_choices, "js", SCRIPT)        \
	X(connector_form, "js", SCRIPT) X(connectors, "js", SCRIPT)          \
	X(crawl, "js", SCRIPT) X(crawls, "js", SCRIPT)                       \
	X(dashboard, "js", SCRIPT) X(diff, "js", SCRIPT)                     \
	X(document, "js", SCRIPT)                                            \
	X(dom, "js", SCRIPT)                                                 \
	X(door, "js", SCRIPT) X(early, "js", SCRIPT)                         \
	X(export, "js", SCRIPT) X(export_form, "js", SCRIPT)                 \
	X(exports, "js", SCRIPT)                                             \
	X(external, "js", SCRIPT) X(external_task, "js", SCRIPT)             \
	X(failures, "js", SCRIPT)                                            \
	X(format, "js", SCRIPT) X(icons, "js", SCRIPT)                       \
	X(harvest, "js", SCRIPT) X(harvests, "js", SCRIPT)                   \
	X(item, "js", SCRIPT) X(item_forms, "js", SCRIPT)                    \
	X(items, "js", SCRIPT)                                               \
	X(launch, "js", SCRIPT) X(list, "js", SCRIPT)                        \
	X(login, "js", SCRIPT) X(main, "js", SCRIPT)                         \
	X(page, "js", SCRIPT) X(policy, "js", SCRIPT)                        \
	X(preview, "js", SCRIPT) X(queues, "js", SCRIPT)                     \
	X(runs, "js", SCRIPT)                                                \
	X(say, "js", SCRIPT)                                                 \
	X(schedule, "js", SCRIPT) X(series, "js", SCRIPT)                    \
	X(settings, "js", SCRIPT) X(system, "js", SCRIPT)                    \
	X(tab_files, "js", SCRIPT) X(tab_frontier, "js", SCRIPT)             \
	X(tab_log, "js", SCRIPT) X(tab_pages, "js", SCRIPT)                  \
	X(tab_problems, "js", SCRIPT) X(tab_rules, "js", SCRIPT)             \
	X(tasks, "js", SCRIPT)                                               \
	X(theme, "js", SCRIPT) X(tokens, "js", SCRIPT)                       \
	X(try, "js", SCRIPT)                                                 \
	X(web, "js", SCRIPT) X(worklist, "js", SCRIPT)

/* tools/embed.py makes an array "file_<name>" of each file. */
#include "doors/console/web.inc"

static const struct {
	const char *name, *type;
	const unsigned char *bytes;
	size_t n;
} rows[] = {
#define FILE_ROW(name, end, type) \
	{ #name "." end, type, file_##name, sizeof(file_##name) },
	FILES(FILE_ROW)
};

void
console_files_open(struct console *c)
{
	c->files = mem_array(ARRAY_LEN(rows), sizeof(*c->files));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		c->files[i] = web_text_new(rows[i].type,
		    (struct str){ (const char *)rows[i].bytes, rows[i].n });
}

void
console_files_close(struct console *c)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		web_text_free(&c->files[i]);
	mem_free(&c->files);
}

static void
answer_file(struct web_request *r, const struct console *c, size_t i)
{
	web_add_field(r, "Content-Security-Policy", POLICY);
	web_add_field(r, "Cache-Control", "no-cache");
	web_answer_text(r, c->files[i]);
}

void
console_get_page(struct web_request *r)
{
	answer_file(r, web_arg(r), 0);
}

void
console_get_file(struct web_request *r)
{
	const struct console *c = web_arg(r);
	size_t i = STR_ROW(web_rest(r), rows);

	if (i < ARRAY_LEN(rows))
		answer_file(r, c, i);
	else
		web_fail(r, 404, "not_found", "the console has no such file");
}
