#!/bin/bash
#
# `argiope archive export`: places, mistakes, what an interruption leaves.
. "$(dirname "$0")/scene.bash"

python3 - <<'END'
import json

def response(uri, body):
    http = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" +
            body)
    return (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {uri}\r\n"
            "WARC-Date: 2016-06-01T10:00:00Z\r\n"
            "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>"
            "\r\nContent-Type: application/http;msgtype=response\r\n"
            f"Content-Length: {len(http)}\r\n\r\n").encode() + http + \
        b"\r\n\r\n"

def tweet(n):
    return {"id_str": str(n), "text": f"tweet {n}", "favorite_count": 0,
            "created_at": f"Wed Jun {n % 28 + 1:02} 12:00:00 +0000 2016",
            "entities": {"hashtags": [], "urls": []},
            "user": {"id_str": str(n % 2), "screen_name": "u"}}

SEARCH = "https://api.twitter.com/1.1/search/tweets.json?q=x"
FILTER = "https://stream.twitter.com/1.1/statuses/filter.json"
with open("a.warc", "wb") as f:
    f.write(response(SEARCH, json.dumps(
        {"statuses": [tweet(n) for n in range(1, 5)]}).encode()))
with open("bad.warc", "wb") as f:
    f.write(response(SEARCH, b"<html>"))
with open("big.warc", "wb") as f:
    lines = b"".join(json.dumps(tweet(n)).encode() + b"\r\n"
                     for n in range(20000))
    for _ in range(30):
        f.write(response(FILTER, lines))
END

code "export to standard output" 0 "$A" archive export csv a.warc
same "... a head and four rows" "$(wc -l <code.out)" 5
has "... in the first file" "tweet 1" code.out
code "... of a directory" 0 "$A" archive export dehydrate --uid 1 --dedupe \
	--since 2016-06-03 -o - a.warc
same "... chosen" "$(cat code.out)" 3
"$A" archive export dehydrate big.warc 2>err | head -n 1 >first
same "... into head" "$(cat first) $(cat err)" "0 "

code "export into a directory" 0 "$A" archive export csv a.warc \
	--into out/tweets --segment 3
has "... tells what was written" "4 tweets in 2 files" code.out
same "... names" "$(ls -A out out/tweets | tr '\n' ' ')" \
	"out: tweets  out/tweets: tweets_001.csv tweets_002.csv "
code "... again, as JSON" 0 "$A" archive export json a.warc \
	--into out/tweets/ --json
same "... counts" "$(json '[(e["written"], e["type"]) for e in events]' \
	code.out)" "[(4, 'twitter_search')]"
same "... the older files are gone" "$(ls -A out/tweets)" tweets_001.json
code "--columns and --readme" 0 "$A" archive export tsv a.warc --readme \
	--into "out/two words" --columns text,id --uid 1
same "... two columns" "$(cat "out/two words/two words_001.tsv")" "$(
	printf 'text\tid\r\ntweet 1\t1\r\ntweet 3\t3\r')"
has "... and what was done" "archive export --uid 1 --into 'out/two words' \
--columns text,id --readme tsv a.warc" "out/two words/README.txt"
code "a column that is not there" 65 "$A" archive export csv a.warc \
	--columns id,likes
has "... is named" "there is no likes" code.err
code "--columns without a table" 64 "$A" archive export dehydrate a.warc \
	--columns id
umask 022
same "... others may read them" "$(stat -c %a out/tweets \
	out/tweets/tweets_001.json | tr '\n' ' ')" "755 644 "
echo mine >out/tweets/thesis.doc
code "a directory with other files" 73 "$A" archive export csv a.warc \
	--into out/tweets
same "... stays as it was" "$(ls -A out/tweets | tr '\n' ' ')" \
	"thesis.doc tweets_001.json "

code "a file that is not there" 66 "$A" archive export csv a.warc none.warc
same "... costs itself" "$(wc -l <code.out)" 5
code "no file at all" 66 "$A" archive export csv none.warc
code "damage" 70 "$A" archive export csv bad.warc a.warc
same "... costs itself" "$(wc -l <code.out)" 5
has "... and is told with its place" "bad.warc at 0" code.err
code "an unknown format" 64 "$A" archive export pdf a.warc
has "... names the formats" "csv, tsv" code.err
code "an unknown type" 64 "$A" archive export csv a.warc --type twitter
has "... names the types" "twitter_filter" code.err
code "a date that is none" 64 "$A" archive export csv a.warc --since monday
code "--into and --output" 64 "$A" archive export csv a.warc --into x -o -
code "--output FILE" 64 "$A" archive export csv a.warc -o x.csv
code "--segment without --into" 64 "$A" archive export csv a.warc --segment 2

code "items" 0 "$A" archive items a.warc --since 2016-06-03
same "... whole" "$(json '[e["text"] for e in events]' code.out)" \
	"['tweet 2', 'tweet 3', 'tweet 4']"
code "... and where they stand" 0 "$A" archive items --where --uid 0 a.warc
same "... in an object each" "$(json '[(e["type"], e["id"], e["date"], e["owner"],
	e["file"], e["offset"], e["item"]["text"]) for e in events][0]' code.out)" \
	"('twitter_search', '2', '2016-06-03T12:00:00+00:00', '0', 'a.warc', 0, 'tweet 2')"
code "... once" 0 "$A" archive items --dedupe a.warc big.warc
same "... each" "$(sort code.out | uniq -d | wc -l) $(wc -l <code.out)" "0 20000"
code "... of nothing" 66 "$A" archive items none.warc

mkdir old
echo old >old/old_001.csv
behind "$A" archive export csv big.warc --into old
soon test -e .old.export/new
kill -KILL "$pid"
wait "$pid" 2>/dev/null
same "kill -9: the old export stays" "$(cat old/*)" old
code "... and the next one" 0 "$A" archive export csv a.warc --into old
has "... replaces it" "tweet 1" old/old_001.csv
same "... and clears up" "$(find . -name '*.export')" ""
