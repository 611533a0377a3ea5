/*
 * argiope schedule list|put|delete -- crawls and harvests that repeat.
 *
 * They are the store's; a daemon that runs sees what changed in about a second,
 * and begins their runs.
 */
#include "base/json_writer.h"
#include "base/text.h"
#include "cli/format.h"
#include "cli/harvest_words.h"
#include "cli/plan.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/control/control.h"
#include "engine/harvest/harvest_service.h"
#include "os/tree.h"

static const struct option_row put_rows[] = {
	OPTION_ROW(SEEDS, "seeds", 0, "FILE", PATH, 0, 0,
	    "read seeds from FILE, one per line; - is standard input")
	OPTION_ROW(EVERY, "every", 'n', "N", NUMBER, 1, SCHEDULE_EVERY_MAX,
	    "so many units between two runs (1)")
	OPTION_ROW(UNIT, "unit", 'u', "minutes|hours|days|weeks|months|years",
	    CHOICE, 0, 0, "the unit (days)")
	OPTION_ROW(AFTER, "after-previous", 0, NULL, FLAG, 0, 0,
	    "count from the end of the last crawl, and wait for it; else the "
	    "runs lie on a grid from --start-at on")
	OPTION_ROW(START_AT, "start-at", 0, "DATE", TEXT, 0, 0,
	    "the first run, such as 2026-11-20T09:00:00Z (now)")
	OPTION_ROW(POLICY, "policy", 'p', "NAME", TEXT, 0, 0,
	    "the policy of that name, as it is at each run (default)")
	OPTION_ROW(POLICY_FILE, "policy-file", 0, "FILE", PATH, 0, 0,
	    "a policy of its own, from this JSON file")
	OPTION_ROW(RATE_LIMIT, "rate-limit", 0, "TIME", TEXT, 0, 0,
	    "pause between two fetches from a seed's host; the policy's, when "
	    "it is not given")
	OPTION_ROW(TAG, "tag", 't', "TAG", TEXT, 0, 0,
	    "its crawls have this tag; may be given again")
	OPTION_ROW(CRAWL_NAME, "crawl-name", 0, "TEXT", TEXT, 0, 0,
	    "what its crawls are called; {COUNT}, {DATE} and {TIME} stand for "
	    "the run's (\"NAME #{COUNT}\")")
	OPTION_ROW(HARVEST, "harvest", 0, "TYPE", TEXT, 0, 0,
	    "harvest in place of crawling: a type of argiope harvest types; "
	    "the next seven options belong to it")
	HARVEST_ORDER_WORDS(OPTION_ROW)
	OPTION_ROW(INTO, "into", 'i', "DIR", PATH, 0, 0,
	    "where a harvest's WARC files and state.json go")
	OPTION_ROW(ID, "id", 0, "N", NUMBER, 1, INT32_MAX,
	    "replace the schedule of that number")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb schedule_list_verb = {
	"schedule list", NULL, 0, 0,
	"List the schedules: number, next run, runs so far, how often, name",
	NULL, verbs_json, ARRAY_LEN(verbs_json)
};
const struct option_verb schedule_put_verb = {
	"schedule put", "NAME [URL...]", 1, OPERANDS_ANY,
	"Have a daemon crawl or harvest again and again; print its number",
	"Runs that were missed while no daemon ran are one run at its next "
	"start.  Seeds cannot be private addresses, unless the daemon has "
	"fetch.allow_private.\n"
	"Example: argiope schedule put news http://www.example.org/ --every 6 "
	"--unit hours --tag news\n"
	"With --harvest the daemon harvests as argiope harvest run does, into "
	"the same directory each time; --option incremental=true has it ask "
	"for what is new.  A run that is due while the last one is not over "
	"is skipped; schedule list counts those.\n"
	"Example: argiope schedule put posts --harvest mastodon_account --seed "
	"Gargron --credential mastodon --option incremental=true --into posts "
	"--every 6 --unit hours\n"
	"Exit code: 0; 64 the command line is wrong; 65 a seed, a policy or a "
	"name is none; 66 there is no such policy or schedule; 75 there are "
	"1,000 already.",
	put_rows, ARRAY_LEN(put_rows)
};
const struct option_verb schedule_delete_verb = {
	"schedule delete", "NUMBER", 1, 1,
	"Delete a schedule; its crawls stay",
	"Exit code: 0; 66 there is no such schedule.",
	verbs_plain, ARRAY_LEN(verbs_plain)
};

/* --- put ----------------------------------------------------------------- */

static enum err
read_seeds(struct cli *c, struct schedule *s, struct why *w)
{
	const char *pause = cli_text(c, "rate-limit", NULL);
	FREED(buf_free) struct buf b = BUF_INIT;
	const struct str *seeds;
	double delay = -1;
	size_t n;

	enum err e = plan_seeds(c, &seeds, &n, w);
	if (e == OK && pause != NULL && !plan_seconds(str_of(pause), &delay))
		e = why(w, ERR_USAGE, "--rate-limit %.60s: must be a time "
		    "like 0, 0.5 or 250ms", pause);
	/* The first operand is the name. */
	if (e == OK && n < 2)
		e = why(w, ERR_USAGE, "schedule put wants a URL or --seeds "
		    "FILE behind the name");
	for (size_t i = 1; e == OK && i < n; i++) {
		buf_put_text(&b, i > 1 ? ",{\"url\":" : "[{\"url\":");
		text_json(&b, seeds[i]);
		if (delay >= 0)
			buf_printf(&b, ",\"rate_limit\":%.9g", delay);
		buf_put_char(&b, '}');
	}
	buf_put_char(&b, ']');
	s->seeds = arena_copy(&c->arena, buf_str(&b));
	return e;
}

/* ---- A harvest --------------------------------------------------------- */

/* Words that say what is crawled, and those that say what is harvested. */
static enum err
check_words(struct cli *c, bool harvests, struct why *w)
{
	static const char *const crawl[] = { "seeds", "policy", "policy-file",
	    "rate-limit", "tag", "crawl-name", "after-previous" };
	static const char *const harvest[] = { "seed", "uid", "stdin",
	    "option", "api", "credential", "collection-set", "into" };
	const char *const *others = harvests ? crawl : harvest;
	size_t n = harvests ? ARRAY_LEN(crawl) : ARRAY_LEN(harvest);

	for (size_t i = 0; i < n; i++)
		if (cli_given(c, others[i]))
			return why(w, ERR_USAGE, harvests ? "--%s is for "
			    "crawls; leave it or --harvest away" :
			    "--%s is for harvests, which --harvest TYPE begins",
			    others[i]);
	if (harvests && c->options.operands_n > 1)
		return why(w, ERR_USAGE, "--harvest takes its seeds by --seed; "
		    "leave %.60s away", c->options.operands[1]);
	return harvests && !cli_given(c, "into") ? why(w, ERR_USAGE,
	    "--harvest wants --into DIR") : OK;
}

/* Made, and absolute. */
static enum err
find_into(struct cli *c, struct str *into, struct why *w)
{
	const char *text = cli_text(c, "into", NULL);

	enum err e = tree_make_dir(text, w);
	if (e != OK)
		return e;
	char *real = realpath(text, NULL);
	if (real == NULL)
		return why(w, ERR_ABSENT, "%s is not there", text);
	*into = arena_copy(&c->arena, str_of(real));
	free(real);
	return OK;
}

/* With its credential the order is judged now, and not by the first run. */
static enum err
read_harvest(struct cli *c, struct schedule *s, struct why *w)
{
	const char *type = cli_text(c, "harvest", NULL);
	struct harvest_plan plan = {
	    .credential = str_of(cli_text(c, "credential", "")) };
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str whole;

	enum err e = harvest_words_order(c, type, true, &whole, w);
	if (e == OK)
		e = harvest_check(whole, true, w);
	if (e == OK)
		e = harvest_words_order(c, type, false, &plan.message, w);
	if (e == OK)
		e = find_into(c, &plan.path, w);
	if (e != OK)
		return e;
	harvest_plan_put(&plan, &b);
	s->harvest = arena_copy(&c->arena, buf_str(&b));
	s->harvest_type = str_of(type);
	return OK;
}

static enum err
read_policy(struct cli *c, struct schedule *s, struct why *w)
{
	const char *file = cli_text(c, "policy-file", NULL);

	s->policy = str_of(cli_text(c, "policy", ""));
	if (file == NULL)
		return OK;
	if (s->policy.n != 0)
		return why(w, ERR_USAGE, "--policy and --policy-file are two "
		    "policies; give one");
	return cli_file(c, file, &s->policy_json, w);
}

static enum err
read_start(struct cli *c, struct schedule *s, struct why *w)
{
	const char *text = cli_text(c, "start-at", NULL);

	if (text == NULL || wall_from_iso(str_of(text), &s->start_at))
		return OK;
	return why(w, ERR_USAGE, "--start-at %.60s: must be a date and time "
	    "in UTC, such as 2026-11-20T09:00:00Z", text);
}

static enum err
read_schedule(struct cli *c, struct schedule *s, struct why *w)
{
	struct str *tags = ARENA_ARRAY(&c->arena, struct str,
	    cli_count(c, "tag"));

	for (size_t i = 0; i < cli_count(c, "tag"); i++)
		tags[i] = str_of(cli_nth(c, "tag", i));
	*s = (struct schedule){
		.id = (uint64_t)cli_number(c, "id", 0),
		.name = str_of(c->options.operands[0]),
		.tags = tags, .tags_n = cli_count(c, "tag"),
		.every = (unsigned)cli_number(c, "every", 1),
		.unit = (enum schedule_unit)cli_number(c, "unit",
		    SCHEDULE_DAYS),
		.timing = cli_count(c, "after-previous") > 0 ?
		    SCHEDULE_AFTER : SCHEDULE_REGULAR,
		.name_template = str_of(cli_text(c, "crawl-name", "")),
	};
	bool harvests = cli_given(c, "harvest");
	enum err e = check_words(c, harvests, w);
	if (e == OK)
		e = harvests ? read_harvest(c, s, w) : read_seeds(c, s, w);
	if (e == OK && !harvests)
		e = read_policy(c, s, w);
	return e == OK ? read_start(c, s, w) : e;
}

/* The named policy is the one that it is now; each run takes it as it is. */
static enum err
say_in_force(struct cli *c, struct store *st, const struct schedule *s,
    const char **out, struct why *w)
{
	const char *pause = cli_text(c, "rate-limit", NULL);
	struct store_policy named = { .json = s->policy_json };
	FREED(policy_free) struct policy *p = NULL;
	FREED(buf_free) struct buf b = BUF_INIT;
	enum err e = OK;

	if (s->policy_json.n == 0)
		e = store_policy_get(st, s->policy.n > 0 ? s->policy :
		    STR(STORE_POLICY_DEFAULT), &c->arena, &named, w);
	if (e == OK)
		e = policy_parse(named.json, &p, w);
	if (e != OK)
		return e;
	if (pause != NULL)
		(void)plan_seconds(str_of(pause), &p->rate_limit);
	policy_to_sentence(p, &b);
	*out = arena_copy(&c->arena, buf_str(&b)).p;
	return OK;
}

enum err
schedule_put_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct schedule s, kept;
	const char *in_force = "";

	enum err e = read_schedule(c, &s, w);
	if (e == OK)
		e = stores_open(c, &st, w);
	if (e == OK)
		e = engine_put_schedule(st, &s, &c->arena, &kept, w);
	if (e == OK && s.harvest_type.n == 0)
		e = say_in_force(c, st, &kept, &in_force, w);
	if (e != OK)
		return e;
	printf("%llu\n", (unsigned long long)kept.id);
	if (s.harvest_type.n == 0)
		fprintf(stderr, CLI_PROGRAM ": in force: %s\n", in_force);
	return OK;
}

