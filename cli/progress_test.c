#include "cli/progress.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "os/clock.h"

static struct crawl_view view;
static struct engine_look look;

static const char *
line(size_t columns, bool stopping)
{
	static struct buf b;
	struct progress p = { .mode = PROGRESS_TERMINAL };

	/* 250 captures in five seconds. */
	p.samples_n = 2;
	p.samples[0].at = (struct mono){ 0 };
	p.samples[0].items = view.counts.items - 250;
	p.samples[1].at = (struct mono){ 5 * NS_PER_S };
	p.samples[1].items = view.counts.items;
	buf_clear(&b);
	progress_line(&p, &view, &look, stopping, columns, &b);
	return buf_text(&b);
}

static int
set_up(void **state)
{
	(void)state;
	view = (struct crawl_view){ .state = CRAWL_RUNNING };
	look = (struct engine_look){ .health = ENGINE_FINE };
	view.counts.items = 1234;
	view.counts.body_bytes = 12345678;
	view.counts.queued = 5678;
	look.in_flight = 8;
	return 0;
}

static void
test_line(void **state)
{
	(void)state;
	assert_string_equal(line(200, false), "1,234 pages  50.0/s  12.3 MB  "
	    "5,678 queued | 8 requests are under way");
	view.counts.exceptions[EXCEPTION_DNS] = 1;
	look.hosts_delayed = 2;
	assert_string_equal(line(200, true), "1,234 pages  50.0/s  12.3 MB  "
	    "5,678 queued  2 hosts waiting  1 error | stopping, 8 under way");
}

static void
test_width(void **state)
{
	(void)state;
	for (size_t columns = 0; columns < 120; columns++)
		assert_true(strlen(line(columns, false)) <= columns);
}

/* A host's name is shown; it may hold anything. */
static void
test_plain_ascii(void **state)
{
	(void)state;
	look.in_flight = 0;
	look.hosts_delayed = 1;
	look.next_at = mono_add_ms(clock_mono(), 60000);
	snprintf(look.next_host, sizeof(look.next_host),
	    "a\x1b[31m");
	const char *text = line(200, false);
	for (; *text != '\0'; text++)
		assert_in_range((unsigned char)*text, 0x20, 0x7e);
}

/* Whatever it waits for, the line says so. */
static void
test_why(void **state)
{
	(void)state;
	look.in_flight = 0;
	assert_non_null(strstr(line(200, false), " | "));
	look.health = ENGINE_DISK_FULL;
	assert_non_null(strstr(line(200, false), "disk is full"));
	view.counts.queued = 0;
	look.health = ENGINE_FINE;
	assert_true(strlen(strstr(line(200, false), " | ")) > 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_line, set_up),
		cmocka_unit_test_setup(test_width, set_up),
		cmocka_unit_test_setup(test_plain_ascii, set_up),
		cmocka_unit_test_setup(test_why, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
