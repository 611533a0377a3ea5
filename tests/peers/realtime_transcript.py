"""The recording of the original 2016 server, replayed against us.

usage: realtime_transcript.sh [FILE]

FILE is by default realtime-transcript.txt of the contracts, beside the suites.
Its head says how it is replayed, what is compared and where we differ on
purpose; differ() does the latter.
"""
import copy
import gzip

from realtime_peer import *

FILE = (sys.argv + [suite("own/realtime-transcript.txt")])[1]
NOT_COMPARED = ("completed_at", "started_at", "duration", "sync_token")


def read_lines():
    with open(FILE) as f:
        lines = [json.loads(line) for line in f
                 if line.strip() and not line.startswith("#")]
    return [x for x in lines if "page" in x], [x for x in lines if "t" in x]


def serve(pages):
    web = Web()
    for p in pages:
        fields = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
        body = p["body"].encode()
        if p.get("encoding") == "gzip":
            body = gzip.compress(body, mtime=0)
            fields.append(("Content-Encoding", "gzip"))
        if "location" in p:
            fields.append(("Location", p["location"]))
        web.put("site.test", p["page"],
                ok(body, *fields, status=p["status"]))
    return web


def differ(lines):
    """
    The recording as ours must be: (responses by connection, items by
    subscription, final statistics by subscription); IDs are the recording's.
    """
    responses, items, stats = {}, {}, {}
    for x in lines:
        if x.get("d") == ">":
            continue
        m = x.get("m") or {"command_id": None}
        if m.get("type") == "event":
            data = copy.deepcopy(m["data"])
            if "url" in data:
                data["url"] = data["url"].split("#")[0]
                items.setdefault(m["subscription_id"], []).append(data)
            else:
                mine = stats.setdefault(m["subscription_id"], {})
                for crawl, fields in data.items():
                    mine.setdefault(crawl, {}).update(fields)
        else:
            responses.setdefault(x["s"], []).append(x.get("want") or m)
    # /dir/ is followed too; it is like missing.html.
    missing = next(i for i in items[1] if "missing" in i["url"])
    at = 1 + next(n for n, i in enumerate(items[1]) if "redir" in i["url"])
    items[1].insert(at, dict(missing, url="http://site.test/dir/"))
    items[2] = items[1][7:]
    for fields in [c for s in stats.values() for c in s.values()]:
        # All crawls end; the first one's numbers are those of every visit.
        fields.update(status="complete")
        if "site.test" in fields["seed"]:
            fields.update({k: stats[0]["0"][k] for k in (
                "success", "redirect", "error", "information")}, not_found=2)
        else:
            fields.update(exception=1, exceptions={"connect": 1})
    return responses, items, stats


class Replay:
    def __init__(self, server, lines):
        self.server, self.lines = server, lines
        self.clients, self.commands, self.seen = {}, {}, {}
        self.crawls, self.subs = {}, {}       # recorded ID -> ours
        self.learn()

    def learn(self):
        """What the recording's responses call crawls and subscriptions."""
        sent = {}
        for x in self.lines:
            m = x.get("m")
            if m and x["d"] == ">":
                sent[m["command_id"]] = m["command"]
            elif m and m["type"] == "response" and m["success"]:
                self.commands[m["command_id"]] = (x["s"], m["data"])

    def go(self):
        began = time.monotonic()
        for x in self.lines:
            if x.get("d") != ">":
                continue
            self.wait(began + x["t"])
            c = self.clients.get(x["s"])
            if c is None:
                c = self.clients[x["s"]] = self.server.client()
            if "raw" in x:
                self.send_raw(c, x["raw"])
            else:
                m = self.ours(x["m"])
                c.send(m["command"], m["args"], m["command_id"])
        # Crawl 3 tries thrice, with back-off.
        until = time.monotonic() + 20
        while time.monotonic() < until and not self.over():
            self.wait(time.monotonic() + 0.3)
        self.wait(time.monotonic() + 0.5)

    def over(self):
        subs = [s for c in self.clients.values()
                for s in c.rules.subs.values() if s.is_stats()]
        return all(m["status"] == "complete" for s in subs
                   for m in s.merged.values())

    def send_raw(self, c, text):
        try:
            m = json.loads(text)
            found = m["command_id"], m["command"], m.get("args")
        except (ValueError, TypeError, KeyError):
            found = None, "", None
        c.send_text(text, *found)

    def ours(self, m):
        """The command with our IDs in place of the recording's."""
        m = copy.deepcopy(m)
        self.match()
        for key, known in (("subscription_id", self.subs),
                           ("crawl_id", self.crawls)):
            old = m["args"].get(key)
            if old is not None and int(old) in known:
                new = known[int(old)]
                m["args"][key] = str(new) if isinstance(old, str) else new
        return m

    def match(self):
        """Which of our IDs is which of the recording's."""
        for s, c in self.clients.items():
            for key, answers in c.responses.items():
                owner, data = self.commands.get(json.loads(key), (None, None))
                if owner != s or not answers[0]["success"]:
                    continue
                for name, known in (("crawl_id", self.crawls),
                                    ("subscription_id", self.subs)):
                    if name in data:
                        known.setdefault(data[name], answers[0]["data"][name])

    def wait(self, until):
        while time.monotonic() < until:
            for c in self.clients.values():
                c.pump(0)
            time.sleep(0.005)


