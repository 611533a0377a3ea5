#include "script/items/first_hosts.h"

#include "base/json.h"
#include "base/map.h"
#include "engine/parser/url.h"

enum rule_kind {
	RULE_ID,                     /* the item's id is the URL */
	RULE_MEMBER,                 /* the member `text` of its data is */
	RULE_HOST                    /* all runs ask the host `text` */
};

struct rule {
	uint32_t task;
	enum rule_kind kind;
	unsigned right;              /* runs in a row that it was true of */
	struct buf text;
};

struct first_hosts {
	struct map rules;            /* struct rule by task */
};

struct first_hosts *
first_hosts_new(void)
{

	return mem_new(sizeof(struct first_hosts));
}

void
first_hosts_free(struct first_hosts **fp)
{
	struct first_hosts *f = *fp;

	if (f == NULL)
		return;
	MAP_EACH(r, &f->rules, struct rule) {
		buf_free(&r->text);
		mem_free(&r);
	}
	map_free(&f->rules);
	mem_free(fp);
}

/* -- What a rule says of an item -- */

static struct str
host_of_url(struct str text, struct arena *a)
{
	struct url u;

	if (!str_starts(text, STR("http")) ||
	    url_parse(text, NULL, a, &u, NULL) != OK)
		return STR_NONE;
	return u.host;
}

static yyjson_doc *
read_data(struct str data)
{
	return data.n > FIRST_HOSTS_DATA_BYTES_MAX ? NULL :
	    yyjson_read(data.p, data.n, 0);
}

static struct str
host_of_member(struct str data, struct str name, struct arena *a)
{
	yyjson_doc *doc = read_data(data);
	yyjson_val *value = yyjson_obj_getn(yyjson_doc_get_root(doc), name.p,
	    name.n);
	struct str host = arena_copy(a, host_of_url(json_text(value), a));

	yyjson_doc_free(doc);
	return host;
}

static struct str
host_by_rule(const struct rule *r, struct str id, struct str data,
    struct arena *a)
{
	switch (r->kind) {
	case RULE_ID:
		return host_of_url(id, a);
	case RULE_MEMBER:
		return host_of_member(data, buf_str(&r->text), a);
	case RULE_HOST:
		break;
	}
	return buf_str(&r->text);
}

/* -- Learning -- */

static void
set_rule(struct rule *r, enum rule_kind kind, struct str text)
{
	bool same = r->kind == kind && str_eq(buf_str(&r->text), text);

	r->right = same ? r->right + 1 : 1;
	if (same)
		return;
	r->kind = kind;
	buf_clear(&r->text);
	buf_put_str(&r->text, text);
}

static bool
member_rule(struct rule *r, struct str data, struct str host, struct arena *a)
{
	yyjson_doc *doc = read_data(data);
	size_t at, n;
	yyjson_val *name, *value;
	bool found = false;

	yyjson_obj_foreach(yyjson_doc_get_root(doc), at, n, name, value) {
		found = str_eq(host_of_url(json_text(value), a), host);
		if (found) {
			set_rule(r, RULE_MEMBER, json_text(name));
			break;
		}
	}
	yyjson_doc_free(doc);
	return found;
}

bool
first_hosts_learn(struct first_hosts *f, uint32_t task,
    const struct first_fetch *run)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct rule *r = map_get_id(&f->rules, task);
	struct str guess = first_hosts_guess(f, task, run->id, run->data, &a);
	bool is_right = guess.n == 0 || str_eq(guess, run->host);

	if (r == NULL) {
		r = mem_new(sizeof(*r));
		r->task = task;
		map_put_id(&f->rules, task, r);
	}
	if (r->right > 0 && str_eq(host_by_rule(r, run->id, run->data, &a),
	    run->host))
		r->right++;
	else if (str_eq(host_of_url(run->id, &a), run->host))
		set_rule(r, RULE_ID, STR_NONE);
	else if (!member_rule(r, run->data, run->host, &a))
		set_rule(r, RULE_HOST, run->host);
	return is_right;
}

unsigned
first_hosts_right(const struct first_hosts *f, uint32_t task)
{
	const struct rule *r = map_get_id(&f->rules, task);

	return r == NULL ? 0 : r->right;
}

struct str
first_hosts_guess(const struct first_hosts *f, uint32_t task, struct str id,
    struct str data, struct arena *a)
{
	const struct rule *r = map_get_id(&f->rules, task);

	if (r == NULL || r->right < FIRST_HOSTS_SURE)
		return STR_NONE;
	return host_by_rule(r, id, data, a);
}
