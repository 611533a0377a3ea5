/*
 * The tokens with which a subscription begins: sync_token of one crawl, or
 * sync_tokens of several.
 */
#include "base/json.h"
#include "doors/realtime/follow.h"

/* A number is taken as text, 0 as no text.  False: it is neither. */
static bool
token_text(yyjson_val *v, struct str *out)
{
	*out = STR_NONE;
	if (v == NULL || yyjson_is_null(v))
		return true;
	if (yyjson_is_num(v))
		return yyjson_get_num(v) == 0;
	if (!yyjson_is_str(v))
		return false;
	*out = json_text(v);
	if (str_eq(*out, STR("0")))
		*out = STR_NONE;
	return true;
}

/* False: the task has failed. */
static bool
read_token(struct follow *f, struct task *t, yyjson_val *v,
    const struct crawl_row *row)
{
	enum sync_fault fault = SYNC_MALFORMED;
	uint64_t number = 0;
	struct str text;

	if (token_text(v, &text))
		fault = sync_read(text, f->kind->sync, row->id, t->door->mark,
		    f->kind->last(row), &number);
	if (fault != SYNC_FINE)
		return task_fail(t, CODE_BAD_TOKEN, "%s",
		    sync_fault_text(fault));
	if (text.n == 0)
		return true;
	f->from[f->from_n++] = (struct follow_from){ row->id, number + 1 };
	t->client->tokens_n++;
	return true;
}

static int
by_crawl(const void *a, const void *b)
{
	uint32_t x = ((const struct follow_from *)a)->crawl;
	uint32_t y = ((const struct follow_from *)b)->crawl;

	return x < y ? -1 : x > y;
}

static bool
read_tokens(struct follow *f, struct task *t)
{
	yyjson_val *tokens = t->command.sync_tokens, *key, *v;
	size_t i, n;

	if (tokens == NULL)
		return true;
	yyjson_obj_foreach(tokens, i, n, key, v) {
		struct str name = json_text(key);
		uint64_t id;
		struct crawl_row *row = str_to_u64(name, &id) ?
		    realtime_row(t->door, id) : NULL;
		if (row == NULL)
			return task_fail(t, CODE_UNKNOWN_CRAWL, "sync_tokens: "
			    "Crawl ID=%.*s matched 0 crawls! (expected 1)",
			    STR_FMT(str_cut(name, 0, 40)));
		if (!read_token(f, t, v, row))
			return false;
	}
	qsort(f->from, f->from_n, sizeof(*f->from), by_crawl);
	for (i = 1; i < f->from_n; i++)
		if (f->from[i].crawl == f->from[i - 1].crawl)
			return task_fail(t, CODE_BAD_ARGS, "sync_tokens: "
			    "crawl %u is given twice.", f->from[i].crawl);
	return true;
}

bool
follow_read_tokens(struct follow *f, struct task *t)
{
	const struct command *c = &t->command;
	size_t n = 1;

	if (!f->filter.one && c->sync_token != NULL)
		return task_fail(t, CODE_BAD_ARGS,
		    "sync_token: it goes with crawl_id alone.");
	if (c->sync_tokens != NULL) {
		n = yyjson_obj_size(c->sync_tokens);
		if (f->filter.one || !yyjson_is_obj(c->sync_tokens))
			return task_fail(t, CODE_BAD_ARGS, "sync_tokens: an "
			    "object by crawl is expected, together with a "
			    "tag.");
	}
	if (n + t->client->tokens_n > COMMAND_TOKENS_MAX)
		return task_fail(t, CODE_LIMIT, "sync_tokens: a connection "
		    "may have %u.", COMMAND_TOKENS_MAX);
	f->from = mem_array(MAX(n, 1), sizeof(*f->from));
	if (!f->filter.one)
		return read_tokens(f, t);
	return read_token(f, t, c->sync_token,
	    realtime_row(t->door, f->filter.crawl));
}
