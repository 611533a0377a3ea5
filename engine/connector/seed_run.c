#include "engine/connector/seed_run.h"

#include <stdarg.h>

#include "engine/connector/shown.h"

#define SAVED_VERSION 1

static size_t
passes_of(const struct connector_order *o)
{
	return MAX(o->seeds_n, 1);
}

/* ---- Texts ------------------------------------------------------------- */

const struct connector_seed *
seed_run_seed(const struct seed_run *r)
{
	const struct connector_order *o = r->run.order;

	return o->seeds_n == 0 ? NULL : &o->seeds[r->seed];
}

struct str
seed_run_name(const struct seed_run *r)
{
	const struct connector_seed *s = seed_run_seed(r);

	if (s != NULL && s->fields != NULL && r->kind->name_field != NULL)
		return connector_param_text(s->fields, r->kind->name_field);
	return s == NULL ? STR_NONE : s->uid.n > 0 ? s->uid : s->token;
}

bool
seed_run_is_word(struct str s, size_t n)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    s.p[i] != '-' && s.p[i] != '_')
			return false;
	return s.n > 0 && s.n <= n;
}

static void
put_seed(struct buf *b, const struct seed_run *r)
{
	struct str name = seed_run_name(r);

	buf_put_text(b, r->kind->seed);
	if (name.n > 0)
		buf_put_char(b, ' ');
	shown_put(b, name);
}

static void
put_args(struct buf *b, const char *fmt, va_list ap)
{
	char text[1024];
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	CHECK(n >= 0);
	buf_put_text(b, text);
}

/* ---- What answers lead to ---------------------------------------------- */

void
seed_run_count(struct seed_run *r, const struct connector_findings *f,
    uint64_t n)
{
	r->items += n;
	if (n > 0)
		f->count(f->arg, r->label, n);
}

static void
end_run(struct seed_run *r)
{
	r->step = SEED_RUN_ENDED;
	r->tries = 0;
}

bool
seed_run_is_full(struct seed_run *r, const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	if (r->items < (uint64_t)r->limit)
		return false;
	buf_printf(&text, "%llu %s were found, and the limit is %lld",
	    (unsigned long long)r->items, r->kind->items, (long long)r->limit);
	f->note(f->arg, CONNECTOR_INFO, "limit_reached", buf_str(&text), NULL);
	end_run(r);
	f->done(f->arg);
	return true;
}

static void
warn(struct seed_run *r, const struct connector_findings *f, const char *code,
    const char *fmt, va_list ap)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	put_seed(&text, r);
	put_args(&text, fmt, ap);
	f->note(f->arg, CONNECTOR_WARNING, code, buf_str(&text),
	    seed_run_seed(r));
}

void
seed_run_warn(struct seed_run *r, const struct connector_findings *f,
    const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn(r, f, code, fmt, ap);
	va_end(ap);
}

void
seed_run_leave(struct seed_run *r, const struct connector_findings *f)
{
	r->tries = 0;
	if (r->seed + 1 == passes_of(r->run.order)) {
		end_run(r);
		f->done(f->arg);
		return;
	}
	r->seed++;
	r->kind->begin(r);
}

void
seed_run_skip(struct seed_run *r, const struct connector_findings *f,
    const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	warn(r, f, code, fmt, ap);
	va_end(ap);
	f->skip_seed(f->arg, seed_run_seed(r));
	seed_run_leave(r, f);
}

void
seed_run_fail(struct seed_run *r, const struct connector_findings *f,
    const char *code, const char *fmt, ...)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	va_list ap;

	buf_put_text(&text, r->kind->service);
	va_start(ap, fmt);
	put_args(&text, fmt, ap);
	va_end(ap);
	end_run(r);
	f->fail(f->arg, code, buf_str(&text));
}

void
seed_run_again(struct seed_run *r, const struct connector_findings *f,
    const char *what)
{
	FREED(buf_free) struct buf seed = BUF_INIT;

	if (++r->tries <= SEED_RUN_TRIES_MAX) {
		seed_run_wait(r, f, r->tries * r->tries);
		return;
	}
	if (seed_run_seed(r) != NULL) {
		buf_put_text(&seed, ", ");
		put_seed(&seed, r);
	}
	seed_run_fail(r, f, "unknown_error", " sent %s %u times%s", what,
	    r->tries, buf_text(&seed));
}

void
seed_run_wait(struct seed_run *r, const struct connector_findings *f,
    unsigned seconds)
{
	r->is_out = true;
	f->again(f->arg, seconds);
}

/* ---- The row's functions ----------------------------------------------- */

enum err
seed_run_open(const struct seed_run_kind *kind,
    const struct connector_order *o, struct connector_run **out, struct why *w)
{
	struct seed_run *r = mem_new(kind->bytes);
	enum err e;

	*out = &r->run;
	r->run.order = o;
	r->kind = kind;
	r->label = o->connector->label;
	r->limit = connector_param_int(o->options, "limit", INT64_MAX);
	if (kind->check != NULL && (e = kind->check(r, w)) != OK) {
		seed_run_close(out);
		return e;
	}
	kind->begin(r);
	return OK;
}

enum connector_next
seed_run_next(struct connector_run *run, struct connector_call *call)
{
	struct seed_run *r = (struct seed_run *)run;

	if (r->step == SEED_RUN_ENDED)
		return CONNECTOR_END;
	if (r->is_out)
		return CONNECTOR_WAIT;
	buf_clear(&r->url);
	*call = (struct connector_call){ .mark = 0 };
	r->kind->call(r, call);
	call->url = buf_str(&r->url);
	r->is_out = true;
	return CONNECTOR_CALL;
}

void
seed_run_answer(struct connector_run *run, const struct connector_call *call,
    const struct connector_answer *answer, const struct connector_findings *f)
{
	struct seed_run *r = (struct seed_run *)run;

	(void)call;
	r->is_out = false;
	if (r->step != SEED_RUN_ENDED)
		r->kind->answer(r, answer, f);
}

void
seed_run_save(const struct connector_run *run, struct buf *out)
{
	const struct seed_run *r = (const struct seed_run *)run;

	buf_put_char(out, SAVED_VERSION);
	buf_put_char(out, (char)r->step);
	buf_put_varint(out, r->seed);
	buf_put_varint(out, r->items);
	buf_put_varint(out, r->tries);
	r->kind->save(r, out);
}

enum err
seed_run_load(struct connector_run *run, struct str saved, struct why *w)
{
	struct seed_run *r = (struct seed_run *)run;
	struct reader in = reader_of(saved);
	uint8_t version = read_u8(&in), step = read_u8(&in);
	uint64_t seed = read_varint(&in), items = read_varint(&in);
	uint64_t tries = read_varint(&in);

	r->step = step;
	r->seed = (size_t)seed;
	r->items = items;
	r->tries = (unsigned)tries;
	r->is_out = false;
	if (version != SAVED_VERSION || seed >= passes_of(r->run.order) ||
	    (step >= r->kind->steps_n && step != SEED_RUN_ENDED) ||
	    tries > SEED_RUN_TRIES_MAX || !r->kind->load(r, &in) || in.bad ||
	    in.n > 0)
		return why(w, ERR_CORRUPT, "the checkpoint is damaged, or not "
		    "of this harvest");
	return OK;
}

void
seed_run_close(struct connector_run **run)
{
	struct seed_run *r = (struct seed_run *)*run;

	if (r == NULL)
		return;
	r->kind->free(r);
	buf_free(&r->url);
	free(r);
	*run = NULL;
}
