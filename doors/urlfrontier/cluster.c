/*
 * The nodes: whose queue it is, and one connection to each of the others.
 *
 *     name ─► addresses ─► connecting ─► up ─► lost ─┐
 *               ▲  ▲           │ refused             │ the next call
 *               │  └─ hold ◄───┘                     │
 *               └──────────────◄─────────────────────┘
 *
 * A name with several addresses: they are tried one behind the other, each by
 * itself when the one before took no connection; the one that did is kept.
 */
#include "doors/urlfrontier/cluster.h"

#include "os/file.h"
#include "os/log.h"
#include "os/resolve.h"

#define CONNECT_MS 5000
#define RESOLVE_MS 5000
#define NAME_TTL_S_MAX 300
#define TOKEN_BYTES_MAX 4096
#define WINDOW_BYTES ((int64_t)128 << 10)
#define HOST_BYTES_MAX 253
#define SERVICE_PATH "/urlfrontier.URLFrontier/"
#define BEARER "Bearer "
#define CLOSING "this node is shutting down"

struct peer {
	struct cluster *cluster;
	char *name, *host;           /* as listed; without port and brackets */
	uint16_t port;
	bool literal;                /* the host is an address */
	struct ip addresses[RESOLVE_ADDRESSES_MAX];
	size_t n, at, tried;         /* at: the one to connect to */
	struct resolve_query query;
	bool asking;
	struct grpc_port *link;      /* NULL: none, or it takes no calls */
	bool up;                     /* it has been connected */
	struct mono began, retry_at; /* of the last connection */
	struct why why;              /* why there is none */
	bool told;                   /* the log knows that it is lost */
	bool refused;                /* and that it does not know our token */
	size_t asked_bytes;
};

struct cluster {
	struct loop *loop;
	struct net *net;
	struct net_tls *tls;         /* NULL: plain */
	struct resolver *resolver;   /* NULL: all hosts are addresses */
	struct peer *peers;          /* by name; this node too */
	size_t n, self;
	char *bearer;                /* "Bearer WORD", or NULL */
	int64_t deadline_ns;
	struct list links;           /* all, also those that were let go */
	bool closing;
};

/* ---- Whose queue it is --------------------------------------------------- */

/* A character of UTF-8, and on to the next. */
static uint32_t
next_char(struct str s, size_t *at)
{
	unsigned char lead = (unsigned char)s.p[(*at)++];
	int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
	uint32_t c = lead;

	if (more > 0)
		c = lead & (0x3fu >> more);
	for (; more > 0 && *at < s.n && (s.p[*at] & 0xc0) == 0x80; more--)
		c = c << 6 | (s.p[(*at)++] & 0x3f);
	return c;
}

/* One more UTF-16 code unit; it wraps as Java's int does. */
static uint32_t
hash_unit(uint32_t h, uint32_t unit)
{
	return h * 31 + unit;
}

static uint32_t
hash_part(uint32_t h, struct str s)
{
	for (size_t at = 0; at < s.n;) {
		uint32_t c = next_char(s, &at);
		if (c == '_') {
			h = hash_unit(hash_unit(hash_unit(h, '%'), '5'), 'F');
		} else if (c >= 0x10000) {
			h = hash_unit(h, 0xd800 + ((c - 0x10000) >> 10));
			h = hash_unit(h, 0xdc00 + (c & 0x3ff));
		} else {
			h = hash_unit(h, c);
		}
	}
	return h;
}

size_t
cluster_hash_owner(struct str crawl, struct str key, size_t n)
{
	uint32_t h = hash_part(hash_unit(hash_part(0, crawl), '_'), key);
	int64_t rest = (h < UINT32_C(1) << 31 ? (int64_t)h :
	    (int64_t)h - (INT64_C(1) << 32)) % (int64_t)n;

	return (size_t)(rest < 0 ? -rest : rest);
}

size_t
cluster_owner(const struct cluster *c, struct str crawl, struct str key)
{
	return cluster_hash_owner(crawl, key, c->n);
}

size_t
cluster_nodes(const struct cluster *c)
{
	return c->n;
}

const char *
cluster_node(const struct cluster *c, size_t node)
{
	CHECK(node < c->n);
	return c->peers[node].name;
}

size_t
cluster_self(const struct cluster *c)
{
	return c->self;
}

int64_t
cluster_deadline_ns(const struct cluster *c)
{
	return c->deadline_ns;
}

