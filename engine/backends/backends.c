#include "engine/backends/backends_own.h"

#include "engine/policy/address.h"

/* Rounds of decoding after which a path counts as malicious. */
#define DECODE_ROUNDS_MAX 8

/* ---- The set --------------------------------------------------------- */

struct backends *
backends_new(size_t n)
{
	struct backends *set = mem_new(sizeof(*set));

	atomic_init(&set->users, 1);
	set->n = n;
	set->items = ARENA_ARRAY(&set->arena, struct backend, n);
	return set;
}

struct backends *
backends_local(void)
{
	struct backends *set = backends_new(1);

	set->items[0].name = STR("local");
	return set;
}

struct backends *
backends_hold(struct backends *set)
{
	atomic_fetch_add(&set->users, 1);
	return set;
}

void
backends_release(struct backends **sp)
{
	struct backends *set = *sp;

	*sp = NULL;
	if (set == NULL || atomic_fetch_sub(&set->users, 1) > 1)
		return;
	secret_memory_free(&set->secrets);
	arena_free(&set->arena);
	mem_free(&set);
}

size_t
backends_n(const struct backends *set)
{
	return set->n;
}

const struct backend *
backends_nth(const struct backends *set, size_t i)
{
	CHECK(i < set->n);
	return &set->items[i];
}

const struct backend *
backends_find(const struct backends *set, struct str name)
{
	for (size_t i = 0; i < set->n; i++)
		if (str_eq(set->items[i].name, name))
			return &set->items[i];
	return NULL;
}

const struct backend *
backends_of_token(const struct backends *set, struct str token_name)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->items[i].token.n > 0 &&
		    str_eq(set->items[i].token, token_name))
			return &set->items[i];
	return NULL;
}

/* ---- URLs ------------------------------------------------------------ */

/* The part between "://" and the path; STR_NONE: the URL has no such form. */
static struct str
authority_of(struct str url)
{
	size_t n = 0;

	if (str_starts_nocase(url, STR("http://")))
		url = str_from(url, 7);
	else if (str_starts_nocase(url, STR("https://")))
		url = str_from(url, 8);
	else
		return STR_NONE;
	while (n < url.n && url.p[n] != '/' && url.p[n] != '?')
		n++;
	return str_cut(url, 0, n);
}

/* The URL parser would drop some of these, or read them as others. */
static bool
has_odd_byte(struct str url)
{
	for (size_t i = 0; i < url.n; i++) {
		unsigned char c = (unsigned char)url.p[i];
		if (c <= ' ' || c == 0x7f || c == '\\')
			return true;
	}
	return false;
}

const char *
backend_url_fault(struct str text, struct arena *a, struct url *out)
{
	struct str authority = authority_of(text);

	if (text.n > BACKEND_URL_BYTES_MAX)
		return "must have at most 8192 bytes";
	if (has_odd_byte(text))
		return "must have no blank, control character or backslash";
	if (authority.n == 0)
		return "must begin with http:// or https:// and a host";
	if (str_find_char(text, '#') < text.n)
		return "must have no fragment";
	if (str_find_char(authority, '@') < authority.n)
		return "must have no user or password";
	if (url_parse(text, NULL, a, out, NULL) != OK)
		return "must be a URL";
	return NULL;
}

static struct str
without_brackets(struct str host)
{
	return host.n > 2 && host.p[0] == '[' ?
	    str_cut(host, 1, host.n - 1) : host;
}

static bool
is_loopback_name(struct str host)
{
	return str_eq_nocase(host, STR("localhost")) || (host.n > 10 &&
	    str_eq_nocase(str_from(host, host.n - 10), STR(".localhost")));
}

bool
backend_address_is_loopback(const struct ip *ip)
{
	static const struct ip v6 = { { [15] = 1 } };

	return address_classify(ip->b) == ADDRESS_LOOPBACK &&
	    (ip_is_v4(ip) || memcmp(ip, &v6, sizeof(v6)) == 0);
}

bool
backend_host_is_loopback(struct str host)
{
	struct ip ip;

	if (ip_from_text(without_brackets(host), &ip))
		return backend_address_is_loopback(&ip);
	return is_loopback_name(host);
}

