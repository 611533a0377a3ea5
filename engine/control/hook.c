#include "engine/control/hook.h"

#include "base/arena.h"
#include "base/metric.h"
#include "engine/archive/moved.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "os/process.h"

#define ARGUMENT_MAX 8192u

static const char *const hook_names[HOOKS] = { "warc_finished",
	"crawl_ended" };
static const char *const outcomes[] = { "ok", "failed" };
static const char *const place_outcomes[] = { "recorded", "refused" };
enum { METRIC_RUNS, METRIC_PENDING, METRIC_PLACES };
static struct metric metrics[] = {
	METRIC_BY2(COUNTER, "argiope_hook_runs_total",
	    "Runs of a hook's command.", "hook", hook_names, HOOKS,
	    "outcome", outcomes, ARRAY_LEN(outcomes)),
	METRIC_BY(GAUGE, "argiope_hook_pending",
	    "Calls of a hook that have not succeeded yet.", "hook",
	    hook_names, HOOKS),
	METRIC_BY(COUNTER, "argiope_hook_places_total",
	    "New places of moved files that hook.warc_finished printed.",
	    "outcome", place_outcomes, ARRAY_LEN(place_outcomes)),
};

/* One call that has not succeeded yet. */
struct call {
	struct mail mail;
	struct list node;
	struct hooks *hooks;
	enum hook hook;
	uint32_t id;
	unsigned failures;
	struct mono due;
};

struct hooks {
	struct loop *loop;
	const char *data_dir, *dir;
	struct arena arena;
	const char **words[HOOKS];     /* room for two more; NULL: no command */
	size_t words_n[HOOKS];
	int64_t ms_max;
	struct list calls;             /* the hook thread's */
	struct timer timer;
	bool started;
	atomic_bool stop;
	/* Closing. */
	struct loop_call close_call;
	bool finish;
	void (*closed)(void *);
	void *closed_arg;
};

/* --- what is pending, on disk ------------------------------------------- */

static struct str
file_of(const struct hooks *h, enum hook hook, uint32_t id, struct arena *a)
{
	return arena_printf(a, "%s/%s-%u", h->dir, hook_names[hook],
	    (unsigned)id);
}

static bool
parse_name(struct str name, enum hook *hook, uint32_t *id)
{
	struct str kind;
	uint64_t n;

	if (!str_split(&name, '-', &kind) || !str_to_u64(name, &n) ||
	    n > UINT32_MAX)
		return false;
	*id = (uint32_t)n;
	for (*hook = 0; *hook < HOOKS; (*hook)++)
		if (str_eq(kind, str_of(hook_names[*hook])))
			return true;
	return false;
}

/* "PATH LF BYTES": the length is for the note of a file that is moved. */
static void
put_length(struct buf *b, const char *path)
{
	uint64_t bytes;
	int fd = -1;

	if (file_open(path, FILE_READ, &fd, NULL) == OK &&
	    file_size(fd, &bytes, NULL) == OK)
		buf_printf(b, "\n%llu", (unsigned long long)bytes);
	file_close(&fd);
}

/* Cuts it off; a call that an older version wrote has none. */
static uint64_t
take_length(struct str *text)
{
	size_t at = text->n;
	uint64_t bytes;

	while (at > 0 && text->p[at - 1] != '\n')
		at--;
	if (at == 0 || !str_to_u64(str_from(*text, at), &bytes))
		return MOVED_BYTES_UNKNOWN;
	*text = str_cut(*text, 0, at - 1);
	return bytes;
}

enum err
hooks_put(struct hooks *h, enum hook hook, uint32_t id, struct str argument,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf text = BUF_INIT;

	if (h == NULL || h->words[hook] == NULL)
		return OK;
	struct str path = file_of(h, hook, id, &a);
	struct str home = str_of(h->data_dir);
	const char *whole = arena_copy(&a, argument).p;
	/* Relative inside of the data directory, which may move. */
	if (str_starts(argument, home) && argument.n > home.n &&
	    argument.p[home.n] == '/')
		argument = str_from(argument, home.n + 1);
	buf_put_str(&text, argument);
	if (hook == HOOK_WARC_FINISHED)
		put_length(&text, whole);
	return file_store(path.p, buf_str(&text), w);
}

bool
hooks_has(const struct hooks *h, enum hook hook, uint32_t id)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	int fd = -1;
	bool has = h != NULL && h->words[hook] != NULL &&
	    file_open(file_of(h, hook, id, &a).p, FILE_READ, &fd, NULL) == OK;

	file_close(&fd);
	return has;
}

/* --- calls, on the hook thread ------------------------------------------ */

static void
drop_call(struct call *c)
{
	list_take(&c->node);
	metric_add_by(&metrics[METRIC_PENDING], c->hook, -1);
	mem_free(&c);
}

static void
log_failure(const struct call *c, struct str argument, const struct why *w)
{
	struct log_text quoted, reason;

	log_error("hook.failed", "hook=%s argument=%s tries=%u why=%s",
	    hook_names[c->hook], log_quote(&quoted, argument), c->failures,
	    log_quote(&reason, str_of(w->text)));
}

