/*
 * Processes that have been taken over: a test build of the worker that runs
 * native calls and sends whatever it likes.  Its run fails, nothing else.
 *
 * The run's task says what to do: "syscall 41", "bytes 00ff..", and others
 * below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/spawner.h"
#include "script/host_own.h"
#include "script/own.h"
#include "script/script_testing.h"

#define NATIVE_WORD "native-worker"
#define DYING_WORD "dying-worker"
#define DEAD_WORD "dead-worker"
#define RUN_N 400

/* ---- The process -------------------------------------------------------- */

static struct process process;

static void
send_done(void)
{
	process_send(&process, FRAME_DONE, STR("{\"error\":null}"), STR("[]"));
}

static void
send_bytes(struct str hex)
{
	for (; hex.n >= 2; hex = str_from(hex, 2)) {
		char byte = (char)(ascii_hex_value(hex.p[0]) << 4 |
		    ascii_hex_value(hex.p[1]));
		(void)channel_write(0, &byte, 1);
	}
}

static void
wait_for_ever(void)
{
	for (;;)
		(void)poll(NULL, 0, 1000);
}

static void
map_executable(bool at_once)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE |
	    (at_once ? PROT_EXEC : 0), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		(void)mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static void
call_other_architecture(void)
{
#if defined(__x86_64__)
	int64_t result = 20;         /* getpid(2) of i386 */
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
#endif
}

/* The calls that remain do their work. */
static void
use_admitted_calls(void)
{
	struct timespec t;
	sigset_t set;
	int word = 0;

	(void)syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
	(void)syscall(SYS_futex, &word, 1, 1, NULL, NULL, 0);
	(void)sigprocmask(SIG_BLOCK, NULL, &set);
	void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS, -1, 0);
	p = mremap(p, 8192, 16384, MREMAP_MAYMOVE);
	(void)madvise(p, 4096, MADV_DONTNEED);
	(void)mprotect(p, 4096, PROT_READ);
	(void)munmap(p, 16384);
	(void)syscall(SYS_brk, 0);
	(void)sigaltstack(NULL, NULL);
	(void)poll(NULL, 0, 0);
}

/* Asks for blob after blob and reads no answer. */
static void
read_nothing(void)
{
	char json[100];

	for (unsigned i = 1; i <= 60; i++) {
		snprintf(json, sizeof(json), "{\"call\":%u,\"kind\":\"blob\","
		    "\"args\":{}}", i);
		process_send(&process, FRAME_CALL, str_of(json), STR_NONE);
	}
	wait_for_ever();
}

static void
obey(struct str task)
{
	volatile int *volatile nowhere = NULL;
	struct str word = STR(""), rest = task;
	uint64_t n = 0;

	(void)str_split(&rest, ' ', &word);
	if (str_eq(word, STR("syscall")) && str_to_u64(rest, &n))
		(void)syscall((long)n, 0, 0, 0, 0, 0, 0);
	else if (str_eq(word, STR("bytes")))
		send_bytes(rest);
	else if (str_eq(word, STR("mmap")))
		map_executable(true);
	else if (str_eq(word, STR("mprotect")))
		map_executable(false);
	else if (str_eq(word, STR("i386")))
		call_other_architecture();
	else if (str_eq(word, STR("admitted")))
		use_admitted_calls();
	else if (str_eq(word, STR("segv")))
		*nowhere = 1;
	else if (str_eq(word, STR("abort")))
		abort();
	else if (str_eq(word, STR("exit")))
		_exit(0);
	else if (str_eq(word, STR("wait")))
		wait_for_ever();
	else if (str_eq(word, STR("deaf")))
		read_nothing();
	if (str_eq(word, STR("bytes")))
		wait_for_ever();
	send_done();
}

