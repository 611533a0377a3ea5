"""Exports by message and by command: kombu publishes what SFM's user interface
sends, over a RabbitMQ of this script's own; a server plays that interface, with
the WARCs of the conformance suite; files must be those that SFM's exporters
wrote.

    harvest_export.sh PROGRAM [--all | SCENE...]
"""
import hashlib
import http.server
import os
import re
import shutil
import sqlite3
import stat
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

from peer import check, done, need, note, python_with, same, skip, wait_until

PACKAGES = "kombu==5.3.7", "pika==1.3.2"
if "KOMBU_IS_HERE" not in os.environ:
    python = python_with("kombu-1", *PACKAGES)
    if python is None:
        skip("harvest_export", " and ".join(PACKAGES) + " cannot be had")
        done()
    os.environ["KOMBU_IS_HERE"] = "1"
    os.execv(python, [python, *sys.argv])

import json
import socket

from kombu import Connection, Exchange, Queue
from kombu.pools import producers

from peer import PLACE, faults, fixed_port, ours
from rabbitmq import Rabbit, need_rabbitmq
from serve import Serve
from sfm_suite import *

need("harvest_export", files=[SUITE + "/expected/INDEX.json"])
need_rabbitmq("harvest_export")
FINAL = ("completed success", "completed failure")
UNDER = os.path.join(PLACE, "under")
SETS = os.path.join(PLACE, "sets")           # /sfm-collection-set-data
EXPORTS = os.path.join(UNDER, "exports")     # /sfm-export-data
# Changes of files between the row and its acknowledgement.
CLAIMS_AT = 13, 15


# ---- SFM's side -----------------------------------------------------------------

class Interface:
    """What sfm-ui answers to GET /api/v1/warcs/, two files a page."""

    def __init__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass
        self.warcs = {}              # key of a case: paths
        self.asked = {}              # key of a case: queries
        self.fail = 0                # so many answers are 503
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def answer(self, h):
        path, _, query = h.path.partition("?")
        q = dict(urllib.parse.parse_qsl(query))
        key = (q.get("collection") or q.get("seed", "")).split(":")[0]
        if self.fail > 0 or path != "/api/v1/warcs/":
            self.fail -= 1
            return self.send(h, 503, {})
        start = int(q.get("offset", 0))
        if start == 0:
            self.asked.setdefault(key, []).append(q)
        paths = self.warcs.get(key, [])
        more = f"http://sfm.invalid/api/v1/warcs/?{query}" \
            f"&offset={start + 2}" if start + 2 < len(paths) else None
        self.send(h, 200, {
            "count": len(paths), "next": more, "previous": None,
            "results": [{"warc_id": hashlib.md5(p.encode()).hexdigest(),
                         "path": p, "sha1": "0" * 40, "bytes": 1,
                         "date_created": "2016-02-22T14:36:21.927000Z",
                         "harvest_type": "flickr_user"}
                        for p in paths[start:start + 2]]})

    def send(self, h, status, body):
        data = json.dumps(body).encode()
        h.send_response(status)
        h.send_header("Content-Type", "application/json")
        h.send_header("Content-Length", str(len(data)))
        h.end_headers()
        try:
            h.wfile.write(data)
        except OSError:
            pass                     # it was killed


class Requester:
    """Publishes as sfm-ui does, and takes what its queue is bound to."""

    def __init__(self):
        self.exchange = Exchange("sfm_exchange", type="topic", durable=True)
        self.connection = Connection(
            f"amqp://guest:guest@127.0.0.1:{rabbit.port}//")
        channel = self.connection.channel()
        queue = Queue("sfm_ui", exchange=self.exchange, channel=channel,
                      durable=True)
        queue.declare()
        for key in ("export.status.*", "export.status.*.*"):
            queue.bind_to(self.exchange, routing_key=key)
        self.got = {}                # id: [(routing key, body)]
        self.final_ids = {}          # id: of messages
        self.consumer = self.connection.Consumer(
            queue, callbacks=[self.take], channel=channel)
        self.consumer.consume()

    def take(self, body, message):
        self.got.setdefault(body["id"], []).append(
            (message.delivery_info["routing_key"], body))
        if body["status"] in FINAL:
            self.final_ids.setdefault(body["id"], set()).add(
                message.properties["message_id"])
        message.ack()

    def publish(self, key, body):
        with producers[self.connection].acquire(block=True) as p:
            p.publish(body=body, routing_key=key, retry=True,
                      exchange=self.exchange)

    def wait(self, test, seconds):
        until = time.monotonic() + seconds
        while not test():
            if time.monotonic() > until:
                return False
            try:
                self.connection.drain_events(timeout=0.2)
            except socket.timeout:
                pass
        return True

    def finals(self, export):
        return [b for _, b in self.got.get(export, [])
                if b["status"] in FINAL]

    def final(self, export, n=1, seconds=30):
        self.wait(lambda: len(self.finals(export)) >= n, seconds)
        return (self.finals(export) + [None] * n)[n - 1]