static bool
is_dot_segment(struct str segment)
{
	segment = str_cut(segment, 0, str_find_char(segment, ';'));
	return str_eq(segment, STR(".")) || str_eq(segment, STR(".."));
}

static bool
has_dot_segment(struct str path)
{
	size_t from = 0;

	for (size_t i = 0; i <= path.n; i++) {
		if (i < path.n && path.p[i] != '/' && path.p[i] != '\\')
			continue;
		if (is_dot_segment(str_cut(path, from, i)))
			return true;
		from = i + 1;
	}
	return false;
}

/* Decode in place; false when nothing was encoded. */
static bool
decode_once(struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; n++) {
		int byte = str_percent_byte(str_from(buf_str(b), i));
		b->p[n] = byte < 0 ? b->p[i] : (char)byte;
		i += byte < 0 ? 1 : 3;
	}
	bool any = n < b->n;
	b->n = n;
	return any;
}

bool
backend_path_hides_dots(struct str path)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	int rounds = 0;

	buf_put_str(&b, path);
	while (!has_dot_segment(buf_str(&b))) {
		if (!decode_once(&b))
			return false;
		if (++rounds > DECODE_ROUNDS_MAX)
			return true;
	}
	return true;
}

/* ---- Admission ------------------------------------------------------- */

static bool
is_path_below(struct str path, struct str prefix)
{
	return str_starts(path, prefix) && (str_ends(prefix, STR("/")) ||
	    path.n == prefix.n || path.p[prefix.n] == '/');
}

/* The first part that differs from the prefix; NULL: none. */
static const char *
part_beyond_prefix(const struct backend *b, const struct url *u)
{
	const struct url *prefix = &b->prefix_url;

	if (u->scheme != prefix->scheme)
		return "scheme";
	if (!str_eq(u->host, prefix->host))
		return "host";
	if (u->port != prefix->port)
		return "port";
	return is_path_below(u->path, prefix->path) ? NULL : "path";
}

enum err
backend_admit(const struct backend *b, struct str endpoint,
    struct str *out_url, struct arena *a, struct why *w)
{
	const char *fault, *part;
	struct url u;

	*out_url = STR_NONE;
	fault = backend_url_fault(endpoint, a, &u);
	if (fault != NULL)
		return why_field(w, ERR_INPUT, "endpoint", "it %s", fault);
	if (b->prefix.n == 0 && !backend_host_is_loopback(u.host))
		return why_field(w, ERR_DENIED, "endpoint", "without "
		    "external.backends_file it must be on loopback");
	part = b->prefix.n == 0 ? NULL : part_beyond_prefix(b, &u);
	if (part != NULL)
		return why_field(w, ERR_DENIED, "endpoint", "its %s does "
		    "not match the prefix of the back end %.*s", part,
		    STR_FMT(b->name));
	if (backend_path_hides_dots(u.path))
		return why_field(w, ERR_DENIED, "endpoint", "its path has dot "
		    "segments");
	*out_url = u.href;
	return OK;
}

bool
backend_allows_address(const struct backend *b, struct str host,
    const struct ip *ip)
{
	bool is_loopback = backend_address_is_loopback(ip);
	bool is_local = b->prefix.n == 0;
	struct ip literal;

	host = without_brackets(host);
	if (!is_local && !str_eq_nocase(host,
	    without_brackets(b->prefix_url.host)))
		return false;
	if (ip_from_text(host, &literal))
		return memcmp(&literal, ip, sizeof(literal)) == 0 &&
		    (is_loopback || !is_local);
	if (is_loopback_name(host))
		return is_loopback;
	return !is_local && address_is_public(ip->b);
}

enum err
backend_append_path(struct str endpoint_url, const char *what,
    struct buf *out)
{
	size_t at = str_find_char(endpoint_url, '?');
	struct str path = str_cut(endpoint_url, 0, at);

	if (authority_of(endpoint_url).n == 0 ||
	    str_find_char(endpoint_url, '#') < endpoint_url.n)
		return ERR_INPUT;
	if (str_ends(path, STR("/")))
		path.n--;
	buf_put_str(out, path);
	buf_put_text(out, what);
	buf_put_str(out, str_from(endpoint_url, at));
	return OK;
}
