"""The AMQP door of harvests, as SFM's user interface uses it: kombu declares and
publishes as sfm-utils does, over a RabbitMQ of this script's own, and a simulated
Mastodon is harvested.

    harvest_door.sh PROGRAM [SCENE...]

`shared=200` is the scene `shared` with so many harvests.
"""
import glob
import hashlib
import os
import re
import sqlite3
import stat
import sys
import uuid

from peer import (check, done, need, note, ours, python_with, same, skip,
                  wait_until)

PACKAGES = "kombu==5.3.7", "pika==1.3.2"
if "KOMBU_IS_HERE" not in os.environ:
    python = python_with("kombu-1", *PACKAGES)
    if python is None:
        skip("harvest_door", " and ".join(PACKAGES) + " cannot be had")
        done()
    os.environ["KOMBU_IS_HERE"] = "1"
    os.execv(python, [python, *sys.argv])

import http.server
import json
import socket
import threading
import time

from kombu import Connection, Exchange, Queue
from kombu.pools import producers

from peer import PLACE
from rabbitmq import Rabbit, Relay, need_rabbitmq
from harvest_door_shared import Shared
from harvest_door_web import Web
from serve import Serve
from simulated import Platforms

HOST = "mastodon.example"
KEY = "harvest.start.mastodon.mastodon_account"
STATUS = "harvest.status.mastodon.mastodon_account"
PRIVATE, TWITTER_API = "private.example", "api.twitter.com"
HOSTS = HOST, PRIVATE, TWITTER_API, "stream.twitter.com"
FINAL = ("completed success", "completed failure")
SHARED = 24
need_rabbitmq("harvest_door")


# ---- SFM's side -----------------------------------------------------------------

class Sfm:
    """Declares as sfmutils.consumer.BaseConsumer does, for sfm-ui's queue; and
    publishes as sfmutils does."""
    KEYS = ("harvest.status.*", "harvest.status.*.*", "harvest.status.*.*.*",
            "warc_created", "harvest.start.web", "export.status.*",
            "export.status.*.*")

    def __init__(self):
        self.exchange = Exchange("sfm_exchange", type="topic", durable=True)
        self.got = []                # (routing key, body, properties)
        self.connect()

    def connect(self):
        self.connection = Connection(
            f"amqp://guest:guest@127.0.0.1:{rabbit.port}//")
        channel = self.connection.channel()
        queue = Queue("sfm_ui", exchange=self.exchange, channel=channel,
                      durable=True)
        queue.declare()
        for key in self.KEYS:
            queue.bind_to(self.exchange, routing_key=key)
        self.consumer = self.connection.Consumer(
            queue, callbacks=[self.take], channel=channel)
        self.consumer.qos(prefetch_count=1, apply_global=True)
        self.consumer.consume()

    def take(self, body, message):
        self.got.append((message.delivery_info["routing_key"], body,
                         message.properties, message.content_type))
        message.ack()

    def publish(self, key, body, **more):
        with producers[self.connection].acquire(block=True) as p:
            p.publish(body=body, routing_key=key, retry=True,
                      exchange=self.exchange, **more)

    def raw(self, queue_or_key, text, exchange="sfm_exchange"):
        channel = self.connection.channel()
        message = channel.prepare_message(
            text, content_type="application/json", content_encoding="utf-8",
            properties={"delivery_mode": 2})
        channel.basic_publish(message, exchange=exchange,
                              routing_key=queue_or_key)
        channel.close()

    def wait(self, test, seconds=30):
        """Take messages until that holds."""
        until = time.monotonic() + seconds
        while not test():
            left = until - time.monotonic()
            if left <= 0:
                return False
            try:
                self.connection.drain_events(timeout=min(left, 0.2))
            except socket.timeout:
                pass
        return True

    def of(self, harvest, key=None):
        return [b for k, b, *_ in self.got
                if b.get("id", b.get("harvest", {}).get("id")) == harvest and
                (key is None or k == key)]

    def statuses(self, harvest, key=STATUS):
        return [b["status"] for b in self.of(harvest, key)]

    def final(self, harvest, seconds=30, key=STATUS, n=1):
        """The n-th final status, or None."""
        def finals():
            return [b for b in self.of(harvest, key) if b["status"] in FINAL]
        self.wait(lambda: len(finals()) >= n, seconds)
        return finals()[n - 1] if len(finals()) >= n else None

    def quiet(self, seconds=1.0):
        self.wait(lambda: False, seconds)


def order(*seeds, **more):
    harvest = uuid.uuid4().hex
    return dict({
        "id": harvest, "type": "mastodon_account",
        "path": f"/sfm-data/collection_set/{harvest}",
        "seeds": [{"id": f"s{i}", "token": t} for i, t in enumerate(seeds)],
        "options": {}, "credentials": {"instance": f"https://{HOST}",
                                       "access_token": TOKEN},
        "collection_set": {"id": "c" * 32}, "collection": {"id": "d" * 32}},
        **more)


