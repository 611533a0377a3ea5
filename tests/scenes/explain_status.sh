#!/bin/bash
#
# `argiope explain` and `argiope status`: questions to a data directory.
. "$(dirname "$0")/scene.bash"

web pages=5 'robots=User-agent: *\nDisallow: /page/3\nCrawl-delay: 0.1\n'

code "explain without any data" 0 "$A" explain http://Example.ORG:80/a/../b
has "the canonical form" "http://example.org/b" code.out
has "the SURT" "org,example)/b" code.out
has "the queue" "queue        example.org" code.out
has "the verdict" "taken: " code.out
code "out of scope" 0 "$A" explain http://other.example/ \
	--seed http://example.org/
has "... says so" "skipped: scope" code.out
code "an exclusion" 0 "$A" explain http://example.org/private/x \
	--exclude /private/
has "... says so" "skipped: scope" code.out
has "... by the rule" "/private/" code.out
code "too deep" 0 "$A" explain http://example.org/ --depth 2 --at-depth 3
has "... says so" "skipped: depth" code.out
code "a trap" 0 "$A" explain http://example.org/a/a/a/a/a/
has "... says so" "traps.repeats_max" code.out
code "a private address" 0 "$A" explain http://10.1.2.3/ \
	--seed http://example.org/ --scope any
has "... says so" "skipped: blocked" code.out
has "... with its class" "address      private" code.out
code "a mail address" 65 "$A" explain mailto:a@example.org
"$A" explain http://example.org/ --json >one
same "--json" "$(json 'events[0]["take"], events[0]["queue"]' one)" \
	"(True, 'example.org')"

code "status of nothing" 0 "$A" status --data d1
has "... says so" "There is no crawl" code.out
"$A" crawl "$WEB/" --data d1 --name first --max-pages 4 --quiet --delay 0
code "status of a crawl" 0 "$A" status --data d1
has "... its name" "first" code.out
has "... its state and reason" "max_items" code.out
has "... where its files are" "$PWD/d1/archive" code.out
"$A" status --data d1 --json >one
same "status --json" "$(json 'events[0]["crawls"][0]["counts"]["items"]' \
	one)" 4

code "explain with a crawl" 0 "$A" explain "$WEB/" --crawl first --data d1
has "... knows what was captured" "done: captured" code.out
code "... by its number" 0 "$A" explain "$WEB/page/3" --crawl 0 --data d1
has "... and the stored robots.txt" "forbids it: line 2" code.out
has "... decides" "skipped: robots" code.out
code "... what waits" 0 "$A" explain "$WEB/page/4" --crawl 0 --data d1
has "... says so" "waiting" code.out
has "... the longer delay of robots.txt" "0.1 s" code.out
code "a crawl that never was" 66 "$A" explain "$WEB/" --crawl x --data d1
code "--crawl with a policy" 64 "$A" explain "$WEB/" --crawl 0 --depth 1 \
	--data d1
