#include "engine/items/task_read.h"

#include <stdarg.h>

#include "base/guess.h"
#include "base/text.h"
#include "engine/items/task_cron.h"

/* -- Where we are, and faults -- */

/* A key that needs no quotes in a path. */
static bool
is_plain_key(struct str key)
{
	if (key.n == 0 || key.n > TASK_FAULT_KEY_BYTES)
		return false;
	for (size_t i = 0; i < key.n; i++)
		if (!ascii_is_alpha(key.p[i]) && !ascii_is_digit(key.p[i]) &&
		    !str_has_char(STR("_:-*=,/@$"), key.p[i]))
			return false;
	return true;
}

/* At most so many bytes, and no half of a character. */
static struct str
cut_text(struct str s, size_t max)
{
	size_t n = MIN(s.n, max);

	while (n > 0 && n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	return str_cut(s, 0, n);
}

size_t
task_read_enter(struct task_read *r, struct str key)
{
	size_t before = r->path.n;

	if (is_plain_key(key)) {
		if (before > 0)
			buf_put_char(&r->path, '.');
		buf_put_str(&r->path, key);
	} else {
		buf_put_char(&r->path, '[');
		text_json(&r->path, cut_text(key, TASK_FAULT_KEY_BYTES));
		buf_put_char(&r->path, ']');
	}
	return before;
}

size_t
task_read_enter_at(struct task_read *r, size_t i)
{
	size_t before = r->path.n;

	buf_printf(&r->path, "[%zu]", i);
	return before;
}

void
task_read_leave(struct task_read *r, size_t before)
{
	r->path.n = before;
}

/* The whole path stands in the text, also when it is too long for a field. */
static void
first_fault(struct task_read *r, const char *path, const char *sentence)
{
	struct why *w = r->w;

	if (w == NULL || w->err != OK)
		return;
	why(w, ERR_INPUT, "%s: %s", path, sentence);
	snprintf(w->field, sizeof(w->field), "%s", path);
	w->sentence = (unsigned)MIN(strlen(path) + 2, strlen(w->text));
}

void
task_read_fault(struct task_read *r, const char *fmt, ...)
{
	char sentence[300];
	const char *path = r->path.n == 0 ? "config" : buf_text(&r->path);
	va_list ap;

	if (r->faults_n++ >= TASK_FAULTS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	first_fault(r, path, sentence);
	if (r->faults != NULL)
		buf_printf(r->faults, "%s: %s\n", path, sentence);
}

void
task_read_note_limit(struct task_read *r, const char *limit)
{
	if (r->limit == NULL)
		r->limit = limit;
}

/* -- Objects and lists -- */

bool
task_read_is_object(struct task_read *r, yyjson_val *v)
{
	if (yyjson_is_obj(v) && yyjson_obj_get(v, "$function") == NULL)
		return true;
	task_read_fault(r, "it is not an object");
	return false;
}

bool
task_read_is_list(struct task_read *r, yyjson_val *v, int64_t n_max,
    const char *limit)
{
	if (!yyjson_is_arr(v)) {
		task_read_fault(r, "it is not a list");
		return false;
	}
	if (yyjson_arr_size(v) > (size_t)n_max) {
		task_read_note_limit(r, limit);
		task_read_fault(r, "it has more than %lld elements",
		    (long long)n_max);
		return false;
	}
	return true;
}

static void
unknown_key(struct task_read *r, const struct config_key *keys, size_t n,
    struct str key)
{
	struct guess guess = { key, NULL, 0 };

	for (size_t i = 0; i < n; i++)
		guess_look(&guess, keys[i].name);
	if (guess.best != NULL)
		task_read_fault(r, "there is no such key; \"%s\" may be meant",
		    guess.best);
	else
		task_read_fault(r, "there is no such key");
}

static void
read_key(struct task_read *r, const struct config_key *keys, size_t n,
    struct str key, yyjson_val *v, uint64_t *seen, void *out)
{
	size_t i = str_find_row(key, keys, n, sizeof(*keys), str_eq);

	if (i == n)
		unknown_key(r, keys, n, key);
	else if ((*seen >> i & 1) != 0)
		task_read_fault(r, "it stands twice");
	else
		keys[i].read(r, &keys[i], v, out);
	if (i < n)
		*seen |= UINT64_C(1) << i;
}

void
task_read_object(struct task_read *r, const struct config_key *keys, size_t n,
    yyjson_val *object, void *out)
{
	uint64_t seen = 0;
	size_t i, size;
	yyjson_val *key, *v;

	CHECK(n <= 64);
	if (!task_read_is_object(r, object))
		return;
	yyjson_obj_foreach(object, i, size, key, v) {
		size_t before = task_read_enter(r, json_text(key));
		read_key(r, keys, n, json_text(key), v, &seen, out);
		task_read_leave(r, before);
	}
	for (i = 0; i < n; i++)
		if (keys[i].needed && (seen >> i & 1) == 0) {
			size_t before = task_read_enter(r,
			    str_of(keys[i].name));
			task_read_fault(r, "it is missing");
			task_read_leave(r, before);
		}
}

void
task_read_keys(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	task_read_object(r, k->keys, k->keys_n, v, out);
}

/* -- Values -- */

static void *
field_of(const struct config_key *k, void *out)
{
	return (char *)out + k->offset;
}

void
task_read_bool(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	if (yyjson_is_bool(v))
		*(bool *)field_of(k, out) = yyjson_get_bool(v);
	else
		task_read_fault(r, "it is not true or false");
}

void
task_read_count(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	/* A script's 4 may arrive as 4.0. */
	double n = yyjson_is_num(v) ? yyjson_get_num(v) : -1;

	if (n >= (double)k->min && n <= (double)k->max &&
	    n == (double)(unsigned)n)
		*(unsigned *)field_of(k, out) = (unsigned)n;
	else
		task_read_fault(r, "it is not a whole number from %lld to "
		    "%lld", (long long)k->min, (long long)k->max);
}

void
task_read_choice(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	struct str rest = str_of(k->words), word;
	unsigned at = 0;

	for (; str_split(&rest, ' ', &word); at++)
		if (yyjson_is_str(v) && str_eq(word, json_text(v))) {
			*(unsigned *)field_of(k, out) = at;
			return;
		}
	task_read_fault(r, "it is none of these: %s", k->words);
}

static void
duration_text(int64_t us, char out[static 24])
{
	static const struct {
		const char *unit;
		int64_t us;
	} units[] = {
		{ "d", 86400 * US_PER_S }, { "h", 3600 * US_PER_S },
		{ "m", 60 * US_PER_S }, { "s", US_PER_S }, { "ms", 1000 },
	};
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(units) &&
	    (us < units[i].us || us % units[i].us != 0))
		i++;
	snprintf(out, 24, "%lld%s", (long long)(us / units[i].us),
	    units[i].unit);
}

static bool
read_duration(struct task_read *r, const struct config_key *k, yyjson_val *v,
    int64_t *out)
{
	char min[24], max[24];
	int64_t us;

	if (!yyjson_is_str(v) || !task_duration(json_text(v), &us)) {
		task_read_fault(r, "it is not a duration, such as \"500ms\", "
		    "\"10s\", \"5m\", \"2h\" or \"30d\"");
		return false;
	}
	if (us >= k->min && us <= k->max) {
		*out = us;
		return true;
	}
	duration_text(k->min, min);
	duration_text(k->max, max);
	task_read_fault(r, "it is not from %s to %s", min, max);
	return false;
}

void
task_read_duration(struct task_read *r, const struct config_key *k,
    yyjson_val *v, void *out)
{
	read_duration(r, k, v, field_of(k, out));
}

static void
read_cron(struct task_read *r, struct str line, struct task_ttl *out)
{
	struct task_cron cron;
	struct why w = WHY_INIT;

	if (task_cron_parse(line, &cron, &w) != OK) {
		task_read_fault(r, "%s", w.text);
		return;
	}
	struct task_cron *kept = ARENA_NEW(r->a, struct task_cron);
	*kept = cron;
	*out = (struct task_ttl){ .kind = TASK_TTL_CRON, .cron = kept };
}

void
task_read_ttl(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	struct task_ttl *ttl = field_of(k, out);
	int64_t us;

	if (yyjson_is_null(v))
		*ttl = (struct task_ttl){ .kind = TASK_TTL_NEVER };
	else if (yyjson_is_str(v) && str_starts(json_text(v), STR("cron ")))
		read_cron(r, str_from(json_text(v), 5), ttl);
	else if (read_duration(r, k, v, &us))
		*ttl = (struct task_ttl){ .kind = TASK_TTL_AFTER,
			.after_us = us };
}

void
task_read_size(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	int64_t bytes;

	if (!yyjson_is_str(v) || !task_size_parse(json_text(v), &bytes))
		task_read_fault(r, "it is not a size, such as \"512K\", "
		    "\"64M\" or \"1G\"");
	else if (bytes < k->min || bytes > k->max)
		task_read_fault(r, "it is not from %lldM to %lldM",
		    (long long)k->min >> 20, (long long)k->max >> 20);
	else
		*(int64_t *)field_of(k, out) = bytes;
}

void
task_read_rate(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	if (!yyjson_is_str(v) || !task_rate_parse(json_text(v),
	    field_of(k, out)))
		task_read_fault(r, "it is not a rate, such as \"5/s\", "
		    "\"10/m\" or \"100/h burst 20\"");
}

void
task_read_function(struct task_read *r, const struct config_key *k,
    yyjson_val *v, void *out)
{
	if (yyjson_is_obj(v) && yyjson_obj_size(v) == 1 &&
	    yyjson_is_true(yyjson_obj_get(v, "$function")))
		*(bool *)field_of(k, out) = true;
	else
		task_read_fault(r, "it is not a function");
}

void
task_read_text(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	struct str text;

	if (task_read_name(r, v, (size_t)k->max, &text))
		*(struct str *)field_of(k, out) = arena_copy(r->a, text);
}

/* Whether one of the first `n` texts is this one. */
static bool
is_among(const struct str *texts, size_t n, struct str text)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(texts[i], text))
			return true;
	return false;
}