class Door(Serve):
    def __init__(self, name, *more, data=None):
        super().__init__(name, [
            f"harvest.url=amqp://guest@127.0.0.1:{rabbit.port}",
            f"harvest.roots=/sfm-collection-set-data={SETS}, "
            f"/sfm-export-data={EXPORTS}", f"harvest.instance={name}",
            "harvest.host=crawl1", *more], data=data)


def codes(status, level="errors"):
    return [m["code"] for m in status[level]]


# ---- SFM's cases ----------------------------------------------------------------

# What SFM did not finish, or does otherwise: our code, level and whether all is
# exported.
OURS = {
    "bad-format": ("unsupported_export_format", "errors"),
    "neither": ("bad_request", "errors"), "both": ("bad_request", "errors"),
    "missing-warc": ("warc_missing", "errors"),
    "only-missing-warc": ("warc_missing", "errors"),
    "no-warcs": ("no_warcs", "errors"),
    "seed-uid-null": ("seed_without_uid", "warnings"),
    "seed-uid-empty": ("seed_without_uid", "warnings"),
    "seed-without-uid": ("seed_without_uid", "warnings"),
}
# As in archive_export.py; and files of SFM's that ours rightly lacks.
OTHER_FILES = {"twitter1-rest/x-com", "twitter2-stream/seeds",
               "twitter2-rest/extra-column", "twitter2-rest/segment-4/xlsx",
               "twitter2-rest/batches-of-3/xlsx"}


def prepare(case):
    """The message, with names that are this case's alone; its WARCs."""
    m = json.loads(json.dumps(case["message"]))
    kind, variation, form = case["case"].split("/")
    key = f"{kind}.{variation}.{form}"
    m["id"] = f"{kind}-{m['id']}"
    m["path"] = f"/sfm-export-data/{kind}/{m['id']}"
    if "collection" in m:
        m["collection"]["id"] = key
    for seed in m.get("seeds", []):
        seed["id"] = f"{key}:{seed['id']}"
    paths = []
    for w in case["warcs"]:
        path = os.path.join(SUITE, w)
        if "nowhere" not in w and os.path.exists(path):
            without_x_com(path)
        paths.append("/sfm-collection-set-data/" + os.path.basename(w))
    ui.warcs[key] = paths
    return key, m


def judge(case, key, m):
    name = case["case"]
    kind, variation, form = name.split("/")
    said = [b["status"] for _, b in requester.got[m["id"]]]
    status = requester.finals(m["id"])[0]
    code, level = OURS.get(variation, (None, None))
    if form == "html" and kind.startswith("twitter2"):
        code, level = "unsupported_export_format", "errors"
    success = level != "errors"
    good = status["status"] == FINAL[not success] and \
        (code is None or code in codes(status, level)) and \
        success == (not status["errors"]) and \
        {k for k, _ in requester.got[m["id"]]} == {case["routing_key"].replace(
            "start", "status", 1)} and status["date_started"] and \
        status["date_ended"]
    if code not in ("bad_request", "unsupported_export_format") or \
            form == "html":
        good = good and said == ["running", status["status"]]
    if not good:
        return check(name, False, f"{said} {status}")
    if case["exception"] or code in ("seed_without_uid", "no_warcs") or \
            name in OTHER_FILES or f"{kind}/{variation}" in OTHER_FILES:
        return True
    got = {f.replace(m["id"], case["message"]["id"]): data for f, data in
           files_in(os.path.join(EXPORTS, kind, m["id"])).items()}
    want = {f["name"]: load(f["stored"]) for f in case["files"]}
    wrong = [f for f in want if f not in got or
             not is_equal(case, got[f], want[f])]
    asked = [{k: v.removeprefix(key) for k, v in q.items()}
             for q in ui.asked.get(key, [])]
    return check(name, not wrong and set(got) == set(want),
                 f"{sorted(got)} {wrong} {asked}")