class Door(Serve):
    door = "urlfrontier.listen=off",     # its port is one for all

    def __init__(self, name, instance=None, more=(), **rest):
        super().__init__(name, [
            f"harvest.url=amqp://guest@127.0.0.1:{rabbit.port}",
            f"harvest.instance={instance or name}", "urlfrontier.listen=off",
            f"harvest.roots=/sfm-data={ROOT}", "harvest.host=crawl1",
            # Of the scene web alone.
            "harvest.web_messages=off",
            "fetch.resolve=" + ",".join(f"{h}:443:127.0.0.1:{sim.port}"
                                        for h in HOSTS),
            f"fetch.ca_file={sim.ca}", *more], **rest)

    def log_has(self, word):
        with open(self.log, errors="replace") as f:
            return word in f.read()


def place(o):
    return ROOT + o["path"].removeprefix("/sfm-data")


def dead():
    """Dead letters, taken: [(headers, text)]."""
    channel = sfm.connection.channel()
    found = []
    while True:
        m = channel.basic_get("argiope_dead", no_ack=True)
        if m is None:
            channel.close()
            return found
        body = m.body if isinstance(m.body, str) else bytes(m.body).decode()
        found.append((m.headers, body))


def dead_letters(n):
    found = []
    wait_until(lambda: found.extend(dead()) or len(found) >= n, 20)
    return found


def depth(queue):
    for line in rabbit.ctl("-q", "list_queues", "name", "messages").split(
            "\n"):
        if line.split("\t")[0] == queue:
            return int(line.split("\t")[1])
    return None


# What contracts/harvest.md section 1 says.
TWITTER = ["twitter.twitter_search", "twitter.twitter_user_timeline",
           "twitter2.twitter_search_2", "twitter2.twitter_user_timeline_2",
           "twitter2.twitter_academic_search"]
BINDINGS = {("argiope_stop_one", "harvest.stop.#")} | {
    (queue, f"harvest.start.{type}") for queue, types in {
        "twitter_rest_harvester": TWITTER,
        "twitter_rest_harvester_priority": [t + ".priority" for t in TWITTER],
        "twitter_harvester": ["twitter.twitter_filter",
                              "twitter.twitter_sample",
                              "twitter2.twitter_filter_stream"],
        "mastodon_stream_harvester": ["mastodon.mastodon_stream"],
        "flickr_harvester": ["flickr.*"],
        "tumblr_harvester": ["tumblr.tumblr_blog_posts"],
        "weibo_harvester": ["weibo.weibo_timeline", "weibo.weibo_search"],
        "mastodon_harvester": ["mastodon.mastodon_account",
                               "mastodon.mastodon_hashtag"],
        "bluesky_harvester": ["bluesky.bluesky_author_feed"],
        "bluesky_stream_harvester": ["bluesky.bluesky_jetstream"],
        "feed_harvester": ["feed.feed_entries"],
        "youtube_harvester": ["youtube.youtube_channel",
                              "youtube.youtube_comments"],
        "json_harvester": ["json.json_api"],
        "web_harvester": ["web"]}.items() for type in types}


# ---- Scenes ----------------------------------------------------------------------

def objects():
    """What it declares is what SFM declares: no arguments, and its names."""
    rows = rabbit.ctl("-q", "list_queues", "name", "durable", "auto_delete",
                      "arguments")
    mine = {r.split("\t")[0]: r.split("\t")[1:] for r in rows.split("\n")
            if r and not r.startswith(("sfm_ui", "name")) and
            "_exporter" not in r}
    same("its queues", set(mine), {q for q, _ in BINDINGS} | {"argiope_dead"})
    check("durable, and without arguments",
          all(v == ["true", "false", "[]"] for v in mine.values()), mine)
    rows = rabbit.ctl("-q", "list_bindings", "source_name",
                      "destination_name", "routing_key")
    keys = {tuple(r.split("\t")[1:]) for r in rows.split("\n")
            if r.startswith("sfm_exchange") and "sfm_ui" not in r and
            "\texport.start." not in r}
    same("its keys", keys, BINDINGS)
    check("health: consumers of each queue", wait_until(lambda: all(
        door.metric("argiope_harvest_door_queue_consumers", queue=q) == 1
        for q, _ in BINDINGS if q != "argiope_stop_one"), 25))


