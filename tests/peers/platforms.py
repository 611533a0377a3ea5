"""The simulator itself: its world, clock, budgets and each fault of its plan.

Tests of harvests rest on it, so each fault must be seen to happen.
"""
import json
import time

from peer import check, done, same
from simulated import Platforms

HOST = "mastodon.example"
sim = Platforms("--clock", "frozen", "--start", "2026-11-20T09:00:00Z",
                "--items", "300")
world = sim.world(HOST)
ada = next(a for a in world["accounts"] if a["name"] == "ada")
LIST = f"/api/v1/accounts/{ada['id']}/statuses"


def fault(what, **match):
    sim.faults({"match": {"path": "/api/*", **match}, "fault": what})


def page(query="limit=10&min_id=1", **more):
    return sim.ask(HOST, f"{LIST}?{query}", **more)


def ids(answer):
    return [p["id"] for p in answer.json()]


# ---- The world -------------------------------------------------------------------

again = Platforms("--clock", "frozen", "--start", "2026-11-20T09:00:00Z",
                  "--items", "300", seed=sim.seed, name="again")
same("the same seed makes the same world", again.world(HOST), world)
other = Platforms("--clock", "frozen", "--start", "2026-11-20T09:00:00Z",
                  "--items", "300", seed=sim.seed + 1, name="other")
check("another seed makes another one", other.world(HOST) != world)
check("ids have gaps, and posts are missing",
      240 < len(ada["posts"]) < 300, len(ada["posts"]))
check("ids are beyond what a double can tell apart",
      all(int(i) > 1 << 53 for i in ada["posts"]))

whole, boosts, in_order, min_id = [], set(), True, "1"
while True:
    a = page(f"limit=40&min_id={min_id}")
    if not a.json():
        break
    got = ids(a)
    in_order &= got == sorted(got, reverse=True, key=int)
    boosts |= {p["id"] for p in a.json() if p["reblog"]}
    whole += reversed(got)
    link = [x for x in a.fields["Link"].split(", ") if 'rel="prev"' in x][0]
    min_id = link.split("min_id=")[1].split(">")[0]
check("a page has its newest post first", in_order)
same("pages forward are the list", whole, ada["posts"])
check("an empty page has no link", a.fields["Link"] is None)

down, max_id = [], None
while True:
    got = ids(page("limit=40" + (f"&max_id={max_id}" if max_id else "")))
    if not got:
        break
    down += got
    max_id = got[-1]
same("pages backward are the list", list(reversed(down)), ada["posts"])
same("a page has at most 40 posts", len(ids(page("limit=400&min_id=1"))), 40)
left = ids(page("limit=40&min_id=1&exclude_reblogs=true"))
check("boosts can be left out", boosts and not boosts & set(left))


def tag(query):
    found, min_id = [], "1"
    while True:
        got = ids(sim.ask(HOST, f"/api/v1/timelines/tag/{query}&limit=40"
                          f"&min_id={min_id}"))
        if not got:
            return set(found)
        found += got
        min_id = got[0]


tags = {name: set(found) for name, found in world["tags"].items()}
cats, owls, kittens = tags["cats"], tags["owls"], tags["k\u00e4tzchen"]
same("a hashtag", tag("CATS?x"), cats)
same("a hashtag beyond ASCII", tag("k%C3%A4tzchen?x"), kittens)
same("any of two", tag("cats?any%5B%5D=owls"), cats | owls)
same("all of two", tag("cats?all[]=owls"), cats & owls)
same("one without another", tag("cats?none[]=owls"), cats - owls)
remote = {i for a in world["accounts"] if a["remote"] for i in a["posts"]}
same("posts of its own", tag("cats?local=true"), cats - remote)
check("there are others", cats & remote)

# ---- Who may ask ---------------------------------------------------------------------

user, app = (sim.world("private.example")["tokens"][k]
             for k in ("user", "app"))
TAG = "/api/v1/timelines/tag/cats"
for host, token, status in (
        ("private.example", None, 401), ("private.example", app, 422),
        ("private.example", user, 200), ("private.example", "x", 401),
        ("members.example", None, 401), ("members.example", app, 200),
        (HOST, "x", 401), (HOST, app, 200)):
    same(f"{host}, token {str(token)[:4]}",
         sim.ask(host, TAG, token).status, status)
