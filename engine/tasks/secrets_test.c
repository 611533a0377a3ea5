#include "engine/tasks/secrets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/text.h"

static const char two[] = "{\"shop\":{\"value\":\"p\\\"ss w&rd\",\"hosts\":"
    "[\"shop.example\",\"www.shop.example\"]},\"other-1.x\":{\"value\":"
    "\"12345678\",\"hosts\":[\"o.example\"]}}";

/* What a file of secrets says, and the error. */
static void
faults_name_their_place(void **state)
{
	static const struct {
		const char *json;
		enum err err;
		const char *text;
	} rows[] = {
		{ "", ERR_INPUT, "it is no JSON" },
		{ "[]", ERR_INPUT, "it is no JSON object of secrets" },
		{ "{\"a b\":{}}", ERR_INPUT, "secret 1: its name is not 1 to "
		    "64 letters, digits, \"_\", \".\" or \"-\"" },
		{ "{\"a\\u0000\":{}}", ERR_INPUT, "secret 1: its name is not "
		    "1 to 64 letters, digits, \"_\", \".\" or \"-\"" },
		{ "{\"a\":1}", ERR_INPUT,
		    "a: it is no object with value and hosts" },
		{ "{\"a\":{}}", ERR_INPUT, "a.value: it is no text" },
		{ "{\"a\":{\"value\":\"1234567\",\"hosts\":[\"h\"]}}",
		    ERR_INPUT, "a.value: it has fewer than 8 bytes" },
		{ "{\"a\":{\"value\":\"1234\\n5678\",\"hosts\":[\"h\"]}}",
		    ERR_INPUT, "a.value: it has a control character" },
		{ "{\"a\":{\"value\":\"12345678\"}}", ERR_INPUT,
		    "a.hosts: it is no list of host names" },
		{ "{\"a\":{\"value\":\"12345678\",\"hosts\":[]}}", ERR_INPUT,
		    "a.hosts: it is no list of host names" },
		{ "{\"a\":{\"value\":\"12345678\",\"hosts\":[1]}}", ERR_INPUT,
		    "a.hosts: an element is no host name" },
		{ "{\"a\":{\"value\":\"12345678\",\"hosts\":[\"h\"],\"x\":1}}",
		    ERR_INPUT,
		    "a: it has a member other than value and hosts" },
		{ "{\"a\":{\"value\":\"12345678\",\"hosts\":[\"h\"]},"
		    "\"a\":{\"value\":\"12345678\",\"hosts\":[\"h\"]}}",
		    ERR_EXISTS, "a: it is there twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct why w = WHY_INIT;
		struct secrets *s;
		enum err e = secrets_parse(str_of(rows[i].json), &s, &w);
		if (e != rows[i].err || strcmp(w.text, rows[i].text) != 0)
			fail_msg("%s: %s: %s", rows[i].json, err_name(e),
			    w.text);
		assert_null(s);
	}
}

static void
limits_hold_at_their_edges(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct secrets *s;

	(void)state;
	for (int n = SECRETS_MAX; n <= SECRETS_MAX + 1; n++) {
		buf_clear(&b);
		for (int i = 0; i < n; i++)
			buf_printf(&b, "%c\"s%d\":{\"value\":\"value-%d---\","
			    "\"hosts\":[\"h\"]}", i == 0 ? '{' : ',', i, i);
		buf_put_char(&b, '}');
		assert_int_equal(secrets_parse(buf_str(&b), &s, NULL),
		    n <= SECRETS_MAX ? OK : ERR_FULL);
		secrets_drop(&s);
	}
	for (unsigned n = SECRET_VALUE_BYTES_MAX;
	    n <= SECRET_VALUE_BYTES_MAX + 1; n++) {
		buf_clear(&b);
		buf_printf(&b, "{\"s\":{\"hosts\":[\"h\"],\"value\":\"%0*d\"}}",
		    (int)n, 1);
		assert_int_equal(secrets_parse(buf_str(&b), &s, NULL),
		    n <= SECRET_VALUE_BYTES_MAX ? OK : ERR_FULL);
		secrets_drop(&s);
	}
	for (unsigned n = SECRET_HOSTS_MAX; n <= SECRET_HOSTS_MAX + 1; n++) {
		buf_clear(&b);
		buf_put_text(&b, "{\"s\":{\"value\":\"12345678\",\"hosts\":[");
		for (unsigned i = 0; i < n; i++)
			buf_printf(&b, "%s\"h%u\"", i == 0 ? "" : ",", i);
		buf_put_text(&b, "]}}");
		assert_int_equal(secrets_parse(buf_str(&b), &s, NULL),
		    n <= SECRET_HOSTS_MAX ? OK : ERR_FULL);
		secrets_drop(&s);
	}
}

static void
values_replace_placeholders(void **state)
{
	static const struct {
		enum secret_place place;
		const char *host, *text, *out;
		enum err err;
	} rows[] = {
		{ SECRET_IN_HEADER, "x.example", "none", "none", OK },
		{ SECRET_IN_HEADER, "shop.example", "Bearer {{secret.shop}}",
		    "Bearer p\"ss w&rd", OK },
		{ SECRET_IN_HEADER, "WWW.Shop.Example", "{{secret.shop}}",
		    "p\"ss w&rd", OK },
		{ SECRET_IN_URL, "shop.example", "http://shop.example/?k="
		    "{{secret.shop}}&l={{secret.shop}}", "http://shop.example/"
		    "?k=p%22ss%20w%26rd&l=p%22ss%20w%26rd", OK },
		{ SECRET_IN_URL, "shop.example", "/%7B%7Bsecret.shop%7D%7D/a",
		    "/p%22ss%20w%26rd/a", OK },
		{ SECRET_IN_BODY, "shop.example", "a=%7b%7bsecret.shop%7d%7d",
		    "a=p%22ss%20w%26rd", OK },
		{ SECRET_IN_BODY, "shop.example", "{{secret.shop}}",
		    "p\"ss w&rd", OK },
		{ SECRET_IN_JSON, "shop.example", "{\"p\":\"{{secret.shop}}\"}",
		    "{\"p\":\"p\\\"ss w&rd\"}", OK },
		{ SECRET_IN_BODY, "o.example", "{{secret.other-1.x}}",
		    "12345678", OK },
		{ SECRET_IN_BODY, "o.example", "{{secret.shop}}", NULL,
		    ERR_DENIED },
		{ SECRET_IN_BODY, "evil-shop.example", "{{secret.shop}}", NULL,
		    ERR_DENIED },
		{ SECRET_IN_BODY, "o.example",
		    "{{secret.other-1.x}}{{secret.shop}}", NULL, ERR_DENIED },
		{ SECRET_IN_BODY, "o.example", "{{secret.none}}", NULL,
		    ERR_ABSENT },
		{ SECRET_IN_BODY, "o.example", "{{secret.open",
		    "{{secret.open", OK },
	};
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct secrets *s;

	(void)state;
	assert_int_equal(secrets_parse(str_of(two), &s, NULL), OK);
	assert_true(secrets_has(s, STR("shop")));
	assert_false(secrets_has(s, STR("sho")));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct why w = WHY_INIT;
		struct str out;
		enum err e = secrets_fill(s, rows[i].place,
		    str_of(rows[i].text), str_of(rows[i].host), &a, &out, &w);
		if (e != rows[i].err || (e == OK &&
		    !str_eq(out, str_of(rows[i].out))))
			fail_msg("%s: %s %.*s", rows[i].text, err_name(e),
			    STR_FMT(out));
		/* An error shows the name, never the value. */
		assert_null(strstr(w.text, "ss w"));
		assert_null(strstr(w.text, "12345678"));
	}
	secrets_drop(&s);
}

