/*
 * settings -- the door's settings, and their values.
 *
 * Source: contracts/external.md §1.
 */
#ifndef DOORS_EXTERNAL_SETTINGS_H
#define DOORS_EXTERNAL_SETTINGS_H

#include "base/arena.h"
#include "base/conf.h"

enum external_setting {
	EXTERNAL_PUBLIC_URL, EXTERNAL_ROOT, EXTERNAL_CONNECTORS,
	EXTERNAL_BACKENDS_FILE, EXTERNAL_CLIENTS_FILE, EXTERNAL_OAUTH_COMPAT,
	EXTERNAL_VERSIONS, EXTERNAL_ARCHIVE, EXTERNAL_TASKS_MAX,
	EXTERNAL_REJECTED_MAX, EXTERNAL_DOCUMENT_BYTES_MAX,
	EXTERNAL_SPOOL_BYTES_MAX,
	EXTERNAL_CALL_MS, EXTERNAL_RETRY_S_MAX, EXTERNAL_KEEP_S,
	EXTERNAL_SETTINGS
};
extern const struct setting external_settings_rows[EXTERNAL_SETTINGS];

#define EXTERNAL_PUBLIC_HOSTS_BYTES 2100u

struct external_settings {
	struct str public_url;       /* without a "/" at its end; or empty */
	/* Its host without and with its port: "a.org,a.org:443"; or empty. */
	char public_hosts[EXTERNAL_PUBLIC_HOSTS_BYTES];
	struct str oauth_compat;     /* names, with commas between them */
	struct str root;             /* a connector's name; or empty */
	const char *connectors;      /* a directory, or "" */
	const char *backends_file;   /* or "" */
	const char *clients_file;    /* the same */
	bool is_strict;              /* versions = strict */
	bool archives;               /* archive = on */
	size_t tasks_max;            /* open ones of a connector */
	uint32_t rejected_max;
	size_t document_bytes_max;
	uint64_t spool_bytes_max;
	int64_t call_ms, retry_s_max, keep_ms;
};

/*
 * Read the values; texts borrow from the configuration.  Errors: CONFIG, naming
 * the setting.
 */
MUST_USE enum err external_settings_read(const struct conf *,
    struct external_settings *, struct why *);
/* Whether a URL names this machine: localhost or a loopback address. */
bool external_url_is_loopback(struct str url);

#endif
