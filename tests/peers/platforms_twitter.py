"""Simulated Twitter itself: its world, credentials, budgets, and what faults
do to its lists.  The faults of connections are platforms.py's."""
import base64
import json
import time
import zlib
from urllib.parse import quote

from peer import check, done, same
from simulated import Platforms

HOST = "api.twitter.com"
FIXED = ("--clock", "frozen", "--start", "2026-11-20T09:00:00Z", "--items",
         "300")
sim = Platforms(*FIXED)
world = sim.world(HOST)
keys = world["credentials"]
bearer = keys["bearer_token"]
ada = world["accounts"][0]
newest_first = sorted(ada["tweets"], key=int, reverse=True)

again = Platforms(*FIXED, seed=sim.seed, name="again")
same("the same seed makes the same world", again.world(HOST), world)
other = Platforms(*FIXED, seed=sim.seed + 1, name="other")
check("another seed makes another one", other.world(HOST) != world)
check("ids have gaps, and tweets are missing",
      240 < len(ada["tweets"]) < 300, len(ada["tweets"]))
check("ids have 19 digits", all(len(i) == 19 for i in newest_first[:99]))

# ---- Version 2 -------------------------------------------------------------------


def fault(what, **match):
    sim.faults({"match": {"path": "/2/*", **match}, "fault": what})


def page(query="max_results=10", token=bearer):
    return sim.ask(HOST, f"/2/users/{ada['id']}/tweets?{query}", token)


def ids(answer):
    return [t["id"] for t in answer.json().get("data", [])]


def next_token(answer):
    return answer.json()["meta"].get("next_token")


def whole(host, query):
    found, cursor = [], ""
    while True:
        a = sim.ask(host, f"/2/tweets/search/{query}&max_results=100{cursor}",
                    bearer)
        found += ids(a)
        if next_token(a) is None:
            return found
        cursor = "&next_token=" + next_token(a)


first = page()
same("a page has the newest tweet first", ids(first), newest_first[:10])
meta = first.json()["meta"]
same("and says so", (meta["newest_id"], meta["oldest_id"],
                     meta["result_count"]),
     (newest_first[0], newest_first[9], 10))
second = page("max_results=10&pagination_token=" + next_token(first))
same("the next page", ids(second), newest_first[10:20])
same("since an id", ids(page(f"max_results=10&since_id={newest_first[3]}")),
     newest_first[:3])
same("nothing", page(f"since_id={newest_first[0]}").json(),
     {"meta": {"result_count": 0}})
cats = world["searches"]["cats"]
middle = cats[len(cats) // 2]
for host in (HOST, "api.x.com"):
    same(f"all cats of {host}", whole(
        host, "all?query=cats&start_time=2006-03-21T00:00:00Z"),
         sorted(cats, key=int, reverse=True))


def when(i):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(
        ((int(i) >> 22) + 1288834974657) / 1000 + 1))


got = whole(HOST, f"all?query=cats&start_time={when(cats[4])}&end_time="
            f"{when(middle)}")
