#include "wire/grpc/health.h"

#include "base/list.h"
#include "wire/grpc/pb.h"

struct service {
	char *name;
	enum health_status status;
};

struct health {
	struct grpc_method methods[2];
	struct service services[HEALTH_SERVICES_MAX];
	size_t services_n;
	struct list watchers;
};

struct watcher {
	struct list node;
	struct grpc_call *call;
	char *service;
	enum health_status told;
};

/* HealthCheckRequest: service = 1.  False: it is no such message. */
static bool
read_request(struct str message, struct str *service)
{
	struct reader r = reader_of(message);
	struct pb_field f;

	*service = STR("");
	while (pb_next(&r, &f))
		if (f.number == 1 && f.type == PB_BYTES)
			*service = f.bytes;
	return !r.bad;
}

static struct service *
find(struct health *h, struct str name)
{
	for (size_t i = 0; i < h->services_n; i++)
		if (str_eq(str_of(h->services[i].name), name))
			return &h->services[i];
	return NULL;
}

/* HealthCheckResponse: status = 1; 0 is not written. */
static void
put_status(struct buf *b, enum health_status s)
{
	if (s != HEALTH_UNKNOWN)
		pb_put_varint(b, 1, s);
}

static void
on_check(struct grpc_call *c, struct str message)
{
	struct health *h = grpc_arg(c);
	struct buf b = BUF_INIT;
	struct str name;

	if (!read_request(message, &name)) {
		grpc_finish(c, GRPC_INTERNAL, "the message is malformed");
		return;
	}
	const struct service *s = find(h, name);
	if (s == NULL) {
		grpc_finish(c, GRPC_NOT_FOUND, "unknown service");
		return;
	}
	put_status(&b, s->status);
	grpc_reply(c, buf_str(&b));
	buf_free(&b);
}

/* Changes are rare, so the room in the buffer is not checked. */
static void
tell(struct health *h, struct watcher *w)
{
	struct service *s = find(h, str_of(w->service));
	enum health_status now = s == NULL ? HEALTH_SERVICE_UNKNOWN
	    : s->status;
	struct buf b = BUF_INIT;

	if (now == w->told)
		return;
	put_status(&b, now);
	if (grpc_send(w->call, buf_str(&b)) != GRPC_GONE)
		w->told = now;
	buf_free(&b);
}

static void
on_watch(struct grpc_call *c, struct str message)
{
	struct health *h = grpc_arg(c);
	struct str name;

	if (!read_request(message, &name)) {
		grpc_finish(c, GRPC_INTERNAL, "the message is malformed");
		return;
	}
	struct watcher *w = mem_new(sizeof(*w));
	w->call = c;
	w->service = mem_new(name.n + 1);
	memcpy(w->service, name.p, name.n);
	w->told = (enum health_status)-1;
	list_put(&h->watchers, &w->node);
	grpc_set_data(c, w);
	tell(h, w);
}

static void
on_watch_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct watcher *w = grpc_data(c);

	(void)code, (void)text;
	if (w == NULL)
		return;
	list_take(&w->node);
	mem_free(&w->service);
	mem_free(&w);
}

struct health *
health_new(struct grpc_server *server)
{
	struct health *h = mem_new(sizeof(*h));

	list_init(&h->watchers);
	h->methods[0] = (struct grpc_method){
	    "/grpc.health.v1.Health/Check", GRPC_UNARY,
	    { .on_message = on_check }, h, true };
	h->methods[1] = (struct grpc_method){
	    "/grpc.health.v1.Health/Watch", GRPC_SERVER_STREAM,
	    { .on_message = on_watch, .on_end = on_watch_end }, h, true };
	grpc_server_add(server, h->methods, ARRAY_LEN(h->methods));
	return h;
}

void
health_free(struct health **hp)
{
	struct health *h = *hp;

	if (h == NULL)
		return;
	CHECK(list_empty(&h->watchers));
	for (size_t i = 0; i < h->services_n; i++)
		mem_free(&h->services[i].name);
	mem_free(hp);
}

void
health_set(struct health *h, const char *name, enum health_status status)
{
	struct service *s = find(h, str_of(name));

	if (s == NULL) {
		CHECK(h->services_n < HEALTH_SERVICES_MAX);
		s = &h->services[h->services_n++];
		s->name = mem_copy_text(name);
	}
	s->status = status;
	LIST_EACH(w, &h->watchers, struct watcher, node)
		tell(h, w);
}