def chosen(all_cases):
    """One in four, and each that has something of its own to say."""
    for i, case in enumerate(cases()):
        kind, variation, form = case["case"].split("/")
        if all_cases or i % 4 == 0 or variation in OURS or form == "html" or \
                variation.startswith("seeds"):
            yield case


def suite_of_sfm():
    work = [(case, *prepare(case)) for case in chosen("--all" in sys.argv)]
    began = time.monotonic()
    for case, _, m in work:
        requester.publish(case["routing_key"], m)
    requester.wait(lambda: all(requester.finals(m["id"]) for *_, m in work),
                   240)
    took = time.monotonic() - began
    missing = [m["id"] for *_, m in work if not requester.finals(m["id"])]
    same("every message has a final status", missing, [])
    passed = sum(judge(*w) for w in work if w[2]["id"] not in missing)
    note(f"conformance: {passed} of {len(work)} messages, {took:.1f} s")
    seeds = [q["seed"] for q in ui.asked["twitter1-rest.seeds-21.csv"]]
    same("more than 20 seeds are asked for in parts",
         [len(s.split(",")) for s in seeds], [20, 1])


def synthetic(name):
    path = os.path.join(SUITE, "warcs", "synthetic", name + ".warc.gz")
    without_x_com(path)
    return f"/sfm-collection-set-data/{name}.warc.gz"


def order(key, warcs, **more):
    export = uuid.uuid4().hex
    ui.warcs[key] = [synthetic(w) for w in warcs]
    return dict({"id": export, "type": "flickr_user", "format": "dehydrate",
                 "collection": {"id": key}, "segment_size": None,
                 "path": f"/sfm-export-data/own/{export}"}, **more)


KEY = "export.start.flickr.flickr_user"


def specification():
    """The specification's own example."""
    m = {"id": "f3ddcbfc5d6b43139d04d680d278852e", "type": "flickr_user",
         "collection": {"id": "005b131f5f854402afa2b08a4b7ba960"},
         "path": "/sfm-export-data/exports/45", "format": "csv",
         "dedupe": True, "segment_size": 100000,
         "item_date_start": "2015-07-28T11:17:36.640178",
         "item_date_end": "2016-07-28T11:17:36.640178",
         "harvest_date_start": "2015-07-28T11:17:36.640178",
         "harvest_date_end": "2016-07-28T11:17:36.640178"}
    collection = m["collection"]["id"]
    ui.warcs[collection] = [synthetic("flickr-a"), synthetic("flickr-b")]
    requester.publish(KEY, m)
    f = requester.final(m["id"])
    check("specification: success", f and f["status"] == FINAL[0], f)
    same("specification: what is asked", ui.asked[collection], [
        {"collection": collection,
         "harvest_date_start": m["harvest_date_start"],
         "harvest_date_end": m["harvest_date_end"]}])
    folder = os.path.join(EXPORTS, "exports/45")
    same("specification: files", os.listdir(folder), [m["id"] + "_001.csv"])
    mode = [stat.S_IMODE(os.stat(p).st_mode) for p in
            (folder, os.path.join(folder, m["id"] + "_001.csv"))]
    check("specification: others may write there",
          mode == [0o2775, 0o664], mode)
    first = requester.got[m["id"]][0]
    same("specification: the first status", (first[0], first[1]["status"],
         sorted(first[1])), (KEY.replace("start", "status"), "running",
         ["date_started", "errors", "host", "id", "infos", "instance",
          "service", "status", "warnings"]))
    same("specification: who it was", (f["service"], f["host"],
         type(f["instance"])), ("Argiope Flickr Exporter", "crawl1", str))


