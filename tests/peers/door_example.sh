#!/bin/bash
#
# A new door is one folder and one line: the folder tests/peers/door_example is
# copied into doors/ of a copy of the tree, whose other files stay as they are
# but for doors/doors.txt.  The copy builds, and the door serves, drains, and appears
# in `status`, `token`, `config` and the manual.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# A scene has a home of its own; libraries and compiler cache are the caller's.
ARGIOPE_DEPS=$("$root/tools/deps.sh" --prefix)
CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/ccache}
export ARGIOPE_DEPS CCACHE_DIR
. "$root/tests/scenes/scene.bash"

# digests FOLDER: a line for each file that is not the door's
digests() {
	(cd "$1" && find . -type f ! -path './doors/example/*' \
		-exec sha256sum {} + | sort -k 2)
}

# echoed PORT PATH TOKEN: what a WebSocket of that path sends back
echoed() {
	timeout 10 python3 - "$@" <<'END'
import socket, sys
port, path, token = sys.argv[1:]
s = socket.create_connection(("127.0.0.1", int(port)))
s.sendall((f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
           f"Authorization: Bearer {token}\r\n"
           "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").encode())
f = s.makefile("rb")
status = f.readline().split()[1].decode()
while f.readline() not in (b"\r\n", b""):
    pass
if status != "101":
    sys.exit(f"status {status}")
text = b"echo me"
s.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)
head = f.read(2)
print(f.read(head[1]).decode(errors="replace"))
END
}

tree=$PWD/tree
door=$tree/doors/example
mkdir "$tree"
(cd "$root" && tar -cf - --exclude=./.git --exclude='./build*' \
	--exclude=__pycache__ .) | tar -C "$tree" -xf -
digests "$tree" >before

cp -r "$root/tests/peers/door_example" "$door"
echo example >>"$tree/doors/doors.txt"

digests "$tree" >after
diff before after | sed -n 's/^[<>] [0-9a-f]*  //p' | sort -u >changed
check "the door has fewer than 150 lines" \
	test "$(cat "$door"/* | wc -l)" -lt 150
same "one file outside its folder changed" "$(cat changed)" ./doors/doors.txt
check "at most three did" test "$(wc -l <changed)" -le 3

# A folder in the tree: the compiler's words are those of the tree's own build,
# so that the compiler cache knows them.
check "configured" meson setup "$tree/build" "$tree" -Dwerror=true -Dtests=false \
	-Dbench=false
check "built" nice ninja -C "$tree/build" daemon/argiope
A=$tree/build/daemon/argiope
[ -x "$A" ] || exit 1

# --- what the program says of it

"$A" config >config
has "config has its setting" "example.greeting = Hello" config
code "... within its limits" 78 "$A" config --set "example.greeting="
has "... is said" "text of 1 to 40 bytes" code.err
"$A" config --example >example.conf
has "the example file has it" "#example.greeting = Hello" example.conf
"$A" man >manual
has "the manual has the setting" "example.greeting" manual
has "... the door" "A door that greets" manual
has "... and its scope" "example:read" manual
"$A" token add --help >help
has "token's help has its scope" "worker, example or" \
	<(tr -s ' \n' ' ' <help)

# --- it serves

code "a token for it" 0 "$A" token add greeter --data d -s example:read
token=$(cat code.out)
code "a token for another door" 0 "$A" token add other --data d -s items:read
other=$(cat code.out)
ARGIOPE_EXAMPLE_GREETING="Good day" daemon d
base=$(sed -n 's/^argiope serves http/http/p' out | head -n 1)
port=${base%/}
port=${port##*:}
get() { curl -s -m 10 -H "Authorization: Bearer $2" "$base$1"; }
same "its route" "$(get example "$token")" "Good day"
has "... wants its scope" "not meant for this" <(get example "$other")
has "... wants a token" "a token is needed" <(curl -s "${base}example")
# preflight ORIGIN: the answer to the preflight of a GET by a page of ORIGIN
preflight() { curl -si -m 10 -X OPTIONS -H "Origin: $1" \
	-H "Access-Control-Request-Method: GET" "${base}example"; }
has "a page of its origin may ask" "allow-origin: https://pages.example" \
	<(preflight https://pages.example)
has "... another may not" " 405 " <(preflight https://other.example)
same "its WebSocket" "$(echoed "$port" /example "$token")" "echo me"
code "... wants its scope" 1 echoed "$port" /example "$other"
has "... is said" "status 403" code.err
echoed "$port" / "$token" >realtime
check "another path is the realtime door's" grep -qv "echo me" realtime
"$A" status --data d >status
check "status has its line" \
	grep -qE "^example +open +127.0.0.1:$port +[0-9]+ requests +1 greetings" \
	status
"$A" status --data d --json >status.json
same "... as JSON" "$(json '[d["note"] for d in events[0]["doors"]
	if d["name"] == "example"]' status.json)" "['1 greetings']"
code "a token for the console" 0 "$A" token add page --data d -s console:read
page=$(cat code.out)
lists_it() { get doors "$page" | grep -qF '"note":"1 greetings"'; }
check "the console's list has it" soon lists_it

# --- it reads a body as it arrives, and drains

# sent: POST standard input, a body whose length is not known
sent() { curl -s -m 20 -X POST -T - -H "Authorization: Bearer $token" \
	"${base}example"; }
same "it counts many" "$(head -c 20000000 /dev/zero | sent)" "20000000 bytes"
{ echo one; sleep 1; echo two; } | sent >late &
sender=$!
sleep 0.4
kill -TERM "$pid"
wait "$pid"
same "the daemon ends in order" $? 0
wait "$sender"
same "... behind a body that was on its way" "$(cat late)" "8 bytes"
