#!/bin/bash
#
# `argiope archive` over a crawl's own files: ls, cat, check, index, wacz.
. "$(dirname "$0")/scene.bash"

web pages=5
"$A" crawl "$WEB/" --data d1 --quiet
warc=$(echo d1/archive/*.warc.gz)

code "ls" 0 "$A" archive ls --data d1
has "... a line for a page" "$WEB/page/3" code.out
code "ls of a file" 0 "$A" archive ls "$warc"
code "ls of nothing" 66 "$A" archive ls nowhere
code "ls of a folder without WARCs" 66 "$A" archive ls d1/log
"$A" archive ls --data d1 | head -n 1 >first
same "ls into head" "$(wc -l <first)" 1
"$A" archive ls --data d1 --json >ls.json
same "ls --json" "$(json 'len([e for e in events
	if e["url"].endswith("/page/3")])' ls.json)" 1

"$A" archive cat "$WEB/page/3" --data d1 >page
has "cat a URL" "<title>Page 3</title>" page
"$A" archive cat 0:1 --data d1 >page
has "cat a number" "<title>Home</title>" page
"$A" archive cat 0:1 --data d1 --part block >page
has "cat with its head" "HTTP/1.1 200" page
"$A" archive cat 0:1 --data d1 --part record >page
has "cat the record" "WARC/1.1" page
code "cat of what is not there" 66 "$A" archive cat "$WEB/never" --data d1

"$A" archive cat "$WEB/page/3" --data d1 >page
limited() { "$A" archive cat "$WEB/page/3" --data d1 \
	--set "archive.cat_bytes_max=$1"; }
code "cat up to the limit" 0 limited "$(wc -c <page)"
check "... prints all" cmp code.out page
code "cat beyond the limit" 75 limited $(($(wc -c <page) - 1))
same "... prints what it allows" "$(wc -c <code.out)" $(($(wc -c <page) - 1))
has "... and names it" "archive.cat_bytes_max" code.err

code "check" 0 "$A" archive check --data d1 --strict
has "... counts" "0 errors" code.out
cdxj=$warc.cdxj
cp "$cdxj" sound.cdxj
wrong() { # NAME TEXT: check names the fault of what stdin makes of the CDXJ
	cat >"$cdxj"
	code "check of a CDXJ with $1" 70 "$A" archive check --data d1
	has "... names it" "$cdxj at " code.out
	has "... and the fault" "$2" code.out
}
wrong "a wrong offset" "line 2: no capture has the offset 9" \
	< <(sed '2s/"offset": *"/&9/' sound.cdxj)
has "... and the capture without a line" "no line has the offset" code.out
wrong "a line removed" "no line has the offset" < <(sed 2d sound.cdxj)
has "... once" "1 errors" code.out
wrong "a line added" "line 3: another line has the offset" \
	< <(sed 2p sound.cdxj)
wrong "two lines swapped" "line 3 is out of order" \
	< <(sed '2{h;d};3G' sound.cdxj)
has "... once" "1 errors" code.out
wrong "a wrong status" "line 2: the status is not that of" \
	< <(sed '2s/"status": *"[0-9]*"/"status":"599"/' sound.cdxj)
wrong "a wrong digest" "line 2: the digest is not that of" \
	< <(sed '2s/"digest": *"sha1:/&A/' sound.cdxj)
wrong "no line end" "has no line end" < <(head -c -1 sound.cdxj)
"$A" archive check --data d1 --json >json.out
has "... in JSON" '"rule":"cdxj","level":"error"' json.out
code "archive index mends it" 0 "$A" archive index "$warc" --output "$cdxj"
check "... as it was" cmp sound.cdxj "$cdxj"
code "... check" 0 "$A" archive check --data d1 --strict

"$A" archive check --data d1 --json | tail -n 1 >counts
check "check --json is JSON" python3 -m json.tool counts
cp "$warc" broken.warc.gz
head -c 64 /dev/zero | dd of=broken.warc.gz bs=1 seek=2000 conv=notrunc status=none
code "check of a damaged file" 70 "$A" archive check broken.warc.gz
head -c 3000 "$warc" >cut.warc.gz
code "check of a cut file" 70 "$A" archive check cut.warc.gz

"$A" archive index --data d1 >index.cdxj
check "the index is sorted" sort -c index.cdxj
same "... a line per answer" "$(grep -c '"url"' index.cdxj)" \
	"$(wc -l <ls.json)"
code "index into a file" 0 "$A" archive index --data d1 --output own.cdxj
check "... the same" diff index.cdxj own.cdxj
crawled=$(echo d1/archive/*.cdxj)
[ ! -e "$crawled" ] || check "... as the crawl wrote" diff index.cdxj "$crawled"

code "wacz" 0 "$A" archive wacz own.wacz --data d1 --title "A scene"
check "... is a zip" python3 -m zipfile -t own.wacz
python3 -m zipfile -l own.wacz >entries
for name in datapackage.json pages/pages.jsonl indexes/index.cdx.gz archive/; do
	has "... with $name" "$name" entries
done
echo "no WARC at all" >garbage.warc
code "wacz of a file that is no WARC" 70 "$A" archive wacz bad.wacz garbage.warc
has "... says so" "bad.wacz is there, but 1 damaged records" code.err
code "wacz again" 73 "$A" archive wacz own.wacz --data d1

# --- the other digest -----------------------------------------------------------
export ARGIOPE_WARC_DIGEST=sha256
"$A" crawl "$WEB/" --data d4 --quiet
"$A" crawl "$WEB/" --data d4 --quiet
unset ARGIOPE_WARC_DIGEST
code "check of SHA-256" 0 "$A" archive check --data d4 --strict
has "... counts" "0 errors" code.out
zcat d4/archive/*.warc.gz >records
same "... no SHA-1 anywhere" "$(grep -ac 'Digest: sha1:' records)" 0
check "... payloads" grep -aq 'WARC-Payload-Digest: sha256:[0-9a-f]*' records
check "... what came again is a revisit" grep -aq '^WARC-Type: revisit' records
"$A" archive index --data d4 >index.cdxj
check "... and stands so in the index" grep -q '"digest": *"sha256:' index.cdxj

# --- a crawl that packs itself ---------------------------------------------------
: >"$WEB_LOG"
code "crawl --wacz onto a file that is there" 73 "$A" crawl "$WEB/" --data d2 \
	--wacz own.wacz
code "... into a directory that is not" 66 "$A" crawl "$WEB/" --data d2 \
	--wacz no/own.wacz
same "... before anything is fetched" "$(wc -l <"$WEB_LOG")" 0
code "crawl --wacz" 0 "$A" crawl "$WEB/" --data d2 --name "Packed" \
	--wacz packed.wacz
has "... says so" "packed.wacz: 1 WARC files" code.out
"$A" archive wacz again.wacz --data d2 --title Packed --main-url "$WEB/" \
	>again.out
check "... the same as archive wacz" cmp packed.wacz again.wacz
"$A" crawl "$WEB/" --data d2 --json --wacz both.wacz | tail -n 1 >last
same "... with --json an event" "$(json \
	'[events[0][k] for k in ("event", "path", "files")]' last)" \
	"['wacz', 'both.wacz', 2]"

kill "$WEB_PID"
web pages=60 delay=0.01
behind "$A" crawl "$WEB/" --data d3 --delay 30ms --wacz late.wacz >out 2>err
asked 10
kill -INT "$pid"
wait "$pid"
check "one that is broken off packs nothing" test ! -e late.wacz
command=$(sed -n 's/^To go on: //p' out)
has "... what goes on, packs" "--wacz late.wacz" out
eval "$command --quiet"
same "... it goes on" $? 0
check "... and then it is there" python3 -m zipfile -t late.wacz

# --- while it runs, and elsewhere ----------------------------------------------
: >"$WEB_LOG"
behind "$A" crawl "$WEB/" --data d5 --delay 30ms --warc-dir aside --quiet
crawler=$pid
asked 20
captured() { "$A" archive ls --data d5 2>/dev/null | grep -q "$WEB/page/3$"; }
check "a running crawl's captures are listed" soon captured
code "... ls" 0 "$A" archive ls --data d5 --json
has "... from the file that is being written" '"open":true' code.out
"$A" archive cat "$WEB/page/3" --data d5 >page
has "... cat prints one" "<title>Page 3</title>" page
for _ in 1 2 3 4 5 6 7 8; do
	code "... check finds no fault" 0 "$A" archive check --data d5 --strict
done
code "... also by the directory" 0 "$A" archive check aside
kill -9 "$crawler"
wait "$crawler" 2>/dev/null
open=$(echo aside/.argiope/*/*.warc.gz.open)
head -c 700 "$open" >begun && cat begun >>"$open" && truncate -s -40 "$open"
code "after a kill: check" 0 "$A" archive check --data d5 --strict
"$A" status --data d5 >status.out
has "... status says that the crawl is interrupted" interrupted status.out
code "--resume" 0 "$A" crawl --resume --data d5 --quiet
code "afterwards: check" 0 "$A" archive check --data d5 --strict
has "... of all captures" "69  numbered captures" code.out
"$A" status --data d5 >status.out
check "... and it is complete" grep -q complete status.out
mv aside moved
code "its directory is gone" 66 "$A" archive ls --data d5
has "... which is named" "/aside, to which crawls have written, is not" code.err

# --- finished files that were lost ----------------------------------------------
"$A" crawl "$WEB/" --data d6 --quiet
"$A" crawl "$WEB/page/1" --data d6 --quiet
code "all files are as recorded" 0 "$A" archive check --data d6
first=$(ls d6/archive/*.warc.gz | head -n 1)
last=$(ls d6/archive/*.warc.gz | tail -n 1)
truncate -s -1 "$last"
mv "$first" first.warc.gz
code "a lost file and a shorter one" 70 "$A" archive check --data d6
has "... check names the lost one" "$first at 0: error: a finished file is not" \
	code.out
has "... and the other" "$(($(stat -c %s "$last"))) bytes of" code.out
"$A" crawl --resume --data d6 >code.out 2>code.err
has "--resume says so" "a finished WARC file is missing" code.err
has "... of both" "is shorter than recorded" code.err