def paths():
    """What must not be written to is left alone."""
    outside = os.path.join(PLACE, "outside")
    os.makedirs(outside, exist_ok=True)
    os.symlink(outside, os.path.join(EXPORTS, "link"))
    os.makedirs(os.path.join(EXPORTS, "full"))
    with open(os.path.join(EXPORTS, "full", "thesis.doc"), "w") as f:
        f.write("x")
    for path, code in (("/etc/x", "path_forbidden"),
                       ("/sfm-export-data/../x", "path_forbidden"),
                       ("/sfm-export-data", "path_forbidden"),
                       ("/sfm-export-data/link/x", "path_forbidden"),
                       ("/sfm-export-data/full", "path_not_empty"),
                       (None, "bad_request")):
        m = order("paths", ["flickr-a"], path=path)
        requester.publish(KEY, m)
        f = requester.final(m["id"])
        same(f"path {path}", f and codes(f), [code])
    same("nothing outside", os.listdir(outside), [])
    same("what was there stays", os.listdir(os.path.join(EXPORTS, "full")),
         ["thesis.doc"])
    m = order("outside", [])
    ui.warcs["outside"] = ["/etc/passwd", synthetic("flickr-a")]
    requester.publish(KEY, m)
    f = requester.final(m["id"])
    same("a WARC outside of the roots", f and (f["status"], codes(f)),
         (FINAL[1], ["path_forbidden"]))
    check("... and the rest is exported", os.path.exists(os.path.join(
        EXPORTS, "own", m["id"], m["id"] + "_001.txt")))


def again():
    """Repeated, replaced, tried again; dead letters."""
    m = order("again", ["flickr-a"])
    ui.fail = 2
    requester.publish(KEY, m)
    first = requester.final(m["id"])
    check("an interface that fails is asked again", first and
          first["status"] == FINAL[0] and ui.fail <= 0, first)
    place = os.path.join(EXPORTS, "own", m["id"])
    with open(os.path.join(place, m["id"] + "-README.txt"), "w") as f:
        f.write("by sfm-ui")
    requester.publish(KEY, dict(m, format="csv"))
    second = requester.final(m["id"], 2)
    same("repeated: the final status again", second, first)
    same("repeated: it ran once", sorted(os.listdir(place)),
         [m["id"] + "-README.txt", m["id"] + "_001.txt"])
    other = order("again", ["flickr-a"], path=m["path"], format="json")
    requester.publish(KEY, other)
    f = requester.final(other["id"])
    check("an older export is replaced", f and f["status"] == FINAL[0] and
          os.listdir(place) == [other["id"] + "_001.json"], f)
    channel = requester.connection.channel()
    for text in ("[]", "nothing", '{"type":"flickr_user"}'):
        channel.basic_publish(channel.prepare_message(
            text, content_encoding="utf-8"),
                              exchange="sfm_exchange", routing_key=KEY)
    found = []

    def take():
        while (x := channel.basic_get("argiope_dead", no_ack=True)):
            found.append((x.headers["x-argiope-reason"],
                          x.headers["x-argiope-queue"]))
        return len(found) >= 3
    wait_until(take, 20)
    channel.close()
    same("dead letters", sorted(found), [(r, "flickr_exporter") for r in (
        "no_id", "not_json", "not_object")])
    m = order("again", ["flickr-a"], id="a/b" + uuid.uuid4().hex)
    requester.publish(KEY, m)
    f = requester.final(m["id"])
    same("an id with a slash", f and codes(f), ["bad_request"])


def big_warc():
    """A WARC whose export takes a while: the same photos, again and again."""
    with open(os.path.join(SUITE, "warcs/synthetic/flickr-a.warc.gz"),
              "rb") as f:
        data = f.read()
    path = os.path.join(SETS, "big.warc.gz")
    with open(path, "wb") as f:
        for _ in range(12000):
            f.write(data)
    return "/sfm-collection-set-data/big.warc.gz"


def kills():
    """SIGKILL in the middle: begun again, the same bytes; the old directory
    stays until then."""
    m = order("kills", [], format="csv")
    ui.warcs["kills"] = [big_warc(), synthetic("flickr-b")]
    requester.publish(KEY, m)
    first = requester.final(m["id"], seconds=60)
    check("kills: an export", first and first["status"] == FINAL[0], first)
    place = os.path.join(EXPORTS, "own", m["id"])
    want = list(files_in(place).values())
    hidden = os.path.join(EXPORTS, "own", f".{m['id']}.export", "new")
    other = dict(m, id=uuid.uuid4().hex)
    requester.publish(KEY, other)
    in_middle = 0
    for _ in range(3):
        wait_until(lambda: os.path.isdir(hidden) and any(
            os.path.getsize(os.path.join(hidden, n)) > 1 << 16
            for n in os.listdir(hidden)), 10, 0.005)
        door.kill()
        stopped = os.path.isdir(hidden)
        if stopped:
            in_middle += 1
            same("kills: the old directory stays", os.listdir(place),
                 [m["id"] + "_001.csv"])
        door.start()
        if not stopped:
            break                # it was quicker
    check("kills: in the middle", in_middle >= 1, in_middle)
    f = requester.final(other["id"], seconds=60)
    check("kills: it is taken up", f and f["status"] == FINAL[0], f)
    same("kills: one final status", len(requester.finals(other["id"])), 1)
    got = files_in(place)
    same("kills: the files", list(got), [other["id"] + "_001.csv"])
    check("kills: the same bytes", list(got.values()) == want)
    same("kills: nothing is left beside it", os.path.exists(os.path.dirname(
        hidden)), False)