/* --- list ---------------------------------------------------------------- */

static const char *
next(const struct schedule *s, char iso[static WALL_ISO_MAX])
{
	return s->next_at.us == SCHEDULE_NEVER.us ? "waits for its crawl" :
	    stores_date(s->next_at, iso);
}

static void
put_text(const void *rows, size_t n, struct buf *b)
{
	const struct schedule *list = rows;
	char iso[WALL_ISO_MAX], often[40];

	buf_printf(b, "%4s  %-20s  %5s  %-14s  %s\n", "ID", "NEXT", "RUNS",
	    "EVERY", "NAME");
	for (size_t i = 0; i < n; i++) {
		const struct schedule *s = &list[i];
		snprintf(often, sizeof(often), "%u %s", s->every,
		    schedule_unit_text(s->unit));
		buf_printf(b, "%4llu  %-20s  %5llu  %-14s  ",
		    (unsigned long long)s->id, next(s, iso),
		    (unsigned long long)s->runs, often);
		format_safe(b, s->name, STORE_NAME_BYTES_MAX);
		if (s->harvest_type.n > 0)
			buf_printf(b, "  harvest %.*s", STR_FMT(
			    s->harvest_type));
		if (s->skips > 0)
			buf_printf(b, "  skipped: %llu",
			    (unsigned long long)s->skips);
		buf_put_char(b, '\n');
	}
}

