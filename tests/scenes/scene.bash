# scene.bash -- what every scene uses; sourced, not run.
#
#   web [OPTION=VALUE...]   an invented web on a port of its own: $WEB, $WEB_LOG
#   check NAME COMMAND...   "ok NAME" when the command succeeds
#   code NAME N COMMAND...  "ok NAME" when its exit code is N
#   has NAME TEXT FILE...   "ok NAME" when the text stands in a file
#   soon COMMAND...         waits until it succeeds
#   behind COMMAND...       starts it: $pid
#   daemon DATA WORD...     starts `argiope serve`: $pid, its output in out, log
#
# A scene runs in an empty folder of its own; what it started ends with it.
# shellcheck shell=bash disable=SC2034
set -u
export LC_ALL=C
unset XDG_DATA_HOME STATE_DIRECTORY 2>/dev/null || true
A=${ARGIOPE:?ARGIOPE names the program}
if [ ! -x "$A" ]; then
	echo "not ok the program: $A cannot be run"
	exit 1
fi
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export HOME=$PWD
# Scenes run side by side: who wants the door names a port.
export ARGIOPE_URLFRONTIER_LISTEN=off
failures=0
children=()

finish() {
	local pid
	for pid in "${children[@]:-}"; do
		[ -z "$pid" ] || kill "$pid" 2>/dev/null
	done
	[ "$failures" = 0 ] || exit 1
}
trap finish EXIT

pass() { echo "ok $*"; }
fail() {
	echo "not ok $*"
	failures=$((failures + 1))
}

check() {
	local name=$1
	shift
	if "$@" >check.out 2>&1; then
		pass "$name"
	else
		fail "$name"
		sed 's/^/    /' check.out | head -n 30
	fi
}

code() {
	local name=$1 want=$2 got
	shift 2
	"$@" >code.out 2>code.err
	got=$?
	if [ "$got" = "$want" ]; then
		pass "$name"
	else
		fail "$name: exit code $got, not $want"
		sed 's/^/    /' code.out code.err | head -n 30
	fi
}

has() {
	local name=$1 text=$2
	shift 2
	if grep -qF -e "$text" "$@"; then
		pass "$name"
	else
		fail "$name: no \"$text\""
		sed 's/^/    /' "$@" | head -n 30
	fi
}

same() {
	local name=$1
	if [ "$2" = "$3" ]; then
		pass "$name"
	else
		fail "$name: \"$2\" is not \"$3\""
	fi
}

soon() {
	local until=$((SECONDS + 30))
	until "$@"; do
		[ "$SECONDS" -lt "$until" ] || return 1
		sleep 0.05
	done
}

behind() {
	"$@" &
	pid=$!
	children+=("$pid")
}

# It serves, at the door too where the words open it.
daemon() {
	: >out
	behind "$A" serve --data "$1" --set http.listen=127.0.0.1:0 "${@:2}" \
		>out 2>log
	soon grep -q "serves http" out
	soon curl -skf -o /dev/null "$(sed -n 's/^argiope serves http/http/p' \
		out | head -n 1)readyz"
	[[ $* != *urlfrontier.listen* ]] || soon grep -q "serves urlfrontier" out
}

# A web of its own port; see web.py for the options.
web() {
	rm -f web.port
	WEB_LOG=$PWD/web.log
	: >"$WEB_LOG"
	local pid
	behind python3 "$HERE/web.py" web.port "$WEB_LOG" "$@"
	WEB_PID=$pid
	soon test -s web.port
	WEB=http://127.0.0.1:$(cat web.port)
}

# asked N: waits until the web was asked N times
asked() { soon web_lines "$1"; }
web_lines() { [ "$(wc -l <"$WEB_LOG")" -ge "$1" ]; }

# pages_of DATA: the captured URLs, sorted, but for robots.txt
pages_of() {
	"$A" archive ls --data "$1" --json >ls.json
	json '"\n".join(e["url"] for e in events
		if not e["url"].endswith("/robots.txt"))' ls.json | sort
}

# json EXPRESSION FILE: prints it, with `events` being the lines of the file.
json() {
	python3 - "$1" "$2" <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[2])]
print(eval(sys.argv[1]))
END
}