def whole():
    """Start, running, warc_created, running with counts, success."""
    o = order("ada", "nobody")
    sfm.publish(KEY, o)
    final = sfm.final(o["id"])
    if not check("whole: it ends", final is not None, door.said()):
        return o
    statuses = sfm.statuses(o["id"])
    same("whole: success", statuses[-1], "completed success")
    same("whole: first it runs", statuses[0], "running")
    check("whole: nothing else", set(statuses[:-1]) == {"running"}, statuses)
    keys = [k for k, b, *_ in sfm.got if b in sfm.of(o["id"])]
    check("whole: warc_created stands between", keys[0] == STATUS and
          keys[-1] == STATUS and "warc_created" in keys, keys)
    (w,) = sfm.of(o["id"], "warc_created")
    same("whole: collection", (w["collection_set"], w["collection"]),
         (o["collection_set"], o["collection"]))
    same("whole: harvest", w["harvest"],
         {"id": o["id"], "type": "mastodon_account"})
    path = w["warc"]["path"]
    check("whole: the path is the requester's",
          path.startswith(o["path"] + "/20"), path)
    local = ROOT + path.removeprefix("/sfm-data")
    s = os.stat(local)
    same("whole: mode of the file", oct(stat.S_IMODE(s.st_mode)), "0o664")
    made = [os.path.join(place, x) for place, dirs, files in os.walk(ROOT)
            for x in dirs + files]
    same("whole: modes of all that is there", {
        oct(stat.S_IMODE(os.stat(x).st_mode)) for x in made},
        {"0o664", "0o2775"})
    same("whole: bytes", w["warc"]["bytes"], s.st_size)
    with open(local, "rb") as f:
        same("whole: sha1", w["warc"]["sha1"],
             hashlib.sha1(f.read()).hexdigest())
    check("whole: id", re.fullmatch("[0-9a-f]{32}", w["warc"]["id"]))
    posts = len(next(a for a in world["accounts"] if a["name"] == "ada")
                ["posts"])
    same("whole: counts", sum(n for day in final["stats"].values()
                              for n in day.values()), posts)
    same("whole: label", {k for day in final["stats"].values() for k in day},
         {"mastodon posts"})
    same("whole: files", final["warcs"], {"count": 1, "bytes": s.st_size})
    same("whole: warnings", [(x["code"], x["seed_id"])
                             for x in final["warnings"]],
         [("token_not_found", "s1")])
    same("whole: host and service", (final["host"], final["service"]),
         ("crawl1", "Argiope Mastodon Harvester"))
    same("whole: instance", final["instance"], str(door.child.pid))
    check("whole: uids come once, by the seed's id", [
        b["uids"] for b in sfm.of(o["id"], STATUS) if b["uids"]] ==
        [{"s0": next(a["id"] for a in world["accounts"]
                     if a["name"] == "ada")}],
        [b["uids"] for b in sfm.of(o["id"], STATUS)])
    for k, b, properties, content_type in sfm.got:
        if b in sfm.of(o["id"]):
            same(f"whole: properties of {k}", (
                content_type, properties.get("content_encoding"),
                properties.get("delivery_mode"), bool(
                    properties.get("message_id"))),
                ("application/json", "utf-8", 2, True))
            break
    check("whole: a state", os.path.exists(place(o) + "/state.json"))
    check("whole: a claim", open(f"{place(o)}/.argiope/{o['id']}.claim")
          .read() == "one")
    return o


def repeated(o):
    """The same once more: its final status, and nothing is harvested."""
    sim.own("forget", {})
    before = len(sfm.of(o["id"]))
    sfm.publish(KEY, o)
    check("repeated: the final status comes again",
          sfm.final(o["id"], n=2) is not None)
    sfm.quiet()
    same("repeated: that alone", len(sfm.of(o["id"])), before + 1)
    same("repeated: no request", len(sim.log()), 0)


def refused():
    """Each is answered by a failure with a code."""
    cases = [
        ("unsupported_harvest_type", order("ada", type="no.such type")),
        ("bad_request", order(seeds=[])),
        ("credentials_missing", order("ada", credentials={})),
        ("path_forbidden", order("ada", path="/etc/cron.d")),
        ("path_forbidden", order("ada", path="/sfm-data/../etc")),
        ("path_forbidden", order("ada", path="/sfm-data/away/x")),
        ("bad_request", order("ada", path=7)),
    ]
    outside = PLACE + "/outside"
    os.mkdir(outside)
    os.symlink(outside, ROOT + "/away")
    for _, o in cases:
        sfm.raw("mastodon_harvester", json.dumps(o), exchange="")
    for code, o in cases:
        key = STATUS if o["type"] == "mastodon_account" else \
            "harvest.status.no_such_type"
        f = sfm.final(o["id"], key=key)
        if not check(f"{code}: it is answered", f is not None, o):
            continue
        same(f"{code}: a failure", (f["status"], [e["code"]
             for e in f["errors"]]), ("completed failure", [code]))
        check(f"{code}: both dates", f["date_started"] and f["date_ended"])
    same("refused: nothing was made outside", os.listdir(outside), [])
    os.unlink(ROOT + "/away")    # the scene web rebuilds from what is there


