#include "os/transport_curl_transfer.h"

void
transfer_decide(struct transfer *tr, enum transport_end end, const char *text)
{
	if (tr->has_end)
		return;
	tr->has_end = true;
	tr->end = end;
	snprintf(tr->reason, sizeof(tr->reason), "%s", text);
}

void
transfer_forbid_reuse(struct transfer *tr)
{
	if (!tr->is_reuse_forbidden)
		curl_easy_setopt(tr->easy, CURLOPT_FORBID_REUSE, 1L);
	tr->is_reuse_forbidden = true;
}

void
transfer_set_fresh(struct transfer *tr, bool fresh)
{
	if (tr->is_fresh != fresh)
		curl_easy_setopt(tr->easy, CURLOPT_FRESH_CONNECT, (long)fresh);
	tr->is_fresh = fresh;
}

struct mono
transfer_deadline(struct mono from, int64_t ms)
{
	/* A limit of a year is none; it also keeps the sum in range. */
	return ms <= 0 || ms > INT64_C(31536000000) ? MONO_NEVER :
	    mono_add_ms(from, ms);
}

void
transfer_set_deadline(struct transfer *tr)
{
	struct mono when = tr->total_deadline;

	if (tr->phase <= PHASE_CONNECTING &&
	    mono_before(tr->connect_deadline, when))
		when = tr->connect_deadline;
	if (when.ns == MONO_NEVER.ns)
		loop_timer_stop(tr->t->loop, &tr->deadline);
	else
		loop_timer_set(tr->t->loop, &tr->deadline, when);
}

void
transfer_begin_connecting(struct transfer *tr, struct mono now)
{
	const struct exchange *x = tr->x;
	struct mono last = transfer_deadline(tr->started, x->connect_ms);

	tr->phase = PHASE_CONNECTING;
	if (last.ns != MONO_NEVER.ns && transfer_is_direct(tr) &&
	    tr->address_at + 1 < x->addresses_n)
		last.ns = now.ns + MAX((last.ns - now.ns) / 2, NS_PER_MS);
	tr->connect_deadline = last;
	transfer_set_deadline(tr);
}
