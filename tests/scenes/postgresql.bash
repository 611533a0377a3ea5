# postgresql.bash -- a PostgreSQL server of a scene's own; sourced behind
# scene.bash, not run.
#
#   postgresql           makes and starts it: $PG, the folder of its socket
#   postgresql_kill      kill -9
#   postgresql_start     starts it again, when its processes have ended
#
# Where PostgreSQL is missing the scene is skipped.  The server refuses root:
# then it runs as the user postgres.
# shellcheck shell=bash
PG_BIN=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
if [ ! -x "$PG_BIN/initdb" ]; then
	echo "skip $(basename "$0" .sh): there is no PostgreSQL server (initdb)"
	exit 0
fi
PG=

pg_run() {
	if [ "$(id -u)" = 0 ]; then
		(cd / && runuser -u postgres -- "$@")
	else
		"$@"
	fi
}

postgresql_start() { soon start_server; }
start_server() {
	pg_run "$PG_BIN/pg_ctl" start -w -s -D "$PG/data" -l "$PG/log" \
		-o "-k $PG -c listen_addresses= -c fsync=on"
}

postgresql() {
	# Not in TMPDIR: that may be a folder which only its maker enters.
	PG=$(mktemp -d "${ARGIOPE_POSTGRESQL_FOLDER:-/tmp}/argiope-pg-XXXXXX")
	[ "$(id -u)" != 0 ] || chown postgres "$PG"
	pg_run "$PG_BIN/initdb" -D "$PG/data" -U argiope --auth=trust \
		--encoding=UTF8 --locale=C.UTF-8 --no-sync >"$PG/initdb" &&
		postgresql_start
}

postgresql_kill() { kill -9 "$(head -n 1 "$PG/data/postmaster.pid")"; }

postgresql_end() {
	[ -n "$PG" ] || return
	[ ! -f "$PG/data/postmaster.pid" ] ||
		kill -QUIT "$(head -n 1 "$PG/data/postmaster.pid")" 2>/dev/null
	soon test ! -S "$PG/.s.PGSQL.5432"
	rm -rf "$PG"
}
trap 'finish_all' EXIT
finish_all() {
	local code=$?
	postgresql_end
	finish
	exit "$code"
}