static void
placeholders_are_recognised(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct secrets *s;

	(void)state;
	assert_int_equal(secrets_parse(str_of(two), &s, NULL), OK);
	secrets_put_placeholder(STR("shop"), &b);
	assert_true(str_eq(buf_str(&b), STR("{{secret.shop}}")));
	assert_true(secrets_in(s, buf_str(&b)));
	assert_true(secrets_in(s, STR("x%7B%7bSECRET.a%7D%7D")));
	assert_false(secrets_in(s, STR("{{secret.a}")));
	assert_false(secrets_in(s, STR("{{credential.shop}}")));
	assert_false(secrets_in(s, STR("")));
	secrets_drop(&s);
}

/* A connector's credential has its own word, and hosts with ports. */
static void
a_credential_is_filled_in_for_its_hosts(void **state)
{
	static const struct str hosts[] = { STR("a.example"),
		STR("127.0.0.1:80") };
	static const struct secret_value values[] = {
		{ STR("token"), STR("canary-4711") },
		{ STR("pin"), STR("x y") } };
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct secrets *s = secrets_of_credential(values, ARRAY_LEN(values),
	    hosts, ARRAY_LEN(hosts), NULL, 0);
	struct str out, text = STR("/{{credential.pin}}/{{secret.token}}");

	(void)state;
	secrets_put_credential_placeholder(STR("token"), &b);
	assert_true(str_eq(buf_str(&b), STR("{{credential.token}}")));
	assert_true(secrets_in(s, buf_str(&b)));
	assert_false(secrets_in(s, STR("{{secret.token}}")));
	assert_int_equal(secrets_fill(s, SECRET_IN_URL, text,
	    STR("127.0.0.1:80"), &a, &out, NULL), OK);
	assert_true(str_eq(out, STR("/x%20y/{{secret.token}}")));
	assert_int_equal(secrets_fill(s, SECRET_IN_URL, text,
	    STR("127.0.0.1"), &a, &out, NULL), ERR_DENIED);
	assert_int_equal(secrets_fill(s, SECRET_IN_URL, text, STR(""), &a,
	    &out, NULL), ERR_DENIED);
	assert_int_equal(secrets_fill(s, SECRET_IN_HEADER,
	    STR("{{credential.no}}"), STR("a.example"), &a, &out, NULL),
	    ERR_ABSENT);
	assert_true(redact_finds(secrets_redactor(s), STR("canary-4711")));
	secrets_drop(&s);
}

