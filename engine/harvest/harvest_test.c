/*
 * Harvests over a whole engine and an invented Mastodon on loopback: whole,
 * incremental, paused, stopped, killed after any answer, and with a place that
 * cannot be written to.
 */
#include "engine/harvest/harvest_own.h"

#include <limits.h>
#include <sys/stat.h>

#include "engine/archive/check.h"
#include "engine/control/engine_testing.h"
#include "engine/harvest/state_file.h"
#include "engine/store/store_outbox.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/tree.h"
#include "tests/rounds.h"

#define ACCOUNTS 2
#define PAGE 40

static struct rig rig;
static struct harvests *harvests;
static struct arena arena;
static atomic_uint posts;            /* of each account, numbers from 101 */
static atomic_uint fail_next;        /* this many pages are 503 */
static atomic_uint slow_ms;

static struct harvest_view last;     /* at the end */
static bool ended;
static unsigned resumptions;
static struct str id;                /* of the harvest */

/* A door's part. */
static bool has_door;
static bool stop_comes_first;        /* before one is taken up */
static atomic_bool forbids, is_claimed;
static atomic_uint changes, claims;

/* --- the platform ---------------------------------------------------- */

static uint64_t
number_behind(struct str path, const char *name)
{
	struct str s = str_from(path, str_find(path, str_of(name)) +
	    strlen(name));
	uint64_t n = 0;

	while (s.n > 0 && ascii_is_digit(s.p[0])) {
		n = n * 10 + (uint64_t)(s.p[0] - '0');
		s = str_from(s, 1);
	}
	return n;
}

static void
put_account(uint64_t account, struct buf *b)
{
	buf_printf(b, "{\"id\":\"%llu\",\"username\":\"a%llu\",\"acct\":"
	    "\"a%llu\"}", (unsigned long long)account,
	    (unsigned long long)account, (unsigned long long)account);
}

static void
put_page(uint64_t account, uint64_t min_id, struct rig_page *p)
{
	uint64_t first = MAX(min_id + 1, 101), end = 101 + atomic_load(&posts);
	uint64_t last_one = MIN(first + PAGE, end);

	buf_put_char(&p->body, '[');
	for (uint64_t n = last_one; n > first; n--) {
		buf_printf(&p->body, "%s{\"id\":\"%llu\",\"uri\":\"http://m/"
		    "%llu/%llu\",\"created_at\":\"2026-11-20T09:00:00.000Z\","
		    "\"media_attachments\":[{\"url\":\"http://m/%llu.png\"}],"
		    "\"account\":", n < last_one ? "," : "",
		    (unsigned long long)n - 1, (unsigned long long)account,
		    (unsigned long long)n - 1, (unsigned long long)n - 1);
		put_account(account, &p->body);
		buf_put_char(&p->body, '}');
	}
	buf_put_char(&p->body, ']');
	if (last_one > first)
		buf_printf(&p->head, "Link: <http://m.example/api/v1/accounts/"
		    "%llu/statuses?min_id=%llu>; rel=\"prev\"\r\n",
		    (unsigned long long)account,
		    (unsigned long long)last_one - 1);
}

static void
site(struct str path, struct rig_page *p)
{
	p->type = "application/json";
	p->delay_ms = (int)atomic_load(&slow_ms);
	if (str_find(path, STR("acct=")) < path.n) {
		put_account(number_behind(path, "acct=a"), &p->body);
	} else if (str_find(path, STR("statuses")) < path.n) {
		if (atomic_load(&fail_next) > 0) {
			atomic_fetch_sub(&fail_next, 1);
			p->status = 503;
		}
		put_page(number_behind(path, "accounts/"),
		    number_behind(path, "min_id="), p);
	} else {
		p->status = 404;
		buf_put_text(&p->body, "{}");
	}
}

/* --- lives ----------------------------------------------------------- */

static void
on_ended(void *arg, const struct harvest_view *v)
{
	(void)arg;
	last = *v;
	ended = true;
}

static void
on_changed(void *arg, struct str of)
{
	(void)arg;
	assert_true(of.n > 0);
	atomic_fetch_add(&changes, 1);
}

