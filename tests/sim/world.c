#include "tests/sim/world.h"

#include "base/hash.h"
#include "engine/engine.h"
#include "os/clock.h"
#include "os/file_fake.h"
#include "os/index.h"

struct sim_world sim_world;

/*
 * Under ASan: a life that is killed leaves what was on its way between the
 * engine's parts, as a process would; those are no leaks.
 */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* OpenSSL's, in its place: keys of WebSockets are in WARC files. */
int RAND_bytes(unsigned char *, int);

int
RAND_bytes(unsigned char *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = (unsigned char)sim_random();
	return 1;
}

uint64_t
sim_random(void)
{
	sim_world.random += UINT64_C(0x9e3779b97f4a7c15);
	return hash_u64(sim_world.random);
}

static struct mono
world_mono(void)
{
	return sim_world.mono;
}

static struct wall
world_wall(void)
{
	return (struct wall){ sim_world.wall.us + sim_world.mono.ns / 1000 };
}

static void
world_random(void *out, size_t n)
{
	unsigned char *p = out;

	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)sim_random();
}

static const struct clock_table world_clock = { world_mono, world_wall,
	world_random };

void
sim_begin(uint64_t seed)
{
	memset(&sim_world, 0, sizeof(sim_world));
	sim_world.random = seed;
	sim_world.wall.us = INT64_C(1790000000) * US_PER_S;
	sim_world.mono.ns = NS_PER_S;
	clock_use(&world_clock);
	file_use(&file_fake);
	file_fake_reset(seed);
	index_forget_memory();
}

void
sim_end(void)
{
	clock_use(&clock_real);
	file_use(&file_real);
}

void
sim_trace(const void *p, size_t n)
{
	sim_world.trace = hash_bytes((struct str){ p, n }, sim_world.trace);
}

void
sim_must(enum err e, const struct why *w)
{
	if (e == OK)
		return;
	printf("sim: %s: %s\n", err_name(e), w->text);
	abort();
}

void
sim_step(void)
{
	if (loop_step(sim_world.home))
		return;
	struct mono next = loop_next_timer(sim_world.home);
	CHECK(next.ns != MONO_NEVER.ns);
	sim_world.mono.ns = MAX(sim_world.mono.ns, next.ns);
}

void
sim_free(void)
{
	engine_free(&sim_world.engine);
	if (sim_world.freed != NULL)
		sim_world.freed();
	loop_free(&sim_world.home);
}

void
sim_crash(bool power)
{
	if (power)
		file_fake_power_cut();
	else
		file_fake_kill();
	sim_free();
	file_faults_end();
	file_fake_limit(UINT64_MAX);
	sim_world.mono.ns += NS_PER_MS;
}

uint64_t
sim_number(int argc, char **argv, const char *name, uint64_t otherwise)
{
	uint64_t v = otherwise;

	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			str_to_u64(str_of(argv[i + 1]), &v);
	return v;
}