def compare_item(name, got, want, crawl):
    faults = [k for k in want if k not in NOT_COMPARED + ("headers",) and
              got.get(k) != (crawl if k == "crawl_id" else want[k])]
    faults += [k for k in want if type(got.get(k)) is not type(want[k])]
    check(f"{name}: {want['url']}", not faults,
          f"{faults}: {got} is not {want}")
    headers = {k: v for k, v in want["headers"].items()
               if k not in ("Server", "Date")}
    mine = {k: v for k, v in got.get("headers", {}).items()
            if k not in ("Server", "Date")}
    same(f"{name}: its headers", mine, headers)
    check(f"{name}: Server and Date too", {"Server", "Date"} <=
          set(got.get("headers", {})))
    check(f"{name}: its times", got["started_at"] <= got["completed_at"] and
          abs(got["completed_at"] - got["started_at"] - got["duration"]) <
          0.01 and abs(time.time() - got["completed_at"]) < 60,
          f"{got['started_at']} {got['completed_at']} {got['duration']}")


def compare(replay, responses, items, stats):
    for s, wanted in responses.items():
        c = replay.clients[s]
        got = [m for answers in c.responses.values() for m in answers]
        got.sort(key=lambda m: m["at"])
        same(f"{s}: as many responses", len(got), len(wanted))
        for g, w in zip(got, wanted):
            name = f"{s}: command {w['command_id']}"
            check(name, all(type(g.get(k)) is type(v) and
                            (k == "data" or g[k] == v)
                            for k, v in w.items()), f"{g} is not {w}")
            if isinstance(w.get("data"), dict):
                check(f"{name}: its data", all(
                    type(g["data"].get(k)) is type(v)
                    for k, v in w["data"].items()), f"{g}")
            if not w["success"]:
                check(f"{name}: the text in both keys",
                      isinstance(g.get("error"), str) and
                      g["error"] == g.get("data"), g)
    replay.match()
    check("crawls are told apart",
          len(set(replay.crawls.values())) == 3 == len(replay.crawls),
          replay.crawls)
    owner = {data["subscription_id"]: s
             for s, data in replay.commands.values()
             if "subscription_id" in data}
    for n, wanted in items.items():
        c = replay.clients[owner[n]]
        got = [e["data"] for e in c.sub(replay.subs[n]).events]
        same(f"subscription {n}: its URLs", [g["url"] for g in got],
             [w["url"] for w in wanted])
        for g, w in zip(got, wanted):
            compare_item(f"subscription {n}", g, w, replay.crawls[0])
    for n, wanted in stats.items():
        s = replay.clients[owner[n]].sub(replay.subs[n])
        for crawl, fields in wanted.items():
            mine = s.merged.get(str(replay.crawls[int(crawl)]), {})
            same(f"subscription {n}, crawl {crawl}: the final state",
                 {k: mine.get(k) for k in fields}, fields)
    # Subscription 1 had begun before the crawl's end; its number is ours.
    s = replay.clients["A"].sub(replay.subs[0])
    full = ["seed" in e["data"][str(replay.crawls[0])] for e in s.events
            if str(replay.crawls[0]) in e["data"]]
    check("the first event of a crawl is full, others are not",
          full and full == [True] + [False] * (len(full) - 1), full)


def verify_skips(server, crawl):
    """What the recording does not have: why the others were not fetched."""
    merged = snapshot(server, crawl_id=crawl).get(str(crawl), {})
    same("skipped: other.invalid by scope, p4.html by depth",
         merged.get("skips"), {"scope": 1, "depth": 1})


def main():
    begin("realtime_transcript")
    need("realtime_transcript", files=[FILE])
    pages, lines = read_lines()
    web = serve(pages)
    server = Server("transcript", hosts={"site.test": web.port,
                                         "closed.test": closed_port()})
    replay = Replay(server, lines)
    replay.go()
    for name, c in sorted(replay.clients.items()):
        same(f"{name}: the connection is open", c.code, None)
    compare(replay, *differ(lines))
    verify_skips(server, replay.crawls[0])
    rules_kept()
    same("SIGTERM ends the daemon", server.stop(), 0)
    done()


main()
