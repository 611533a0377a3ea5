"""The simulated Jetstream, read by three clients as they are: websockets (faults
and cursors), @skyware/jetstream (the first protocol) and atproto (the
second)."""
import json
import os
import socket
import subprocess
import threading
import time

from peer import HERE, check, done, node_with, python_with, same, skip, start, \
    wait_until
from simulated import Platforms

PACKAGE = "atproto==0.0.73"
if "ATPROTO_IS_HERE" not in os.environ:
    python = python_with("atproto-1", PACKAGE)
    if python is None:
        skip("platforms_jetstream", f"{PACKAGE} cannot be had from PyPI")
        done()
    os.environ["ATPROTO_IS_HERE"] = "1"
    os.execv(python, [python, __file__])

from atproto import JetstreamClient
from atproto_jetstream.exceptions import JetstreamCursorTooOldError
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

V1, V2 = "jetstream2.us-east.bsky.network", "jetstream.us-east.bsky.network"
POSTS = "app.bsky.feed.post"
EVENTS = "/xrpc/network.bsky.jetstream.subscribeEvents"
sim = Platforms("--items", "300", name="jetstream")
os.environ["SSL_CERT_FILE"] = sim.ca


def events():
    return sim.world(V1)["events"]


def is_post(e):
    return e["collection"] == POSTS


def key(e):
    """What tells one event from others, as both sides say it."""
    return e["did"], e["collection"], e["rkey"]


def of_v1(frame):
    commit = frame.get("commit", {})
    return frame["did"], commit.get("collection", ""), commit.get("rkey", "")


def of_v2(frame):
    p = frame["payload"]
    return p["did"], p.get("collection", ""), p.get("rkey", "")


def open_stream(path, host=V1, **more):
    return connect(f"wss://{host}{path}", sock=socket.create_connection(
        ("127.0.0.1", sim.port)), ssl=sim.tls_of_threads,
        server_hostname=host, max_size=None, compression=None,
        open_timeout=60, **more)


def read(stream, n, seconds=20):
    """So many frames; fewer where it ends or falls silent."""
    found, until = [], time.monotonic() + seconds
    while len(found) < n:
        try:
            found.append(json.loads(stream.recv(
                timeout=max(until - time.monotonic(), 0.01))))
        except (TimeoutError, ConnectionClosed):
            break
    return found


def refused(path, host=V1, **more):
    try:
        open_stream(path, host, **more).close()
    except InvalidStatus as e:
        return e.response
    return None


def add(n, account="ada.example"):
    sim.own("change", {"host": V1, "add": {"account": account, "n": n}})


# ---- The first protocol ----------------------------------------------------------

history = events()
floor = sim.world(V1)["oldest"] - 1
check("the oldest events are out of reach", 10 < floor < 100, floor)
with open_stream("/subscribe?cursor=1") as s:
    got = read(s, len([e for e in history[floor:] if e["kind"] != "sync"]))
want = [e for e in history[floor:] if e["kind"] != "sync"]
same("an old cursor is moved silently", list(map(of_v1, got)),
     list(map(key, want)))
same("kinds and dates", [(f["kind"], f["time_us"]) for f in got],
     [(e["kind"], e["us"]) for e in want])
check("commits have records and revisions", all(
    f["commit"]["rev"] and (f["commit"]["operation"] == "delete" or
                            f["commit"]["record"]["$type"] ==
                            f["commit"]["collection"])
    for f in got if f["kind"] == "commit"))
check("all of them", {f["commit"]["operation"] for f in got
                      if f["kind"] == "commit"} ==
      {"create", "update", "delete"} and
      {f["kind"] for f in got} == {"commit", "identity", "account"})
at = want[-30]["us"]
with open_stream(f"/subscribe?cursor={at}&wantedCollections={POSTS}") as s:
    some = [e for e in want[-30:] if e["kind"] != "commit" or is_post(e)]
    same("from a cursor on, of one collection", list(map(of_v1, read(
        s, len(some)))), list(map(key, some)))
    add(9)
    new = [key(e) for e in events()[-9:] if is_post(e)]
    same("then what is new", list(map(of_v1, read(s, len(new)))), new)
