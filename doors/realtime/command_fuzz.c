/*
 * Fuzz: a message of a client.  Whatever it is, it is a command whose arguments
 * are within their limits, or a refusal that is JSON.
 */
#include "doors/realtime/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_arguments(const struct command *c)
{
	const struct command_row *row = &command_rows[c->verb];

	CHECK((row->must & ~c->given) == 0 && (c->given & ~row->may) == 0);
	CHECK(c->crawl_id <= COMMAND_ID_MAX && c->number <= COMMAND_ID_MAX);
	CHECK(c->size <= COMMAND_LIST_MAX && c->hosts <= COMMAND_LIST_MAX);
	CHECK(c->min_interval >= 0 && c->parent_cost >= 0);
	CHECK(c->name.n <= STORE_NAME_BYTES_MAX);
	CHECK(c->tags.n <= STORE_TAGS_MAX && c->seeds_n <= SEED_LIST_MAX);
	for (size_t i = 0; i < c->seeds_n; i++)
		CHECK(c->seeds[i].url.n > 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str message = { (const char *)data, n };
	struct command c;

	command_read(message, n % 2 == 0 ? RIGHTS_ALL : 0, &c);
	if (c.code == CODE_OK)
		check_arguments(&c);
	else
		CHECK(c.text[0] != '\0' && c.code < CODE_COUNT);
	/* What is echoed is JSON. */
	yyjson_doc *id = yyjson_read(c.id.p, c.id.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	CHECK(id != NULL);
	yyjson_doc_free(id);
	command_free(&c);
	return 0;
}
