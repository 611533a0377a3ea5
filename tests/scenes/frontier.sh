#!/bin/bash
#
# `argiope frontier`: every verb against the door of `argiope serve`, and what
# goes wrong.  What it sends, and dumps, is held against others in tests/peers.
. "$(dirname "$0")/scene.bash"

# serve DATA SETTING...: a daemon; $PORT is its door, $PID the process
serve() {
	local data=$1 i set=()
	shift
	for i; do set+=(--set "$i"); done
	daemon "$data" --set urlfrontier.listen=127.0.0.1:0 "${set[@]}"
	PID=$pid
	PORT=$(sed -n 's/.* urlfrontier .*://p' out)
	F=("$A" frontier -p "$PORT")
}

# --- words, without a server

code "frontier --help" 0 "$A" frontier --help
has "... lists its verbs" "  frontier GetURLStatus" code.out
has "... tells of -t HOST" "[-t HOST]" code.out
for verb in PutURLs DumpURLs GetURLs GetURLStatus ListURLs CountURLs \
	PurgeURLs GetStats ListQueues DeleteQueue BlockQueueUntil SetDelay \
	SetCrawlLimit ListCrawls DeleteCrawl ListNodes GetActive SetActive \
	SetLogLevel; do
	code "$verb --help" 0 "$A" frontier "$verb" --help
	check "... fits in 80 columns" awk 'length > 80 { exit 1 }' code.out
	code "man frontier $verb" 0 "$A" man frontier "$verb"
done
code "no verb" 2 "$A" frontier
code "an unknown verb" 2 "$A" frontier getstat
has "... with the one that was meant" "did you mean frontier GetStats" code.err
code "an unknown option" 2 "$A" frontier GetStats --nothing
code "an option of the verb before it" 2 "$A" frontier -k x GetStats
code "a value that is none" 2 "$A" frontier -p 70000 GetStats
code "a needed option" 2 "$A" frontier PutURLs
has "... is named" "wants --file" code.err
code "--ca without --tls" 2 "$A" frontier --ca x GetStats
code "nobody listens there" 1 "$A" frontier -p 1 GetStats
has "... and where is said" "localhost:1 cannot be reached" code.err
code "a name that is none" 1 "$A" frontier -t no.such.invalid GetStats
code "a configuration that is none" 1 "$A" frontier GetStats --set a=b

# --- every verb

serve d1
printf '%s\n' http://a.test/1 http://a.test/2 http://b.test/1 >seeds
code "PutURLs" 0 "${F[@]}" PutURLs -f seeds
has "... all are new" "OK: 3" code.out
code "put-urls from a pipe, once more" 0 "${F[@]}" put-urls -f - --json <seeds
same "... are known" "$(json 'events[0]["skipped"]' code.out)" 3
code "a line that is none" 1 "${F[@]}" PutURLs -f - <<'END'
http://c.test/1
{"known":{"info":{"url":"http://c.test/2","kee":"c"}}}

{"known":{"info":{"url":"http://c.test/3","key":"c","crawlID":"other"},"refetchableFromDate":"2000000000"},"ID":"x"}
END
has "... is named" "standard input:2: known.info.kee: there is no such field" \
	code.err
has "... and the rest is sent" "OK: 2" code.out

same "GetStats" "$("${F[@]}" GetStats | sort)" "$(printf '%s\n' \
	"Active URLs: 4" "In process: 0" "Number of queues: 3" \
	"active_queues = 3" "completed = 0")"
"${F[@]}" GETSTATS -k a.test --json >one
same "GetStats of a queue" "$(json 'events[0]["size"]' one)" 2
same "ListCrawls" "$("${F[@]}" ListCrawls)" "$(printf 'DEFAULT\nother')"
same "ListQueues" "$("${F[@]}" ListQueues)" \
	"$(printf 'a.test\nb.test\nc.test')"
same "ListQueues, a page" "$("${F[@]}" ListQueues -n 1 -s 1 --json)" \
	'{"values":["b.test"],"start":1,"size":1,"crawlID":"DEFAULT"}'
code "ListQueues -o" 0 "${F[@]}" ListQueues -n 2 -o queues.gz
same "... has all" "$(gzip -dc queues.gz | wc -l)" 3
same "ListNodes" "$("${F[@]}" ListNodes)" "127.0.0.1:$PORT"
same "CountURLs" "$("${F[@]}" CountURLs -f TEST/1 -i)" "3 URLs in frontier"
same "ListURLs of a crawl" "$("${F[@]}" ListURLs -c other)" \
	"http://c.test/3;2000000000"
same "... with dates as they are here" \
	"$(TZ=XYZ-5 "${F[@]}" ListURLs -c other -p)" \
	"http://c.test/3;2033-05-18T08:33:20"
"${F[@]}" ListURLs -c other -j >one
same "... as JSON" "$(json 'events[0]["known"]["info"]["key"]' one)" c
same "GetURLStatus" "$("${F[@]}" get-url-status -c other -k c \
	-u http://c.test/3)" "http://c.test/3;2000000000"
code "GetURLStatus of a stranger" 1 "${F[@]}" GetURLStatus -u http://z.test/
has "... says so" "NOT_FOUND" code.err

