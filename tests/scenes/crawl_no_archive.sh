#!/bin/bash
#
# `argiope crawl --no-archive`: the events and counters of a crawl with an
# archive, no file of one, also after kill -9; what it cannot be combined with.
. "$(dirname "$0")/scene.bash"

web pages=15 etag=1

nothing_kept() {
	[ ! -e "$1/archive" ] && [ -z "$(find "$1" -name '*.warc*' \
		-o -name '*.cdxj*' -o -name '.argiope')" ]
}

# --- what cannot be combined -----------------------------------------------------
refused() {   # refused NAME WORD...
	local name=$1
	shift
	code "--no-archive with $name" 64 "$A" crawl "$WEB/" --data refused \
		--no-archive "$@"
	has "... names it" "$name" code.err
	has "... and --no-archive" "--no-archive" code.err
}
refused --warc-dir --warc-dir elsewhere
refused --wacz --wacz all.wacz
refused --max-bytes --max-bytes 1MiB
refused warc.compression_level --set warc.compression_level=9
refused warc.rollover_bytes --set warc.rollover_bytes=100MiB
refused warc.redact --set warc.redact=off
refused archive.bytes_max --set archive.bytes_max=1GiB
refused archive.open_files --set archive.open_files=3
refused hook.warc_finished --set hook.warc_finished=true
echo '{"limits": {"max_bytes": 1000000}}' >policy.json
refused limits.max_bytes --policy policy.json
"$A" crawl --help >help
if grep -q -e --submit help; then
	refused --submit --submit
fi
same "... before anything is written or asked" \
	"$(find . -name refused -o -name elsewhere) $(wc -l <"$WEB_LOG")" " 0"
# A file of settings is for other crawls, too.
echo 'warc.compression_level = 9' >own.conf
code "a setting in a file is no obstacle" 0 "$A" crawl "$WEB/deep/5" \
	--no-archive --data file --config own.conf --set warc.digest=sha256
check "... and keeps nothing" nothing_kept file

# --- as with an archive ----------------------------------------------------------
seeds=("$WEB/" "$WEB/same/1" "$WEB/same/2" "$WEB/same/3" "$WEB/hop" "$WEB/out"
	http://127.0.0.1:1/)
# A payload is compared with those that are durable: the delay makes them so.
words=(--json --delay 100ms --set fetch.tries_max=1)
"$A" crawl "${seeds[@]}" --data with "${words[@]}" >with.json 2>/dev/null
same "with an archive" $? 0
"$A" crawl "${seeds[@]}" --data without "${words[@]}" --no-archive \
	>without.json 2>without.err
same "without one" $? 0
has "... which is said" "; nothing is archived" without.err
check "... no file below archive/" nothing_kept without
cat >compare.py <<'END'
"""The lines of both, without times and without what names records."""
import json, sys

TIMES = "time", "duration_us", "seconds", "cpu_seconds", "rss_bytes_max"
RECORDS = "crawl", "warc_dir", "data_dir"

def lines(path):
    kept, numbers = [], []
    for line in open(path):
        e = json.loads(line)
        for name in TIMES + RECORDS:
            e.pop(name, None)
        if e["event"] == "item":
            numbers.append(e.pop("seq"))
        if "counts" in e:
            e["counts"].pop("warc_bytes")
        kept.append(json.dumps(e, sort_keys=True))
    assert sorted(numbers) == list(range(1, len(numbers) + 1)), numbers
    assert len(numbers) > 20, numbers
    # Captures may come in another order; the first and last line may not.
    return kept[:1] + sorted(kept[1:-1]) + kept[-1:]

with_one, without = map(lines, sys.argv[1:])
names = lambda path: [sorted(json.loads(line)) for line in open(path)]
assert sorted(names(sys.argv[1])) == sorted(names(sys.argv[2]))
for a, b in zip(with_one, without):
    if a != b:
        print(a, b, sep="\n")
sys.exit(with_one != without)
END
check "the same lines but for what names records" \
	python3 compare.py with.json without.json
same "... duplicates among them" \
	"$(json 'events[-1]["counts"]["duplicates"]' without.json)" 3
same "... and an exception" \
	"$(json 'events[-1]["counts"]["exceptions"]["connect"]' without.json)" 1
same "... no directory of WARC files" "$(json '[e["warc_dir"] for e in events
	if "warc_dir" in e]' without.json)" "['', '']"

# Each crawl is one of its own: nothing is asked about, nothing is a revisit.
: >"$WEB_LOG"
"$A" crawl "${seeds[@]}" --data without "${words[@]}" --no-archive >again.json
check "a second crawl counts the same" python3 compare.py without.json again.json

