"""feedparser, as it is, reads the simulated feeds and finds the same entries; the
feeds' redirects, conditions and faults happen."""
import json
import os
import socket
import urllib.parse

from peer import check, done, same, skip
from simulated import Platforms

try:
    import feedparser
except ImportError:
    skip("platforms_feed", "feedparser is not installed")
    done()

HOST = "feeds.example"
sim = Platforms("--items", "400", name="feeds")
os.environ["SSL_CERT_FILE"] = sim.ca
connect_to = socket.getaddrinfo


def getaddrinfo(host, port, *args, **more):
    """The platform's name leads to the simulator."""
    if host == HOST:
        host, port = "127.0.0.1", sim.port
    return connect_to(host, port, *args, **more)


socket.getaddrinfo = getaddrinfo
world = sim.world(HOST)


def url(path):
    return urllib.parse.urljoin(f"https://{HOST}/", path)


def ids(read):
    """An entry's id, else its address; the oldest first."""
    return [e.get("id") or e.link for e in read.entries][::-1]


def whole(path, rel):
    """The current document and all that it leads to."""
    read = feedparser.parse(url(path))
    found = ids(read)
    while True:
        older = [x.href for x in read.feed.links if x.rel == rel]
        if not older:
            return found
        read = feedparser.parse(urllib.parse.urljoin(read.href, older[0]))
        found = ids(read) + found


# ---- Feeds -----------------------------------------------------------------------

for path in ("/rss.xml", "/rss1.rdf", "/atom.xml", "/podcast.xml",
             "/latin1.xml", "/empty.xml", "/private/rss.xml", "/untyped"):
    read = feedparser.parse(url(path))
    if path == "/untyped":
        same("feedparser minds its media type alone", str(read.pop(
            "bozo_exception")), "document declared as us-ascii, but parsed "
             "as utf-8")
        read.bozo = False
    same(f"{path}: the same entries", ids(read), world[path])
    check(f"{path}: it is well formed", not read.bozo, read.get(
        "bozo_exception"))
    check(f"{path}: entries have titles and dates", all(
        e.title and (e.get("published_parsed") or e.get("updated_parsed"))
        for e in read.entries))
same("versions are told", [feedparser.parse(url(p)).version for p in (
    "/rss.xml", "/rss1.rdf", "/atom.xml")], ["rss20", "rss10", "atom10"])
check("a podcast has sounds", all(
    e.enclosures[0].href.endswith(".mp3")
    for e in feedparser.parse(url("/podcast.xml")).entries))
check("characters beyond ASCII in one byte", "caf\u00e9" in str(
    feedparser.parse(url("/latin1.xml")).entries))
read = feedparser.parse(url("/broken.xml"))
check("a malformed one is read up to the fault", read.bozo and
      ids(read)[-3:] == world["/broken.xml"][-3:], ids(read))
same("archives", whole("/archive.xml", "prev-archive"),
     world["/archive.xml"])
same("pages", whole("/paged.xml", "next"), world["/paged.xml"])

# feedparser 6.0 knows no JSON Feed.
found, at = [], "/feed.json"
while at:
    part = sim.ask(HOST, at).json()
    found = [e["id"] for e in part["items"]][::-1] + found
    at = part.get("next_url")
same("JSON Feed", found, world["/feed.json"])

# ---- Addresses and conditions ------------------------------------------------------

for path, status, last in (("/moved.xml", 301, "/atom.xml"),
                           ("/away.xml", 302, "/rss.xml"),
                           ("/gone.xml", 410, "/gone.xml"),
                           ("/none.xml", 404, "/none.xml")):
    read = feedparser.parse(url(path))
    same(f"{path} leads there", (read.status, read.href), (status, url(last)))
same("a redirect that is none", sim.ask(HOST, "/nowhere.xml").fields[
    "Location"], "ftp://feeds.example/")
read = feedparser.parse(url("/atom.xml"))
again = feedparser.parse(url("/atom.xml"), etag=read.etag)
same("nothing new, by ETag", (again.status, again.entries), (304, []))
again = feedparser.parse(url("/atom.xml"), modified=read.modified)
same("nothing new, by date", (again.status, again.entries), (304, []))
sim.own("change", {"host": HOST, "add": {"account": "/atom.xml", "n": 2}})
again = feedparser.parse(url("/atom.xml"), etag=read.etag,
                         modified=read.modified)
same("something new", ids(again), sim.world(HOST)["/atom.xml"])
check("robots.txt forbids some", b"Disallow: /private/" in sim.ask(
    HOST, "/robots.txt").body)

# ---- Faults ------------------------------------------------------------------------


def fault(what, **match):
    sim.faults({"match": {"host": HOST, **match}, "fault": what})


fault({"page": "reordered"})
same("in another order", ids(feedparser.parse(url("/rss.xml"))),
     world["/rss.xml"][::-1])
fault({"page": "empty"})
same("without entries", ids(feedparser.parse(url("/rss.xml"))), [])
fault({"page": "duplicate"})
same("a page twice", sim.ask(HOST, "/feed.json?page=2").json()["items"],
     sim.ask(HOST, "/feed.json").json()["items"])
fault({"page": "overlap"})
first = {e["id"] for e in sim.ask(HOST, "/feed.json").json()["items"]}
second = [e["id"] for e in
          sim.ask(HOST, "/feed.json?page=2").json()["items"]]
same("pages that overlap", [i in first for i in second[:4]],
     [True, True, True, False])
fault({"page": "loop"})
same("documents that lead in a circle", sim.ask(
    HOST, "/feed.json?page=2").json()["next_url"], "/feed.json?page=2")
fault({"status": 503, "retry_after": "7"})
a = sim.ask(HOST, "/rss.xml")
same("a status", (a.status, a.fields["Retry-After"]), (503, "7"))
fault({"body": "html"})
check("HTML", b"<title>" in sim.ask(HOST, "/rss.xml").body)
fault({"big": 4 << 20})
check("an entry of 4 MiB", len(sim.ask(HOST, "/rss.xml").body) > 4 << 20)
fault({"cut": 300})
check("a document that is cut", len(sim.raw(HOST, "/rss.xml").partition(
    b"\r\n\r\n")[2]) == 300)
sim.faults()
same("what nobody knows is 404", sim.ask(HOST, "/x").status, 404)
check("requests are logged", json.dumps(sim.log()).count("/rss.xml") > 5)
done()
