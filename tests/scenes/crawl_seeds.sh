#!/bin/bash
#
# Seeds that lead nowhere: one clear line each, in the summary and in --json.
. "$(dirname "$0")/scene.bash"

web pages=3 'robots=User-agent: *\nDisallow: /page/2\n'
free=$(python3 -c 'import socket; s = socket.socket()
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
quick=(--set fetch.tries_max=1)

code "a good seed among bad ones" 0 "$A" crawl "$WEB/page/0" "no url" \
	"http://127.0.0.1:$free/" "$WEB/page/2" "$WEB/out" --data d1 \
	"${quick[@]}"
cp code.out summary
has "they are counted" "4 of 5 seeds failed" summary
has "no URL" "  no url: no URL: " summary
has "unreachable" "  http://127.0.0.1:$free/: unreachable: connect" summary
has "refused by robots" "  $WEB/page/2: refused by robots.txt line 2" summary
has "redirected out of scope" "  $WEB/out: out of scope: redirected to" summary
has "the exception is listed" "exceptions:" summary
same "a refused page is not asked for" "$(grep -c /page/2 "$WEB_LOG")" 0

"$A" crawl "$WEB/page/0" "no url" "http://127.0.0.1:$free/" "$WEB/page/2" \
	"$WEB/out" --data d2 --json "${quick[@]}" >events
same "--json tells them too" "$(json 'sorted(e["reason"] for e in events
	if e["event"] == "seed_failed")' events)" \
	"['connect', 'no_url', 'robots', 'scope']"
same "--no-robots asks all the same" "$("$A" crawl "$WEB/page/2" --data d3 \
	--depth 0 --no-robots --json | tail -n 1 | python3 -c \
	'import json, sys; print(json.load(sys.stdin)["counts"]["items"])')" 1

code "no seed is a URL" 65 "$A" crawl "no url" mailto:a@b --data d4
same "... one line" "$(wc -l <code.err)" 1
if [ -e d4/lock ]; then
	fail "no crawl was begun"
else
	pass "no crawl was begun"
fi
code "no seed can be reached" 69 "$A" crawl "http://127.0.0.1:$free/" \
	--data d5 "${quick[@]}"
has "... says so" "unreachable: connect" code.out
code "no host of that name" 69 "$A" crawl http://no-such-host.invalid/ \
	--data d6 "${quick[@]}"
has "... says so" "unreachable: dns" code.out
code "all seeds refused by robots" 69 "$A" crawl "$WEB/page/2" --data d7
has "... says so" "refused by robots.txt" code.out
code "only redirected out of scope" 69 "$A" crawl "$WEB/out" --data d8
code "a redirect within the scope" 0 "$A" crawl "$WEB/hop" --data d9

# A port that is dead takes nothing from another port of the same host.
code "a dead port and a whole site" 0 "$A" crawl "http://127.0.0.1:$free/" \
	"$WEB/deep/1" --data d10 --delay 50ms "${quick[@]}"
has "... which is fetched" "captures                      5" code.out
