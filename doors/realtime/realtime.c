#include "doors/realtime/own.h"

#include "doors/realtime/item.h"

struct crawl_row *
realtime_row(struct realtime *d, uint64_t crawl)
{
	struct crawl_row *row = crawl > UINT32_MAX ? NULL :
	    crawl_row(d->registry, (uint32_t)crawl);

	return row == NULL || row->deleted ? NULL : row;
}

/* --- who waits for what ------------------------------------------------- */

struct crawl_watch *
watch_take(struct realtime *d, uint32_t crawl)
{
	struct crawl_watch *w = map_get_id(&d->watches, crawl);

	if (w == NULL) {
		w = mem_new(sizeof(*w));
		w->id = crawl;
		list_init(&w->waiting);
		map_put_id(&d->watches, crawl, w);
	}
	w->users++;
	return w;
}

void
watch_put(struct realtime *d, struct crawl_watch **wp)
{
	struct crawl_watch *w = *wp;

	*wp = NULL;
	if (w == NULL || --w->users > 0)
		return;
	CHECK(list_empty(&w->waiting));
	map_take_id(&d->watches, w->id);
	mem_free(&w);
}

/* Wakes the senders of the list that the change concerns; no row: all. */
static void
wake(struct list *waiting, const struct crawl_row *row)
{
	struct list *next;

	for (struct list *l = waiting->next; l != waiting; l = next) {
		struct sender *s = LIST_ITEM(l, struct sender, node);
		next = l->next;
		if (row == NULL || s->stirs == NULL || s->stirs(s, row))
			sender_ready(s);
	}
}

/* The registry has changed. */
static void
changed(struct registry_watch *watch)
{
	struct realtime *d = CONTAINER(watch, struct realtime, watch);
	struct crawl_row *row = NULL;

	while ((row = crawl_registry_before(d->registry, row)) != NULL &&
	    row->changed > d->version) {
		struct crawl_watch *w = map_get_id(&d->watches, row->id);
		if (row->born > d->version)
			follow_join(d, row);
		if (w != NULL)
			wake(&w->waiting, row);
	}
	d->version = crawl_registry_version(d->registry);
	wake(&d->broad, NULL);
}

/* --- filters ------------------------------------------------------------ */

bool
filter_takes(const struct filter *f, const struct crawl_row *row)
{
	if (f->one)
		return row->id == f->crawl;
	return (row->view.kind == CRAWL_FRONTIER) == f->outsiders &&
	    (f->tag_n == 0 || crawl_registry_has_tag(row,
	    (struct str){ f->tag, f->tag_n }));
}

bool
filter_read(struct filter *f, struct task *t)
{
	const struct command *c = &t->command;

	if (command_has(c, ARG_BIT(CRAWL_ID)) &&
	    command_has(c, ARG_BIT(TAG)))
		return task_fail(t, CODE_BAD_ARGS,
		    "crawl_id: there is a tag too; give one of them.");
	if (c->kind.n > 0 && !str_eq(c->kind, STR("crawl")) &&
	    !str_eq(c->kind, STR("frontier")))
		return task_fail(t, CODE_BAD_ARGS,
		    "kind: \"crawl\" or \"frontier\" is expected.");
	if (c->tag.n > STORE_TAG_BYTES_MAX)
		return task_fail(t, CODE_LIMIT,
		    "tag: it is longer than %u bytes.", STORE_TAG_BYTES_MAX);
	*f = (struct filter){ .tag_n = c->tag.n,
	    .outsiders = str_eq(c->kind, STR("frontier")) };
	if (c->tag.n > 0)
		memcpy(f->tag, c->tag.p, c->tag.n);
	f->one = command_has(c, ARG_BIT(CRAWL_ID));
	if (!f->one)
		return true;
	struct crawl_row *row = task_row(t);
	f->crawl = row == NULL ? 0 : row->id;
	return row != NULL;
}

/* --- the row of the table of doors --------------------------------------- */

static enum err
open_door(const struct door_host *host, void **door, struct why *w)
{
	(void)w;
	if (conf_address(host->conf, CONF_HTTP_LISTEN).host.n == 0)
		return OK;
	struct realtime *d = *door = mem_new(sizeof(*d));
	d->host = host;
	d->home = host->home;
	d->pool = pool_new(1);
	list_init(&d->clients);
	list_init(&d->broad);
	list_init(&d->follows);
	list_init(&d->monitors);
	list_init(&d->packages);
	realtime_meter_register();
	return OK;
}

static void
data_read(void *door, struct engine *e)
{
	struct realtime *d = door;

	d->engine = e;
	d->registry = engine_registry(e);
	d->feed = engine_stream(e);
	d->mark = stream_mark(d->feed);
	d->renderer = stream_use(d->feed, item_render);
	d->web = d->host->web;
	packages_sweep(d->host->data_dir);
	d->version = crawl_registry_version(d->registry);
	d->watch.changed = changed;
	crawl_registry_watch(d->registry, &d->watch);
	monitor_start(d);
}

/* It stands for the whole port: the console's requests are counted too. */
static void
put_status(void *door, struct door_status *out)
{
	const struct realtime *d = door;
	struct web_counts n;

	out->name = "console and realtime";
	out->module = "web";
	if (!out->counted)
		return;
	web_counts(d->host->web, &n);
	out->requests = n.requests;
}

/* Remaining sockets are sent nothing; the engine returns every question. */
static void
drain_door(void *door, void (*drained)(void *), void *arg)
{
	struct realtime *d = door;

	LIST_EACH(c, &d->clients, struct client, node)
		client_quiet(c);
	d->draining = true;
	d->web = NULL;
	monitor_stop(d);
	crawl_registry_unwatch(&d->watch);
	packages_stop(d);
	drain_gate_close(&d->asked, drained, arg);
}

static void
free_door(void **door)
{
	struct realtime *d = *door;

	*door = NULL;
	CHECK(list_empty(&d->clients));
	if (!d->draining && d->engine != NULL) {
		monitor_stop(d);
		crawl_registry_unwatch(&d->watch);
	}
	for (size_t i = 0; i < d->frames_max; i++)
		buf_free(&d->frames[i]);
	mem_free(&d->frames);
	map_free(&d->watches);
	pool_free(&d->pool);
	pool_free(&d->packers);
	mem_free(&d);
}

/* The clients of 2016 connect to whatever path they like. */
static const struct web_socket_path sockets[] = {
	{ "*", &realtime_socket, TOKEN_DOOR_REALTIME, NULL },
};

const struct door door_realtime = {
	.name = "realtime",
	.help = "The door for programs that begin, follow and read crawls over "
	    "a WebSocket, at http.listen.",
	.may_read = "follow and read crawls",
	.may_write = "begin, change and delete crawls",
	.open = open_door,
	.routes = realtime_routes, .routes_n = REALTIME_ROUTES,
	.sockets = sockets, .sockets_n = ARRAY_LEN(sockets),
	.data_read = data_read, .status = put_status, .drain = drain_door,
	.free = free_door,
};
