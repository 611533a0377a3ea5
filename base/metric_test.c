#include "base/metric.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *const reasons[] = { "dns", "tim\"e\\o\nut", "" };
static const char *const verbs[] = { "get", "put" };

#define TEST_METRICS(X)                                                      \
	X(PAGES, COUNTER, "t_pages_total", "Pages, \"all\" of\nthem \\.")    \
	X(ACTIVE, GAUGE, "t_active", "Fetches under way.")                   \
	X(SECONDS, SECONDS, "t_seconds", "Time per page.")                   \
	X(BYTES, BYTES, "t_bytes", "Size per page.")
enum { TEST_METRICS(METRIC_ENUM) METRIC_ERRORS, METRIC_BY_REASON,
	METRIC_LEVEL, METRIC_PAIRS };
static struct metric metrics[] = { TEST_METRICS(METRIC_ROW)
	METRIC_BY(COUNTER, "t_errors_total", "Failures.", "reason", reasons, 3),
	METRIC_BY(SECONDS, "t_by_seconds", "Time.", "reason", reasons, 3),
	METRIC_BY(GAUGE, "t_level", "Level.", "reason", reasons, 2),
	METRIC_BY2(COUNTER, "t_pairs_total", "Both.", "verb", verbs, 2,
	    "reason", reasons, 3),
};

static int
set_up(void **state)
{
	(void)state;
	metric_register(metrics, ARRAY_LEN(metrics));
	metric_register(metrics, ARRAY_LEN(metrics));
	return 0;
}

static void
test_values(void **state)
{
	(void)state;
	metric_add(&metrics[METRIC_PAGES], 2);
	metric_add(&metrics[METRIC_PAGES], 0);
	metric_add(&metrics[METRIC_PAGES], 3);
	assert_int_equal(metric_value(&metrics[METRIC_PAGES], 0), 5);
	metric_set(&metrics[METRIC_ACTIVE], 10);
	metric_add(&metrics[METRIC_ACTIVE], -13);
	assert_int_equal(metric_value(&metrics[METRIC_ACTIVE], 0), -3);
	metric_add_by(&metrics[METRIC_ERRORS], 1, 7);
	assert_int_equal(metric_value(&metrics[METRIC_ERRORS], 0), 0);
	assert_int_equal(metric_value(&metrics[METRIC_ERRORS], 1), 7);
	assert_int_equal(metric_value(&metrics[METRIC_ERRORS], 2), 0);
	metric_set_by(&metrics[METRIC_LEVEL], 1, INT64_MIN);
	assert_int_equal(metric_value(&metrics[METRIC_LEVEL], 1), INT64_MIN);
}

/* Only pairs that were. */
static void
test_pairs(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	metric_add_by(&metrics[METRIC_PAIRS], 1 * 3 + 0, 4);
	metric_add_by(&metrics[METRIC_PAIRS], 0 * 3 + 2, 5);
	metric_write(&b);
	assert_non_null(strstr(buf_text(&b), "# TYPE t_pairs_total counter\n"
	    "t_pairs_total{verb=\"get\",reason=\"\"} 5\n"
	    "t_pairs_total{verb=\"put\",reason=\"dns\"} 4\n# "));
	buf_free(&b);
}

static struct metric unregistered[] = {
	METRIC(SECONDS, "t_bounds_seconds", "x"),
	METRIC(BYTES, "t_bounds_bytes", "x"),
};

/* A value lands in the first bucket whose bound is not below it. */
static void
test_bounds(void **state)
{
	struct metric *m = unregistered;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		const int64_t *bounds;
		size_t n = metric_bounds(m[k].type, &bounds);
		int64_t sum = 0, count = 0;
		assert_true(n <= METRIC_BUCKETS_MAX);
		for (size_t i = 0; i < n; i++) {
			assert_true(i == 0 || bounds[i] > bounds[i - 1]);
			for (int64_t d = -1; d <= 1; d++) {
				int64_t v = bounds[i] + d;
				size_t at = d == 1 ? i + 1 : i;
				int64_t before = m[k].cells[at];
				metric_observe(&m[k], v);
				assert_int_equal(m[k].cells[at], before + 1);
				sum += v;
				count++;
			}
		}
		metric_observe(&m[k], 0);
		assert_int_equal(m[k].cells[0], 3);
		assert_int_equal(metric_value(&m[k], 0), count + 1);
		assert_int_equal(metric_sum(&m[k], 0), sum);
	}
}

/*
 * A strict reader of the text format 0.0.4: it knows for each family what was
 * declared, and refuses whatever Prometheus' own parser refuses, and more.
 */
struct family {
	char name[80], type[16];
	size_t samples;
	/* Of the histogram series under way. */
	char series[200];
	double le, count;
	bool inf;
};

