#include "doors/items/config_load.h"

#include "base/json_writer.h"
#include "doors/items/handlers.h"
#include "doors/items/input.h"
#include "doors/items/meter.h"
#include "os/clock.h"
#include "os/log.h"
#include "script/items/config_file.h"
#include "script/items/task_service.h"

/* Where nobody waits: from this pause to that one. */
#define AGAIN_MS INT64_C(500)
#define AGAIN_MS_MAX INT64_C(60000)

/* One loading, with a request that waits for it or without. */
struct loading {
	struct items_door *door;
	struct exchange *x;          /* NULL: nobody waits */
	struct config_file load;
};

static void
free_loading(struct loading *l)
{
	struct items_door *d = l->door;

	config_file_free(&l->load);
	mem_free(&l);
	d->loading = false;
	drain_gate_leave(&d->asked);
}

/* {"error":...,"code":...,"faults":["tasks.a.ttl: ...", ...]} */
static void
refuse_file(struct loading *l, enum err e, const struct why *w)
{
	struct exchange *x = l->x;
	struct str rest = buf_str(&l->load.faults.text), line;
	struct exchange_refusal r = exchange_refusal(l->x->door, e, w);

	exchange_put_error(&x->out, &r);
	json_array(&x->out, "faults");
	while (rest.n > 0 && str_split(&rest, '\n', &line))
		if (line.n > 0)
			json_item(&x->out, line);
	buf_put_text(&x->out, "]}");
	x->status = 422;
	exchange_answer(x);
}

static void
load_again(struct timer *t)
{
	config_load_start(CONTAINER(t, struct items_door, config_timer));
}

/* Not the file's fault: a database that is away, a process that was lost. */
static void
load_later(struct items_door *d)
{
	d->config_pause_ms = MIN(MAX(2 * d->config_pause_ms, AGAIN_MS),
	    AGAIN_MS_MAX);
	d->config_timer.fire = load_again;
	if (!d->stopping)
		loop_timer_set(d->host->home, &d->config_timer, mono_add_ms(
		    clock_mono(), d->config_pause_ms));
}

void
config_load_stop(struct items_door *d)
{
	loop_timer_stop(d->host->home, &d->config_timer);
}

static void
fail_loading(struct loading *l, enum err e, const struct why *w)
{
	struct items_door *d = l->door;
	struct log_text path, text;
	bool is_fault = exchange_is_fault(e) || e == ERR_CONFIG;

	if (l->load.faults.limit != NULL)
		items_meter_limit_named(l->load.faults.limit);
	else if (e == ERR_FULL)
		items_meter_limit(w->field);
	snprintf(d->config_fault, sizeof(d->config_fault), "%.150s", w->text);
	log_error("items.config_refused", "path=%s why=%s",
	    log_quote(&path, str_of(l->load.path)),
	    log_quote(&text, str_of(w->text)));
	if (l->x == NULL && !is_fault)
		load_later(d);
	else if (l->x != NULL && is_fault)
		refuse_file(l, e, w);
	else if (l->x != NULL)
		exchange_refuse(l->x, e, w);
	free_loading(l);
}

static void
finish_loading(struct config_file *load)
{
	struct loading *l = CONTAINER(load, struct loading, load);
	struct exchange *x = l->x;
	struct why w = load->why;

	if (w.err == OK)
		(void)!task_service_use(l->door->service, load->bundle,
		    buf_str(&load->json), load->generation, &w);
	if (w.err != OK) {
		fail_loading(l, w.err, &w);
		return;
	}
	l->door->config_fault[0] = '\0';
	l->door->config_pause_ms = 0;
	log_info("items.config_loaded", "generation=%llu",
	    (unsigned long long)load->generation);
	if (x != NULL) {
		json_object(&x->out, NULL);
		json_u64(&x->out, "generation", load->generation);
		buf_put_char(&x->out, '}');
		exchange_answer(x);
	}
	free_loading(l);
}

static void
start_loading(struct items_door *d, struct exchange *x)
{
	struct loading *l = mem_new(sizeof(*l));

	l->door = d;
	l->x = x;
	l->load.path = d->config_path;
	l->load.conf = d->host->conf;
	l->load.scripts = d->host->scripts;
	l->load.items = d->items;
	l->load.done = finish_loading;
	d->loading = true;
	drain_gate_enter(&d->asked);
	config_file_load(&l->load);
}

void
config_load_start(struct items_door *d)
{
	if (d->config_path[0] != '\0' && !d->loading && !d->stopping)
		start_loading(d, NULL);
}

void
config_load_reload(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct items_door *d = in.x->door;

	input_json(&in);
	if (in.e == OK && d->config_path[0] == '\0')
		input_fault(&in, ERR_STATE, "items.config",
		    "the setting names no file");
	if (in.e == OK && d->loading)
		input_fault(&in, ERR_STATE, "items.config",
		    "it is being loaded");
	if (input_end(&in))
		start_loading(d, in.x);
}
