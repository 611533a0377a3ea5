#include "engine/external/external_fuzzing.h"

#include "base/arena.h"
#include "engine/connector/order.h"
#include "engine/external/external_own.h"
#include "engine/external/oauth_own.h"

static void
count_fault(void *arg, struct str name, struct str message)
{
	CHECK(name.n > 0 && str_starts(message, name));
	++*(size_t *)arg;
}

static enum err
check_params(const struct external_connector *c, yyjson_val *params,
    struct buf *out)
{
	size_t faults = 0;
	struct external_params_faults reported = { &faults, count_fault, NULL };
	struct why w = WHY_INIT;
	enum err e = external_params_check(c, params, &reported, out, &w);

	CHECK((e == OK) == (faults == 0));
	CHECK(e == OK || (e == ERR_INPUT && out->n == 0));
	return e;
}

static void
open_order(const struct external_connector *c, yyjson_val *message)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct connector *runs = external_connector_runs(c);
	struct connector_order order;
	struct connector_run *run;
	const char *code;
	struct why w = WHY_INIT;

	CHECK(connector_order_read(runs, message, &a, &order, &code, &w) ==
	    OK);
	enum err e = runs->open(&order, &run, &w);
	CHECK(e == OK || str_starts(str_of(w.field), STR("credentials.")));
	if (e == OK)
		runs->close(&run);
}

/* No parameter value changes the host that a call for choices goes to. */
static void
check_choices(const struct external_connector *c,
    const struct external_param *p, yyjson_val *params)
{
	FREED(buf_free) struct buf order = BUF_INIT;
	struct why w = WHY_INIT;
	struct str url = p->choices->url;
	size_t base = str_find(url, STR("://")) + 3;

	while (base < url.n && !str_has_char(STR("/?"), url.p[base]))
		base++;
	if (external_choices_order(c, p->name, params,
	    STR("/../@b.example#?{x}&"), &order, &w) != OK) {
		CHECK(order.n == 0 && w.field[0] != '\0');
		return;
	}
	yyjson_doc *doc = yyjson_read(order.p, order.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	struct str made = json_text(yyjson_ptr_get(yyjson_doc_get_root(doc),
	    "/options/api/url"));
	CHECK(str_starts(made, str_cut(url, 0, base)));
	CHECK(made.n == base || made.p[base] == '/' || made.p[base] == '?');
	open_order(c, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
}

void
fuzzing_params(const struct external_connector *c, yyjson_val *params)
{
	FREED(buf_free) struct buf one = BUF_INIT, two = BUF_INIT;
	FREED(buf_free) struct buf order = BUF_INIT;
	struct why w = WHY_INIT;

	for (size_t i = 0; i < c->params_n; i++)
		if (c->params[i].choices != NULL)
			check_choices(c, &c->params[i], params);
	if (check_params(c, params, &one) != OK)
		return;
	/* A location's numbers may be beyond what a double can be. */
	yyjson_doc *doc = yyjson_read(one.p, one.n, YYJSON_READ_BIGNUM_AS_RAW);
	CHECK(doc != NULL);
	CHECK(check_params(c, yyjson_doc_get_root(doc), &two) == OK);
	CHECK(str_eq(buf_str(&one), buf_str(&two)));
	yyjson_doc_free(doc);
	if (external_order_make(c, buf_str(&one), &order, &w) != OK) {
		/* An oauthParameter without a default wants a grant. */
		CHECK(strcmp(w.field, "params") == 0 || (c->has_oauth &&
		    oauth_param_find(&c->oauth, str_of(w.field)) <
		    c->oauth.params_n));
		return;
	}
	doc = yyjson_read(order.p, order.n, YYJSON_READ_NUMBER_AS_RAW);
	CHECK(doc != NULL);
	open_order(c, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
}
