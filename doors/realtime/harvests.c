/*
 * Commands about harvests of platforms and their credentials.
 *
 *     arguments ─► start message ─► harvest service ─► answer
 *     job of the store: rows ─► main loop: what is under way ─► answer
 *
 * Texts of errors begin with the argument: "seeds[1]: ...".
 */
#include "doors/realtime/own.h"

#include "base/json.h"
#include "engine/connector/connectors.h"
#include "engine/connector/type_json.h"
#include "engine/harvest/totals.h"
#include "engine/store/store_credential.h"

#define SIZE_DEFAULT 100
/* Of a start message that is shown; longer ones are left out. */
#define MESSAGE_BYTES_MAX ((size_t)32 << 10)

/* False: the task has failed. */
static bool
is_served(struct task *t)
{
	return t->door->host->harvests != NULL || task_fail(t, CODE_STORAGE,
	    "This daemon does no harvests: the server's log says why.");
}

/* ---- Types ------------------------------------------------------- */

void
verb_harvest_types(struct task *t)
{
	struct str wanted = t->command.type;
	const struct connector *c;

	if (wanted.n > 0 && connector_find(wanted) == NULL) {
		task_fail(t, CODE_BAD_ARGS, "type: there is no type %.*s.",
		    STR_FMT(str_cut(wanted, 0, 60)));
		return;
	}
	json_array(task_data(t), "types");
	for (size_t i = 0; (c = connector_at(i)) != NULL; i++)
		if (wanted.n == 0 || str_eq(wanted, str_of(c->type)))
			connector_type_json(c, &t->data);
	buf_put_char(&t->data, ']');
	task_answer(t);
}

/* ---- Start ------------------------------------------------------- */

struct start {
	struct harvest_request request;
	struct buf message;
};

static void
put_json(struct buf *b, const char *name, yyjson_val *v)
{
	size_t n;
	char *text = yyjson_val_write(v, 0, &n);

	CHECK(text != NULL);
	json_raw(b, name, (struct str){ text, n });
	free(text);
}

/* Each has an id, by which warnings name it. */
static bool
put_seed(struct task *t, struct buf *b, yyjson_val *v, size_t i)
{
	yyjson_val *id = yyjson_obj_get(v, "id");
	yyjson_val *uid = yyjson_obj_get(v, "uid");
	yyjson_val *token = yyjson_is_obj(v) ? yyjson_obj_get(v, "token") : v;
	char own[24];

	if (yyjson_is_obj(v) && token == NULL && uid == NULL)
		token = v;
	if (!yyjson_is_obj(v) && !yyjson_is_str(v))
		return task_fail(t, CODE_BAD_ARGS, "seeds[%zu]: a text or an "
		    "object is expected.", i);
	(void)snprintf(own, sizeof(own), "%zu", i + 1);
	json_object(b, NULL);
	if (id != NULL && id != token && token != v)
		put_json(b, "id", id);
	else
		json_str(b, "id", str_of(own));
	if (token != NULL)
		put_json(b, "token", token);
	if (uid != NULL && token != v)
		put_json(b, "uid", uid);
	buf_put_char(b, '}');
	return true;
}

static bool
put_seeds(struct task *t, struct buf *b)
{
	yyjson_val *list = t->command.order_seeds, *v;
	size_t i, n;

	if (list != NULL && !yyjson_is_arr(list))
		return task_fail(t, CODE_BAD_ARGS, "seeds: a list is "
		    "expected.");
	json_array(b, "seeds");
	yyjson_arr_foreach(list, i, n, v)
		if (!put_seed(t, b, v, i))
			return false;
	buf_put_char(b, ']');
	return true;
}

static bool
put_object(struct task *t, struct buf *b, const char *name, yyjson_val *v)
{
	if (v != NULL && !yyjson_is_obj(v))
		return task_fail(t, CODE_BAD_ARGS, "%s: an object is "
		    "expected.", name);
	if (v != NULL)
		put_json(b, name, v);
	return true;
}