same("a closed timeline is empty", sim.ask("closed.example", TAG).json(), [])
check("a half closed one is not", sim.ask("half.example", TAG).json())
same("an old instance has no such page",
     sim.ask("old.example", "/api/v2/instance").status, 404)
for name, status in (("ada", 200), ("@ADA", 200), ("ada@" + HOST, 200),
                     ("fay@elsewhere.example", 200), ("fay", 404),
                     ("ada@elsewhere.example", 404), ("nobody", 404)):
    same(f"account {name}", sim.ask(
        HOST, "/api/v1/accounts/lookup?acct=" + name).status, status)
dora = sim.ask(HOST, "/api/v1/accounts/lookup?acct=dora").json()
check("a suspended account", dora["suspended"] is True)
same("... has no posts", sim.ask(
    HOST, f"/api/v1/accounts/{dora['id']}/statuses").json(), [])

# ---- Timelines and streams -----------------------------------------------------------------


def public(query):
    found, min_id = [], "1"
    while True:
        got = ids(sim.ask(HOST, f"/api/v1/timelines/public?{query}&limit=40"
                          f"&min_id={min_id}"))
        if not got:
            return found[::-1]
        found = got + found
        min_id = got[0]


same("the public timeline", public("x"), world["public"])
same("of others", public("remote=true"),
     [i for i in world["public"] if i in remote])
STREAM = "/api/v1/streaming/"
for path, token, status in (
        ("public", None, 401), ("public", app, 401), ("public", "x", 401),
        ("hashtag", user, 400), ("user", user, 404)):
    same(f"stream {path}, token {str(token)[:4]}",
         sim.ask(HOST, STREAM + path, token).status, status)


def add(account, n=1):
    sim.own("change", {"host": HOST, "add": {"account": account, "n": n}})


streams = {path: sim.stream(HOST, STREAM + path, user) for path in (
    "public", "public/local", "public/remote", "hashtag?tag=cats",
    "hashtag/local?tag=cats")}
last = world["public"][-1]
add("ada", 60)
add("fay@elsewhere.example", 60)
now = sim.world(HOST)
own = {i for a in now["accounts"] if not a["remote"] for i in a["posts"]}
new = now["public"][len(world["public"]):]
new_cats = now["tags"]["cats"][len(cats):]
wanted = {"public": new, "public/local": [i for i in new if i in own],
          "public/remote": [i for i in new if i not in own],
          "hashtag?tag=cats": new_cats,
          "hashtag/local?tag=cats": [i for i in new_cats if i in own]}
for path, stream in streams.items():
    got = stream.events(len(wanted[path]))
    same(f"new posts by the stream {path}",
         [(name, json.loads(data)["id"]) for name, data in got],
         [("update", i) for i in wanted[path]])
    check("there are some", got)
sim.own("change", {"host": HOST, "edit": new[0]})
sim.own("change", {"host": HOST, "delete": last})
got = streams["public"].events(2)
same("an edit and a delete", [name for name, _ in got],
     ["status.update", "delete"])
check("... say of what", json.loads(got[0][1])["id"] == new[0] and
      json.loads(got[0][1])["edited_at"] and got[1][1] == last, got)
for stream in streams.values():
    stream.close()

# ---- Changes ----------------------------------------------------------------------------

before = sim.world(HOST)["accounts"][0]["posts"]
sim.own("change", {"host": HOST, "add": {"account": "ada", "n": 3}})
same("posts are added", ids(page(f"min_id={before[-1]}&limit=40"))[::-1],
     sim.world(HOST)["accounts"][0]["posts"][len(before):])
sim.own("change", {"host": HOST, "delete": before[-1]})
check("and deleted", before[-1] not in ids(page("limit=40")))
sim.own("change", {"host": HOST, "rename": {"account": "bob", "to": "rob"}})
same("a name changes", sim.ask(
    HOST, "/api/v1/accounts/14").json()["acct"], "rob")
sim.own("change", {"host": HOST, "suspend": "eve"})
check("an account is suspended", sim.ask(
    HOST, "/api/v1/accounts/lookup?acct=eve").json()["suspended"])