static void
read_task_name(struct task_read *r, yyjson_val *v, struct str *names,
    size_t *n)
{
	struct str name = json_text(v);
	const struct task *t = name.p == NULL ? NULL :
	    map_get(&r->tasks, name);

	if (name.p == NULL)
		task_read_fault(r, "it is not a string");
	else if (t == NULL)
		task_read_fault(r, "there is no task \"%.*s\"",
		    STR_FMT(cut_text(name, TASK_FAULT_KEY_BYTES)));
	else if (is_among(names, *n, name))
		task_read_fault(r, "it stands twice");
	else
		names[(*n)++] = t->name;
}

void
task_read_tasks(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	struct task_names *list = field_of(k, out);
	size_t i, size, n = 0;
	yyjson_val *name;

	if (!task_read_is_list(r, v, k->max, NULL))
		return;
	struct str *names = ARENA_ARRAY(r->a, struct str, yyjson_arr_size(v));
	yyjson_arr_foreach(v, i, size, name) {
		size_t before = task_read_enter_at(r, i);
		read_task_name(r, name, names, &n);
		task_read_leave(r, before);
	}
	*list = (struct task_names){ names, n };
}

/* -- Texts -- */

static bool
check_name(struct task_read *r, struct str text, size_t max)
{
	if (text.n == 0)
		task_read_fault(r, "it is empty");
	else if (text.n > max)
		task_read_fault(r, "it is longer than %zu bytes", max);
	else if (text_has_control(text))
		task_read_fault(r, "it has control characters");
	else
		return true;
	return false;
}

