#!/bin/bash
#
# Crawls handed to a running daemon, and ordered about by commands; and the
# sentence that says with which depth, embeds and delay a crawl begins.
. "$(dirname "$0")/scene.bash"

web pages=400 delay=0.01

in_force="embedded resources on, no delay between requests to one host"

# --- in the foreground ------------------------------------------------------
"$A" crawl "$WEB/" --data d1 --max-pages 5 >c1.out 2>c1.err
has "a crawl says what it does" "any depth, $in_force" c1.err
"$A" crawl "$WEB/" --data d1 --max-pages 5 --depth 1 --no-embeds --delay 10ms \
	--no-robots >c1.out 2>c1.err
has "... with options" "depth at most 1, embedded resources off, 0.01 s" c1.err
has "... all of them" "robots.txt ignored, at most 5 pages" c1.err
"$A" crawl "$WEB/" --data d1 --max-pages 5 --quiet >c1.out 2>c1.err
same "... but for --quiet" "$(cat c1.err)" ""
"$A" crawl "$WEB/" --data d1 --max-pages 5 --json >c1.json 2>c1.err
same "... as JSON" "$(json '"embedded" in events[0]["in_force"]' c1.json)" True

# --- handed over ------------------------------------------------------------
code "without a daemon it is refused" 69 "$A" crawl "$WEB/" --data d2 --submit
has "... with what to do" "argiope serve" code.err

daemon d2 --set fetch.allow_private=on
port=$(sed 's/.* //' out)
: >"$WEB_LOG"
code "a crawl is handed over" 0 "$A" crawl "$WEB/" --data d2 --submit \
	--name one --depth 2
has "... and has a number" "crawl 0" code.out
has "... and it says what is in force" "depth at most 2, $in_force" code.out
asked 20
pass "the daemon fetches"
code "by name: pause" 0 "$A" pause one --data d2
has "... says so" "crawl 0 is paused" code.out
sleep 0.3
before=$(wc -l <"$WEB_LOG")
sleep 0.5
same "nothing more is fetched" "$(wc -l <"$WEB_LOG")" "$before"
"$A" pause one --data d2 --json >one.json
same "again, as JSON" "$(json '(events[0]["crawl_id"], events[0]["status"])' \
	one.json)" "(0, 'paused')"
code "by number: resume" 0 "$A" resume 0 --data d2
has "... says so" "crawl 0 is running" code.out
asked $((before + 10))
pass "it is fetched again"
code "cancel" 0 "$A" cancel one --data d2
has "... says so" "crawl 0 is cancelled" code.out
code "an ended crawl is not paused" 69 "$A" pause one --data d2
has "... with the reason" "is cancelled" code.err
code "a crawl that is not there" 66 "$A" pause nobody --data d2
has "... is named" "nobody" code.err
code "no crawl is named" 64 "$A" pause --data d2

code "rerun" 0 "$A" rerun one --data d2
has "... is a new crawl" "crawl 1 runs crawl 0 again" code.out
code "cancel the newest of that name" 0 "$A" cancel one --data d2
has "... is the new one" "crawl 1 is cancelled" code.out

# --- what cannot be handed over ---------------------------------------------
echo u:p >auth
code "secrets stay here" 64 "$A" crawl "$WEB/" --data d2 --submit \
	--auth-file auth
has "... it says which" "--auth-file" code.err
code "nor a place of its own" 64 "$A" crawl "$WEB/" --data d2 --submit \
	--warc-dir w
code "no seed" 64 "$A" crawl --data d2 --submit
code "a seed that is none" 65 "$A" crawl "ftp://a/" --data d2 --submit

# --- tokens -----------------------------------------------------------------
"$A" token add reader --scope realtime:read --data d2 >read.token
"$A" token add writer --scope realtime:write --data d2 >write.token
sleep 1.5
code "with the daemon's own key" 0 "$A" crawl "$WEB/" --data d2 --submit \
	--max-pages 3
code "by its address, without a token" 77 "$A" crawl "$WEB/" --data elsewhere \
	--submit --server "$port"
code "... a reader's" 77 "$A" crawl "$WEB/" --data elsewhere \
	--submit --server "$port" --token-file read.token
code "... a writer's" 0 "$A" crawl "$WEB/" --data elsewhere \
	--submit --server "$port" --token-file write.token --name far
code "... its orders too" 0 "$A" cancel far --data elsewhere \
	--server "$port" --token-file write.token
same "no data directory was made" "$(ls -d elsewhere 2>/dev/null)" ""
code "a server that is none" 64 "$A" cancel far --server "nowhere" --data d2
code "a server that does not answer" 69 "$A" cancel far \
	--server "http://127.0.0.1:1/" --data d2

# --- over HTTP --------------------------------------------------------------
key=$(sed 's/.*"key":"\([^"]*\)".*/\1/' d2/serve.json)
post() {
	curl -s -o post.json -w '%{http_code}' "${port}realtime/command" \
		-H "Authorization: Bearer $key" -d "$1"
}
same "one command, one answer" \
	"$(post '{"command":"ping","command_id":7}')" 200
same "... with its id" "$(json 'events[0]["command_id"]' post.json)" 7
same "a subscription wants a WebSocket" "$(post \
	'{"command":"subscribe_monitor","command_id":7}')" 400
has "... and says so" "WebSocket" post.json
same "no such crawl" "$(post \
	'{"command":"job.pause","command_id":7,"args":{"crawl_id":99}}')" 404
same "no JSON" "$(post 'x')" 400
curl -s "${port}realtime/commands" -H "Authorization: Bearer $key" |
	grep -o '"[a-z_.]*"' | tr -d '"' | sort -u >words
while read -r word; do
	[ "$word" = snapshot ] || post "{\"command\":\"$word\",\"command_id\":1,
		\"args\":{\"crawl_id\":0,\"seeds\":[],\"name\":\"n\"}}" >/dev/null
	post "{\"command\":\"$word\",\"command_id\":1,
		\"args\":{\"crawl_id\":0}}" >/dev/null
done <words
check "no command of the table ends the daemon" curl -sf "${port}healthz"

# --- schedules --------------------------------------------------------------
code "a schedule says it too" 0 "$A" schedule put s "$WEB/" --data d2
same "... its number stays alone on the output" "$(cat code.out)" 1
has "... the sentence goes beside it" \
	"depth at most 3, embedded resources off, 5 s between" code.err
code "... with its own pause" 0 "$A" schedule put t "$WEB/" --data d2 \
	--rate-limit 2s
has "... as that has it" "2 s between" code.err
kill -TERM "$pid"
wait "$pid"
same "SIGTERM ends it" $? 0