/* A start message of SFM, without its credentials. */
static bool
copy_message(struct task *t, struct buf *b)
{
	const struct command *c = &t->command;
	yyjson_val *key, *v;
	size_t i, n;

	if (command_has(c, ARG_BIT(HARVEST_TYPE) | ARG_BIT(HARVEST_SEEDS) |
	    ARG_BIT(OPTIONS) | ARG_BIT(COLLECTION_SET)))
		return task_fail(t, CODE_BAD_ARGS, "message: it is the whole "
		    "order; leave type, seeds, options and collection_set "
		    "out.");
	if (!yyjson_is_obj(c->message))
		return task_fail(t, CODE_BAD_ARGS, "message: an object is "
		    "expected.");
	if (yyjson_obj_get(c->message, "credentials") != NULL)
		return task_fail(t, CODE_BAD_ARGS, "message.credentials: a "
		    "credential is named by the argument credential.");
	json_object(b, NULL);
	yyjson_obj_foreach(c->message, i, n, key, v) {
		FREED(buf_free) struct buf name = BUF_INIT;
		json_item(&name, json_text(key));
		json_comma(b);
		buf_put_str(b, buf_str(&name));
		buf_put_char(b, ':');
		size_t length;
		char *text = yyjson_val_write(v, 0, &length);
		CHECK(text != NULL);
		buf_put(b, text, length);
		free(text);
	}
	buf_put_char(b, '}');
	return true;
}

/* False: the task has failed. */
static bool
make_message(struct task *t, struct buf *b)
{
	const struct command *c = &t->command;

	if (c->message != NULL)
		return copy_message(t, b);
	if (c->type.n == 0)
		return task_fail(t, CODE_BAD_ARGS, "type: it is missing.");
	json_object(b, NULL);
	json_str(b, "type", c->type);
	if (c->collection_set == NULL)
		json_raw(b, "collection_set", STR("{\"id\":\""
		    CONNECTOR_COLLECTION_SET "\"}"));
	if (!put_seeds(t, b) || !put_object(t, b, "options", c->options) ||
	    !put_object(t, b, "collection_set", c->collection_set))
		return false;
	buf_put_char(b, '}');
	return true;
}

/* ---- Schedules ------------------------------------------------------- */

/* A member of `harvest` becomes the argument of harvest.start. */
static bool
take_member(struct task *t, struct str name, yyjson_val *v)
{
	struct command *c = &t->command;
	const struct {
		const char *name;
		struct str *text;
		yyjson_val **value;
	} rows[] = {
		{ "type", &c->type, NULL }, { "path", &c->path, NULL },
		{ "credential", &c->credential, NULL },
		{ "seeds", NULL, &c->order_seeds },
		{ "options", NULL, &c->options },
		{ "collection_set", NULL, &c->collection_set },
	};
	size_t i = STR_ROW(name, rows);

	if (i == ARRAY_LEN(rows))
		return task_fail(t, CODE_BAD_ARGS, "harvest: there is no "
		    "field \"%.*s\".", STR_FMT(str_cut(name, 0, 60)));
	if (rows[i].value != NULL)
		*rows[i].value = v;
	else if (!yyjson_is_str(v))
		return task_fail(t, CODE_BAD_ARGS, "harvest.%s: a text is "
		    "expected.", rows[i].name);
	else
		*rows[i].text = json_text(v);
	return true;
}

static bool
take_members(struct task *t)
{
	struct command *c = &t->command;
	yyjson_val *key, *v;
	size_t i, n;

	if ((c->rights & RIGHT_BIT(RIGHT_HARVEST_WRITE)) == 0)
		return task_fail(t, CODE_FORBIDDEN, "The token may not do "
		    "that: it has no scope harvest:write.");
	if (!yyjson_is_obj(c->harvest))
		return task_fail(t, CODE_BAD_ARGS, "harvest: an object is "
		    "expected.");
	yyjson_obj_foreach(c->harvest, i, n, key, v)
		if (!take_member(t, json_text(key), v))
			return false;
	return c->path.n > 0 || task_fail(t, CODE_BAD_ARGS,
	    "harvest.path: it is missing.");
}

bool
task_harvest(struct task *t, struct str *type, struct str *json)
{
	FREED(buf_free) struct buf message = BUF_INIT;
	FREED(buf_free) struct buf plan = BUF_INIT;
	struct command *c = &t->command;
	struct why w = WHY_INIT;

	if (!take_members(t) || !make_message(t, &message))
		return false;
	if (harvest_check(buf_str(&message), c->credential.n == 0, &w) != OK) {
		task_fail_why(t, &w, CODE_BAD_ARGS);
		return false;
	}
	harvest_plan_put(&(struct harvest_plan){ .message = buf_str(&message),
	    .credential = c->credential, .path = c->path, .client = true },
	    &plan);
	*type = c->type;
	*json = arena_copy(&c->arena, buf_str(&plan));
	return true;
}

