#include "script/items/remote_worker.h"

#include "base/json.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/system.h"
#include "script/items/remote_own.h"

#define ANSWER_MS 30000
#define OTHER_BUNDLE_MS 2000         /* until both are looked at again */

static void read_files(struct remote_worker *);

/* -- The end -- */

static void
end_worker(struct remote_worker *rw)
{
	if (rw->ended || !rw->drained || rw->reading || rw->asking)
		return;
	rw->ended = true;
	loop_timer_stop(rw->o.home, &rw->again);
	loop_timer_stop(rw->o.home, &rw->release);
	rw->o.ended(rw->o.arg, &rw->why);
}

static void
drained(void *arg)
{
	struct remote_worker *rw = arg;

	rw->drained = true;
	end_worker(rw);
}

/* The daemon is away, and nothing can be given back: leases expire there. */
static void
release_over(struct timer *t)
{
	remote_link_end(CONTAINER(t, struct remote_worker, release)->link);
}

void
remote_worker_stop(struct remote_worker *rw)
{
	if (rw->stopping)
		return;
	rw->stopping = true;
	loop_timer_stop(rw->o.home, &rw->again);
	if (rw->asking) {
		remote_link_stop(&rw->question);
		rw->asking = false;
	}
	task_runner_stop(rw->runner);
	loop_timer_set(rw->o.home, &rw->release, mono_add_ms(loop_now(
	    rw->o.home), TASK_RUNNER_GRACE_MS + REMOTE_RELEASE_MS));
	task_runner_drain(rw->runner, drained, rw);
}

static void
fail_worker(struct remote_worker *rw, const struct why *w)
{
	rw->why = *w;
	remote_worker_stop(rw);
}

/* -- Accord with the daemon -- */

/* Before the first accord it is the end; later the daemon, or this machine's
 * files, may have been changed first. */
static void
refuse_bundle(struct remote_worker *rw, struct str theirs)
{
	struct why w = WHY_INIT;
	const char *ours = bundle_hash(rw->file.bundle);

	if (!rw->began) {
		(void)!why(&w, ERR_CONFIG, "%s is another configuration than "
		    "the daemon's: its hash is %s, and the daemon's is %.*s",
		    rw->o.config_path, ours, (int)MIN(theirs.n, 100),
		    theirs.p);
		fail_worker(rw, &w);
		return;
	}
	log_warn("worker.other_bundle", "ours=%s daemons=%.*s", ours,
	    (int)MIN(theirs.n, 100), theirs.p);
	loop_timer_set(rw->o.home, &rw->again, mono_add_ms(loop_now(
	    rw->o.home), OTHER_BUNDLE_MS));
}

static void
use_bundle(struct remote_worker *rw, yyjson_val *root)
{
	uint64_t generation = yyjson_get_uint(yyjson_obj_get(root,
	    "generation"));
	struct why w = WHY_INIT;
	size_t n = 0;

	char *text = yyjson_val_write(yyjson_obj_get(root, "secrets"), 0, &n);
	buf_clear(&rw->secrets);
	buf_put(&rw->secrets, text, n);
	free(text);
	rw->stale = false;
	remote_port_let_go(rw);
	if (task_runner_use(rw->runner, rw->file.bundle,
	    buf_str(&rw->file.json), generation, &w) != OK) {
		fail_worker(rw, &w);
		return;
	}
	log_info("worker.in_accord", "generation=%llu hash=%s",
	    (unsigned long long)generation, bundle_hash(rw->file.bundle));
	rw->began = true;
}

static void
refuse_token(struct remote_worker *rw, int status, struct str text)
{
	struct why w = WHY_INIT;

	(void)!why(&w, status == 401 || status == 403 ? ERR_DENIED :
	    ERR_UNREACHED, "the daemon refuses (%d): %.*s", status,
	    (int)MIN(text.n, 200), text.p);
	if (!rw->began) {
		fail_worker(rw, &w);
		return;
	}
	log_warn("worker.refused", "status=%d", status);
	loop_timer_set(rw->o.home, &rw->again, mono_add_ms(loop_now(
	    rw->o.home), OTHER_BUNDLE_MS));
}

