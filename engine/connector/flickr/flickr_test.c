/* Recorded harvests of people and photos, and what each fault leads to. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/connectors.h"

#define KEYS "\"credentials\":{\"key\":\"x\",\"secret\":\"y\"}"
#define SEED_ADA "\"seeds\":[{\"id\":\"s1\",\"token\":\"ada l\"}]"
#define SEED_7 "\"seeds\":[{\"id\":\"s1\",\"uid\":\"7@N01\"}]"
#define ASK(method, params)                                                  \
	"call https://api.flickr.com/services/rest/?method=flickr." method   \
	"&format=json&nojsoncallback=1&" params " oauth1 key,secret\n"
#define ASK_ADA ASK("people.findByUsername", "username=ada%20l")
#define ASK_PERSON ASK("people.getInfo", "user_id=7%40N01")
#define ASK_LIST(n)                                                          \
	ASK("people.getPublicPhotos", "user_id=7%40N01&page=" n              \
	"&per_page=500")
#define ASK_PHOTO(params) ASK("photos.getInfo", "photo_id=" params)
#define ASK_SIZES(id) ASK("photos.getSizes", "photo_id=" id)
#define ONE(id) ASK_PHOTO(id) "count flickr photos 1\n" ASK_SIZES(id)

#define FOUND { 200, "", "{\"stat\":\"ok\",\"user\":{\"nsid\":\"7@N01\"}}" }
#define PERSON(name)                                                         \
	{ 200, "", "{\"stat\":\"ok\",\"person\":{\"username\":"              \
	"{\"_content\":\"" name "\"}}}" }
#define ADA PERSON("ada l")
#define LIST(page, pages, total, ...)                                        \
	{ 200, "", "{\"stat\":\"ok\",\"photos\":{\"page\":" page             \
	",\"pages\":" pages ",\"total\":\"" total "\",\"photo\":["           \
	__VA_ARGS__ "]}}" }
#define ENTRY(id) "{\"id\":\"" id "\"}"
#define PHOTO(id) { 200, "", "{\"stat\":\"ok\",\"photo\":{\"id\":\"" id "\"}}" }
#define SIZES                                                                \
	{ 200, "", "{\"stat\":\"ok\",\"sizes\":{\"size\":["                  \
	"{\"label\":\"Thumbnail\",\"source\":\"https://f/t\"},"              \
	"{\"label\":\"Square\",\"source\":\"https://f/s\"}]}}" }
#define URLS "url https://f/t\n"
#define FAIL(code)                                                           \
	{ 200, "", "{\"stat\":\"fail\",\"code\":" code                       \
	",\"message\":\"said\"}" }

#define HARVEST(TYPE, MESSAGE, ...)                                          \
	const struct testing_answer answers[] = { __VA_ARGS__ };             \
	const struct testing_harvest h = { .type = TYPE,                     \
		.message = "{" MESSAGE "," KEYS "}", .answers = answers,     \
		.answers_n = ARRAY_LEN(answers) }
#define USER(MESSAGE, ...) HARVEST("flickr_user", MESSAGE, __VA_ARGS__)
#define PHOTOS(MESSAGE, ...) HARVEST("flickr_photo", MESSAGE, __VA_ARGS__)

/* ---- People ------------------------------------------------------------ */

static void
a_person_is_found_by_the_name(void **state)
{
	USER(SEED_ADA, FOUND, ADA, LIST("1", "2", "3",
	    "{\"id\":\"9\",\"secret\":\"abc\"}," ENTRY("8")), PHOTO("9"),
	    SIZES, PHOTO("8"), SIZES, LIST("2", "2", "3", ENTRY("7")),
	    PHOTO("7"), SIZES);

	(void)state;
	testing_expect(&h, ASK_ADA "seed s1 uid=7@N01 token=\n" ASK_PERSON
	    ASK_LIST("1") ASK_PHOTO("9&secret=abc") "count flickr photos 1\n"
	    ASK_SIZES("9") URLS ONE("8") URLS ASK_LIST("2") ONE("7") URLS
	    "state 7@N01.last_photo_id=9\ndone\n");
}