/* Archives of what connectors ask have none of its forms, and say so where they
 * cannot know. */
static void
a_credential_is_found_as_json(void **state)
{
	static const struct str hosts[] = { STR("a.example") };
	static const struct secret_value values[] = {
		{ STR("token"), STR("ca\"nary \\ 4711") },
		{ STR("least"), STR("12345678") },
		{ STR("pin"), STR("1234567") } };
	FREED(buf_free) struct buf out = BUF_INIT, names = BUF_INIT;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct secrets *s = secrets_of_credential(values, ARRAY_LEN(values),
	    hosts, ARRAY_LEN(hosts), NULL, 0);
	struct str body;

	(void)state;
	assert_int_equal(secrets_fill(s, SECRET_IN_JSON, STR("{\"a\":"
	    "\"{{credential.token}}\",\"b\":\"{{credential.least}}\"}"),
	    hosts[0], &a, &body, NULL), OK);
	assert_true(redact_text(secrets_api_redactor(s), body, &out, &names));
	assert_true(str_eq(buf_str(&out), STR("{\"a\":\"REDACTED\",\"b\":"
	    "\"REDACTED\"}")));
	assert_true(secrets_cannot_redact(s, STR("a{{credential.token}}b"
	    "{{credential.pin}}")));
	assert_true(secrets_cannot_redact(s, STR("%7B%7Bcredential.pin%7D%7D"
	    )));
	assert_false(secrets_cannot_redact(s, STR("{{credential.token}}"
	    "{{credential.least}}{{credential.no}}pin")));
	secrets_drop(&s);
	assert_int_equal(secrets_load(NULL, &s, NULL), OK);
	assert_null(secrets_api_redactor(s));
	secrets_drop(&s);
}

/* An earlier credential's values are in no record. */
static void
former_values_are_taken_out(void **state)
{
	static const struct str hosts[] = { STR("a.example") };
	static const struct secret_value value = { STR("token"),
		STR("canary-new") };
	static const struct str former[] = { STR("canary-\"old"),
		STR("canary-older") };
	FREED(buf_free) struct buf out = BUF_INIT, names = BUF_INIT;
	struct secrets *s = secrets_of_credential(&value, 1, hosts, 1, former,
	    ARRAY_LEN(former));
	size_t n;

	(void)state;
	assert_true(redact_text(secrets_api_redactor(s), STR("canary-new, "
	    "canary-\"old, canary-\\\"old, canary-older, canary"), &out,
	    &names));
	assert_true(str_eq(buf_str(&out), STR("REDACTED, REDACTED, REDACTED, "
	    "REDACTED, canary")));
	assert_true(redact_finds(secrets_session_redactor(s), former[1]));
	assert_true(redact_finds(secrets_redactor(s), former[0]));
	const struct str *all = secrets_credential_values(s, &n);
	assert_int_equal(n, 3);
	assert_true(str_eq(all[0], value.value) && str_eq(all[2], former[1]));
	secrets_drop(&s);
	assert_int_equal(secrets_load(NULL, &s, NULL), OK);
	assert_null(secrets_credential_values(s, &n));
	assert_int_equal(n, 0);
	secrets_drop(&s);
}

