"""harvest_broker.py start|outbox|streams N -- what bench/harvest measures of the
door of RabbitMQ, in the folder where it is started, with a broker of its own and
the platforms' simulator.  Prints JSON.

start   from a start message to the final status that answers it, N times, ms:
        an account whose posts are one page
outbox  N messages that wait in the outbox, confirmed each second; and of pika,
        which waits for each confirm
streams how much memory N streams take, all open, with posts on each of them
"""
import glob
import json
import os
import sqlite3
import sys
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "peers"))

import pika

from rabbitmq import Rabbit
from serve import Serve
from simulated import Platforms

HOST = "public.api.bsky.app"
ACCOUNT = "cleo.example"
JETSTREAM = "jetstream2.us-east.bsky.network"
STREAMS_S, STREAM_POSTS = 40, 20     # so long, so many posts a second
STATUS = "harvest.status.bluesky.bluesky_author_feed"
BODY = json.dumps({
    "id": "0" * 32, "status": "running", "date_started":
    "2026-11-27T17:17:36.640044+00:00", "infos": [], "warnings": [],
    "errors": [], "stats": {"2026-11-27": {"bluesky posts": 1200}},
    "token_updates": {}, "uids": {}, "warcs": {"count": 3, "bytes": 345234},
    "service": "Argiope Bluesky Harvester", "host": "crawl1", "instance": "39"})
AS_JSON = dict(content_type="application/json", content_encoding="utf-8",
               delivery_mode=2)


class Sfm:
    """The user interface's side, by pika."""

    def __init__(self, port):
        self.connection = pika.BlockingConnection(pika.ConnectionParameters(
            "127.0.0.1", port))
        self.channel = self.connection.channel()
        self.channel.exchange_declare("sfm_exchange", "topic", durable=True)
        self.channel.queue_declare("sfm_ui", durable=True)
        for key in ("harvest.status.*.*", "warc_created"):
            self.channel.queue_bind("sfm_ui", "sfm_exchange", key)

    def wait_for(self, queue, seconds=30):
        """Until the door takes from it: what comes before has no queue."""
        until = time.monotonic() + seconds
        while True:
            channel = self.connection.channel()
            try:
                found = channel.queue_declare(queue, durable=True,
                                              passive=True)
                channel.close()
                if found.method.consumer_count > 0:
                    return
            except pika.exceptions.ChannelClosedByBroker:
                pass
            if time.monotonic() > until:
                raise SystemExit(f"{queue} is not consumed")
            time.sleep(0.05)

    def publish(self, key, body):
        self.channel.basic_publish("sfm_exchange", key, body,
                                   pika.BasicProperties(**AS_JSON),
                                   mandatory=True)

    def depth(self):
        return self.channel.queue_declare(
            "sfm_ui", durable=True, passive=True).method.message_count

    def final(self, harvest, seconds):
        """When its final status came."""
        for method, _, body in self.channel.consume(
                "sfm_ui", auto_ack=True, inactivity_timeout=seconds):
            if method is None:
                raise SystemExit(f"no final status of {harvest}")
            told = json.loads(body)
            if told.get("id") == harvest and \
                    told.get("status", "").startswith("completed"):
                if told["status"] != "completed success":
                    raise SystemExit(json.dumps(told))
                return time.monotonic()


def order(kind="bluesky_author_feed", seeds=({"id": "s", "token": ACCOUNT},)):
    harvest = uuid.uuid4().hex
    return harvest, json.dumps({
        "id": harvest, "type": kind,
        "path": f"/sfm-data/{harvest}", "credentials": {}, "options": {},
        "seeds": seeds,
        "collection_set": {"id": "c" * 32}, "collection": {"id": "d" * 32}})


def one(sfm):
    harvest, body = order()
    began = time.monotonic()
    sfm.publish("harvest.start.bluesky.bluesky_author_feed", body)
    return (sfm.final(harvest, 60) - began) * 1000


def start(door, sfm, n):
    one(sfm)                         # connections, and the first of all files
    return {"ms": [one(sfm) for _ in range(n)]}


def fill(n):
    """As if so many harvests had each something to say."""
    with sqlite3.connect(glob.glob("door/*.db")[0]) as db:
        node, = db.execute("SELECT node FROM harvest_order").fetchone()
        db.executemany(
            "INSERT INTO outbox (harvest, node, message_id, routing_key, "
            "created, bytes, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(f"h{i}", node, uuid.uuid4().hex, STATUS, int(time.time() * 1e6),
              len(BODY), BODY) for i in range(n)])


def outbox(door, sfm, n):
    one(sfm)
    sfm.channel.cancel()
    door.stop()
    sfm.channel.queue_purge("sfm_ui")
    fill(n)
    door.start(ready=False)
    seen, first = [], time.monotonic()
    while not seen or seen[-1][1] < n:
        depth = sfm.depth()
        if depth > 0:
            seen.append((time.monotonic(), depth))
        if time.monotonic() > first + 240:
            raise SystemExit(f"{depth} of {n} messages came")
        time.sleep(0.01)
    (began, had), (ended, all_of) = seen[0], seen[-1]
    sfm.channel.queue_purge("sfm_ui")
    sfm.channel.confirm_delivery()
    before = time.monotonic()
    for _ in range(n):
        sfm.publish(STATUS, BODY)
    return {"rate": (all_of - had) / max(ended - began, 1e-3),
            "pika": n / (time.monotonic() - before)}


def streams(door, sfm, n):
    """All there is of the process before, and the most of it afterwards."""
    one(sfm)
    before = door.memory_kib()
    for _ in range(n):
        sfm.publish("harvest.start.bluesky.bluesky_jetstream",
                    order("bluesky_jetstream", ())[1])
    running = 0
    for method, _, body in sfm.channel.consume(
            "sfm_ui", auto_ack=True, inactivity_timeout=60):
        if method is None:
            raise SystemExit(f"{running} of {n} streams run")
        running += json.loads(body).get("status") == "running"
        if running == n:
            break
    for _ in range(STREAMS_S):
        sim.own("change", {"host": JETSTREAM, "add": {
            "account": "ada.example", "n": STREAM_POSTS}})
        time.sleep(1)
    return {"mb": (door.memory_kib("VmHWM") - before) / 1024}


sim = Platforms("--items", "20", seed=1)
rabbit = Rabbit()
os.makedirs("root")
what, number = sys.argv[1], int(sys.argv[2])
door = Serve("door", [
    "urlfrontier.listen=off",
    f"harvest.url=amqp://guest@127.0.0.1:{rabbit.port}",
    f"harvest.roots=/sfm-data={os.path.abspath('root')}",
    f"fetch.resolve={HOST}:443:127.0.0.1:{sim.port},"
    f"{JETSTREAM}:443:127.0.0.1:{sim.port}",
    f"fetch.ca_file={sim.ca}"])
sfm = Sfm(rabbit.port)
sfm.wait_for("bluesky_harvester")
sfm.wait_for("bluesky_stream_harvester")
print(json.dumps({"start": start, "outbox": outbox, "streams": streams}[what](
    door, sfm, number)))
