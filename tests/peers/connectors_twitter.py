"""Connectors of Twitter against the simulator: this script makes their calls,
signed by oauthlib, and each run is saved and loaded between any two answers.
What they harvest is what the simulator has."""
import base64
import http.client
import json
import os
import sys
import time
import urllib.parse

from connector_run import Run
from peer import done, python_with, same, skip
from simulated import Answer, Platforms

PACKAGE = "twarc==2.14.0"            # it brings oauthlib
if python_with("twarc-2", PACKAGE) is None:
    skip("connectors_twitter", f"{PACKAGE} cannot be had from PyPI")
    done()
sys.path.insert(0, os.environ["PYTHONPATH"])
from oauthlib.oauth1 import Client

HOST = "api.twitter.com"
sim = Platforms("--items", "900", "--seconds", "900",
                name="connectors_twitter")
world = sim.world(HOST)
keys = world["credentials"]
accounts = {a["name"]: a for a in world["accounts"]}
APP = {"bearer_token": keys["bearer_token"]}
PAIR = {k: keys[k] for k in ("consumer_key", "consumer_secret")}
USER = {k: v for k, v in keys.items() if k != "bearer_token"}
WEEK = (int(time.time() * 1000) - 7 * 86400000 - 1288834974657) << 22
recent = {k: {i for i in told if int(i) > WEEK}
          for k, told in world["searches"].items()}


class Driver:
    """Makes the calls of one harvest, and has the application's token."""

    def __init__(self, kind, message, credential, state=None):
        self.token, self.ids = None, []
        self.run = Run(kind, {"credentials": credential, **message}, state)

    def fetch_token(self):
        pair = ":".join(urllib.parse.quote(PAIR[k], "") for k in PAIR)
        a = sim.ask(HOST, urllib.parse.urlsplit(self.run.token_url).path,
                    method="POST", body="grant_type=client_credentials",
                    Authorization="Basic " + base64.b64encode(
                        pair.encode()).decode())
        self.token = a.json().get("access_token")

    def fields(self):
        """Those of the head."""
        r = self.run
        fields = {} if r.method == "GET" else {
            "Content-Type": "application/x-www-form-urlencoded" if
            r.method == "form" else "application/json"}
        if r.auth == "oauth1":
            form = r.body if r.method == "form" else None
            fields = Client(*USER.values()).sign(
                r.call[0], "GET" if r.method == "GET" else "POST", form,
                fields)[1]
        elif r.auth == "bearer":
            fields["Authorization"] = "Bearer " + keys[r.secret]
        else:
            if self.token is None:
                self.fetch_token()
            fields["Authorization"] = f"Bearer {self.token}"
        return fields

    def send(self):
        """A connection, and the answer's head."""
        url = urllib.parse.urlsplit(self.run.call[0])
        c = sim.client(url.hostname)
        c.request("GET" if self.run.method == "GET" else "POST", url.path + (
            "?" + url.query if url.query else ""),
            self.run.body.encode() or None, self.fields())
        return c, c.getresponse()

    def make(self):
        """One call; what a driver tries again by itself is tried again."""
        for tries in range(9):
            c, response = self.send()
            a = Answer(response)
            c.close()
            if a.status == 401 and self.run.auth == "app" and tries == 0:
                self.token = None    # fetched anew, once
                continue
            try:
                if a.status < 500 and (a.status >= 400 or a.json() != ""):
                    break
            except ValueError:
                pass
        head = "".join(f"{k}: {v}\r\n" for k, v in a.fields.items())
        if a.status < 300:
            self.ids += ids_of(a.json())
        self.run.answer(a.status, head.encode() + b"\r\n", a.body)

    def follow(self, wanted):
        """One stream, with what is new while it is there."""
        c, response = self.send()
        before = len(self.ids)
        told = wanted()
        while len(self.ids) - before < len(told):
            line = response.readline().strip()
            if line:
                x = json.loads(line)
                self.ids.append(x.get("data", x).get("id_str") or
                                x["data"]["id"])
                self.run.frame(line)
        c.close()
        time.sleep(0.5)  # until the simulator has seen it leave
        self.run.answer(response.status, b"\r\n")
        return told


