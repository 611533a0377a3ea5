#!/bin/bash
#
# Every answer that arrived is archived, also of a URL that is no capture.
. "$(dirname "$0")/scene.bash"

behind python3 "$HERE/answers.py" port requests
soon test -s port
SITE=http://127.0.0.1:$(cat port)

# Response records: path, outcome, how it was cut, status line, end of the body.
records() {
	python3 - "$1" <<'END'
import glob, gzip, sys
for name in sorted(glob.glob(sys.argv[1] + "/archive/*.warc.gz")):
    data = gzip.open(name).read()
    while data:
        head, rest = data.split(b"\r\n\r\n", 1)
        fields = dict(line.split(b": ", 1) for line in
                      head.split(b"\r\n")[1:])
        block = rest[:int(fields[b"Content-Length"])]
        data = rest[len(block) + 4:]
        if fields[b"WARC-Type"] != b"response":
            continue
        path = "/" + fields[b"WARC-Target-URI"].decode().split("/", 3)[3]
        print(path, fields.get(b"Argiope-Outcome", b"-").decode(),
              fields.get(b"WARC-Truncated", b"-").decode(),
              block.split(b"\r\n")[0].decode(), repr(block[-12:]), sep="|")
END
}

code "a crawl" 0 "$A" crawl "$SITE/" --data d --name first --delay 0 \
	--set fetch.tries_max=1 --set fetch.redirects_max=3 \
	--set fetch.backoff_ms=10ms
cp code.out summary
cat code.err >>summary
records d >got
kept() { has "$1" "$2" got; }
kept "a redirect beyond the limit" "/loop|exception redirects|-|HTTP/1.1 302 Found|b'<p>moved</p>'"
same "... and those before it" "$(grep -c '^/loop|' got)" 4
kept "a redirect out of scope" "/outside|skipped scope|-|HTTP/1.1 302 Found"
kept "... to a private address" "/private|skipped scope|-|HTTP/1.1 302 Found"
kept "... to what is no web address" "/badly|exception redirects|-|HTTP/1.1 302 Found"
kept "... to what robots.txt forbids" "/denied|skipped robots|-|HTTP/1.1 302 Found"
kept "a cut body" "/cut|exception reset|disconnect|HTTP/1.1 200 OK|b'>half a page'"
kept "a cut head" "/cuthead|exception reset|disconnect|HTTP/1.1 200 OK|"
kept "a head over the limit" "/bighead|exception protocol|length|HTTP/1.1 200 OK|"
kept "a malformed length" "/plus|exception protocol|unspecified|HTTP/1.1 200 OK|b'ength: +10\\r\\n'"
kept "a broken chunk" "/hex|exception protocol|unspecified|HTTP/1.1 200 OK|b'hello\\r\\n0\\r\\n\\r\\n'"
kept "a page" "/fine|-|-|HTTP/1.1 200 OK|"
check "no head of 1xx" bash -c '! grep -q "^/early" got'
check "nothing that is not HTTP" bash -c '! grep -q "^/garbage" got'
check "the summary does not deny what came" \
	bash -c '! grep -q "no answer" summary'
has "... and counts the exceptions" "exceptions" summary
check "the archive is sound" "$A" archive check --data d --strict
same "two captures" "$("$A" archive reindex --data d --json |
	grep -c '"final_url"\|"url"')" 2
"$A" archive cat "$SITE/cut" --data d >cat.out 2>cat.err
has "archive cat shows the half page" "half a page" cat.out cat.err
"$A" explain "$SITE/cut" --data d --crawl first >explained
has "the URL keeps its error" "reset" explained
"$A" explain "$SITE/denied" --data d --crawl first >explained
has "... or why it was skipped" "robots" explained

# --- after the loss of the data directory, they are asked again ------------------
n=$(wc -l <requests)
rm -rf d/index d/log
code "rebuild" 0 "$A" archive reindex --rebuild --data d
code "... goes on" 0 "$A" crawl --resume --data d --name first \
	--set fetch.tries_max=1 --set fetch.redirects_max=3 \
	--set fetch.backoff_ms=10ms --quiet
tail -n "+$((n + 1))" requests >again
has "... with those that failed" /cut again
check "... and no other page" bash -c '! grep -qx "/\|/fine" again'
"$A" explain "$SITE/cut" --data d --crawl first >explained
has "... which failed again" "reset" explained
check "the archive is sound still" "$A" archive check --data d --strict
