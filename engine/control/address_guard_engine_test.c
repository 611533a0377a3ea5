/* Where a stranger's words may not make the engine connect. */
#include "engine/control/engine_testing.h"

#include <stdio.h>

#include "engine/policy/address.h"

static struct rig rig;
/* A name that /etc/hosts has for a private address, and its letters do not
 * publisher it; empty: there is none. */
static char hosts_name[256];

static void
find_hosts_name(void)
{
	char line[1024];
	FILE *f = fopen("/etc/hosts", "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		char *rest = line, *word = strtok_r(line, " \t\n", &rest);
		uint8_t ip[16];
		if (word == NULL || !address_parse(str_of(word), ip) ||
		    address_is_public(ip))
			continue;
		while ((word = strtok_r(NULL, " \t\n", &rest)) != NULL &&
		    *word != '#')
			if (!address_host_is_local(str_of(word)))
				snprintf(hosts_name, sizeof(hosts_name), "%s",
				    word);
	}
	if (f != NULL)
		fclose(f);
	if (hosts_name[0] == '\0')
		print_message("skip: /etc/hosts has no name of its own for a "
		    "private address\n");
}

static const struct crawl_counts *
counts(uint32_t crawl)
{
	return &crawl_row(engine_registry(rig.engine), crawl)->view.counts;
}

static void
open_rig(rig_site_fn *site)
{
	rig_open(&rig, site, (const char *const[]){
	    "fetch.allow_private=off", "crawl.running_max=1", NULL });
	rig_start(&rig);
}

/* A crawl to its end. */
static uint32_t
crawled(const char *host, const char *policy, bool by_operator)
{
	struct launch_seed seed = { arena_printf(&rig.arena, "http://%s:%u/",
	    host, rig.port), 0 };
	struct launch l = { .seeds = &seed, .seeds_n = 1,
	    .spec.policy = str_of(policy), .spec.operator_seeds = by_operator };

	rig_say_launch(&rig, &l);
	if (l.why.err != OK)
		fail_msg("%s", l.why.text);
	rig_until_state(&rig, l.crawl, CRAWL_COMPLETE);
	return l.crawl;
}

/* --- what a site says ----------------------------------------------------- */

/* Of this machine, but not by the name that the operator typed. */
static const char *const forms[] = { "127.0.0.1", "127.0.0.1.", "2130706433",
	"017700000001", "0x7f.1", "127.1", "%31%32%37.0.0.1", "u:p@127.0.0.1",
	"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]",
	"[64:ff9b::127.0.0.1]", "0.0.0.0", "0", "a.localhost", hosts_name };

static void
hostile_site(struct str path, struct rig_page *p)
{
	unsigned port = rig.port;

	if (str_eq(path, STR("/robots.txt"))) {
		p->status = 200;
		buf_printf(&p->body, "Sitemap: http://127.0.0.1:%u/secret-s\n"
		    "Sitemap: http://127.0.0.1:25/secret-p\n"
		    "Sitemap: gopher://127.0.0.1/secret-g\n", port);
	} else if (str_starts(path, STR("/redirect"))) {
		p->status = 302;
		buf_printf(&p->head, "Location: http://127.0.0.1:%u/secret-r"
		    "%.*s\r\n", port, STR_FMT(path));
	} else if (str_eq(path, STR("/"))) {
		buf_put_text(&p->body, "<a href=/redirect1>x</a>"
		    "<img src=/redirect2><a href=http://localhost:6667/>x</a>");
		for (size_t i = 0; i < ARRAY_LEN(forms); i++)
			if (forms[i][0] != '\0')
				buf_printf(&p->body, "<a href=http://%s:%u/"
				    "secret-a%zu>x</a><img src=http://%s:%u/"
				    "secret-e%zu>", forms[i], port, i,
				    forms[i], port, i);
	}
}