/* ---- Start, its answer ------------------------------------------------- */

static void
started(struct harvest_request *r)
{
	struct start *s = CONTAINER(r, struct start, request);
	struct task *t = r->arg;
	struct str id = arena_copy(&t->command.arena, r->given_id);
	struct why w = r->why;

	buf_free(&s->message);
	if (!task_back(t, &w, NULL, CODE_UNKNOWN_HARVEST))
		return;
	json_str(task_data(t), "id", id);
	json_str(&t->data, "state", str_of(store_harvest_state_name(
	    STORE_HARVEST_ACCEPTED)));
	task_answer(t);
}

void
verb_harvest_start(struct task *t)
{
	const struct command *c = &t->command;
	struct buf message = BUF_INIT;

	if (!is_served(t))
		return;
	if (!make_message(t, &message)) {
		buf_free(&message);
		return;
	}
	struct start *s = task_ask(t, sizeof(*s));
	s->message = message;
	s->request = (struct harvest_request){ .message = buf_str(&s->message),
	    .path = c->path, .done = started, .arg = t,
	    .origin = t->request != NULL && web_is_operator(t->request) ?
	    HARVEST_OF_OPERATOR : HARVEST_OF_CLIENT };
	harvest_service_begin(t->door->host->harvests, &s->request,
	    c->credential);
}

/* ---- Stop, pause, resume ----------------------------------------- */

static void
ordered(struct harvest_order *o)
{
	struct task *t = o->arg;

	if (!task_back(t, &o->why, NULL, CODE_UNKNOWN_HARVEST))
		return;
	json_str(task_data(t), "id", t->command.id_arg);
	json_str(&t->data, "state", str_of(store_harvest_state_name(
	    o->state)));
	task_answer(t);
}

void
verb_harvest_order(struct task *t)
{
	static const enum harvest_verb verbs[VERB_COUNT] = {
		[VERB_HARVEST_STOP] = HARVEST_STOP,
		[VERB_HARVEST_PAUSE] = HARVEST_PAUSE,
		[VERB_HARVEST_RESUME] = HARVEST_RESUME,
	};

	if (!is_served(t))
		return;
	struct harvest_order *o = task_ask(t, sizeof(*o));
	*o = (struct harvest_order){ .verb = verbs[t->command.verb],
	    .id = t->command.id_arg, .done = ordered, .arg = t };
	harvest_order(t->door->host->harvests, o);
}

/* ---- What the store knows ---------------------------------------- */

struct query {
	struct store_job job;
	struct task *task;
	struct arena arena;
	struct why why;
	struct store_harvest *rows;
	size_t n;
	uint64_t total;
	struct store_harvest_warc **warcs;   /* of each row */
	size_t *warcs_n;
	struct store_credential *credentials;
};

static void
ask_store(struct task *t, void (*run)(struct store_job *, struct store *),
    void (*done)(struct store_job *))
{
	struct query *q = task_ask(t, sizeof(*q));

	*q = (struct query){ .job.run = run, .job.done = done, .task = t,
	    .arena = ARENA_INIT, .why = WHY_INIT };
	store_async_put(engine_store_async(t->door->engine), &q->job);
}

static void
read_warcs(struct query *q, struct store *st)
{
	q->warcs = ARENA_ARRAY(&q->arena, struct store_harvest_warc *, q->n);
	q->warcs_n = ARENA_ARRAY(&q->arena, size_t, q->n);
	for (size_t i = 0; i < q->n && q->why.err == OK; i++)
		(void)!store_harvest_warcs(st, q->rows[i].id, &q->arena,
		    &q->warcs[i], &q->warcs_n[i], &q->why);
}

static void
put_date(struct buf *b, const char *name, struct wall when)
{
	if (when.us == 0)
		json_null(b, name);
	else
		json_time(b, name, when);
}

static void
put_files_total(struct buf *b, const struct store_harvest_warc *list, size_t n)
{
	uint64_t placed = 0, bytes = 0;

	for (size_t i = 0; i < n; i++) {
		placed += list[i].placed;
		bytes += list[i].placed ? list[i].bytes : 0;
	}
	json_u64(b, "warcs", placed);
	json_u64(b, "bytes", bytes);
	json_u64(b, "warcs_waiting", n - placed);
}

