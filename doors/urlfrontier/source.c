#include "doors/urlfrontier/source.h"

/* Limit of one buffer, which one message may exceed. */
#define COMING_BYTES_MAX ((size_t)64 << 10)

static void
end(struct source *s, enum grpc_code code)
{
	s->call = NULL;
	s->ended = true;
	s->code = code;
	loop_timer_stop(s->loop, &s->timer);
	cluster_give(s->cluster, s->node, s->asked_bytes);
	s->asked_bytes = 0;
}

static void
fail(struct source *s, enum grpc_code code, const char *text)
{
	(void)why(&s->why, ERR_UNREACHED, "node %s: %s",
	    cluster_node(s->cluster, s->node), text);
	end(s, code);
}

static struct mono
due(const struct source *s)
{
	return mono_add_ns(s->heard, cluster_deadline_ns(s->cluster));
}

/* A paused peer is silent because we asked it to be. */
static void
look(struct timer *t)
{
	struct source *s = CONTAINER(t, struct source, timer);
	struct mono now = loop_now(s->loop);

	if (s->call == NULL || s->paused)
		return;
	if (now.ns < due(s).ns) {
		loop_timer_set(s->loop, t, due(s));
		return;
	}
	source_stop(s);
	fail(s, GRPC_DEADLINE_EXCEEDED, "it is silent");
	s->came(s);
}

static void
watch(struct source *s)
{
	s->heard = loop_now(s->loop);
	s->timer.fire = look;
	loop_timer_set(s->loop, &s->timer, due(s));
}

/* ---- The peer's words ---------------------------------------------------- */

static void
on_message(struct grpc_call *c, struct str message)
{
	struct source *s = grpc_arg(c);

	buf_put_be32(&s->coming, (uint32_t)message.n);
	buf_put_str(&s->coming, message);
	s->messages++;
	s->heard = loop_now(s->loop);
	if (s->coming.n >= COMING_BYTES_MAX) {
		s->paused = true;
		grpc_pause(c);
	}
	s->came(s);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct source *s = grpc_arg(c);

	/* We cancelled it ourselves. */
	if (s->call != c)
		return;
	if (code != GRPC_OK)
		code = cluster_explain(s->cluster, s->node, code, text,
		    &s->why);
	end(s, code);
	s->came(s);
}

static const struct grpc_events events = { .on_message = on_message,
	.on_end = on_end };

/* ---- The reader's part --------------------------------------------------- */

void
source_ask(struct source *s, const char *rpc, struct str request,
    struct mono deadline, const struct grpc_field *more)
{
	int64_t left = deadline.ns == MONO_NEVER.ns ? 0 :
	    MAX(mono_ns_between(loop_now(s->loop), deadline), 1);

	CHECK(s->call == NULL);
	s->ended = s->paused = false;
	s->code = GRPC_OK;
	s->why = WHY_INIT;
	if (!cluster_take(s->cluster, s->node, request.n)) {
		fail(s, GRPC_UNAVAILABLE, "too much waits for it");
		return;
	}
	s->asked_bytes = request.n;
	s->call = cluster_call(s->cluster, s->node, rpc, &events, s, left,
	    more, &s->why);
	if (s->call == NULL) {
		end(s, GRPC_UNAVAILABLE);
		return;
	}
	grpc_send(s->call, request);
	grpc_half_close(s->call);
	watch(s);
}

/* The buffer that was read is empty; the other one is read now. */
static void
swap(struct source *s)
{
	struct buf empty = s->going;

	s->going = s->coming;
	s->coming = empty;
	buf_clear(&s->coming);
	s->at = 0;
	if (!s->paused)
		return;
	s->paused = false;
	if (s->call != NULL) {
		grpc_resume(s->call);
		watch(s);
	}
}

static struct str
message_at(const struct source *s)
{
	struct reader r = reader_of(str_from(buf_str(&s->going), s->at));

	return read_bytes(&r, read_be32(&r));
}

bool
source_first(struct source *s, struct str *message)
{
	if (s->at == s->going.n) {
		if (s->coming.n == 0)
			return false;
		swap(s);
	}
	*message = message_at(s);
	return true;
}

void
source_take(struct source *s)
{
	s->at += 4 + message_at(s).n;
}

void
source_stop(struct source *s)
{
	struct grpc_call *c = s->call;

	if (c == NULL)
		return;
	/* Its on_end is called, and is told nothing. */
	end(s, GRPC_CANCELLED);
	grpc_cancel(c);
}

void
source_is_malformed(struct source *s)
{
	source_stop(s);
	s->why = WHY_INIT;
	fail(s, GRPC_INTERNAL, "its answer cannot be read");
}

void
source_free(struct source *s)
{
	source_stop(s);
	buf_free(&s->coming);
	buf_free(&s->going);
	s->at = 0;
}
