/*
 * policy -- what a crawl may fetch, how fast, and how much.
 *
 * A `struct policy` is the JSON object of docs/protocols/realtime.md section 8
 * and a few fields more (all are in the table policy_fields).  A `struct
 * policy_compiled` is a policy together with a crawl's seeds, ready to judge.
 *
 * Owns:    a policy its strings and lists; a compiled policy a copy of both.
 * Thread:  a policy belongs to one thread; a compiled one never changes, so all
 *          event loops share it.
 * Limits:  POLICY_*_MAX below and the table's `min` and `max`.
 * Story:   engine/policy/DESIGN.md
 */
#ifndef ENGINE_POLICY_POLICY_H
#define ENGINE_POLICY_POLICY_H

#include "base/err.h"
#include "engine/parser/url.h"
#include "engine/policy/skip_reason.h"
#include "engine/policy/trap.h"

#define POLICY_RULES_MAX 1000            /* of each kind */
#define POLICY_PATTERN_BYTES_MAX 4096
#define POLICY_TEXT_BYTES_MAX 1024       /* user_agent, proxy */
#define POLICY_STRIP_MAX 256             /* names in normalize.strip */
#define POLICY_NAME_BYTES_MAX 200        /* a header's name, a strip name */
#define POLICY_HEADERS_MAX 64
#define POLICY_HEADER_BYTES_MAX 8192     /* a header's value */
#define POLICY_JSON_BYTES_MAX (256 << 10)  /* of one that is told whole */
#define POLICY_REGEX_MATCH_LIMIT 100000  /* policy.regex_match_limit */
#define POLICY_REGEX_DEPTH_LIMIT 20000
#define POLICY_REGEX_HEAP_KIB 8192
#define POLICY_REGEX_BYTES_MAX (16 << 20)  /* all patterns of one policy */

#define POLICY_NONE INT64_MAX            /* an integer field without limit */

enum policy_action { POLICY_ADD, POLICY_MULTIPLY };
enum policy_robots { POLICY_OBEY, POLICY_IGNORE };

struct policy_url_rule {
	struct str pattern;          /* p NULL: the last rule, always matches */
	enum policy_action action;
	double amount;               /* never negative */
};

struct policy_mime_rule {
	struct str pattern;          /* as above */
	bool keep;
};

struct policy_header {
	struct str name, value;
};

/*
 * Numbers in seconds are doubles, where INFINITY is "no limit"; counts are
 * integers, where POLICY_NONE is.  Rules: at least one, and only the last has
 * no pattern.
 */
struct policy {
	struct policy_url_rule *url_rules;
	size_t url_rules_n;
	struct policy_mime_rule *mime_rules;
	size_t mime_rules_n;
	struct {
		double max_cost;
		int64_t max_depth, max_items;
		double max_duration;         /* s */
		int64_t max_bytes;           /* of WARC files */
		int64_t max_body_bytes;
		double timeout;              /* s */
	} limits;
	int64_t robots;                      /* enum policy_robots */
	struct str *strip;                   /* normalize.strip */
	size_t strip_n;
	struct str user_agent;               /* p NULL: the crawler's own */
	double rate_limit;                   /* s */
	struct policy_header *headers;
	size_t headers_n;
	int64_t downloads;
	bool embeds, sitemaps, cookies, allow_private;
	struct str proxy;                    /* p NULL: none */
	struct trap_limits traps;
	struct arena memory;                 /* of all that stands above */
};

/* One row for each field: parser, printer, limits, help and manual. */
enum policy_kind {
	POLICY_NUMBER, POLICY_INTEGER, POLICY_BOOL, POLICY_TEXT, POLICY_CHOICE,
	POLICY_URL_RULES, POLICY_MIME_RULES, POLICY_STRINGS, POLICY_HEADERS
};
struct policy_field {
	const char *name;        /* "limits.max_depth" */
	const char *alias;       /* a second name in the same group, or NULL */
	enum policy_kind kind;
	bool nullable;           /* null is "no limit", else the default */
	bool extra;              /* beyond the contract: printed when changed */
	double min, max;         /* of numbers and integers */
	double preset;           /* the default; INFINITY: none */
	const char *unit;        /* "s", "bytes", or "" */
	const char *help;        /* one line */
	size_t offset;           /* in struct policy */
};
extern const struct policy_field policy_fields[];
extern const size_t policy_fields_n;
/* The words of a CHOICE field, ended by NULL: "obey", "ignore". */
const char *const *policy_field_words(const struct policy_field *);

/* The policy `default`: the built-in values. */
struct policy *policy_new(void);
void policy_free(struct policy **);      /* and empties it */
struct policy *policy_copy(const struct policy *);

/*
 * A policy from JSON text.  Missing fields take the built-in values.  Numbers
 * may be numeric strings; "" and null are absent, but null in a nullable field
 * means "no limit".  Errors: INPUT with the place first
 * ("url_rules[1].pattern: ..."); FULL when a list is longer than its limit.
 */
MUST_USE enum err policy_parse(struct str json, struct policy **out,
    struct why *);

/*
 * Append the canonical JSON: all fields of the contract in its order, then the
 * others that differ from their default.  policy_parse() gives an equal policy.
 */
void policy_to_json(const struct policy *, struct buf *out);
/*
 * Append one sentence for people about what is in force, such as "any depth,
 * embedded resources on, 1 s between requests to one host, robots.txt obeyed":
 * at most POLICY_SENTENCE_BYTES_MAX bytes.  The scope is the rules' and is left
 * out.
 */
