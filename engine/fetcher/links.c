#include "engine/fetcher/links.h"

#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/origin.h"
#include "engine/fetcher/page_log.h"

/* Hashes handed over lately: most links of a site point to the same pages. */
#define RECENT_SLOTS (1u << 16)

void
links_open(struct fetcher *f)
{
	f->recent = mem_array(RECENT_SLOTS, sizeof(*f->recent));
}

void
links_close(struct fetcher *f)
{
	mem_free(&f->recent);
}

static size_t
recent_slot(uint64_t hash)
{
	return (hash >> 20) % RECENT_SLOTS;
}

static uint64_t
recent_mark(uint64_t hash, uint8_t skip)
{
	return (hash & ~UINT64_C(15)) | skip;
}

/*
 * True when this very finding was handed over before: URL, and that it was
 * taken, or for what reason not.  A finding within the limits after one that
 * was not is news.
 */
static bool
told(struct fetcher *f, uint64_t hash, uint8_t skip)
{
	uint64_t mark = recent_mark(hash, skip);
	uint64_t *slot = &f->recent[recent_slot(hash)];

	if (*slot == mark || *slot == recent_mark(hash, SKIP_NONE))
		return true;
	*slot = mark;
	return false;
}

/*
 * True when the link, as it is written, is a canonical URL that was taken
 * before: told() would leave it out whatever the policy says now.  That spares
 * most links of a site the judging.
 */
static bool
was_taken(const struct link_finder *f, const struct link *l)
{
	struct str text = str_cut(l->url.href, 0,
	    l->url.href.n - l->url.fragment.n);

	if (f->recent == NULL || l->kind == LINK_SITEMAP)
		return false;
	uint64_t hash = frontier_hash(f->crawl->id, text);
	return f->recent[recent_slot(hash)] == recent_mark(hash, SKIP_NONE);
}

/*
 * The flags of a sitemap that a document names, which say how many indexes lead
 * to it.  False: they are too many.
 */
static bool
count_level(const struct link_finder *f, uint8_t *flags)
{
	unsigned level = 0;

	if (f->lease->flags & FOUND_SITEMAP)
		level = f->lease->flags / FOUND_LEVEL + 1u;
	*flags = (uint8_t)(FOUND_SITEMAP | MIN(level, FOUND_LEVEL_MAX) *
	    FOUND_LEVEL);
	if (level < f->sitemap_depth_max)
		return true;
	if (f->too_deep != NULL)
		*f->too_deep = true;
	return false;
}

/* One link, canonical and judged.  False: it is no URL of the crawl. */
static bool
judge(const struct link_finder *f, const struct link *l, struct found *out)
{
	const struct policy *policy = policy_of(crawl_policy(f->crawl));
	bool embed = l->kind == LINK_EMBED;
	/* A resource embedded in a requisite (an image in a style sheet) has
	 * the same depth as the page. */
	unsigned depth = embed ? f->lease->depth : f->lease->depth + 1u;
	struct policy_verdict v;
	struct trap_verdict t;
	struct url u;

	uint8_t flags = 0;
	if ((l->kind == LINK_SITEMAP && !count_level(f, &flags)) ||
	    policy_canonical(crawl_policy(f->crawl), &l->url, f->arena, &u,
	    NULL) != OK)
		return false;
	policy_judge_url(crawl_policy(f->crawl), &u, f->lease->cost, depth,
	    embed, &v);
	/* The policy sees only names; the operator may crawl his own hosts. */
	if (v.reason == SKIP_BLOCKED && (f->allow_private ||
	    crawl_host_allowed(f->crawl, u.host))) {
		v.take = true;
		v.reason = SKIP_NONE;
	}
	if (v.take && f->traps != NULL && !trap_judge_prefix(&policy->traps,
	    f->traps, &u, &t)) {
		v.take = false;
		v.reason = t.reason;
	}
	if (l->kind != LINK_SITEMAP && v.take && v.embed)
		flags = FOUND_EMBED;
	*out = (struct found){
		.url = u.href, .key = u.host,
		.hash = frontier_hash(f->crawl->id, u.href),
		.cost = v.take ? v.cost : f->lease->cost,
		.depth = (uint16_t)MIN(depth, FOUND_DEPTH_MAX),
		.flags = flags, .skip = v.take ? SKIP_NONE : (uint8_t)v.reason,
	};
	return true;
}

static bool
follows(const struct link_finder *f, const struct parse_output *parsed,
    const struct link *l)
{
	const struct policy *policy = policy_of(crawl_policy(f->crawl));

	/* An image is not followed: it is not a URL of the crawl. */
	if (l->kind == LINK_EMBED && !policy->embeds)
		return false;
	/* A page taken only as a part of another leads nowhere by itself. */
	if ((f->lease->flags & FOUND_EMBED) && l->kind != LINK_EMBED)
		return false;
	if (policy->robots != POLICY_OBEY || l->kind == LINK_EMBED)
		return true;
	return !l->nofollow && !parsed->nofollow;
}

