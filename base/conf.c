#include "base/conf.h"

#include "base/guess.h"
#include "base/text.h"

#define KIB 1024.0
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)
#define PIB (1024 * TIB)
#define RESTART CONF_RESTART
#define SECRET CONF_SECRET

static const struct setting table[CONF_COUNT] = {
#define SETTING(id, name, type, text, least, most, unit, flags, help)       \
	[CONF_##id] = { name, CONF_##type, text, least, most, unit, flags,   \
	    help },
#include "base/settings.def"
};

/* The rows and the headings in the order of the file. */
static const struct {
	const char *heading;
	int id;
} layout[] = {
#define GROUP(title) { title, -1 },
#define SETTING(id, ...) { NULL, CONF_##id },
#include "base/settings.def"
};

/* Settings added by conf_add(); their ids begin at CONF_COUNT. */
static struct {
	const struct setting *row;
	const char *heading;
} added[CONF_ROWS_MAX - CONF_COUNT];
static size_t added_n;

size_t
conf_rows(void)
{
	return CONF_COUNT + added_n;
}

const struct setting *
conf_setting(enum conf_id id)
{
	CHECK(id < conf_rows());
	return id < CONF_COUNT ? &table[id] : added[id - CONF_COUNT].row;
}

void
conf_add(const char *heading, const struct setting *rows, size_t n)
{
	enum conf_id id;

	CHECK(added_n + n <= ARRAY_LEN(added));
	for (size_t i = 0; i < n; i++) {
		CHECK(!conf_find(str_of(rows[i].name), &id));
		added[added_n].row = &rows[i];
		added[added_n++].heading = i == 0 ? heading : NULL;
	}
}

enum conf_id
conf_id_of(const struct setting *row)
{
	size_t i = 0;

	while (i < added_n && added[i].row != row)
		i++;
	CHECK(i < added_n);
	return (enum conf_id)(CONF_COUNT + i);
}

const char *
conf_heading(enum conf_id id)
{
	if (id >= CONF_COUNT)
		return added[id - CONF_COUNT].heading;
	for (size_t i = 1; i < ARRAY_LEN(layout); i++)
		if (layout[i].id == (int)id)
			return layout[i - 1].heading;
	return NULL;
}

const char *
conf_absent_door(enum conf_id id)
{
	static const struct {
		const char *name;
		bool built;
	} doors[] = {
		{ "urlfrontier", DOOR_URLFRONTIER },
		{ "realtime", DOOR_REALTIME },
	};
	struct str setting = str_of(conf_setting(id)->name);
	struct str group = str_cut(setting, 0, str_find_char(setting, '.'));

	for (size_t i = 0; i < ARRAY_LEN(doors); i++)
		if (!doors[i].built && str_eq(group, str_of(doors[i].name)))
			return doors[i].name;
	return NULL;
}

bool
conf_find(struct str name, enum conf_id *id)
{
	for (size_t i = 0; i < conf_rows(); i++)
		if (str_eq(name, str_of(conf_setting((enum conf_id)i)->name))) {
			*id = (enum conf_id)i;
			return true;
		}
	return false;
}

const char *
conf_nearest(struct str name)
{
	struct guess near = { name, NULL, 0 };

	for (size_t i = 0; i < conf_rows(); i++)
		if (conf_absent_door((enum conf_id)i) == NULL)
			guess_look(&near, conf_setting((enum conf_id)i)->name);
	return near.best;
}

void
conf_init(struct conf *c)
{
	struct why w = WHY_INIT;

	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < conf_rows(); i++) {
		enum conf_id id = (enum conf_id)i;
		enum err e = conf_put(c, id, str_of(conf_setting(id)->text),
		    CONF_FROM_DEFAULT, NULL, &w);
		if (e != OK)
			fprintf(stderr, "%s\n", w.text);
		CHECK(e == OK);
	}
}

void
conf_free(struct conf *c)
{
	for (size_t i = 0; i < CONF_ROWS_MAX; i++) {
		mem_free(&c->values[i].text);
		mem_free(&c->values[i].place);
	}
}

static const struct conf_value *
value_of(const struct conf *c, enum conf_id id, enum conf_type type)
{
	CHECK(conf_setting(id)->type == type);
	return &c->values[id];
}

bool
conf_bool(const struct conf *c, enum conf_id id)
{
	return value_of(c, id, CONF_BOOL)->number != 0;
}

int64_t
conf_int(const struct conf *c, enum conf_id id)
{
	return value_of(c, id, CONF_INT)->number;
}

double
conf_double(const struct conf *c, enum conf_id id)
{
	return value_of(c, id, CONF_DOUBLE)->real;
}

uint64_t
conf_size(const struct conf *c, enum conf_id id)
{
	return (uint64_t)value_of(c, id, CONF_SIZE)->number;
}

int64_t
conf_ms(const struct conf *c, enum conf_id id)
{
	int64_t n = value_of(c, id, CONF_DURATION)->number;

	return strcmp(conf_setting(id)->unit, "s") == 0 ? n * 1000 : n;
}

struct str
conf_str(const struct conf *c, enum conf_id id)
{
	CHECK(id < conf_rows());
	return str_of(c->values[id].text);
}

int
conf_choice(const struct conf *c, enum conf_id id)
{
	return (int)value_of(c, id, CONF_CHOICE)->number;
}

