#!/bin/bash
#
# The data directory is lost, the WARC files are not: `archive reindex --rebuild`
# makes it again, and what was broken off goes on.
. "$(dirname "$0")/scene.bash"

lose() { rm -rf "$1/index" "$1/log"; }

# All that status tells, but for the times, which no record has so exactly.
figures() {
	"$A" status --data "$1" --json >figures.json
	python3 - figures.json <<'END'
import json, sys
for crawl in json.load(open(sys.argv[1]))["crawls"]:
    for name in "created", "ended":
        del crawl[name]
    print(json.dumps(crawl, indent=1, sort_keys=True))
END
}

explained() {   # what is known of each URL
	local url
	for url in "$WEB/" "$WEB/page/3" "$WEB/page/7" "$WEB/missing" \
		http://elsewhere.example/ "$WEB/hop" "$WEB/deep/4"; do
		"$A" explain "$url" --data "$1" --crawl "first one"
	done | sed 's/(fetched [^,]*, /(/'
}

# --- all kinds of captures -------------------------------------------------------
web pages=20 etag=1 gzip=1 \
	'robots=User-agent: *\nDisallow: /page/7\nSitemap: /list.txt\n'
seeds=("$WEB/" "$WEB/same/1" "$WEB/same/2" "$WEB/same/3" "$WEB/hop")
"$A" crawl "${seeds[@]}" --data d --name "first one" --quiet --sitemaps \
	--depth 4 --delay 30ms
"$A" crawl "$WEB/" --data d --name second --max-pages 5 --quiet
"$A" crawl "${seeds[@]}" --data d --name third --quiet
figures d >want
explained d >want.urls
"$A" archive ls --data d --json >want.ls
"$A" archive reindex --data d --json >want.journal
check "there are duplicates" grep -q '"duplicates": [1-9]' want
has "... a page that only a list names" '/listed"' want.journal
has "... answers of 304" '"status":304' want.journal
has "... redirects" '"hops":1' want.journal
has "... and robots.txt forbids a page" '"robots": 1,' want
code "in place, where all is sound" 0 "$A" archive reindex --rebuild --data d
figures d >got
check "... all is as before" diff want got
check "... the old index and log are kept" test -e d/replaced-1/index/CURRENT \
	-a -e d/replaced-1/log

cp -r d/archive kept
lose d
# What an attempt that was killed leaves.
mkdir -p d/.rebuild/index d/.rebuild/log
touch d/.rebuild/index/CURRENT d/.rebuild/log/log-00000001
code "rebuild" 0 "$A" archive reindex --rebuild --data d
has "... says how much" "crawls, from 3 files" code.out
has "... names the crawl" "crawl 0 (first one):" code.out
figures d >got
check "... the figures are as before" diff want got
explained d >got.urls
check "... so is what is known of URLs" diff want.urls got.urls
"$A" archive ls --data d --json >got.ls
check "... and the archive" diff want.ls got.ls
check "... no file of it was touched" diff -r -x owner kept d/archive
check "... nothing is left over" test ! -e d/.rebuild
code "... a crawl that ended has ended" 69 "$A" crawl --resume --data d \
	--name "first one"


# The next crawl finds the captures, and asks only for what changed.
"$A" crawl "$WEB/" --data again --quiet
lose again
code "rebuild between two crawls" 0 "$A" archive reindex --rebuild --data again
"$A" crawl "$WEB/" --data again --json >events
same "the next one asks for what changed" "$(json 'sum(e["event"] == "item" and
	e["status"] == 304 for e in events) > 20' events)" True
"$A" archive reindex --data again --json | tail -n 1 >last
has "... under a number of its own" '{"crawl":1,' last
check "... the archive is sound" "$A" archive check --data again --strict

# Into another data directory, the archive named.
code "rebuild elsewhere" 0 "$A" archive reindex --rebuild --data other d/archive
"$A" status --data other --json >status.json
has "... keeps where the archive is" "\"warc_dir\":\"$PWD/d/archive\"" \
	status.json

