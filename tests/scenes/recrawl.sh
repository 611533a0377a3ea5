#!/bin/bash
#
# A site that does not change is fetched once by a collection's crawls: later
# ones ask with validators, whatever was asked in between.
. "$(dirname "$0")/scene.bash"

# statuses DATA SEED...: crawls; the distinct statuses of all but 404
statuses() {
	local data=$1
	shift
	"$A" crawl "$@" --data "$data" --delay 0 --json >events || return 1
	json '" ".join(str(s) for s in sorted({e["status"] for e in events
		if e["event"] == "item" and e["status"] != 404}))' events
}
found() { json 'sum(e["event"] == "item" for e in events)' events; }

web pages=5 etag=1
seeds=("$WEB/" "$WEB/same/1" "$WEB/same/2")
same "a page" "$(statuses d "$WEB/same/1")" 200
same "... and the others: it alone has not changed" \
	"$(statuses d "${seeds[@]}")" "200 304"
pages=$(found)
has "... one is a duplicate" '"duplicate":true' events
for n in 3 4 5 6 7; do
	same "crawl $n is told that nothing changed" \
		"$(statuses d "${seeds[@]}")" 304
	same "... and finds the same pages" "$(found)" "$pages"
done
check "the archive is sound" "$A" archive check --data d --strict

# The last crawl need not be the one that had the page.
same "a crawl of one page" "$(statuses d "$WEB/deep/5" )" 304
same "... and all the others" "$(statuses d "${seeds[@]}")" 304

# The files alone tell the same.
rm -rf d/index d/log
code "rebuilt" 0 "$A" archive reindex --rebuild --data d
same "... nothing has changed still" "$(statuses d "${seeds[@]}")" 304
same "... the same pages are found" "$(found)" "$pages"

# The first crawl's captures are found even if the latest crawl skipped them.
web pages=5 etag=1
statuses f "$WEB/" >/dev/null
same "a second crawl, of one page" "$(statuses f "$WEB/same/9")" 200
same "... and all that the first had" "$(statuses f "$WEB/")" 304

# --- one body, read in two ways: packed, and as what it is ---------------------
web pages=5 etag=1
seeds=("$WEB/plain.gz" "$WEB/packed")
one() { statuses p "$WEB/plain.gz"; statuses p "$WEB/packed"; }
same "a body without a coding, then with one" "$(one | tr '\n' ' ')" "200 200 "
has "... is a duplicate" '"duplicate":true' events
same "... whose links are found" "$(found)" 7
for n in 2 3; do
	same "round $n: neither has changed" "$(one | tr '\n' ' ')" "304 304 "
	same "... and its links are found" "$(found)" 7
done
rm -rf p/index p/log
code "rebuilt" 0 "$A" archive reindex --rebuild --data p
same "... neither has changed" "$(one | tr '\n' ' ')" "304 304 "
same "... and its links are found" "$(found)" 7
"$A" archive check --data p --strict >check.out || fail "the archive is sound"

# --- a schedule's runs ----------------------------------------------------------
echo '{"rate_limit":0}' >quick.json
web pages=5 etag=1
daemon s --set fetch.allow_private=on
# ended N: so many crawls have ended
ended() {
	"$A" status --data s --json >status.json &&
	    [ "$(json 'sum(c["state"] == "complete"
		for c in events[0]["crawls"])' status.json)" = "$1" ]
}
for n in 1 2 3; do
	again=()
	[ "$n" = 1 ] || again=(--id 1)
	"$A" schedule put news "$WEB/" --data s "${again[@]}" \
		--policy-file quick.json >/dev/null
	check "run $n" soon ended "$n"
done
kill -TERM "$pid"
wait "$pid"
"$A" archive reindex --data s --json >journal
same "a schedule's runs fetch what changed" "$(json \
	'[sorted({e["status"] for e in events if e["crawl"] == c} - {404})
	for c in (0, 1, 2)]' journal)" "[[200], [304], [304]]"
same "... and share their archive" "$(ls s/archive | tr '\n' ' ')" "schedule-1 "
