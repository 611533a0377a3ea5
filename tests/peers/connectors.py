"""Connectors of feeds and of Jetstream against the simulator: this script makes
their calls, and each run is saved and loaded between any two answers.  What they
count is what the simulator has."""
import http.client
import os
import socket
import sys
import urllib.parse

from connector_run import Run
from peer import check, done, python_with, same, skip
from simulated import Platforms

sim = Platforms("--items", "400", "--seconds", "600", name="connectors")
FEEDS = "feeds.example"


# ---- Feeds -----------------------------------------------------------------------

def fetch(run):
    """One call, as a driver would make it."""
    url, _, _, _, *fields = run.call
    parts = urllib.parse.urlsplit(url)
    if parts.hostname != FEEDS:
        run.answer(0)
        return
    c = sim.client(FEEDS)
    try:
        c.request("GET", parts.path + ("?" + parts.query if parts.query
                                       else ""), headers=dict(
            f.split(": ", 1) for f in fields))
        r = c.getresponse()
        body = r.read()
        head = "".join(f"{k}: {v}\r\n" for k, v in r.getheaders())
        run.answer(r.status, head.encode() + b"\r\n", body)
    except (http.client.HTTPException, OSError):
        run.answer(0)
    finally:
        c.close()


def harvest(paths, state=None, **options):
    run = Run("feed_entries", {
        "seeds": [{"id": p, "token": f"https://{FEEDS}{p}"} for p in paths],
        "options": options}, state)
    while run.call is not None:
        fetch(run)
    same(f"{' '.join(paths)}: it ends", run.end(), 0)
    return run


def ids(path):
    return sim.world(FEEDS)[path]


world = sim.world(FEEDS)
for path in ("/rss.xml", "/rss1.rdf", "/atom.xml", "/podcast.xml",
             "/latin1.xml", "/empty.xml", "/private/rss.xml"):
    run = harvest([path])
    same(f"{path}: all entries", (run.count(), run.codes()),
         (len(world[path]), []))
    again = harvest([path], run.state, incremental=True)
    same(f"{path}: unchanged, and said so", (again.count(), again.calls),
         (0, [(f"https://{FEEDS}{path}", 304)]))
for path in ("/archive.xml", "/paged.xml", "/feed.json"):
    run = harvest([path])
    check(f"{path}: the current document alone", len(run.calls) == 1 and
          0 <= run.count() < len(world[path]), run.count())
    run = harvest([path], history=True)
    same(f"{path}: its history", (run.count(), run.codes()),
         (len(world[path]), []))
    sim.own("change", {"host": FEEDS, "add": {"account": path, "n": 45}})
    again = harvest([path], run.state, history=True, incremental=True)
    same(f"{path}: what is new, over several documents", again.count(), 45)
    check(f"{path}: ... and no more documents than that takes",
          len(again.calls) <= 4, again.calls)
for path, home, code in (("/moved.xml", "/atom.xml", []),
                         ("/away.xml", None, []),
                         ("/loop.xml", None, ["token_unknown_error"]),
                         ("/nowhere.xml", None, ["token_unknown_error"]),
                         ("/gone.xml", None, ["token_not_found"]),
                         ("/none.xml", None, ["token_not_found"]),
                         ("/broken.xml", None, ["feed_malformed"]),
                         ("/untyped", None, ["feed_malformed"])):
    run = harvest([path])
    same(f"{path}: what it leads to", (run.codes(), [
        s[2] for s in run.found.get("seed", [])]), (code, [
            f"https://{FEEDS}{home}"] if home else []))
run = harvest(["/podcast.xml"], media=True, web_resources=True)
same("pages and sounds", len(run.found["url"]), 2 * len(world["/podcast.xml"]))
for what, fault in (("closed", {"close": "before"}), ("a 503", {
        "status": 503}), ("HTML", {"body": "html"}), ("cut", {"cut": 2000}),
        ("no body", {"body": "empty"}), ("bad bytes", {"body": "utf8"}),
        ("no entries", {"page": "empty"})):
    sim.faults({"match": {"path": "/rss.xml"}, "fault": fault})
    run = harvest(["/rss.xml", "/atom.xml"])
    check(f"{what}: it costs one feed", run.found["done"] and
          len(world["/atom.xml"]) <= run.count() <=
          len(world["/atom.xml"]) + len(world["/rss.xml"]), run.found)
sim.faults({"match": {"path": "/archive/*"}, "fault": {"page": "loop"}},
           {"match": {"path": "/feed.json", "query": "page=2"},
            "fault": {"page": "loop"}})
run = harvest(["/feed.json"], history=True)
same("documents that lead in a circle", run.codes(), ["token_unknown_error"])
run = harvest(["/archive.xml"], history=True)
same("archives that lead in a circle", run.codes(), ["token_unknown_error"])
check("both were met", 0 not in sim.faults())

# ---- Jetstream -------------------------------------------------------------------

