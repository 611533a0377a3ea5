# For scripts of this folder: the same checks with the items on PostgreSQL.  Each
# daemon has a database of its own, on a server that is started here.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
caches=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}
. "$root/tests/scenes/scene.bash"
. "$root/tests/scenes/postgresql.bash"

# Run NAME.py with the arguments that follow, and exit as it does.
on_postgresql() {
	local name=$1 code
	shift
	check "a server" postgresql
	XDG_CACHE_HOME=$caches ITEMS_PG=$PG ITEMS_PG_BIN=$PG_BIN \
		bash "$root/tests/peers/python.bash" websockets \
		"$root/tests/peers/$name.py" "$@"
	code=$?
	[ "$code" = 0 ] || failures=$((failures + 1))
	exit "$code"
}
