/*
 * secrets -- values that scripts may use and never see.
 *
 * script.secrets_file is JSON: {"shop_password":{"value":"...","hosts":
 * ["shop.example"]}}.  A script writes {{secret.shop_password}} into a URL, a
 * header or a body; the value replaces it as the request leaves, towards the
 * hosts listed and no others.
 *
 * Thread: any; read-only once loaded.  Each holder drops it once.
 * Source: contracts/scripting.md §4.
 */
#ifndef ENGINE_TASKS_SECRETS_H
#define ENGINE_TASKS_SECRETS_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/redact.h"

#define SECRETS_MAX REDACT_VALUES_MAX
#define SECRET_NAME_BYTES_MAX 64u
#define SECRET_VALUE_BYTES_MAX REDACT_VALUE_BYTES_MAX
#define SECRET_HOSTS_MAX 64u
#define SECRETS_FILE_BYTES_MAX ((size_t)4 << 20)

struct secrets;

/*
 * Load the file; NULL: there are no secrets.  Errors: DENIED when others than
 * its owner may read it; INPUT, naming the secret and the field ("shop.hosts:
 * ..."); ABSENT, IO.  No text contains a value.
 */
MUST_USE enum err secrets_load(const char *path, struct secrets **,
    struct why *);
/* The same from JSON. */
MUST_USE enum err secrets_parse(struct str json, struct secrets **,
    struct why *);
/*
 * The credential of a connector's run, in the same way: a script writes
 * {{credential.NAME}}.  `hosts` are those of secrets_fill()'s `host`.  All
 * texts are copied; names are different and as a secret's.  Values of fewer
 * than REDACT_VALUE_MIN bytes are not found in answers.
 *
 * `former` are values of earlier credentials.  The redactors take them out,
 * too, since an API may repeat one; no placeholder stands for them.  All values
 * together are at most SECRETS_MAX.
 */
struct secret_value {
	struct str name, value;
};
struct secrets *secrets_of_credential(const struct secret_value *, size_t n,
    const struct str *hosts, size_t hosts_n, const struct str *former,
    size_t former_n);
/* The values of a credential, and behind them the former ones.  NULL, and 0:
 * these are a task's secrets. */
const struct str *secrets_credential_values(const struct secrets *, size_t *n);
struct secrets *secrets_hold(struct secrets *);
void secrets_drop(struct secrets **);

bool secrets_has(const struct secrets *, struct str name);
/* Append {"NAME":"{{secret.NAME}}",...} of all. */
void secrets_put_names(const struct secrets *, struct buf *);
/* What a script gets for secret(NAME): the placeholder. */
void secrets_put_placeholder(struct str name, struct buf *);
/* The same of a credential. */
void secrets_put_credential_placeholder(struct str name, struct buf *);
/* Whether a placeholder is in the text, raw or percent-encoded. */
bool secrets_in(const struct secrets *, struct str text);

enum secret_place {
	SECRET_IN_HEADER,            /* the value as it is */
	SECRET_IN_URL,               /* percent-encoded */
	SECRET_IN_BODY,              /* as it is */
	SECRET_IN_JSON               /* escaped as in a JSON string */
};
/*
 * The text with the values of its placeholders; one that is percent-encoded
 * gets a percent-encoded value.  `out` is `text` when there is none.  Memory:
 * `a`.  Errors: DENIED: this host may not see the secret; ABSENT: there is no
 * such secret.  Both name it.
 */
MUST_USE enum err secrets_fill(const struct secrets *, enum secret_place,
    struct str text, struct str host, struct arena *a, struct str *out,
    struct why *);

/* Takes all values out of texts. */
const struct redactor *secrets_redactor(const struct secrets *);
/* The same, and the cookies that answers set: of fetches with a session. */
const struct redactor *secrets_session_redactor(const struct secrets *);
/* For archived calls with a credential: also removes what API harvests remove,
 * and values as they are escaped in JSON.  NULL: these are a task's secrets. */
const struct redactor *secrets_api_redactor(const struct secrets *);
/* Whether the text has a placeholder for a value that the redactors cannot
 * find: it is too short, or too long when escaped in JSON. */
bool secrets_cannot_redact(const struct secrets *, struct str text);

#endif
