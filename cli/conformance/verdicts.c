#include "cli/conformance/verdicts.h"

#include <stdarg.h>

#include "base/json_writer.h"
#include "base/text.h"

enum outcome { UNDECIDED, SKIPPED, PASSED, FAILED };

static const struct check_row {
	enum verdict_side side;
	const char *group, *name, *help;
} rows[] = {
#define CHECK_ROW(side, id, group, name, help) \
	{ VERDICT_##side, group, name, help },
	VERDICT_CHECKS(CHECK_ROW)
#undef CHECK_ROW
};

struct verdicts {
	enum verdict_side side;
	bool json;
	bool chosen;                 /* verdicts_choose() was called */
	struct verdict {
		bool wanted;
		enum outcome outcome;
		char reason[VERDICT_REASON_BYTES_MAX];
	} of[CHECK_COUNT];
};

struct verdicts *
verdicts_new(enum verdict_side side, bool json)
{
	struct verdicts *r = mem_new(sizeof(*r));

	r->side = side;
	r->json = json;
	for (size_t i = 0; i < CHECK_COUNT; i++)
		r->of[i].wanted = rows[i].side == side;
	return r;
}

void
verdicts_free(struct verdicts **rp)
{
	mem_free(rp);
}

/* ---- The choice ----------------------------------------------------- */

static bool
has_name(const struct check_row *row, struct str name)
{
	struct str group = str_of(row->group);

	return str_eq(name, group) || (str_starts(name, group) &&
	    name.n > group.n && name.p[group.n] == '/' &&
	    str_eq(str_from(name, group.n + 1), str_of(row->name)));
}

enum err
verdicts_choose(struct verdicts *r, struct str name, struct why *w)
{
	size_t found = 0;

	for (size_t i = 0; i < CHECK_COUNT; i++) {
		bool named = rows[i].side == r->side &&
		    has_name(&rows[i], name);
		found += named;
		r->of[i].wanted = named || (r->chosen && r->of[i].wanted);
	}
	r->chosen = true;
	return found > 0 ? OK : why(w, ERR_USAGE, "--only %.*s: there is no "
	    "such check or group; --list prints them",
	    (int)MIN(name.n, 60), name.p);
}

void
verdicts_leave_out(struct verdicts *r, const char *group)
{
	for (size_t i = 0; i < CHECK_COUNT; i++)
		if (strcmp(rows[i].group, group) == 0)
			r->of[i].wanted = false;
}

bool
verdicts_wants(const struct verdicts *r, const char *group)
{
	for (size_t i = 0; i < CHECK_COUNT; i++)
		if (r->of[i].wanted && (group == NULL ||
		    strcmp(rows[i].group, group) == 0))
			return true;
	return false;
}

/* ---- Verdicts ------------------------------------------------------- */

/* A reason may quote the peer: control characters are replaced. */
static void
set_outcome(struct verdicts *r, enum check_id id, enum outcome outcome,
    const char *fmt, va_list ap)
{
	struct verdict *v = &r->of[id];

	if (outcome <= v->outcome)
		return;
	v->outcome = outcome;
	vsnprintf(v->reason, sizeof(v->reason), fmt, ap);
	for (char *p = v->reason; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
}

void
verdict_fail(struct verdicts *r, enum check_id id, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_outcome(r, id, FAILED, fmt, ap);
	va_end(ap);
}

void
verdict_skip(struct verdicts *r, enum check_id id, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_outcome(r, id, SKIPPED, fmt, ap);
	va_end(ap);
}

void
verdict_pass(struct verdicts *r, enum check_id id)
{
	if (r->of[id].outcome < PASSED)
		r->of[id].outcome = PASSED;
}

bool
verdict_judge(struct verdicts *r, enum check_id id, bool fine, const char *fmt,
    ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (fine)
		verdict_pass(r, id);
	else
		set_outcome(r, id, FAILED, fmt, ap);
	va_end(ap);
	return fine;
}

/* ---- Output --------------------------------------------------------- */

static const char *
outcome_word(enum outcome o)
{
	return o == PASSED ? "PASS" : o == FAILED ? "FAIL" : "SKIP";
}

static const char *
verdict_reason(const struct verdict *v)
{
	return v->outcome == PASSED ? "" : v->outcome == UNDECIDED ?
	    "it was not reached" : v->reason;
}

static void
put_verdict(const struct verdicts *r, size_t i, struct buf *b)
{
	const struct verdict *v = &r->of[i];
	const char *reason = verdict_reason(v);

	if (!r->json) {
		buf_printf(b, "%s %s/%s%s%s\n", outcome_word(v->outcome),
		    rows[i].group, rows[i].name, reason[0] == '\0' ? "" : " ",
		    reason);
		return;
	}
	json_object(b, NULL);
	json_str(b, "result", str_of(outcome_word(v->outcome)));
	json_str(b, "group", str_of(rows[i].group));
	json_str(b, "name", str_of(rows[i].name));
	json_str(b, "reason", str_of(reason));
	buf_put_text(b, "}\n");
}

void
verdicts_put_group(const struct verdicts *r, const char *group, struct buf *b)
{
	for (size_t i = 0; i < CHECK_COUNT; i++)
		if (r->of[i].wanted && strcmp(rows[i].group, group) == 0)
			put_verdict(r, i, b);
}

size_t
verdicts_put_end(const struct verdicts *r, struct buf *b)
{
	size_t n[FAILED + 1] = { 0 };

	for (size_t i = 0; i < CHECK_COUNT; i++)
		if (r->of[i].wanted)
			n[r->of[i].outcome]++;
	n[SKIPPED] += n[UNDECIDED];
	if (r->json) {
		json_object(b, NULL);
		json_u64(b, "passed", n[PASSED]);
		json_u64(b, "failed", n[FAILED]);
		json_u64(b, "skipped", n[SKIPPED]);
		buf_put_text(b, "}\n");
	} else if (n[SKIPPED] > 0) {
		buf_printf(b, "%zu passed, %zu failed, %zu skipped\n",
		    n[PASSED], n[FAILED], n[SKIPPED]);
	} else {
		buf_printf(b, "%zu passed, %zu failed\n", n[PASSED],
		    n[FAILED]);
	}
	return n[FAILED];
}

void
verdicts_put_table(struct buf *b)
{
	static const char *const titles[] = { "Checks of a crawler:\n",
		"\nChecks of a back end:\n" };
	FREED(buf_free) struct buf name = BUF_INIT;

	for (size_t side = 0; side < ARRAY_LEN(titles); side++) {
		buf_put_text(b, titles[side]);
		for (size_t i = 0; i < CHECK_COUNT; i++) {
			if ((size_t)rows[i].side != side)
				continue;
			buf_clear(&name);
			buf_printf(&name, "%s/%s", rows[i].group,
			    rows[i].name);
			text_row(b, buf_str(&name), 31,
			    str_of(rows[i].help));
		}
	}
}
