"""twarc, as it is, lists simulated Twitter and finds the same tweets."""
import os
import socket
import threading
import time

from peer import check, done, python_with, same, skip, wait_until
from simulated import Platforms

PACKAGE = "twarc==2.14.0"
if "TWARC_IS_HERE" not in os.environ:
    python = python_with("twarc-2", PACKAGE)
    if python is None:
        skip("platforms_twarc", f"{PACKAGE} cannot be had from PyPI")
        done()
    os.environ["TWARC_IS_HERE"] = "1"
    os.execv(python, [python, __file__])

from requests.exceptions import HTTPError
from twarc import Twarc, Twarc2
from twarc.expansions import flatten

HOST = "api.twitter.com"
sim = Platforms("--items", "1500")
os.environ["REQUESTS_CA_BUNDLE"] = sim.ca
connect_to = socket.getaddrinfo


def getaddrinfo(host, port, *args, **more):
    """Twitter's names lead to the simulator."""
    if str(host).endswith(".twitter.com"):
        host, port = "127.0.0.1", sim.port
    return connect_to(host, port, *args, **more)


socket.getaddrinfo = getaddrinfo
world = sim.world(HOST)
keys = world["credentials"]
APP = {"bearer_token": keys["bearer_token"]}
PAIR = {k: keys[k] for k in ("consumer_key", "consumer_secret")}
USER = {k: v for k, v in keys.items() if k != "bearer_token"}


def raised(call, *args, **more):
    """The status and the body of the error that a call raises."""
    try:
        list(call(*args, **more))
    except HTTPError as e:
        return e.response.status_code, e.response.json()
    return None


def ids(pages):
    return [t["id"] for page in pages for t in page.get("data", [])]


def newest_first(told):
    return sorted(told, key=int, reverse=True)


def since(days):
    """The least id of a tweet that is not older."""
    return (int(time.time() * 1000) - days * 86400000 - 1288834974657) << 22


# ---- Version 2, by each credential ------------------------------------------------

recent = {name: [i for i in told if int(i) > since(7)]
          for name, told in world["searches"].items()}
check("half of all tweets are recent", all(
    0 < len(recent[k]) < len(told) for k, told in world["searches"].items()))
for name, given in (("a bearer token", APP), ("the application's keys", PAIR),
                    ("a user's token", USER)):
    pages = list(Twarc2(**given).search_recent("cats", max_results=100))
    same(f"{name}: tweets of seven days", ids(pages),
         newest_first(recent["cats"]))
t = Twarc2(**APP)
same("all years, oldest last", ids(t.search_all(
    "k\u00e4tzchen", max_results=100)),
     newest_first(world["searches"]["k\u00e4tzchen"]))
both = set(world["searches"]["cats"]) | set(world["searches"]["owls"])
same("either of two words", set(ids(t.search_all("cats OR owls",
                                                  max_results=500))), both)
both = set(world["searches"]["cats"]) & set(world["searches"]["owls"])
same("both of two words", set(ids(t.search_all("#cats owls",
                                                max_results=500))), both)
same("a place", ids(t.search_all("point_radius:[-122.4 37.7 10mi]",
                                 max_results=500)),
     newest_first(world["searches"]["place"]))