bool
cluster_token_is_peers(const struct cluster *c, struct str token)
{
	struct str own = str_from(str_of(c->bearer), strlen(BEARER));
	unsigned char differ = 0;

	if (own.n == 0 || token.n != own.n)
		return false;
	for (size_t i = 0; i < own.n; i++)
		differ |= (unsigned char)(own.p[i] ^ token.p[i]);
	return differ == 0;
}

/* ---- Names --------------------------------------------------------------- */

static void
found(struct resolve_query *q)
{
	struct peer *p = CONTAINER(q, struct peer, query);

	p->asking = false;
	if (q->n > 0) {
		memcpy(p->addresses, q->addresses,
		    q->n * sizeof(*q->addresses));
		p->n = q->n;
		p->at = p->tried = 0;
	} else if (p->n == 0) {
		p->why = WHY_INIT;
		(void)why(&p->why, ERR_UNREACHED,
		    "the name cannot be resolved: %s", q->error);
	}
}

static void
look_up(struct peer *p)
{
	if (p->literal || p->asking || p->cluster->closing)
		return;
	p->asking = true;
	p->query.host = str_of(p->host);
	p->query.found = found;
	resolve_start(p->cluster->resolver, &p->query);
}

/* ---- Connections --------------------------------------------------------- */

static bool connect_next(struct peer *);

static void
tell_lost(struct peer *p)
{
	struct log_text quoted;

	if (!p->told)
		log_warn("urlfrontier.peer_lost", "node=%s why=%s", p->name,
		    log_quote(&quoted, str_of(p->why.text)));
	p->told = true;
}

static void
tell_found(struct peer *p)
{
	if (p->told)
		log_info("urlfrontier.peer_found", "node=%s", p->name);
	p->told = false;
}

/* This address took no connection; false: neither did any other. */
static bool
try_others(struct peer *p)
{
	p->at = (p->at + 1) % p->n;
	if (++p->tried < p->n)
		return connect_next(p);
	p->tried = 0;
	p->retry_at = mono_add_ms(loop_now(p->cluster->loop),
	    CLUSTER_RETRY_MS);
	tell_lost(p);
	look_up(p);
	return false;
}

static void
opened(struct grpc_port *link)
{
	struct peer *p = link->owner;

	if (p->link != link)
		return;
	p->up = true;
	p->refused = false;
	p->tried = 0;
	tell_found(p);
}

static void
closed(struct grpc_port *link)
{
	struct peer *p = link->owner;

	if (p->link != link)
		return;
	p->link = NULL;
	p->why = link->why;
	if (p->why.err == OK)
		(void)why(&p->why, ERR_CLOSED, "the connection was closed");
	if (p->cluster->closing)
		return;
	if (p->up)
		tell_lost(p);
	else
		(void)try_others(p);
	p->up = false;
}

static bool
connect_next(struct peer *p)
{
	struct cluster *c = p->cluster;
	struct grpc_limits limits = grpc_port_limits();
	char address[IP_TEXT_MAX];
	const struct net_target to = { .address = address, .name = p->host,
	    .port = p->port, .tls = c->tls, .timeout_ms = CONNECT_MS };

	/* Whatever listings nobody reads, the other calls have their window. */
	limits.stream_window_bytes = WINDOW_BYTES;
	limits.held_bytes_max = WINDOW_BYTES * limits.streams_max;
	ip_to_text(&p->addresses[p->at], address);
	p->up = false;
	p->why = WHY_INIT;
	p->began = loop_now(c->loop);
	/* A client that retries at once must not cause a connection storm. */
	p->retry_at = mono_add_ms(p->began, CLUSTER_RETRY_MS);
	p->link = grpc_port_connect_within(c->net, c->loop, &to, &limits,
	    closed, &p->why);
	if (p->link == NULL)
		return try_others(p);
	p->link->owner = p;
	p->link->opened = opened;
	list_put(&c->links, &p->link->node);
	return true;
}

