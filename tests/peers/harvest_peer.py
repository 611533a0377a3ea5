"""What scripts of harvests that come by a broker share: a requester, the daemon
below a folder of its own, and what its WARC files contain.
"""
import collections
import glob
import gzip
import hashlib
import json
import os
import re
import socket
import sys
import time
import uuid

from peer import PLACE, check, done, need, note, program, python_with, same, skip
from peer import wait_until

PACKAGES = "kombu==5.3.7", "pika==1.3.2"
HOST = "mastodon.example"
KEY = "harvest.start.mastodon.mastodon_account"
FINAL = ("completed success", "completed failure")


def need_kombu(name):
    if "KOMBU_IS_HERE" in os.environ:
        return
    python = python_with("kombu-1", *PACKAGES)
    if python is None:
        skip(name, " and ".join(PACKAGES) + " cannot be had")
        done()
    os.environ["KOMBU_IS_HERE"] = "1"
    os.execv(python, [python, *sys.argv])


class Requester:
    """Orders harvests and exports, and takes every message about them."""

    def __init__(self, rabbit):
        from kombu import Connection, Exchange, Queue
        self.exchange = Exchange("sfm_exchange", type="topic", durable=True)
        self.connection = Connection(
            f"amqp://guest:guest@127.0.0.1:{rabbit.port}//")
        channel = self.connection.channel()
        queue = Queue("sfm_ui", exchange=self.exchange, channel=channel,
                      durable=True)
        queue.declare()
        for key in ("harvest.status.#", "warc_created", "export.status.#"):
            queue.bind_to(self.exchange, routing_key=key)
        self.got = collections.defaultdict(list)     # by harvest
        self.message_ids = collections.defaultdict(list)     # of the same
        self.connection.Consumer(queue, callbacks=[self.take],
                                 channel=channel).consume()

    def take(self, body, message):
        harvest = body.get("id", body.get("harvest", {}).get("id"))
        self.got[harvest].append((message.delivery_info["routing_key"], body))
        self.message_ids[harvest].append(message.properties["message_id"])
        message.ack()

    def publish(self, key, body):
        from kombu.pools import producers
        with producers[self.connection].acquire(block=True) as p:
            p.publish(body=body, routing_key=key, exchange=self.exchange)

    def is_served(self, queue):
        """Whether a daemon takes its messages."""
        channel = self.connection.channel()
        try:
            return channel.queue_declare(queue,
                                         passive=True).consumer_count > 0
        except self.connection.channel_errors:
            return False             # it is not there, and the channel is gone
        finally:
            channel.close()

    def order(self, key=KEY, **more):
        harvest = uuid.uuid4().hex
        o = dict({"id": harvest, "type": "mastodon_account",
                  "path": f"/sfm-data/{harvest}", "options": {},
                  "collection": {"id": "d" * 32},
                  "collection_set": {"id": "c" * 32}}, **more)
        self.publish(key, o)
        return o

    def wait(self, test, seconds=30):
        until = time.monotonic() + seconds
        while not test():
            if time.monotonic() > until:
                return False
            try:
                self.connection.drain_events(timeout=0.1)
            except socket.timeout:
                pass
        return True

    def statuses(self, o):
        return [b for k, b in self.got[o["id"]]
                if k.startswith(("harvest.status.", "export.status."))]

    def words(self, o):
        return [b["status"] for b in self.statuses(o)]

    def warcs(self, o):
        """What warc_created said, by path."""
        return {b["warc"]["path"]: b["warc"] for k, b in self.got[o["id"]]
                if k == "warc_created"}

    def final(self, o, seconds=30):
        def found():
            return [b for b in self.statuses(o) if b["status"] in FINAL]
        self.wait(found, seconds)
        return found()[0] if found() else None


# ---- WARC files -----------------------------------------------------------------

def records(path):
    """(fields, block) of each."""
    with gzip.open(path) as f:
        while (line := f.readline()):
            if not line.startswith(b"WARC/"):
                continue
            fields = {}
            while (line := f.readline().strip()):
                name, _, value = line.decode().partition(":")
                fields[name.lower()] = value.strip()
            yield fields, f.read(int(fields["content-length"]))


def urls_of(path):
    """Of answers that were of use: 429 is asked again."""
    return [f["warc-target-uri"] for f, block in records(path)
            if f["warc-type"] == "response" and
            block.startswith(b"HTTP/1.1 200 ")]


def body_of(block):
    head, _, body = block.partition(b"\r\n\r\n")
    if re.search(rb"(?mi)^transfer-encoding: *chunked", head):
        whole = b""
        while body:
            size, _, rest = body.partition(b"\r\n")
            n = int(size or b"0", 16)
            whole, body = whole + rest[:n], rest[n + 2:] if n else b""
        body = whole
    if re.search(rb"(?mi)^content-encoding: *gzip", head):
        body = gzip.decompress(body)
    return body


def posts_of(path):
    """Ids of posts in answers that are lists."""
    found = []
    for fields, block in records(path):
        if fields["warc-type"] == "response" and \
                "/statuses" in fields["warc-target-uri"]:
            answer = json.loads(body_of(block))
            found += [x["id"] for x in answer] if isinstance(answer, list) \
                else []
    return found


def sha1_of(path):
    with open(path, "rb") as f:
        return hashlib.sha1(f.read()).hexdigest()


def placed(root, o):
    return sorted(glob.glob(f"{root}/{o['id']}/20*/*/*/*/*.warc.gz"))


def counted(status):
    return sum(n for day in status["stats"].values() for n in day.values())


def claims_are_true(what, root, requester, o):
    """Each file that stands in its place was told of, under one id, whole."""
    said = requester.warcs(o)
    local = {root + p.removeprefix("/sfm-data"): w for p, w in said.items()}
    same(f"{what}: each file is announced", sorted(local), placed(root, o))
    check(f"{what}: whole", all(
        os.path.exists(p) and sha1_of(p) == w["sha1"] and
        os.path.getsize(p) == w["bytes"] for p, w in local.items()))
    ids = [b["warc"]["id"] for k, b in requester.got[o["id"]]
           if k == "warc_created"]
    same(f"{what}: one id each", len(set(ids)), len(said))
    return sorted(local)