/* Why it waits, and what is wrong, while it is in memory. */
static void
put_live(struct buf *b, const struct harvest_view *v)
{
	if (v->waits_for != NULL) {
		json_str(b, "waits_for", str_of(v->waits_for));
		json_real(b, "waits_s", (double)v->waits_ms / 1000);
	}
	if (v->trouble[0] != '\0')
		json_str(b, "trouble", str_of(v->trouble));
}

static uint64_t
items_of(struct str totals)
{
	struct totals t = { .items = 0 };
	uint64_t items = totals.n > 0 && totals_read(&t, totals, NULL) == OK ?
	    t.items : 0;

	totals_free(&t);
	return items;
}

static void
put_row(struct buf *b, struct task *t, const struct query *q, size_t i)
{
	struct harvest_service *s = t->door->host->harvests;
	const struct store_harvest *h = &q->rows[i];
	const struct connector *c = connector_find(h->type);
	struct harvest_view v;
	bool live = s != NULL && !store_harvest_is_over(h->state) &&
	    harvest_look(harvest_service_list(s), h->id, &v);

	json_str(b, "id", h->id);
	json_str(b, "type", h->type);
	json_str(b, "state", str_of(store_harvest_state_name(h->state)));
	json_str(b, "label", str_of(c == NULL ? "items" : c->label));
	json_str(b, "path", h->path);
	put_date(b, "accepted_at", h->accepted);
	put_date(b, "started_at", h->started);
	put_date(b, "ended_at", h->ended);
	json_u64(b, "items", live ? v.items : items_of(h->totals));
	json_u64(b, "answers", live ? v.answers : h->captures);
	put_files_total(b, q->warcs[i], q->warcs_n[i]);
	if (live)
		put_live(b, &v);
}

/* ---- The list ---------------------------------------------------- */

static void
read_list(struct store_job *j, struct store *st)
{
	struct query *q = CONTAINER(j, struct query, job);
	const struct command *c = &q->task->command;
	uint64_t size = command_has(c, ARG_BIT(SIZE)) ? c->size : SIZE_DEFAULT;

	if (store_harvest_page(st, c->status, c->start, size, &q->arena,
	    &q->rows, &q->n, &q->total, &q->why) == OK)
		read_warcs(q, st);
}

static void
list_read(struct store_job *j)
{
	struct query *q = CONTAINER(j, struct query, job);
	struct task *t = q->task;

	if (!task_back(t, &q->why, &q->arena, CODE_UNKNOWN_HARVEST))
		return;
	json_u64(task_data(t), "total", q->total);
	json_array(&t->data, "harvests");
	for (size_t i = 0; i < q->n && t->data.n < REALTIME_ANSWER_BYTES_MAX;
	    i++) {
		json_object(&t->data, NULL);
		put_row(&t->data, t, q, i);
		buf_put_char(&t->data, '}');
	}
	buf_put_char(&t->data, ']');
	task_answer(t);
}

/* False: the task has failed. */
static bool
status_known(struct task *t)
{
	struct str word = t->command.status;

	for (unsigned i = 0; i < STORE_HARVEST_STATE_COUNT; i++)
		if (word.n == 0 || str_eq(word, STR("open")) || str_eq(word,
		    str_of(store_harvest_state_name(
		    (enum store_harvest_state)i))))
			return true;
	return task_fail(t, CODE_BAD_ARGS, "status: open, accepted, running, "
	    "paused, stopping, completed success or completed failure is "
	    "expected.");
}

void
verb_harvest_list(struct task *t)
{
	if (status_known(t))
		ask_store(t, read_list, list_read);
}

/* ---- One --------------------------------------------------------- */

static void
read_one(struct store_job *j, struct store *st)
{
	struct query *q = CONTAINER(j, struct query, job);

	q->rows = ARENA_NEW(&q->arena, struct store_harvest);
	q->n = 1;
	if (store_harvest_get(st, q->task->command.id_arg, &q->arena, q->rows,
	    &q->why) == OK)
		read_warcs(q, st);
}