with open_stream(f"/subscribe?cursor={at}&wantedCollections=app.bsky.feed.*"
                 f"&wantedDids={want[-1]['did']}") as s:
    some = [e for e in events() if e["us"] >= at and e["kind"] != "sync" and
            e["did"] == want[-1]["did"]]
    same("of one account", list(map(of_v1, read(s, len(some)))),
         list(map(key, some)))
with open_stream(f"/subscribe?cursor={at}&requireHello=true") as s:
    same("nothing comes before the options", read(s, 1, 1), [])
    s.send(json.dumps({"type": "options_update", "payload": {
        "wantedCollections": [POSTS], "wantedDids": [want[-1]["did"]]}}))
    some = [e for e in some if e["kind"] != "commit" or is_post(e)]
    same("... and then what they say", list(map(of_v1, read(s, len(some)))),
         list(map(key, some)))
with open_stream("/subscribe?cursor=99999999999999999") as s:
    add(1)
    same("a cursor of the future is now", list(map(of_v1, read(s, 1))),
         [key(events()[-1])])
same("too many collections", refused("/subscribe?" + "&".join(
    f"wantedCollections=a.b{i}" for i in range(101))).status_code, 400)
same("no WebSocket", sim.ask(V1, "/subscribe").status, 400)

# ---- The second protocol ---------------------------------------------------------

PROTOCOL = {"host": V2, "subprotocols": ["xrpc.v1.json"]}
history = events()
with open_stream(f"{EVENTS}?cursor={floor + 1}", **PROTOCOL) as s:
    same("the subprotocol", s.subprotocol, "xrpc.v1.json")
    got = read(s, len(history) - floor)
same("all events by their numbers", [
    (f["payload"]["seq"], *of_v2(f)) for f in got],
    [(e["seq"], *key(e)) for e in history[floor:]])
check("types are told", {f["payload"]["$type"].split("#")[1] for f in got} ==
      {"commit", "identity", "account", "sync"})
r = refused(f"{EVENTS}?cursor={floor}", **PROTOCOL)
same("a number that is too old", (r.status_code, json.loads(r.body)["error"]),
     (400, "CursorTooOld"))
with open_stream(f"{EVENTS}?cursor=1000000000000000", **PROTOCOL) as s:
    got = read(s, 2)
same("a date that is too old", [got[0]["payload"]["name"],
     got[1]["payload"]["seq"]], ["OutdatedCursor", floor + 1])
with open_stream(f"{EVENTS}?cursor=999999", **PROTOCOL) as s:
    add(1)
    same("a number of the future is now", list(map(of_v2, read(s, 1))),
         [key(events()[-1])])
with open_stream(f"{EVENTS}?cursor={floor + 1}&kinds=commit&collections="
                 f"{POSTS}", **PROTOCOL) as s:
    some = [e for e in history[floor:] if is_post(e)]
    same("of one kind and collection", list(map(of_v2, read(s, len(some)))),
         list(map(key, some)))
for query in ("kinds=x", f"kinds=identity&collections={POSTS}"):
    same(f"filters that make no sense: {query}", refused(
        f"{EVENTS}?{query}", **PROTOCOL).status_code, 400)
with open_stream(EVENTS, **PROTOCOL) as s:
    s.send("{}")
    read(s, 1, 5)
    same("a client that sends", s.protocol.close_code, 1008)

# ---- Changes ---------------------------------------------------------------------

with open_stream("/subscribe") as s:
    last = sim.world(V1)["accounts"][0]["feed"][-1]
    for what in ({"delete": last}, {"rename": {
            "account": "bob.example", "to": "rob.example"}},
            {"suspend": "cleo.example"}, {"leave": "eve.example"}):
        sim.own("change", {"host": V1, **what})
    got = read(s, 4)
same("a deletion, a new handle, two accounts that go", [
    (f["kind"], f.get("commit", {}).get("operation"),
     f.get("identity", {}).get("handle"), f.get("account", {}).get("status"))
    for f in got], [("commit", "delete", None, None),
                    ("identity", None, "rob.example", None),
                    ("account", None, None, "takendown"),
                    ("account", None, None, "deleted")])

# ---- Faults ----------------------------------------------------------------------


def fault(what):
    sim.faults({"match": {"path": "/subscribe"}, "fault": what},
               {"match": {"path": EVENTS}, "fault": what})


def one(path=f"/subscribe?cursor={at}", **more):
    return open_stream(path, **more)