# ---- Clock and budgets ----------------------------------------------------------------------


def rate(answer):
    return tuple(answer.fields["X-RateLimit-" + k]
                 for k in ("Limit", "Remaining", "Reset"))


sim.own("budget", {"limit": 3})
same("a budget is counted down", [rate(page()) for _ in range(3)],
     [("3", str(n), "2026-11-20T09:05:00.000000Z") for n in (2, 1, 0)])
same("beyond it: 429", page().status, 429)
same("others have their own", page(token=app).status, 200)
sim.own("clock", {"advance": 299})
same("the clock stands in between", page().status, 429)
sim.own("clock", {"advance": 1})
same("a budget is new in its next period",
     rate(page()), ("3", "2", "2026-11-20T09:10:00.000000Z"))
sim.own("budget", {"limit": 0})

# ---- Faults -----------------------------------------------------------------------------------

fault({"status": 503}, nth=2)
same("the second request", [page().status for _ in range(3)], [200, 503, 200])
fault({"status": 503}, **{"from": 2, "to": 3})
same("from the second to the third", [page().status for _ in range(4)],
     [200, 503, 503, 200])
fault({"status": 503}, query="limit=11")
same("by its query", [page(f"limit={n}").status for n in (10, 11)],
     [200, 503])
fault({"status": 503}, host="old.example")
same("by its host", page().status, 200)
fault({"status": 503}, method="POST")
same("by its method", page().status, 200)
sim.faults({"match": {"path": LIST}, "fault": {"status": 500}},
           {"match": {}, "fault": {"status": 501}})
same("the first row wins", page().status, 500)
same("a plan says what it has met", sim.faults(), [1, 1])
fault({"status": 503}, path="/api/v1/accounts/*/statuses")
same("by a path with a star in it", [page().status, sim.ask(
    HOST, f"/api/v1/accounts/{ada['id']}").status], [503, 200])
same("a star may stand for nothing", [
    sim.faults({"match": {"path": w}, "fault": {"status": 503}}) and
    page().status for w in (LIST + "*", "*" + LIST, LIST[:9] + "*" + LIST[8:])],
    [503, 503, 200])
same("two stars are refused", sim.ask(
    HOST, "/.platforms/faults", method="POST", body=json.dumps(
        [{"match": {"path": "/api/*/accounts/*"}, "fault": {"status": 503}}]))
    .status, 400)

fault({"status": 429, "reset": 7200, "retry_after": "99999999"})
a = page()
same("a far reset", rate(a)[1:], ("0", "2026-11-20T11:05:00.000000Z"))
same("an absurd Retry-After", a.fields["Retry-After"], "99999999")
fault({"status": 429, "reset": -60})
same("a reset that is past", rate(page())[2], "2026-11-20T09:04:00.000000Z")
fault({"status": 429, "reset": "none"})
same("no reset at all", rate(page())[2], None)


def raw(fields=""):
    head, _, body = sim.raw(HOST, LIST + "?limit=10&min_id=1",
                            fields).partition(b"\r\n\r\n")
    return head, body


fault({"close": "before"})
same("closed before the answer", raw(), (b"", b""))
fault({"close": "head"})
head, body = raw()
check("closed within the head", head.startswith(b"HTTP/1.1 200") and
      body == b"" and b"\r\nContent-Type" in head[:60], head)
fault({"close": "body"})
head, body = raw()
check("closed behind the head", b"X-RateLimit" in head and body == b"")
fault({"cut": 1000})
same("cut", len(raw()[1]), 1000)
fault({"cut": 1000, "chunked": True})
head, body = raw()
check("cut in a chunk", b"chunked" in head and len(body) == 1000 and
      body.startswith(b"1000\r\n["), (head, body[:20]))
fault({"cut": 300})
head, body = raw("Accept-Encoding: gzip\r\n")
check("cut, and coded", b"Content-Encoding: gzip" in head and
      b"\x1f\x8b" in body[:8] and len(body) == 300, head)
fault({"length": 5})
head, body = raw()
want = int([x for x in head.split(b"\r\n")
            if x.startswith(b"Content-Length")][0].split()[1])