def letters():
    """What cannot be worked on goes to argiope_dead, masked."""
    bodies = {"{not json": "not_json", "[1,2]": "not_object",
              json.dumps({"type": "x", "credentials": {"k": "s3cret-k"}}):
              "no_id"}
    for text in bodies:
        sfm.raw("mastodon_harvester", text, exchange="")
    sfm.raw("harvest.stop.any.thing", "stop!")
    check("health: dead letters", wait_until(lambda: door.metric(
        "argiope_harvest_door_letters_waiting") == 4, 25))
    found = dead_letters(4)
    same("letters: reasons", sorted(h["x-argiope-reason"] for h, _ in found),
         ["no_id", "not_json", "not_json", "not_object"])
    check("letters: no secret", not any("s3cret" in t for _, t in found))
    same("letters: queues", {h["x-argiope-queue"] for h, _ in found},
         {"mastodon_harvester", "argiope_stop_one"})
    check("letters: dates", all(re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00",
        h["x-argiope-time"]) for h, _ in found))
    same("letters: none is left in its queue",
         (depth("mastodon_harvester"), depth("argiope_stop_one")), (0, 0))


def stops():
    """Before the start, in the middle, twice, and afterwards."""
    early = order("ada")
    sfm.publish("harvest.stop.mastodon.mastodon_account", {"id": early["id"]})
    wait_until(lambda: door.metric("argiope_harvest_door_stops_total") >= 1)
    sfm.quiet(0.5)
    same("stop before start: nothing is said", sfm.of(early["id"]), [])
    sfm.publish(KEY, early)
    f = sfm.final(early["id"])
    if check("stop before start: it is answered", f is not None):
        same("stop before start: success at once", (
            f["status"], [i["code"] for i in f["infos"]], f["warcs"]["count"],
            f["date_started"] == f["date_ended"]),
            ("completed success", ["harvest_stopped"], 0, True))
    sim.faults({"match": {"path": "/api/v1/accounts/1*"},
                "fault": {"stall": 300, "at": 0}})
    o = order("ada")
    sfm.publish(KEY, o)
    check("stop: it runs", sfm.wait(lambda: sfm.statuses(o["id"])))
    for _ in range(2):
        sfm.publish("harvest.stop.mastodon.mastodon_account",
                    {"id": o["id"]})
    f = sfm.final(o["id"], 40)
    sim.faults()
    if check("stop: it ends", f is not None, door.said()):
        same("stop: success", f["status"], "completed success")
        check("stop: it says stopping", "stopping" in sfm.statuses(o["id"]),
              sfm.statuses(o["id"]))
    sfm.quiet(0.5)
    before = len(sfm.of(o["id"]))
    sfm.publish("harvest.stop.mastodon.mastodon_account", {"id": o["id"]})
    sfm.quiet()
    same("stop of a finished one: nothing is said", len(sfm.of(o["id"])),
         before)


class Followed:
    """An order of a stream, and what is said of it."""

    def __init__(self, type, key, seeds, credentials):
        self.o = dict(order(), type=type, credentials=credentials,
                      seeds=seeds)
        self.id, self.type = self.o["id"], type
        self.key, self.status = (f"harvest.{word}.{key}"
                                 for word in ("start", "status"))

    def start(self):
        sfm.publish(self.key, self.o)

    def said(self):
        return sfm.of(self.id, self.status)

    def words(self):
        return sfm.statuses(self.id, self.status)

    def warcs(self):
        return sfm.of(self.id, "warc_created")

    def runs(self, seconds=20):
        return check(f"{self.type}: it runs", sfm.wait(
            lambda: "running" in self.words(), seconds), door.said())

    def count(self):
        return sum(n for day in (self.said() or [{"stats": {}}])[-1]["stats"]
                   .values() for n in day.values())

    def ends(self, items, warcs, seconds=40):
        f = sfm.final(self.id, seconds, self.status)
        if not check(f"{self.type}: it ends", f is not None, door.said()):
            return
        same(f"{self.type}: success", (f["status"], f["errors"]),
             ("completed success", []))
        check(f"{self.type}: its posts", self.count() in items,
              (self.count(), items))
        check(f"{self.type}: its files", warcs <= len(self.warcs()) ==
              f["warcs"]["count"], (self.warcs(), f["warcs"]))
        files = {ROOT + w["warc"]["path"].removeprefix("/sfm-data")
                 for w in self.warcs()}
        same(f"{self.type}: they are there", files, set(glob.glob(
            place(self.o) + "/20*/*/*/*/*.warc.gz")))
        keys = [k for k, b, *_ in sfm.got if b in sfm.of(self.id)]
        check(f"{self.type}: the final status is the last message",
              keys[-1] == self.status and sfm.of(self.id)[-1] is f, keys)


