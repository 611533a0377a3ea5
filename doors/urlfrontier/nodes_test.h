/*
 * Real nodes in a test's own process, each with an engine in a folder of its
 * own, and one loop for the test and as their home.
 */
#ifndef DOORS_URLFRONTIER_NODES_TEST_H
#define DOORS_URLFRONTIER_NODES_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <ftw.h>

#include "doors/urlfrontier/cluster.h"
#include "doors/urlfrontier/urlfrontier.h"
#include "engine/engine.h"
#include "os/clock.h"
#include "os/system.h"

#define WAIT_MS 20000
#define NODES 2
#define WORD "the-nodes-own-word"

struct node {
	char dir[64];
	struct conf conf;
	struct engine *engine;
	struct token_set *tokens;
	struct urlfrontier *door;
	bool drained, closed;
};

static struct {
	struct loop *loop;
	struct net *net;
	struct arena arena;
	uint16_t ports[NODES];
	struct node nodes[NODES];
	struct conf conf;
	struct cluster *cluster;         /* the test's own */
	char token_file[64];
} t;

static void
step(void)
{
	if (!loop_step(t.loop))
		usleep(100);
}

static void
run_ms(int64_t ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);

	while (mono_before(clock_mono(), until))
		step();
}

static void
wait_for(const bool *flag)
{
	struct mono until = mono_add_ms(clock_mono(), WAIT_MS);

	while (!*flag && mono_before(clock_mono(), until))
		step();
	assert_true(*flag);
}

static void
refuse(struct net_conn *c, void *arg)
{
	(void)arg;
	net_close(c);
}

/* Nobody listens there now; a node may. */
static void
find_ports(void)
{
	struct net_listener *l[NODES];

	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(net_listen(t.net, "127.0.0.1", 0, NULL,
		    refuse, NULL, &l[i], NULL), OK);
		t.ports[i] = net_port(l[i]);
	}
	for (size_t i = 0; i < NODES; i++)
		net_unlisten(&l[i]);
}

static int
set_up(void **state)
{
	struct net_limits limits = NET_LIMITS_DEFAULT;

	(void)state;
	memset(&t, 0, sizeof(t));
	t.loop = loop_new("home");
	t.net = net_new(t.loop, &limits);
	conf_init(&t.conf);
	find_ports();
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st, (void)type, (void)f;
	return remove(path);
}

static void
put_conf(struct conf *c, const char *fmt, ...)
{
	char text[400];
	struct why w = WHY_INIT;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (conf_flag(c, str_of(text), &w) != OK)
		fail_msg("%s", w.text);
}

static void
node_prepare(size_t i)
{
	struct node *n = &t.nodes[i];

	snprintf(n->dir, sizeof(n->dir), "node.XXXXXX");
	assert_non_null(mkdtemp(n->dir));
	conf_init(&n->conf);
	put_conf(&n->conf, "data.free_bytes_min=1MiB");
	put_conf(&n->conf, "urlfrontier.listen=127.0.0.1:%u", t.ports[i]);
	for (size_t k = 0; k < NODES; k++)
		put_conf(&n->conf, "urlfrontier.nodes=127.0.0.1:%u",
		    t.ports[k]);
}

static void
node_start(size_t i)
{
	struct node *n = &t.nodes[i];
	struct urlfrontier_options door = { .conf = &n->conf,
	    .home = t.loop };
	struct engine_options engine = { .conf = &n->conf, .home = t.loop,
	    .data_dir = n->dir, .loops = 1, .small = true };
	struct why w = WHY_INIT;

	n->drained = n->closed = false;
	if (urlfrontier_open(&door, &n->door, &w) != OK ||
	    engine_open(&engine, &n->engine, &w) != OK ||
	    token_set_open(&(struct token_set_options){ .data_dir = n->dir,
	    .home = t.loop }, &n->tokens, &w) != OK)
		fail_msg("%s", w.text);
	engine_start(n->engine);
	urlfrontier_ready(n->door, engine_frontier(n->engine), n->tokens);
	run_ms(50);
}

static void
closed(void *arg)
{
	struct node *n = arg;

	n->closed = true;
}

static void
drained(void *arg)
{
	struct node *n = arg;

	n->drained = true;
	engine_close(n->engine, closed, n);
}

static void
node_stop(size_t i)
{
	struct node *n = &t.nodes[i];

	if (n->door == NULL)
		return;
	urlfrontier_drain(n->door, drained, n);
	wait_for(&n->closed);
	urlfrontier_free(&n->door);
	token_set_close(&n->tokens);
	engine_free(&n->engine);
}

static void
write_token(const char *text)
{
	snprintf(t.token_file, sizeof(t.token_file), "token.XXXXXX");
	int fd = mkstemp(t.token_file);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int
tear_down(void **state)
{
	(void)state;
	cluster_close(t.cluster);
	for (size_t i = 0; i < NODES; i++)
		node_stop(i);
	net_free(&t.net);
	cluster_free(&t.cluster);
	for (size_t i = 0; i < NODES; i++) {
		conf_free(&t.nodes[i].conf);
		if (t.nodes[i].dir[0] != '\0')
			nftw(t.nodes[i].dir, remove_one, 8,
			    FTW_DEPTH | FTW_PHYS);
	}
	if (t.token_file[0] != '\0')
		unlink(t.token_file);
	conf_free(&t.conf);
	loop_free(&t.loop);
	arena_free(&t.arena);
	return 0;
}

#endif
