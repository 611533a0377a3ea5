"""A relay of the AT Protocol for tests: com.atproto.sync.subscribeRepos, as a
server of Jetstream reads it.  https://atproto.com/specs/event-stream, /sync,
/repository, /data-model.

Repositories are not kept: the tree of a commit has the records of that commit
alone.
"""
import asyncio
import collections
import hashlib
import random
import struct
import threading
import time
import urllib.parse

import websockets

POSTS, LIKES = "app.bsky.feed.post", "app.bsky.feed.like"
LETTERS = "234567abcdefghijklmnopqrstuvwxyz"        # from small to great
# One of the stream's frames says: `what` is "create" and the like, "identity"
# or "account"; those of commits have a collection, a key and a revision, in
# whose place accounts have their status.
Event = collections.namedtuple("Event", "what did collection rkey rev")


# ---- Data -----------------------------------------------------------------------

class Cid(bytes):
    """Version 1 and SHA-256."""


def cid(block):
    return Cid(b"\1\x71\x12\x20" + hashlib.sha256(block).digest())


def head(major, n):
    if n < 24:
        return bytes([major << 5 | n])
    for code, form, most in ((24, ">B", 1 << 8), (25, ">H", 1 << 16),
                             (26, ">I", 1 << 32), (27, ">Q", 1 << 64)):
        if n < most:
            return bytes([major << 5 | code]) + struct.pack(form, n)


def cbor(v):
    """DAG-CBOR."""
    if v is None or v is True or v is False:
        return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[v]
    if isinstance(v, int):
        return head(0, v) if v >= 0 else head(1, -1 - v)
    if isinstance(v, Cid):
        return head(6, 42) + head(2, len(v) + 1) + b"\0" + v
    if isinstance(v, bytes):
        return head(2, len(v)) + v
    if isinstance(v, str):
        return head(3, len(v.encode())) + v.encode()
    if isinstance(v, list):
        return head(4, len(v)) + b"".join(map(cbor, v))
    pairs = sorted((len(k.encode()), k.encode(), k) for k in v)
    return head(5, len(v)) + b"".join(cbor(k) + cbor(v[k])
                                      for _, _, k in pairs)


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7f | 0x80]), n >> 7
    return out + bytes([n])


def car(root, blocks):
    """{CID: block} as a CAR file."""
    start = cbor({"version": 1, "roots": [root]})
    return varint(len(start)) + start + b"".join(
        varint(len(c) + len(b)) + c + b for c, b in blocks.items())


def tid(us):
    n, out = us << 10, ""
    for _ in range(13):
        out, n = LETTERS[n & 31] + out, n >> 5
    return out