# --- broken off -------------------------------------------------------------------
web pages=60 delay=0.01
"$A" crawl "$WEB/" --data whole --quiet
pages_of whole >want
for round in 1 2 3; do
	: >"$WEB_LOG"
	behind "$A" crawl "$WEB/" --data "killed$round" --json >"events$round"
	asked $((round * 15))
	if [ "$round" = 1 ]; then
		code "not while another writes" 75 "$A" archive reindex \
			--rebuild --data meanwhile killed1/archive
		has "... which is said" "another process writes" code.err
	fi
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	# The last line may be cut by the kill.
	sed -i '$ { /}$/! d }' "events$round"
	lose "killed$round"
	open=$(echo "killed$round"/archive/.argiope/*/*.open)
	# Once as it is, once torn, once with a record that was begun.
	case $round in
	2) truncate -s -20 "${open##* }" ;;
	3) head -c 100 "${open##* }" >begun && cat begun >>"${open##* }" ;;
	esac
	code "round $round: rebuild" 0 "$A" archive reindex --rebuild \
		--data "killed$round"
	has "... it can go on" "crawl --resume" code.out
	check "... the files have their names" "$A" archive check \
		--data "killed$round" --strict
	"$A" crawl --resume --data "killed$round" --json >events
	same "... goes on" $? 0
	same "... to the end" "$(json 'events[-1]["counts"]["items"]' events)" 69
	pages_of "killed$round" >got
	check "... all pages are there, once" diff want got
	check "... the archive is sound" "$A" archive check \
		--data "killed$round" --strict
	"$A" archive reindex --data "killed$round" --json >journal
	same "... numbers have no gap and no repeat" "$(json \
		'[e["seq"] for e in events] == list(range(1, 70))' journal)" True
	[ "$round" = 2 ] && continue
	same "... as they were told" "$(python3 - "events$round" journal <<'END'
import json, sys
told, found = ([json.loads(x) for x in open(name)] for name in sys.argv[1:])
urls = {e["seq"]: e["url"] for e in found}
print(all(urls[e["seq"]] == e["url"] for e in told if e["event"] == "item"))
END
	)" True
done

# --- what is missing, there twice, damaged --------------------------------------
cp -r killed1/archive gap
first=$(ls gap/*.warc.gz | head -n 1)
mkdir aside
mv "$first" aside
code "without a file: done, and said" 65 "$A" archive reindex --rebuild \
	--data d.gap gap
has "... how many numbers are missing" "numbers are missing and 0 are there" \
	code.err
code "... it goes on" 0 "$A" crawl --resume --data d.gap --quiet
"$A" archive reindex gap --json >journal
same "... no number is given again" "$(json '(len(events) ==
	len(set(e["seq"] for e in events)) and
	max(e["seq"] for e in events) > 69)' journal)" True

cp -r killed2/archive twice
mkdir twice/copy
cp "$(ls twice/*.warc.gz | head -n 1)" twice/copy
code "with a file twice: done, and said" 65 "$A" archive reindex --rebuild \
	--data d.twice twice
has "... how many" "0 numbers are missing" code.err
"$A" status --data d.twice --json >status.json
has "... each is counted once" '"items":69' status.json

cp -r killed3/archive damaged
file=$(ls damaged/*.warc.gz | head -n 1)
"$A" archive ls "$file" --json >ls.json
at=$(json '[e["offset"] for e in events if e.get("seq")][2]' ls.json)
head -c 64 /dev/zero |
	dd of="$file" bs=1 seek=$((at + 80)) conv=notrunc status=none
cp -r damaged as-it-was
code "a damaged record: done, and said" 70 "$A" archive reindex --rebuild \
	--data d.damaged damaged
has "... its file and offset" "gap: $PWD/$file at byte $at: " code.err
has "... what helps" "argiope archive check" code.err
check "... no WARC was touched" diff -r -x .argiope as-it-was damaged
"$A" status --data d.damaged --json >status.json
has "... the captures before and behind it are kept" '"items":68' status.json
code "... it goes on" 0 "$A" crawl --resume --data d.damaged --quiet
"$A" archive reindex damaged --json >journal
same "... fetches what was lost" "$(json 'sorted(set(e["url"] for e in events
	)) == sorted(open("want").read().split())' journal)" True
same "... and nothing else" "$(json 'len(events)' journal)" 69
same "... under a new number" "$(json 'max(e["seq"] for e in events)' \
	journal)" 70

# The first member of each file is its warcinfo.
cp -r killed3/archive headless
for file in headless/*.warc.gz; do
	head -c 64 /dev/zero |
		dd of="$file" bs=1 seek=100 conv=notrunc status=none
	code "a damaged warcinfo: done, and said" 70 "$A" archive reindex \
		--rebuild --data "d.$file" headless
	"$A" status --data "d.$file" --json >status.json
	has "... no capture is lost" '"items":69' status.json
done
has "... of the last one: that seeds are lost is said" "seeds and policy were" \
	code.err

cp -r killed3/archive mixed
cp d/archive/crawl-0-*.warc.gz mixed
code "files of two data directories" 65 "$A" archive reindex --rebuild \
	--data d.mixed mixed
has "... are told apart" "two different crawls of number 0" code.err
code "no directory" 66 "$A" archive reindex --rebuild --data d.none nowhere
mkdir empty
code "an empty one" 66 "$A" archive reindex --rebuild --data d.none empty