static void
a_site_leads_nowhere_near(void **state)
{
	size_t links = 2 * ARRAY_LEN(forms) - (hosts_name[0] == 0 ? 2 : 0);

	(void)state;
	open_rig(hostile_site);
	uint32_t id = crawled("localhost", "{\"url_rules\":[{\"action\":"
	    "\"add\",\"amount\":1}],\"embeds\":true,\"sitemaps\":true,"
	    "\"rate_limit\":0}", true);
	assert_int_equal(counts(id)->items, 1);
	/* Links, two redirects, a sitemap; the other two sitemaps, a port. */
	assert_int_equal(counts(id)->skips[SKIP_BLOCKED], links + 2 + 1);
	assert_int_equal(counts(id)->skips[SKIP_URL], 2 + 1);
	assert_int_equal(crawl_exceptions(counts(id)), 0);
	/* The page, its robots.txt, two redirects. */
	assert_int_equal(rig_requests(&rig, "/robots.txt"), 1);
	assert_int_equal(rig_requests(&rig, NULL), 4);
	rig_close(&rig);
}

static const char *robots_at;

static void
moved_robots(struct str path, struct rig_page *p)
{
	if (!str_eq(path, STR("/robots.txt")))
		return;
	p->status = 302;
	buf_printf(&p->head, "Location: %s\r\n", robots_at);
}

/* It once left the crawl running for ever. */
static void
robots_may_be_moved_to_where_nobody_goes(void **state)
{
	uint32_t id;

	(void)state;
	open_rig(moved_robots);
	robots_at = "http://10.1.2.3/robots.txt";
	for (unsigned i = 1; i <= 2; i++) {
		id = crawled("127.0.0.1", "{\"rate_limit\":0}", true);
		assert_int_equal(counts(id)->skips[SKIP_BLOCKED], 1);
		assert_int_equal(rig_requests(&rig, "/robots.txt"), i);
		assert_int_equal(rig_requests(&rig, NULL), i);
	}
	/* The same as anywhere else that is not http. */
	robots_at = "http://127.0.0.1:25/robots.txt";
	id = crawled("127.0.0.1", "{\"rate_limit\":0}", true);
	assert_int_equal(counts(id)->items, 1);
	rig_close(&rig);
}

/* --- what comes through a door -------------------------------------------- */

static void
plain_site(struct str path, struct rig_page *p)
{
	uint64_t n;

	if (!str_starts(path, STR("/deep/")))
		return;
	str_to_u64(str_from(path, 6), &n);
	p->delay_ms = 5;
	buf_printf(&p->body, "<a href=/deep/%llu>x</a>",
	    (unsigned long long)n + 1);
}

static void
seeds_are_looked_up(void **state)
{
	(void)state;
	if (hosts_name[0] == '\0')
		skip();
	open_rig(plain_site);
	uint32_t id = crawled(hosts_name, "{\"robots\":\"ignore\"}", false);
	assert_int_equal(counts(id)->skips[SKIP_BLOCKED], 1);
	/* Its robots.txt is not asked for either, and the crawl ends. */
	id = crawled(hosts_name, "{}", false);
	assert_int_equal(counts(id)->skips[SKIP_BLOCKED], 1);
	assert_int_equal(rig_requests(&rig, NULL), 0);
	rig_close(&rig);
}

static void
ports_of_other_protocols_are_not_asked(void **state)
{
	struct launch_seed seed = { STR("http://93.184.216.34:25/"), 0 };
	struct launch l = { .seeds = &seed, .seeds_n = 1,
	    .spec.policy = STR("{\"robots\":\"ignore\"}") };

	(void)state;
	open_rig(plain_site);
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	rig_until_state(&rig, l.crawl, CRAWL_COMPLETE);
	assert_int_equal(counts(l.crawl)->skips[SKIP_URL], 1);
	rig_close(&rig);
}

static void
proxies_are_looked_up(void **state)
{
	(void)state;
	open_rig(plain_site);
	struct str by_number = arena_printf(&rig.arena, "{\"rate_limit\":0,"
	    "\"proxy\":\"http://127.0.0.1:%u\"}", rig.port);
	struct str by_name = arena_printf(&rig.arena, "{\"rate_limit\":0,"
	    "\"proxy\":\"http://%s:%u\"}", hosts_name, rig.port);
	if (hosts_name[0] != '\0') {
		uint32_t id = crawled("a.test", by_name.p, false);
		assert_int_equal(counts(id)->skips[SKIP_BLOCKED], 1);
		by_name = arena_printf(&rig.arena, "{\"robots\":\"ignore\","
		    "\"proxy\":\"socks5h://%s:%u\"}", hosts_name, rig.port);
		id = crawled("a.test", by_name.p, false);
		assert_int_equal(counts(id)->skips[SKIP_BLOCKED], 1);
		assert_int_equal(rig_requests(&rig, NULL), 0);
	}
	/* The operator's own may be anywhere. */
	uint32_t id = crawled("a.test", by_number.p, true);
	assert_int_equal(counts(id)->items, 1);
	assert_int_equal(rig_requests(&rig, NULL), 2);
	rig_close(&rig);
}

