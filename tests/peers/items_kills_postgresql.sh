#!/bin/bash
#
# items_kills.py on PostgreSQL, which two daemons share, and which is killed, too.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
caches=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}
. "$root/tests/scenes/scene.bash"
. "$root/tests/scenes/postgresql.bash"
check "a server" postgresql
XDG_CACHE_HOME=$caches ITEMS_PG=$PG ITEMS_PG_BIN=$PG_BIN \
	python3 "$root/tests/peers/items_kills.py" "$@"
code=$?
[ "$code" = 0 ] || failures=$((failures + 1))
exit "$code"