def ids_of(answer):
    found = answer if isinstance(answer, list) else answer.get(
        "statuses", answer.get("data", []))
    return [t.get("id_str", t["id"]) for t in found if
            "text" in t or "full_text" in t] if isinstance(found, list) else []


def harvest(kind, seeds, credential, state=None, pause=0, **options):
    d = Driver(kind, {"seeds": seeds, "options": options}, credential, state)
    while d.run.call is not None:
        d.make()
        time.sleep(pause)
    same(f"{kind}: as many are counted as came", d.run.count(), len(d.ids))
    return d


def tokens(*some):
    return [{"id": str(i), "token": t} for i, t in enumerate(some)]


def greatest(ids):
    return str(max(map(int, ids)))


# ---- Searches ------------------------------------------------------------------------

for name, given in (("bearer", APP), ("application", PAIR), ("user", USER)):
    d = harvest("twitter_search_2", tokens("cats", {"query": "owls"}), given)
    same(f"recent tweets, by the token of: {name}", (
        sorted(d.ids), "done" in d.run.found),
         (sorted([*recent["cats"], *recent["owls"]]), True))
    same("... their states", d.run.state, {
        f"{k}.since_id": greatest(recent[k]) for k in ("cats", "owls")})
d = harvest("twitter_search", tokens("cats"), USER)
same("recent tweets by v1.1", sorted(d.ids), sorted(recent["cats"]))
d = harvest("twitter_search", tokens({"query": "cats", "geocode":
                                      "37.7,-122.4,10mi"}), USER)
place = set(world["searches"]["place"])
same("... of a place", set(d.ids), recent["cats"] & place)
d = harvest("twitter_academic_search", tokens("owls", {
    "query": "cats", "geocode": "-122.4 37.7 10mi"}), USER, pause=1.01)
same("all years; searches wait a second", (set(d.ids), {
    s for _, s in d.run.calls}), (set(world["searches"]["owls"]) |
                                  set(world["searches"]["cats"]) & place,
                                  {200}))
middle = sorted(recent["cats"], key=int)[9]
for kind, given in (("twitter_search_2", APP), ("twitter_search", USER)):
    d = harvest(kind, tokens("cats"), given, {"cats.since_id": middle},
                incremental=True)
    same(f"{kind}: only what is new", set(d.ids),
         {i for i in recent["cats"] if int(i) > int(middle)})
d = harvest("twitter_search_2", tokens("cats"), APP, {
    "cats.since_id": accounts["ada"]["tweets"][0]}, incremental=True)
same("a state that is too old", (set(d.ids), d.run.codes()),
     (recent["cats"], ["partial_posts"]))
d = harvest("twitter_search_2", tokens({"query": "cats", "start_time":
                                        "2020-01-01"}), APP)
same("a beginning that is too old", (set(d.ids), d.run.codes()),
     (recent["cats"], ["partial_posts"]))

# ---- Timelines ----------------------------------------------------------------------------

people = [*tokens("ada", "@Bob", "cleo", "dora", "eve", "fay", "nobody"),
          {"id": "x", "token": "old", "uid": "14"}]
whole = [i for n in ("ada", "bob", "cleo", "bob")
         for i in accounts[n]["tweets"]]
for kind, given in (("twitter_user_timeline_2", APP),
                    ("twitter_user_timeline", USER)):
    d = harvest(kind, people, given)
    same(f"{kind}: all tweets", sorted(d.ids), sorted(whole))
    same(f"{kind}: accounts that are not there", d.run.codes(), [
        "token_suspended", "token_unauthorized", "token_not_found"])
    same(f"{kind}: names and ids of today", d.run.found["seed"][-1],
         ["x", "", "bob"])
    same(f"{kind}: their states", d.run.state, {
        f"timeline.{accounts[n]['id']}.since_id": greatest(
            accounts[n]["tweets"]) for n in ("ada", "bob", "cleo")})