static void
config_answered(struct remote_request *q)
{
	struct remote_worker *rw = CONTAINER(q, struct remote_worker,
	    question);
	yyjson_doc *doc = yyjson_read(q->answer.p, q->answer.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct str hash = json_text(yyjson_obj_get(root, "hash"));

	rw->asking = false;
	if (rw->stopping)
		end_worker(rw);
	else if (q->status != 200)
		refuse_token(rw, q->status, json_text(yyjson_obj_get(root,
		    "error")));
	else if (!str_eq(hash, str_of(bundle_hash(rw->file.bundle))))
		refuse_bundle(rw, hash.p == NULL ? STR("none") : hash);
	else
		use_bundle(rw, root);
	yyjson_doc_free(doc);
}

static void
ask_config(struct remote_worker *rw)
{
	remote_request_free(&rw->question);
	rw->question = (struct remote_request){ .method = "GET",
	    .path = STR("/worker/config"), .total_ms = ANSWER_MS,
	    .done = config_answered };
	rw->asking = true;
	remote_link_send(rw->link, &rw->question);
}

/* -- The files here -- */

static void
files_read(struct config_file *f)
{
	struct remote_worker *rw = CONTAINER(f, struct remote_worker, file);

	rw->reading = false;
	if (rw->stopping) {
		end_worker(rw);
	} else if (f->why.err == OK) {
		ask_config(rw);
	} else if (!rw->began) {
		fail_worker(rw, &f->why);
	} else {
		log_warn("worker.config_refused", "why=%s", f->why.text);
		loop_timer_set(rw->o.home, &rw->again, mono_add_ms(loop_now(
		    rw->o.home), OTHER_BUNDLE_MS));
	}
}

static void
read_files(struct remote_worker *rw)
{
	config_file_free(&rw->file);
	rw->file = (struct config_file){ .path = rw->o.config_path,
	    .conf = rw->o.conf, .scripts = rw->o.scripts,
	    .done = files_read };
	rw->reading = true;
	config_file_load(&rw->file);
}

static void
look_again(struct timer *t)
{
	read_files(CONTAINER(t, struct remote_worker, again));
}

void
remote_worker_check(struct remote_worker *rw)
{
	if (rw->stale || rw->stopping)
		return;
	rw->stale = true;
	read_files(rw);
}

/* -- The worker -- */

struct remote_worker *
remote_worker_start(const struct remote_worker_options *o)
{
	struct remote_worker *rw = mem_new(sizeof(*rw));
	struct task_runner_options ro = { .conf = o->conf, .home = o->home,
	    .host = o->scripts, .tasks = o->tasks, .tasks_n = o->tasks_n,
	    .port = &remote_port, .port_arg = rw };
	char host[40];

	rw->o = *o;
	rw->why = WHY_INIT;
	system_hostname(host, sizeof(host));
	snprintf(rw->name, sizeof(rw->name), "%s:%lld", host,
	    (long long)system_pid());
	rw->link = remote_link_new(o->home, &o->place);
	rw->o.place.token = STR_NONE;
	rw->runner = task_runner_new(&ro);
	rw->again.fire = look_again;
	rw->release.fire = release_over;
	loop_timer_set(o->home, &rw->again, loop_now(o->home));
	return rw;
}

void
remote_worker_free(struct remote_worker **wp)
{
	struct remote_worker *rw = *wp;

	if (rw == NULL)
		return;
	CHECK(rw->ended);
	task_runner_free(&rw->runner);
	config_file_free(&rw->file);
	remote_request_free(&rw->question);
	remote_link_free(&rw->link);
	buf_free(&rw->secrets);
	mem_free(wp);
}