def add(host, n):
    sim.own("change", {"host": host, "add": {"account": "ada", "n": n}})


def connected(*paths):
    check(f"streams: {paths} are connected", wait_until(lambda: set(paths) <= {
        x["path"] for x in sim.log()}, 30), {x["path"] for x in sim.log()})
    time.sleep(1)


def consumers(queue):
    for line in rabbit.ctl("-q", "list_queues", "name", "consumers").split(
            "\n"):
        if line.split("\t")[0] == queue:
            return int(line.split("\t")[1])


def streams():
    """The specification's flow of a stream harvest, with two slots for all."""
    door.stop(40)
    sim.own("forget", {})
    door.settings += ["harvest.heartbeat_s=10", "harvest.streams_max=2",
                      "warc.rollover_s=12s"]
    door.start()
    t = sim.world(TWITTER_API)
    keys = {k: t["credentials"][k] for k in (
        "consumer_key", "consumer_secret", "access_token",
        "access_token_secret")}
    ada = next(a for a in t["accounts"] if a["name"] == "ada")["id"]
    tweets = Followed("twitter_filter", "twitter.twitter_filter",
                      [{"id": "s0", "token": {"follow": ada}}], keys)
    toots = Followed("mastodon_stream", "mastodon.mastodon_stream", [], {
        "instance": f"https://{PRIVATE}",
        "access_token": sim.world(PRIVATE)["tokens"]["user"]})
    # An application and a user may have a stream each.
    waiting = Followed("twitter_filter_stream",
                       "twitter2.twitter_filter_stream",
                       [{"id": "s0", "token": {"rule": "from:ada"}}],
                       {"bearer_token": t["credentials"]["bearer_token"]})
    tweets.start()
    toots.start()
    if not (tweets.runs() and toots.runs()):
        return
    waiting.start()
    check("streams: when all slots are used no queue of theirs is consumed",
          wait_until(lambda: (depth("twitter_harvester"),
                              consumers("twitter_harvester"),
                              consumers("mastodon_stream_harvester")) ==
                     (1, 0, 0), 10))
    check("health: what waits", wait_until(lambda: (
        door.metric("argiope_harvest_door_queue_messages",
                    queue="twitter_harvester"),
        door.metric("argiope_harvest_door_queue_slots_used",
                    queue="twitter_harvester")) == (1, 1), 25))
    check("streams: other queues are", consumers("mastodon_harvester") == 1)
    # The next connections: what comes between two of them is missed.
    sim.own("forget", {})
    connected("/1.1/statuses/filter.json", "/api/v1/streaming/public")
    before = len(sim.world(PRIVATE)["public"])
    add(TWITTER_API, 20)
    add(PRIVATE, 15)
    # Boosts are not shown.
    shown = len(sim.world(PRIVATE)["public"]) - before
    check("streams: files while they run", sfm.wait(
        lambda: tweets.warcs() and toots.warcs(), 30), door.said())
    check("streams: and counts", sfm.wait(
        lambda: (tweets.count(), toots.count()) == (20, shown), 15),
        (tweets.count(), toots.count()))
    sfm.quiet(3)
    before = len(tweets.said()), len(toots.said())
    check("streams: they say that they run", sfm.wait(
        lambda: len(tweets.said()) > before[0] and
        len(toots.said()) > before[1], 25))
    same("streams: nothing else", set(tweets.words() + toots.words()),
         {"running"})
    sfm.publish("harvest.stop.mastodon.mastodon_stream", {"id": toots.id})
    toots.ends([shown], 1)
    check("streams: it said stopping", toots.words()[-2:] == [
        "stopping", "completed success"], toots.words())
    waiting.runs()
    connected("/2/tweets/search/stream")
    # One with the program's end: paused, and taken up.
    add(TWITTER_API, 5)
    time.sleep(1)
    same("streams: the daemon ends in order", door.stop(40), 0)
    check("streams: both have paused", sfm.wait(
        lambda: "paused" == tweets.words()[-1] == waiting.words()[-1], 10),
        (tweets.words(), waiting.words()))
    sfm.publish("harvest.stop.twitter2.twitter_filter_stream",
                {"id": waiting.id})
    before = len(tweets.words())
    door.start()
    check("streams: it is taken up", sfm.wait(
        lambda: "running" in tweets.words()[before:], 20), tweets.words())
    check("streams: and says so", "harvest_resumed" in [
        w["code"] for w in tweets.said()[-1]["warnings"]], tweets.said()[-1])
    waiting.ends([5], 1)
    sfm.publish("harvest.stop.twitter.filter", {"id": tweets.id})
    # Twitter cannot be asked for what comes between two connections.
    tweets.ends([20, 25], 2)
    same("streams: all is consumed again", [consumers(q) for q in (
        "twitter_harvester", "mastodon_stream_harvester")], [1, 1])
    del door.settings[-3:]
    door.restart()


