/* The examples of RFC 5849 and of Twitter's documentation. */
#include "wire/oauth1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
expect(void (*put)(const struct oauth1_keys *, const struct oauth1_request *,
    struct buf *), const struct oauth1_keys *k, const struct oauth1_request *r,
    const char *want)
{
	struct buf out = BUF_INIT;

	put(k, r, &out);
	assert_string_equal(buf_text(&out), want);
	buf_free(&out);
}

/* RFC 5849 §3.4.1.1: names twice, encoded equals signs, blanks as "+". */
static void
the_base_string_of_the_rfc(void **state)
{
	const struct oauth1_keys k = { STR("9djdj82h48djs9d2"),
		STR("j49sk3j29djd"), STR("kkk9d7dh3k39sjv7"),
		STR("dh893hdasih9") };
	const struct oauth1_request r = { .method = STR("POST"),
		.url = STR("http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a"
		    "&c%40=&a2=r%20b"), .form = STR("c2&a3=2+q"),
		.nonce = STR("7d8f3e4a"), .timestamp_s = 137131201 };

	(void)state;
	expect(oauth1_put_base_string, &k, &r, "POST&http%3A%2F%2Fexample.com"
	    "%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%2525"
	    "3D%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26"
	    "oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26"
	    "oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7");
}

/* RFC 5849 §1.2: the client exchanges its temporary credentials. */
static void
a_verifier_is_signed(void **state)
{
	const struct oauth1_keys k = { STR("dpf43f3p2l4k3l03"),
		STR("kd94hf93k423kf44"), STR("hh5s93j4hdidpola"),
		STR("hdhd0244k9j7ao03") };
	const struct oauth1_request r = { .method = STR("POST"),
		.url = STR("https://photos.example.net/token"),
		.nonce = STR("walatlh"), .timestamp_s = 137131201,
		.verifier = STR("hfdp7dh39dks9884") };

	(void)state;
	expect(oauth1_put_header, &k, &r, "OAuth oauth_consumer_key="
	    "\"dpf43f3p2l4k3l03\", oauth_nonce=\"walatlh\", "
	    "oauth_signature_method=\"HMAC-SHA1\", oauth_timestamp="
	    "\"137131201\", oauth_token=\"hh5s93j4hdidpola\", "
	    "oauth_verifier=\"hfdp7dh39dks9884\", oauth_signature="
	    "\"gKgrFCywp7rO0OXSjdot%2FIHF7IU%3D\"");
}

/* Twitter's documentation of signing in: a request token. */
static void
a_callback_is_signed(void **state)
{
	const struct oauth1_keys k = { .consumer =
		STR("cChZNFj6T5R0TigYB9yd1w"), .consumer_secret =
		STR("L8qq9PZyRg6ieKGEKhZolGC0vJWLw8iEJ88DRdyOg") };
	const struct oauth1_request r = { .method = STR("POST"),
		.url = STR("https://api.twitter.com/oauth/request_token"),
		.nonce = STR("ea9ec8429b68d6b77cd5600adbbb0456"),
		.timestamp_s = 1318467427, .has_version = true,
		.callback = STR("http://localhost/sign-in-with-twitter/") };

	(void)state;
	expect(oauth1_put_signature, &k, &r, "F1Li3tvehgcraF8DMJ7OyxO4w9Y=");
	expect(oauth1_put_header, &k, &r, "OAuth oauth_callback="
	    "\"http%3A%2F%2Flocalhost%2Fsign-in-with-twitter%2F\", "
	    "oauth_consumer_key=\"cChZNFj6T5R0TigYB9yd1w\", oauth_nonce="
	    "\"ea9ec8429b68d6b77cd5600adbbb0456\", oauth_signature_method="
	    "\"HMAC-SHA1\", oauth_timestamp=\"1318467427\", oauth_version="
	    "\"1.0\", oauth_signature=\"F1Li3tvehgcraF8DMJ7OyxO4w9Y%3D\"");
}

