/*
 * One process as the daemon sees it: its socket, its time, its end.
 */
#include <stdarg.h>

#include "base/json.h"
#include "base/text.h"
#include "os/channel.h"
#include "os/log.h"
#include "os/system.h"
#include "script/host_own.h"

#define READ_BYTES ((size_t)64 << 10)
/* Of one process in a turn, so that it delays no other. */
#define READ_BYTES_A_TURN ((size_t)1 << 20)
/* A message may be longer than the mutations in it, by its head. */
#define MESSAGE_SLACK_BYTES ((size_t)1 << 20)
/* An idle process ends after this. */
#define IDLE_MS 60000
/* A process that says nothing after its start is broken. */
#define START_MS 10000
#define KILL_AGAIN_MS 200
/* A run that was cancelled gets so long to notice. */
#define STOP_MS 500
/* SIGKILL follows at 110 % of a limit. */
#define OVER(n) ((n) + (n) / 10)
/* Looking more often than this would only cost. */
#define LOOK_NS_MIN (5 * NS_PER_MS)

/* ---- Killing ------------------------------------------------------------ */

static void
close_socket(struct script_process *p)
{
	if (p->watch.fd < 0)
		return;
	loop_watch(p->host->loop, &p->watch, 0);
	channel_close(&p->watch.fd);
}

/* Until the spawner says that it has ended: an order may have found no room. */
static void
kill_again(struct script_process *p)
{
	struct loop *loop = p->host->loop;

	if (p->host->spawner != NULL)
		spawner_kill(p->host->spawner, p->id);
	loop_timer_set(loop, &p->timer, mono_add_ms(loop_now(loop),
	    KILL_AGAIN_MS));
}

void
process_kill(struct script_process *p, const char *code, const char *fmt, ...)
{
	va_list args;

	if (p->state == PROCESS_ENDING)
		return;
	va_start(args, fmt);
	vsnprintf(p->killed_text, sizeof(p->killed_text), fmt, args);
	va_end(args);
	p->killed_code = code;
	if (p->run != NULL && p->state == PROCESS_RUNNING)
		p->run->cpu_ns = p->run->cpu_total_ns + process_cpu_ns(p) -
		    p->run->cpu_start_ns;
	if (p->state == PROCESS_RUNNING)
		p->host->running_n--;
	p->state = PROCESS_ENDING;
	close_socket(p);
	kill_again(p);
}

void
process_free(struct script_process *p)
{
	list_take(&p->gone);
	loop_timer_stop(p->host->loop, &p->timer);
	close_socket(p);
	while (!list_empty(&p->out)) {
		struct out_message *m = LIST_POP(&p->out, struct out_message,
		    node);
		buf_free(&m->bytes);
		free(m);
	}
	frame_reader_free(&p->in);
	bundle_drop(&p->bundle);
	free(p);
}

static void
free_now(struct timer *t)
{
	process_free(CONTAINER(t, struct script_process, timer));
}

void
process_free_later(struct script_process *p)
{
	list_put(&p->host->gone, &p->gone);
	p->timer.fire = free_now;
	loop_timer_set(p->host->loop, &p->timer, loop_now(p->host->loop));
}

/* ---- Writing ------------------------------------------------------------ */

/*
 * As much as the kernel takes: it keeps less than 1 MiB for a process that does
 * not read.
 */
static void
write_out(struct script_process *p)
{
	while (p->watch.fd >= 0 && !list_empty(&p->out)) {
		struct out_message *m = LIST_ITEM(p->out.next,
		    struct out_message, node);
		int64_t n = channel_write(p->watch.fd, m->bytes.p + p->out_at,
		    m->bytes.n - p->out_at);
		/* Its end is told by the spawner. */
		if (n <= 0)
			break;
		p->out_at += (size_t)n;
		if (p->out_at < m->bytes.n)
			continue;
		list_take(&m->node);
		buf_free(&m->bytes);
		free(m);
		p->out_at = 0;
	}
	if (p->watch.fd >= 0)
		loop_watch(p->host->loop, &p->watch, LOOP_READ |
		    (list_empty(&p->out) ? 0 : LOOP_WRITE));
}

