#include "os/pipe.h"

#include "os/file.h"
#include "os/system.h"
#include "os/world_testing.h"

#include <pthread.h>

#define BYTES ((size_t)3 << 20)      /* more than any pipe holds */

static int ends[2];
static struct why wrote;

static void *
write_all(void *arg)
{
	struct buf b = BUF_INIT;

	(void)arg;
	for (size_t i = 0; i < BYTES; i++)
		buf_put_char(&b, (char)(i % 251));
	wrote = WHY_INIT;
	wrote.err = pipe_write(ends[1], buf_str(&b), &wrote);
	file_close(&ends[1]);
	buf_free(&b);
	return NULL;
}

/* All bytes come, in order, and then the end. */
static void
bytes_come_to_the_end(void **state)
{
	struct buf b = BUF_INIT;
	pthread_t thread;

	(void)state;
	assert_int_equal(pipe_open(&ends[0], &ends[1], NULL), OK);
	/* Nothing is there, and that is not the end. */
	assert_true(pipe_read(ends[0], 100, &b));
	assert_int_equal(b.n, 0);
	assert_int_equal(pthread_create(&thread, NULL, write_all, NULL), 0);
	while (pipe_read(ends[0], 1000, &b))
		;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(wrote.err, OK);
	assert_int_equal(b.n, BYTES);
	for (size_t i = 0; i < BYTES; i++)
		if (b.p[i] != (char)(i % 251))
			fail_msg("byte %zu is another", i);
	file_close(&ends[0]);
	buf_free(&b);
}

/* A writer that waits for room is freed when the reader leaves. */
static void
a_reader_that_leaves_ends_the_writer(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pipe_open(&ends[0], &ends[1], NULL), OK);
	assert_int_equal(pthread_create(&thread, NULL, write_all, NULL), 0);
	file_close(&ends[0]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(wrote.err, ERR_CLOSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_to_the_end),
		cmocka_unit_test(a_reader_that_leaves_ends_the_writer),
	};

	system_ignore_sigpipe();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