bool
task_read_name(struct task_read *r, yyjson_val *v, size_t max,
    struct str *out)
{
	if (!yyjson_is_str(v)) {
		task_read_fault(r, "it is not a string");
		return false;
	}
	*out = json_text(v);
	return check_name(r, *out, max);
}

bool
task_read_tag_name(struct task_read *r, struct str name)
{
	if (!check_name(r, name, ITEM_TAG_BYTES_MAX))
		return false;
	if (str_find_char(name, '=') < name.n ||
	    str_find_char(name, ',') < name.n) {
		task_read_fault(r, "a tag's name has no \"=\" and no \",\"");
		return false;
	}
	return true;
}

bool
task_read_tag(struct task_read *r, struct str text, struct str *name,
    struct str *value)
{
	*value = text;
	str_split(value, '=', name);
	if (!task_read_tag_name(r, *name))
		return false;
	return value->p == NULL || value->n == 0 ||
	    check_name(r, *value, ITEM_ID_BYTES_MAX);
}

/* Whether data can be stored: no function in it, and not too deep. */
static const char *
data_fault(yyjson_val *v, unsigned depth)
{
	size_t i, n;
	yyjson_val *key, *element;
	const char *fault = NULL;

	if (!yyjson_is_ctn(v))
		return NULL;
	if (depth == 0)
		return "it is nested too deep";
	if (yyjson_is_obj(v) && yyjson_obj_get(v, "$function") != NULL)
		return "it has a function in it";
	if (yyjson_is_arr(v)) {
		yyjson_arr_foreach(v, i, n, element)
			if (fault == NULL)
				fault = data_fault(element, depth - 1);
		return fault;
	}
	yyjson_obj_foreach(v, i, n, key, element)
		if (fault == NULL)
			fault = data_fault(element, depth - 1);
	return fault;
}

bool
task_read_data(struct task_read *r, yyjson_val *v, struct str *out)
{
	const char *fault = data_fault(v, ITEM_JSON_DEPTH_MAX);
	size_t n;

	if (fault != NULL) {
		task_read_fault(r, "%s", fault);
		return false;
	}
	char *text = yyjson_val_write(v, 0, &n);
	if (text == NULL) {
		task_read_fault(r, "it is not JSON");
		return false;
	}
	bool fits = n <= (size_t)r->limits->data_bytes_max;
	if (fits) {
		*out = arena_copy(r->a, (struct str){ text, n });
	} else {
		task_read_note_limit(r, "data_bytes_max");
		task_read_fault(r, "it is longer than %lld bytes",
		    (long long)r->limits->data_bytes_max);
	}
	free(text);
	return fits;
}