void
process_queue(struct script_process *p, enum frame_kind kind, struct str json,
    struct str body)
{
	if (p->watch.fd < 0)
		return;
	struct out_message *m = mem_new(sizeof(*m));
	frame_put(&m->bytes, kind, json, body);
	list_put(&p->out, &m->node);
	if (p->out.next == &m->node)
		write_out(p);
}

/* The run is over, here and there: another one may begin, if it lasts. */
static void
free_for_next(struct script_process *p)
{
	struct script_host *h = p->host;

	p->state = PROCESS_IDLE;
	if (p->is_last || p->runs >= h->options.runs_max) {
		process_kill(p, "stopped", "it has served its time");
		return;
	}
	process_queue(p, FRAME_FINISH, STR("{}"), STR_NONE);
	loop_timer_set(h->loop, &p->timer, mono_add_ms(loop_now(h->loop),
	    IDLE_MS));
}

/* ---- Its time ----------------------------------------------------------- */

int64_t
process_cpu_ns(const struct script_process *p)
{
	return p->pid > 0 ? system_process_cpu_ns(p->pid) : 0;
}

static void
stop_run(struct script_process *p, const char *code, const char *text)
{
	struct buf json = BUF_INIT;

	if (p->run != NULL)
		p->run->is_stopped = true;
	buf_printf(&json, "{\"code\":\"%s\",\"message\":\"%s\"}", code, text);
	process_queue(p, FRAME_STOP, buf_str(&json), STR_NONE);
	buf_free(&json);
}

/*
 * Processor time since the run began, or a connector's minute.  *left: until
 * the next minute begins.
 */
static int64_t
counted_cpu_ns(struct script_process *p, int64_t *left)
{
	struct script_run *r = p->run;
	int64_t minute = SCRIPT_MINUTE_MS * NS_PER_MS;
	int64_t cpu = process_cpu_ns(p) - r->cpu_start_ns;

	*left = INT64_MAX;
	if (!r->is_connector)
		return cpu;
	int64_t age = loop_now(p->host->loop).ns - r->cpu_minute.ns;
	if (age >= minute) {
		r->cpu_minute = mono_add_ns(r->cpu_minute, age - age % minute);
		r->cpu_start_ns += cpu;
		r->cpu_total_ns += cpu;
		age %= minute;
		cpu = 0;
	}
	*left = minute - age;
	return cpu;
}

/*
 * Kill what is over by more than a tenth; ask what is over to stop.  Returns
 * when to look again.
 */
static int64_t
judge_run(struct script_process *p)
{
	struct script_run *r = p->run;
	const struct script_limits *l = &r->limits;
	int64_t left;
	int64_t cpu_max = l->cpu_ms_max * NS_PER_MS;
	int64_t wall_max = l->wall_ms_max * NS_PER_MS;
	int64_t turn_max = l->turn_ms_max * NS_PER_MS;
	int64_t cpu = counted_cpu_ns(p, &left);
	int64_t wall = run_wall_ns(r), turn = run_turn_ns(r);

	r->cpu_ns = r->cpu_total_ns + cpu;
	if (cpu > OVER(cpu_max))
		process_kill(p, "limit_cpu", "more than %lld ms of processor "
		    "time", (long long)l->cpu_ms_max);
	else if (!r->is_done && wall > OVER(wall_max))
		process_kill(p, "limit_wall", "more than %lld ms",
		    (long long)l->wall_ms_max);
	else if (!r->is_done && turn > OVER(turn_max))
		process_kill(p, "limit_turn", "more than %lld ms of waiting "
		    "for hosts", (long long)l->turn_ms_max);
	else if (!r->is_done && !r->is_stopped && wall > wall_max)
		stop_run(p, "limit_wall", "it took too long");
	else if (!r->is_done && !r->is_stopped && turn > turn_max)
		stop_run(p, "limit_turn", "it waited too long for hosts");
	int64_t next = MIN(OVER(cpu_max) - cpu, left);
	if (!r->is_done)
		next = MIN(next, MIN((r->is_stopped ? OVER(wall_max) :
		    wall_max) - wall, (r->is_stopped ? OVER(turn_max) :
		    turn_max) - turn));
	return MAX(next + 1, LOOK_NS_MIN);
}