/* Values that are long when JSON has them. */
static void
long_values_are_known_not_to_be_found(void **state)
{
	static char text[REDACT_VALUE_BYTES_MAX / 6 + 1];
	static const struct str hosts[] = { STR("a.example") };

	(void)state;
	memset(text, '"', sizeof(text));
	for (size_t more = 0; more <= 1; more++) {
		const struct secret_value v = { STR("token"),
			{ text, sizeof(text) - 1 + more } };
		struct secrets *s = secrets_of_credential(&v, 1, hosts, 1,
		    NULL, 0);
		assert_int_equal(secrets_cannot_redact(s,
		    STR("{{credential.token}}")), more);
		secrets_drop(&s);
	}
	/* More of them than a redactor has. */
	static struct secret_value many[REDACT_VALUES_MAX / 2 + 1];
	static char names[ARRAY_LEN(many)][8];
	for (size_t less = 0; less <= 1; less++) {
		size_t n = ARRAY_LEN(many) - less;
		for (size_t i = 0; i < n; i++) {
			snprintf(names[i], sizeof(names[i]), "n%zu", i);
			many[i] = (struct secret_value){ str_of(names[i]),
				{ text, 8 } };
		}
		struct secrets *s = secrets_of_credential(many, n, hosts, 1,
		    NULL, 0);
		assert_int_equal(secrets_cannot_redact(s,
		    STR("{{credential.n0}}")), !less);
		secrets_drop(&s);
	}
}

static void
answers_lose_every_form_of_a_value(void **state)
{
	FREED(buf_free) struct buf out = BUF_INIT, names = BUF_INIT;
	struct secrets *s;

	(void)state;
	assert_int_equal(secrets_parse(str_of(two), &s, NULL), OK);
	assert_true(redact_text(secrets_redactor(s), STR("a 12345678 b "
	    "MTIzNDU2Nzg= c p%22ss%20w%26rd"), &out, &names));
	/* Of base64 the letters that the value alone decides. */
	assert_true(str_eq(buf_str(&out), STR("a REDACTED b REDACTEDg= c "
	    "REDACTED")));
	secrets_drop(&s);
	assert_int_equal(secrets_load(NULL, &s, NULL), OK);
	assert_false(redact_has_values(secrets_redactor(s)));
	secrets_drop(&s);
}

static void
write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void
a_file_is_its_owners_alone(void **state)
{
	char path[] = "secrets-XXXXXX";
	struct why w = WHY_INIT;
	struct secrets *s, *same;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	write_file(path, two, 0600);
	assert_int_equal(secrets_load(path, &s, NULL), OK);
	same = secrets_hold(s);
	secrets_drop(&s);
	assert_true(secrets_has(same, STR("shop")));
	secrets_drop(&same);
	write_file(path, two, 0640);
	assert_int_equal(secrets_load(path, &s, &w), ERR_DENIED);
	assert_string_equal(w.field, "script.secrets_file");
	assert_non_null(strstr(w.text, "chmod 600"));
	remove(path);
	w = WHY_INIT;
	assert_int_equal(secrets_load(path, &s, &w), ERR_ABSENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_name_their_place),
		cmocka_unit_test(limits_hold_at_their_edges),
		cmocka_unit_test(values_replace_placeholders),
		cmocka_unit_test(placeholders_are_recognised),
		cmocka_unit_test(a_credential_is_filled_in_for_its_hosts),
		cmocka_unit_test(a_credential_is_found_as_json),
		cmocka_unit_test(former_values_are_taken_out),
		cmocka_unit_test(long_values_are_known_not_to_be_found),
		cmocka_unit_test(answers_lose_every_form_of_a_value),
		cmocka_unit_test(a_file_is_its_owners_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