/*
 * The first line that hook.warc_finished printed is the file's new place.  It
 * is recorded before the call is forgotten.  Output that is no place is not a
 * failure: running the command again would print it again.
 */
static enum err
record_place(const struct call *c, struct str argument, uint64_t bytes,
    struct str out, struct why *w)
{
	struct log_text quoted, line;
	struct why refused = WHY_INIT;
	struct str place = str_cut(out, 0, str_find_char(out, '\n'));

	if (c->hook != HOOK_WARC_FINISHED || place.n == 0 ||
	    str_eq(place, argument))
		return OK;
	if (moved_place_check(place, &refused) != OK) {
		metric_add_by(&metrics[METRIC_PLACES], 1, 1);
		log_error("hook.place_refused", "hook=%s argument=%s "
		    "bytes=%zu why=%s", hook_names[c->hook],
		    log_quote(&quoted, argument), place.n,
		    log_quote(&line, str_of(refused.text)));
		return OK;
	}
	enum err e = moved_write(argument.p, place, bytes, w);
	if (e == OK) {
		metric_add_by(&metrics[METRIC_PLACES], 0, 1);
		log_info("hook.moved", "argument=%s place=%s",
		    log_quote(&quoted, argument), log_quote(&line, place));
	}
	return e;
}

/* An earlier run moved it, and said so; only that it was called is left. */
static bool
was_moved(const struct call *c, struct str argument)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct moved m;
	int fd = -1;
	bool moved = c->hook == HOOK_WARC_FINISHED &&
	    file_open(argument.p, FILE_READ, &fd, NULL) == ERR_ABSENT &&
	    moved_read(argument.p, &a, &m, NULL) == OK;

	file_close(&fd);
	return moved;
}

/* True when it is done for good.  `bytes`: the length of a WARC file. */
static bool
run_command(struct call *c, struct str argument, uint64_t bytes,
    int64_t ms_max)
{
	struct hooks *h = c->hooks;
	struct why w = WHY_INIT;
	struct log_text quoted;
	struct process p = { .argv = h->words[c->hook], .ms_max = ms_max,
		.stop = &h->stop };

	h->words[c->hook][h->words_n[c->hook]] = argument.p;
	enum err e = process_run(&p, &w);
	if (e == OK)
		e = record_place(c, argument, bytes, buf_str(&p.out), &w);
	buf_free(&p.out);
	if (e != OK && p.stopped)
		return false;
	metric_add_by(&metrics[METRIC_RUNS], c->hook * ARRAY_LEN(outcomes) +
	    (e != OK), 1);
	if (e != OK) {
		c->failures++;
		log_failure(c, argument, &w);
		return false;
	}
	log_info("hook.done", "hook=%s argument=%s", hook_names[c->hook],
	    log_quote(&quoted, argument));
	return true;
}

/* Run it, and forget it or set its next time. */
static void
run_call(struct call *c, int64_t ms_max)
{
	struct hooks *h = c->hooks;
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct why w = WHY_INIT;
	struct str path = file_of(h, c->hook, c->id, &a);

	enum err e = file_load(path.p, ARGUMENT_MAX, &b, &w);
	struct str text = buf_str(&b);
	uint64_t bytes = c->hook == HOOK_WARC_FINISHED ? take_length(&text) :
	    MOVED_BYTES_UNKNOWN;
	struct str argument = arena_copy(&a, text);
	if (e == OK && c->hook == HOOK_WARC_FINISHED &&
	    !str_starts(argument, STR("/")))
		argument = arena_printf(&a, "%s/%.*s", h->data_dir,
		    STR_FMT(argument));
	bool done = e == ERR_ABSENT;
	if (e != OK && !done) {
		c->failures++;
		log_failure(c, path, &w);
	} else if (!done && (was_moved(c, argument) ||
	    run_command(c, argument, bytes, ms_max))) {
		done = true;
		if (file_remove(path.p, &w) != OK)
			log_failure(c, path, &w);
	}
	if (done) {
		drop_call(c);
		return;
	}
	int64_t ms = HOOK_RETRY_MS;
	for (unsigned i = 1; i < c->failures && ms < HOOK_RETRY_MS_MAX; i++)
		ms *= 2;
	c->due = mono_add_ms(clock_mono(), MIN(ms, HOOK_RETRY_MS_MAX));
}

static struct call *
first_due(struct hooks *h)
{
	struct call *first = NULL;

	LIST_EACH(c, &h->calls, struct call, node) {
		if (first == NULL || mono_before(c->due, first->due))
			first = c;
	}
	return first;
}

static void
set_timer(struct hooks *h)
{
	struct call *c = first_due(h);

	if (c != NULL && !atomic_load(&h->stop))
		loop_timer_set(h->loop, &h->timer, c->due);
}

/* One at a time; mail is delivered between two of them. */
static void
run_due(struct timer *t)
{
	struct hooks *h = CONTAINER(t, struct hooks, timer);
	struct call *c = first_due(h);

	if (c != NULL && !mono_before(clock_mono(), c->due) &&
	    !atomic_load(&h->stop))
		run_call(c, h->ms_max);
	set_timer(h);
}