static enum err
admit(void *arg, enum harvest_origin origin, struct str path, struct why *w)
{
	(void)arg;
	(void)origin;
	(void)path;
	return atomic_load(&forbids) ? why(w, ERR_DENIED, "not there") : OK;
}

static enum err
claim(void *arg, enum harvest_origin origin, struct str of, struct str path,
    struct why *w)
{
	(void)arg;
	(void)origin;
	(void)of;
	/* The directory is there by now. */
	assert_int_equal(tree_kind(path.p, NULL), TREE_DIR);
	atomic_fetch_add(&claims, 1);
	return atomic_load(&is_claimed) ? why(w, ERR_EXISTS, "others") : OK;
}

static void
on_resumed(void *arg, struct str of)
{
	(void)arg;
	assert_true(str_eq(of, id));
	resumptions++;
	ended = false;
}

static uint64_t staged_bytes_max;

/* Harvests that the process before left unfinished are resumed. */
static void
open_harvests(struct rig *r)
{
	struct harvests_options o = { .engine = r->engine, .home = r->home,
	    .conf = &r->conf, .data_dir = r->dir, .ended = on_ended,
	    .resumed = on_resumed, .staged_bytes_max = staged_bytes_max,
	    .keeps_urls = true };
	char *real = realpath(r->dir, NULL);
	struct store_harvest *list;
	struct why w = WHY_INIT;
	size_t n;

	if (has_door) {
		o.changed = on_changed;
		o.admit = admit;
		o.claim = claim;
	}
	o.data_dir = arena_copy(&arena, str_of(real)).p;
	free(real);
	assert_int_equal(harvests_open(&o, &harvests, &w), OK);
	assert_int_equal(harvests_unfinished(harvests, &arena, &list, &n, &w),
	    OK);
	assert_true(n <= 1);
	id = n == 0 ? STR_NONE : list[0].id;
	if (n > 0 && stop_comes_first)
		assert_int_equal(store_stop_put(store_async_store(
		    engine_store_async(r->engine)), id, clock_wall(), NULL),
		    OK);
	if (n > 0 && harvest_continue(harvests, id, &w) != OK)
		fail_msg("%s", w.text);
}

static void
free_harvests(struct rig *r)
{
	(void)r;
	harvests_free(&harvests);
}

static void
open_rig(void)
{
	struct why w = WHY_INIT;

	arena = ARENA_INIT;
	rig_open(&rig, site, NULL);
	rig.opened = open_harvests;
	rig.freed = free_harvests;
	assert_int_equal(conf_flag(&rig.conf, arena_printf(&arena,
	    "fetch.resolve=m.example:80:127.0.0.1:%u", rig.port), &w), OK);
	atomic_store(&posts, 100);
	atomic_store(&fail_next, 0);
	atomic_store(&slow_ms, 0);
	ended = false;
}

static void
close_rig(void)
{
	rig_close(&rig);
	arena_free(&arena);
}

static const char *
place(void)
{
	char here[PATH_MAX];

	assert_non_null(realpath(rig.dir, here));
	return arena_printf(&arena, "%s/to", here).p;
}

static void
answered(struct harvest_request *q)
{
	*(bool *)q->arg = true;
}

static struct harvest_request
request(const char *message, const char *path)
{
	bool done = false;
	struct harvest_request q = { .message = str_of(message),
	    .path = str_of(path), .done = answered, .arg = &done };

	ended = false;
	harvest_begin(harvests, &q);
	RIG_UNTIL_DONE(&rig, done);
	id = q.given_id;
	return q;
}

#define MESSAGE(OPTIONS) "{\"type\":\"mastodon_account\",\"seeds\":[{\"id\":"  \
	"\"s1\",\"token\":\"a1\"},{\"id\":\"s2\",\"token\":\"a2\"}],"          \
	"\"options\":" OPTIONS ",\"credentials\":{\"instance\":"               \
	"\"http://m.example\"}}"

static void
begin(const char *message)
{
	struct harvest_request q = request(message, place());

	if (q.why.err != OK)
		fail_msg("%s", q.why.text);
}

