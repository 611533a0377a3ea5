#include "os/world_testing.h"

#include "base/hash.h"
#include "os/index.h"

struct world world;

static struct mono
world_mono(void)
{
	world.mono.ns += world.look_ns;
	return world.mono;
}

static struct wall
world_wall(void)
{
	world.ahead_us += world.look_us;
	return (struct wall){ INT64_C(1790000000) * US_PER_S +
	    world.ahead_us + world.mono.ns / 1000 };
}

static void
world_random(void *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)out)[i] = (char)hash_u64(++world.random);
}

static const struct clock_table world_clock = { world_mono, world_wall,
	world_random };

int
world_setup(void **state)
{
	(void)state;
	clock_use(&world_clock);
	file_use(&file_fake);
	world_begin();
	return 0;
}

int
world_teardown(void **state)
{
	(void)state;
	file_fake_reset(1);
	index_forget_memory();
	file_use(&file_real);
	clock_use(&clock_real);
	return 0;
}

void
world_begin(void)
{
	static uint64_t disks;

	world = (struct world){ .mono = { NS_PER_S } };
	file_fake_reset(++disks);
	index_forget_memory();
}

static void
deliver_nothing(struct mail *m)
{
	(void)m;
}

void
world_run(struct loop *l, struct pool *p)
{
	/* What was put stands outside of any turn: there must be one. */
	struct mail kick = { .deliver = deliver_nothing };

	if (world.stopped)
		return;
	loop_post(l, &kick);
	while (!world.stopped && loop_step(l))
		if (p != NULL)
			pool_finish(p);
}

void
world_pass(struct loop *l, struct pool *p, int64_t ms)
{
	struct mono until = mono_add_ms(world.mono, ms);

	world_run(l, p);
	while (!world.stopped && !mono_before(until, loop_next_timer(l))) {
		world.mono.ns = MAX(world.mono.ns, loop_next_timer(l).ns);
		world_run(l, p);
	}
	world.mono.ns = MAX(world.mono.ns, until.ns);
	world_run(l, p);
}

void
world_crash(bool power)
{
	if (power)
		file_fake_power_cut();
	else
		file_fake_kill();
	file_faults_end();
	file_fake_limit(UINT64_MAX);
	world.stopped = false;
	world.mono.ns += NS_PER_MS;
}
