"""A client of Weibo's API, as it is, finds the simulated posts."""
import json
import time

from peer import check, done, same
from simulated import Platforms, check_known, lead, raised, run_with

run_with(__file__, "weibo==0.2.2")

from weibo import Client

HOST = "api.weibo.com"
sim = Platforms("--clock", "frozen", "--start", "2026-11-20T09:00:00Z",
                "--items", "450")
lead(sim, HOST)
world = sim.world(HOST)


def client(token=world["token"]):
    return Client("key", "secret", "https://a.example/", token={
        "access_token": token, "expires_at": time.time() + 9999,
        "expires_in": 9999, "uid": "1"})


api = client()


def mids(answer):
    return [x["mid"] for x in answer["statuses"]]


def refused(call, **query):
    """The code in the error of a call, which the client shows as a text."""
    e = raised(RuntimeError, api.get, call, **query)
    return e and int(str(e).split()[0])


def timeline(count=100, **query):
    """All posts, each page below the last post of the one before."""
    found = []
    while True:
        page = mids(api.get("statuses/friends_timeline", count=count, page=1,
                            **query))
        if not page:
            return found
        found += page
        query["max_id"] = int(page[-1]) - 1


# ---- The timeline ------------------------------------------------------------------

told = world["timeline"]
found = timeline()
same("all posts, the newest first", found[::-1], told)
same("the same by small pages", timeline(30), found)
same("those behind a post", timeline(since_id=told[200])[::-1], told[201:])
page = api.get("statuses/friends_timeline", count=500)
same("a page has 100 at most", len(page["statuses"]), 100)
same("the second page", mids(api.get("statuses/friends_timeline", count=50,
                                     page=2)), found[50:100])
post = page["statuses"][0]
check("numbers are texts, too", post["idstr"] == post["mid"] ==
      str(post["id"]) and len(post["mid"]) == 16)
check("dates are those of Beijing", all(" +0800 20" in x["created_at"]
                                        for x in page["statuses"]))
check("some pass on others", any("retweeted_status" in x
                                 for x in page["statuses"]))

# ---- Topics --------------------------------------------------------------------------

for topic, wanted in world["topics"].items():
    got = []
    for n in (1, 2, 3, 4):
        got += mids(api.get("search/topics", q=topic, count=50, page=n))
    same(f"#{topic}#, the newest 200", got, wanted[::-1][:200])
check("there are more", len(world["topics"]["cats"]) > 200)
same("... which are not shown", refused("search/topics", q="cats", count=50,
                                        page=5), 21411)
same("a topic of nobody", mids(api.get("search/topics", q="no")), [])

# ---- Changes, and pages that are not as they should be -------------------------------

sim.own("change", {"host": HOST, "add": {"n": 2}})
now = sim.world(HOST)["timeline"]
same("posts are added", (now[:-2], timeline()[:2]), (told, now[:-3:-1]))
sim.own("change", {"host": HOST, "delete": now[-1]})
same("and deleted", timeline()[::-1], now[:-1])
found = timeline()


def spoilt(what):
    sim.faults({"match": {}, "fault": {"page": what}})
    got = mids(api.get("statuses/friends_timeline", count=10,
                       max_id=int(found[9]) - 1))
    sim.faults()
    return got


same("a page twice", spoilt("duplicate"), found[:10])
same("pages that overlap", spoilt("overlap"), found[7:17])
same("a page in another order", spoilt("reordered"), found[10:20][::-1])
same("an empty page", spoilt("empty"), [])

# ---- The token and its budget ----------------------------------------------------------

LIMIT = "account/rate_limit_status"
sim.own("budget", {"limit": 2})
mine = "statuses/friends_timeline"
api.get(mine), api.get(mine)
same("none is left", [api.get(LIMIT)[k] for k in (
    "user_limit", "remaining_user_hits", "reset_time_in_seconds")],
    [2, 0, 3600])
same("a call too many", refused(mine), 10023)
sim.own("clock", {"advance": 3599})
same("... until the hour ends", (refused(mine), api.get(LIMIT)[
    "reset_time_in_seconds"]), (10023, 1))
sim.own("clock", {"advance": 1})
check("... and no longer", mids(api.get(mine)))
sim.own("budget", {"limit": 0})
a = sim.ask(HOST, "/2/statuses/friends_timeline.json?access_token=x")
same("errors are plain text with JSON", (
    a.status, a.fields["Content-Type"], json.loads(a.body)["error_code"],
    json.loads(a.body)["request"]),
    (403, "text/plain;charset=UTF-8", 21332,
     "/2/statuses/friends_timeline.json"))
sim.faults({"match": {}, "fault": {"status": 400}})
same("a status by the plan", refused(mine), 10001)
sim.faults({"match": {}, "fault": {"credential": "expires"}})
same("a token that expires", refused(mine), 21327)
check_known(sim, same)
done()
