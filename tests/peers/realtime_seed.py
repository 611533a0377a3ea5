"""The session that the seed's document shows, line by line, and its habits.

The document's messages stand here with its slips of JSON corrected (the list of
seeds wants braces, keys want quotes, one text wants its first quote, one comma
is too many).  Each message of a client is sent as it stands there; each message
of the server must have the shown keys with values of the shown types, and more
keys at will.  foo.com is a site of six pages that answers slowly enough.
"""
from realtime_peer import *

PAGES = 6

SESSION = [
    # The client wants to start a crawl.
    (">", {"args": {"seeds": [{"rate_limit": 2.5, "url": "http://foo.com"}]},
           "command_id": 0, "command": "start_crawl"}),
    ("<", {"command_id": 0, "data": {"crawl_id": 0}, "success": True,
           "type": "response"}),
    # It subscribes to updates about the crawl that it just kicked off.
    (">", {"args": {"min_interval": 2}, "command_id": 1,
           "command": "subscribe_crawl_stats"}),
    ("<", {"command_id": 1, "data": {"subscription_id": 0},
           "success": True, "type": "response"}),
    ("<", {"data": {"0": {"error": 0, "information": 0, "not_found": 0,
                          "redirect": 0, "seed": "http://foo.com",
                          "status": "running", "success": 1}},
           "subscription_id": 0, "type": "event"}),
    ("<", {"data": {"0": {"success": 3}}, "subscription_id": 0,
           "type": "event"}),
    ("<", {"data": {"0": {"status": "complete", "success": 5}},
           "subscription_id": 0, "type": "event"}),
    # The resources that the crawler has crawled.
    (">", {"args": {"crawl_id": 0}, "command": "subscribe_crawl_items",
           "command_id": 2}),
    ("<", {"command_id": 2, "data": {"subscription_id": 1},
           "success": True, "type": "response"}),
    ("<", {"data": {"body": "PCFET0NUWVBFIEhUTUwgUFVCTElDICItLy", "crawl_id":
                    0, "completed_at": 1468038794.6994638, "depth": 0,
                    "duration": 0.0052394866943359375,
                    "headers": {"Content-Length": "949", "Content-Type":
                                "text/html; charset=utf-8", "Date":
                                "Sat, 09 Jul 2016 04:33:14 GMT", "Server":
                                "SimpleHTTP/0.6 Python/3.5.1+"},
                    "started_at": 1468038794.6942244, "status_code": 200,
                    "sync_token": "MQ==",
                    "url": "http://foo.com/bar.html"},
           "subscription_id": 1, "type": "event"}),
    # It unsubscribes after the one item shown above.
    (">", {"args": {"subscription_id": 1}, "command": "unsubscribe",
           "command_id": 3}),
    ("<", {"command_id": 3, "data": {"subscription_id": 1},
           "success": True, "type": "response"}),
    # It picks up where it left off.
    (">", {"args": {"crawl_id": 0, "sync_token": "MQ=="},
           "command": "subscribe_crawl_items", "command_id": 4}),
    ("<", {"command_id": 4, "data": {"subscription_id": 2},
           "success": True, "type": "response"}),
]


def kinds_differ(got, want, at=""):
    """Where a shown key is missing, or of another type; numbers are numbers."""
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return [at]
        return [x for k, v in want.items()
                for x in kinds_differ(got.get(k), v, f"{at}.{k}")]
    fine = type(got) is type(want) or (
        {type(got), type(want)} == {int, float})
    return [] if fine else [at]