# ---- Faults -------------------------------------------------------------------------------

LISTS = (("twitter_search_2", APP, "cats", recent["cats"], True),
         ("twitter_user_timeline_2", PAIR, "ada", accounts["ada"]["tweets"],
          True),
         ("twitter_search", USER, "cats", recent["cats"], False),
         ("twitter_user_timeline", USER, "ada", accounts["ada"]["tweets"],
          False))
for fault in ({"page": "duplicate"}, {"page": "overlap"}, {"page": "reordered"},
              {"page": "empty"}, {"page": "loop"}, {"status": 429, "reset": 30},
              {"status": 429, "reset": "none"}, {"status": 503},
              {"body": "html"}, {"body": "pretty"}, {"big": 4 << 20}):
    for kind, given, seed, told, by_cursor in LISTS:
        if fault == {"page": "empty"} and not by_cursor:
            continue  # nothing tells it from the list's end
        sim.faults(*[{"match": {"path": p, "nth": 2}, "fault": fault}
                     for p in ("/2/tweets/*", "/2/users/*", "/1.1/search/*",
                               "/1.1/statuses/*")])
        d = harvest(kind, tokens(seed), given)
        same(f"{fault}, {kind}", (set(d.ids), "done" in d.run.found),
             (set(told), True))
sim.faults()

# ---- Streams ------------------------------------------------------------------------------


def added(pick):
    """What is new of a list, once there are more tweets."""
    def add():
        before = set(pick(sim.world(HOST)))
        for name, n in (("ada", 40), ("bob", 3)):
            sim.own("change", {"host": HOST, "add": {"account": name,
                                                     "n": n}})
        return [i for i in pick(sim.world(HOST)) if i not in before]
    return add


def cats(now):
    return now["searches"]["cats"]


def owls_and_bob(now):
    return sorted(set(now["searches"]["owls"]) |
                  set(now["accounts"][1]["tweets"]), key=int)


def everything(now):
    return sorted((i for a in now["accounts"] for i in a["tweets"]), key=int)


for kind, given, seeds, pick in (
        ("twitter_filter_stream", APP, tokens({"rule": "cats", "tag": "c"}),
         cats),
        ("twitter_filter_stream", PAIR, tokens("owls", "from:bob"),
         owls_and_bob),
        ("twitter_filter", USER, tokens({"track": "cats"}), cats),
        ("twitter_filter", USER, tokens({"follow": "14"}, "owls"),
         owls_and_bob),
        ("twitter_sample", USER, [], everything)):
    d = Driver(kind, {"seeds": seeds}, given)
    while d.run.call[1] != "lines":
        d.make()
    wanted = [i for _ in range(2) for i in d.follow(added(pick))]
    same(f"{kind}: new tweets, by two streams", (d.ids, d.run.count(),
                                                 d.run.codes()),
         (wanted, len(wanted), []))
    d.run.end()
same("the rules are those of the last one", sim.world(HOST)["rules"],
     ["owls", "from:bob"])
sim.own("change", {"host": HOST, "rules_max": 1})
d = Driver("twitter_filter_stream", {"seeds": tokens("cats", "owls")}, APP)
while d.run.call[1] != "lines":
    d.make()
same("no room for all rules", (d.run.codes(), sim.world(HOST)["rules"]),
     (["token_RulesCapExceeded"], ["owls"]))
d.run.end()

# ---- Credentials --------------------------------------------------------------------------

sim.faults({"match": {"path": "/2/*", "nth": 3},
            "fault": {"credential": "expires"}})
d = harvest("twitter_search_2", tokens("cats", "owls"), PAIR)
same("a token of the application that expires", "done" in d.run.found, True)
for kind, given in (("twitter_search_2", APP), ("twitter_search", USER)):
    d = harvest(kind, tokens("cats"), given)
    same(f"{kind}: a credential that has expired",
         [code for code, _ in d.run.found["fail"]], ["harvest_Unauthorized"])
same("they asked nothing that the simulator does not know",
     {x["path"] for x in sim.log() if not x["known"]}, set())
done()