def claim_of(m):
    """Who has claimed it: the file lies beside the export's directory."""
    try:
        with open(os.path.join(EXPORTS, "own", ".argiope",
                               m["id"] + ".claim")) as f:
            return f.read()
    except FileNotFoundError:
        return None


def has_row(data, m):
    with sqlite3.connect(data + "/store.db") as db:
        (n,) = db.execute("SELECT count(*) FROM export WHERE id = ?",
                          (m["id"],)).fetchone()
    db.close()
    return n == 1


def make_older(data, exports):
    with sqlite3.connect(data + "/store.db") as db:
        for m, days in exports:
            db.execute("UPDATE export SET ended = ended - ? WHERE id = ?",
                       (days * 86400 * 10**6, m["id"]))
    db.close()


def begin_dying(library, n):
    """`door` is killed at the n-th change of a file since the file `go`."""
    door.env = {"LD_PRELOAD": library, "FAULT_UNDER": UNDER,
                "FAULT_TRACE": "/dev/null", "FAULT_KILL_AT": str(n),
                "FAULT_KILL_FROM": PLACE + "/go"}
    door.start()
    door.env = {}
    open(PLACE + "/go", "w").close()


def share(two, library, n):
    """An export whose message is lost by a daemon that dies, and so may come to
    both; whose it is, and which of them have seen it."""
    begin_dying(library, n)
    m = order("claims", ["flickr-a"])
    requester.publish(KEY, m)
    requester.wait(lambda: not door.runs() or requester.finals(m["id"]), 20)
    door.kill()
    os.unlink(PLACE + "/go")
    two.start()
    channel = requester.connection.channel()

    def is_taken():
        q = channel.queue_declare("flickr_exporter", passive=True)
        return (q.message_count, q.consumer_count) == (0, 1)
    wait_until(is_taken, 20)
    channel.close()
    door.start()
    f = requester.final(m["id"])
    check(f"claims {n}: it is made", f and f["status"] == FINAL[0], f)
    for daemon in door, two:
        daemon.stop(40)
    rows = [d.name for d in (door, two) if has_row(d.data, m)]
    same(f"claims {n}: one daemon has it", rows, [claim_of(m)])
    same(f"claims {n}: under one id", len(requester.final_ids[m["id"]]), 1)
    seen = [d.name for d in (door, two) if m["id"] in log_of(d)]
    return claim_of(m), "both" if len(seen) == 2 else "one of them"


def log_of(daemon):
    with open(daemon.log, errors="replace") as f:
        return f.read()


def claims():
    """Only one daemon makes an export, also where the broker gives the message to
    two of them, as the first one was killed before it acknowledged it."""
    m = order("claims", ["flickr-a"])
    os.makedirs(os.path.join(EXPORTS, "own", ".argiope"), exist_ok=True)
    with open(os.path.join(EXPORTS, "own", ".argiope", m["id"] + ".claim"),
              "w") as f:
        f.write("two")
    requester.publish(KEY, m)
    own = [order("claims", ["flickr-a"]) for _ in range(2)]
    for o in own:
        requester.publish(KEY, o)
    check("claims: what is another one's is left to it", wait_until(
        lambda: re.search("exporting.claimed.*" + m["id"], log_of(door)), 20))
    same("claims: the others are claimed", [
        bool(requester.final(o["id"])) and claim_of(o) for o in own],
        ["one", "one"])
    library = faults()
    if library is None:
        skip("claims: two daemons", "there is no compiler")
        return
    door.stop(40)
    same("claims: nothing is kept or said of it", (has_row(door.data, m),
         requester.got.get(m["id"])), (False, None))
    make_older(door.data, zip(own, (31, 29)))
    two = Door("two", f"harvest.sfm_api={ui.url}", "urlfrontier.listen=off",
               "harvest.queues=flickr_exporter")
    two.stop(40)
    seen = [(n, *share(two, library, n)) for n in CLAIMS_AT]
    for n, owner, who in seen:
        note(f"claims: killed at change {n}: {owner} has it, {who} has seen "
             f"it")
    door.start()
    check("claims: one that ended 31 days ago is removed", wait_until(
        lambda: claim_of(own[0]) is None, 20))
    same("claims: one that ended 29 days ago is not", claim_of(own[1]), "one")