bool
crawl_excludes(const void *rules, struct str url)
{
	const struct crawl_rules *r = rules;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct policy_verdict v = { .rule = -1 };
	struct url u;

	if (r == NULL || r->excluded == 0)
		return false;
	if (url_parse(url, NULL, &a, &u, NULL) == OK)
		policy_judge_url(r->policy, &u, 1, 0, false, &v);
	return v.rule >= 0 && (unsigned)v.rule < r->excluded;
}

static bool
header_says_nofollow(const struct http_head *h, struct str product_token)
{
	size_t at = 0;
	struct str value;
	unsigned flags = 0;

	while (http_next(h, STR("X-Robots-Tag"), &at, &value))
		flags |= robots_tag_parse(value, product_token);
	return flags & ROBOTS_TAG_NOFOLLOW;
}

size_t
fetcher_links(const struct link_finder *f, const struct http_head *head,
    struct parse_output *parsed, struct found **out)
{
	struct found *found = ARENA_ARRAY(f->arena, struct found,
	    parsed->links_n);
	size_t n = 0;

	parsed->nofollow |= header_says_nofollow(head, f->product_token);
	for (size_t i = 0; i < parsed->links_n; i++)
		if (follows(f, parsed, &parsed->links[i]) &&
		    !was_taken(f, &parsed->links[i]) &&
		    judge(f, &parsed->links[i], &found[n]))
			n++;
	*out = found;
	return n;
}

void
links_find(struct page *p)
{
	struct submission *s = &p->submission;
	bool too_deep = false;
	struct link_finder f = {
		.crawl = p->crawl->shared, .traps = p->crawl->traps,
		.lease = &s->lease,
		.product_token = page_token(p),
		.allow_private = p->fetcher->settings->allow_private,
		.sitemap_depth_max = p->fetcher->settings->sitemap_depth_max,
		.too_deep = &too_deep, .recent = p->fetcher->recent,
		.arena = &s->arena,
	};
	/* Those that come while they are judged count as later ones. */
	s->rules = crawl_rules(f.crawl);
	size_t n = fetcher_links(&f, &page_hop(p)->parsed, &p->parsed,
	    &s->found);

	if (too_deep)
		page_log_sitemap_depth(p);
	s->found_n = 0;
	for (size_t i = 0; i < n; i++)
		if (!told(p->fetcher, s->found[i].hash, s->found[i].skip))
			s->found[s->found_n++] = s->found[i];
}

static void
add_sitemap(struct page *p, const struct url *plain, const struct lease *l)
{
	struct submission *s = &p->submission;
	struct url u;

	if (policy_canonical(crawl_policy(p->crawl->shared), plain,
	    &p->submission.arena, &u, NULL) != OK)
		return;
	uint64_t hash = frontier_hash(p->submission.crawl, u.href);
	if (told(p->fetcher, hash, SKIP_NONE))
		return;
	s->found[s->found_n++] = (struct found){
		.url = u.href, .key = u.host, .hash = hash, .cost = l->cost,
		.depth = l->depth, .flags = FOUND_SITEMAP,
	};
}

void
links_from_robots(struct page *p, struct origin *o)
{
	const struct policy *policy = policy_of(crawl_policy(p->crawl->shared));
	struct url robots, u;

	if (!policy->sitemaps || !origin_tells_sitemaps(o,
	    p->crawl->shared->id))
		return;
	/* They go out with a submission of their own: this page may fail. */
	struct page *carrier = page_new(p->fetcher, p->crawl, PAGE_OF_ROBOTS);
	struct submission *s = &carrier->submission;
	size_t n = robots_facts(o->robots).sitemaps_n;
	s->found = ARENA_ARRAY(&s->arena, struct found, n + 1);
	struct str text = arena_printf(&s->arena, "%.*s/robots.txt",
	    STR_FMT(o->text));
	CHECK(url_parse(text, NULL, &s->arena, &robots, NULL) == OK);
	for (size_t i = 0; i < n; i++)
		if (robots_sitemap_url(o->robots, i, &robots, &s->arena, &u,
		    NULL) == OK)
			add_sitemap(carrier, &u, &p->submission.lease);
	/* Where none is named, the usual place is worth one request. */
	if (n == 0 && url_parse(STR("/sitemap.xml"), &robots, &s->arena, &u,
	    NULL) == OK)
		add_sitemap(carrier, &u, &p->submission.lease);
	page_wake(carrier, page_finish(carrier, OUTCOME_NONE, 0, STR_NONE));
}