static void
ends_as(enum store_harvest_state s)
{
	RIG_UNTIL_DONE(&rig, ended);
	if (last.state != s)
		fail_msg("%s", store_harvest_state_name(last.state));
}

static bool
has_answers(struct rig *r, void *arg)
{
	struct harvest_view v;

	(void)r;
	return ended || (harvest_look(harvests, id, &v) &&
	    v.answers >= *(uint64_t *)arg);
}

/* --- what is there afterwards ---------------------------------------- */

static void
told(void *arg, const struct archive_finding *f)
{
	(void)arg;
	fail_msg("%s at %u: %s %s", f->path, (unsigned)f->offset,
	    archive_rule_text(f->rule), f->detail);
}

/* As `argiope archive check --strict` of the place. */
static void
has_captures(uint64_t captures)
{
	const char *dir = place();
	struct archive_catalogue c;
	struct archive_check_options o = { .strict = true, .finding = told };
	struct archive_check_counts n;

	assert_int_equal(archive_list(&dir, 1, false, &arena, &c, NULL), OK);
	assert_int_equal(archive_check(&c, &o, &n, NULL), OK);
	assert_int_equal(n.captures, captures);
}

static void
has_state(const char *value)
{
	const struct shared_root none = { .path = NULL };
	struct shared_dir d;
	struct connector_state *s;
	size_t n;

	assert_int_equal(shared_dir_open(&none, place(), SHARED_DIR_LOOK, &d,
	    NULL), OK);
	assert_int_equal(state_file_read(&d, &arena, &s, &n, NULL), OK);
	shared_dir_close(&d);
	assert_int_equal(n, ACCOUNTS);
	assert_true(str_eq(s[0].key, STR("http://m.example.1.min_id")));
	assert_true(str_eq(s[0].value, str_of(value)));
	assert_true(str_eq(s[1].value, str_of(value)));
}

static bool
has_note(const char *code)
{
	struct harvest_note n;
	size_t at = 0;

	while (harvest_next_note(harvests, id, &at, &n))
		if (str_eq(n.code, str_of(code)))
			return true;
	return false;
}

/* So many URLs are kept with the files of the first harvest. */
static void
has_urls(size_t want)
{
	struct store_harvest_warc *files;
	size_t n, found = 0;
	struct store *st;

	rig_stop(&rig);
	assert_int_equal(store_open(rig.dir, NULL, &st, NULL), OK);
	assert_int_equal(store_order_warcs(st, STR("mastodon_account-1"),
	    &arena, &files, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		struct str rest = files[i].urls;
		for (size_t at; (at = str_find(rest, STR(".png\""))) < rest.n;
		    rest = str_from(rest, at + 1))
			found++;
	}
	assert_int_equal(found, want);
	store_close(&st);
}

/* --- tests ----------------------------------------------------------- */

/* Of each account a lookup, three pages and an empty one. */
#define ANSWERS (ACCOUNTS * 5u)

static void
whole_and_incremental(void **state)
{
	(void)state;
	open_rig();
	rig_start(&rig);
	begin(MESSAGE("{}"));
	assert_true(str_eq(id, STR("mastodon_account-1")));
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 200);
	assert_int_equal(last.answers, ANSWERS);
	assert_int_equal(last.warcs, 1);
	assert_int_equal(last.warcs_waiting, 0);
	has_captures(ANSWERS);
	has_state("200");
	/* Another life, and more posts. */
	rig_stop(&rig);
	atomic_store(&posts, 110);
	rig_start(&rig);
	assert_int_equal(id.n, 0);
	begin(MESSAGE("{\"incremental\":true}"));
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 20);
	has_state("210");
	close_rig();
}

/* After each answer in turn: nothing is asked twice, nothing is missing. */
static void
killed_after_any_answer(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < ANSWERS; n += ROUNDS_STEP) {
		open_rig();
		rig_start(&rig);
		begin(MESSAGE("{}"));
		rig_until(&rig, has_answers, &n);
		rig_crash(&rig);
		rig_start(&rig);
		if (id.n > 0) {
			harvest_resume(harvests, id);
			ends_as(STORE_HARVEST_SUCCEEDED);
			assert_int_equal(last.items, 200);
			assert_int_equal(last.answers, ANSWERS);
		}
		has_captures(ANSWERS);
		has_state("200");
		/* What was not durable may come once more. */
		assert_in_range(rig_requests(&rig, NULL), ANSWERS,
		    ANSWERS + 1);
		/* Both accounts' posts have the same pictures. */
		has_urls(100);
		close_rig();
	}
}