void
process_watch_run(struct script_process *p)
{
	int64_t next = judge_run(p);

	if (p->state == PROCESS_RUNNING)
		loop_timer_set(p->host->loop, &p->timer,
		    mono_add_ns(loop_now(p->host->loop), next));
}

static void
time_is_up(struct timer *t)
{
	struct script_process *p = CONTAINER(t, struct script_process, timer);

	if (p->state == PROCESS_RUNNING)
		process_watch_run(p);
	else if (p->state == PROCESS_STARTING)
		process_kill(p, "lost_worker", "the process does not start");
	else if (p->state == PROCESS_STOPPING)
		process_kill(p, "stopped", "its run does not stop");
	else if (p->state == PROCESS_IDLE)
		process_kill(p, "stopped", "it is not needed");
	else
		kill_again(p);
}

/* ---- Reading ------------------------------------------------------------ */

/* It is ready, and the kernel agrees. */
static void
check_ready(struct script_process *p)
{
	struct script_host *h = p->host;
	struct why w = WHY_INIT;

	if (!p->is_ready || p->pid == 0 || p->state != PROCESS_STARTING)
		return;
	if (sandbox_check(p->pid, h->options.weak, &w) != OK) {
		log_error("script.sandbox", "why=%s", log_why(&w));
		process_kill(p, "sandbox", "%s", w.text);
		return;
	}
	struct script_run *r = p->run;
	p->run = NULL;
	p->state = PROCESS_IDLE;
	if (r != NULL) {
		process_begin(p, r);
		return;
	}
	/* Its run was cancelled meanwhile. */
	loop_timer_set(h->loop, &p->timer, mono_add_ms(loop_now(h->loop),
	    IDLE_MS));
	host_schedule(h);
}

static bool
take_ready(struct script_process *p, const struct message *m, struct why *w)
{
	yyjson_doc *doc = yyjson_read(m->json.p, m->json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct str error = json_text(yyjson_obj_get(root, "error"));
	bool good = yyjson_is_obj(root) && m->kind == FRAME_READY &&
	    p->state == PROCESS_STARTING && !p->is_ready;

	if (!good)
		(void)why(w, ERR_INPUT, "frame: a message out of turn");
	if (good && error.p != NULL) {
		log_error("script.sandbox", "why=%s", log_quoted(error));
		process_kill(p, "sandbox", "%.*s", STR_FMT(error));
	} else if (good) {
		p->is_ready = true;
		p->host->stats.has_layers = true;
		p->host->stats.layers = (unsigned)yyjson_get_uint(
		    yyjson_obj_get(root, "layers"));
		check_ready(p);
	}
	yyjson_doc_free(doc);
	return good;
}

/* Of a cancelled run: only its end counts. */
static void
await_end(struct script_process *p, const struct message *m)
{
	if (m->kind != FRAME_DONE)
		return;
	yyjson_doc *doc = yyjson_read(m->json.p, m->json.n, 0);
	p->is_last |= yyjson_is_true(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "last"));
	yyjson_doc_free(doc);
	free_for_next(p);
	host_schedule(p->host);
}

static bool
take_message(struct script_process *p, const struct message *m, struct why *w)
{
	if (p->state == PROCESS_STOPPING) {
		await_end(p, m);
		return true;
	}
	if (p->state == PROCESS_RUNNING)
		return run_take_message(p->run, m, w);
	return take_ready(p, m, w);
}

/* False: it has broken the rules, or is gone. */
static bool
take_messages(struct script_process *p)
{
	struct message m;
	struct why w = WHY_INIT;
	bool got = true;

	while (got && p->state != PROCESS_ENDING) {
		if (frame_next(&p->in, &m, &got, &w) != OK ||
		    (got && !take_message(p, &m, &w))) {
			log_warn("script.protocol", "process=%lld why=%s",
			    (long long)p->pid, log_why(&w));
			process_kill(p, "protocol", "%s", w.text);
			return false;
		}
	}
	return p->state != PROCESS_ENDING;
}

