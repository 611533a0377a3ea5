#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/backends/backends.h"
#include "engine/policy/address.h"
#include "tests/suite.h"

#define SECRET "hush-0123456789"
#define KEY_32 "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define ACME "\"name\":\"acme\",\"token\":\"acme-be\"," \
	"\"prefix\":\"https://be.example.org/tasks/\""

static char folder[64];

static int
make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/backends-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int
remove_folder(void **state)
{
	static const char *const names[] = { "backends.json", "be.pem" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

static void
write_file(const char *name, const char *text, size_t n, mode_t mode,
    char path[static 128])
{
	snprintf(path, 128, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void
assert_str(struct str got, const char *expected)
{
	if (!str_eq(got, str_of(expected)))
		fail_msg("got \"%.*s\", expected \"%s\"", STR_FMT(got),
		    expected);
}

static struct backends *
parse(const char *json)
{
	struct backends *set = NULL;
	struct why w = WHY_INIT;

	if (backends_parse(str_of(json), "", &set, &w) != OK)
		fail_msg("%s", w.text);
	return set;
}

/* ---- The file ------------------------------------------------------- */

static void
reads_every_member(void **state)
{
	static const char pem[] = "-----BEGIN CERTIFICATE-----\nAA==\n"
	    "-----END CERTIFICATE-----\n";
	static const char json[] = "[{" ACME ","
	    "\"headers\":{\"Authorization\":\"Bearer " SECRET "\","
	    "\"X-Kind\":\"\"},\"ca\":\"be.pem\",\"ticket_key\":\"" KEY_32
	    "\",\"origins\":[\"https://Acme.example.org\","
	    "\"http://localhost:3000\"],\"subdomains\":[\"acme\",\"two\"],"
	    "\"silence_s\":60,\"batch_bytes\":2048,\"batch_documents\":7},"
	    "{\"name\":\"b\",\"token\":\"b@x\",\"prefix\":"
	    "\"HTTP://LOCALHOST:80/a/../b\"}]";
	char path[128], ca[128];
	struct why w = WHY_INIT;
	struct backends *set;

	(void)state;
	write_file("be.pem", pem, sizeof(pem) - 1, 0644, ca);
	write_file("backends.json", json, sizeof(json) - 1, 0600, path);
	if (backends_read(path, &set, &w) != OK)
		fail_msg("%s", w.text);
	assert_int_equal(backends_n(set), 2);
	const struct backend *b = backends_nth(set, 0);
	assert_str(b->name, "acme");
	assert_str(b->token, "acme-be");
	assert_str(b->prefix, "https://be.example.org/tasks/");
	assert_int_equal(b->headers_n, 2);
	assert_str(b->headers[0].name, "Authorization");
	assert_str(b->headers[0].value, "Bearer " SECRET);
	assert_str(b->headers[1].value, "");
	assert_str(b->ca, ca);
	assert_true(b->ca_hash != 0);
	assert_int_equal(b->ticket_key.n, 32);
	for (int i = 0; i < 32; i++)
		assert_int_equal(b->ticket_key.p[i], i);
	assert_int_equal(b->origins_n, 2);
	assert_str(b->origins[0], "https://acme.example.org");
	assert_str(b->origins[1], "http://localhost:3000");
	assert_int_equal(b->subdomains_n, 2);
	assert_str(b->subdomains[1], "two");
	assert_int_equal(b->silence_s, 60);
	assert_int_equal(b->batch_bytes, 2048);
	assert_int_equal(b->batch_documents, 7);

	b = backends_nth(set, 1);
	assert_str(b->prefix, "http://localhost/b");
	assert_null(b->ca.p);
	assert_null(b->ticket_key.p);
	assert_int_equal(b->headers_n + b->origins_n + b->subdomains_n, 0);
	assert_int_equal(b->silence_s, 0);
	assert_ptr_equal(backends_find(set, STR("b")), b);
	assert_null(backends_find(set, STR("c")));
	assert_ptr_equal(backends_of_token(set, STR("b@x")), b);
	assert_null(backends_of_token(set, STR("b")));
	assert_null(backends_of_token(set, STR_NONE));
	backends_release(&set);
	assert_null(set);
}

static void
read_fails(const char *path, enum err err, const char *text)
{
	struct backends *set;
	struct why w = WHY_INIT;

	assert_int_equal(backends_read(path, &set, &w), err);
	assert_null(set);
	if (strstr(w.text, text) == NULL)
		fail_msg("got \"%s\", expected \"%s\"", w.text, text);
}

static void
refuses_files(void **state)
{
	static char much[BACKENDS_FILE_BYTES_MAX + 1];
	char path[128], ca[128];
	struct backends *set;

	(void)state;
	write_file("backends.json", "[]", 2, 0640, path);
	read_fails(path, ERR_DENIED, "chmod 600");
	unlink(path);
	read_fails(path, ERR_ABSENT, path);
	memset(much, ' ', sizeof(much));
	memcpy(much, "[]", 2);
	write_file("backends.json", much, sizeof(much), 0600, path);
	read_fails(path, ERR_FULL, "larger than 1048576 bytes");
	write_file("backends.json", much, sizeof(much) - 1, 0600, path);
	assert_int_equal(backends_read(path, &set, NULL), OK);
	assert_int_equal(backends_n(set), 0);
	backends_release(&set);

	static const char json[] = "[{" ACME ",\"ca\":\"be.pem\"}]";
	write_file("backends.json", json, sizeof(json) - 1, 0600, path);
	write_file("be.pem", "no", 2, 0644, ca);
	read_fails(path, ERR_INPUT, "backends[0].ca: ");
	unlink(ca);
	read_fails(path, ERR_ABSENT, "backends[0].ca: ");
}

static void
sees_a_changed_certificate(void **state)
{
	static const char json[] = "[{" ACME ",\"ca\":\"be.pem\"}]";
	static const char pem[] = "-----BEGIN CERTIFICATE-----\nA";
	char path[128], ca[128];
	struct backends *old, *new;

	(void)state;
	write_file("backends.json", json, sizeof(json) - 1, 0600, path);
	write_file("be.pem", pem, sizeof(pem) - 1, 0644, ca);
	assert_int_equal(backends_read(path, &old, NULL), OK);
	write_file("be.pem", pem, sizeof(pem) - 2, 0644, ca);
	assert_int_equal(backends_read(path, &new, NULL), OK);
	assert_true(backends_nth(old, 0)->ca_hash !=
	    backends_nth(new, 0)->ca_hash);
	backends_release(&old);
	backends_release(&new);
}

/* ---- Members -------------------------------------------------------- */

static void
parse_fails(const char *json, enum err err, const char *text)
{
	struct backends *set;
	struct why w = WHY_INIT;
	enum err got = backends_parse(str_of(json), "", &set, &w);

	assert_null(set);
	if (got != err || strncmp(w.text, text, strlen(text)) != 0)
		fail_msg("%s: got %s, \"%s\", expected %s, \"%s\"", json,
		    err_name(got), w.text, err_name(err), text);
	if (strstr(w.text, "hush") != NULL)
		fail_msg("a secret is in \"%s\"", w.text);
}

static void
names_what_is_wrong(void **state)
{
	static const struct {
		const char *json;
		enum err err;
		const char *text;
	} cases[] = {
		{ "", ERR_INPUT, "backends: no JSON at byte 0" },
		{ "[{\"name\":\"" SECRET "\",}", ERR_INPUT,
		    "backends: no JSON at byte " },
		{ "{}", ERR_INPUT, "backends: must be an array" },
		{ "[3]", ERR_INPUT, "backends[0]: must be an object" },
		{ "[{}]", ERR_INPUT, "backends[0].name: is missing" },
		{ "[{\"name\":\"a\"}]", ERR_INPUT,
		    "backends[0].token: is missing" },
		{ "[{\"name\":\"a\",\"token\":\"a\"}]", ERR_INPUT,
		    "backends[0].prefix: is missing" },
		{ "[{\"name\":3}]", ERR_INPUT, "backends[0].name: must have" },
		{ "[{\"name\":\"\"}]", ERR_INPUT,
		    "backends[0].name: must have" },
		{ "[{\"name\":\"a b\"}]", ERR_INPUT,
		    "backends[0].name: must have" },
		{ "[{\"name\":\"a\\u0000\"}]", ERR_INPUT,
		    "backends[0].name: must have" },
		{ "[{\"name\":\"a\",\"name\":\"a\"}]", ERR_INPUT,
		    "backends[0].name: the member is there twice" },
		{ "[{" ACME ",\"silence\":1}]", ERR_INPUT,
		    "backends[0].silence: the member is not known" },
		{ "[{\"Bearer " SECRET "\":1}]", ERR_INPUT,
		    "backends[0]: a member is not known" },
		{ "[{" ACME "},{" ACME "}]", ERR_EXISTS,
		    "backends[1].name: another back end has the same" },
		{ "[{" ACME "},{\"token\":\"acme-be\"}]", ERR_EXISTS,
		    "backends[1].token: another back end has the same" },
		{ "[{\"token\":\"a/b\"}]", ERR_INPUT,
		    "backends[0].token: must have" },
		{ "[{\"prefix\":null}]", ERR_INPUT,
		    "backends[0].prefix: must begin with http:// or" },
		{ "[{\"prefix\":\"ftp://a.org/\"}]", ERR_INPUT,
		    "backends[0].prefix: must begin with http:// or" },
		{ "[{\"prefix\":\"https:///a\"}]", ERR_INPUT,
		    "backends[0].prefix: must begin with http:// or" },
		{ "[{\"prefix\":\"http://a.org/\"}]", ERR_INPUT,
		    "backends[0].prefix: must begin with https://" },
		{ "[{\"prefix\":\"http://10.0.0.1/\"}]", ERR_INPUT,
		    "backends[0].prefix: must begin with https://" },
		{ "[{\"prefix\":\"https://u:" SECRET "@a.org/\"}]", ERR_INPUT,
		    "backends[0].prefix: must have no user" },
		{ "[{\"prefix\":\"https://a.org/?" SECRET "\"}]", ERR_INPUT,
		    "backends[0].prefix: must have no query" },
		{ "[{\"prefix\":\"https://a.org/#" SECRET "\"}]", ERR_INPUT,
		    "backends[0].prefix: must have no fragment" },
		{ "[{\"prefix\":\"https://a.org\\\\b/\"}]", ERR_INPUT,
		    "backends[0].prefix: must have no blank" },
		{ "[{\"prefix\":\"https://a.org/%2e%2e%2fb/\"}]", ERR_INPUT,
		    "backends[0].prefix: must have no encoded dot" },
		{ "[{\"prefix\":\"https://[::1/\"}]", ERR_INPUT,
		    "backends[0].prefix: must be a URL" },
		{ "[{\"headers\":[]}]", ERR_INPUT,
		    "backends[0].headers: must be an object" },
		{ "[{\"headers\":{\"Authorization: Bearer " SECRET
		    "\":\"\"}}]", ERR_INPUT,
		    "backends[0].headers: the name of field 1" },
		{ "[{\"headers\":{\"hOST\":\"a\"}}]", ERR_INPUT,
		    "backends[0].headers: hOST may not be set" },
		{ "[{\"headers\":{\"Content-Length\":\"1\"}}]", ERR_INPUT,
		    "backends[0].headers: Content-Length may not be set" },
		{ "[{\"headers\":{\"Transfer-Encoding\":\"\"}}]", ERR_INPUT,
		    "backends[0].headers: Transfer-Encoding may not" },
		{ "[{\"headers\":{\"Connection\":\"\"}}]", ERR_INPUT,
		    "backends[0].headers: Connection may not be set" },
		{ "[{\"headers\":{\"A\":\"" SECRET "\",\"a\":\"\"}}]",
		    ERR_INPUT, "backends[0].headers: a is there twice" },
		{ "[{\"headers\":{\"A\":\"" SECRET "\\r\\nB: c\"}}]",
		    ERR_INPUT, "backends[0].headers: A must be a string" },
		{ "[{\"headers\":{\"A\":3}}]", ERR_INPUT,
		    "backends[0].headers: A must be a string" },
		{ "[{\"ca\":\"\"}]", ERR_INPUT, "backends[0].ca: must be" },
		{ "[{\"ca\":\"a\\u0000b\"}]", ERR_INPUT,
		    "backends[0].ca: must be a path" },
		{ "[{\"ticket_key\":\"" SECRET "\"}]", ERR_INPUT,
		    "backends[0].ticket_key: must be base64" },
		{ "[{\"ticket_key\":7}]", ERR_INPUT,
		    "backends[0].ticket_key: must be base64" },
		{ "[{\"origins\":\"https://a.org\"}]", ERR_INPUT,
		    "backends[0].origins: must be an array" },
		{ "[{\"origins\":[\"https://a.org\",3]}]", ERR_INPUT,
		    "backends[0].origins: element 2 must be an origin" },
		{ "[{\"origins\":[\"https://a.org/b\"]}]", ERR_INPUT,
		    "backends[0].origins: element 1 must be an origin" },
		{ "[{\"origins\":[\"https://a.org/?b\"]}]", ERR_INPUT,
		    "backends[0].origins: element 1 must be an origin" },
		{ "[{\"origins\":[\"null\"]}]", ERR_INPUT,
		    "backends[0].origins: element 1 must be an origin" },
		{ "[{\"subdomains\":{}}]", ERR_INPUT,
		    "backends[0].subdomains: must be an array" },
		{ "[{\"subdomains\":[\"\"]}]", ERR_INPUT,
		    "backends[0].subdomains: element 1 must have" },
		{ "[{\"subdomains\":[\"a\",\"a\"]}]", ERR_EXISTS,
		    "backends[0].subdomains: \"a\" is there twice" },
		{ "[{" ACME ",\"subdomains\":[\"a\"]},{\"subdomains\":"
		    "[\"a\"]}]", ERR_EXISTS,
		    "backends[1].subdomains: \"a\" is there twice" },
		{ "[{\"silence_s\":\"9\"}]", ERR_INPUT,
		    "backends[0].silence_s: must be an integer from 3 to" },
		{ "[{\"silence_s\":3.5}]", ERR_INPUT,
		    "backends[0].silence_s: must be an integer from 3 to" },
		{ "[{\"batch_documents\":-1}]", ERR_INPUT,
		    "backends[0].batch_documents: must be an integer from 1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		parse_fails(cases[i].json, cases[i].err, cases[i].text);
}

/* `n` times `one`, with its number for each "#", separated by commas. */
static void
repeat(struct buf *b, const char *before, const char *one, size_t n,
    const char *after)
{
	buf_clear(b);
	buf_put_text(b, before);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_put_char(b, ',');
		for (const char *c = one; *c != '\0'; c++)
			if (*c == '#')
				buf_put_decimal(b, i, 1);
			else
				buf_put_char(b, *c);
	}
	buf_put_text(b, after);
}

static void
keeps_limits_of_lists(void **state)
{
	static const struct {
		const char *before, *one, *after, *text;
		size_t most;
	} cases[] = {
		{ "[", "{\"name\":\"a#\",\"token\":\"a#\",\"prefix\":"
		    "\"https://a/\"}", "]", "backends: must have at most 100",
		    BACKENDS_MAX },
		{ "[{" ACME ",\"headers\":{", "\"X-#\":\"\"", "}}]",
		    "backends[0].headers: must have at most 32",
		    BACKEND_HEADERS_MAX },
		{ "[{" ACME ",\"origins\":[", "\"https://a#.org\"", "]}]",
		    "backends[0].origins: must have at most 64",
		    BACKEND_ORIGINS_MAX },
		{ "[{" ACME ",\"subdomains\":[", "\"a#\"", "]}]",
		    "backends[0].subdomains: must have at most 1000",
		    BACKEND_SUBDOMAINS_MAX },
	};
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		repeat(&b, cases[i].before, cases[i].one, cases[i].most,
		    cases[i].after);
		struct backends *set = parse(buf_text(&b));
		backends_release(&set);
		repeat(&b, cases[i].before, cases[i].one, cases[i].most + 1,
		    cases[i].after);
		parse_fails(buf_text(&b), ERR_FULL, cases[i].text);
	}
	buf_free(&b);
}

/* `member` with a text of so many letters. */
static void
put_text_of(struct buf *b, const char *member, char letter, size_t n)
{
	buf_clear(b);
	buf_printf(b, "[{\"token\":\"a\",\"prefix\":\"https://a/\",%s\"%s\":",
	    strcmp(member, "name") == 0 ? "" : "\"name\":\"a\",", member);
	buf_put_text(b, strcmp(member, "headers") == 0 ? "{\"A\":\"" : "\"");
	for (size_t i = 0; i < n; i++)
		buf_put_char(b, letter);
	buf_put_text(b, strcmp(member, "headers") == 0 ? "\"}}]" : "\"}]");
}

static void
keeps_limits_of_values(void **state)
{
	static const struct {
		const char *member;
		enum err err;
		size_t least, most;
	} texts[] = {
		{ "name", ERR_INPUT, 1, BACKEND_NAME_BYTES_MAX },
		{ "headers", ERR_FULL, 0, BACKEND_HEADER_BYTES_MAX },
		/* Letters of base64 for 32 and for 1024 bytes. */
		{ "ticket_key", ERR_INPUT, 43, 1366 },
	};
	static const struct {
		const char *member;
		long long least, most;
	} numbers[] = {
		{ "silence_s", BACKEND_SILENCE_S_MIN, BACKEND_SILENCE_S_MAX },
		{ "batch_bytes", BACKEND_BATCH_BYTES_MIN,
		    BACKEND_BATCH_BYTES_MAX },
		{ "batch_documents", 1, BACKEND_BATCH_DOCUMENTS_MAX },
	};
	struct buf b = BUF_INIT;
	char json[200], text[80];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		snprintf(text, sizeof(text), "backends[0].%s: ",
		    texts[i].member);
		for (int most = 0; most <= 1; most++) {
			put_text_of(&b, texts[i].member, 'A', most ?
			    texts[i].most : texts[i].least);
			struct backends *set = parse(buf_text(&b));
			backends_release(&set);
		}
		put_text_of(&b, texts[i].member, 'A', texts[i].most + 1);
		parse_fails(buf_text(&b), texts[i].err, text);
		if (texts[i].least == 0)
			continue;
		put_text_of(&b, texts[i].member, 'A', texts[i].least - 1);
		parse_fails(buf_text(&b), texts[i].err, text);
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		long long values[] = { numbers[i].least, numbers[i].most,
		    numbers[i].least - 1, numbers[i].most + 1 };
		snprintf(text, sizeof(text), "backends[0].%s: must be an "
		    "integer", numbers[i].member);
		for (size_t k = 0; k < ARRAY_LEN(values); k++) {
			snprintf(json, sizeof(json), "[{" ACME ",\"%s\":%lld}]",
			    numbers[i].member, values[k]);
			if (k >= 2) {
				parse_fails(json, ERR_INPUT, text);
				continue;
			}
			struct backends *set = parse(json);
			backends_release(&set);
		}
	}
	buf_free(&b);
}

/* ---- Users ---------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 20000

static void *
hold_and_release(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct backends *set = backends_hold(arg);
		assert_non_null(backends_find(set, STR("acme")));
		backends_release(&set);
	}
	return NULL;
}

static void
counts_users_of_threads(void **state)
{
	struct backends *set = parse("[{" ACME ",\"ticket_key\":\"" KEY_32
	    "\"}]");
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
		    hold_and_release, set), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(backends_nth(set, 0)->ticket_key.p[31], 31);
	backends_release(&set);
	backends_release(&set);
}

/* ---- URLs ----------------------------------------------------------- */

static void
admits_what_is_below_its_prefix(void **state)
{
	static const struct {
		const char *prefix, *endpoint, *url;    /* NULL: refused */
		enum err err;
	} cases[] = {
		{ "https://a.org/tasks/", "https://a.org/tasks/t1",
		    "https://a.org/tasks/t1", OK },
		{ "https://a.org/tasks/", "https://a.org/tasks/t1?sig=a%2Fb",
		    "https://a.org/tasks/t1?sig=a%2Fb", OK },
		{ "https://a.org/tasks/", "https://a.org/tasks/",
		    "https://a.org/tasks/", OK },
		{ "https://a.org/tasks/", "https://a.org/tasks", NULL,
		    ERR_DENIED },
		{ "https://a.org/tasks", "https://a.org/tasks",
		    "https://a.org/tasks", OK },
		{ "https://a.org/tasks", "https://a.org/tasks?a",
		    "https://a.org/tasks?a", OK },
		{ "https://a.org/tasks", "https://a.org/tasks/t1",
		    "https://a.org/tasks/t1", OK },
		{ "https://a.org/tasks", "https://a.org/tasksX", NULL,
		    ERR_DENIED },
		{ "https://a.org/tasks", "https://a.org/", NULL, ERR_DENIED },
		{ "https://a.org", "https://a.org/any", "https://a.org/any",
		    OK },
		{ "https://a.org/", "https://a.org", "https://a.org/", OK },
		/* Case, ports. */
		{ "https://a.org/t/", "HTTPS://A.ORG:443/t/1",
		    "https://a.org/t/1", OK },
		{ "https://a.org:443/t/", "https://a.org/t/1",
		    "https://a.org/t/1", OK },
		{ "https://a.org/t/", "https://a.org/T/1", NULL, ERR_DENIED },
		{ "https://a.org/t/", "https://a.org:8443/t/1", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://a.org:80/t/1", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "http://a.org:443/t/1", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://a.org./t/1", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://a.org.evil.test/t/1", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://b.a.org/t/1", NULL,
		    ERR_DENIED },
		{ "https://127.0.0.1/t/", "https://2130706433/t/1",
		    "https://127.0.0.1/t/1", OK },
		/* Dot segments. */
		{ "https://a.org/t/", "https://a.org/t/x/../1",
		    "https://a.org/t/1", OK },
		{ "https://a.org/t/", "https://a.org/b/../t/1",
		    "https://a.org/t/1", OK },
		{ "https://a.org/t/", "https://a.org/t/../b", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://a.org/t/%2e%2E/b", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://a.org/t/.%2e/b", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://a.org/t/..%2fb", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://a.org/t/%2e%2e%5Cb", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://a.org/t/%252e%252e/b", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://a.org/t/..;a/b", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/",
		    "https://a.org/t/%25252525252525252525", NULL,
		    ERR_DENIED },
		{ "https://a.org/t/", "https://a.org/t/a..b/..c?x=/../",
		    "https://a.org/t/a..b/..c?x=/../", OK },
		{ "https://a.org/t/", "https://a.org/t/a%20b",
		    "https://a.org/t/a%20b", OK },
		/* These are not plain URLs. */
		{ "https://a.org/", "", NULL, ERR_INPUT },
		{ "https://a.org/", "/t/1", NULL, ERR_INPUT },
		{ "https://a.org/", "//a.org/t", NULL, ERR_INPUT },
		{ "https://a.org/", "https:a.org/t", NULL, ERR_INPUT },
		{ "https://a.org/", "https:/a.org/t", NULL, ERR_INPUT },
		{ "https://a.org/", "https:///a.org/t", NULL, ERR_INPUT },
		{ "https://a.org/", "ftp://a.org/t", NULL, ERR_INPUT },
		{ "https://a.org/", "file:///etc/passwd", NULL, ERR_INPUT },
		{ "https://a.org/", "javascript:alert(1)", NULL, ERR_INPUT },
		{ "https://a.org/", "https://u@a.org/", NULL, ERR_INPUT },
		{ "https://a.org/", "https://@a.org/", NULL, ERR_INPUT },
		{ "https://a.org/", "https://u:p@a.org/", NULL, ERR_INPUT },
		{ "https://a.org/", "https://a.org/#a", NULL, ERR_INPUT },
		{ "https://a.org/", "https://a.org/#", NULL, ERR_INPUT },
		{ "https://a.org/", "https://a.org\\t", NULL, ERR_INPUT },
		{ "https://a.org/", "https://a.org/t\\1", NULL, ERR_INPUT },
		{ "https://a.org/", " https://a.org/t", NULL, ERR_INPUT },
		{ "https://a.org/", "https://a.org/\t", NULL, ERR_INPUT },
		{ "https://a.org/", "https://a.org/a\nb", NULL, ERR_INPUT },
		{ "https://a.org/", "https://a.org:99999/", NULL,
		    ERR_INPUT },
		{ "https://a.org/", "https://a.org/@b", "https://a.org/@b",
		    OK },
		/* Plain HTTP. */
		{ "http://localhost:1/t/", "http://localhost:1/t/1",
		    "http://localhost:1/t/1", OK },
		{ "http://[::1]:1/t/", "http://[0:0::1]:1/t/1",
		    "http://[::1]:1/t/1", OK },
		{ "http://127.0.0.1/t/", "http://localhost/t/1", NULL,
		    ERR_DENIED },
	};
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct why w = WHY_INIT;
		struct str url, json = arena_printf(&a, "[{\"name\":\"a\","
		    "\"token\":\"a\",\"prefix\":\"%s\"}]", cases[i].prefix);
		struct backends *set = parse(json.p);
		enum err got = backend_admit(backends_nth(set, 0),
		    str_of(cases[i].endpoint), &url, &a, &w);
		if (got != cases[i].err)
			fail_msg("%s: got %s, \"%s\"", cases[i].endpoint,
			    err_name(got), w.text);
		if (!str_eq(url, str_of(cases[i].url)))
			fail_msg("%s is %.*s", cases[i].endpoint,
			    STR_FMT(url));
		assert_true(got == OK || strcmp(w.field, "endpoint") == 0);
		backends_release(&set);
	}
	arena_free(&a);
}

static void
keeps_the_limit_of_urls(void **state)
{
	struct backends *set = parse("[{" ACME "}]");
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct str url;

	(void)state;
	buf_put_text(&b, "https://be.example.org/tasks/");
	while (b.n < BACKEND_URL_BYTES_MAX)
		buf_put_char(&b, 'a');
	assert_int_equal(backend_admit(backends_nth(set, 0), buf_str(&b),
	    &url, &a, NULL), OK);
	buf_put_char(&b, 'a');
	assert_int_equal(backend_admit(backends_nth(set, 0), buf_str(&b),
	    &url, &a, NULL), ERR_INPUT);
	buf_free(&b);
	arena_free(&a);
	backends_release(&set);
}

static void
serves_loopback_without_a_file(void **state)
{
	static const struct {
		const char *endpoint;
		enum err err;
	} cases[] = {
		{ "http://127.0.0.1:3333/t", OK },
		{ "https://127.9.9.9/t", OK },
		{ "http://localhost/", OK },
		{ "http://a.localhost/", OK },
		{ "http://[::1]:8/", OK },
		{ "http://0x7f.1/", OK },
		{ "http://[::ffff:127.0.0.1]/", OK },
		{ "http://0.0.0.0/", ERR_DENIED },
		/* A gateway would take it for 127.0.0.1, of its own. */
		{ "http://[64:ff9b::7f00:1]/", ERR_DENIED },
		{ "http://10.0.0.1/", ERR_DENIED },
		{ "http://169.254.169.254/", ERR_DENIED },
		{ "https://example.org/", ERR_DENIED },
		{ "http://localhost.example.org/", ERR_DENIED },
		{ "http://alocalhost/", ERR_DENIED },
		{ "http://localhost/%2e%2e%2f", ERR_DENIED },
		{ "ftp://localhost/", ERR_INPUT },
	};
	struct backends *set = backends_local();
	const struct backend *b = backends_find(set, STR("local"));
	struct arena a = ARENA_INIT;
	struct str url;

	(void)state;
	assert_int_equal(backends_n(set), 1);
	assert_ptr_equal(b, backends_nth(set, 0));
	assert_null(backends_of_token(set, STR("")));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (backend_admit(b, str_of(cases[i].endpoint), &url, &a,
		    NULL) != cases[i].err)
			fail_msg("%s", cases[i].endpoint);
	arena_free(&a);
	backends_release(&set);
}

static bool
allows(const struct backend *b, const char *host, const char *ip)
{
	struct ip address;

	assert_true(ip_from_text(str_of(ip), &address));
	return backend_allows_address(b, str_of(host), &address);
}

static void
judges_connected_addresses(void **state)
{
	static const struct {
		const char *prefix, *host, *ip;         /* NULL: local */
		bool allowed;
	} cases[] = {
		{ "https://be.test/", "be.test", "93.184.216.34", true },
		{ "https://be.test/", "be.test", "2606:2800:220:1::1", true },
		{ "https://be.test/", "be.test", "10.0.0.1", false },
		{ "https://be.test/", "be.test", "127.0.0.1", false },
		{ "https://be.test/", "be.test", "169.254.169.254", false },
		{ "https://be.test/", "be.test", "fd00:ec2::254", false },
		{ "https://be.test/", "be.test", "64:ff9b::7f00:1", false },
		{ "https://be.test/", "other.test", "93.184.216.34", false },
		{ "https://10.0.0.7/", "10.0.0.7", "10.0.0.7", true },
		{ "https://10.0.0.7/", "10.0.0.7", "10.0.0.8", false },
		{ "https://10.0.0.7/", "10.0.0.7", "93.184.216.34", false },
		{ "https://[fd00::7]/", "[fd00::7]", "fd00::7", true },
		{ "https://[fd00::7]/", "fd00::7", "fd00::7", true },
		{ "https://[fd00::7]/", "[fd00::7]", "fd00::8", false },
		{ "http://localhost/", "localhost", "127.0.0.1", true },
		{ "http://localhost/", "localhost", "::1", true },
		{ "http://localhost/", "localhost", "93.184.216.34", false },
		{ "https://a.localhost/", "a.localhost", "10.0.0.1", false },
		{ "http://127.0.0.1/", "127.0.0.1", "127.0.0.1", true },
		{ NULL, "127.0.0.1", "127.0.0.1", true },
		{ NULL, "[::1]", "::1", true },
		{ NULL, "localhost", "::1", true },
		{ NULL, "[64:ff9b::7f00:1]", "64:ff9b::7f00:1", false },
		{ NULL, "localhost", "10.0.0.1", false },
		{ NULL, "10.0.0.1", "10.0.0.1", false },
		{ NULL, "be.test", "127.0.0.1", false },
		{ NULL, "be.test", "93.184.216.34", false },
	};
	char json[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct backends *set = NULL;
		snprintf(json, sizeof(json), "[{\"name\":\"a\",\"token\":\"a\""
		    ",\"prefix\":\"%s\"}]", cases[i].prefix == NULL ? "" :
		    cases[i].prefix);
		set = cases[i].prefix == NULL ? backends_local() :
		    parse(json);
		if (allows(backends_nth(set, 0), cases[i].host, cases[i].ip)
		    != cases[i].allowed)
			fail_msg("%s at %s", cases[i].host, cases[i].ip);
		backends_release(&set);
	}
}

/* Whether the connection would be made, if the name is looked up nowhere. */
static bool
would_connect(const struct backend *b, struct str endpoint, struct arena *a)
{
	struct str url, host;
	struct url u;
	struct ip ip;

	if (backend_admit(b, endpoint, &url, a, NULL) != OK)
		return false;
	assert_int_equal(url_parse(url, NULL, a, &u, NULL), OK);
	host = u.host;
	if (host.p[0] == '[')
		host = str_cut(host, 1, host.n - 1);
	return !ip_from_text(host, &ip) ||
	    backend_allows_address(b, u.host, &ip);
}

static void
refuses_forged_requests(void **state)
{
	struct backends *acme = parse("[{" ACME "}]");
	struct backends *local = backends_local();
	FILE *f = fopen(suite_path("own/ssrf-urls.tsv"), "r");
	struct arena a = ARENA_INIT;
	char line[4096];
	size_t n = 0, loopback = 0;

	(void)state;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		struct str rest = str_trim(str_of(line)), verdict, url;
		if (line[0] == '#' || !str_split(&rest, '\t', &verdict) ||
		    !str_split(&rest, '\t', &url))
			continue;
		n++;
		if (would_connect(backends_nth(acme, 0), url, &a))
			fail_msg("acme: %.*s", STR_FMT(url));
		if (!would_connect(backends_nth(local, 0), url, &a))
			continue;
		loopback++;
		if (!str_eq(verdict, STR("deny")))
			fail_msg("local: %.*s", STR_FMT(url));
	}
	if (f != NULL)
		fclose(f);
	arena_free(&a);
	backends_release(&acme);
	backends_release(&local);
	if (f == NULL) {
		print_message("suites: own/ssrf-urls.tsv is absent\n");
		skip();
	}
	print_message("conformance: ssrf-urls.tsv: %zu URLs, %zu of them "
	    "loopback\n", n, loopback);
	assert_true(n > 50 && loopback > 5 && loopback < n / 2);
}

static void
appends_behind_the_path(void **state)
{
	static const struct {
		const char *url, *out;          /* NULL: refused */
	} cases[] = {
		{ "https://a.org/t/1", "https://a.org/t/1/upload" },
		{ "https://a.org/t/1/", "https://a.org/t/1/upload" },
		{ "https://a.org/", "https://a.org/upload" },
		{ "https://a.org/t?sig=a/b?c", "https://a.org/t/upload"
		    "?sig=a/b?c" },
		{ "https://a.org/t/?", "https://a.org/t/upload?" },
		{ "https://a.org/t#x", NULL },
		{ "mailto:a", NULL },
		{ "", NULL },
	};
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_clear(&b);
		enum err e = backend_append_path(str_of(cases[i].url),
		    "/upload", &b);
		assert_int_equal(e, cases[i].out == NULL ? ERR_INPUT : OK);
		assert_str(buf_str(&b), cases[i].out == NULL ? "" :
		    cases[i].out);
	}
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_member),
		cmocka_unit_test(refuses_files),
		cmocka_unit_test(sees_a_changed_certificate),
		cmocka_unit_test(names_what_is_wrong),
		cmocka_unit_test(keeps_limits_of_lists),
		cmocka_unit_test(keeps_limits_of_values),
		cmocka_unit_test(counts_users_of_threads),
		cmocka_unit_test(admits_what_is_below_its_prefix),
		cmocka_unit_test(keeps_the_limit_of_urls),
		cmocka_unit_test(serves_loopback_without_a_file),
		cmocka_unit_test(judges_connected_addresses),
		cmocka_unit_test(refuses_forged_requests),
		cmocka_unit_test(appends_behind_the_path),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