def objects():
    """Queues and bindings are SFM's own; without arguments."""
    have = set()
    for line in rabbit.ctl("-q", "list_bindings", "source_name",
                           "destination_name", "routing_key").split("\n"):
        words = line.split("\t")
        if words[0] == "sfm_exchange" and words[2].startswith("export.start"):
            have.add((words[1], words[2].removeprefix("export.start.")))
    same("bindings", have, {(queue, key) for queue, keys in {
        "flickr_exporter": ["flickr.flickr_user"],
        "tumblr_exporter": ["tumblr.tumblr_blog_posts"],
        "weibo_exporter": ["weibo.weibo_search", "weibo.weibo_timeline"],
        "twitter_rest_exporter": ["twitter.twitter_search",
                                  "twitter.twitter_user_timeline"],
        "twitter_rest_exporter2": [
            "twitter2.twitter_search_2", "twitter2.twitter_user_timeline_2",
            "twitter2.twitter_academic_search"],
        "twitter_stream_exporter": ["twitter.twitter_filter",
                                    "twitter.twitter_sample"],
        "twitter_stream_exporter2": ["twitter2.twitter_filter_stream"],
        "mastodon_exporter": ["mastodon.*"], "bluesky_exporter": ["bluesky.*"],
        "feed_exporter": ["feed.*"], "youtube_exporter": ["youtube.*"],
        "json_exporter": ["json.*"]}.items() for key in keys})
    arguments = {line.split("\t")[1] for line in rabbit.ctl(
        "-q", "list_queues", "name", "arguments").split("\n")
        if line.split("\t")[0].endswith("_exporter")}
    same("queues have no arguments", arguments, {"[]"})


# ---- SFM's interface, answered by ours -------------------------------------------

def api_client():
    """sfm-utils' own client, where bench/peers.sh has fetched it."""
    place = os.environ.get("ARGIOPE_BENCH", "") + "/sfm/sfm-utils"
    if not os.path.exists(place + "/sfmutils/api_client.py"):
        return None
    sys.path.insert(0, place)
    try:
        from sfmutils.api_client import ApiClient
        return ApiClient
    except ImportError:
        return None


class Pages:
    """Follows `next` as sfm-utils' client does."""

    def __init__(self, base):
        self.base = base

    def all(self, path):
        url, found = self.base + path, []
        while url:
            with urllib.request.urlopen(url) as r:
                page = json.load(r)
            found += page["results"]
            url = page["next"]
        return found


def status_of(url):
    try:
        with urllib.request.urlopen(url) as r:
            return r.status, json.load(r)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def harvested(data, n):
    """Rows of harvests, as the daemon leaves them; and their files."""
    with sqlite3.connect(data + "/store.db") as db:
        (node,) = db.execute("SELECT node FROM harvest UNION ALL SELECT ''"
                             ).fetchone()
        for i in range(n):
            kind = "web" if i == 3 else "flickr_user"
            collection = "%032x" % (0xabc if i % 2 else 0xdef)
            began = 1464775200 + i * 3600
            message = {"collection": {"id": collection},
                       "seeds": [{"id": f"s{i % 3}"}]}
            db.execute("INSERT INTO harvest (id, type, path, node, state,"
                       " accepted, started, ended, message) VALUES (?, ?, ?,"
                       " ?, 'completed success', ?, ?, ?, ?)", (
                           f"h{i}", kind, f"{SETS}/c{i % 2}", node,
                           began * 10**6, began * 10**6, (began + 60) * 10**6,
                           json.dumps(message)))
            name = "x-%s-00000-abcdefgh.warc.gz" % time.strftime(
                "%Y%m%d%H%M%S000", time.gmtime(began + 30))
            folder = time.strftime(f"{SETS}/c{i % 2}/%Y/%m/%d/%H",
                                   time.gmtime(began + 30))
            os.makedirs(folder, exist_ok=True)
            shutil.copy(synthetic("flickr-" + "ab"[i % 2]).replace(
                "/sfm-collection-set-data", SETS), f"{folder}/{name}")
            db.execute("INSERT INTO harvest_warc (harvest, name, warc_id,"
                       " sha1, bytes, created, placed) VALUES (?, ?, ?, ?, ?,"
                       " ?, 1)", (f"h{i}", name, "%032x" % i, "a" * 40,
                                  10 + i, (began + 30) * 10**6))
    db.close()