same "GetActive" "$("${F[@]}" GetActive)" "Active: true"
code "SetActive false" 0 "${F[@]}" SetActive false
same "... is quiet" "$(wc -c <code.out)" 0
same "... and holds" "$("${F[@]}" GetActive --json)" '{"state":false}'
same "GetURLs while it is not active" "$("${F[@]}" GetURLs)" ""
code "SetActive perhaps" 2 "${F[@]}" SetActive perhaps
check "SetActive true" "${F[@]}" SetActive TRUE
check "SetDelay" "${F[@]}" SetDelay -d 0
check "BlockQueueUntil" "${F[@]}" BlockQueueUntil -k b.test -u 2000000000
same "GetURLs" "$("${F[@]}" GetURLs -m 2 -q 9 -d 100 | sort)" \
	"$(printf '%s\n' http://a.test/1 http://a.test/2 http://c.test/1)"
check "the block ends" "${F[@]}" BlockQueueUntil -k b.test -u 0
"${F[@]}" GetURLs -k b.test --json >one
same "GetURLs of a queue" "$(cat one)" \
	'{"url":"http://b.test/1","key":"b.test","crawlID":"DEFAULT"}'
check "SetCrawlLimit" "${F[@]}" SetCrawlLimit -k b.test -l 5 --local
code "SetCrawlLimit of no queue" 1 "${F[@]}" SetCrawlLimit -k z.test -l 5
check "SetLogLevel" "${F[@]}" SetLogLevel -p a.b.C -l WARN

# --- out and in again

code "DumpURLs" 0 "${F[@]}" DumpURLs -o all.gz
code "DumpURLs, on three connections" 0 "${F[@]}" DumpURLs -t 3
same "... has the same lines" "$(sort code.out)" "$(gzip -dc all.gz | sort)"
code "DumpURLs of a crawl" 0 "${F[@]}" DumpURLs -c other
same "... has its own" "$(wc -l <code.out)" 1
code "DumpURLs where nothing can be written" 1 "${F[@]}" DumpURLs -o /dev/full
has "... says so" "the dump is not complete" code.err
same "DeleteQueue" "$("${F[@]}" DeleteQueue -k a.test)" "2 URLs deleted"
same "PurgeURLs" "$("${F[@]}" PurgeURLs -d 1 --json)" '{"value":0}'
same "DeleteCrawl" "$("${F[@]}" DeleteCrawl)" "2 URLs deleted"
same "DeleteCrawl of another" "$("${F[@]}" DeleteCrawl -c other)" \
	"1 URLs deleted"
code "PutURLs of the dump" 0 "${F[@]}" PutURLs -f all.gz -t 4 -b 2 -w 1
has "... takes all" "OK: 5" code.out
"${F[@]}" DumpURLs | sed 's/,"creationDate.*//' | sort >again
gzip -dc all.gz | sed 's/,"creationDate.*//' | sort >before
same "... and they are back" "$(cat again)" "$(cat before)"
seq 30000 | sed 's|.*|http://h&.test/&|; s|h[0-9]*\([0-9][.]\)|h\1|' >many
code "batches, on two connections" 0 "${F[@]}" PutURLs -f many -b 100 -t 2 -c m
has "... are acknowledged" "OK: 30000" code.out
same "... and there" "$("${F[@]}" CountURLs -c m)" "30000 URLs in frontier"
same "who reads no more ends it in peace" \
	"$("${F[@]}" ListURLs -n 30000 -c m | head -n 1 | wc -l)" 1
head -c 100 all.gz >cut.gz
code "a file that is cut off" 1 "${F[@]}" PutURLs -f cut.gz
has "... is named" "cut.gz is cut off" code.err
code "a file that is not there" 1 "${F[@]}" PutURLs -f none

# The server goes while nothing comes from the pipe.
(sleep 30 & echo $! >sleeper; echo http://a.test/9; wait) |
	"${F[@]}" PutURLs -f - >gone.out 2>gone.err &
put=$!
sleep 0.5
kill -9 "$PID"
wait "$PID" 2>/dev/null
for ((i = 0; i < 100; i++)); do
	kill -0 "$put" 2>/dev/null || break
	sleep 0.1
done
if kill -0 "$put" 2>/dev/null; then
	fail "a server that goes ends PutURLs"
else
	pass "a server that goes ends PutURLs"
fi
kill "$(cat sleeper)" 2>/dev/null
wait "$put"
same "... with exit code 1" $? 1
has "... and says so" "UNAVAILABLE" gone.err

# --- tokens

"$A" token add crawler --data d2 -s urlfrontier:write >token
serve d2
code "a door that wants a token" 1 "${F[@]}" GetStats
has "... tells so" "UNAUTHENTICATED" code.err
code "with the token" 0 "$A" frontier -p "$PORT" --token-file token GetStats
echo wrong >wrong
code "with another" 1 "${F[@]}" GetStats --token-file wrong
: >empty
code "with none in the file" 1 "${F[@]}" GetStats --token-file empty

# --- TLS

if ! command -v openssl >/dev/null; then
	echo "skip TLS: openssl is not there"
	exit 0
fi
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
	-subj /CN=localhost -addext subjectAltName=DNS:localhost \
	-keyout key.pem -out cert.pem 2>/dev/null
serve d3 urlfrontier.tls_cert="$PWD/cert.pem" urlfrontier.tls_key="$PWD/key.pem"
code "TLS" 0 "${F[@]}" --tls --ca cert.pem GetStats
code "TLS, on two connections" 0 "${F[@]}" --tls --ca cert.pem PutURLs \
	-f seeds -t 2
code "a certificate that nobody signed" 1 "${F[@]}" --tls GetStats
has "... is told" "certificate" code.err
code "a certificate of another name" 1 "${F[@]}" -t 127.0.0.1 --tls \
	--ca cert.pem GetStats
code "no TLS where the server wants it" 1 "${F[@]}" GetStats