/* RFC 5849 §1.2: the client fetches a photo. */
static void
the_signature_of_the_rfc(void **state)
{
	const struct oauth1_keys k = { STR("dpf43f3p2l4k3l03"),
		STR("kd94hf93k423kf44"), STR("nnch734d00sl2jdk"),
		STR("pfkkdhi9sl3r4s00") };
	const struct oauth1_request r = { .method = STR("GET"),
		.url = STR("http://photos.example.net/photos?file=vacation.jpg"
		    "&size=original"), .nonce = STR("chapoH"),
		.timestamp_s = 137131202 };

	(void)state;
	expect(oauth1_put_signature, &k, &r, "MdpQcU8iPSUjWoN/UDMsK2sui9I=");
	expect(oauth1_put_header, &k, &r, "OAuth oauth_consumer_key="
	    "\"dpf43f3p2l4k3l03\", oauth_nonce=\"chapoH\", "
	    "oauth_signature_method=\"HMAC-SHA1\", oauth_timestamp="
	    "\"137131202\", oauth_token=\"nnch734d00sl2jdk\", "
	    "oauth_signature=\"MdpQcU8iPSUjWoN%2FUDMsK2sui9I%3D\"");
}

/* RFC 5849 §1.2: temporary credentials, without a token. */
static void
a_signature_without_a_token(void **state)
{
	const struct oauth1_keys k = { STR("dpf43f3p2l4k3l03"),
		STR("kd94hf93k423kf44"), STR_NONE, STR_NONE };
	const struct oauth1_request r = { .method = STR("POST"),
		.url = STR("https://photos.example.net/initiate"),
		.form = STR("oauth_callback=http%3A%2F%2Fprinter.example.com"
		    "%2Fready"), .nonce = STR("wIjqoS"),
		.timestamp_s = 137131200 };

	(void)state;
	expect(oauth1_put_signature, &k, &r, "74KNZJeDHnMBp0EMJ9ZHt/XKycU=");
}

/* Twitter's "Creating a signature". */
static void
the_signature_of_twitter(void **state)
{
	const struct oauth1_keys k = { STR("xvz1evFS4wEEPTGEFPHBog"),
		STR("kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw"),
		STR("370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb"),
		STR("LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE") };
	struct oauth1_request r = { .method = STR("POST"),
		.url = STR("https://api.twitter.com/1.1/statuses/update.json?"
		    "include_entities=true#x"),
		.form = STR("status=Hello%20Ladies%20%2b%20Gentlemen%2C%20a%20"
		    "signed%20OAuth%20request%21"),
		.nonce = STR("kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg"),
		.timestamp_s = 1318622958, .has_version = true };

	(void)state;
	expect(oauth1_put_signature, &k, &r, "hCtSmYh+iHYCEqBWrE7C7hYmtUk=");
	/* The same of the address in another spelling. */
	r.url = STR("HTTPS://API.twitter.com:443/1.1/statuses/update.json?&"
	    "include_entities=tru%65");
	expect(oauth1_put_signature, &k, &r, "hCtSmYh+iHYCEqBWrE7C7hYmtUk=");
}

static void
addresses_are_brought_to_one_form(void **state)
{
	static const struct {
		const char *url, *uri;
	} cases[] = {
		{ "https://a.example", "https%3A%2F%2Fa.example%2F" },
		{ "https://A.example:443?x", "https%3A%2F%2Fa.example%2F" },
		{ "https://a.example:80/B",
		    "https%3A%2F%2Fa.example%3A80%2FB" },
		{ "http://a.example:443/", "http%3A%2F%2Fa.example%3A443%2F" },
		{ "http://a.example:8080/%7Ex",
		    "http%3A%2F%2Fa.example%3A8080%2F%257Ex" },
		{ "nothing", "nothing%2F" }, { "", "%2F" },
	};
	const struct oauth1_keys k = { .consumer = STR("c") };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT;
		struct str rest, part;
		oauth1_put_base_string(&k, &(struct oauth1_request){
			.method = STR("GET"), .url = str_of(cases[i].url),
			.nonce = STR("n") }, &out);
		rest = buf_str(&out);
		assert_true(str_split(&rest, '&', &part));
		assert_true(str_split(&rest, '&', &part));
		assert_true(str_eq(part, str_of(cases[i].uri)));
		buf_free(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_base_string_of_the_rfc),
		cmocka_unit_test(a_verifier_is_signed),
		cmocka_unit_test(a_callback_is_signed),
		cmocka_unit_test(the_signature_of_the_rfc),
		cmocka_unit_test(a_signature_without_a_token),
		cmocka_unit_test(the_signature_of_twitter),
		cmocka_unit_test(addresses_are_brought_to_one_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