static void
put_files(struct buf *b, const struct store_harvest_warc *list, size_t n,
    uint64_t start)
{
	json_u64(b, "files_total", n);
	json_array(b, "files");
	for (size_t i = start; i < n && b->n < REALTIME_ANSWER_BYTES_MAX; i++) {
		json_object(b, NULL);
		json_str(b, "name", list[i].name);
		json_str(b, "id", list[i].warc_id);
		json_str(b, "sha1", list[i].sha1);
		json_u64(b, "bytes", list[i].bytes);
		json_time(b, "created_at", list[i].created);
		json_bool(b, "placed", list[i].placed);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

static void
put_counts(struct buf *b, const struct totals *t)
{
	json_array(b, "counts");
	for (size_t i = 0; i < t->counts_n && b->n <
	    REALTIME_ANSWER_BYTES_MAX / 2; i++) {
		json_object(b, NULL);
		json_str(b, "day", t->counts[i].day);
		json_str(b, "label", t->counts[i].label);
		json_u64(b, "n", t->counts[i].n);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

static void
put_notes(struct buf *b, const struct totals *t)
{
	static const char *const levels[] = { "info", "warning", "error" };

	json_array(b, "notes");
	for (size_t i = 0; i < t->notes_n && b->n <
	    REALTIME_ANSWER_BYTES_MAX * 3 / 4; i++) {
		json_object(b, NULL);
		json_str(b, "level", str_of(levels[t->notes[i].level]));
		json_str(b, "code", t->notes[i].code);
		json_str(b, "text", t->notes[i].text);
		if (t->notes[i].seed.n > 0)
			json_str(b, "seed", t->notes[i].seed);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
	json_u64(b, "notes_dropped", t->dropped);
}

/* What it has found: now, or when its last file was finished. */
static void
put_found(struct task *t, const struct store_harvest *h)
{
	struct harvest_service *s = t->door->host->harvests;
	FREED(buf_free) struct buf now = BUF_INIT;
	struct totals found = { .items = 0 };

	if (s != NULL && !store_harvest_is_over(h->state))
		harvest_put_totals(harvest_service_list(s), h->id, &now);
	struct str text = now.n > 0 ? buf_str(&now) : h->totals;
	/* What cannot be read is left out. */
	if (text.n > 0)
		(void)!totals_read(&found, text, NULL);
	put_counts(&t->data, &found);
	put_notes(&t->data, &found);
	totals_free(&found);
}

static void
put_budgets(struct task *t, const struct store_harvest *h)
{
	struct harvest_service *s = t->door->host->harvests;

	json_array(&t->data, "budgets");
	if (s != NULL && !store_harvest_is_over(h->state))
		harvest_put_budgets(harvest_service_list(s), h->id, &t->data);
	buf_put_char(&t->data, ']');
}

static void
one_read(struct store_job *j)
{
	struct query *q = CONTAINER(j, struct query, job);
	struct task *t = q->task;
	const struct store_harvest *h = q->rows;

	if (!task_back(t, &q->why, &q->arena, CODE_UNKNOWN_HARVEST))
		return;
	put_row(task_data(t), t, q, 0);
	put_budgets(t, h);
	if (h->message.n <= MESSAGE_BYTES_MAX && h->message.n > 0)
		json_raw(&t->data, "message", h->message);
	else
		json_null(&t->data, "message");
	put_found(t, h);
	put_files(&t->data, q->warcs[0], q->warcs_n[0], t->command.start);
	task_answer(t);
}

void
verb_harvest_get(struct task *t)
{
	ask_store(t, read_one, one_read);
}

/* ---- Credentials ------------------------------------------------- */

static void
read_credentials(struct store_job *j, struct store *st)
{
	struct query *q = CONTAINER(j, struct query, job);

	(void)!store_credential_list(st, &q->arena, &q->credentials, &q->n,
	    &q->why);
}

static void
credentials_read(struct store_job *j)
{
	struct query *q = CONTAINER(j, struct query, job);
	struct task *t = q->task;

	if (!task_back(t, &q->why, &q->arena, CODE_INTERNAL))
		return;
	json_array(task_data(t), "credentials");
	for (size_t i = 0; i < q->n; i++) {
		json_object(&t->data, NULL);
		json_str(&t->data, "name", q->credentials[i].name);
		json_time(&t->data, "changed_at", q->credentials[i].changed);
		buf_put_char(&t->data, '}');
	}
	buf_put_char(&t->data, ']');
	task_answer(t);
}

void
verb_credential_list(struct task *t)
{
	ask_store(t, read_credentials, credentials_read);
}
