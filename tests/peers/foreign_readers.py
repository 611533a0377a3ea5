"""Other people's WARC readers accept what we write, and count as we do."""
import base64
import hashlib
import zlib

from peer import *

need("foreign_readers", "nginx", "zcat", files=[POSTGRESQL])
web = Nginx("nginx", POSTGRESQL)
# Redirects, duplicates, an empty body, compressed and chunked ones as well.
os.makedirs("site")
with open("site/index.html", "w") as f:
    f.write("<title>more</title>" + "".join(
        f"<a href={x}>x</a>" for x in
        ("one.html", "two.html", "empty.html", "moved", "a%20b.html?q=%C3%A9",
         "a%20b.html?B=2&a=1", "gzip/index.html", "none.html")))
for name in ("one.html", "two.html", "a b.html"):
    with open("site/" + name, "w") as f:
        f.write("<p>the same words in three pages</p>" * 20)
open("site/empty.html", "w").close()
os.symlink(POSTGRESQL, "site/pg")
more = Nginx("nginx2", PLACE + "/site", more="""
    location = /moved { return 302 /one.html; }
    location /gzip/ { alias %s/site/; gzip on; gzip_min_length 1; }
""" % PLACE)
c = crawl([web.url, more.url], "data", seconds=30)
same("the crawl is complete", (c.code, c.last().get("event")),
     (0, "completed"))
files = c.warcs()
check("there are WARC files", files)
ls = rows(c.data, everything=True)
answers = [r for r in ls if r["type"] in ("response", "revisit")]

# ---- gzip, and digests by hand ---------------------------------------------------

for path in files:
    code, _, err = run("gzip", "-t", path)
    check("gzip -t", code == 0, err)


def records(path):
    """(head as a dict, block) of every record, by zcat and by the book."""
    data = subprocess.run(["zcat", path], capture_output=True,
                          check=True).stdout
    at = 0
    while at < len(data):
        end = data.index(b"\r\n\r\n", at)
        lines = data[at:end].decode().split("\r\n")
        if lines[0] != "WARC/1.1":
            raise ValueError(f"{lines[0]!r} at {at}")
        head = dict(line.split(": ", 1) for line in lines[1:])
        n = int(head["Content-Length"])
        block = data[end + 4:end + 4 + n]
        at = end + 4 + n
        if data[at:at + 4] != b"\r\n\r\n":
            raise ValueError(f"no end of record at {at}")
        at += 4
        yield head, block