bool
conf_list(const struct conf *c, enum conf_id id, size_t *at, struct str *word)
{
	struct str all = str_of(value_of(c, id, CONF_LIST)->text);

	if (*at < all.n) {
		struct str rest = str_from(all, *at);
		size_t n = str_find_char(rest, ',');
		*at += n + 1;
		*word = str_cut(rest, 0, n);
		return true;
	}
	return false;
}

struct conf_address
conf_address(const struct conf *c, enum conf_id id)
{
	const struct conf_value *v = value_of(c, id, CONF_ADDRESS);
	struct str s = str_of(v->text);
	const char *colon = strrchr(v->text, ':');

	if (colon == NULL)
		return (struct conf_address){ STR_NONE, 0 };
	struct str host = str_cut(s, 0, (size_t)(colon - s.p));
	if (str_starts(host, STR("[")))
		host = str_cut(host, 1, host.n - 1);
	return (struct conf_address){ host, (uint16_t)v->number };
}

const char *
conf_place(const struct conf *c, enum conf_id id)
{
	CHECK(id < conf_rows());
	const char *place = c->values[id].place;
	return place == NULL ? "default" : place;
}

bool
conf_differs(const struct conf *a, const struct conf *b, enum conf_id id)
{
	const struct conf_value *va = &a->values[id], *vb = &b->values[id];

	switch (conf_setting(id)->type) {
	case CONF_STRING:
	case CONF_LIST:
	case CONF_ADDRESS:
		return strcmp(va->text, vb->text) != 0;
	case CONF_DOUBLE:
		return va->real < vb->real || va->real > vb->real;
	default:
		return va->number != vb->number;
	}
}

void
conf_swap(struct conf *a, struct conf *b, enum conf_id id)
{
	struct conf_value v = a->values[id];

	CHECK(id < conf_rows());
	a->values[id] = b->values[id];
	b->values[id] = v;
}

/* In SCHEME://USER:PASSWORD@HOST/NAME?password=PASSWORD. */
static bool
url_has_password(struct str url)
{
	struct str user = str_from(url, str_find(url, STR("://")) + 3);

	user = str_cut(user, 0, MIN(str_find_char(user, '/'),
	    str_find_char(user, '?')));
	user = str_cut(user, 0, str_find_char(user, '@') == user.n ? 0 :
	    str_find_char(user, '@'));
	return str_find_char(user, ':') < user.n ||
	    str_find(url, STR("password=")) < url.n;
}

static bool
is_loopback(const struct conf *c, enum conf_id id)
{
	struct conf_address a = conf_address(c, id);

	return a.host.n == 0 || str_starts(a.host, STR("127.")) ||
	    str_eq(a.host, STR("::1"));
}

/* Scripts without a filter of system calls, and ports for others. */
static enum err
check_sandbox(const struct conf *c, struct why *w)
{
	static const enum conf_id ports[] = { CONF_HTTP_LISTEN,
		CONF_URLFRONTIER_LISTEN };

	if (conf_choice(c, CONF_SCRIPT_SANDBOX) != 1)
		return OK;
	for (size_t i = 0; i < ARRAY_LEN(ports); i++)
		if (!is_loopback(c, ports[i]))
			return why(w, ERR_CONFIG, "script.sandbox = weak (%s) "
			    "is for ports on loopback only, and %s = %s (%s)",
			    conf_place(c, CONF_SCRIPT_SANDBOX),
			    conf_setting(ports[i])->name,
			    c->values[ports[i]].text, conf_place(c, ports[i]));
	return OK;
}

enum err
conf_check(const struct conf *c, struct why *w)
{
	if (conf_ms(c, CONF_FETCH_BACKOFF_MS) >
	    conf_ms(c, CONF_FETCH_BACKOFF_MAX_MS))
		return why(w, ERR_CONFIG, "fetch.backoff_ms = %s (%s) is "
		    "longer than fetch.backoff_max_ms = %s (%s)",
		    c->values[CONF_FETCH_BACKOFF_MS].text,
		    conf_place(c, CONF_FETCH_BACKOFF_MS),
		    c->values[CONF_FETCH_BACKOFF_MAX_MS].text,
		    conf_place(c, CONF_FETCH_BACKOFF_MAX_MS));
	if (text_product_token(conf_str(c, CONF_FETCH_USER_AGENT)).n == 0)
		return why(w, ERR_CONFIG, "fetch.user_agent = %s (%s) does not "
		    "begin with a name of letters, \"_\" and \"-\", such as "
		    "FooBot/1.0, by which robots.txt can address it",
		    c->values[CONF_FETCH_USER_AGENT].text,
		    conf_place(c, CONF_FETCH_USER_AGENT));
	if ((conf_str(c, CONF_URLFRONTIER_TLS_CERT).n == 0) !=
	    (conf_str(c, CONF_URLFRONTIER_TLS_KEY).n == 0))
		return why(w, ERR_CONFIG, "urlfrontier.tls_cert and "
		    "urlfrontier.tls_key stand together, or neither");
	/* Before anybody prints it. */
	if (url_has_password(conf_str(c, CONF_STORE_URL)))
		return why(w, ERR_CONFIG, "store.url (%s) contains a password; "
		    "it belongs into store.password_file",
		    conf_place(c, CONF_STORE_URL));
	return check_sandbox(c, w);
}