same("a wrong length", want - len(body), 5)
fault({"stall": 700, "at": 100})
t = time.monotonic()
page()
check("a stall", time.monotonic() - t >= 0.7)
fault({"drip": 1, "cut": 300})
t = time.monotonic()
raw()
check("a drip", time.monotonic() - t >= 0.3)
fault({"body": "html"})
a = page()
check("HTML with 200", a.status == 200 and b"<title>" in a.body)
fault({"body": "pretty"})
a = page()
check("pretty JSON", a.body.count(b"\n") > 100 and len(a.json()) == 10)
fault({"body": "utf8"})
check("invalid UTF-8", b"\xff" in page().body)
fault({"body": "empty"})
same("no body", page().body, b"")
fault({"big": 4 << 20})
check("an item of 4 MiB", len(page().json()[0]["content"]) > 4 << 20)

sim.faults()
first = ids(page())
second = ids(page(f"limit=10&min_id={first[0]}"))
fault({"page": "duplicate"}, nth=2)
page()
same("a page twice", ids(page(f"limit=10&min_id={first[0]}")), first)
fault({"page": "overlap"})
got = ids(page(f"limit=10&min_id={first[0]}"))
check("pages that overlap", set(first[:3]) < set(got) and
      set(got) - set(first) < set(second), (first, got, second))
fault({"page": "reordered"})
same("a page in another order", ids(page()), first[::-1])
fault({"page": "empty"})
a = page(f"limit=10&min_id={first[0]}")
check("an empty page with a cursor", a.json() == [] and
      f"min_id={int(first[0]) + 1}>" in a.fields["Link"], a.fields["Link"])
fault({"page": "loop"})
check("a cursor that loops", f"min_id={first[0]}>" in page(
    f"limit=10&min_id={first[0]}").fields["Link"])

fault({"stream": "silence"})
quiet = sim.stream(HOST, STREAM + "public", user)
add("ada", 9)
quiet.connection.settimeout(0.5)
try:
    got = quiet.more()
except TimeoutError:
    got = None
same("a silent stream", got, None)
quiet.close()
fault({"cut": 500})
stream = sim.stream(HOST, STREAM + "public", user)
add("ada", 9)
rest = stream.file.read()
check("a stream that is cut", len(rest) == 500 and b":thump" in rest, rest)
stream.close()

fault({"rename": {"account": "cleo", "to": "cleopatra"}})
page()
sim.faults()
same("a fault may rename", sim.ask(
    HOST, "/api/v1/accounts/lookup?acct=cleopatra").status, 200)
fault({"suspend": "cleopatra"})
page()
sim.faults()
check("a fault may suspend", sim.ask(
    HOST, "/api/v1/accounts/lookup?acct=cleopatra").json()["suspended"])
same("a token is good", page(token=app).status, 200)
fault({"credential": "expires"})
same("until it expires", page(token=app).status, 401)
sim.faults()
same("for good", page(token=app).status, 401)

for plan in ("{}", '[{"fault":{}}]', '[{"fault":{"status":200}}]',
             '[{"fault":{"x":1}}]', '[{"match":{"x":1},"fault":{"cut":1}}]',
             '[{"match":{"nth":0},"fault":{"cut":1}}]', "["):
    a = sim.ask(HOST, "/.platforms/faults", method="POST", body=plan)
    check(f"a plan that is none: {plan}", a.status == 400 and
          a.json()["error"], a.body)

# ---- Connections and the log --------------------------------------------------------------------

c = sim.client(HOST)
framings = set()
for _ in range(4):
    c.request("GET", LIST, headers={"Accept-Encoding": "identity"})
    r = c.getresponse()
    framings.add((r.headers["Transfer-Encoding"], r.headers[
        "Content-Length"] is not None))
    r.read()
c.close()
same("one connection, both framings", framings,
     {("chunked", False), (None, True)})
same("what nobody knows is 404", sim.ask(HOST, "/api/v9/x").status, 404)
unknown = [x for x in sim.log() if not x["known"]]
same("and the log says so", {x["path"] for x in unknown},
     {"/api/v9/x", STREAM + "user"})
done()