check("between two dates", set(got) <= set(cats[4:]) and
      set(got) >= set(cats[6:len(cats) // 2 - 1]) and middle in got, got)


def wrong(path, parameter):
    a = sim.ask(HOST, path, bearer)
    same(f"refused: {path}", (a.status, list(a.json()["errors"][0][
        "parameters"])), (400, [parameter]))


RECENT = "/2/tweets/search/recent?query=cats"
wrong("/2/tweets/search/recent", "query")
wrong(RECENT + "&max_results=9", "max_results")
wrong(RECENT + "&since_id=" + cats[0], "since_id")
wrong(RECENT + "&start_time=2026-11-13T08:59:59Z", "start_time")
wrong(RECENT + "&start_time=2026-11-19", "start_time")
wrong(RECENT + "&end_time=2026-11-20T08:59:51Z", "end_time")
wrong(RECENT + f"&since_id={newest_first[0]}&end_time=2026-11-19T00:00:00Z",
      "since_id")
wrong("/2/tweets/search/recent?query=point_radius:[1%202%203mi]", "query")
wrong("/2/users/by/username/no%20name", "username")
wrong("/2/users/x", "id")

# ---- Version 1.1 -----------------------------------------------------------------------------


def first_api(path, token=bearer):
    return sim.ask(HOST, "/1.1/" + path, token)


LIST = f"statuses/user_timeline.json?user_id={ada['id']}&count=10"
a = first_api(LIST)
same("v1.1: a page has the newest tweet first",
     [x["id_str"] for x in a.json()], newest_first[:10])
same("... its limit", a.fields["x-rate-limit-limit"], "900")
a = first_api(LIST + f"&max_id={newest_first[9]}")
same("v1.1: up to an id", [x["id_str"] for x in a.json()],
     newest_first[9:19])
a = first_api(LIST + f"&since_id={newest_first[2]}")
same("v1.1: since an id", [x["id_str"] for x in a.json()], newest_first[:2])
check("v1.1: short texts unless they are asked for", "text" in a.json()[0] and
      "full_text" in first_api(LIST + "&tweet_mode=extended").json()[0])
for path, status, code in (
        ("search/tweets.json?x", 403, 25),
        ("users/show.json?screen_name=nobody", 404, 50),
        ("users/show.json?screen_name=dora", 403, 63),
        ("statuses/user_timeline.json?user_id=1", 404, 34)):
    a = first_api(path)
    same(f"v1.1 refused: {path}", (a.status, a.json()["errors"][0]["code"]),
         (status, code))
fay = world["accounts"][5]
same("v1.1: a protected account", first_api(
    f"statuses/user_timeline.json?user_id={fay['id']}").json()["error"],
     "Not authorized.")
a = first_api("search/tweets.json?q=cats&count=100", token=None)
same("v1.1: without a credential", (a.status, a.json()["errors"][0]["code"]),
     (401, 32))

# ---- Credentials ---------------------------------------------------------------------


def fetch_token(key=keys["consumer_key"], secret=keys["consumer_secret"],
                body="grant_type=client_credentials"):
    pair = base64.b64encode(f"{quote(key)}:{quote(secret, '')}".encode())
    return sim.ask(HOST, "/oauth2/token", method="POST", body=body,
                   Authorization="Basic " + pair.decode())


app = fetch_token().json()["access_token"]
same("a token of the application", page(token=app).status, 200)
same("not without its secret", fetch_token(secret="x").status, 403)
same("nor for another grant", fetch_token(body="grant_type=x").status, 403)
for name, given in (("none", None), ("a wrong one", "x")):
    a = page(token=given)
    same(f"credential: {name}", (a.status, a.json()["title"]),
         (401, "Unauthorized"))
a = sim.ask(HOST, RECENT, Authorization='OAuth oauth_consumer_key="x"')
same("credential: a signature that is none", a.status, 401)

# ---- Budgets -------------------------------------------------------------------------------


def rate(answer):
    return tuple(answer.fields["x-rate-limit-" + k]
                 for k in ("limit", "remaining", "reset"))


NEXT = "1795166100"  # 09:15
same("a budget", rate(page())[0], "1500")
sim.own("budget", {"limit": 2})
same("is counted down", [rate(page()) for _ in range(3)],
     [("2", "1", NEXT), ("2", "0", NEXT), ("2", "0", NEXT)])
same("beyond it: 429", (page().status, page().json()["title"]),
     (429, "Too Many Requests"))
same("other calls have their own", sim.ask(HOST, RECENT, bearer).status, 200)
sim.own("clock", {"advance": 900})
same("a budget is new in its next period", page().status, 200)
sim.own("budget", {"limit": 0})
sim.own("change", {"host": HOST, "reads": 5})
same("the month's tweets are used up", page().json()["title"],
     "UsageCapExceeded")
sim.own("change", {"host": HOST, "reads": 1 << 40})

# ---- Faults -------------------------------------------------------------------------------

fault({"status": 429, "reset": 60})
a = page()
same("too many calls", (a.status, *rate(a)[1:]), (429, "0", "1795166160"))
fault({"status": 429, "reset": "none"})
same("without a date", rate(page())[2], None)
fault({"status": 503})
same("an outage", page().status, 503)
fault({"big": 4 << 20})
check("a tweet of 4 MiB", len(page().json()["data"][0]["text"]) > 4 << 20)
cursor = "&pagination_token=" + next_token(first)
fault({"page": "duplicate"}, nth=2)
page()
same("a page twice", ids(page("max_results=10" + cursor)),
     newest_first[:10])
fault({"page": "overlap"})
same("pages that overlap", ids(page("max_results=10" + cursor)),
     newest_first[7:17])
fault({"page": "reordered"})
same("a page in another order", ids(page()), newest_first[9::-1])
fault({"page": "empty"})
a = page("max_results=10" + cursor)
check("an empty page with a cursor", not ids(a) and next_token(a))
sim.faults()
same("... that leads on", ids(page("max_results=10&pagination_token=" +
                                   next_token(a))), newest_first[10:20])
fault({"page": "loop"})
a = page("max_results=10" + cursor)
same("a cursor that loops", "&pagination_token=" + next_token(a), cursor)
fault({"rename": {"account": "cleo", "to": "cleopatra"}})
page()
sim.faults()
BY = "/2/users/by/username/"
same("a fault may rename", sim.ask(
    HOST, BY + "cleopatra", bearer).json()["data"]["username"], "cleopatra")
fault({"suspend": "cleopatra"})
page()
sim.faults()
check("a fault may suspend", "suspended" in sim.ask(
    HOST, BY + "cleopatra", bearer).json()["errors"][0]["detail"])

# ---- Streams ------------------------------------------------------------------------------


def rules(body=None, token=app):
    path = "/2/tweets/search/stream/rules"
    return sim.ask(HOST, path, token) if body is None else sim.ask(
        HOST, path, token, "POST", json.dumps(body))


def add_rule(value):
    return rules({"add": [{"value": value, "tag": "t"}]})


FILTERED = "/2/tweets/search/stream?expansions=author_id&tweet.fields=lang"


def stream(path=FILTERED, fields=""):
    return sim.stream(HOST, path, app, fields)


def lines(s, n):
    """So many lines that are not empty."""
    found = []
    while len(found) < n and s.more():
        *whole, s.text = s.text.split(b"\r\n")
        found += [json.loads(x) for x in whole if x]
    return found


def add(account, n):
    before = {k: len(v) for k, v in sim.world(HOST)["searches"].items()}
    sim.own("change", {"host": HOST, "add": {"account": account, "n": n}})
    return {k: v[before[k]:] for k, v in sim.world(HOST)["searches"].items()}


same("no rules", set(rules().json()), {"meta"})
same("a rule", (add_rule("cats").status, rules().json()["data"][0]["value"]),
     (201, "cats"))
same("the same rule", add_rule("cats").json()["errors"][0]["title"],
     "DuplicateRule")
same("a rule that is none", (add_rule('"').status, add_rule('"').json()[
    "errors"][0]["title"]), (400, "Invalid Rule"))
sim.own("change", {"host": HOST, "rules_max": 1})
same("no room for rules", (add_rule("owls").status, add_rule("owls").json()[
    "title"]), (422, "RulesCapExceeded"))
one = stream()
new = add("ada", 30)["cats"]
got = lines(one, len(new))
same("new tweets come by the stream", [x["data"]["id"] for x in got], new)
check("with what was asked for", set(got[0]) == {
    "data", "includes", "matching_rules"} and got[0]["data"]["lang"])
same("a second stream", sim.ask(HOST, FILTERED, app).json()["title"],
     "ConnectionException")
one.close()
time.sleep(0.3)
packed = stream(fields="Accept-Encoding: gzip\r\n")
new = add("ada", 30)["cats"]
unpack, text = zlib.decompressobj(31), b""
while text.count(b'"matching_rules"') < len(new):
    check("a stream goes on", packed.more())
    text += unpack.decompress(packed.text)
    packed.text = b""
check("a stream may be gzip", all(i.encode() in text for i in new))
packed.close()
time.sleep(0.3)
fault({"stream": "disconnect"})
one = stream()
same("a disconnect is told", lines(one, 1)[0]["errors"][0][
    "disconnect_type"], "OperationalDisconnect")
check("... and is one", not one.more() and not lines(one, 1))
one.close()
sim.faults()
same("rules go", (rules({"delete": {"ids": [rules().json()["data"][0][
    "id"]]}}).json()["meta"]["summary"]["deleted"], set(rules().json())),
     (1, {"meta"}))
same("v1.1: streams want a user", sim.ask(
    "stream.twitter.com", "/1.1/statuses/sample.json", app).status, 401)

# ---- Changes -------------------------------------------------------------------------------

sim.own("change", {"host": HOST, "add": {"account": "ada", "n": 3}})
now = sim.world(HOST)["accounts"][0]["tweets"]
same("tweets are added", ids(page())[:3], now[:-4:-1])
sim.own("change", {"host": HOST, "delete": now[-1]})
same("and deleted", ids(page())[:2], now[-2:-4:-1])
fault({"credential": "expires"})
same("a token expires", page().status, 401)
sim.faults()
same("for good", page().status, 401)
same("the application's, too", page(token=app).status, 401)
app = fetch_token().json()["access_token"]
same("but it gets another", page(token=app).status, 200)
same("what nobody knows is 404", sim.ask(HOST, "/2/x", app).status, 404)
same("and the log says so", {x["path"] for x in sim.log() if not x["known"]},
     {"/2/x"})
done()