def slow(ms):
    sim.faults({"match": {"path": "/api/v1/accounts/1*"},
                "fault": {"stall": ms, "at": 0}})


def with_settings(*more):
    door.stop(40)
    door.settings += more
    door.start()
    return len(more)


def limits():
    """The limits of section 8, at their edges."""
    n = with_settings("harvest.outbox_bytes_max=4096",
                      "harvest.prefetch_max=3", "harvest.tries_max=1",
                      "harvest.concurrency=mastodon_harvester=12",
                      "harvest.host=" + "h" * 250)
    rows = rabbit.ctl("-q", "list_consumers", "queue_name", "prefetch_count")
    check("prefetch_max: the broker holds to it", wait_until(
        lambda: "mastodon_harvester\t3" in rabbit.ctl(
            "-q", "list_consumers", "queue_name", "prefetch_count"), 10), rows)
    sim.faults({"match": {"path": "/api/v1/accounts/1*"},
                "fault": {"status": 418}})
    o = order("ada")
    sfm.publish(KEY, o)
    f = sfm.final(o["id"])
    check("tries_max: one fault is one too many", f is not None and
          [e["code"] for e in f["errors"]] == ["unknown_error"], f)
    check("tries_max: it is counted", wait_until(lambda: door.metric(
        "argiope_harvest_door_faults_total") == 1, 5))
    # Messages that no queue takes fill the outbox.
    slow(1500)
    sfm.connection.release()
    rabbit.ctl("delete_queue", "sfm_ui")
    orders = [order("ada") for _ in range(12)]
    c = Connection(f"amqp://guest:guest@127.0.0.1:{rabbit.port}//")
    for o in orders:
        with producers[c].acquire(block=True) as p:
            p.publish(body=o, routing_key=KEY, exchange=sfm.exchange)
    c.release()
    full = "argiope_harvest_door_outbox_full"
    check("outbox_bytes_max: it is full", wait_until(
        lambda: door.metric(full) == 1 and
        door.metric("argiope_harvest_door_starts_total") >= 13, 40),
        door.said())
    check("outbox_bytes_max: harvests pause", wait_until(
        lambda: door.metric("argiope_harvest_door_slots_used") == 0, 30))
    asked = len(sim.log())
    time.sleep(3)
    same("outbox_bytes_max: nothing more is asked for", len(sim.log()), asked)
    sim.faults()
    sfm.connect()
    finals = [sfm.final(o["id"], 90) for o in orders]
    same("outbox_bytes_max: they go on when there is room",
         [f and f["status"] for f in finals], ["completed success"] * 12)
    check("outbox_bytes_max: and say so", all(f and "harvest_resumed" in [
        w["code"] for w in f["warnings"]] for f in finals), [
        (f and f["warnings"], sfm.statuses(o["id"]))
        for o, f in zip(orders, finals)])
    check("outbox_bytes_max: each has paused", all(
        "paused" in sfm.statuses(o["id"]) for o in orders),
        [sfm.statuses(o["id"]) for o in orders])
    same("outbox_bytes_max: it has room", door.metric(full), 0)
    del door.settings[-n:]
    door.restart()


class Api(http.server.BaseHTTPRequestHandler):
    """SFM's interface: which WARC files it has."""
    known, asked = set(), []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(200 if "*" in self.known else 404)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def lost_confirm(relay, o):
    """The broker takes the news of a file, and its confirm is lost."""
    slow(1500)
    sfm.publish(KEY, o)
    sfm.wait(lambda: sfm.statuses(o["id"]))
    # The confirm of this status comes first.
    sfm.quiet(0.7)
    relay.muted = True
    sim.faults()
    check("lost confirm: the broker has the message", sfm.wait(
        lambda: sfm.of(o["id"], "warc_created"), 60), door.said())
    relay.cut()
    f = sfm.final(o["id"], 60)
    check("lost confirm: it ends", f is not None, door.said())
    return [w["warc"]["id"] for w in sfm.of(o["id"], "warc_created")]


