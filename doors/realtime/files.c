/*
 * The files of a crawl: /crawls/N/files/ lists them, /crawls/N/files/NAME is
 * one of them; crawl-N.wacz is made from the others on request (package.c).
 * Directories are read on a thread of the door.
 */
#include "doors/realtime/own.h"

#define JSON_TYPE "application/json"

struct file_type {
	const char *suffix, *word, *media;
};
static const struct file_type types[] = {
	{ ".warc.gz", "warc", "application/warc" },
	{ ".warc.zst", "warc", "application/warc" },
	{ ".warc", "warc", "application/warc" },
	{ ".cdxj", "cdxj", "text/plain; charset=utf-8" },
	{ ".wacz", "wacz", "application/wacz" },
};

struct listing {
	struct job job;
	struct spec_query spec;
	struct realtime *door;
	struct web_request *request;
	uint32_t crawl;
	struct arena arena;
	const char *dir;             /* where the crawl's WARCs go */
	struct str wanted;           /* a name; empty: the list */
	struct listed {
		struct archive_file file;
		const struct file_type *type;
	} *files;
	size_t n;
};

/* --- reading directories, on the thread --------------------------------- */

static const struct file_type *
type_of(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_ends(name, str_of(types[i].suffix)))
			return &types[i];
	return NULL;
}

static void
read_files(struct job *j)
{
	struct listing *l = CONTAINER(j, struct listing, job);
	struct archive_file *all;
	size_t n = catalog_crawl_files(l->dir, l->crawl, &l->arena, &all);

	l->files = ARENA_ARRAY(&l->arena, struct listed, n);
	for (size_t i = 0; i < n; i++) {
		const struct file_type *type = type_of(all[i].name);
		if (type != NULL)
			l->files[l->n++] = (struct listed){ .file = all[i],
			    .type = type };
	}
}

/* --- answering ---------------------------------------------------------- */

static void
free_listing(struct listing *l)
{
	struct realtime *d = l->door;

	arena_free(&l->arena);
	arena_free(&l->spec.arena);
	mem_free(&l);
	drain_gate_leave(&d->asked);
}

/* Why no package can be made; NULL: it can. */
static const char *
why_no_package(const struct listing *l)
{
	const struct crawl_row *row = realtime_row(l->door, l->crawl);
	bool warcs = false;

	if (!crawl_row_is_over(row))
		return "The crawl has not ended: its package can be made then.";
	for (size_t i = 0; i < l->n; i++) {
		if (l->files[i].file.open)
			return "The crawl's last file is being finished: try "
			    "again in a moment.";
		warcs |= str_eq(str_of(l->files[i].type->word), STR("warc"));
	}
	return warcs ? NULL : row != NULL && row->unarchived ?
	    "The crawl was begun with --no-archive: it has no files." :
	    "The crawl has archived nothing.";
}

static void
answer_package(struct listing *l)
{
	struct crawl_row *row = realtime_row(l->door, l->crawl);
	const char *no = why_no_package(l);
	struct archive_file *files = ARENA_ARRAY(&l->arena,
	    struct archive_file, l->n + 1);
	size_t n = 0;

	if (no != NULL || row == NULL) {
		web_fail(l->request, 409, "bad_state", "%s", no);
		return;
	}
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(str_of(l->files[i].type->word), STR("warc")))
			files[n++] = l->files[i].file;
	package_send(l->door, l->request, row, &l->arena, files, n);
}

static void
answer_list(struct listing *l)
{
	const struct crawl_row *row = realtime_row(l->door, l->crawl);
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_char(&b, '{');
	json_u64(&b, "crawl_id", l->crawl);
	json_bool(&b, "archive", row == NULL || !row->unarchived);
	json_array(&b, "files");
	for (size_t i = 0; i < l->n; i++) {
		json_object(&b, NULL);
		json_str(&b, "name", l->files[i].file.name);
		json_u64(&b, "size", l->files[i].file.size);
		json_str(&b, "type", str_of(l->files[i].type->word));
		json_bool(&b, "open", l->files[i].file.open);
		buf_put_char(&b, '}');
	}
	buf_put_char(&b, ']');
	if (why_no_package(l) == NULL)
		json_str(&b, "wacz", package_name(l->crawl, &l->arena));
	else
		json_null(&b, "wacz");
	buf_put_text(&b, "}\n");
	web_answer(l->request, 200, JSON_TYPE, buf_str(&b));
}