#define POLICY_SENTENCE_BYTES_MAX 300u
void policy_to_sentence(const struct policy *, struct buf *out);
/*
 * Whether doors can tell it whole.  Errors: FULL when that JSON is longer than
 * POLICY_JSON_BYTES_MAX.
 */
MUST_USE enum err policy_fits(const struct policy *, struct why *);

/* The User-Agent that it sends; empty: the crawler's own. */
struct str policy_user_agent(const struct policy *);
/*
 * Whether robots.txt can address the sender of that User-Agent.  Policies of
 * earlier versions may hold one that it cannot.  Errors: INPUT, with the field.
 */
MUST_USE enum err policy_check_agent(const struct policy *, struct why *);

/*
 * Set one field from text, as a command line has it: numbers, "true", "false",
 * words; "null" or "none" where the field is nullable.  Errors: INPUT, ABSENT
 * when there is no such field, USAGE when the field is a list.
 */
MUST_USE enum err policy_set(struct policy *, struct str name,
    struct str value, struct why *);

/*
 * The scope of a crawl as url_rules (all of them are replaced).  The rules hold
 * placeholders that policy_compile() fills from the seeds:
 *   {SEED_DOMAINS}   the seeds' host names
 *   {SEED_SITES}     their registrable domains, or the host where it has none
 *   {SEED_PREFIXES}  their "host:port/path" up to the last "/"
 * each as an alternation of escaped texts.  Any rule may hold them.
 */
enum policy_scope { SCOPE_HOST, SCOPE_DOMAIN, SCOPE_PREFIX, SCOPE_ANY };
void policy_set_scope(struct policy *, enum policy_scope);
#define POLICY_RULE_HOST "^https?://{SEED_DOMAINS}(:\\d+)?/"
#define POLICY_RULE_DOMAIN "^https?://([^/@:]*\\.)?{SEED_SITES}(:\\d+)?/"
#define POLICY_RULE_PREFIX "^https?://{SEED_PREFIXES}"

/*
 * Take what matches `regex`, whatever the scope says; leave out what matches
 * it.  An exclusion stands before all other rules, an inclusion behind the
 * exclusions.  Errors: INPUT when it is no regular expression, FULL.
 */
MUST_USE enum err policy_add_include(struct policy *, struct str regex,
    struct why *);
MUST_USE enum err policy_add_exclude(struct policy *, struct str regex,
    struct why *);

/* Judging. */

struct policy_compiled;

/*
 * The policy with the seeds filled in; both are copied.  Seeds need not be
 * canonical.  Errors: INPUT when a pattern does not compile, FULL when it grows
 * too large with these seeds (the three rules of policy_set_scope() never do)
 * or all together exceed POLICY_REGEX_BYTES_MAX.
 */
MUST_USE enum err policy_compile(const struct policy *, const struct url *seeds,
    size_t seeds_n, struct policy_compiled **out, struct why *);
/* As above but every rule runs in PCRE2: the oracle of the tests. */
MUST_USE enum err policy_compile_plain(const struct policy *,
    const struct url *seeds, size_t seeds_n, struct policy_compiled **out,
    struct why *);
void policy_compiled_free(struct policy_compiled **);  /* and empties it */
const struct policy *policy_of(const struct policy_compiled *);

/* The identity of a URL under normalize.strip.  See url_canonical(). */
MUST_USE enum err policy_canonical(const struct policy_compiled *,
    const struct url *, struct arena *, struct url *out, struct why *);

struct policy_verdict {
	bool take;
	enum skip_reason reason;  /* NONE when taken */
	double cost;              /* of the URL, when it is taken */
	int rule;                 /* index in url_rules; -1: no rule decided */
	bool embed;               /* taken only as a part of its page */
	const char *text;         /* borrowed from the compiled policy */
};

/*
 * Judge a link.  `u` is canonical.  `parent_cost` is the cost of the page that
 * holds it (a seed's is 1), `depth` the link's own depth.  Seeds are not
 * judged.
 *
 * `embed`: the link is a part of an in-scope page (image, style, script,
 * frame).  With policy.embeds it is taken at the page's own depth, which the
 * caller passes as `depth`, also where no rule but the last matches it; then
 * verdict.embed is set, and what such a capture links to is judged with `embed`
 * false.  Without policy.embeds it is skipped.
 *
 * Never blocks; no state; at most a few dozen ns for the rules that
 * policy_set_scope() writes.  A pattern that exceeds the match limit skips the
 * URL with reason URL.
 */
void policy_judge_url(const struct policy_compiled *, const struct url *u,
    double parent_cost, unsigned depth, bool embed,
    struct policy_verdict *out);

/*
 * Judge a Content-Type field value; empty stands for
 * "application/octet-stream".  Rules are matched without case against type and
 * subtype alone; verdict.rule counts in mime_rules.
 */
void policy_judge_mime(const struct policy_compiled *, struct str content_type,
    struct policy_verdict *out);

/* The result of every URL rule, including those after the one that decides. */
enum policy_match { POLICY_NO_MATCH, POLICY_MATCH, POLICY_GAVE_UP };
struct policy_explanation {
	struct policy_verdict verdict;
	const struct policy_url_rule *rules;  /* of the compiled policy */
	enum policy_match *matches;           /* memory: the arena */
	size_t rules_n;
};
void policy_explain(const struct policy_compiled *, const struct url *u,
    double parent_cost, unsigned depth, bool embed, struct arena *,
    struct policy_explanation *out);
/* One line for each rule and one for the verdict. */
void policy_explanation_print(const struct policy_explanation *, struct buf *);

#endif