/* The connection, made now if need be; NULL: there is none, and why. */
static struct grpc_port *
link_of(struct peer *p, struct why *w)
{
	struct cluster *c = p->cluster;
	const char *text = p->why.text;

	if (c->closing) {
		(void)why(w, ERR_CLOSED, CLOSING);
		return NULL;
	}
	if (p->link != NULL && p->link->why.err == OK)
		return p->link;
	if (p->link != NULL) {
		/* It has failed, and this is said to its calls. */
		text = p->link->why.text;
	} else if (p->n == 0) {
		look_up(p);
		if (p->n == 0 && text[0] == '\0')
			text = "the name is being resolved";
	}
	if (p->link == NULL && p->n > 0 &&
	    !mono_before(loop_now(c->loop), p->retry_at) && connect_next(p))
		return p->link;
	(void)why(w, ERR_UNREACHED, "node %s: %s", p->name, text[0] != '\0' ?
	    text : "it cannot be reached");
	return NULL;
}

static void
let_go(struct peer *p)
{
	p->link = NULL;
	p->up = false;
}

/* ---- Calls --------------------------------------------------------------- */

static struct grpc_call *
try_call(struct peer *p, const struct grpc_request *r, enum err *e,
    struct why *w)
{
	struct why own = WHY_INIT;
	struct grpc_port *link = link_of(p, w);

	*e = OK;
	if (link == NULL)
		return NULL;
	struct grpc_call *call = grpc_call_new(link->session, r,
	    loop_now(p->cluster->loop), &own);
	if (call == NULL) {
		*e = own.err;
		(void)why(w, ERR_UNREACHED, "node %s: %s", p->name, own.text);
	}
	return call;
}

struct grpc_call *
cluster_call(struct cluster *c, size_t node, const char *rpc,
    const struct grpc_events *on, void *arg, int64_t timeout_ns,
    const struct grpc_field *more, struct why *w)
{
	struct grpc_field fields[3];
	char path[100];
	struct grpc_request r = { .path = path, .timeout_ns = timeout_ns,
	    .fields = fields, .on = on, .arg = arg };
	struct why first = WHY_INIT;
	enum err e;

	CHECK(node < c->n && node != c->self);
	snprintf(path, sizeof(path), SERVICE_PATH "%s", rpc);
	fields[r.fields_n++] = (struct grpc_field){ STR("argiope-scope"),
	    STR("local") };
	if (c->bearer != NULL)
		fields[r.fields_n++] = (struct grpc_field){
		    STR("authorization"), str_of(c->bearer) };
	if (more != NULL)
		fields[r.fields_n++] = *more;
	struct grpc_call *call = try_call(&c->peers[node], &r, &e, &first);
	if (call != NULL)
		return call;
	if (e != ERR_CLOSED) {
		(void)why(w, first.err, "%s", first.text);
		return NULL;
	}
	/* It takes no calls any more: what is under way ends there. */
	let_go(&c->peers[node]);
	return try_call(&c->peers[node], &r, &e, w);
}

/* Each connection says it once: tokens that differ are an operator's slip. */
static void
tell_refused(struct peer *p, struct str text)
{
	struct log_text quoted;

	if (!p->refused)
		log_warn("urlfrontier.peer_refused", "node=%s why=%s", p->name,
		    log_quote(&quoted, text));
	p->refused = true;
}

enum grpc_code
cluster_explain(struct cluster *c, size_t node, enum grpc_code code,
    struct str text, struct why *w)
{
	struct peer *p = &c->peers[node];
	bool refused = code == GRPC_UNAUTHENTICATED ||
	    code == GRPC_PERMISSION_DENIED;
	bool lost = code == GRPC_UNAVAILABLE && p->link != NULL &&
	    p->link->why.err != OK;

	if (lost) {
		text = str_of(p->link->why.text);
		/* It did connect, and then it was silent for too long. */
		if (p->up && p->link->why.err == ERR_TIMEOUT)
			code = GRPC_DEADLINE_EXCEEDED;
	}
	if (refused)
		tell_refused(p, text);
	if (lost && c->closing)
		(void)why(w, ERR_CLOSED, CLOSING);
	else if (refused || code == GRPC_UNAVAILABLE ||
	    code == GRPC_DEADLINE_EXCEEDED)
		(void)why(w, ERR_UNREACHED, "node %s: %.*s", p->name,
		    STR_FMT(text));
	else
		(void)why(w, ERR_STATE, "%.*s", STR_FMT(text));
	return code;
}

bool
cluster_take(struct cluster *c, size_t node, size_t bytes)
{
	size_t *asked = &c->peers[node].asked_bytes;

	if (*asked > 0 && *asked + bytes > CLUSTER_ASKED_BYTES_MAX)
		return false;
	*asked += bytes;
	return true;
}

