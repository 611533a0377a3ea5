/* Health and reflection over a joined pair. */
#include "wire/grpc/grpc_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/grpc/health.h"
#include "wire/grpc/pb.h"
#include "wire/grpc/reflection.h"

struct asked {
	int messages, ends;
	enum grpc_code code;
	struct buf last;
};

static void
got_message(struct grpc_call *c, struct str message)
{
	struct asked *a = grpc_arg(c);

	a->messages++;
	buf_clear(&a->last);
	buf_put_str(&a->last, message);
}

static void
got_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct asked *a = grpc_arg(c);

	(void)text;
	a->ends++;
	a->code = code;
}

static const struct grpc_events asking = { .on_message = got_message,
	.on_end = got_end };

static struct grpc_call *
ask(struct joined *j, struct asked *a, const char *path, struct str message,
    bool close)
{
	struct grpc_request r = { .path = path, .on = &asking, .arg = a };

	buf_free(&a->last);
	*a = (struct asked){ .code = GRPC_CODE_COUNT };
	struct grpc_call *c = grpc_call_new(j->c, &r, j->now, NULL);
	assert_non_null(c);
	grpc_send(c, message);
	if (close)
		grpc_half_close(c);
	joined_run(j);
	return c;
}

#define CHECK_PATH "/grpc.health.v1.Health/Check"
#define WATCH_PATH "/grpc.health.v1.Health/Watch"

static void
test_health(void **state)
{
	struct joined j;
	struct asked a = { 0 }, w = { 0 };

	(void)state;
	joined_open(&j, NULL, 0, NULL, NULL);
	struct health *h = health_new(j.server);
	health_set(h, "", HEALTH_SERVING);
	health_set(h, "a.B", HEALTH_NOT_SERVING);
	ask(&j, &a, CHECK_PATH, STR(""), true);
	assert_int_equal(a.code, GRPC_OK);
	assert_true(str_eq(buf_str(&a.last), STR("\x08\x01")));
	ask(&j, &a, CHECK_PATH, STR("\x0a\x03" "a.B"), true);
	assert_true(str_eq(buf_str(&a.last), STR("\x08\x02")));
	ask(&j, &a, CHECK_PATH, STR("\x0a\x03" "a.C"), true);
	assert_int_equal(a.code, GRPC_NOT_FOUND);
	ask(&j, &a, CHECK_PATH, STR("\x0a\x09" "a.C"), true);
	assert_int_equal(a.code, GRPC_INTERNAL);

	ask(&j, &w, WATCH_PATH, STR("\x0a\x03" "a.B"), true);
	assert_int_equal(w.messages, 1);
	assert_true(str_eq(buf_str(&w.last), STR("\x08\x02")));
	health_set(h, "a.B", HEALTH_NOT_SERVING);
	health_set(h, "", HEALTH_NOT_SERVING);
	joined_run(&j);
	assert_int_equal(w.messages, 1);
	health_set(h, "a.B", HEALTH_SERVING);
	joined_run(&j);
	assert_int_equal(w.messages, 2);
	assert_true(str_eq(buf_str(&w.last), STR("\x08\x01")));
	assert_int_equal(w.ends, 0);

	/* A service that nobody knows yet is watched all the same. */
	struct grpc_call *c = ask(&j, &a, WATCH_PATH, STR("\x0a\x01" "x"),
	    true);
	assert_true(str_eq(buf_str(&a.last), STR("\x08\x03")));
	grpc_cancel(c);
	joined_run(&j);
	health_set(h, "x", HEALTH_SERVING);
	joined_run(&j);
	assert_int_equal(a.messages, 1);
	joined_close(&j);
	health_free(&h);
	buf_free(&a.last);
	buf_free(&w.last);
}

