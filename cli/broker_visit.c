#include "cli/broker_visit.h"

#include "os/clock.h"
#include "server/door.h"

void
broker_visit_end(struct broker_visit *v)
{
	if (v->ending)
		return;
	v->ending = true;
	loop_timer_stop(v->loop, &v->timer);
	broker_close(v->broker, 0);
}

static void
too_long(struct timer *t)
{
	struct broker_visit *v = CONTAINER(t, struct broker_visit, timer);

	(void)!why(&v->why, ERR_UNREACHED, "the broker does not answer");
	broker_visit_end(v);
}

void
broker_visit_goes_on(struct broker_visit *v)
{
	if (!v->ending)
		loop_timer_set(v->loop, &v->timer, mono_add_ms(clock_mono(),
		    BROKER_VISIT_MS));
}

static void
fail(struct broker_visit *v, const struct why *reason)
{
	if (v->why.err == OK && !v->ending)
		v->why = *reason;
	broker_visit_end(v);
}

static void
on_event(const struct broker_event *ev, void *arg)
{
	struct broker_visit *v = arg;

	switch (ev->kind) {
	case BROKER_CONNECTED:
		if (ev->side == BROKER_PUBLISHES)
			v->publishes_now = true;
		else if (v->queue.n == 0)
			v->consumes_now = true;
		break;
	case BROKER_QUEUE_READY:
		v->consumes_now = true;
		break;
	case BROKER_DISCONNECTED:
		if (ev->side == BROKER_CONSUMES || v->publishes)
			fail(v, &ev->why);
		return;
	case BROKER_QUEUE_FAILED:
		fail(v, &ev->why);
		return;
	case BROKER_BLOCKED:
	case BROKER_UNBLOCKED:
		return;
	}
	if (v->ending || v->begun || !v->consumes_now ||
	    (v->publishes && !v->publishes_now))
		return;
	v->begun = true;
	broker_visit_goes_on(v);
	v->begin(v);
}

static void
on_delivery(struct broker_delivery *d, void *arg)
{
	struct broker_visit *v = arg;

	if (v->ending || v->take == NULL) {
		broker_reject(&d, true);
		return;
	}
	broker_visit_goes_on(v);
	v->take(v, d);
}

static void
on_closed(void *arg)
{
	loop_stop(((struct broker_visit *)arg)->loop);
}

/* A setting of the door; empty where the program has no such door. */
static struct str
text_of(const struct cli *c, const char *name)
{
	const struct door *d;

	for (size_t i = 0; (d = doors_nth(i)) != NULL; i++)
		for (size_t k = 0; k < d->settings_n; k++)
			if (strcmp(d->settings[k].name, name) == 0)
				return conf_str(&c->conf, conf_id_of(
				    &d->settings[k]));
	return STR_NONE;
}

enum err
broker_visit_run(struct cli *c, struct broker_visit *v, struct why *w)
{
	struct broker_limits limits = BROKER_LIMITS_DEFAULT;
	const struct broker_queue queue = { .name = v->queue };
	const struct broker_options o = {
	    .url = text_of(c, "harvest.url").p,
	    .password_file = text_of(c, "harvest.password_file").p,
	    .tls_ca = text_of(c, "harvest.tls_ca").p,
	    .exchange = text_of(c, "harvest.exchange").p,
	    .queues = &queue, .queues_n = v->queue.n > 0 ? 1 : 0,
	    .limits = &limits, .home = loop_new("home"), .arg = v,
	    .on_event = on_event, .on_delivery = on_delivery,
	    .on_closed = on_closed };

	limits.prefetch_max = BROKER_VISIT_DELIVERIES_MAX;
	v->loop = o.home;
	enum err e = str_of(o.url).n > 0 ? OK : why(w, ERR_CONFIG,
	    "harvest.url: it is not set");
	if (e == OK)
		e = broker_open(&o, &v->broker, w);
	if (e == OK) {
		v->timer.fire = too_long;
		broker_visit_goes_on(v);
		loop_run(v->loop);
		*w = v->why;
		e = w->err;
	}
	loop_free(&v->loop);
	return e;
}