middle = recent["cats"][len(recent["cats"]) // 2]
same("since an id", ids(t.search_recent("cats", since_id=middle)),
     newest_first(i for i in recent["cats"] if int(i) > int(middle)))

# ---- Accounts ------------------------------------------------------------------------

for told in world["accounts"]:
    name = told["name"]
    if told["suspended"]:
        status = t.get(f"https://{HOST}/2/users/by/username/{name}").json()
        check(f"{name} is suspended", status["errors"][0][
            "detail"].startswith("User has been suspended"))
        continue
    found = t.get(f"https://{HOST}/2/users/by/username/{name}",
                  params={"user.fields": "protected"}).json()["data"]
    same(f"{name}: id and protection", (found["id"], found["protected"]),
         (told["id"], told["protected"]))
    same(f"{name}: all tweets, the newest first",
         ids(t.timeline(told["id"], max_results=100)),
         newest_first(told["tweets"]))
# twarc looks names up by itself.
same("by its name", ids(t.timeline("bob")), newest_first(
    world["accounts"][1]["tweets"]))
gone = t.get(f"https://{HOST}/2/users/by/username/nobody").json()
check("an account that is not there", gone["errors"][0][
    "detail"].startswith("Could not find user with"))

# ---- Entities ----------------------------------------------------------------------------

ada = world["accounts"][0]
pages = list(t.timeline(ada["id"], max_results=100))
flat = [x for page in pages for x in flatten(page)]
same("twarc flattens them all", [x["id"] for x in flat], ids(pages))
check("their author is ada", all(
    x["author"]["username"] == "ada" for x in flat))
check("there are some of each", all(any(x.get(k) for x in flat) for k in (
    "referenced_tweets", "attachments", "entities", "geo",
    "in_reply_to_user_id")))
check("media are included", any(
    m.get("url") or m.get("preview_image_url") for x in flat
    for m in x.get("attachments", {}).get("media", [])))
check("tweets that are gone are named as errors", any(
    e["title"] == "Not Found Error" for page in pages
    for e in page.get("errors", [])))
bare = t.client.get(f"https://{HOST}/2/users/{ada['id']}/tweets").json()
same("fields come by their names alone", set(bare["data"][0]),
     {"id", "text", "edit_history_tweet_ids"})
check("dates and ids agree", all(
    abs((int(x["id"]) >> 22) + 1288834974657 - int(time.mktime(
        time.strptime(x["created_at"][:19], "%Y-%m-%dT%H:%M:%S"))
        - time.timezone) * 1000) <= 1000 for x in flat))

# ---- Version 1.1 ------------------------------------------------------------------------------

v1 = Twarc(*USER.values())


def v1_ids(found):
    return [x["id_str"] for x in found]


same("v1.1: tweets of seven days", v1_ids(v1.search("cats")),
     newest_first(recent["cats"]))
same("v1.1: since an id", v1_ids(v1.search("cats", since_id=middle)),
     newest_first(i for i in recent["cats"] if int(i) > int(middle)))
same("v1.1: a place", set(v1_ids(v1.search(
    "", geocode="37.7,-122.4,10mi"))),
     {i for i in world["searches"]["place"] if int(i) > since(7)})
for told in world["accounts"]:
    if told["suspended"]:
        same("v1.1: suspended", raised(lambda: [v1.get(
            f"https://{HOST}/1.1/users/show.json",
            params={"screen_name": told["name"]})])[0], 403)
        continue
    found = list(v1.timeline(user_id=told["id"]))
    same(f"v1.1: {told['name']}: all tweets, the newest first",
         v1_ids(found), newest_first(told["tweets"]))
    if len(found) > 9:
        same("... since an id", v1_ids(v1.timeline(
            user_id=told["id"], since_id=found[9]["id_str"])),
             v1_ids(found)[:9])
full = list(v1.timeline(screen_name="ada"))
check("v1.1: there are some of each", all(any(x.get(k) for x in full) for k in (
    "retweeted_status", "quoted_status", "in_reply_to_status_id_str",
    "extended_entities", "place")))
check("v1.1: numbers and texts agree", all(
    str(x["id"]) == x["id_str"] and "full_text" in x for x in full))

# ---- Streams --------------------------------------------------------------------------------


class Listener(threading.Thread):
    """What a stream of twarc gives, until it is told to stop."""

    def __init__(self, stream, **more):
        super().__init__(daemon=True)
        self.found, self.event = [], threading.Event()
        self.stream = stream(event=self.event, **more)
        before = len(sim.log())
        self.start()
        # It has begun when the simulator has logged it.
        wait_until(lambda: any(x["status"] == 200 for x in
                               sim.log()[before:]))

    def run(self):
        for x in self.stream:
            self.found.append(x)

    def stop(self):
        self.event.set()
        sim.own("change", {"host": HOST, "add": {"account": "ada", "n": 60}})
        self.join(30)
        time.sleep(0.5)  # until the simulator has seen it leave


def add(account, n):
    sim.own("change", {"host": HOST, "add": {"account": account, "n": n}})


same("no rules at first", "data" in t.get_stream_rules(), False)
added = t.add_stream_rules([{"value": "cats", "tag": "c"},
                            {"value": "from:bob"}])
old = t.get_stream_rules()["data"]
same("rules are there", [(r["value"], r.get("tag")) for r in old],
     [("cats", "c"), ("from:bob", None)])
t.delete_stream_rule_ids([old[1]["id"]])
same("and go", [r["value"] for r in t.get_stream_rules()["data"]], ["cats"])
before = sim.world(HOST)["searches"]["cats"]
listener = Listener(t.stream)
add("ada", 40)
new = sim.world(HOST)["searches"]["cats"][len(before):]
wait_until(lambda: len(listener.found) >= len(new))
same("new tweets come by the stream of v2",
     [x["data"]["id"] for x in listener.found], new)
check("with the rule and the author", new and all(
    x["matching_rules"][0]["tag"] == "c" and x["includes"]["users"]
    for x in listener.found))
listener.stop()

before = sim.world(HOST)["searches"]["owls"]
listener = Listener(v1.filter, track="owls,nothing here")
add("cleo", 40)
new = sim.world(HOST)["searches"]["owls"][len(before):]
wait_until(lambda: len(listener.found) >= len(new))
same("new tweets come by the filter of v1.1", v1_ids(listener.found), new)
sim.own("change", {"host": HOST, "delete": new[0]})
wait_until(lambda: "delete" in listener.found[-1])
same("and deletions", listener.found[-1]["delete"]["status"]["id_str"],
     new[0])
listener.stop()
listener = Listener(v1.sample)
add("bob", 3)
wait_until(lambda: len(listener.found) >= 3)
same("the sample has all of them", v1_ids(listener.found),
     sim.world(HOST)["accounts"][1]["tweets"][-3:])
listener.stop()

# ---- Errors ---------------------------------------------------------------------------------

for what, query in (("since_id", {"since_id": "1"}),
                    ("next_token", {"next_token": "x"}),
                    ("max_results", {"max_results": 1000})):
    status, body = raised(t.search_recent, "cats", **query)
    same(f"a wrong {what}", (status, list(body["errors"][0]["parameters"])),
         (400, [what]))
same("all years want an application", Twarc2(**USER).client.get(
    f"https://{HOST}/2/tweets/search/all?query=cats").status_code, 403)
status, body = raised(Twarc2(bearer_token="wrong").search_recent, "cats")
same("a token that is wrong", (status, body["title"]), (401, "Unauthorized"))
status, body = raised(Twarc2(**{**USER, "access_token_secret": "x"}
                             ).search_recent, "cats")
same("a signature that is wrong", status, 401)
sim.own("budget", {"limit": 2})
answers = [t.client.get(f"https://{HOST}/2/users/{ada['id']}")
           for _ in range(3)]
same("a budget is counted down", [
    (a.status_code, a.headers["x-rate-limit-remaining"]) for a in answers],
     [(200, "1"), (200, "0"), (429, "0")])
check("its end is an epoch ahead", 0 <= int(
    answers[2].headers["x-rate-limit-reset"]) - time.time() <= 900)
sim.own("budget", {"limit": 0})
sim.own("change", {"host": HOST, "reads": 5})
got = t.client.get(f"https://{HOST}/2/users/{ada['id']}/tweets")
same("the month's tweets are used up", (got.status_code, got.json()["title"]),
     (429, "UsageCapExceeded"))
unknown = {x["path"] for x in sim.log() if not x["known"]}
same("it asked nothing that the simulator does not know", unknown, set())
done()