def sha1(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def members(path):
    """Offsets at which gzip members begin."""
    data = open(path, "rb").read()
    at, found = 0, []
    while at < len(data):
        found.append(at)
        z = zlib.decompressobj(31)
        z.decompress(data[at:])
        at = len(data) - len(z.unused_data)
    return found


wrong, seen, types, payloads = [], 0, {}, {}
for path in files:
    for head, block in records(path):
        seen += 1
        kind = head["WARC-Type"]
        types[kind] = types.get(kind, 0) + 1
        if head["WARC-Block-Digest"] != sha1(block):
            wrong.append(f"block {head['WARC-Record-ID']}")
        payload = block[block.find(b"\r\n\r\n") + 4:]
        if kind == "response":
            payloads[head["WARC-Target-URI"]] = payload
            if head.get("WARC-Payload-Digest") != sha1(payload):
                wrong.append(f"payload {head['WARC-Target-URI']}")
        elif kind == "revisit":
            at = head["WARC-Refers-To-Target-URI"]
            if head["WARC-Payload-Digest"] != sha1(payloads[at]):
                wrong.append(f"revisit {head['WARC-Target-URI']}")
        elif "WARC-Payload-Digest" in head and kind == "request":
            wrong.append(f"a request's payload {head['WARC-Target-URI']}")
check("digests, computed again by hashlib", not wrong and seen, wrong)
same("as many records as archive ls tells", seen, len(ls))
small = min(files, key=os.path.getsize)
found = [r["offset"] for r in ls if os.path.basename(small) in r["file"]]
if os.path.getsize(small) < 30e6:
    same("one gzip member for each record", members(small)[:2000],
         found[:2000])
check("there are revisits among them", types.get("revisit"), types)
body = payloads.get(web.url + "index.html", payloads.get(web.url))
same("a page is there byte for byte", body,
     open(POSTGRESQL + "/index.html", "rb").read())
archive_is_sound("archive check", c.data)
note(f"{seen} records: {types}")

# ---- warcio of the Python world ----------------------------------------------------

python = python_with("warcio", "warcio==1.7.5", "cdxj-indexer==1.5.0",
                     "setuptools<80")
if python is None:
    skip("warcio", "it cannot be installed from the package index")
    done()
code, out, err = run(python, "-m", "warcio.cli", "check", "-v", *files)
check("warcio check", code == 0, (out + err)[-500:])
check("warcio check finds digests to check", "digest pass" in out, out[-300:])
code, out, err = run(python, "-m", "warcio.cli", "index", "-f",
                     "offset,warc-type,warc-target-uri,http:status", *files)
theirs = [json.loads(line) for line in out.splitlines()]
check("warcio index", code == 0, err)


def told(rows, offset, kind, uri, status):
    return sorted((int(r[offset]), r[kind], r.get(uri, r.get("url")) or "",
                   int(r.get(status) or 0)) for r in rows)


a = told(theirs, "offset", "warc-type", "warc-target-uri", "http:status")
b = told(ls, "offset", "type", "uri", "status")
same("warcio index counts as archive ls", len(a), len(b))
differ = [(x, y) for x, y in zip(a, b) if x != y]
check("warcio index tells what archive ls tells", not differ, differ)

# ---- CDXJ ------------------------------------------------------------------------------

code, ours_text, err = ours("archive", "index", "--data", c.data)
check("archive index", code == 0, err)
code, out, err = run(python, "-c", "import sys; from cdxj_indexer.main import "
                     "main; main(sys.argv[1:])", "-s", *files)
check("cdxj-indexer", code == 0, err)


def lines_of(text):
    """{(offset, file): (key, time, JSON without what may be left away)}"""
    found = {}
    for line in text.splitlines():
        key, time_, rest = line.split(" ", 2)
        v = json.loads(rest)
        v = {k: str(x) for k, x in v.items()}
        v["filename"] = os.path.basename(v["filename"])
        found[v["filename"], int(v["offset"])] = (key, time_, v)
    return found


mine, their = lines_of(ours_text), lines_of(out)
same("as many lines as cdxj-indexer", len(mine), len(their))
check("the lines are sorted",
      ours_text.encode().splitlines() == sorted(
          ours_text.encode().splitlines()))
differ = {}
for place in sorted(set(mine) & set(their)):
    (k1, t1, v1), (k2, t2, v2) = mine[place], their[place]
    for name, x, y in [("key", k1, k2), ("time", t1, t2)] + [
            (f, v1.get(f), v2.get(f)) for f in sorted(set(v1) | set(v2))]:
        if x != y:
            differ.setdefault(name, []).append((x, y))
for name, pairs in differ.items():
    note(f"CDXJ {name}: {len(pairs)} differ, such as {pairs[0]}")
# The digest's prefix is the one field that CDXJ writers do not agree on.
check("the lines say the same", not differ, differ.keys())

# ---- FastWARC --------------------------------------------------------------------------

# A revisit states the digest of a payload that it does not hold.
python_fast = python_with("fastwarc", "fastwarc==2.0.1", "click")
if python_fast is None:
    skip("FastWARC", "it cannot be installed from the package index")
else:
    verdicts = []
    for path in files:
        code, out, err = run(python_fast, "-c", "from fastwarc.cli import main; "
                             "main()", "check", "-q", "-p", "-o", "fast.out",
                             path)
        verdicts += open("fast.out").read().splitlines()
    failed = [v for v in verdicts if not v.endswith(
        (": OK, PAYLOAD_OK", ": OK, PAYLOAD_NO_DIGEST"))]
    same("FastWARC sees every record", len(verdicts), len(ls))
    check("... and finds all digests right, but for revisits' payloads",
          len(failed) == types["revisit"] and
          all(v.endswith(": OK, PAYLOAD_FAIL") for v in failed), failed)

# ---- warcio of npm -----------------------------------------------------------------------

node = node_with("warcio", "warcio@2.4.11")
if node is None:
    skip("npm warcio", "it cannot be installed from the npm registry")
    done()
index = glob.glob(node + "/node_modules/warcio/dist/cli.js")[0]
code, out, err = run("node", index, "index", *files)
theirs = [json.loads(line) for line in out.splitlines()]
check("npm warcio index", code == 0 and len(theirs) == len(ls),
      f"{code}: {len(theirs)} of {len(ls)}: {err}")
code, out, err = run("node", index, "cdx-index", *files)
check("npm warcio cdx-index", code == 0, err)
same("... as many lines as ours", len(out.splitlines()), len(mine))
done()
