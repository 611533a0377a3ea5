#!/bin/bash
#
# Builds with some of the doors (meson's option `doors`): each builds, names
# only its own doors, refuses the others' settings, serves and crawls.
#
# By itself the build without any door; ./test doors makes the other two too.
# The build with all doors is what the other tests run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# A scene has a home of its own; libraries and compiler cache are the caller's.
ARGIOPE_DEPS=$("$root/tools/deps.sh" --prefix)
CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/ccache}
export ARGIOPE_DEPS CCACHE_DIR
. "$root/tests/scenes/scene.bash"
unset ARGIOPE_URLFRONTIER_LISTEN

# lacks NAME TEXT FILE: the text is not in the file
lacks() {
	if ! grep -qiE -e "$2" "$3"; then
		pass "$1"
	else
		fail "$1: $(grep -iE -m1 -e "$2" "$3")"
	fi
}

status_of() { curl -s -o /dev/null -w '%{http_code}' "$1"; }

# verbs_of PROGRAM: its verbs, as the names of their manual pages
verbs_of() {
	"$1" --help | awk '/^  [a-z]/ { print $1, $2 }' | while read -r a b; do
		case $a in
		archive | credential | external | frontier | harvest | items | policy | \
			schedule | store | task | token)
			echo "argiope-$a-$b" ;;
		*) echo "argiope-$a" ;;
		esac
	done | sort -u
}

# everything_said FILE: the texts that come from the tables
everything_said() {
	{
		"$A" --help
		"$A" man
		"$A" config --example
		"$A" completion bash
		"$A" crawl --help
		"$A" serve --help
		"$A" backup --help
	} >"$1"
}

# refused DOOR SETTING: by the command line, a file and the environment
refused() {
	local name=${2%%=*}
	local variable
	variable=ARGIOPE_$(tr 'a-z.' 'A-Z_' <<<"$name")
	code "... $name is refused" 78 "$A" config --set "$2"
	has "... with the reason" "built without the $1 door" code.err
	echo "${2/=/ = }" >refused.conf
	code "... in a file too" 78 "$A" config --config refused.conf
	has "... with its place" "refused.conf:1" code.err
	code "... and in the environment" 78 env "$variable=${2#*=}" "$A" config
	has "... with its name" "$variable" code.err
}

without_urlfrontier() {
	lacks "... nothing of protobuf is wanted" "protobuf|protoc" \
		"$1/build.ninja"
	everything_said said
	lacks "... no text promises it" \
		"urlfrontier\.[a-z]|URL Frontier|argiope.{0,3}frontier" said
	code "... its commands are unknown" 64 "$A" frontier getstats
	refused urlfrontier urlfrontier.listen=127.0.0.1:0
}

without_realtime() {
	everything_said said
	lacks "... no text promises it" \
		"realtime\.[a-z]|Port 8001: console|submit|argiope.{0,3}(pause|rerun)" said
	code "... its commands are unknown" 64 "$A" pause 1
	code "... --submit too" 64 "$A" crawl "$WEB/" --submit
	refused realtime realtime.token=required
}

# built DOORS: a build of its own in ./build-DOORS
built() {
	local doors=$1 wants_frontier= wants_realtime= folder port
	folder=$tree/build-${doors:-none}
	folder=${folder/,/-}
	[[ $doors != *urlfrontier* ]] || wants_frontier=1
	[[ $doors != *realtime* ]] || wants_realtime=1
	check "doors \"$doors\": configured" meson setup "$folder" "$tree" \
		"-Ddoors=$doors" -Dtests=false -Dbench=false -Dwerror=true
	check "... built, with a manual page for each verb" \
		nice ninja -C "$folder"
	A=$folder/daemon/argiope
	[ -x "$A" ] || return
	verbs_of "$A" >verbs
	(cd "$folder/dist" && ls argiope-*.1) | sed 's/\.1$//' | sort >pages
	check "... which are all" diff verbs pages
	[ -n "$wants_frontier" ] || without_urlfrontier "$folder"
	[ -n "$wants_realtime" ] || without_realtime

	local data=data-${doors:-none}
	code "... a crawl" 0 "$A" crawl "$WEB/" --data "$data" --quiet
	pages_of "$data" >pages
	check "... has the same pages as with all doors" \
		diff all-pages pages
	check "... in a sound archive" "$A" archive check --data "$data"
	if [ -n "$wants_frontier" ]; then
		daemon "$data" --set urlfrontier.listen=127.0.0.1:0
		has "... it serves urlfrontier" "serves urlfrontier 127" out
		port=$(sed -n 's/^argiope serves urlfrontier .*://p' out)
		code "... and answers" 0 "$A" frontier -p "$port" getstats
	else
		daemon "$data"
		lacks "... it serves no urlfrontier" "serves urlfrontier" out
	fi
	local base
	base=$(sed -n 's/^argiope serves http/http/p' out)
	for path in healthz readyz status metrics; do
		same "... /$path" "$(status_of "$base$path")" 200
	done
	curl -s "${base}metrics" >metrics
	[ -n "$wants_frontier" ] ||
		lacks "... no figures of urlfrontier" \
			"^(frontier_|argiope_urlfrontier_)" metrics
	[ -n "$wants_realtime" ] ||
		lacks "... no figures of realtime" "^argiope_realtime_" metrics
	same "... the console" "$(status_of "$base")" \
		"$([ -n "$wants_realtime" ] && echo 200 || echo 404)"
	if [ -n "$wants_realtime" ]; then
		code "... takes a crawl" 0 "$A" crawl "$WEB/" --submit \
			--data "$data"
	else
		code "... backup of a running daemon is refused" 75 \
			"$A" backup "copy-$data" --data "$data"
		has "... with the reason" "takes no commands" code.err
	fi
	kill -HUP "$pid"
	soon grep -q "serve.reload" log
	kill -TERM "$pid"
	wait "$pid"
	same "... ends in order" $? 0
	has "... and says so" "serve.stopped" log
}

web pages=20 delay=0
code "a crawl with all doors" 0 "$A" crawl "$WEB/" --data all --quiet
pages_of all >all-pages
check "... has pages" test "$(wc -l <all-pages)" -ge 20
# A copy of the tree, so that the compiler's words are those of ./test's build
# of the program: the compiler cache knows all but base and the command line.
tree=$PWD/tree
mkdir "$tree"
(cd "$root" && tar -cf - --exclude=./.git --exclude='./build*' \
	--exclude=./tests .) | tar -C "$tree" -xf -
combinations=("")
[ -z "${ARGIOPE_DOORS_ALL:-}" ] || combinations+=(urlfrontier realtime)
for doors in "${combinations[@]}"; do
	built "$doors"
done