static struct family families[100];
static size_t families_n;

static size_t
name_length(struct str s)
{
	size_t n = 0;

	while (n < s.n && (ascii_is_alpha(s.p[n]) || s.p[n] == '_' ||
	    s.p[n] == ':' || (n > 0 && ascii_is_digit(s.p[n]))))
		n++;
	return n;
}

static void
read_comment(struct str line)
{
	struct str rest = line, word, kind, name;
	struct family *f;

	assert_true(str_split(&rest, ' ', &word) && str_eq(word, STR("#")));
	assert_true(str_split(&rest, ' ', &kind));
	assert_true(str_split(&rest, ' ', &name));
	assert_true(name.n > 0 && name_length(name) == name.n);
	if (str_eq(kind, STR("HELP"))) {
		for (size_t i = 0; i < families_n; i++)
			assert_false(str_eq(name, str_of(families[i].name)));
		f = &families[families_n++];
		memset(f, 0, sizeof(*f));
		memcpy(f->name, name.p, name.n);
		for (size_t i = 0; i < rest.n; i++)
			if (rest.p[i] == '\\') {
				i++;
				assert_true(i < rest.n && (rest.p[i] == 'n' ||
				    rest.p[i] == '\\'));
			}
		return;
	}
	assert_true(str_eq(kind, STR("TYPE")));
	/* TYPE follows its HELP, once, before any sample. */
	f = &families[families_n - 1];
	assert_true(str_eq(name, str_of(f->name)));
	assert_int_equal(f->type[0], '\0');
	assert_int_equal(f->samples, 0);
	assert_true(str_eq(rest, STR("counter")) ||
	    str_eq(rest, STR("gauge")) || str_eq(rest, STR("histogram")));
	memcpy(f->type, rest.p, rest.n);
}

/* {a="b",le="c"}; returns what follows; `le` is cut out of `series`. */
static struct str
read_labels(struct str s, char *series, struct str *le)
{
	*le = STR_NONE;
	s = str_from(s, 1);
	while (!str_starts(s, STR("}"))) {
		size_t n = name_length(s), i;
		assert_true(n > 0);
		struct str name = str_cut(s, 0, n);
		s = str_from(s, n);
		assert_true(str_starts(s, STR("=\"")));
		s = str_from(s, 2);
		for (i = 0; i < s.n && s.p[i] != '"'; i++)
			if (s.p[i] == '\\') {
				i++;
				assert_true(i < s.n && strchr("n\\\"",
				    s.p[i]) != NULL);
			}
		assert_true(i < s.n);
		if (str_eq(name, STR("le")))
			*le = str_cut(s, 0, i);
		else
			snprintf(series + strlen(series),
			    200 - strlen(series), "%.*s=%.*s;", STR_FMT(name),
			    (int)i, s.p);
		s = str_from(s, i + 1);
		if (str_starts(s, STR(",")))
			s = str_from(s, 1);
		else
			assert_true(str_starts(s, STR("}")));
	}
	return str_from(s, 1);
}

static double
number_of(struct str s)
{
	double v;

	if (str_eq(s, STR("+Inf")))
		return 1e300;
	assert_true(str_to_double(s, &v));
	return v;
}

static void
read_bucket(struct family *f, const char *series, struct str le, double v)
{
	assert_non_null(le.p);
	if (strcmp(series, f->series) != 0 || f->samples == 0) {
		snprintf(f->series, sizeof(f->series), "%s", series);
		f->le = -1;
		f->count = 0;
		f->inf = false;
	}
	assert_true(number_of(le) > f->le);
	assert_true(v >= f->count);
	f->le = number_of(le);
	f->count = v;
	f->inf = str_eq(le, STR("+Inf"));
}

static void
read_sample(struct str line)
{
	struct family *f = &families[families_n - 1];
	char series[200] = "";
	struct str le = STR_NONE, name = str_cut(line, 0, name_length(line));
	struct str rest = str_from(line, name.n), suffix;

	assert_true(families_n > 0 && f->type[0] != '\0');
	assert_true(str_starts(name, str_of(f->name)));
	suffix = str_from(name, strlen(f->name));
	if (str_starts(rest, STR("{")))
		rest = read_labels(rest, series, &le);
	assert_true(str_starts(rest, STR(" ")));
	double v = number_of(str_from(rest, 1));
	if (strcmp(f->type, "histogram") != 0) {
		assert_int_equal(suffix.n, 0);
		assert_null(le.p);
		assert_true(v >= 0 || strcmp(f->type, "gauge") == 0);
	} else if (str_eq(suffix, STR("_bucket"))) {
		read_bucket(f, series, le, v);
	} else {
		/* Sum and count stand behind the series' last bucket. */
		assert_string_equal(series, f->series);
		assert_true(f->inf && le.p == NULL);
		if (str_eq(suffix, STR("_count")))
			assert_true(v >= f->count && v <= f->count);
		else
			assert_true(str_eq(suffix, STR("_sum")));
	}
	f->samples++;
}