def ids(warcs):
    return [int(w["warc_id"], 16) for w in warcs]


def command(own):
    """Exports by command, and their files over HTTP."""
    def ask(name, token=None, **args):
        fields = {"Content-Type": "application/json"}
        if token:
            fields["Authorization"] = "Bearer " + token
        status, _, body = own.http("/realtime/command", "POST", fields,
                                   json.dumps({"command": name, "args": args,
                                               "command_id": 1}).encode())
        return status, json.loads(body)

    def final(name):
        found = []
        wait_until(lambda: found.append(ask("export.get", id=name)[1][
            "data"]) or found[-1]["state"] in FINAL, 30)
        return found[-1]

    order = {"type": "flickr_user", "format": "csv", "dedupe": True,
             "harvests": ["h0", "h1"], "readme": True}
    status, answer = ask("export.start", order=order)
    check("command: start", status == 200, answer)
    name = answer["data"]["id"]
    check("command: its id", re.fullmatch(r"export-\d+", name), name)
    x = final(name)
    same("command: success", (x["state"], x["result"]["errors"],
         x["result"]["warcs"], x["path"]),
         (FINAL[0], [], 2, f"{own.data}/exports/{name}"))
    files = {f["name"]: f["bytes"] for f in x["result"]["files"]}
    same("command: files", sorted(files), ["README.txt", name + "_001.csv"])
    status, fields, body = own.http(f"/exports/{name}/{name}_001.csv")
    same("command: download", (status, len(body), body[:9],
         fields["Content-Type"]), (200, files[name + "_001.csv"],
                                   b"photo_id,", "text/csv; charset=utf-8"))
    for path in ("nothing/x_001.csv", f"{name}/store.db",
                 f"{name}/{name}_%2F..%2F..%2Fstore.db"):
        status = own.http("/exports/" + path)[0]
        check(f"command: no download of {path}", status in (400, 404),
              status)
    for wrong, field in ((dict(order, format="pdf"), "format"),
                         (dict(order, collection={"id": "x"}), "collection"),
                         (dict(order, path="/etc/x"), "path"), ([], "object")):
        status, answer = ask("export.start", order=wrong)
        check(f"command: wrong {field}", status == 400 and field in
              answer["error"], answer)
    same("command: an unknown id", ask("export.get", id="x")[1]["code"],
         "unknown_export")
    same("command: one that is over", ask("export.cancel", id=name)[1][
        "code"], "bad_state")
    status, answer = ask("export.start", order=dict(
        order, path="/sfm-export-data/by-command"))
    x = final(answer["data"]["id"])
    same("command: below a root", (x["state"], x["downloadable"], len(
        os.listdir(os.path.join(EXPORTS, "by-command")))),
        (FINAL[0], False, 2))
    _, answer = ask("export.list", size=2)
    same("command: list", (answer["data"]["total"], [
        e["id"] for e in answer["data"]["exports"]][0]),
        (answer["data"]["total"], x["id"]))
    tokens = {scope: ours("token", "add", re.sub("[:,]", "-", scope),
                         "--scope", scope, "--data", own.data)[1].split()[-1]
              for scope in ("harvest:read", "realtime:write",
                            "realtime:read,harvest:write")}
    # The daemon hears of them within a second.
    wait_until(lambda: own.http(f"/exports/{name}/README.txt")[0] == 401, 10)
    same("tokens: none", [own.http(p)[0] for p in (
        f"/exports/{name}/README.txt", "/api/v1/warcs/")], [401, 401])
    same("tokens: harvest:read downloads", [own.http(p, fields={
        "Authorization": "Bearer " + tokens["harvest:read"]})[0] for p in (
            f"/exports/{name}/README.txt", "/api/v1/collections/")],
        [200, 200])
    same("tokens: realtime alone may not", [ask(c, tokens["realtime:write"],
         **a)[0] for c, a in (("export.list", {}),
                              ("export.start", {"order": order}))],
         [403, 403])
    same("tokens: harvest:write may", [ask(c, tokens[
        "realtime:read,harvest:write"], **a)[0] for c, a in (
            ("export.list", {}), ("export.start", {"order": order}))],
        [200, 200])


