#!/bin/bash
#
# `argiope serve`: the port, its figures, a crawl that goes on, the end.
. "$(dirname "$0")/scene.bash"

web pages=60 delay=0.01

# A crawl that was killed is left to the daemon.
behind "$A" crawl "$WEB/" --data d1 --name left >/dev/null 2>&1
asked 20
kill -9 "$pid"
wait "$pid" 2>/dev/null

daemon d1
has "the address is printed" "argiope serves http://127.0.0.1:" out
port=$(sed 's/.* //' out)
same "healthz" "$(curl -s "${port}healthz")" '{"state":"fine"}'
same "readyz" "$(curl -s "${port}readyz")" '{"state":"ready"}'
complete() {
	curl -s "${port}status" >status.json
	[ "$(json 'events[0]["crawls"][0]["state"]' status.json)" = complete ]
}
soon complete
same "the crawl went on to its end" \
	"$(json 'events[0]["crawls"][0]["counts"]["items"]' status.json)" 69
sleep 1.2
curl -s "${port}metrics" >metrics
has "metrics: captures" 'argiope_items_total{class="2xx"}' metrics
has "metrics: the port" "argiope_http_requests_total" metrics
has "metrics: what waits" "argiope_queued_urls 0" metrics
fetched=$(sed -n 's/^argiope_urls_total{outcome="item"} //p' metrics)
same "metrics: what this process fetched" "$((fetched > 0))" 1
same "an unknown path" "$(curl -s -o /dev/null -w '%{http_code}' \
	"${port}nowhere")" 404
same "a stranger's name" "$(curl -s -o /dev/null -w '%{http_code}' \
	-H 'Host: evil.example' "${port}status")" 403

code "status asks the daemon" 0 "$A" status --data d1
has "... and lists its crawls" "left" code.out
"$A" status --data d1 --json >one
same "... as JSON" "$(json 'events[0]["health"]' one)" fine
code "a crawl beside it" 75 "$A" crawl "$WEB/" --data d1
has "... names the process" "process $pid" code.err
code "explain beside it" 0 "$A" explain "$WEB/" --data d1
has "... names the process" "process $pid" code.out
code "a second daemon" 75 "$A" serve --data d1

kill -TERM "$pid"
wait "$pid"
same "SIGTERM ends it" $? 0
has "... in order" "serve.stopped" log
code "the data is free again" 0 "$A" status --data d1
check "the archive is sound" "$A" archive check --data d1
code "an address beyond loopback is refused" 78 "$A" serve --data d2 \
	--set http.listen=0.0.0.0:0
code "... the door's too" 78 "$A" serve --data d2 \
	--set urlfrontier.listen=0.0.0.0:0
has "... and says what it wants" "urlfrontier.token = required" code.err

# A deleted crawl leaves /status, and the figures of what waits.
code "a crawl with URLs left" 0 "$A" crawl "$WEB/" --data d6 --quiet \
	--max-pages 3
daemon d6
address=$(sed -n 's/^argiope serves http/http/p' out | head -n 1)
key=$(sed 's/.*"key":"\([^"]*\)".*/\1/' d6/serve.json)
has "the daemon lists it" '"crawls":[{"id":0,' <(curl -s "${address}status")
check "... and counts what waits" \
	grep -qE '^argiope_queued_urls [1-9]' <(curl -s "${address}metrics")
curl -s "${address}realtime/command" -H "Authorization: Bearer $key" \
	-d '{"command":"job.delete","command_id":1,"args":{"crawl_id":0}}' \
	>deleted
gone() { curl -s "${address}status" | grep -qF '"crawls":[]'; }
check "a deleted crawl leaves /status" soon gone
has "... and the metrics" "argiope_queued_urls 0" \
	<(curl -s "${address}metrics")
"$A" status --data d6 >status.out
has "argiope status lists the doors" "console and realtime" status.out
kill -TERM "$pid"
wait "$pid"

# The file of a killed daemon leads to a port that another one took since.
daemon d3 --set urlfrontier.listen=127.0.0.1:0
daemon=$pid
: >"$WEB_LOG"
behind "$A" crawl "$WEB/slow" --data d4 >/dev/null 2>&1
asked 1
cp d3/serve.json d4/serve.json
code "a stale serve.json is not believed" 75 "$A" status --data d4
has "... and the process is named" "in use by process $pid" code.err
kill -TERM "$daemon"
wait "$daemon"
same "SIGTERM ends a daemon with a door" $? 0
has "... which said where it is" "argiope serves urlfrontier 127.0.0.1:" out