void
cluster_give(struct cluster *c, size_t node, size_t bytes)
{
	CHECK(c->peers[node].asked_bytes >= bytes);
	c->peers[node].asked_bytes -= bytes;
}

/* ---- The beginning ------------------------------------------------------- */

/* "host:7071" or "[::1]:7071" in its two parts. */
static bool
read_node(struct str s, struct str *host, uint16_t *port)
{
	const char *colon = memrchr(s.p, ':', s.n);
	uint64_t number;

	if (colon == NULL || !str_to_u64(str_from(s, (size_t)(colon - s.p) +
	    1), &number) || number == 0 || number > UINT16_MAX)
		return false;
	*host = str_cut(s, 0, (size_t)(colon - s.p));
	*port = (uint16_t)number;
	if (str_starts(*host, STR("[")) && str_ends(*host, STR("]")))
		*host = str_cut(*host, 1, host->n - 1);
	else if (str_find_char(*host, ':') < host->n)
		return false;
	for (size_t i = 0; i < host->n; i++)
		if (host->p[i] <= ' ' || host->p[i] > '~' ||
		    str_find_char(STR("/\\%\"[]@?#"), host->p[i]) < 9)
			return false;
	return host->n > 0 && host->n <= HOST_BYTES_MAX;
}

static char *
copy_str(struct str s)
{
	char *p = mem_new(s.n + 1);

	memcpy(p, s.p, s.n);
	return p;
}

static enum err
add_node(struct cluster *c, struct str entry, const char *place,
    struct why *w)
{
	struct str host;
	uint16_t port;

	if (!read_node(entry, &host, &port))
		return why(w, ERR_CONFIG, "urlfrontier.nodes (%s): \"%.*s\" is "
		    "no HOST:PORT", place, STR_FMT(entry));
	c->peers = mem_resize(c->peers, c->n + 1, sizeof(*c->peers));
	struct peer *p = &c->peers[c->n++];
	*p = (struct peer){ .name = copy_str(entry), .host = copy_str(host),
	    .port = port, .why = WHY_INIT };
	return OK;
}

static int
by_name(const void *a, const void *b)
{
	const struct peer *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static enum err
read_nodes(struct cluster *c, const struct conf *conf, struct why *w)
{
	const char *place = conf_place(conf, CONF_URLFRONTIER_NODES);
	enum err e = OK;
	size_t at = 0;
	struct str entry;

	while (e == OK && conf_list(conf, CONF_URLFRONTIER_NODES, &at, &entry))
		e = add_node(c, entry, place, w);
	if (e != OK || c->n == 0)
		return e;
	qsort(c->peers, c->n, sizeof(*c->peers), by_name);
	for (size_t i = 1; i < c->n; i++)
		if (strcmp(c->peers[i].name, c->peers[i - 1].name) == 0)
			return why(w, ERR_CONFIG, "urlfrontier.nodes (%s): %s "
			    "stands twice", place, c->peers[i].name);
	return OK;
}

static bool
find_self(struct cluster *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->peers[i].name, name) == 0) {
			c->self = i;
			return true;
		}
	return false;
}

/* "localhost:7071" is found by that, and by the address behind it. */
static enum err
read_self(struct cluster *c, const struct conf *conf, const char *listening,
    struct why *w)
{
	struct str own = conf_str(conf, CONF_URLFRONTIER_NODE);
	const char *place = conf_place(conf, CONF_URLFRONTIER_NODES);

	if (own.n > 0)
		return find_self(c, own.p) ? OK : why(w, ERR_CONFIG,
		    "urlfrontier.node = %s (%s) is not in urlfrontier.nodes "
		    "(%s)", own.p, conf_place(conf, CONF_URLFRONTIER_NODE),
		    place);
	if (find_self(c, listening) ||
	    find_self(c, conf_str(conf, CONF_URLFRONTIER_LISTEN).p))
		return OK;
	return why(w, ERR_CONFIG, "urlfrontier.nodes (%s) does not name %s, "
	    "where this node listens: urlfrontier.node says which entry it is",
	    place, listening);
}