class Session:
    """Takes the server's messages in their order, but for what is repeated."""

    def __init__(self, c):
        self.c, self.number = c, 0
        self.subs, self.crawl = {}, None

    def send(self, m):
        args = dict(m["args"])
        if "subscription_id" in args:
            args["subscription_id"] = self.subs[args["subscription_id"]]
        self.c.send(m["command"], args, m["command_id"])

    def receive(self, want):
        self.number += 1
        name = f"message {self.number} of the server"
        if want["type"] == "response":
            got = self.c.await_response(want["command_id"])
            data = want["data"]
            for key in data:
                if key == "subscription_id":
                    self.subs[data[key]] = got["data"].get(key)
                else:
                    self.crawl = got["data"].get(key)
        elif "body" in want["data"]:
            got = self.c.event(self.subs[want["subscription_id"]]) or {}
        else:
            got = self.stats(want)
            want = dict(want, data={str(self.crawl): want["data"]["0"]})
        differs = kinds_differ(got, want)
        check(f"{name} has what is shown", not differs, f"{differs}: {got}")
        return got

    def stats(self, want):
        """The next event with that state; those between are as good."""
        n = self.subs[want["subscription_id"]]
        fields = want["data"]["0"]
        for _ in range(40):
            e = self.c.event(n, 15)
            if e is None:
                return {}
            mine = e["data"].get(str(self.crawl), {})
            if fields.get("status", "running") == \
                    mine.get("status", "running"):
                # The last count and the end may come one after the other.
                mine.setdefault("success", self.c.merged(n, self.crawl)
                                .get("success"))
                return e
        return {}


def play(server, web):
    c = server.client()
    s = Session(c)
    got = []
    for direction, m in SESSION:
        if direction == ">":
            s.send(m)
        else:
            got.append(s.receive(m))
    same("the first crawl is 0", s.crawl, 0)
    first = next(g for g in got if "url" in g["data"])["data"]
    same("the item's URL is absolute", first["url"], "http://foo.com/")
    rest = c.items(s.subs[2], PAGES - 1)
    same("the later items skip the one that was seen",
         [i["url"] for i in rest],
         [f"http://foo.com/{i}.html" for i in range(1, PAGES)])
    same("bodies decode", [body_of(i) for i in rest],
         [web.pages["foo.com", f"/{i}.html"][2] for i in range(1, PAGES)])
    check("nothing more comes", c.event(s.subs[2], 0.5) is None)
    merged = c.merged(s.subs[0], 0)
    same("in the end all is counted", (merged["success"], merged["status"]),
         (PAGES, "complete"))
    asked = web.requests("foo.com")
    gaps = [b[1] - a[2] for a, b in zip(asked, asked[1:])]
    check("the rate limit runs from one fetch's end to the next",
          len(gaps) == PAGES - 1 and min(gaps) >= 2.49,
          [f"{g:.3f}" for g in gaps])
    return c


def like_the_page(server, web):
    """
    What the 2016 pages do: texts where numbers are meant, tokens that are kept
    over reconnects, a merge by fields.
    """
    c = server.client(path="/", origin="http://localhost:8001")
    stats = c.stats(min_interval=1)
    web.chain("bar.com", 4, delay=0.1)
    for rate in ("", "0.05"):
        crawl = c.good("start_crawl", seeds=[{"url": "http://bar.com/0",
                                              "rate_limit": rate}])["crawl_id"]
        if rate == "":
            c.good("job.cancel", crawl_id=str(crawl))
    n = c.read(str(crawl))
    token = c.items(n, 2)[-1]["sync_token"]
    c.close()
    time.sleep(0.2)
    c = server.client(path="/", origin="http://localhost:8001")
    n = c.good("subscribe_crawl_items", crawl_id=str(crawl),
               sync_token=token)["subscription_id"]
    same("a page that reconnects has what it missed",
         [i["url"] for i in c.items(n, 2)],
         ["http://bar.com/2", "http://bar.com/3"])
    c.ends(crawl)
    del stats
    # The Dart client: args null, rate_limit a number or null.
    c.send_text('{"command":"subscribe_crawl_stats","command_id":"d",'
                '"args":null}', "d", "subscribe_crawl_stats")
    check("args may be null", c.await_response("d")["success"])
    crawl = c.good("start_crawl", seeds=[{"url": "http://bar.com/0",
                                          "rate_limit": None}])["crawl_id"]
    same("ping is answered", c.good("ping"), {})
    c.good("job.cancel", crawl_id=crawl)


def main():
    begin("realtime_seed")
    web = Web()
    for i in range(PAGES):
        links = [f"/{k}.html" for k in range(1, PAGES)] if i == 0 else []
        web.put("foo.com", f"/{i}.html" if i else "/",
                ok(html(*links, text="words " * 100)))
    server = Server("seed", hosts={"foo.com": web.port, "bar.com": web.port})
    play(server, web)
    like_the_page(server, web)
    rules_kept()
    same("SIGTERM ends the daemon", server.stop(), 0)
    done()


main()