# --- what the data says ----------------------------------------------------------
"$A" status --data without >status
has "status says that there is no archive" "no archive" status
"$A" status --data without --json >status.json
same "... also as JSON" "$(json '[c["warc_dir"] for c in
	events[0]["crawls"]]' status.json)" "['', '']"
same "... and counts" "$(json '[c["counts"]["items"] > 20 for c in
	events[0]["crawls"]]' status.json)" "[True, True]"
"$A" explain "$WEB/page/3" --data without --crawl 0 >explained
check "explain knows its pages" grep -qi "captured" explained
for verb in check ls reindex; do
	code "archive $verb has nothing to read" 66 "$A" archive $verb \
		--data without
	has "... and says so" "without/archive is not there" code.err
done

# --- kill -9 ---------------------------------------------------------------------
web pages=60 delay=0.01
for round in 1 2 3 4; do
	: >"$WEB_LOG"
	behind "$A" crawl "$WEB/" --data "killed$round" --no-archive --json \
		>"events$round"
	asked $((round * 12))
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	# The last line may be cut by the kill.
	sed -i '$ { /}$/! d }' "events$round"
	"$A" crawl --resume --data "killed$round" --json >events
	same "round $round goes on" $? 0
	same "... to the end" "$(json 'events[-1]["counts"]["items"]' events)" 69
	same "... all else is counted as ever" "$(json '(lambda n: (n["queued"],
		n["status"]["2xx"], n["not_found"], n["warc_bytes"]))(
		events[-1]["counts"])' events)" "(0, 68, 1, 0)"
	cat "events$round" events >both
	same "... numbers have no gap and no repeat" "$(json '(lambda s:
		len(s) == len(set(s)) and set(s) <= set(range(1, 70)))(
		[e["seq"] for e in events if e["event"] == "item"])' both)" True
	same "... no page is reported twice" "$(json '(lambda u:
		len(u) == len(set(u)))([e["url"] for e in events
		if e["event"] == "item"])' both)" True
	# Eight requests may have been under way, and 1 page may be undurable
	# for each of them: those alone are asked for again.
	grep -v robots.txt "$WEB_LOG" | sort | uniq -d >twice
	same "... no page that was reported is requested again" "$(json '(lambda t:
		[e["url"] for e in events if e["event"] == "item" and
		"/" + e["url"].split("/", 3)[3] in t])(
		set(open("twice").read().split()))' "events$round")" "[]"
	check "... no file below archive/" nothing_kept "killed$round"
done
"$A" crawl "$WEB/" --data killed1 --no-archive --name second --max-pages 9 \
	--quiet
behind "$A" crawl "$WEB/" --data killed1 --no-archive --name third \
	--delay 50ms --json >events
check "one more is under way" soon grep -q '"seq":5,' events
kill -9 "$pid"
wait "$pid" 2>/dev/null
code "--resume keeps what it began with" 64 "$A" crawl --resume \
	--data killed1 --no-archive
code "... and packs nothing" 64 "$A" crawl --resume --data killed1 \
	--wacz all.wacz
has "... saying why" "--no-archive" code.err

# --- rebuilt beside a crawl that has an archive ------------------------------------
"$A" crawl "$WEB/" --data killed1 --name archived --quiet
"$A" status --data killed1 --json >before.json
code "rebuild" 0 "$A" archive reindex --rebuild --data killed1
has "... takes it over from the old index" "without an archive: 3" code.err
"$A" status --data killed1 --json >after.json
figures='[(c["name"], c["state"], c["counts"]["items"], c["counts"]["queued"])
	for c in events[0]["crawls"]]'
same "... as it was" "$(json "$figures" after.json)" \
	"$(json "$figures" before.json)"
code "... and it goes on" 0 "$A" crawl --resume --data killed1 --name third \
	--json
cp code.out events
same "... to the end" "$(json 'events[-1]["counts"]["items"]' events)" 69
code "the archive of the other is sound" 0 "$A" archive check --strict \
	--data killed1

# --- hooks -----------------------------------------------------------------------
cat >hook.sh <<'END'
#!/bin/sh
echo "$1" >>"$(dirname "$0")/ended"
END
chmod +x hook.sh
code "the hook is called when the crawl ends" 0 "$A" crawl "$WEB/deep/4" --data hooked \
	--no-archive --quiet --set "hook.crawl_ended=$PWD/hook.sh"
same "... once" "$(cat ended)" 0
