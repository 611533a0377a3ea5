#!/bin/bash
#
# `argiope crawl` over a small web: what it takes, what it says, how it ends.
. "$(dirname "$0")/scene.bash"

web pages=20

# --- all of it ---------------------------------------------------------------
code "a whole site" 0 "$A" crawl "$WEB/" --data d1
cp code.out summary
has "the summary counts captures" "captures" summary
has "... by status" "2xx" summary
has "... by type" "text/html" summary
has "... says what was left out" "the URL rules leave it out" summary
has "... names the archive" "$PWD/d1/archive" summary
same "a line about what is in force, then quiet in a pipe" \
	"$(grep -vc "^argiope: in force: " code.err)" 0
{
	echo /
	echo /missing
	echo /style.css
	echo /pic.png
	for ((i = 0; i < 20; i++)); do echo "/page/$i"; done
	for ((i = 1; i <= 5; i++)); do echo "/deep/$i"; done
} | sort >want
grep -v robots.txt "$WEB_LOG" | sort >got
check "every page was asked for once" diff want got
"$A" archive ls --data d1 --json >ls.json
json '"\n".join(sorted(e["url"].split("/", 3)[3] for e in events
	if not e["url"].endswith("/robots.txt")))' ls.json | sed 's,^,/,' |
	sort >archived
check "every page is in the archive once" diff want archived
same "the robots.txt is asked for once" "$(grep -c robots "$WEB_LOG")" 1
check "the archive is sound" "$A" archive check --strict --data d1

# --- as JSON -------------------------------------------------------------------
"$A" crawl "$WEB/" --data d2 --json >events 2>events.err
same "--json succeeds" $? 0
same "the first event" "$(json 'events[0]["event"]' events)" started
same "the last event" "$(json 'events[-1]["event"]' events)" completed
same "an event for each capture" "$(json 'sum(e["event"] == "item"
	for e in events)' events)" 29
same "numbers have no gap" "$(json 'sorted(e["seq"] for e in events
	if e["event"] == "item") == list(range(1, 30))' events)" True
same "the counts agree" "$(json 'events[-1]["counts"]["items"]' events)" 29
same "types are counted" "$(json 'sum(t["items"]
	for t in events[-1]["types"])' events)" 29
same "titles are told" "$(json '[e["title"] for e in events
	if e.get("url", "").endswith("/page/3")]' events)" "['Page 3']"

# --- limits and scope --------------------------------------------------------------
captures() { json 'events[-1]["counts"]["items"]' "$1"; }
"$A" crawl "$WEB/" --data d3 --json --max-pages 7 >events
same "--max-pages" "$(captures events)" 7
same "... is a complete crawl" "$(json 'events[-1]["reason"]' events)" \
	max_items
"$A" crawl "$WEB/" --data d4 --json --depth 1 >events
same "--depth 1" "$(captures events)" 24
same "... counts what was too deep" "$(json \
	'events[-1]["counts"]["skipped"]["depth"]' events)" 1
"$A" crawl "$WEB/" --data d5 --json --exclude '/page/1' --no-embeds >events
same "--exclude and --no-embeds" "$(captures events)" 11
"$A" crawl "$WEB/deep/1" --data d6 --json --scope prefix >events
same "--scope prefix" "$(captures events)" 5
"$A" crawl "$WEB/" --data d7 --json --max-time 2s --delay 500ms >events
same "--max-time ends a crawl" "$(json 'events[-1]["reason"]' events)" \
	max_time
same "... early" "$(json '1 <= events[-1]["counts"]["items"] < 10' events)" \
	True
"$A" crawl "$WEB/" --data d8 --json --rate 5 --max-pages 6 >events
same "--rate slows down" "$(json 'events[-1]["seconds"] >= 1.0' events)" True
printf '%s\n# a comment\n\n%s\n' "$WEB/deep/4" "$WEB/same/1" |
	"$A" crawl --seeds - --data d9 --json >events
same "--seeds -" "$(captures events)" 3

# --- a policy ------------------------------------------------------------------------
cat >policy.json <<END
{"limits": {"max_depth": 0}, "rate_limit": 0, "robots": "ignore"}
END
"$A" crawl "$WEB/" --data d10 --json --policy policy.json >events
same "--policy" "$(captures events)" 1
"$A" crawl "$WEB/" --data d11 --json --policy policy.json --depth 1 \
	--exclude '/page/' >events
same "options edit it" "$(captures events)" 2
echo '{"limits": {"max_dept": 1}}' >bad.json
code "a policy with a slip" 65 "$A" crawl "$WEB/" --policy bad.json
has "... names the place" "bad.json: " code.err

# --- what is sent --------------------------------------------------------------------
code "the same content twice" 0 "$A" crawl "$WEB/same/1" "$WEB/same/2" \
	--data d12
has "... is counted" "duplicates" code.out
check "revisits are sound" "$A" archive check --strict --data d12
echo "me:secret" >auth
"$A" crawl "$WEB/deep/5" --data d13 --auth-file auth --header 'X-Own: yes' \
	--user-agent 'Scene/1 (test)' >/dev/null
"$A" archive ls --all --json --data d13 >ls.json
offset=$(json '[e["offset"] for e in events if e["type"] == "request" and
	e["url"].endswith("/deep/5")][0]' ls.json)
"$A" archive cat d13/archive/*.warc.gz --offset "$offset" --part block >request
has "--header is sent" "X-Own: yes" request
has "--user-agent is sent" "User-Agent: Scene/1 (test)" request
if grep -rqa 'bWU6c2VjcmV0\|me:secret' request d13; then
	fail "a secret reached the disk"
else
	pass "no secret reaches the disk"
fi
# The operator may want them in his files, which say so.
"$A" crawl "$WEB/deep/5" --data d13b --auth-file auth --set warc.redact=off \
	>/dev/null
zcat d13b/archive/*.warc.gz >plain
has "warc.redact=off keeps what was sent" "bWU6c2VjcmV0" plain
has "... and says so" "argiope-redaction: none" plain

# --- names ------------------------------------------------------------------------------
code "a named crawl" 0 "$A" crawl "$WEB/deep/5" --data d14 --name one --quiet
same "... quietly" "$(cat code.out code.err | wc -c)" 0
code "a name that is taken" 73 "$A" crawl "$WEB/" --data d14 --name one
code "a crawl that has ended" 69 "$A" crawl --resume --data d14 --name one
code "a crawl that never was" 66 "$A" crawl --resume --data d14 --name two
code "nothing to go on with" 66 "$A" crawl --resume --data d99
code "--resume with a seed" 64 "$A" crawl --resume "$WEB/" --data d14
code "--resume with another depth" 64 "$A" crawl --resume --depth 1 --data d14