static void
a_changed_name_is_told(void **state)
{
	USER("\"seeds\":[{\"id\":\"s1\",\"uid\":\"7@N01\",\"token\":\"ada\"},"
	    "{\"id\":\"s2\",\"uid\":\"7@N01\"}]", ADA,
	    LIST("1", "1", "1", ENTRY("9")), PHOTO("9"), SIZES, ADA,
	    LIST("1", "0", "0", ""));

	(void)state;
	testing_expect(&h, ASK_PERSON "seed s1 uid= token=ada l\n"
	    ASK_LIST("1") ONE("9") URLS "state 7@N01.last_photo_id=9\n"
	    ASK_PERSON ASK_LIST("1") "done\n");
}

static void
sizes_are_chosen_by_their_labels(void **state)
{
	{
		USER(SEED_7 ",\"options\":{\"sizes\":[\"Square\"]}", ADA,
		    LIST("1", "1", "1", ENTRY("9")), PHOTO("9"), SIZES);
		testing_expect_findings(&h, "count flickr photos 1\n"
		    "url https://f/s\nstate 7@N01.last_photo_id=9\ndone\n");
	}
	{
		USER(SEED_7 ",\"options\":{\"image_sizes\":[],\"sizes\":"
		    "[\"Square\"]}", ADA, LIST("1", "1", "1", ENTRY("9")),
		    PHOTO("9"));
		testing_expect(&h, ASK_PERSON ASK_LIST("1") ASK_PHOTO("9")
		    "count flickr photos 1\nstate 7@N01.last_photo_id=9\n"
		    "done\n");
	}
	(void)state;
}

#define BARE ",\"options\":{\"sizes\":[]}"

static void
a_run_goes_on_from_its_state_unless_told_not_to(void **state)
{
	static const char *const left[] = { "7@N01.last_photo_id", "8", NULL };
	{
		static const struct testing_answer answers[] = { ADA,
			LIST("1", "9", "900", ENTRY("9") "," ENTRY("6") ","
			ENTRY("8")), PHOTO("9") };
		const struct testing_harvest h = { "flickr_user", "{" SEED_7
			BARE "," KEYS "}", left, answers, 3 };
		testing_expect(&h, ASK_PERSON ASK_LIST("1") ASK_PHOTO("9")
		    "count flickr photos 1\nstate 7@N01.last_photo_id=9\n"
		    "done\n");
	}
	{
		/* The photo of the state is gone. */
		static const struct testing_answer answers[] = { ADA,
			LIST("1", "9", "900", ENTRY("9")), PHOTO("9"),
			LIST("2", "9", "900", ENTRY("7") "," ENTRY("6")) };
		const struct testing_harvest h = { "flickr_user", "{" SEED_7
			BARE "," KEYS "}", left, answers, 4 };
		testing_expect_findings(&h, "count flickr photos 1\n"
		    "state 7@N01.last_photo_id=9\ndone\n");
	}
	{
		static const struct testing_answer answers[] = { ADA,
			LIST("1", "1", "1", ENTRY("8")), PHOTO("8") };
		const struct testing_harvest h = { "flickr_user", "{" SEED_7
			",\"options\":{\"sizes\":[],\"incremental\":false},"
			KEYS "}", left, answers, 3 };
		testing_expect_findings(&h, "count flickr photos 1\n"
		    "state 7@N01.last_photo_id=8\ndone\n");
	}
	(void)state;
}

static void
photos_that_are_added_meanwhile_shift_pages(void **state)
{
	USER(SEED_7 BARE, ADA, LIST("1", "2", "3", ENTRY("9") "," ENTRY("8")),
	    PHOTO("9"), PHOTO("8"),
	    LIST("2", "2", "4", ENTRY("8") "," ENTRY("7")), PHOTO("7"));

	(void)state;
	testing_expect(&h, ASK_PERSON ASK_LIST("1")
	    ASK_PHOTO("9") "count flickr photos 1\n"
	    ASK_PHOTO("8") "count flickr photos 1\n" ASK_LIST("2")
	    ASK_PHOTO("7") "count flickr photos 1\n"
	    "state 7@N01.last_photo_id=9\ndone\n");
}