for code in (1008, 1013, 1006):
    fault({"ws": "close", "code": code, "after": 3})
    with one() as s:
        same(f"closed with {code} after three frames",
             (len(read(s, 9)), s.protocol.close_code), (3, code))
fault({"ws": "split"})
with one() as s:
    same("frames in fragments", list(map(of_v1, read(s, 5))),
         list(map(key, want[-30:-25])))
fault({"ws": "replay", "after": 2})
with one() as s:
    same("frames that come twice", list(map(of_v1, read(s, 5))),
         [key(want[i]) for i in (-30, -30, -29, -29, -28)])
fault({"ws": "unanswered"})
with one("/subscribe", ping_interval=None) as s:
    check("a ping that is not answered", not s.ping().wait(1))
sim.faults()
with one("/subscribe", ping_interval=None) as s:
    check("a ping that is", s.ping().wait(5))
fault({"ws": "CursorTooOld"})
same("a cursor that is refused", json.loads(refused(
    EVENTS, **PROTOCOL).body)["error"], "CursorTooOld")
fault({"stream": "silence"})
with one() as s:
    same("a silent stream", read(s, 1, 1), [])
fault({"cut": 700})
with one() as s:
    read(s, 99)
    same("a stream that is cut", s.protocol.close_code, 1006)
fault({"status": 503})
same("a status", refused("/subscribe").status_code, 503)
sim.faults()
before = len(events())
with open_stream("/subscribe") as s:
    t = time.monotonic()
    add(20000)
    got = read(s, 20000, 60)
    seconds = time.monotonic() - t
same("20,000 frames, each once", list(map(of_v1, got)),
     list(map(key, events()[before:])))
check("they are sent in seconds", seconds < 30, seconds)

# ---- atproto ---------------------------------------------------------------------

connect_to = socket.getaddrinfo


def getaddrinfo(host, port, *args, **more):
    """The platform's names lead to the simulator."""
    if str(host).endswith("bsky.network"):
        host, port = "127.0.0.1", sim.port
    return connect_to(host, port, *args, **more)


socket.getaddrinfo = getaddrinfo
floor = sim.world(V1)["oldest"] - 1
# It takes no bytes in JSON, as a sync event has them.
KINDS = ["commit", "identity", "account"]
recent = [e for e in events()[:1000] if e["seq"] > floor and
          e["kind"] in KINDS]
client = JetstreamClient({"cursor": recent[0]["seq"], "kinds": KINDS},
                         compress=False)
found = []


def on_message(message):
    found.append(message)
    if len(found) == len(recent):
        client.stop()


timer = threading.Timer(60, client.stop)
timer.daemon = True
timer.start()
client.start(on_message)
same("atproto finds the same events", [(m.seq, m.did, getattr(
    m, "collection", ""), getattr(m, "rkey", "")) for m in found],
    [(e["seq"], *key(e)) for e in recent])
try:
    JetstreamClient({"cursor": max(floor, 1)}, compress=False).start(print)
    check("atproto says that a cursor is too old", floor == 0)
except JetstreamCursorTooOldError:
    check("atproto says that a cursor is too old", True)

# ---- @skyware/jetstream ----------------------------------------------------------

SKYWARE = ("@skyware/jetstream@0.2.5", "ws@8.23.0")
place = node_with("jetstream-1", *SKYWARE)
if place is None:
    skip("platforms_jetstream: @skyware/jetstream", "npm, or the package, "
         "cannot be had")
else:
    at = history[-40]["us"]
    child = start(["node", HERE + "/platforms_jetstream.mjs", place,
                   f"wss://{V1}:{sim.port}/subscribe", str(at), POSTS],
                  stdout=subprocess.PIPE, text=True,
                  env=dict(os.environ, NODE_EXTRA_CA_CERTS=sim.ca))
    want = [key(e) for e in events()[:len(history)] if e["us"] >= at and (
        is_post(e) or e["kind"] in ("account", "identity"))]
    got = []
    for line in child.stdout:
        got.append(tuple(json.loads(line)))
        if len(got) == len(want):
            break
    same("@skyware/jetstream finds the same events", got, want)

unknown = {x["path"] for x in sim.log() if not x["known"]}
same("they asked nothing that the simulator does not know", unknown, set())
check("streams are in the log", wait_until(lambda: any(
    x["status"] == 101 for x in sim.log())))
done()