static void
add_call(struct mail *m)
{
	struct call *c = CONTAINER(m, struct call, mail);

	c->due = clock_mono();
	list_put(&c->hooks->calls, &c->node);
	metric_add_by(&metrics[METRIC_PENDING], c->hook, 1);
	set_timer(c->hooks);
}

void
hooks_ready(struct hooks *h, enum hook hook, uint32_t id)
{
	if (h == NULL || h->words[hook] == NULL)
		return;
	struct call *c = mem_new(sizeof(*c));
	c->hooks = h;
	c->hook = hook;
	c->id = id;
	loop_send(h->loop, &c->mail, add_call);
}

/* --- opening and closing ------------------------------------------------ */

static enum err
read_words(struct hooks *h, enum hook hook, struct str command,
    struct why *w)
{
	struct str rest = command, word;
	size_t n = 0;

	const char **words = ARENA_ARRAY(&h->arena, const char *,
	    HOOK_WORDS_MAX + 2);
	while (str_split(&rest, ' ', &word)) {
		word = str_trim(word);
		if (word.n == 0)
			continue;
		if (n == HOOK_WORDS_MAX)
			return why(w, ERR_CONFIG, "hook.%s has more than %u "
			    "words; put them into a script",
			    hook_names[hook], HOOK_WORDS_MAX);
		words[n++] = arena_copy(&h->arena, word).p;
	}
	h->words_n[hook] = n;
	h->words[hook] = n > 0 ? words : NULL;
	return OK;
}

enum err
hooks_open(const struct conf *conf, const char *data_dir,
    bool (*ready)(void *, enum hook, uint32_t), void *arg,
    struct hooks **out, struct why *w)
{
	struct str warc = conf_str(conf, CONF_HOOK_WARC_FINISHED);
	struct str crawl = conf_str(conf, CONF_HOOK_CRAWL_ENDED);
	struct str *names;
	size_t n = 0;

	*out = NULL;
	metric_register(metrics, ARRAY_LEN(metrics));
	if (str_trim(warc).n == 0 && str_trim(crawl).n == 0)
		return OK;
	struct hooks *h = mem_new(sizeof(*h));
	h->data_dir = arena_copy(&h->arena, str_of(data_dir)).p;
	h->dir = arena_printf(&h->arena, "%s/" HOOKS_DIR, data_dir).p;
	h->loop = loop_new("hooks");
	h->timer.fire = run_due;
	h->ms_max = conf_ms(conf, CONF_HOOK_TIMEOUT_S);
	list_init(&h->calls);
	enum err e = read_words(h, HOOK_WARC_FINISHED, warc, w);
	if (e == OK)
		e = read_words(h, HOOK_CRAWL_ENDED, crawl, w);
	if (e == OK)
		e = file_make_dir(h->dir, w);
	if (e == OK)
		e = file_list(h->dir, &h->arena, &names, &n, w);
	for (size_t i = 0; e == OK && i < n; i++) {
		enum hook hook;
		uint32_t id;
		if (parse_name(names[i], &hook, &id) && ready(arg, hook, id))
			hooks_ready(h, hook, id);
	}
	*out = h;
	if (e != OK)
		hooks_free(out);
	return e;
}

void
hooks_start(struct hooks *h)
{
	if (h == NULL)
		return;
	h->started = true;
	loop_start(h->loop);
}

static void
finish_calls(struct loop_call *call)
{
	struct hooks *h = CONTAINER(call, struct hooks, close_call);
	struct mono until = mono_add_ms(clock_mono(), h->ms_max);
	struct list *next;

	loop_timer_stop(h->loop, &h->timer);
	for (struct list *n = h->calls.next; h->finish && n != &h->calls;
	    n = next) {
		next = n->next;
		int64_t ms = mono_ns_between(clock_mono(), until) / NS_PER_MS;
		if (ms > 0)
			run_call(LIST_ITEM(n, struct call, node), ms);
	}
	atomic_store(&h->stop, true);
}

static void
calls_finished(struct loop_call *call)
{
	struct hooks *h = CONTAINER(call, struct hooks, close_call);

	h->closed(h->closed_arg);
}

void
hooks_close(struct hooks *h, bool finish, struct loop *home,
    void (*done)(void *), void *arg)
{
	h->finish = finish;
	h->closed = done;
	h->closed_arg = arg;
	if (!finish)
		atomic_store(&h->stop, true);
	h->close_call = (struct loop_call){ .home = home, .run = finish_calls,
	    .done = calls_finished };
	loop_ask(h->loop, &h->close_call);
}

void
hooks_free(struct hooks **hp)
{
	struct hooks *h = *hp;

	if (h == NULL)
		return;
	atomic_store(&h->stop, true);
	if (h->started) {
		loop_stop(h->loop);
		loop_join(h->loop);
	}
	/* Mail that never was delivered becomes calls, to be freed. */
	while (loop_step(h->loop))
		;
	while (!list_empty(&h->calls))
		drop_call(LIST_ITEM(h->calls.next, struct call, node));
	loop_timer_stop(h->loop, &h->timer);
	loop_free(&h->loop);
	arena_free(&h->arena);
	mem_free(hp);
}
