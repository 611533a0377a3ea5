"""pytumblr, as it is, lists the simulated Tumblr and finds the same posts."""
import collections

from peer import check, done, same
from simulated import Platforms, check_known, lead, run_with

run_with(__file__, "pytumblr==0.1.2")

import pytumblr

HOST = "api.tumblr.com"
sim = Platforms("--clock", "frozen", "--start", "2026-11-20T09:00:00Z",
                "--items", "400")
lead(sim, HOST)
world = sim.world(HOST)


def client(key=world["key"]):
    return pytumblr.TumblrRestClient(key, "secret", "token", "secret")


api = client()


def ids(posts):
    return [str(p["id"]) for p in posts]


def by_offset(blog, limit):
    """All posts of a blog, the newest first, as SFM asks for them."""
    found = []
    while True:
        page = api.posts(blog, limit=limit, offset=len(found),
                         filter="html")["posts"]
        if not page:
            return found
        found += page


def by_before(blog):
    """The same by seconds; posts of the last one come twice."""
    found, before = {}, None
    while True:
        more = {} if before is None else {"before": before}
        page = api.posts(blog, limit=20, filter="html", **more)["posts"]
        new = [p for p in page if p["id"] not in found]
        found.update((p["id"], p) for p in new)
        if not page:
            return list(found.values())
        last = min(p["timestamp"] for p in page)
        before = last + 1 if new else last


# ---- Blogs ------------------------------------------------------------------------

for told in world["blogs"]:
    name = told["name"]
    if told["gone"]:
        same(f"{name} is gone", api.posts(name)["meta"]["status"], 404)
        continue
    info = api.posts(name)
    same(f"{name}: its name", info["blog"]["name"], name)
    same(f"{name}: how many", info["total_posts"], len(told["posts"]))
    found = by_offset(name, 20)
    same(f"{name}: all posts, the newest first", ids(found)[::-1],
         told["posts"])
    same(f"{name}: the same by pages of 50", ids(by_offset(name, 50)),
         ids(found))
    same(f"{name}: the same by seconds", sorted(ids(by_before(name))),
         sorted(told["posts"]))
    check(f"{name}: of that blog", all(
        p["blog_name"] == name for p in found))
    seconds = [p["timestamp"] for p in found]
    same(f"{name}: by their dates", seconds, sorted(seconds, reverse=True))

ada = by_offset("ada", 50)
same("a blog by its domain", ids(by_offset("ada.tumblr.com", 50)), ids(ada))
check("some are dated back", ids(ada) != sorted(ids(ada), reverse=True))
check("some share a second", max(collections.Counter(
    p["timestamp"] for p in ada).values()) > 1)
same("every type", {p["type"] for p in ada}, {
    "text", "quote", "link", "answer", "video", "audio", "photo", "chat"})
check("some have a number alone", any("id_string" not in p for p in ada) and
      all(p.get("id_string", str(p["id"])) == str(p["id"]) for p in ada))
same("a page has at most 50", len(api.posts("ada", limit=500)["posts"]), 50)

# ---- Changes ------------------------------------------------------------------------

before = world["blogs"][0]["posts"]
sim.own("change", {"host": HOST, "add": {"account": "ada", "n": 3}})
now = sim.world(HOST)["blogs"][0]["posts"]
check("posts are added", now[:-3] == before and
      ids(api.posts("ada")["posts"])[:3] == now[:-4:-1])
sim.own("change", {"host": HOST, "delete": now[-1]})
same("and deleted", ids(api.posts("ada")["posts"])[:2], now[-2:-4:-1])
sim.own("change", {"host": HOST, "rename": {"account": "bob", "to": "rob"}})
same("a blog has another name", (api.posts("bob")["meta"]["status"],
                                 api.posts("rob")["blog"]["name"]),
     (404, "rob"))
sim.own("change", {"host": HOST, "suspend": "eve"})
same("a blog goes", api.posts("eve")["meta"]["status"], 404)

# ---- Pages that are not as they should be -------------------------------------------

second = api.posts("ada", limit=10, offset=10)["posts"]


def spoilt(what):
    sim.faults({"match": {}, "fault": what})
    return api.posts("ada", limit=10, offset=10)


same("a page twice", ids(spoilt({"page": "duplicate"})["posts"]),
     ids(api.posts("ada", limit=10, offset=10)["posts"]))
check("... the one before", ids(spoilt({"page": "duplicate"})["posts"]) !=
      ids(second))
same("pages that overlap", ids(spoilt({"page": "overlap"})["posts"])[3:],
     ids(second)[:7])
same("a page in another order", ids(spoilt({"page": "reordered"})["posts"]),
     ids(second)[::-1])
a = spoilt({"page": "empty"})
check("an empty page with a number of posts",
      a["posts"] == [] and a["total_posts"] > 300)
same("a status by the plan", spoilt({"status": 503})["meta"]["status"], 503)
sim.faults()

# ---- The key and its budgets ---------------------------------------------------------

same("a key that is wrong", client("wrong").posts("ada")["meta"]["status"],
     401)
a = api.posts("dora")
same("a refusal has an empty response", (a["response"], len(a["errors"])),
     ([], 1))
sim.own("budget", {"limit": 2})
same("three calls of two", [("posts" in api.posts("ada")) for _ in range(3)],
     [True, True, False])
same("... say so", api.posts("ada")["meta"]["status"], 429)
sim.own("clock", {"advance": 60})
same("the hour's budget is not that of a minute",
     api.posts("ada")["meta"]["status"], 429)
same("... and another key has its own", client("wrong").posts(
    "ada")["meta"]["status"], 401)
sim.own("clock", {"advance": 3600})
same("the day's is not that of an hour", api.posts("ada")["meta"]["status"],
     429)
sim.own("clock", {"advance": 86400})
check("all are full again", "posts" in api.posts("ada"))
sim.own("budget", {"limit": 0})
sim.faults({"match": {}, "fault": {"credential": "expires"}})
same("a key that expires", api.posts("ada")["meta"]["status"], 401)
check_known(sim, same)
done()