static void
paused_and_resumed(void **state)
{
	uint64_t n = 3;

	(void)state;
	open_rig();
	rig_start(&rig);
	atomic_store(&slow_ms, 20);
	begin(MESSAGE("{}"));
	rig_until(&rig, has_answers, &n);
	harvest_pause(harvests, id);
	ends_as(STORE_HARVEST_PAUSED);
	assert_in_range(last.answers, 3, ANSWERS - 1);
	has_captures(last.answers);
	assert_int_equal(last.warcs, 1);
	rig_stop(&rig);
	ended = false;
	rig_start(&rig);
	harvest_resume(harvests, id);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_true(has_note("harvest_resumed"));
	assert_int_equal(last.items, 200);
	assert_int_equal(last.replayed, 0);
	assert_int_equal(last.warcs, 2);
	assert_int_equal(rig_requests(&rig, NULL), ANSWERS);
	has_captures(ANSWERS);
	has_state("200");
	close_rig();
}

/* Pauses after some answers. */
static void
pause_in_the_middle(void)
{
	uint64_t n = 3;

	open_rig();
	resumptions = 0;
	rig_start(&rig);
	atomic_store(&slow_ms, 20);
	begin(MESSAGE("{}"));
	rig_until(&rig, has_answers, &n);
	harvest_pause(harvests, id);
	ends_as(STORE_HARVEST_PAUSED);
	assert_in_range(last.answers, 3, ANSWERS - 1);
}

/* In one process, twice: nothing is asked for again. */
static void
resumed_in_the_same_process(void **state)
{
	uint64_t n = 6;

	(void)state;
	pause_in_the_middle();
	harvest_resume(harvests, id);
	harvest_resume(harvests, id);
	assert_int_equal(resumptions, 1);
	rig_until(&rig, has_answers, &n);
	/* It is asked to go on before it has paused. */
	harvest_pause(harvests, id);
	harvest_resume(harvests, id);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(resumptions, 1);
	assert_true(has_note("harvest_resumed"));
	assert_int_equal(last.items, 200);
	assert_int_equal(rig_requests(&rig, NULL), ANSWERS);
	has_captures(ANSWERS);
	has_state("200");
	/* It is over, whatever is asked for. */
	harvest_resume(harvests, id);
	harvest_pause(harvests, id);
	harvest_stop(harvests, id);
	assert_true(ended);
	assert_int_equal(resumptions, 1);
	close_rig();
}

/* A paused one has no more calls to make: it becomes a success. */
static void
stopped_while_it_is_paused(void **state)
{
	uint64_t answers;

	(void)state;
	pause_in_the_middle();
	answers = last.answers;
	harvest_stop(harvests, id);
	harvest_resume(harvests, id);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_true(has_note("harvest_stopped"));
	assert_false(has_note("harvest_resumed"));
	assert_int_equal(last.answers, answers);
	assert_int_equal(rig_requests(&rig, NULL), answers);
	has_captures(answers);
	close_rig();
}

/* The same by the next process: what the store knows of a stop holds. */
static void
stopped_before_it_is_taken_up(void **state)
{
	unsigned before;

	(void)state;
	pause_in_the_middle();
	before = rig_requests(&rig, NULL);
	rig_stop(&rig);
	has_door = stop_comes_first = true;
	atomic_store(&changes, 0);
	ended = false;
	rig_start(&rig);
	harvest_resume(harvests, id);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_true(has_note("harvest_stopped"));
	assert_false(has_note("harvest_resumed"));
	assert_int_equal(rig_requests(&rig, NULL), before);
	/* Of its state; that it runs is not said. */
	assert_int_equal(atomic_load(&changes), 1);
	has_door = stop_comes_first = false;
	close_rig();
}