def iso(us):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(us // 1000000)) + \
        f".{us % 1000000:06}Z"


def tree(records):
    """One node of a tree: {path: CID}."""
    entries, last = [], b""
    for path in sorted(p.encode() for p in records):
        same = 0
        while same < min(len(path), len(last)) and path[same] == last[same]:
            same += 1
        entries.append({"p": same, "k": path[same:],
                        "v": records[path.decode()], "t": None})
        last = path
    return cbor({"l": None, "e": entries})


# ---- The relay --------------------------------------------------------------------

class Relay:
    """Its address is `url`, what it has sent is in `events`."""

    def __init__(self, accounts=12, seed=1):
        self.random = random.Random(seed)
        self.dids = ["did:plc:" + "".join(self.random.choices(LETTERS, k=24))
                     for _ in range(accounts)]
        self.posts = []                 # (DID, key) that stand
        self.events, self.frames = [], []
        self.us = 0
        self.rate = 0                   # commits a second
        self.changed = threading.Condition()
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        for target in (lambda: self.serve(ready), self.produce):
            threading.Thread(target=target, daemon=True).start()
        ready.wait()

    def serve(self, ready):
        asyncio.set_event_loop(self.loop)

        async def begin():
            server = await websockets.serve(
                self.answer, "127.0.0.1", 0, max_size=None, compression=None)
            port = server.sockets[0].getsockname()[1]
            self.url = f"ws://127.0.0.1:{port}/xrpc/" \
                "com.atproto.sync.subscribeRepos"
            ready.set()

        self.loop.run_until_complete(begin())
        self.loop.run_forever()

    async def answer(self, socket):
        path = socket.path if hasattr(socket, "path") else socket.request.path
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
        # The numbers of frames begin at 1, and a cursor is what is known.
        at = int(query["cursor"][0]) if "cursor" in query else len(self.frames)
        try:
            while True:
                for frame in self.frames[at:at + 100]:
                    await socket.send(frame)
                    at += 1
                if at == len(self.frames):
                    await asyncio.sleep(0.01)
        except websockets.ConnectionClosed:
            pass

    def produce(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.rate > 0)
                rate = self.rate
                self.add(max(rate // 50, 1))
            time.sleep(max(rate // 50, 1) / rate)

    def at_rate(self, rate):
        """So many commits a second from now on; 0: none when this returns."""
        with self.changed:
            self.rate = rate
            self.changed.notify_all()

    # -- What happens; the lock is held --

    def now(self):
        self.us = max(self.us + 1, time.time_ns() // 1000)
        return self.us

    def put(self, kind, body):
        self.frames.append(cbor({"op": 1, "t": "#" + kind}) + cbor(
            dict(body, seq=len(self.frames) + 1)))

    def put_commit(self, did, ops):
        """`ops`: [(what, collection, key, record or None)]"""
        rev, blocks, records, told = tid(self.now()), {}, {}, []
        for what, collection, rkey, record in ops:
            path = collection + "/" + rkey
            c = None
            if record is not None:
                block = cbor(record)
                c = cid(block)
                blocks[c] = block
                records[path] = c
            told.append({"action": what, "path": path, "cid": c})
            self.events.append(Event(what, did, collection, rkey, rev))
        root = tree(records)
        commit = cbor({"did": did, "version": 3, "prev": None, "rev": rev,
                       "data": cid(root), "sig": b"\1" * 64})
        self.put("commit", {
            "repo": did, "rev": rev, "since": None, "commit": cid(commit),
            "blocks": car(cid(commit), {cid(commit): commit, cid(root): root,
                                        **blocks}),
            "ops": told, "blobs": [], "rebase": False, "tooBig": False,
            "time": iso(self.us)})

    def post(self, text="what came"):
        return {"$type": POSTS, "createdAt": iso(self.us), "langs": ["en"],
                "text": f"{text} {len(self.frames)} \U0001f400 ä"}

    def put_told(self, kind, did, **more):
        self.put(kind, {"did": did, "time": iso(self.now()), **more})
        self.events.append(Event(kind, did, "", "", more.get("status", "")))

    def add_one(self):
        chance, did = self.random.random(), self.random.choice(self.dids)
        if chance < 0.5 or not self.posts:
            n = self.random.choice((1, 1, 1, 2, 3))
            keys = [tid(self.now()) for _ in range(n)]
            self.put_commit(did, [("create", POSTS, k, self.post())
                                  for k in keys])
            self.posts += [(did, k) for k in keys]
        elif chance < 0.75:
            did, key = self.random.choice(self.posts)
            self.put_commit(did, [("create", LIKES, tid(self.now()), {
                "$type": LIKES, "createdAt": iso(self.us), "subject": {
                    "cid": "bafyreib", "uri": f"at://{did}/{POSTS}/{key}"}})])
        elif chance < 0.85:
            did, key = self.random.choice(self.posts)
            self.put_commit(did, [("update", POSTS, key, self.post("more"))])
        elif chance < 0.97:
            did, key = self.posts.pop(self.random.randrange(len(self.posts)))
            self.put_commit(did, [("delete", POSTS, key, None)])
        elif chance < 0.99:
            self.put_told("identity", did, handle=f"{did[8:14]}.example")
        else:
            self.put_told("account", did, active=True)

    def add(self, n):
        with self.changed:
            for _ in range(n):
                self.add_one()

    def delete_account(self):
        """The account of the newest post."""
        with self.changed:
            did = self.posts[-1][0]
            self.put_told("account", did, active=False, status="deleted")
            self.posts = [p for p in self.posts if p[0] != did]
            self.dids.remove(did)
