#include "doors/harvest/health.h"

#include "base/json_writer.h"
#include "doors/harvest/meter.h"
#include "os/clock.h"

/* ---- Queues ----------------------------------------------------------- */

/* One whose question was not answered keeps its numbers. */
static void
queue_answered(struct broker_question *q)
{
	struct served *s = CONTAINER(q, struct served, question);

	s->is_asked = false;
	if (q->err == OK) {
		s->waiting = q->messages;
		s->consumers = q->consumers;
	}
	harvest_meter_queue(s->row, s->used, s->waiting, s->consumers);
}

static void
letters_answered(struct broker_question *q)
{
	struct harvest_door *d = CONTAINER(q, struct harvest_door,
	    letters_question);

	d->letters_asked = false;
	if (q->err == OK)
		d->letters_waiting = q->messages;
	harvest_meter_letters(d->letters_waiting);
}

static void
ask_queues(struct harvest_door *d)
{
	for (size_t i = 0; i < d->queues_n; i++) {
		struct served *s = &d->queues[i];
		if (s->is_asked)
			continue;
		s->is_asked = true;
		s->question = (struct broker_question){ .queue =
		    d->broker_queues[i].name, .done = queue_answered };
		broker_depth(d->broker, &s->question);
	}
	if (d->letters_asked)
		return;
	d->letters_asked = true;
	d->letters_question = (struct broker_question){ .queue =
	    STR(LETTER_QUEUE), .done = letters_answered };
	broker_depth(d->broker, &d->letters_question);
}

/* ---- The outbox ------------------------------------------------------- */

static int64_t
age_s(const struct harvest_door *d)
{
	return d->outbox.oldest.us == 0 || d->outbox.messages == 0 ? 0 :
	    MAX(0, wall_s(clock_wall()) - wall_s(d->outbox.oldest));
}

static void
oldest_read(struct store_job *j)
{
	struct harvest_door *d = CONTAINER(j, struct harvest_door,
	    oldest_job);

	d->oldest_asked = false;
	d->outbox.oldest = d->oldest;
	harvest_meter_oldest(age_s(d));
	drain_gate_leave(&d->work);
}

static void
read_oldest(struct store_job *j, struct store *st)
{
	struct harvest_door *d = CONTAINER(j, struct harvest_door,
	    oldest_job);

	(void)!store_outbox_oldest(st, &d->oldest, NULL);
}

static void
ask_outbox(struct harvest_door *d)
{
	if (d->oldest_asked)
		return;
	d->oldest_asked = true;
	drain_gate_enter(&d->work);
	d->oldest_job = (struct store_job){ .run = read_oldest,
	    .done = oldest_read };
	store_async_put(d->store, &d->oldest_job);
}

/* ---- Now and then ----------------------------------------------------- */

static void
ask_again(struct timer *t)
{
	struct harvest_door *d = CONTAINER(t, struct harvest_door,
	    health_timer);

	ask_queues(d);
	ask_outbox(d);
	loop_timer_set(d->host->home, t, mono_add_ms(clock_mono(),
	    HEALTH_MS));
}

void
health_begin(struct harvest_door *d)
{
	d->health_timer.fire = ask_again;
	ask_again(&d->health_timer);
}

void
health_end(struct harvest_door *d)
{
	loop_timer_stop(d->host->home, &d->health_timer);
}

void
health_put(const struct harvest_door *d, char *note, size_t n)
{
	unsigned used = 0, slots = d->streams.max;
	uint64_t waiting = 0;

	for (size_t i = 0; i < d->queues_n; i++) {
		used += d->queues[i].used;
		slots += d->queues[i].own.max;
		waiting += d->queues[i].waiting;
	}
	snprintf(note, n, "harvests: %u of %u slots, %llu wait; outbox: %llu "
	    "messages, the oldest %lld s%s; dead letters: %llu; connections "
	    "lost: %llu%s%.120s", used, slots, (unsigned long long)waiting,
	    (unsigned long long)d->outbox.messages, (long long)age_s(d),
	    d->outbox_full ? ", full: harvests pause" : "",
	    (unsigned long long)d->letters_waiting,
	    (unsigned long long)d->disconnects, d->fault[0] == '\0' ? "" :
	    "; ", d->fault);
}

static void
put_queue(const struct harvest_door *d, size_t i, struct buf *b)
{
	const struct served *s = &d->queues[i];

	json_object(b, NULL);
	json_str(b, "name", d->broker_queues[i].name);
	json_u64(b, "waiting", s->waiting);
	json_u64(b, "consumers", s->consumers);
	json_u64(b, "used", s->used);
	json_u64(b, "slots", s->slots->max);
	buf_put_char(b, '}');
}

void
health_put_details(const struct harvest_door *d, struct buf *b)
{
	json_object(b, "broker");
	json_bool(b, "consumes", d->connected[BROKER_CONSUMES]);
	json_bool(b, "publishes", d->connected[BROKER_PUBLISHES]);
	json_u64(b, "disconnects", d->disconnects);
	json_str(b, "fault", str_of(d->fault));
	buf_put_char(b, '}');
	json_array(b, "queues");
	for (size_t i = 0; i < d->queues_n; i++)
		put_queue(d, i, b);
	buf_put_char(b, ']');
	json_object(b, "outbox");
	json_u64(b, "messages", d->outbox.messages);
	json_u64(b, "bytes", d->outbox.bytes);
	json_u64(b, "oldest_s", (uint64_t)age_s(d));
	json_bool(b, "full", d->outbox_full);
	buf_put_char(b, '}');
	json_u64(b, "letters", d->letters_waiting);
}