static void
read_socket(struct script_process *p, size_t bytes_max)
{
	size_t had = 0;

	while (p->watch.fd >= 0 && had < bytes_max) {
		void *room = frame_room(&p->in, READ_BYTES);
		int64_t n = channel_read(p->watch.fd, room, READ_BYTES);
		frame_unroom(&p->in, READ_BYTES - (size_t)MAX(n, 0));
		/* An end is told by the spawner, with its status. */
		if (n < 0)
			close_socket(p);
		if (n <= 0 || !take_messages(p))
			return;
		had += (size_t)n;
		/* All of a process that has ended is here already. */
		if ((size_t)n < READ_BYTES && bytes_max != SIZE_MAX)
			return;
	}
}

static void
socket_ready(struct watch *watch, unsigned events)
{
	struct script_process *p = CONTAINER(watch, struct script_process,
	    watch);

	if ((events & LOOP_WRITE) != 0)
		write_out(p);
	read_socket(p, READ_BYTES_A_TURN);
}

/* ---- Its end ------------------------------------------------------------ */

/* Its run fails only now, so that whoever looks finds no process of it. */
void
process_on_ended(struct script_process *p, int status)
{
	int number = spawner_signal(status);
	bool starts = p->state == PROCESS_STARTING;
	char text[160];

	/* Nothing begins in it any more, not even if it was ready. */
	if (starts)
		p->pid = 0;
	/* Its last words may still be here: the outcome of a breach. */
	if (p->watch.fd >= 0)
		read_socket(p, SIZE_MAX);
	struct script_run *r = p->run;
	if (p->state == PROCESS_RUNNING)
		p->host->running_n--;
	p->state = PROCESS_ENDING;
	close_socket(p);
	p->run = NULL;
	if (r == NULL)
		return;
	r->process = NULL;
	/* The owner has the outcome; what it lacks is only the state. */
	if (r->is_done)
		return;
	/* Whatever it was, it was not the run. */
	if (starts && p->killed_code == NULL &&
	    r->lost_starts++ < HOST_LOST_STARTS_MAX) {
		host_put_back(p->host, r);
		return;
	}
	if (p->killed_code != NULL) {
		run_fail(r, p->killed_code, p->killed_text);
		return;
	}
	/* Ours has a name: somebody's, or the kernel's to make room. */
	if (spawner_signal_is_sigkill(number)) {
		run_fail(r, "lost_worker", "the process was killed");
		return;
	}
	if (spawner_signal_is_sigsys(number))
		snprintf(text, sizeof(text), "the process made a system call "
		    "that scripts may not make");
	else if (number != 0)
		snprintf(text, sizeof(text), "the process was ended by signal "
		    "%d", number);
	else
		snprintf(text, sizeof(text), "the process has ended");
	run_fail(r, "crashed", text);
}

/* Its mutations, or the body of a request. */
static size_t
message_bytes_max(const struct script_run *r)
{
	return MAX((size_t)r->limits.mutation_bytes_max,
	    SCRIPT_REQUEST_BYTES_MAX) + MESSAGE_SLACK_BYTES;
}

/* ---- Beginning ---------------------------------------------------------- */