/* Files of the place that somebody has damaged: the harvest stays as it is. */
static void
resumed_later(void **state)
{
	const char *path;
	uint64_t n = 3;

	(void)state;
	open_rig();
	rig_start(&rig);
	atomic_store(&slow_ms, 20);
	begin(MESSAGE("{}"));
	rig_until(&rig, has_answers, &n);
	harvest_pause(harvests, id);
	ends_as(STORE_HARVEST_PAUSED);
	rig_stop(&rig);
	path = arena_printf(&arena, "%s/state.json", place()).p;
	assert_int_equal(file_store(path, STR("{"), NULL), OK);
	for (int i = 0; i < 2; i++) {
		ended = false;
		rig_start(&rig);
		harvest_resume(harvests, id);
		ends_as(STORE_HARVEST_PAUSED);
		assert_non_null(strstr(last.trouble, "state.json"));
		rig_stop(&rig);
	}
	assert_int_equal(file_store(path, STR("{}"), NULL), OK);
	ended = false;
	rig_start(&rig);
	harvest_resume(harvests, id);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 200);
	assert_int_equal(rig_requests(&rig, NULL), ANSWERS);
	has_captures(ANSWERS);
	has_state("200");
	close_rig();
}

static void
stopped(void **state)
{
	uint64_t n = 2;

	(void)state;
	open_rig();
	rig_start(&rig);
	atomic_store(&slow_ms, 20);
	begin(MESSAGE("{}"));
	rig_until(&rig, has_answers, &n);
	harvest_stop(harvests, id);
	harvest_stop(harvests, id);
	harvest_pause(harvests, id);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_true(has_note("harvest_stopped"));
	assert_true(last.answers < ANSWERS);
	has_captures(last.answers);
	rig_stop(&rig);
	rig_start(&rig);
	assert_int_equal(id.n, 0);
	close_rig();
}

static void
a_failing_server_is_asked_again(void **state)
{
	(void)state;
	open_rig();
	rig_start(&rig);
	atomic_store(&fail_next, 1);
	begin(MESSAGE("{}"));
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 200);
	assert_int_equal(last.answers, ANSWERS + 1);
	close_rig();
}

/* A file stands where a directory is wanted; the harvest waits with its files,
 * and a pause leaves them for later. */
static void
a_place_that_is_away(void **state)
{
	const char *in_the_way;
	struct harvest_view v;
	char digits[18];
	uint64_t n = ANSWERS;

	(void)state;
	open_rig();
	rig_start(&rig);
	wall_to_digits(clock_wall(), 17, digits);
	in_the_way = arena_printf(&arena, "%s/%.4s", place(), digits).p;
	assert_int_equal(tree_make_dir(place(), NULL), OK);
	assert_int_equal(file_store(in_the_way, STR("x"), NULL), OK);
	begin(MESSAGE("{}"));
	rig_until(&rig, has_answers, &n);
	do {
		loop_step(rig.home);
		assert_true(harvest_look(harvests, id, &v));
	} while (v.trouble[0] == '\0');
	assert_int_equal(v.warcs_waiting, 1);
	assert_int_equal(tree_kind(arena_printf(&arena, "%s/state.json",
	    place()).p, NULL), TREE_ABSENT);
	harvest_pause(harvests, id);
	ends_as(STORE_HARVEST_PAUSED);
	rig_stop(&rig);
	ended = false;
	rig_start(&rig);
	harvest_resume(harvests, id);
	assert_int_equal(file_remove(in_the_way, NULL), OK);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(rig_requests(&rig, NULL), ANSWERS);
	has_captures(ANSWERS);
	has_state("200");
	close_rig();
}

/* 8,000 posts, some hundred in a file. */
static void
begin_many_files(void)
{
	struct why w = WHY_INIT;

	open_rig();
	assert_int_equal(conf_flag(&rig.conf, STR("warc.rollover_bytes=64KiB"),
	    &w), OK);
	atomic_store(&posts, 4000);
	rig_start(&rig);
	begin(MESSAGE("{}"));
}

