#include "wire/grpc/grpc_testing.h"

uint32_t
joined_random(struct joined *j, uint32_t below)
{
	/* xorshift64: the seed is in the test. */
	j->random ^= j->random << 13;
	j->random ^= j->random >> 7;
	j->random ^= j->random << 17;
	return (uint32_t)(j->random >> 32) % below;
}

void
joined_open(struct joined *j, const struct grpc_method *methods, size_t n,
    const struct grpc_limits *server, const struct grpc_limits *client)
{
	struct grpc_limits usual = GRPC_LIMITS_DEFAULT;
	struct grpc_owner nobody = { NULL, NULL };

	*j = (struct joined){ .now = { NS_PER_S }, .random = 88172645463325252,
	    .cut_max = 30000, .client_reads = true };
	j->server = grpc_server_new(server != NULL ? server : &usual);
	grpc_server_add(j->server, methods, n);
	j->s = grpc_session_server(j->server, nobody, j->now);
	j->c = grpc_session_client(client != NULL ? client : &usual, "http",
	    "localhost:7071", nobody, j->now);
}

void
joined_close(struct joined *j)
{
	grpc_session_free(&j->c);
	grpc_session_free(&j->s);
	grpc_server_free(&j->server);
	buf_free(&j->up);
	buf_free(&j->down);
}

static bool
carry(struct joined *j, struct buf *b, struct grpc_session *to, bool *failed)
{
	struct str rest = buf_str(b);
	struct why w = WHY_INIT;

	if (b->n == 0)
		return false;
	while (rest.n > 0 && !*failed) {
		size_t n = 1 + joined_random(j, (uint32_t)j->cut_max);
		struct str piece = str_cut(rest, 0, n);
		/* A copy of its own, so that ASan sees who reads beyond. */
		char *copy = mem_new(piece.n);
		memcpy(copy, piece.p, piece.n);
		*failed = grpc_recv(to, (struct str){ copy, piece.n }, j->now,
		    &w) != OK;
		mem_free(&copy);
		rest = str_from(rest, n);
	}
	buf_clear(b);
	return true;
}

void
joined_run(struct joined *j)
{
	bool any = true;

	while (any) {
		any = grpc_fill(j->c, &j->up,
		    1 + joined_random(j, (uint32_t)j->cut_max), j->now);
		any |= carry(j, &j->up, j->s, &j->server_failed);
		if (!j->client_reads)
			continue;
		any |= grpc_fill(j->s, &j->down,
		    1 + joined_random(j, (uint32_t)j->cut_max), j->now);
		any |= carry(j, &j->down, j->c, &j->client_failed);
	}
}

void
joined_wait(struct joined *j, int64_t ms)
{
	struct mono end = mono_add_ms(j->now, ms);
	struct why w = WHY_INIT;

	while (j->now.ns < end.ns) {
		j->now.ns = MIN(end.ns, j->now.ns + NS_PER_S / 2);
		if (grpc_due(j->s).ns <= j->now.ns && !j->server_failed)
			j->server_failed = grpc_tick(j->s, j->now, &w) != OK;
		if (grpc_due(j->c).ns <= j->now.ns && !j->client_failed)
			j->client_failed = grpc_tick(j->c, j->now, &w) != OK;
		joined_run(j);
	}
}