def rest():
    """SFM's exporters find our WARC files, and so do our own exports."""
    port = fixed_port()
    own = Door("own", "harvest.queues=flickr_exporter",
               f"harvest.api_listen=127.0.0.1:{port}")
    own.stop(40)
    harvested(own.data, 600)
    own.start()
    base = f"http://127.0.0.1:{port}"
    pages = Pages(base)
    found = pages.all("/api/v1/warcs/")
    same("rest: all but those of the web, in order", ids(found),
         [i for i in range(600) if i != 3])
    same("rest: one", found[1], {
        "warc_id": "%032x" % 1,
        "path": "/sfm-collection-set-data/c1/2016/06/01/11/"
        "x-20160601110030000-00000-abcdefgh.warc.gz", "sha1": "a" * 40,
        "bytes": 11, "date_created": "2016-06-01T11:00:30.000000Z",
        "harvest_type": "flickr_user"})
    same("rest: by its id", status_of(f"{base}/api/v1/warcs/{1:032x}/"),
         (200, found[1]))
    same("rest: none", status_of(f"{base}/api/v1/warcs/unknown/"),
         (404, {"detail": "Not found."}))
    same("rest: with the web", len(pages.all(
        "/api/v1/warcs/?include_web=true")), 600)
    _, page = status_of(f"{base}/api/v1/warcs/?limit=2&offset=1&nothing=1")
    same("rest: a page", (page["count"], ids(page["results"]), page["next"],
                          page["previous"]),
         (599, [1, 2], f"{base}/api/v1/warcs/?limit=2&offset=3",
          f"{base}/api/v1/warcs/?limit=2"))
    same("rest: a date without time", status_of(
        f"{base}/api/v1/warcs/?harvest_date_start=2999-01-01"),
        (400, {"harvest_date_start": ["Enter a valid date/time."]}))
    same("rest: seeds", ids(pages.all("/api/v1/warcs/?seed=s1,none"))[:3],
         [1, 4, 7])
    client = api_client()
    if client is None:
        skip("sfm-utils' client", "sfm-utils is not at hand")
    else:
        c = client(base + "/any/path")
        same("sfm-utils: a collection", ids(c.warcs(
            collection_id="%032x" % 0xdef)), list(range(0, 600, 2)))
        same("sfm-utils: dates, both inside", ids(c.warcs(
            harvest_date_start="2016-06-01T15:00:00Z",
            created_date_end="2016-06-01T17:00:30")), [5, 6, 7])
        same("sfm-utils: collections", [(x["collection_id"], x["is_on"],
             x["harvest_type"]) for x in c.collections("0" * 29 + "DE")],
             [("%032x" % 0xdef, False, "flickr_user")])
    same("rest: nothing else is served there", status_of(base + "/status")[0],
         404)
    same("rest: on the daemon's port, too", own.http(
        f"/api/v1/warcs/{1:032x}/")[0], 200)
    m = order("%032x" % 0xdef, [], dedupe=True,
              harvest_date_end="2016-06-01T18:00:00Z")
    requester.publish(KEY, m)
    f = requester.final(m["id"])
    check("our own files are exported", f and f["status"] == FINAL[0], f)
    with open(os.path.join(EXPORTS, "own", m["id"], m["id"] + "_001.txt"),
              "rb") as file:
        got = sorted(file.read().split())
    want = set()
    for case in cases():
        if case["case"] == "flickr/all/dehydrate":
            want = set(load(case["files"][0]["stored"]).split())
    check("... all of them", got and set(got) <= want and
          len(got) == len(set(got)), got)
    command(own)
    same("own: it ends in order", own.stop(40), 0)


rabbit = Rabbit()
for folder in (SETS, EXPORTS):
    os.makedirs(folder)
os.symlink(SETS, os.path.join(PLACE, "warcs"))
ui = Interface()
door = Door("one", f"harvest.sfm_api={ui.url}", data=UNDER + "/one")
requester = Requester()
wait_until(lambda: "flickr_exporter" in rabbit.ctl("-q", "list_queues",
                                                   "name"), 20)
wanted = [a for a in sys.argv[2:] if not a.startswith("--")]
for scene in (objects, specification, suite_of_sfm, paths, again, kills,
              claims):
    if not wanted or scene.__name__ in wanted:
        note(scene.__name__)
        scene()
same("the daemon ends in order", door.stop(40), 0)
if not wanted or "rest" in wanted:
    note("rest")
    rest()
done()