static void
files_roll_over_in_between(void **state)
{
	(void)state;
	begin_many_files();
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 8000);
	assert_true(last.warcs > 2);
	has_captures(last.answers);
	has_state("4100");
	close_rig();
}

static bool
is_settling(struct rig *r, void *arg)
{
	const struct harvest *h = harvest_find(harvests, id);

	(void)r;
	(void)arg;
	return h->started && h->settling.under_way;
}

/* The end of a file is under way, and says nothing of what is asked for now. */
static void
asked_while_it_settles(bool pauses, bool resumes, bool stops)
{
	begin_many_files();
	rig_until(&rig, is_settling, NULL);
	if (pauses)
		harvest_pause(harvests, id);
	if (resumes)
		harvest_resume(harvests, id);
	if (stops)
		harvest_stop(harvests, id);
	ends_as(pauses && !resumes && !stops ? STORE_HARVEST_PAUSED :
	    STORE_HARVEST_SUCCEEDED);
	assert_int_equal(has_note("harvest_stopped"), stops);
	assert_int_equal(last.items < 8000, stops || !resumes);
	has_captures(last.answers);
	close_rig();
}

static void
paused_while_it_settles(void **state)
{
	(void)state;
	asked_while_it_settles(true, false, false);
	asked_while_it_settles(true, true, false);
}

static void
stopped_while_it_settles(void **state)
{
	(void)state;
	asked_while_it_settles(false, false, true);
	asked_while_it_settles(true, false, true);
	asked_while_it_settles(true, true, true);
}

static bool
is_held_back(struct rig *r, void *arg)
{
	struct harvest_view v;

	(void)r;
	(void)arg;
	return harvest_look(harvests, id, &v) &&
	    v.state == STORE_HARVEST_PAUSED;
}

/* So much waits for the directory that it pauses; then there is room. */
static void
held_back_until_there_is_room(void **state)
{
	struct why w = WHY_INIT;
	struct harvest_view v;
	char digits[18];

	(void)state;
	open_rig();
	assert_int_equal(conf_flag(&rig.conf, STR("warc.rollover_bytes=64KiB"),
	    &w), OK);
	atomic_store(&posts, 8000);
	staged_bytes_max = 100000;
	rig_start(&rig);
	wall_to_digits(clock_wall(), 17, digits);
	const char *in_the_way = arena_printf(&arena, "%s/%.4s", place(),
	    digits).p;
	assert_int_equal(tree_make_dir(place(), NULL), OK);
	assert_int_equal(file_store(in_the_way, STR("x"), NULL), OK);
	begin(MESSAGE("{}"));
	rig_until(&rig, is_held_back, NULL);
	unsigned requests = rig_requests(&rig, NULL);
	assert_true(has_note("root_unavailable"));
	assert_true(harvest_look(harvests, id, &v));
	assert_true(v.warcs_waiting > 0 && v.warcs == 0);
	assert_true(v.trouble[0] != '\0');
	assert_int_equal(file_remove(in_the_way, NULL), OK);
	assert_int_equal(rig_requests(&rig, NULL), requests);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_true(rig_requests(&rig, NULL) > requests);
	assert_int_equal(last.items, 16000);
	assert_int_equal(last.warcs_waiting, 0);
	has_captures(last.answers);
	has_state("8100");
	staged_bytes_max = 0;
	close_rig();
}

/* The same, and it is stopped meanwhile: it makes no further call. */
static void
stopped_while_held_back(void **state)
{
	struct why w = WHY_INIT;
	char digits[18];

	(void)state;
	open_rig();
	assert_int_equal(conf_flag(&rig.conf, STR("warc.rollover_bytes=64KiB"),
	    &w), OK);
	atomic_store(&posts, 8000);
	staged_bytes_max = 100000;
	rig_start(&rig);
	wall_to_digits(clock_wall(), 17, digits);
	const char *in_the_way = arena_printf(&arena, "%s/%.4s", place(),
	    digits).p;
	assert_int_equal(tree_make_dir(place(), NULL), OK);
	assert_int_equal(file_store(in_the_way, STR("x"), NULL), OK);
	begin(MESSAGE("{}"));
	rig_until(&rig, is_held_back, NULL);
	unsigned requests = rig_requests(&rig, NULL);
	harvest_stop(harvests, id);
	assert_int_equal(file_remove(in_the_way, NULL), OK);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(rig_requests(&rig, NULL), requests);
	assert_int_equal(last.warcs_waiting, 0);
	assert_true(has_note("harvest_stopped"));
	staged_bytes_max = 0;
	close_rig();
}