static void
read_strictly(struct str text)
{
	struct str line;

	families_n = 0;
	assert_true(str_ends(text, STR("\n")));
	while (str_split(&text, '\n', &line)) {
		if (line.n == 0) {
			assert_int_equal(text.n, 0);
			break;
		}
		if (line.p[0] == '#')
			read_comment(line);
		else
			read_sample(line);
	}
}

static void
test_exposition(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	metric_observe(&metrics[METRIC_SECONDS], 1500000000);
	metric_observe(&metrics[METRIC_SECONDS], 300000000000);
	metric_observe(&metrics[METRIC_SECONDS], 10000);
	metric_observe_by(&metrics[METRIC_BY_REASON], 2, 1);
	metric_observe(&metrics[METRIC_BYTES], 6000);
	metric_write(&b);
	read_strictly(buf_str(&b));
	assert_int_equal(families_n, ARRAY_LEN(metrics));
	for (size_t i = 0; i < families_n; i++) {
		assert_true(families[i].samples > 0);
		if (i > 0)
			assert_true(strcmp(families[i - 1].name,
			    families[i].name) < 0);
	}
	const char *text = buf_text(&b);
	assert_non_null(strstr(text, "# HELP t_pages_total Pages, \"all\" of"
	    "\\nthem \\\\.\n# TYPE t_pages_total counter\nt_pages_total 5\n"));
	assert_non_null(strstr(text, "\nt_active -3\n"));
	assert_non_null(strstr(text, "\nt_errors_total{reason=\"tim\\\"e\\\\o"
	    "\\nut\"} 7\n"));
	assert_non_null(strstr(text, "\nt_errors_total{reason=\"\"} 0\n"));
	assert_non_null(strstr(text, "\nt_seconds_bucket{le=\"0.00001\"} 1\n"));
	assert_non_null(strstr(text, "\nt_seconds_bucket{le=\"1\"} 1\n"));
	assert_non_null(strstr(text, "\nt_seconds_bucket{le=\"2\"} 2\n"));
	assert_non_null(strstr(text, "\nt_seconds_bucket{le=\"+Inf\"} 3\n"));
	assert_non_null(strstr(text, "\nt_seconds_sum 301.50001\n"));
	assert_non_null(strstr(text, "\nt_seconds_count 3\n"));
	assert_non_null(strstr(text, "\nt_by_seconds_bucket{reason=\"\",le="
	    "\"0.00001\"} 1\n"));
	assert_non_null(strstr(text, "\nt_bytes_bucket{le=\"16384\"} 1\n"));
	buf_free(&b);
}

#define THREADS 4
#define ROUNDS 20000

static struct metric own[THREADS] = {
	METRIC(COUNTER, "t_thread0_total", "x"),
	METRIC(COUNTER, "t_thread1_total", "x"),
	METRIC(COUNTER, "t_thread2_total", "x"),
	METRIC(COUNTER, "t_thread3_total", "x"),
};

static void *
work(void *arg)
{
	size_t me = (size_t)(uintptr_t)arg;

	metric_register(&own[me], 1);
	for (int i = 0; i < ROUNDS; i++) {
		metric_add(&metrics[METRIC_PAGES], 1);
		metric_add(&own[me], 1);
		metric_observe(&metrics[METRIC_BYTES], i);
		metric_add(&metrics[METRIC_ACTIVE], i % 2 == 0 ? 1 : -1);
	}
	return NULL;
}

/* Nothing is lost, and a reader beside them sees valid text all the time. */
static void
test_threads(void **state)
{
	pthread_t threads[THREADS];
	int64_t pages = metric_value(&metrics[METRIC_PAGES], 0);
	int64_t active = metric_value(&metrics[METRIC_ACTIVE], 0);
	int64_t sizes = metric_value(&metrics[METRIC_BYTES], 0);
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work,
		    (void *)(uintptr_t)i), 0);
	for (int i = 0; i < 20; i++) {
		buf_clear(&b);
		metric_write(&b);
		read_strictly(buf_str(&b));
	}
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(metric_value(&metrics[METRIC_PAGES], 0) - pages,
	    THREADS * ROUNDS);
	assert_int_equal(metric_value(&metrics[METRIC_ACTIVE], 0), active);
	assert_int_equal(metric_value(&metrics[METRIC_BYTES], 0) - sizes,
	    THREADS * ROUNDS);
	buf_clear(&b);
	metric_write(&b);
	read_strictly(buf_str(&b));
	assert_int_equal(families_n, ARRAY_LEN(metrics) + THREADS);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_exposition),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
