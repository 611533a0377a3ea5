/* What an answer is worth, and what the connector finds in it. */
#include "engine/harvest/driver_own.h"

#include "base/json.h"

/* ---- Findings ------------------------------------------------------- */

static void
on_count(void *arg, const char *label, uint64_t n)
{
	struct driver *d = arg;

	d->counted += n;
	totals_count(d->options.totals, d->answered, str_of(label), n);
}

static void
on_seed(void *arg, const struct connector_seed *s, struct str uid,
    struct str token)
{
	struct driver *d = arg;

	if (s != NULL)
		totals_seed(d->options.totals, s->id, uid, token);
}

static void
on_note(void *arg, enum connector_level level, const char *code,
    struct str text, const struct connector_seed *s)
{
	struct driver *d = arg;

	totals_note(d->options.totals, level == CONNECTOR_INFO ? TOTALS_INFO :
	    TOTALS_WARNING, str_of(code), text, s == NULL ? STR_NONE : s->id);
}

static void
on_url(void *arg, struct str url)
{
	struct driver *d = arg;

	(void)url;
	totals_url(d->options.totals, url);
}

static void
on_state(void *arg, struct str key, struct str value)
{
	struct driver *d = arg;

	totals_state(d->options.totals, key, value);
}

static void
on_deleted(void *arg, struct str id)
{
	struct driver *d = arg;

	(void)id;
	d->options.totals->deleted++;
}

static void
on_again(void *arg, unsigned seconds)
{
	struct driver *d = arg;

	d->again = true;
	d->again_s = seconds;
}

static void
on_skip(void *arg, const struct connector_seed *s)
{
	(void)arg;
	(void)s;
}

/* The platform refuses the credential or what the order names; nothing else
 * that connectors fail for is the user's. */
static enum driver_fault
fault_of(const char *code)
{
	return str_starts(str_of(code), STR("harvest_")) ||
	    str_starts(str_of(code), STR("token_")) ? DRIVER_FAULT_CONFIG :
	    DRIVER_FAULT_SYSTEM;
}

static void
on_fail(void *arg, const char *code, struct str text)
{
	driver_fail(arg, fault_of(code), code, text);
}

static void
on_done(void *arg)
{
	struct driver *d = arg;

	d->end = DRIVER_SUCCESS;
}

void
driver_fail(struct driver *d, enum driver_fault fault, const char *code,
    struct str text)
{
	d->look.fault = fault;
	totals_note(d->options.totals, TOTALS_ERROR, str_of(code), text,
	    STR_NONE);
	d->end = DRIVER_FAILURE;
}

struct connector_findings
driver_findings(struct driver *d)
{
	return (struct connector_findings){ d, on_count, on_seed, on_note,
		on_url, on_state, on_deleted, on_again, on_skip, on_fail,
		on_done };
}

/* ---- Judging -------------------------------------------------------- */

/* The call names the status. */
static bool
is_named(const struct connector_call *call, int status)
{
	for (const int *s = call->statuses; s != NULL && *s != 0; s++)
		if (*s == status)
			return true;
	return false;
}

void
driver_look_for_secrets(struct driver *d, struct str body)
{
	if (d->secret_told || d->redactor == NULL ||
	    !redact_has_values(d->redactor) ||
	    !redact_finds(d->redactor, body))
		return;
	d->secret_told = true;
	totals_note(d->options.totals, TOTALS_WARNING,
	    STR("secret_in_response"), driver_archives(d) ?
	    STR("an answer contains the credential, and is archived as it is") :
	    STR("an answer contains the credential"), STR_NONE);
}

void
driver_give(struct slot *s, const struct connector_answer *a)
{
	struct driver *d = s->driver;
	struct connector_findings f = d->early.slot == s ?
	    driver_early_findings(d) : driver_findings(d);

	d->again = false;
	d->counted = 0;
	d->answered = a->when;
	d->connector->answer(d->run, &s->call, a, &f);
	s->failures = s->refusals = 0;
	s->state = d->again ? SLOT_READY : SLOT_FREE;
}

static enum driver_verdict
judge(const struct slot *s, const struct driver_answer *in)
{
	bool good = in->status >= 200 && in->status < 300;
	bool named = is_named(&s->call, in->status);

	/* Whatever comes of it. */
	if (s->call.as_crawl)
		return VERDICT_TAKEN;
	/* A token may end before its time; the next one counts. */
	if (in->status == 401 && s->call.auth == CONNECTOR_APP_BEARER &&
	    !s->renewed)
		return VERDICT_RENEW;
	if (in->status == 429 && !named)
		return VERDICT_LATER;
	if ((in->status >= 500 && !named) || (good && in->damaged))
		return VERDICT_LOST;
	return (good && !in->too_long) || named ? VERDICT_TAKEN :
	    VERDICT_USELESS;
}

/* The items of one that failed are found again by the next run. */
static void
tell_answered(const struct slot *s, const struct driver_answer *in)
{
	const struct driver *d = s->driver;

	if (driver_harvests(d) || d->counted == 0 || d->again ||
	    d->end == DRIVER_FAILURE)
		return;
	const struct driver_answered x = { .url = s->url, .body = in->body,
	    .when = in->when };
	d->options.answered(d->options.arg, &x);
}

enum driver_verdict
driver_take(struct slot *s, const struct driver_answer *in)
{
	struct connector_answer a = { .status = in->status, .head = in->head,
	    .when = in->when, .refused = in->refused };
	bool good = in->status >= 200 && in->status < 300;
	yyjson_doc *doc = NULL;

	enum driver_verdict v = judge(s, in);
	if (v != VERDICT_TAKEN)
		return v;
	if (s->call.expect == CONNECTOR_BYTES)
		a.body = in->body;
	else
		doc = yyjson_read(in->body.p, in->body.n,
		    YYJSON_READ_BIGNUM_AS_RAW);
	if (doc == NULL && good && s->call.expect == CONNECTOR_JSON)
		return VERDICT_LOST;
	a.json = yyjson_doc_get_root(doc);
	driver_look_for_secrets(s->driver, in->body);
	driver_give(s, &a);
	tell_answered(s, in);
	yyjson_doc_free(doc);
	return VERDICT_TAKEN;
}