static void
refusals(void **state)
{
	static const struct {
		const char *message, *code, *field;
	} rows[] = {
		{ "[]", "bad_request", "" },
		{ "{\"type\":\"nothing\"}", "unsupported_harvest_type",
		    "type" },
		{ "{\"type\":\"mastodon_account\",\"seeds\":[]}",
		    "bad_request", "seeds" },
		{ "{\"type\":\"mastodon_account\",\"seeds\":[{\"token\":\"a\"}"
		    "]}", "credentials_missing", "credentials.instance" },
		{ "{\"type\":\"mastodon_account\",\"seeds\":[{\"token\":\"a\"}"
		    "],\"credentials\":{\"instance\":\"ftp://m\"}}",
		    "bad_request", "credentials.instance" },
	};

	(void)state;
	open_rig();
	rig_start(&rig);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct harvest_request q = request(rows[i].message, place());
		assert_int_equal(q.why.err, ERR_INPUT);
		assert_string_equal(q.code, rows[i].code);
		assert_string_equal(q.why.field, rows[i].field);
	}
	assert_int_equal(tree_kind(place(), NULL), TREE_ABSENT);
	struct harvest_request q = request(MESSAGE("{}"), "");
	assert_string_equal(q.why.field, "path");
	assert_int_equal(file_store(place(), STR("x"), NULL), OK);
	q = request(MESSAGE("{}"), place());
	assert_string_equal(q.code, "path_forbidden");
	close_rig();
}

/* A door forbids paths, shares harvests with other daemons, and follows. */
static void
with_a_door(void **state)
{
	struct harvest_request q;

	(void)state;
	has_door = true;
	atomic_store(&forbids, true);
	open_rig();
	rig_start(&rig);
	q = request(MESSAGE("{}"), place());
	assert_string_equal(q.code, "path_forbidden");
	assert_int_equal(tree_kind(place(), NULL), TREE_ABSENT);
	atomic_store(&forbids, false);
	atomic_store(&is_claimed, true);
	q = request(MESSAGE("{}"), place());
	assert_string_equal(q.code, "claimed");
	assert_int_equal(q.why.err, ERR_EXISTS);
	assert_int_equal(atomic_load(&claims), 1);
	assert_int_equal(rig_requests(&rig, NULL), 0);
	rig_stop(&rig);
	rig_start(&rig);
	assert_int_equal(id.n, 0);           /* nothing was left unfinished */
	atomic_store(&is_claimed, false);
	begin(MESSAGE("{}"));
	ends_as(STORE_HARVEST_SUCCEEDED);
	/* It ran, and its file and state were there. */
	assert_true(atomic_load(&changes) >= 2);
	harvest_forget(harvests, id);
	assert_false(harvest_look(harvests, id, &last));
	close_rig();
	has_door = false;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_and_incremental),
		cmocka_unit_test(paused_and_resumed),
		cmocka_unit_test(resumed_later),
		cmocka_unit_test(resumed_in_the_same_process),
		cmocka_unit_test(stopped_while_it_is_paused),
		cmocka_unit_test(stopped_before_it_is_taken_up),
		cmocka_unit_test(stopped),
		cmocka_unit_test(a_failing_server_is_asked_again),
		cmocka_unit_test(a_place_that_is_away),
		cmocka_unit_test(files_roll_over_in_between),
		cmocka_unit_test(paused_while_it_settles),
		cmocka_unit_test(stopped_while_it_settles),
		cmocka_unit_test(held_back_until_there_is_room),
		cmocka_unit_test(stopped_while_held_back),
		cmocka_unit_test(refusals),
		cmocka_unit_test(with_a_door),
		cmocka_unit_test(killed_after_any_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
