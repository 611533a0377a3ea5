#!/bin/bash
#
# items_recipes.py on PostgreSQL: each of its daemons has a database of its own on a
# server that the script starts.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
caches=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}
. "$root/tests/scenes/scene.bash"
. "$root/tests/scenes/postgresql.bash"
check "a server" postgresql
XDG_CACHE_HOME=$caches ITEMS_PG=$PG ITEMS_PG_BIN=$PG_BIN \
	python3 "$root/tests/peers/items_recipes.py" "$@"
code=$?
[ "$code" = 0 ] || failures=$((failures + 1))
exit "$code"