def api():
    """After a lost confirm SFM is asked whether it has the file."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    relay = Relay(rabbit.port)
    n = with_settings(
        f"harvest.url=amqp://guest@127.0.0.1:{relay.port}",
        f"harvest.sfm_api=http://127.0.0.1:{server.server_port}/")
    Api.known.add("*")
    ids = lost_confirm(relay, order("ada"))
    same("sfm_api: a file that it has is not told of again", len(ids), 1)
    same("sfm_api: it was asked once, by the file's id", Api.asked,
         [f"/api/v1/warcs/{ids[0]}/"])
    Api.known.clear()
    ids = lost_confirm(relay, order("ada"))
    check("sfm_api: one that it has not is, under its id", len(ids) == 2 and
          ids[0] == ids[1], ids)
    same("sfm_api: it was asked", Api.asked[1:], [f"/api/v1/warcs/{ids[0]}/"])
    server.shutdown()
    del door.settings[-n:]
    door.restart()


def kills():
    """SIGKILL at any moment of short harvests: each id comes, nothing is lost,
    and no file is told of under two ids."""
    orders = []
    for turn in range(8):
        o = order("ada", "bob")
        orders.append(o)
        sfm.publish(KEY, o)
        sfm.wait(lambda: False, [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2][
            turn])
        door.kill()
        sfm.wait(lambda: False, 0.05)
        door.start()
    finals = [sfm.final(o["id"], 60) for o in orders]
    same("kills: each ends", [f and f["status"] for f in finals],
         ["completed success"] * len(orders))
    posts = sum(len(a["posts"]) for a in world["accounts"]
                if a["name"] in ("ada", "bob"))
    for o, f in zip(orders, finals):
        files = {ROOT + w["warc"]["path"].removeprefix("/sfm-data"):
                 w["warc"] for w in sfm.of(o["id"], "warc_created")}
        there = set(glob.glob(place(o) + "/20*/*/*/*/*.warc.gz"))
        same("kills: each file is announced", set(files), there)
        ids = {}
        for w in sfm.of(o["id"], "warc_created"):
            ids.setdefault(w["warc"]["path"], set()).add(w["warc"]["id"])
        check("kills: under one id", all(len(v) == 1 for v in ids.values()),
              ids)
        check("kills: whole", all(hashlib.sha1(open(p, "rb").read())
              .hexdigest() == w["sha1"] for p, w in files.items()))
        if f:
            same("kills: all posts are counted", sum(
                n for day in f["stats"].values() for n in day.values()),
                posts)
        statuses = sfm.statuses(o["id"])
        check("kills: nothing follows the final status", all(
            s in FINAL for s in statuses[statuses.index(FINAL[0]):])
            if FINAL[0] in statuses else False, statuses)


def pauses():
    """SIGTERM pauses it and says so; the next start takes it up."""
    sim.faults({"match": {"path": "/api/v1/accounts/1*"},
                "fault": {"stall": 200, "at": 0}})
    o = order("ada")
    sfm.publish(KEY, o)
    sfm.wait(lambda: sfm.statuses(o["id"]))
    same("pause: exit code", door.stop(40), 0)
    check("pause: it says so", sfm.wait(lambda: "paused" in
                                        sfm.statuses(o["id"]), 5),
          sfm.statuses(o["id"]))
    sim.faults()
    door.start()
    f = sfm.final(o["id"])
    if check("pause: it is taken up", f is not None, door.said()):
        same("pause: success, and said", (f["status"], [
            x["code"] for x in f["warnings"]]),
            ("completed success", ["harvest_resumed"]))


def crashed():
    """A body that came back three times without being stored is put aside."""
    o = order("ada")
    text = json.dumps(o)
    door.stop(40)
    sfm.raw("mastodon_harvester", text, exchange="")
    channel = sfm.connection.channel()
    m = None
    while m is None:
        m = channel.basic_get("mastodon_harvester")
    channel.basic_reject(m.delivery_tag, requeue=True)
    channel.close()
    with sqlite3.connect(door.data + "/store.db") as db:
        db.execute("INSERT INTO harvest_crash VALUES (?, 2, ?)", (
            "sha256:" + hashlib.sha256(text.encode()).hexdigest(),
            int(time.time() * 1e6)))
    db.close()
    door.start()
    found = dead_letters(1)
    same("crashed: a dead letter", [h["x-argiope-reason"] for h, _ in found],
         ["crashed"])
    check("crashed: masked", found and TOKEN not in found[0][1] and
          json.loads(found[0][1])["id"] == o["id"], found)
    sfm.quiet()
    same("crashed: it was not read", sfm.of(o["id"]), [])


def claims():
    """They go 30 days after the end, and not before."""
    orders = [order("bob") for _ in range(2)]
    for o in orders:
        sfm.publish(KEY, o)
    same("claims: both end", [bool(sfm.final(o["id"])) for o in orders],
         [True, True])
    files = [f"{place(o)}/.argiope/{o['id']}.claim" for o in orders]
    door.stop(40)
    with sqlite3.connect(door.data + "/store.db") as db:
        for o, days in zip(orders, (31, 29)):
            db.execute("UPDATE harvest SET ended = ended - ? WHERE id = ?",
                       (days * 86400 * 10**6, o["id"]))
    db.close()
    check("claims: they are there", all(map(os.path.exists, files)), files)
    door.start()
    check("claims: the older one goes", wait_until(
        lambda: not os.path.exists(files[0]), 20))
    check("claims: the other one stays", os.path.exists(files[1]))


def shared():
    """Two daemons share the work; one is killed, and comes back."""
    Shared(Door, door, sfm, sim, ROOT, order).run(
        number_of.get("shared") or SHARED)


def retired():
    """The queue of stops of a daemon that is gone, and of one that is not."""
    words = ["--set", f"harvest.url=amqp://guest@127.0.0.1:{rabbit.port}"]
    code, out, err = ours("harvest", "retire", "one", *words)
    same("retire: not while it runs", code, 75)
    door.stop(40)
    code, out, err = ours("harvest", "retire", "one", *words)
    same("retire: exit code", (code, err), (0, ""))
    same("retire: the queue is gone", depth("argiope_stop_one"), None)
    code, out, err = ours("harvest", "retire", "one", *words)
    same("retire: there is no other", code, 66)
    door.start()
    check("retire: a daemon that comes back has one again", wait_until(
        lambda: depth("argiope_stop_one") == 0, 20))
    code, out, err = ours("harvest", "retire", "one")
    same("retire: without harvest.url", code, 78)


def no_listener():
    """A message that no queue takes waits; so does the broker's own end."""
    sfm.connection.release()
    rabbit.ctl("delete_queue", "sfm_ui")
    o = order("ada")
    c = Connection(f"amqp://guest:guest@127.0.0.1:{rabbit.port}//")
    with producers[c].acquire(block=True) as p:
        p.publish(body=o, routing_key=KEY, exchange=sfm.exchange)
    c.release()
    check("no listener: messages come back", wait_until(
        lambda: (door.metric("argiope_harvest_door_published_total",
                             result="returned") or 0) >= 1, 20))
    check("health: the age of the outbox", wait_until(lambda: door.metric(
        "argiope_harvest_door_outbox_oldest_seconds") >= 1, 25))
    note_of = json.loads(door.http("/status")[2])["doors"]
    check("health: a line for people", any(re.search(
        r"slots, 0 wait; outbox: [1-9]\d* messages, the oldest \d+ s; dead "
        r"letters: \d+; connections lost: \d+", json.dumps(d))
        for d in note_of), note_of)
    rabbit.kill()
    rabbit.start()
    sfm.connect()
    f = sfm.final(o["id"], 90)
    check("no listener: all comes when there is one",
          f is not None and f["status"] == "completed success", door.said())
    same("no listener: each file once", len(sfm.of(o["id"],
                                                   "warc_created")), 1)
    check("no listener: the outbox is empty", wait_until(
        lambda: door.metric("argiope_harvest_door_outbox_messages") == 0, 10))


