/*
 * Fuzz: the body of POST /task.  What is read is within its limits, and its
 * parameters and credential are right or refused with a sentence.
 */
#include "doors/external/task_order.h"
#include "engine/external/external_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char declaration[] = "{'name':'n','version':1,'title':'T',"
    "'schema':{},'docIdField':'id','parameters':{'type':'object',"
    "'properties':{'w':{'x-ui':'password'},'n':{'type':'integer'},"
    "'s':{'type':'string'}},'required':['s']},'credential':'basic',"
    "'api':{'url':'https://a.example/?n={n}&s={s}','label':'l',"
    "'items':'/list','id':'/id','auth':{'kind':'basic'}}}";

static void
check_input(const struct external_connector *c, const struct task_order *o)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf params = BUF_INIT;
	FREED(buf_free) struct buf concealed = BUF_INIT;
	FREED(buf_free) struct buf credential = BUF_INIT;
	struct task_faults *f = ARENA_NEW(&a, struct task_faults);
	struct why w = WHY_INIT;

	f->arena = &a;
	if (task_params_check(c, o->params, f, &params) != OK) {
		CHECK(f->n > 0 && f->messages[0].n > 0);
	} else {
		(void)external_params_conceal(c, buf_str(&params),
		    &concealed);
		yyjson_doc *doc = yyjson_read(concealed.p, concealed.n, 0);
		CHECK(doc != NULL && !yyjson_is_str(yyjson_obj_get(
		    yyjson_doc_get_root(doc), "w")));
		yyjson_doc_free(doc);
	}
	if (task_credential_make(c, o->credential, &credential, &w) != OK)
		CHECK(w.text[0] != '\0');
	struct task_grant_name n;
	w = WHY_INIT;
	if (task_grant_name_read(o->credential, &n, &w) != OK)
		CHECK(strcmp(w.field, "credential") == 0);
	else
		CHECK(n.handle.n > 0 || (n.user.n > 0 && n.issued.us >= 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct external_connector *c;
	struct str body = { (const char *)data, n };
	struct task_order o;
	struct why w = WHY_INIT;

	if (c == NULL) {
		struct buf text = testing_quoted(declaration);
		CHECK(external_connector_load(buf_str(&text), NULL, &c,
		    NULL) == OK);
		buf_free(&text);
	}
	if (task_order_read(body, STR_NONE, &o, &w) == OK) {
		CHECK(task_fid_is_valid(o.fid) && o.endpoint.n > 0);
		check_input(c, &o);
	} else {
		CHECK(w.text[0] != '\0');
	}
	task_order_free(&o);
	return 0;
}