static void
photos_that_are_removed_meanwhile_shift_pages_back(void **state)
{
	USER(SEED_7 BARE, ADA, LIST("1", "2", "4", ENTRY("9") "," ENTRY("8")),
	    PHOTO("9"), PHOTO("8"),
	    LIST("2", "2", "3", ENTRY("6")),
	    LIST("1", "2", "3", ENTRY("8") "," ENTRY("7")), PHOTO("7"),
	    LIST("2", "2", "3", ENTRY("6")), PHOTO("6"));

	(void)state;
	testing_expect(&h, ASK_PERSON ASK_LIST("1")
	    ASK_PHOTO("9") "count flickr photos 1\n"
	    ASK_PHOTO("8") "count flickr photos 1\n"
	    ASK_LIST("2") ASK_LIST("1") ASK_PHOTO("7")
	    "count flickr photos 1\n" ASK_LIST("2") ASK_PHOTO("6")
	    "count flickr photos 1\nstate 7@N01.last_photo_id=9\ndone\n");
}

static void
photos_that_cannot_be_had_are_passed_over(void **state)
{
	USER(SEED_7, ADA, LIST("1", "1", "3", ENTRY("9") "," ENTRY("8") ",7"),
	    FAIL("1"), PHOTO("8"), FAIL("2"));

	(void)state;
	testing_expect(&h, ASK_PERSON ASK_LIST("1")
	    "warning uid_unknown_error seed=s1: person 7@N01: 1 of 3 photos of"
	    " a page have no number and are not asked for\n"
	    ASK_PHOTO("9") ONE("8") "state 7@N01.last_photo_id=9\ndone\n");
}

static void
a_limit_ends_the_run_and_sets_the_state(void **state)
{
	USER(SEED_7 ",\"options\":{\"sizes\":[],\"limit\":2}", ADA,
	    LIST("1", "9", "900", ENTRY("9") "," ENTRY("8") "," ENTRY("7")),
	    PHOTO("9"), PHOTO("8"));

	(void)state;
	testing_expect_findings(&h, "count flickr photos 1\n"
	    "count flickr photos 1\nstate 7@N01.last_photo_id=9\n"
	    "info limit_reached: 2 photos were found, and the limit is 2\n"
	    "done\n");
}

static void
people_that_are_not_there_are_passed_over(void **state)
{
	USER("\"seeds\":[{\"id\":\"s1\",\"token\":\"ada l\"},{\"id\":\"s2\","
	    "\"token\":\"ada l\"},{\"id\":\"s3\",\"uid\":\"7@N01\"},"
	    "{\"id\":\"s4\",\"uid\":\"7@N01\"},{\"id\":\"s5\","
	    "\"uid\":\"7@N01\"}]", FAIL("1"), FAIL("9"), FAIL("1"),
	    FAIL("\"9\""), ADA, FAIL("1"));

	(void)state;
	testing_expect_findings(&h,
	    "warning token_not_found seed=s1: person ada l does not exist\n"
	    "skip s1\n"
	    "warning token_unknown_error seed=s2: person ada l: 9, said\n"
	    "skip s2\n"
	    "warning uid_not_found seed=s3: person 7@N01 does not exist\n"
	    "skip s3\n"
	    "warning uid_unknown_error seed=s4: person 7@N01: 9, said\n"
	    "skip s4\n"
	    "warning uid_not_found seed=s5: person 7@N01 does not exist\n"
	    "skip s5\ndone\n");
}

static void
a_page_without_another_photo_is_an_error(void **state)
{
#define SAME LIST("2", "3", "900", ENTRY("9"))
	USER(SEED_7 BARE, ADA, LIST("1", "3", "900", ENTRY("9")), PHOTO("9"),
	    SAME, LIST("2", "3", "900", ""), SAME, SAME, SAME, SAME);

	(void)state;
	testing_expect_findings(&h, "count flickr photos 1\n"
	    "again 1\nagain 4\nagain 9\nagain 16\nagain 25\n"
	    "fail unknown_error: Flickr sent a page without another photo 6 "
	    "times, person 7@N01\n");
}

/* ---- Single photos ----------------------------------------------------- */

static void
photos_are_asked_for_by_their_numbers(void **state)
{
	PHOTOS("\"seeds\":[{\"id\":\"s1\",\"uid\":\"9\"},{\"id\":\"s2\","
	    "\"uid\":8},{\"id\":\"s3\",\"uid\":\"7\"},{\"id\":\"s4\","
	    "\"uid\":\"6\"}]", PHOTO("9"), SIZES, FAIL("1"), FAIL("2"),
	    FAIL("3"));

	(void)state;
	testing_expect(&h, ONE("9") URLS ASK_PHOTO("8")
	    "warning uid_not_found seed=s2: photo 8 does not exist\nskip s2\n"
	    ASK_PHOTO("7")
	    "warning uid_unauthorized seed=s3: photo 7: 2, said\nskip s3\n"
	    ASK_PHOTO("6")
	    "warning uid_unknown_error seed=s4: photo 6: 3, said\nskip s4\n"
	    "done\n");
}