static void
live(unsigned layers, const struct why *broken)
{
	char json[100];

	snprintf(json, sizeof(json), "{\"layers\":%u,\"error\":%s}", layers,
	    broken == NULL ? "null" : "\"broken\"");
	frame_reader_init(&process.in, (size_t)1 << 20);
	process_send(&process, FRAME_READY, str_of(json), STR_NONE);
	for (;;) {
		struct message m = process_receive(&process);
		if (m.kind != FRAME_RUN)
			continue;
		yyjson_doc *doc = yyjson_read(m.json.p, m.json.n, 0);
		obey(json_text(yyjson_obj_get(yyjson_doc_get_root(doc),
		    "task")));
		yyjson_doc_free(doc);
	}
}

/* The spawner's processes share it. */
static _Atomic unsigned *started;

static void
share_count(void)
{
	started = mmap(NULL, sizeof(*started), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (started == MAP_FAILED)
		_exit(1);
}

static void
die_at_first(unsigned layers, const struct why *broken)
{
	if (atomic_fetch_add(started, 1) < HOST_LOST_STARTS_MAX)
		_exit(1);
	live(layers, broken);
}

static void
die(unsigned layers, const struct why *broken)
{
	(void)layers, (void)broken;
	_exit(1);
}

/* ---- The tests ---------------------------------------------------------- */

static struct bench_world *world;

static void
use_native(struct script_host_options *o)
{
	o->word = NATIVE_WORD;
	o->processes_max = 8;
}

static int
open_world(void **state)
{
	(void)state;
	world = script_testing_open(use_native);
	return 0;
}

static int
close_world(void **state)
{
	(void)state;
	script_testing_close(&world);
	return 0;
}

static void
begin_native(struct tried *t, const char *task)
{
	tried_init_module(t, world, "", NULL);
	t->run.task = str_of(task);
	t->run.limits.wall_ms_max = 300;
}

static void
expect_native(const char *task, const char *code, const char *text)
{
	struct tried t;

	begin_native(&t, task);
	tried_run(&t);
	if (strcmp(t.code, code) != 0 || strstr(t.message.p, text) == NULL)
		print_error("%s: %s: %s\n", task, t.code, t.message.p);
	assert_string_equal(t.code, code);
	assert_non_null(strstr(t.message.p, text));
	tried_free(&t);
}

#define FORBIDDEN "a system call that scripts may not make"

static bool
is_admitted(long number)
{
	static const long numbers[] = {
#define NUMBER(name) SYS_##name,
		SANDBOX_CALLS(NUMBER)
#undef NUMBER
		SYS_mmap, SYS_mprotect,
	};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/*
 * uretprobe(2) and uprobe(2) of x86-64: the kernel asks no filter, and refuses
 * or ends a caller that comes from no probe of its own.
 */
static bool
is_probe(const char *task)
{
	return strcmp(task, "syscall 335") == 0 ||
	    strcmp(task, "syscall 336") == 0;
}

/* All numbers that the kernel has, several at a time. */
static void
test_every_other_system_call_kills(void **state)
{
	enum { AT_ONCE = 8 };
	struct tried runs[AT_ONCE];
	char tasks[AT_ONCE][32];
	long number = 0;
	unsigned tried = 0;

	(void)state;
	while (number < RUN_N + 80) {
		size_t n = 0;
		for (; n < AT_ONCE && number < RUN_N + 80; number++) {
			if (is_admitted(number))
				continue;
			snprintf(tasks[n], sizeof(tasks[n]), "syscall %ld",
			    number);
			begin_native(&runs[n], tasks[n]);
			runs[n].run.limits.wall_ms_max = 10000;
			tried_start(&runs[n++]);
		}
		for (size_t i = 0; i < n; i++) {
			tried_wait(&runs[i]);
			if (strstr(runs[i].message.p, FORBIDDEN) == NULL &&
			    !is_probe(tasks[i]))
				fail_msg("%s: %s: %s", tasks[i], runs[i].code,
				    runs[i].message.p);
			tried_free(&runs[i]);
			tried++;
		}
	}
	print_message("%u system calls\n", tried);
}

/* One line for those who want to know which; seccomp is never absent. */
static void
test_layers_that_hold(void **state)
{
	struct buf text = BUF_INIT;

	(void)state;
	expect_native("ok", "", "");
	struct script_host_stats s = script_host_stats(world->host);
	assert_true(s.has_layers);
	assert_int_not_equal(s.layers & SANDBOX_BIT(SECCOMP), 0);
	script_layers_text(s.layers, &text);
	print_message("layers: %s\n", buf_text(&text));
	buf_free(&text);
}

static void
test_other_ways_out(void **state)
{
	char x32[32];

	(void)state;
	expect_native("mmap", "crashed", FORBIDDEN);
	expect_native("mprotect", "crashed", FORBIDDEN);
#if defined(__x86_64__)
	expect_native("i386", "crashed", FORBIDDEN);
	/* getpid(2) of x32. */
	snprintf(x32, sizeof(x32), "syscall %u", 0x40000000u + 39);
	expect_native(x32, "crashed", FORBIDDEN);
#endif
	/* A sanitizer catches the signal, and reports it by calls. */
	expect_native("segv", "crashed", sandbox_first_closed() == 1 ?
	    "signal 11" : "");
	expect_native("abort", "crashed", "");
	expect_native("exit", "crashed", "the process has ended");
	expect_native("admitted", "", "");
	expect_native("ok", "", "");
}

/* "0000000e" 'C' and so on, each a frame and what it lacks. */
static void
test_bad_frames_fail_the_run(void **state)
{
	static const struct {
		const char *what, *frame, *text;
	} rows[] = {
		{ "a length of 2^32 - 1", "ffffffff43", "are too long" },
		{ "an unknown kind", "000000045a00000000", "unknown kind" },
		{ "a RUN", "000000067200000002" "7b7d", "out of turn" },
		{ "a second READY", "000000065200000002" "7b7d",
		    "out of turn" },
		{ "no outcome", "000000064400000002" "7b7d", "no outcome" },
		{ "no JSON", "000000054300000001" "7b", "its number is 0" },
		{ "a line of nothing", "000000064c00000002" "7b7d",
		    "a line too many" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf task = BUF_INIT;
		buf_put_text(&task, "bytes ");
		buf_put_text(&task, rows[i].frame);
		expect_native(buf_text(&task), "protocol", rows[i].text);
		buf_free(&task);
	}
	expect_native("ok", "", "");
}

/* A CALL frame with this JSON, in hexadecimal behind `task`. */
static void
put_call(struct buf *task, enum frame_kind kind, const char *json)
{
	struct buf frame = BUF_INIT;

	frame_put(&frame, kind, str_of(json), STR_NONE);
	for (size_t i = 0; i < frame.n; i++)
		buf_printf(task, "%02x", (unsigned char)frame.p[i]);
	buf_free(&frame);
}

static void
test_calls_out_of_order_fail_the_run(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"call\":2,\"kind\":\"read\",\"args\":{}}", NULL },
		{ "{\"call\":0,\"kind\":\"read\",\"args\":{}}", NULL },
		{ "{\"call\":1,\"kind\":\"read\",\"args\":{}}",
		    "{\"call\":1,\"kind\":\"read\",\"args\":{}}" },
		{ "{\"call\":1,\"kind\":\"shell\",\"args\":{}}", NULL },
		{ "{\"call\":1,\"kind\":\"read\",\"args\":[]}", NULL },
		{ "{\"call\":1,\"kind\":\"read\"}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf task = BUF_INIT;
		buf_put_text(&task, "bytes ");
		put_call(&task, FRAME_CALL, rows[i][0]);
		if (rows[i][1] != NULL)
			put_call(&task, FRAME_CALL, rows[i][1]);
		expect_native(buf_text(&task), "protocol", "call: ");
		buf_free(&task);
	}
	/* More calls than the process would have under way. */
	struct buf task = BUF_INIT;
	buf_put_text(&task, "bytes ");
	for (unsigned i = 1; i <= HOST_CALLS_MAX + 1; i++) {
		char json[80];
		snprintf(json, sizeof(json), "{\"call\":%u,\"kind\":\"sleep\","
		    "\"args\":{\"ms\":5000}}", i);
		put_call(&task, FRAME_CALL, json);
	}
	expect_native(buf_text(&task), "protocol", "too many at a time");
	buf_free(&task);
}

static void
test_a_cut_frame_waits_for_the_limit(void **state)
{
	(void)state;
	expect_native("bytes 000000", "limit_wall", "300 ms");
	expect_native("bytes 0000000643000000", "limit_wall", "300 ms");
	expect_native("wait", "limit_wall", "300 ms");
}

static void
answer_megabyte(struct tried *t, struct script_call *c)
{
	static char bytes[1 << 20];

	(void)t;
	script_call_answer(c, STR("{}"), (struct str){ bytes, sizeof(bytes) });
}

/* What it does not read stays here, and delays nobody. */
static void
test_a_process_that_does_not_read(void **state)
{
	struct tried deaf, other;
	size_t left = 0;

	(void)state;
	begin_native(&deaf, "deaf");
	deaf.on_call = answer_megabyte;
	tried_start(&deaf);
	begin_native(&other, "ok");
	tried_run(&other);
	assert_true(other.is_success);
	tried_free(&other);
	while (deaf.calls_n < 60 && !deaf.is_done)
		(void)loop_step(world->loop);
	LIST_EACH(m, &deaf.run.process->out, struct out_message, node)
		left += m->bytes.n;
	left -= deaf.run.process->out_at;
	assert_true(60 * (size_t)(1 << 20) - left < 1 << 20);
	tried_wait(&deaf);
	assert_string_equal(deaf.code, "limit_wall");
	tried_free(&deaf);
}

/* ---- What a process has ------------------------------------------------- */

static void
test_a_process_has_one_socket_and_nothing_else(void **state)
{
	struct tried t;
	char path[80], target[80];
	struct stat st;

	(void)state;
	begin_native(&t, "wait");
	t.run.limits.wall_ms_max = 5000;
	tried_start(&t);
	while (t.run.process == NULL || t.run.process->state != PROCESS_RUNNING)
		(void)loop_step(world->loop);
	int64_t pid = t.run.process->pid;
	for (int fd = 0; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/%lld/fd/%d",
		    (long long)pid, fd);
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		if (n < 0 && errno == EACCES) {
			script_run_cancel(&t.run);
			tried_free(&t);
			skip();
		}
		if (fd == 0) {
			target[n > 0 ? n : 0] = '\0';
			assert_non_null(strstr(target, "socket:"));
		} else if (fd >= (int)sandbox_first_closed()) {
			assert_int_equal(n, -1);
			assert_int_equal(errno, ENOENT);
		}
	}
	/* No environment but the time zone's, and not the caller's user. */
	snprintf(path, sizeof(path), "/proc/%lld/status", (long long)pid);
	assert_int_equal(stat(path, &st), 0);
	struct buf status = BUF_INIT;
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	size_t n = fread(buf_grow(&status, 8192), 1, 8192, f);
	status.n = n;
	fclose(f);
	assert_non_null(strstr(buf_text(&status), "Seccomp:\t2\n"));
	assert_non_null(strstr(status.p, "NoNewPrivs:\t1\n"));
	assert_null(strstr(status.p, "Uid:\t0\t"));
	buf_free(&status);
	script_run_cancel(&t.run);
	tried_free(&t);
}

/* ---- Processes that end before a run begins ----------------------------- */

static void
use_dying(struct script_host_options *o)
{
	o->word = DYING_WORD;
}

/* A run that a process never had is not the one to blame. */
static void
test_a_run_outlives_processes_that_never_had_it(void **state)
{
	struct tried t;

	(void)state;
	world = script_testing_open(use_dying);
	begin_native(&t, "ok");
	tried_run(&t);
	assert_string_equal(t.code, "");
	assert_int_equal(t.run.lost_starts, HOST_LOST_STARTS_MAX);
	tried_free(&t);
	script_testing_close(&world);
}

static void
use_dead(struct script_host_options *o)
{
	o->word = DEAD_WORD;
}

/* But one that no process begins fails, and has taken no time. */
static void
test_a_run_that_never_begins_fails(void **state)
{
	struct tried t;

	(void)state;
	world = script_testing_open(use_dead);
	begin_native(&t, "ok");
	tried_run(&t);
	assert_string_equal(t.code, "crashed");
	assert_string_equal(t.class, "transient");
	assert_int_equal(t.wall_ns, 0);
	assert_int_equal(t.run.lost_starts, HOST_LOST_STARTS_MAX + 1);
	tried_free(&t);
	script_testing_close(&world);
}

/* ---- The daemon's end --------------------------------------------------- */

/* One that init has not looked at yet is dead, too. */
static bool
is_dead(int64_t pid)
{
	char path[64], line[256] = "";

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return true;
	(void)!fgets(line, sizeof(line), f);
	fclose(f);
	const char *state = strrchr(line, ')');
	return state == NULL || state[2] == 'Z' || state[2] == 'X';
}

struct heard_pids {
	int64_t worker;
};

/* A daemon with a script that computes for ever; it tells its number. */
static void
be_daemon(int out)
{
	struct heard_pids pids = { 0 };
	struct tried t;

	world = script_testing_open(NULL);
	tried_init(&t, world, "for (;;) {}");
	t.run.limits.cpu_ms_max = 60000;
	tried_start(&t);
	while (t.run.process == NULL || t.run.process->state != PROCESS_RUNNING)
		(void)loop_step(world->loop);
	pids.worker = t.run.process->pid;
	(void)!write(out, &pids, sizeof(pids));
	for (;;)
		(void)loop_step(world->loop);
}

static void
test_no_process_outlives_the_daemon(void **state)
{
	struct heard_pids pids;
	int ends[2], status;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid_t daemon = fork();
	assert_true(daemon >= 0);
	if (daemon == 0) {
		close(ends[0]);
		be_daemon(ends[1]);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &pids, sizeof(pids)), sizeof(pids));
	close(ends[0]);
	assert_false(is_dead(pids.worker));
	assert_int_equal(kill(daemon, SIGKILL), 0);
	assert_int_equal(waitpid(daemon, &status, 0), daemon);
	struct mono until = mono_add_ms(clock_mono(), 1000);
	bool gone = false;
	while (!gone && mono_before(clock_mono(), until)) {
		gone = is_dead(pids.worker);
		(void)poll(NULL, 0, 5);
	}
	assert_true(gone);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *word;
		struct spawner_work work;
	} spawners[] = {
		{ NATIVE_WORD, { .prepare = NULL, .work = live } },
		{ DYING_WORD, { share_count, die_at_first } },
		{ DEAD_WORD, { .prepare = NULL, .work = die } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers_that_hold),
		cmocka_unit_test(test_other_ways_out),
		cmocka_unit_test(test_bad_frames_fail_the_run),
		cmocka_unit_test(test_calls_out_of_order_fail_the_run),
		cmocka_unit_test(test_a_cut_frame_waits_for_the_limit),
		cmocka_unit_test(test_a_process_that_does_not_read),
		cmocka_unit_test(
		    test_a_process_has_one_socket_and_nothing_else),
		cmocka_unit_test(test_every_other_system_call_kills),
	};
	const struct CMUnitTest alone[] = {
		cmocka_unit_test(
		    test_a_run_outlives_processes_that_never_had_it),
		cmocka_unit_test(test_a_run_that_never_begins_fails),
		cmocka_unit_test(test_no_process_outlives_the_daemon),
	};

	for (size_t i = 0; i < ARRAY_LEN(spawners); i++)
		if (argc == 2 && strcmp(argv[1], spawners[i].word) == 0)
			spawner_serve(&spawners[i].work);
	script_testing_begin(argc, argv);
	return cmocka_run_group_tests(tests, open_world, close_world) +
	    cmocka_run_group_tests(alone, NULL, NULL);
}