enum err
process_start(struct script_host *h, struct script_run *r, struct why *w)
{
	int near = -1, far = -1;
	const struct sandbox_plan plan = {
		.memory_bytes = h->options.process_bytes_max,
		/* All runs together, as a backstop. */
		.cpu_s = (uint32_t)MIN((int64_t)UINT32_MAX / 2,
		    (r->limits.cpu_ms_max / 1000 + 1) *
		    (int64_t)h->options.runs_max * 2),
		.weak = h->options.weak,
	};
	enum err e = channel_open(&near, &far, w);

	if (e != OK)
		return e;
	uint32_t id = ++h->last_id;
	e = spawner_fork(h->spawner, id, &far, &plan, w);
	if (e != OK) {
		channel_close(&near);
		return e;
	}
	struct script_process *p = mem_new(sizeof(*p));
	p->host = h;
	p->id = id;
	p->run = r;
	r->process = p;
	p->bundle = bundle_hold(r->bundle);
	list_init(&p->out);
	list_init(&p->gone);
	frame_reader_init(&p->in, message_bytes_max(r));
	p->timer.fire = time_is_up;
	p->watch = (struct watch){ .fd = near, .ready = socket_ready };
	loop_watch(h->loop, &p->watch, LOOP_READ);
	loop_timer_set(h->loop, &p->timer, mono_add_ms(loop_now(h->loop),
	    START_MS));
	(void)map_put_id(&h->processes, id, p);
	h->stats.started++;
	for (size_t i = 0; i < bundle_files(p->bundle); i++) {
		struct buf json = BUF_INIT;
		buf_put_text(&json, "{\"path\":");
		text_json(&json, bundle_path(p->bundle, i));
		buf_put_char(&json, '}');
		process_queue(p, FRAME_MODULE, buf_str(&json),
		    bundle_source(p->bundle, i));
		buf_free(&json);
	}
	return OK;
}

void
process_on_started(struct script_process *p, int64_t pid)
{
	p->pid = pid;
	check_ready(p);
}

static void
put_limits(struct buf *json, const struct script_limits *l)
{
	const char *separator = "{";

#define LIMIT_PUT(name, type, id, breach)                                      \
	buf_printf(json, "%s\"" #name "\":%lld", separator,                   \
	    (long long)l->name);                                              \
	separator = ",";
	SCRIPT_LIMITS(LIMIT_PUT)
#undef LIMIT_PUT
	buf_put_char(json, '}');
}

void
process_begin(struct script_process *p, struct script_run *r)
{
	struct buf json = BUF_INIT;

	CHECK(p->state == PROCESS_IDLE && p->run == NULL);
	p->run = r;
	p->runs++;
	p->state = PROCESS_RUNNING;
	p->host->running_n++;
	p->in.message_bytes_max = message_bytes_max(r);
	r->process = p;
	r->began = r->minute = r->cpu_minute = loop_now(p->host->loop);
	r->cpu_start_ns = process_cpu_ns(p);
	/* A connector has its process to itself. */
	p->is_last |= r->is_connector;
	buf_printf(&json, "{\"mode\":\"%s\",\"keep\":%s,\"stopping\":%s,"
	    "\"main\":", r->is_config ? "config" : r->is_connector ?
	    "connector" : "task", r->keep_on_failure ? "true" : "false",
	    r->is_ending ? "true" : "false");
	text_json(&json, str_of(bundle_main(r->bundle)));
	buf_put_text(&json, ",\"task\":");
	text_json(&json, r->task);
	buf_put_text(&json, ",\"limits\":");
	put_limits(&json, &r->limits);
	buf_put_text(&json, ",\"secrets\":");
	buf_put_str(&json, r->secrets.n > 0 ? r->secrets : STR("{}"));
	buf_put_text(&json, ",\"input\":");
	buf_put_str(&json, r->input.n > 0 ? r->input : STR("{}"));
	buf_put_char(&json, '}');
	process_queue(p, FRAME_RUN, buf_str(&json), STR_NONE);
	buf_free(&json);
	process_watch_run(p);
}

void
process_release(struct script_process *p)
{
	if (p->state != PROCESS_RUNNING)
		return;
	p->run = NULL;
	p->host->running_n--;
	free_for_next(p);
}

void
process_stop_run(struct script_process *p)
{
	struct loop *loop = p->host->loop;

	CHECK(p->state == PROCESS_RUNNING);
	p->run = NULL;
	p->host->running_n--;
	p->state = PROCESS_STOPPING;
	stop_run(p, "stopped", "the run was cancelled");
	loop_timer_set(loop, &p->timer, mono_add_ms(loop_now(loop), STOP_MS));
}