def secrets():
    """The credential is in no log, no database and no message."""
    for path in [door.log, *glob.glob(door.data + "/store.db*")]:
        with open(path, "rb") as f:
            check(f"no secret in {os.path.basename(path)}",
                  TOKEN.encode() not in f.read())
    check("no secret in a message", TOKEN not in json.dumps(
        [b for _, b, *_ in sfm.got]))


def without_a_url():
    """Without harvest.url nobody is contacted."""
    plain = Serve("plain", Door.door)
    time.sleep(1)
    rows = rabbit.ctl("-q", "list_connections", "client_properties")
    same("without harvest.url: no connection", rows.count("argiope"), 0)
    same("without harvest.url: it ends in order", plain.stop(), 0)


need("harvest_door")
rabbit = Rabbit()
# Rate limits are no part of it, and scenes that follow each other quickly would
# wait for them.
sim = Platforms("--items", "400", "--budget", "100000")
world = sim.world(HOST)
TOKEN = world["tokens"]["user"]
ROOT = os.path.join(PLACE, "root")
os.makedirs(ROOT)
number_of = {name: int(n or 0) for name, _, n in (
    a.partition("=") for a in sys.argv[2:])}
wanted = list(number_of)
without_a_url()
door = Door("one")
sfm = Sfm()
wait_until(lambda: door.log_has("side=publishing") and
           depth("argiope_dead") is not None, 20)
for scene in (objects, whole, refused, letters, stops, pauses, streams, limits,
              api, kills, claims, shared, retired, crashed, no_listener,
              secrets):
    if wanted and scene.__name__ not in wanted:
        continue
    note(scene.__name__)
    result = scene()
    if scene is whole:
        repeated(result)
same("the daemon ends in order", door.stop(40), 0)
if not wanted or "web" in wanted:
    note("web")
    Web(Door, sfm, sim, ROOT).run()
done()