/* The rules hold for all hosts that fetch.resolve does not name. */
static void
fetch_resolve_permits_the_hosts_it_names(void **state)
{
	char resolve[80];

	(void)state;
	rig_open(&rig, plain_site, (const char *const[]){
	    "fetch.allow_private=off", NULL });
	snprintf(resolve, sizeof(resolve),
	    "fetch.resolve=a.test:*:127.0.0.1:%u", rig.port);
	assert_int_equal(conf_flag(&rig.conf, str_of(resolve), NULL), OK);
	rig_start(&rig);
	uint32_t id = crawled("a.test", "{\"rate_limit\":0}", false);
	assert_int_equal(counts(id)->items, 1);
	assert_int_equal(rig_requests(&rig, NULL), 2);
	id = crawled("127.0.0.1", "{\"rate_limit\":0}", false);
	assert_int_equal(counts(id)->skips[SKIP_BLOCKED], 1);
	if (hosts_name[0] != '\0') {
		id = crawled(hosts_name, "{\"rate_limit\":0}", false);
		assert_int_equal(counts(id)->skips[SKIP_BLOCKED], 1);
	}
	assert_int_equal(rig_requests(&rig, NULL), 2);
	rig_close(&rig);
}

static bool
has_items(struct rig *r, void *arg)
{
	(void)r;
	return counts(0)->items >= *(uint64_t *)arg;
}

/* What a door began may not reach more when it goes on after a restart. */
static void
private_stays_private_over_restarts(void **state)
{
	struct crawl_order o;
	struct why w = WHY_INIT;

	(void)state;
	open_rig(plain_site);
	struct launch_seed seed = { rig_url(&rig, "/deep/0"), 0 };
	struct launch l = { .seeds = &seed, .seeds_n = 1,
	    .spec.policy = STR("{\"limits\":{\"max_depth\":null}}"),
	    .spec.operator_seeds = true };
	rig_say_launch(&rig, &l);
	uint64_t some = 2;
	rig_until(&rig, has_items, &some);
	assert_int_equal(rig_launch(&rig, "/secret", "{}"), 1);
	assert_int_equal(crawl_row(engine_registry(rig.engine), 1)->view.state,
	    CRAWL_PENDING);
	rig_stop(&rig);
	/* For a while more is allowed. */
	assert_int_equal(conf_flag(&rig.conf, STR("fetch.allow_private=on"),
	    &w), OK);
	rig_start(&rig);
	assert_int_equal(rig_launch(&rig, "/secret",
	    "{\"allow_private\":true}"), 2);
	rig_stop(&rig);
	assert_int_equal(conf_flag(&rig.conf, STR("fetch.allow_private=off"),
	    &w), OK);
	rig_start(&rig);
	/* The operator's goes on, */
	some = counts(0)->items + 2;
	rig_until(&rig, has_items, &some);
	rig_steer(&rig, 0, CRAWL_CANCELLED, &o);
	/* the others are refused. */
	for (uint32_t id = 1; id <= 2; id++) {
		rig_until_state(&rig, id, CRAWL_COMPLETE);
		assert_int_equal(counts(id)->skips[SKIP_BLOCKED], 1);
	}
	assert_int_equal(rig_requests(&rig, "/secret"), 0);
	rig_close(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_site_leads_nowhere_near),
		cmocka_unit_test(robots_may_be_moved_to_where_nobody_goes),
		cmocka_unit_test(seeds_are_looked_up),
		cmocka_unit_test(ports_of_other_protocols_are_not_asked),
		cmocka_unit_test(proxies_are_looked_up),
		cmocka_unit_test(fetch_resolve_permits_the_hosts_it_names),
		cmocka_unit_test(private_stays_private_over_restarts),
	};

	find_hosts_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