/* ---- The credential, and answers that cannot be ------------------------ */

static void
a_credential_that_is_wrong_ends_the_run(void **state)
{
	{
		USER(SEED_7, FAIL("100"));
		testing_expect_findings(&h, "fail harvest_Unauthorized: Flickr"
		    " refuses the credential: 100, said\n");
	}
	{
		PHOTOS("\"seeds\":[{\"uid\":\"9\"}]", { 401, "",
		    "oauth_problem=signature_invalid" });
		testing_expect_findings(&h, "fail harvest_Unauthorized: Flickr"
		    " refuses the credential: 401\n");
	}
	(void)state;
}

static void
what_cannot_be_is_asked_for_again(void **state)
{
	USER(SEED_ADA, { 200, "", "[]" }, FAIL("105"),
	    { 200, "", "{\"stat\":\"ok\"}" }, FOUND,
	    { 200, "", "{\"stat\":\"ok\"}" }, ADA,
	    { 200, "", "{\"stat\":\"ok\"}" }, LIST("1", "1", "1", ENTRY("9")),
	    { 200, "", "{\"stat\":\"ok\"}" }, PHOTO("9"),
	    { 200, "", "{\"stat\":\"ok\"}" }, { 200, "", "7" },
	    { 200, "", "7" }, { 200, "", "7" }, { 200, "", "7" },
	    { 200, "", "7" });

	(void)state;
	testing_expect_findings(&h, "again 1\nagain 4\nagain 9\n"
	    "seed s1 uid=7@N01 token=\nagain 1\nagain 1\nagain 1\n"
	    "count flickr photos 1\n"
	    "again 1\nagain 4\nagain 9\nagain 16\nagain 25\n"
	    "fail unknown_error: Flickr sent an answer that says neither ok "
	    "nor fail 6 times, person ada l\n");
}

/* ---- Orders and checkpoints -------------------------------------------- */

static void
seeds_that_are_none_are_refused(void **state)
{
	(void)state;
	testing_refuse("flickr_user", "{\"seeds\":[{\"uid\":\"a/b\"}]," KEYS
	    "}", "bad_request", "seeds[0].uid: it is not the id of a person");
	testing_refuse("flickr_photo", "{\"seeds\":[{\"uid\":\"a\"}]," KEYS
	    "}", "bad_request", "seeds[0].uid: it is not the number of a "
	    "photo");
	testing_refuse("flickr_user", "{" SEED_7 ",\"credentials\":{\"key\":"
	    "\"x\"}}", "credentials_missing", "credentials.secret: it is "
	    "missing");
}

static void
damaged_checkpoints_are_refused(void **state)
{
	(void)state;
	testing_damage("flickr_user", "{" SEED_ADA "," KEYS "}");
	testing_damage("flickr_photo", "{\"seeds\":[{\"uid\":\"9\"}]," KEYS
	    "}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_person_is_found_by_the_name),
		cmocka_unit_test(a_changed_name_is_told),
		cmocka_unit_test(sizes_are_chosen_by_their_labels),
		cmocka_unit_test(
		    a_run_goes_on_from_its_state_unless_told_not_to),
		cmocka_unit_test(photos_that_are_added_meanwhile_shift_pages),
		cmocka_unit_test(
		    photos_that_are_removed_meanwhile_shift_pages_back),
		cmocka_unit_test(photos_that_cannot_be_had_are_passed_over),
		cmocka_unit_test(a_limit_ends_the_run_and_sets_the_state),
		cmocka_unit_test(people_that_are_not_there_are_passed_over),
		cmocka_unit_test(a_page_without_another_photo_is_an_error),
		cmocka_unit_test(photos_are_asked_for_by_their_numbers),
		cmocka_unit_test(a_credential_that_is_wrong_ends_the_run),
		cmocka_unit_test(what_cannot_be_is_asked_for_again),
		cmocka_unit_test(seeds_that_are_none_are_refused),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
