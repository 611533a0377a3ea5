#!/bin/bash
#
# An index of sitemaps that never ends: each limit of sitemaps, and each limit of
# the crawl, ends it.
. "$(dirname "$0")/scene.bash"

web pages=3 'robots=User-agent: *\nSitemap: /map/0\n'
# maps WORD...: crawls; how many sitemaps the web was asked for
maps() {
	: >"$WEB_LOG"
	timeout 30 "$A" crawl "$WEB/same/1" --sitemaps --delay 0 --quiet \
		--json "$@" >events || return 1
	grep -c '^/map/' "$WEB_LOG"
}

same "an endless index is read three levels deep" "$(maps --data a)" 7
same "... and the crawl ends" "$(json 'events[-1]["reason"]' events)" \
	"everything was fetched"
same "one level" "$(maps --data b --set sitemap.depth_max=1)" 1
same "five levels" "$(maps --data c --set sitemap.depth_max=5)" 31
same "sitemap.files_max" "$(maps --data d --set sitemap.depth_max=16 \
	--set sitemap.files_max=100)" 100
one=$("$A" crawl "$WEB/map/0" --data size --delay 0 --json |
	grep -o '"body_bytes":[0-9]*' | head -n 1 | cut -d: -f2)
got=$(maps --data e --set sitemap.depth_max=16 --set sitemap.bytes_max="$one")
check "sitemap.bytes_max: one sitemap's bytes are read, and at most a few more" \
	test "$got" -ge 1 -a "$got" -le 3
same "--max-pages" "$(maps --data f --set sitemap.depth_max=16 \
	--max-pages 5)" 5
SECONDS=0
maps --data g --set sitemap.depth_max=16 --max-time 1s >/dev/null
check "--max-time" test "$SECONDS" -lt 10