PACKAGE = "atproto==0.0.73"          # it brings websockets
if python_with("atproto-1", PACKAGE) is None:
    skip("connectors: Jetstream", f"{PACKAGE} cannot be had from PyPI")
    done()
sys.path.insert(0, os.environ["PYTHONPATH"])
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

POSTS = "app.bsky.feed.post"
HOSTS = {"v1": "jetstream2.us-east.bsky.network",
         "v2": "jetstream.us-east.bsky.network"}


def follow(run, frames=None, seconds=10):
    """One stream, until it ends or falls silent, or has had so many frames."""
    url, _, protocol, hello, *_ = run.call
    host = urllib.parse.urlsplit(url).hostname
    try:
        stream = connect("wss" + url[5:], sock=socket.create_connection(
            ("127.0.0.1", sim.port)), ssl=sim.tls_of_threads,
            server_hostname=host, compression=None, max_size=None, open_timeout=60,
            subprotocols=[protocol] if protocol else None)
    except InvalidStatus as e:
        run.answer(e.response.status_code, b"\r\n", e.response.body)
        return
    with stream:
        if hello:
            stream.send(hello)
        n = 0
        while frames is None or n < frames:
            try:
                run.frame(stream.recv(timeout=seconds).encode())
                n += 1
            except (TimeoutError, ConnectionClosed):
                break
    run.answer(101, b"\r\n")


def events():
    return sim.world(HOSTS["v1"])["events"]


def posts(some):
    return [e for e in some if e["collection"] == POSTS and not e["deleted"]]


def deletions(some):
    return [f"at://{e['did']}/{POSTS}/{e['rkey']}" for e in some
            if e["collection"] == POSTS and e["deleted"]]


for protocol, host in HOSTS.items():
    sim.faults()
    told = sim.world(host)
    history = told["events"][told["oldest"] - 1:]
    half = len(history) // 2
    # A stream begins 5 s before the state, or with its number; the run that
    # has set the state had that event.
    begin, want = history[half], history[half:]
    place = begin["us"] + 5000000 if protocol == "v1" else begin["seq"] - 1
    state = {f"jetstream.{host}.cursor": str(place)}
    message = {"options": {"protocol": protocol, "incremental": True}}
    run = Run("bluesky_jetstream", message, state)
    # An end after three frames, a fragment, replays, an end without a close.
    for fault in ({"ws": "close", "code": 1013, "after": 3},
                  {"ws": "split", "cut": 9000}, {"ws": "close",
                                                 "code": 1006, "after": 9}):
        sim.faults({"match": {"host": host}, "fault": fault})
        follow(run, seconds=2)
    sim.faults({"match": {"host": host}, "fault": {"ws": "replay",
                                                   "after": 9}})
    follow(run, seconds=2)
    same(f"{protocol}: posts, each once", run.count(), len(posts(want)))
    same(f"{protocol}: deletions", [d for d, in run.found.get("deleted", [])],
         deletions(want))
    same(f"{protocol}: no gap", run.codes(), [])
    last = events()[-1]
    if protocol == "v2":
        same("v2: the state is the last number",
             run.state[f"jetstream.{host}.cursor"], str(max(
                 e["seq"] for e in events()
                 if e["collection"] in (POSTS, ""))))
    sim.own("change", {"host": host, "add": {"account": "ada.example",
                                             "n": 400}})
    before = run.count()
    sim.faults()
    follow(run, seconds=3)
    same(f"{protocol}: what came while there was no stream",
         run.count() - before, len(posts(events()[last["seq"]:])))
    run.end()

# Over 500 accounts are named in a message.
dids = [a["did"] for a in sim.world(HOSTS["v1"])["accounts"]]
begin = events()[-300]
run = Run("bluesky_jetstream", {
    "seeds": [{"token": {"dids": [dids[0]] + [f"did:plc:x{i}"
                                              for i in range(600)]}}],
    "options": {"incremental": True}},
    {f"jetstream.{HOSTS['v1']}.cursor": str(begin["us"] + 5000000)})
follow(run, seconds=2)
same("accounts that are named in a message", run.count(), len(posts(
    e for e in events()[-300:] if e["did"] == dids[0])))
run.end()
# What is too old.
oldest = sim.world(HOSTS["v2"])["oldest"]
if oldest > 2:
    host = HOSTS["v2"]
    run = Run("bluesky_jetstream", {"options": {
        "protocol": "v2", "incremental": True}},
        {f"jetstream.{host}.cursor": "1"})
    follow(run, seconds=2)
    same("a number that is too old is a gap", run.codes(), ["stream_gap"])
    check("... and the stream begins anew", "cursor" not in run.call[0],
          run.call)
    run.end()
    run = Run("bluesky_jetstream", {"options": {
        "protocol": "v2", "incremental": True}},
        {f"jetstream.{host}.cursor": str(begin["us"])})
    follow(run, frames=5)
    sim.own("clock", {"advance": 90 * 3600})
    follow(run, seconds=2)
    follow(run, seconds=2)
    same("a run that was away too long has a gap, and goes on",
         run.codes(), ["stream_gap"])
    run.end()
done()