static void
answer_file(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct listed *f = &l->files[i];
		if (str_eq(f->file.name, l->wanted)) {
			web_answer_file(l->request, f->file.path,
			    f->type->media, f->file.name);
			return;
		}
	}
	if (str_eq(l->wanted, package_name(l->crawl, &l->arena)))
		answer_package(l);
	else
		web_fail(l->request, 404, "absent",
		    "The crawl has no such file.");
}

static void
was_read(struct mail *m)
{
	struct job *j = CONTAINER(m, struct job, mail);
	struct listing *l = CONTAINER(j, struct listing, job);

	if (l->wanted.n == 0)
		answer_list(l);
	else
		answer_file(l);
	free_listing(l);
}

static void
got_spec(struct spec_query *s)
{
	struct listing *l = s->arg;

	if (s->why.err != OK) {
		web_fail_why(l->request, s->why.err, &s->why);
		free_listing(l);
		return;
	}
	l->dir = arena_copy(&l->arena, s->spec.warc_dir).p;
	l->job.run = read_files;
	l->job.home = l->door->home;
	l->job.mail.deliver = was_read;
	pool_submit(l->door->pool, &l->job);
}

static void
get_files(struct web_request *r)
{
	struct realtime *d = web_arg(r);
	struct crawl_row *row = NULL;
	struct str crawl;
	uint64_t id;

	if (web_segment(r, 1, &crawl) && str_to_u64(crawl, &id))
		row = realtime_row(d, id);
	if (row == NULL) {
		web_fail(r, 404, "unknown_crawl", "There is no such crawl.");
		return;
	}
	struct listing *l = mem_new(sizeof(*l));
	l->door = d;
	l->request = r;
	l->crawl = row->id;
	l->wanted = arena_copy(&l->arena, web_rest(r));
	l->spec = (struct spec_query){ .crawl = row->id, .done = got_spec,
	    .arg = l };
	drain_gate_enter(&d->asked);
	catalog_spec(d->engine, &l->spec);
}

/* --- what commands there are -------------------------------------------- */

static void
get_commands(struct web_request *r)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	command_help(&b);
	buf_put_char(&b, '\n');
	web_answer(r, 200, JSON_TYPE, buf_str(&b));
}

static void
post_command(struct web_request *r)
{
	task_post(web_arg(r), r);
}

/* Pages of these origins may use the WebSocket, and so these routes too. */
static struct str
get_origins(struct web_request *r)
{
	const struct realtime *d = web_arg(r);

	return conf_str(d->host->conf, CONF_REALTIME_ORIGINS);
}

#define ROW(method, path, match, handle, help) { method, path, match, handle, \
	NULL, help, WEB_TO_NOBODY, TOKEN_DOOR_REALTIME, TOKEN_READ, \
	.origins = get_origins }
const struct web_route realtime_routes[REALTIME_ROUTES] = {
	ROW("GET", "/crawls/*/files/", WEB_PREFIX, get_files,
	    "the files of a crawl, and one of them"),
	ROW("GET", "/realtime/commands", WEB_EXACT, get_commands,
	    "the commands of the WebSocket, with their arguments"),
	ROW("POST", "/realtime/command", WEB_EXACT, post_command,
	    "one command, as a message of the WebSocket has it"),
	{ .method = "GET", .path = "/exports/*/*", .handle = exports_get_file,
	    .help = "a file of an export that has ended",
	    .door = TOKEN_DOOR_HARVEST, .origins = get_origins },
};
