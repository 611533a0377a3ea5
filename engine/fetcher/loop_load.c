#include "engine/fetcher/loop_load.h"

#include "base/base.h"

void
loop_load_turn(struct loop_load *l, struct mono begin, struct mono end)
{
	l->work_ns += mono_ns_between(begin, end);
	int64_t ns = mono_ns_between(l->since, end);
	if (ns < LOOP_LOAD_MS * NS_PER_MS)
		return;
	int64_t own = MIN(MAX(0, l->work_ns - l->lent_ns), ns);
	atomic_store_explicit(&l->permille, (unsigned)(own * 1000 / ns),
	    memory_order_relaxed);
	atomic_store_explicit(&l->measured_ns, end.ns, memory_order_relaxed);
	l->since = end;
	l->work_ns = l->lent_ns = 0;
}

void
loop_load_lent(struct loop_load *l, struct mono begin, struct mono end)
{
	l->lent_ns += mono_ns_between(begin, end);
}

unsigned
loop_load_permille(const struct loop_load *l)
{
	return atomic_load_explicit(&l->permille, memory_order_relaxed);
}

bool
loop_load_is_idle(const struct loop_load *l, unsigned beside_permille,
    struct mono now)
{
	struct mono measured = { atomic_load_explicit(&l->measured_ns,
	    memory_order_relaxed) };

	return 2 * loop_load_permille(l) <= beside_permille ||
	    mono_before(mono_add_ms(measured, LOOP_LOAD_STALE_MS), now);
}