static void
row_json(const void *row, struct buf *b)
{
	const struct schedule *s = row;

	json_u64(b, "id", s->id);
	json_str(b, "name", s->name);
	json_str(b, "policy", s->policy);
	json_strs(b, "tags", s->tags, s->tags_n);
	json_u64(b, "every", s->every);
	json_str(b, "unit", str_of(schedule_unit_text(s->unit)));
	json_str(b, "timing", str_of(schedule_timing_text(s->timing)));
	json_str(b, "name_template", s->name_template);
	stores_put_date(b, "start_at", s->start_at);
	stores_put_date(b, "next_at", s->next_at);
	json_u64(b, "runs", s->runs);
	if (s->harvest_type.n > 0) {
		json_str(b, "harvest", s->harvest_type);
		json_u64(b, "skips", s->skips);
	}
	if (s->last_crawl == SCHEDULE_NO_CRAWL || s->is_elsewhere)
		json_null(b, "last_crawl");
	else
		json_u64(b, "last_crawl", s->last_crawl);
}

enum err
schedule_list_run(struct cli *c, struct why *w)
{
	struct schedule *list = NULL;
	FREED(store_close) struct store *st = NULL;
	size_t n = 0;

	enum err e = stores_find(c, "schedule", &st, w);
	if (e == OK)
		e = store_schedule_list(st, &c->arena, &list, &n, w);
	return stores_print(c, &(struct stores_list){ "schedule", "schedules",
	    list, n, sizeof(*list), row_json, put_text }, e);
}

/* --- delete -------------------------------------------------------------- */

enum err
schedule_delete_run(struct cli *c, struct why *w)
{
	const char *word = c->options.operands[0];
	FREED(store_close) struct store *st = NULL;
	uint64_t id;

	enum err e = str_to_u64(str_of(word), &id) ? OK : why(w, ERR_USAGE,
	    "%.60s is no number of a schedule; argiope schedule list has "
	    "them", word);
	if (e == OK)
		e = stores_find(c, "schedule", &st, w);
	return e == OK ? store_schedule_delete(st, id, w) : e;
}