static enum err
read_token(struct cluster *c, const struct conf *conf, struct why *w)
{
	struct str path = conf_str(conf, CONF_URLFRONTIER_PEER_TOKEN_FILE);
	struct buf file = BUF_INIT, bearer = BUF_INIT;
	struct why own = WHY_INIT;
	enum err e;

	if (path.n == 0)
		return OK;
	e = file_load(path.p, TOKEN_BYTES_MAX, &file, &own);
	if (e != OK)
		(void)why(w, e, "urlfrontier.peer_token_file: %s", own.text);
	struct str token = str_trim(buf_str(&file));
	if (e == OK && token.n == 0)
		e = why(w, ERR_CONFIG, "urlfrontier.peer_token_file: %s holds "
		    "no token", path.p);
	for (size_t i = 0; e == OK && i < token.n; i++)
		if (token.p[i] <= ' ' || token.p[i] > '~')
			e = why(w, ERR_CONFIG, "urlfrontier.peer_token_file: "
			    "%s must hold one word of ASCII", path.p);
	if (e == OK) {
		buf_put_text(&bearer, BEARER);
		buf_put_str(&bearer, token);
		c->bearer = mem_copy_text(buf_text(&bearer));
	}
	buf_free(&file);
	buf_free(&bearer);
	return e;
}

static enum err
read_tls(struct cluster *c, const struct conf *conf, struct why *w)
{
	struct str ca = conf_str(conf, CONF_URLFRONTIER_PEER_CA);
	struct why own = WHY_INIT;

	if (conf_str(conf, CONF_URLFRONTIER_TLS_CERT).n > 0)
		return net_tls_client(ca.n > 0 ? ca.p : NULL, &c->tls, &own) ==
		    OK ? OK : why(w, own.err, "urlfrontier.peer_ca: %s",
		    own.text);
	if (ca.n > 0)
		return why(w, ERR_CONFIG, "urlfrontier.peer_ca (%s) is of use "
		    "with urlfrontier.tls_cert only",
		    conf_place(conf, CONF_URLFRONTIER_PEER_CA));
	return OK;
}

/* Addresses are there at once, names as soon as somebody knows them. */
static void
find_addresses(struct cluster *c)
{
	const struct resolver_options o = { .ttl_s_min = 1,
	    .ttl_s_max = NAME_TTL_S_MAX, .negative_s = 1, .cache_max = c->n,
	    .timeout_ms = RESOLVE_MS };

	for (size_t i = 0; i < c->n; i++) {
		struct peer *p = &c->peers[i];
		p->cluster = c;
		p->literal = ip_from_text(str_of(p->host), &p->addresses[0]);
		p->n = p->literal;
		if (p->literal || i == c->self)
			continue;
		if (c->resolver == NULL)
			c->resolver = resolver_new(c->loop, &o);
		look_up(p);
	}
}

enum err
cluster_open(const struct conf *conf, struct loop *loop, struct net *net,
    const char *listening, struct cluster **out, struct why *w)
{
	struct cluster *c = mem_new(sizeof(*c));
	enum err e;

	*out = NULL;
	c->loop = loop;
	c->net = net;
	c->deadline_ns = conf_ms(conf, CONF_URLFRONTIER_FORWARD_DEADLINE_S) *
	    NS_PER_MS;
	list_init(&c->links);
	e = read_nodes(c, conf, w);
	if (e == OK && c->n > 0)
		e = read_self(c, conf, listening, w);
	if (e == OK && c->n > 1)
		e = read_token(c, conf, w);
	if (e == OK && c->n > 1)
		e = read_tls(c, conf, w);
	if (e != OK || c->n < 2) {
		cluster_free(&c);
		return e;
	}
	find_addresses(c);
	log_info("urlfrontier.cluster", "nodes=%zu self=%s", c->n,
	    c->peers[c->self].name);
	*out = c;
	return OK;
}

void
cluster_close(struct cluster *c)
{
	if (c == NULL || c->closing)
		return;
	c->closing = true;
	LIST_EACH(link, &c->links, struct grpc_port, node) {
		/* A turn in which it is said, also when none is under way. */
		net_wake(link->conn);
		net_abort(link->conn, ERR_CLOSED, CLOSING);
	}
}

void
cluster_free(struct cluster **cp)
{
	struct cluster *c = *cp;

	if (c == NULL)
		return;
	CHECK(list_empty(&c->links));
	resolver_free(&c->resolver);
	for (size_t i = 0; i < c->n; i++) {
		mem_free(&c->peers[i].name);
		mem_free(&c->peers[i].host);
	}
	mem_free(&c->peers);
	net_tls_free(&c->tls);
	mem_free(&c->bearer);
	mem_free(cp);
}