/* FileDescriptorSet: common.proto, and service.proto that imports it. */
static void
make_set(struct buf *set)
{
	struct buf file = BUF_INIT, thing = BUF_INIT, inner = BUF_INIT;

	pb_put_bytes(&inner, 1, STR("Inner"));
	pb_put_bytes(&thing, 1, STR("Thing"));
	pb_put_bytes(&thing, 3, buf_str(&inner));
	pb_put_bytes(&file, 1, STR("common.proto"));
	pb_put_bytes(&file, 2, STR("p.q"));
	pb_put_bytes(&file, 4, buf_str(&thing));
	pb_put_bytes(set, 1, buf_str(&file));
	buf_clear(&file);
	buf_clear(&thing);
	buf_clear(&inner);
	pb_put_bytes(&inner, 1, STR("Get"));
	pb_put_bytes(&thing, 1, STR("Store"));
	pb_put_bytes(&thing, 2, buf_str(&inner));
	pb_put_bytes(&file, 1, STR("service.proto"));
	pb_put_bytes(&file, 2, STR("p.q"));
	pb_put_bytes(&file, 3, STR("common.proto"));
	pb_put_bytes(&file, 6, buf_str(&thing));
	pb_put_bytes(set, 1, buf_str(&file));
	buf_free(&file);
	buf_free(&thing);
	buf_free(&inner);
}

/* How many files, services, errors are in the answer. */
static void
count(struct str answer, int *files, int *services, uint64_t *error)
{
	struct reader r = reader_of(answer), in;
	struct pb_field f, g;

	*files = *services = 0;
	*error = 0;
	while (pb_next(&r, &f)) {
		if (f.type != PB_BYTES || f.number < 4)
			continue;
		in = reader_of(f.bytes);
		while (pb_next(&in, &g)) {
			*files += f.number == 4 && g.number == 1;
			*services += f.number == 6 && g.number == 1;
			if (f.number == 7 && g.number == 1)
				*error = g.value;
		}
	}
	assert_false(r.bad);
}

static void
test_reflection(void **state)
{
	static const struct {
		uint32_t number;
		const char *text;
		int files, services;
		uint64_t error;
	} all[] = {
		{ 7, "", 0, 1, 0 },
		{ 7, "*", 0, 1, 0 },
		{ 3, "common.proto", 1, 0, 0 },
		{ 3, "service.proto", 2, 0, 0 },
		{ 3, "absent.proto", 0, 0, 5 },
		{ 4, "p.q.Store", 2, 0, 0 },
		{ 4, "p.q.Store.Get", 2, 0, 0 },
		{ 4, "p.q.Thing", 1, 0, 0 },
		{ 4, "p.q.Thing.Inner", 1, 0, 0 },
		{ 4, "p.q.Stor", 0, 0, 5 },
		{ 4, "p.q.Store.Put", 0, 0, 5 },
		{ 4, "p.q", 0, 0, 5 },
		{ 4, "Store", 0, 0, 5 },
		{ 4, "p.qStore", 0, 0, 5 },
		{ 6, "p.q.Thing", 0, 0, 5 },
		{ 5, "", 0, 0, 5 },
		{ 1, "host", 0, 0, 3 },
	};
	static const char *const paths[] = {
	    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
	};
	struct joined j;
	struct asked a = { 0 };
	struct buf set = BUF_INIT, message = BUF_INIT;
	struct why w = WHY_INIT;
	int files, services;
	uint64_t error;

	(void)state;
	make_set(&set);
	joined_open(&j, NULL, 0, NULL, NULL);
	struct reflection *x = reflection_new(j.server);
	assert_int_equal(reflection_add(x, buf_str(&set), &w), OK);
	/* The same again changes nothing. */
	assert_int_equal(reflection_add(x, buf_str(&set), &w), OK);
	assert_int_equal(reflection_add(x, STR("\x0a\x70"), &w), ERR_INPUT);
	for (size_t i = 0; i < 2 * ARRAY_LEN(all); i++) {
		size_t k = i / 2;
		buf_clear(&message);
		pb_put_bytes(&message, all[k].number, str_of(all[k].text));
		ask(&j, &a, paths[i % 2], buf_str(&message), true);
		assert_int_equal(a.code, GRPC_OK);
		assert_int_equal(a.messages, 1);
		count(buf_str(&a.last), &files, &services, &error);
		assert_int_equal(files, all[k].files);
		assert_int_equal(services, all[k].services);
		assert_int_equal(error, all[k].error);
	}
	ask(&j, &a, paths[0], STR("\x0a\x70"), true);
	assert_int_equal(a.code, GRPC_INTERNAL);
	joined_close(&j);
	reflection_free(&x);
	buf_free(&a.last);
	buf_free(&set);
	buf_free(&message);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_health),
		cmocka_unit_test(test_reflection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
