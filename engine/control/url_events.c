/*
 * What the fetching loops say of each URL: it goes to the main loop by mail,
 * and captures are counted by media type.
 */
#include "engine/control/engine_own.h"

struct event_mail {
	struct mail mail;
	struct engine *engine;
	struct url_event event;
	struct arena arena;
};

static void
deliver_event(struct mail *m)
{
	struct event_mail *x = CONTAINER(m, struct event_mail, mail);

	x->engine->options.event(x->engine->options.arg, &x->event);
	atomic_fetch_sub_explicit(&x->engine->events_waiting, 1,
	    memory_order_relaxed);
	arena_free(&x->arena);
	mem_free(&x);
}

static void
count_type(struct engine_loop *l, const struct url_event *ev)
{
	struct str type = ev->type.n == 0 ? STR("none") :
	    str_cut(ev->type, 0, 100);

	/* A hostile server may invent types: they count as one. */
	if (l->types.n >= 200 && map_get(&l->types, type) == NULL)
		type = STR("other");
	struct type_count *t = map_get(&l->types, type);
	if (t == NULL) {
		t = mem_new(sizeof(*t) + type.n);
		memcpy(t + 1, type.p, type.n);
		t->type = (struct str){ (const char *)(t + 1), type.n };
		map_put(&l->types, t->type, t);
	}
	t->n++;
	t->bytes += ev->body_bytes;
}

void
engine_url_event(void *arg, const struct url_event *ev)
{
	struct engine_loop *l = arg;
	struct engine *e = l->engine;

	if (ev->outcome == OUTCOME_ITEM)
		count_type(l, ev);
	if (e->options.event == NULL || (!e->options.every_event &&
	    ev->outcome != OUTCOME_EXCEPTION && ev->depth > 0))
		return;
	struct event_mail *x = mem_new(sizeof(*x));
	atomic_fetch_add_explicit(&e->events_waiting, 1, memory_order_relaxed);
	x->engine = e;
	x->event = *ev;
	x->event.url = arena_copy(&x->arena, ev->url);
	x->event.final_url = arena_copy(&x->arena, ev->final_url);
	x->event.type = arena_copy(&x->arena, ev->type);
	x->event.title = arena_copy(&x->arena, ev->title);
	x->event.text = arena_copy(&x->arena, ev->text);
	loop_send(e->options.home, &x->mail, deliver_event);
}

void
engine_free_types(struct engine_loop *l)
{
	MAP_EACH(v, &l->types, void)
		free(v);
	map_free(&l->types);
}

static struct type_count *
type_of(struct engine *e, struct str type)
{
	for (size_t i = 0; i < e->types_n; i++)
		if (str_eq(e->types[i].type, type))
			return &e->types[i];
	e->types = mem_resize(e->types, e->types_n + 1, sizeof(*e->types));
	e->types[e->types_n] = (struct type_count){ type, 0, 0 };
	return &e->types[e->types_n++];
}

static int
more_first(const void *a, const void *b)
{
	const struct type_count *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

const struct type_count *
engine_types(struct engine *e, size_t *n)
{
	for (unsigned i = 0; e->types == NULL && i < e->loops_n; i++) {
		MAP_EACH(from, &e->loops[i].types, const struct type_count) {
			struct type_count *to = type_of(e, from->type);
			to->n += from->n;
			to->bytes += from->bytes;
		}
	}
	if (e->types_n > 1)
		qsort(e->types, e->types_n, sizeof(*e->types), more_first);
	*n = e->types_n;
	return e->types;
}
