/*
 * argiope harvest retire -- removes from the broker what a daemon that will not
 * come back has left there: its queue of stops, which would fill for ever.
 */
#include "cli/verbs.h"
#include "os/broker.h"
#include "os/clock.h"
#include "server/door.h"

#define ANSWER_MS 20000
#define QUEUE "argiope_stop_"

const struct option_verb harvest_retire_verb = {
	"harvest retire", "INSTANCE", 1, 1,
	"Delete the queue of stops of a daemon that will not come back",
	"INSTANCE is what its harvest.instance was.  The broker is that of "
	"harvest.url.  What the daemon has not finished stays as it is; its "
	"data directory, served again under another name, goes on with it.\n"
	"Exit code: 0; 66 the broker has no such queue; 69 the broker is not "
	"reached; 75 the daemon runs.",
	verbs_plain, ARRAY_LEN(verbs_plain)
};

struct retiring {
	struct loop *loop;
	struct broker *broker;
	struct broker_question question;
	struct timer timer;
	bool asked;
	struct why why;
};

static void
end_retiring(struct retiring *r)
{
	loop_timer_stop(r->loop, &r->timer);
	broker_close(r->broker, 0);
}

static void
answered(struct broker_question *q)
{
	struct retiring *r = CONTAINER(q, struct retiring, question);

	r->why = q->why;
	end_retiring(r);
}

static void
too_long(struct timer *t)
{
	struct retiring *r = CONTAINER(t, struct retiring, timer);

	(void)!why(&r->why, ERR_UNREACHED, "the broker does not answer");
	/* Its answer comes when the broker is closed. */
	if (!r->asked)
		end_retiring(r);
}

static void
on_event(const struct broker_event *ev, void *arg)
{
	struct retiring *r = arg;

	if (ev->side != BROKER_CONSUMES || r->asked || r->why.err != OK)
		return;
	if (ev->kind == BROKER_CONNECTED) {
		r->asked = true;
		r->question.done = answered;
		broker_delete_queue(r->broker, &r->question);
	} else if (ev->kind == BROKER_DISCONNECTED) {
		r->why = ev->why;
		end_retiring(r);
	}
}

static void
on_delivery(struct broker_delivery *d, void *arg)
{
	(void)arg;
	broker_reject(&d, true);
}

static void
on_closed(void *arg)
{
	loop_stop(((struct retiring *)arg)->loop);
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
harvest_retire_run(struct cli *c, struct why *w)
{
	struct retiring r = { .why = WHY_INIT };
	struct str url = text_of(c, "harvest.url");
	struct broker_options o = { .url = url.p,
	    .password_file = text_of(c, "harvest.password_file").p,
	    .tls_ca = text_of(c, "harvest.tls_ca").p,
	    .exchange = text_of(c, "harvest.exchange").p, .arg = &r,
	    .on_event = on_event, .on_delivery = on_delivery,
	    .on_closed = on_closed };

	enum err e = cli_begin(c, w);
	if (e == OK && url.n == 0)
		e = why(w, ERR_CONFIG, "harvest.url: it is not set");
	if (e != OK)
		return e;
	r.question.queue = arena_printf(&c->arena, QUEUE "%s",
	    c->options.operands[0]);
	r.loop = o.home = loop_new("home");
	e = broker_open(&o, &r.broker, w);
	if (e == OK) {
		r.timer.fire = too_long;
		loop_timer_set(r.loop, &r.timer, mono_add_ms(clock_mono(),
		    ANSWER_MS));
		loop_run(r.loop);
		*w = r.why;
		e = w->err;
	}
	loop_free(&r.loop);
	return e;
}
