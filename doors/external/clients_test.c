/* The file of OAuth clients. */
#include "doors/external/clients.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/file.h"

static void
expect_refusal(struct str json, enum err wanted, const char *text)
{
	struct clients *set;
	struct why w = WHY_INIT;

	assert_int_equal(clients_parse(json, &set, &w), wanted);
	assert_null(set);
	assert_string_equal(w.text, text);
	assert_null(strstr(w.text, "hush"));
}

static void
clients_are_found_by_connector(void **state)
{
	struct clients *set;

	(void)state;
	assert_int_equal(clients_parse(STR("{\"mastodon\":{\"client_id\":\"i\","
	    "\"client_secret\":\"hush\"},\"books\":{\"client_id\":"
	    "\"public\"}}"), &set, NULL), OK);
	assert_int_equal(clients_count(set), 2);
	const struct oauth_client *c = clients_find(set, STR("mastodon"));
	assert_true(str_eq(c->id, STR("i")));
	assert_true(str_eq(c->secret, STR("hush")));
	c = clients_find(set, STR("books"));
	assert_true(str_eq(c->id, STR("public")));
	assert_int_equal(c->secret.n, 0);
	assert_null(clients_find(set, STR("other")));
	clients_free(&set);
	assert_null(set);
	set = clients_none();
	assert_int_equal(clients_count(set), 0);
	assert_null(clients_find(set, STR("books")));
	clients_free(&set);
}

static void
faults_name_their_place(void **state)
{
#define REFUSED(json, error, text) expect_refusal(STR(json), ERR_##error, text)
	(void)state;
	REFUSED("", INPUT, "no JSON at byte 0: input length is 0");
	REFUSED("[]", INPUT, "it must be an object of connectors");
	REFUSED("{\"A B\":{}}", INPUT, "member 1 is not the name of a "
	    "connector");
	REFUSED("{\"a\":1}", INPUT, "a: must be an object");
	REFUSED("{\"a\":{}}", INPUT, "a.client_id: is missing");
	REFUSED("{\"a\":{\"client_secret\":\"hush\"}}", INPUT,
	    "a.client_id: is missing");
	REFUSED("{\"a\":{\"client_id\":7}}", INPUT, "a.client_id: must be a "
	    "string of 1 to 8192 visible ASCII characters");
	REFUSED("{\"a\":{\"client_id\":\"i\",\"client_secret\":\"hu\\nsh\"}}",
	    INPUT, "a.client_secret: must be a string of 1 to 8192 visible "
	    "ASCII characters");
	REFUSED("{\"a\":{\"client_id\":\"i\",\"hush\":\"\"}}", INPUT, "a: it "
	    "has a member other than client_id and client_secret");
	REFUSED("{\"a\":{\"client_id\":\"i\",\"client_id\":\"j\"}}", EXISTS,
	    "a.client_id: is there twice");
	REFUSED("{\"a\":{\"client_id\":\"i\"},\"a\":{\"client_id\":\"j\"}}",
	    EXISTS, "a: is there twice");
}

static void
read_secret_of(size_t n, enum err wanted)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct clients *set;

	buf_put_text(&b, "{\"a\":{\"client_id\":\"i\",\"client_secret\":\"");
	memset(buf_grow(&b, n), 'x', n);
	buf_put_text(&b, "\"}}");
	assert_int_equal(clients_parse(buf_str(&b), &set, NULL), wanted);
	clients_free(&set);
}

static void
read_connectors(size_t n, enum err wanted)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct clients *set;

	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%c\"c%zu\":{\"client_id\":\"i\"}", i == 0 ?
		    '{' : ',', i);
	buf_put_char(&b, '}');
	assert_int_equal(clients_parse(buf_str(&b), &set, NULL), wanted);
	clients_free(&set);
}

static void
limits(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct clients *set;

	(void)state;
	read_secret_of(OAUTH_TOKEN_BYTES_MAX, OK);
	read_secret_of(OAUTH_TOKEN_BYTES_MAX + 1, ERR_INPUT);
	read_connectors(CLIENTS_MAX, OK);
	read_connectors(CLIENTS_MAX + 1, ERR_FULL);
	buf_put_text(&b, "{}");
	size_t rest = CLIENTS_FILE_BYTES_MAX - b.n;
	memset(buf_grow(&b, rest), ' ', rest);
	assert_int_equal(clients_parse(buf_str(&b), &set, NULL), OK);
	clients_free(&set);
	buf_put_char(&b, ' ');
	assert_int_equal(clients_parse(buf_str(&b), &set, NULL), ERR_FULL);
}

static void
the_file_is_its_owners(void **state)
{
	char path[] = "/tmp/argiope-clients-XXXXXX";
	int fd = mkstemp(path);
	struct clients *set;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(file_store(path, STR("{\"a\":{\"client_id\":\"i\"}}"),
	    NULL), OK);
	chmod(path, 0600);
	assert_int_equal(clients_read(path, &set, NULL), OK);
	assert_int_equal(clients_count(set), 1);
	clients_free(&set);
	chmod(path, 0640);
	assert_int_equal(clients_read(path, &set, NULL), ERR_DENIED);
	unlink(path);
	assert_int_equal(clients_read(path, &set, NULL), ERR_ABSENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_are_found_by_connector),
		cmocka_unit_test(faults_name_their_place),
		cmocka_unit_test(limits),
		cmocka_unit_test(the_file_is_its_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
