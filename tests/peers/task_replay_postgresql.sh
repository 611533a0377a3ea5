#!/bin/bash
#
# task_replay.py on PostgreSQL, on a server that the script starts.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
caches=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}
. "$root/tests/scenes/scene.bash"
. "$root/tests/scenes/postgresql.bash"
check "a server" postgresql
XDG_CACHE_HOME=$caches ITEMS_PG=$PG ITEMS_PG_BIN=$PG_BIN \
	python3 "$root/tests/peers/task_replay.py" "$@"
code=$?
[ "$code" = 0 ] || failures=$((failures + 1))
exit "$code"
