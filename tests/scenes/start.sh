#!/bin/bash
#
# `argiope serve` at its start after a kill: both ports listen before the data
# is read, say how far the start is, and an error still ends the program.
. "$(dirname "$0")/scene.bash"

# Calls a port from before the start on; says the first answer of each path,
# and the one of /readyz that is 200.
cat >watch.py <<'END'
import http.client, sys, threading, time

port, until = int(sys.argv[1]), time.monotonic() + 20


def get(path):
    while time.monotonic() < until:
        try:
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            c.request("GET", path)
            a = c.getresponse()
            return f"{a.status} {a.read().decode(errors='replace').strip()}"
        except OSError:
            time.sleep(0.001)
    return "no answer"


def first(path):
    answers[path] = get(path)


answers = {}
threads = [threading.Thread(target=first, args=(p,)) for p in (
    "/readyz", "/healthz", "/status", "/", "/crawls/0/pages/1/record")]
for t in threads:
    t.start()
for t in threads:
    t.join()
for p, a in answers.items():
    print(p, a[:200].replace("\n", " "))
while not (ready := get("/readyz")).startswith("200") and \
        time.monotonic() < until:
    time.sleep(0.001)
print("at last", ready)
END

# Many URLs, so that the start takes its time.
web pages=20 delay=0.005
seq -f "$WEB/waits/%.0f" 200000 >seeds
behind "$A" crawl --seeds seeds --data d0 --name left >/dev/null 2>&1
asked 20
kill -9 "$pid"
wait "$pid" 2>/dev/null

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0))
print(s.getsockname()[1])')
# A machine that is too busy to look in time is given another start.
for _ in 1 2 3 4 5; do
	behind python3 watch.py "$port" >watched
	watcher=$pid
	behind "$A" serve --data d0 --set http.listen=127.0.0.1:"$port" \
		>out 2>log
	wait "$watcher"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	if grep -q "^/readyz 503" watched && grep -q "record 503" watched; then
		break
	fi
done
has "the port answers while the data is read" \
	'/readyz 503 {"state":"loading, ' watched
has "... and says when all is served" 'at last 200 {"state":"ready"}' watched
has "... the process lives meanwhile" "/healthz 200" watched
has "... the console's page is there" "/ 200" watched
has "... /status says it, too" '"ready":false,"why":"loading, ' watched
has "... what needs the data has to wait" 'record 503 {"error":"the program' \
	watched

# While it starts, too.
behind "$A" serve --data d0 --set http.listen=127.0.0.1:0 >out 2>log
soon grep -q "argiope serves" out
kill -TERM "$pid"
wait "$pid"
same "SIGTERM during the start ends it" $? 0
has "... in order" "serve.stopped" log

for f in d0/log/log-*; do
	printf 'XXXXXXXXXXXXXXXXXXXXXXXX' | dd of="$f" bs=1 seek=8 \
		conv=notrunc 2>/dev/null
done
code "damage that is found behind open ports ends it" 70 "$A" serve \
	--data d0 --set http.listen=127.0.0.1:0 \
	--set urlfrontier.listen=127.0.0.1:0
has "... which were open" "argiope serves http" code.out
has "... and says what it is" "is damaged" code.err
check "... no file leads to the port" test ! -e d0/serve.json
