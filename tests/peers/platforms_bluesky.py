"""The simulated Bluesky: its world, pages, budget and faults."""
import calendar

from peer import check, done, same
from simulated import Platforms

HOST = "public.api.bsky.app"
sim = Platforms("--clock", "frozen", "--start", "2026-11-20T09:00:00Z",
                "--items", "600", name="bluesky")
world = sim.world(HOST)
people = {a["handle"].split(".")[0]: a for a in world["accounts"]}
ada, cleo = people["ada"], people["cleo"]
PROFILE = "/xrpc/app.bsky.actor.getProfile"
FEED = "/xrpc/app.bsky.feed.getAuthorFeed"


def fault(what, **match):
    sim.faults({"match": {"path": "/xrpc/*", **match}, "fault": what})


def page(did=ada["did"], query="", **more):
    return sim.ask(HOST, f"{FEED}?actor={did}&limit=100{query}", **more)


def uris(answer):
    return [e["post"]["uri"] for e in answer.json()["feed"]]


def position(entry):
    return entry.get("reason", entry["post"])["indexedAt"]


def feed(did, query=""):
    """All entries and the number of pages."""
    found, cursor, pages = [], "", 0
    while True:
        a = page(did, query + cursor)
        pages += 1
        found += a.json()["feed"]
        if "cursor" not in a.json():
            return found, pages
        cursor = "&cursor=" + a.json()["cursor"]


# ---- The world -------------------------------------------------------------------

again = Platforms("--clock", "frozen", "--start", "2026-11-20T09:00:00Z",
                  "--items", "600", seed=sim.seed, name="again")
same("the same seed makes the same world", again.world(HOST), world)
found, pages = feed(ada["did"])
same("a feed, the newest first", [e["post"]["uri"] for e in found],
     ada["feed"][::-1])
same("pages have at most 100 entries, and what is gone takes a place", pages,
     6 + 1)
check("it has reposts, replies, quotes and media", all(any(
    test(e) for e in found) for test in (
        lambda e: "reason" in e, lambda e: "reply" in e,
        lambda e: "record" in e["post"].get("embed", {}),
        lambda e: "images" in e["post"].get("embed", {}),
        lambda e: "external" in e["post"].get("embed", {}),
        lambda e: "playlist" in e["post"].get("embed", {}))))
dated = [e for e in found if position(e) > "2026-11-20T08:59:59" and
         e["post"]["record"]["createdAt"] < "2026-11-19"]
check("some posts are back-dated", dated)
kinds = {f: {position(e) for e in feed(ada["did"], "&filter=posts_" + f)[0]}
         for f in ("with_replies", "no_replies", "with_media", "with_video",
                   "and_author_threads")}
check("filters leave out", kinds["with_video"] < kinds["with_media"] <
      kinds["with_replies"] and kinds["no_replies"] <=
      kinds["and_author_threads"] < kinds["with_replies"])
pinned = page(cleo["did"], "&includePins=true").json()["feed"][0]
same("a post is pinned", pinned["reason"],
     {"$type": "app.bsky.feed.defs#reasonPin"})
check("but only for those who ask", not any(
    e.get("reason", {}).get("$type", "").endswith("Pin")
    for e in page(cleo["did"]).json()["feed"]))

for actor, status, error in (
        ("ada.example", 200, None), ("ADA.example", 200, None),
        (ada["did"], 200, None), ("did:web:fay.example", 200, None),
        ("none.example", 400, "InvalidRequest"), ("ada", 400, "InvalidRequest"),
        ("dora.example", 400, "AccountTakedown"),
        ("gus.example", 400, "AccountDeactivated"),
        ("hal.example", 200, None)):
    a = sim.ask(HOST, f"{PROFILE}?actor={actor}")
    same(f"profile {actor}", (a.status, a.json().get("error")),
         (status, error))
same("a feed that is blocked", page("hal.example").json()["error"],
     "BlockedActor")
same("no posts", page("eve.example").json(), {"feed": []})
same("a cursor that is none", page(query="&cursor=x").json()["message"],
     "Malformed cursor")

# ---- Changes, budgets ------------------------------------------------------------

sim.own("change", {"host": HOST, "add": {"account": "ada.example", "n": 3}})
new = sim.world(HOST)["accounts"][0]["feed"]
same("posts are added", uris(page())[:3], new[-1:-4:-1])
sim.own("change", {"host": HOST, "delete": new[0]})
check("and deleted", new[0] not in [e["post"]["uri"]
                                    for e in feed(ada["did"])[0]])
sim.own("change", {"host": HOST, "rename": {"account": "bob.example",
                                            "to": "rob.example"}})
same("a handle changes", sim.ask(
    HOST, f"{PROFILE}?actor={people['bob']['did']}").json()["handle"],
     "rob.example")


def rate(answer):
    return tuple(answer.fields["RateLimit-" + k]
                 for k in ("Limit", "Remaining", "Reset", "Policy"))


sim.own("budget", {"limit": 2})
RESET = str(calendar.timegm((2026, 11, 20, 9, 5, 0)))
same("a budget is counted down", [rate(page())[:2] for _ in range(2)],
     [("2", "1"), ("2", "0")])
a = page()
same("beyond it: 429", (a.status, a.fields["Retry-After"], *rate(a)[2:]),
     (429, "300", RESET, "2;w=300"))
sim.own("budget", {"limit": 0})

# ---- Faults ----------------------------------------------------------------------

sim.faults()
first = page()
cursor = "&cursor=" + first.json()["cursor"]
second = uris(page(query=cursor))
fault({"page": "duplicate"})
page()
same("a page twice", uris(page(query=cursor)), uris(first))
fault({"page": "overlap"})
got = uris(page(query=cursor))
check("pages that overlap", any(
    got[:n] == uris(first)[-n:] and got[n:] == second[:len(got) - n]
    for n in (1, 2, 3)), (got, uris(first)[-3:], second))
fault({"page": "reordered"})
same("a page in another order", uris(page()), uris(first)[::-1])
fault({"page": "empty"})
a = page(query=cursor).json()
check("an empty page with a cursor", a["feed"] == [] and a["cursor"])
fault({"page": "loop"})
same("a cursor that loops", "&cursor=" + page(query=cursor).json()["cursor"],
     cursor)
fault({"status": 429, "reset": 60, "retry_after": "99"})
a = page()
check("a status with its fields", a.status == 429 and a.fields[
    "Retry-After"] == "99" and a.json()["error"], a.body)
fault({"status": 502, "body": "html"})
a = page()
check("HTML", a.status == 502 and b"<title>" in a.body)
fault({"big": 4 << 20})
check("an item of 4 MiB", len(page().body) > 4 << 20)
fault({"rename": {"account": "fay.example", "to": "may.example"}})
page()
fault({"suspend": "may.example"})
page()
sim.faults()
same("a fault may rename and suspend", sim.ask(
    HOST, f"{PROFILE}?actor=may.example").json()["error"], "AccountTakedown")
same("what nobody knows is 404", sim.ask(HOST, "/xrpc/x.y.z").status, 404)
done()
