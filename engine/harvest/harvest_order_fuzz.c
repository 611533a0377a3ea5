/*
 * Any start message, and any findings that the store might give back.
 *
 * A message that is accepted is kept without its secrets, and gives the same
 * order again; findings that can be read are written as they were.
 */
#include "engine/harvest/order_text.h"
#include "engine/harvest/totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct seal_key key = { { 1 } };

static void
try_message(struct str json)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf sealed = BUF_INIT;
	struct order_text o, again;
	struct str credentials;
	const char *code = NULL;

	if (order_text_read(json, &a, &o, &code, NULL) != OK) {
		CHECK(code != NULL);
		order_text_free(&o);
		return;
	}
	order_text_seal(&o, &key, STR("h-1"), &sealed);
	CHECK(order_text_unseal(buf_str(&sealed), &key, STR("h-1"), &a,
	    &credentials, NULL) == OK);
	CHECK(order_text_read_kept(o.message, credentials, &a, &again,
	    NULL) == OK);
	CHECK(again.connector == o.connector &&
	    again.order.seeds_n == o.order.seeds_n &&
	    again.secrets_n == o.secrets_n);
	for (size_t i = 0; i < o.secrets_n; i++)
		CHECK(str_eq(o.secrets[i].value, again.secrets[i].value));
	order_text_free(&again);
	order_text_free(&o);
}

static void
try_totals(struct str json)
{
	FREED(totals_free) struct totals t = { .items = 0 };
	FREED(totals_free) struct totals other = { .items = 0 };
	FREED(buf_free) struct buf once = BUF_INIT;
	FREED(buf_free) struct buf twice = BUF_INIT;

	if (totals_read(&t, json, NULL) != OK)
		return;
	totals_put(&t, &once);
	CHECK(totals_read(&other, buf_str(&once), NULL) == OK);
	totals_put(&other, &twice);
	CHECK(str_eq(buf_str(&once), buf_str(&twice)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str in = { (const char *)data, n };

	try_message(in);
	try_totals(in);
	return 0;
}
