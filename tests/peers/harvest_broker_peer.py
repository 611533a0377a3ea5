"""SFM's side of harvest_broker.py, which loses nothing however often the broker
ends; and a relay between a daemon and its broker that knows AMQP's frames.
"""
import collections
import contextlib
import json
import queue
import struct
import threading
import time

from harvest_peer import FINAL, KEY
from rabbitmq import Relay

EXCHANGE = "sfm_exchange"
UI = "sfm_ui"
UI_KEYS = "harvest.status.#", "warc_created"
# Start messages whose harvests are not over.
OPEN_MAX = 60


class Sfm:
    """
    Sends start messages until the broker has confirmed them, and takes what is
    said of them.  Each of the two has a thread, and connects again for ever.
    """

    def __init__(self, pika, port):
        self.pika, self.port = pika, port
        self.orders = {}                            # by id
        self.sent = collections.Counter()           # confirmed, by id
        self.unconfirmed = 0                        # sent, perhaps for nothing
        self.copies = collections.defaultdict(list)     # by message id
        self.finals = {}                            # by harvest: the first
        self.warcs = collections.defaultdict(list)      # by harvest
        self.waiting = queue.Queue()
        self.held = threading.Event()
        self.flows = lambda: None                   # the next order, or None
        with self.channel() as c:
            c.exchange_declare(EXCHANGE, "topic", durable=True)
            c.queue_declare(UI, durable=True)
        self.listen(True)
        for part in self.send_all, self.take_all:
            threading.Thread(target=self.for_ever, args=(part,),
                             daemon=True).start()

    def connect(self):
        return self.pika.BlockingConnection(self.pika.ConnectionParameters(
            "127.0.0.1", self.port, blocked_connection_timeout=None))

    @contextlib.contextmanager
    def channel(self):
        connection = self.connect()
        try:
            yield connection.channel()
        finally:
            if connection.is_open:
                connection.close()

    def listen(self, does):
        """Whether a queue takes what is said."""
        with self.channel() as c:
            for key in UI_KEYS:
                (c.queue_bind if does else c.queue_unbind)(
                    UI, EXCHANGE, routing_key=key)

    def for_ever(self, part):
        while True:
            try:
                part()
            # pika has many errors for a broker that ends.
            except Exception:
                time.sleep(0.2)

    # ---- What is sent ----

    def put(self, order, key=KEY, exchange=EXCHANGE):
        self.orders[order["id"]] = order
        self.waiting.put((order["id"], key, exchange))

    def next(self):
        while True:
            if not self.held.is_set() and self.open() < OPEN_MAX:
                try:
                    return self.waiting.get_nowait()
                except queue.Empty:
                    order = self.flows()
                if order is not None:
                    self.orders[order["id"]] = order
                    return order["id"], KEY, EXCHANGE
            time.sleep(0.02)

    def send_all(self):
        channel = self.connect().channel()
        channel.confirm_delivery()
        self.out = getattr(self, "out", None) or self.next()
        while True:
            name, key, exchange = self.out
            self.unconfirmed += 1
            # Raises when it was not confirmed, or no queue has taken it.
            channel.basic_publish(
                exchange, key, json.dumps(self.orders[name]),
                self.pika.BasicProperties(
                    content_type="application/json", delivery_mode=2),
                mandatory=True)
            self.unconfirmed -= 1
            self.sent[name] += 1
            self.out = None
            self.out = self.next()

    def open(self):
        return len(self.sent.keys() - self.finals.keys())

    # ---- What is taken ----

    def take_all(self):
        channel = self.connect().channel()
        channel.basic_qos(prefetch_count=100)
        for method, properties, body in channel.consume(UI):
            self.take(method.routing_key, properties.message_id, body)
            channel.basic_ack(method.delivery_tag)

    def take(self, key, message, body):
        self.copies[message].append((key, body.decode()))
        said = json.loads(body)
        if said.get("status") in FINAL:
            self.finals.setdefault(said["id"], said)
        elif "warc" in said:
            self.warcs[said["harvest"]["id"]].append(said["warc"])

    def messages(self):
        """Both ways."""
        return sum(self.sent.values()) + len(self.copies)


# ---- Frames ----------------------------------------------------------------------

ACK, DELIVER, CANCEL = (60, 80), (60, 60), (60, 30)


class Frames(Relay):
    """Swallows confirms, and cancels consumers in the broker's name."""

    def __init__(self, port):
        super().__init__(port)
        self.swallow = self.swallowed = self.cancels = 0

    def pass_on(self, a, b, back):
        if not back:
            super().pass_on(a, b, back)
            return
        seen = b""
        try:
            while data := a.recv(65536):
                frames, seen = split(seen + data)
                b.sendall(b"".join(map(self.change, frames)))
                if self.swallowed and self.swallow == 0:
                    self.swallowed = 0
                    break
        except OSError:
            pass
        self.shut(a, b)

    def change(self, frame):
        """What is passed on in its place."""
        kind, channel, _ = struct.unpack(">BHI", frame[:7])
        method = struct.unpack(">HH", frame[7:11]) if kind == 1 else None
        if method == ACK and self.swallow > 0:
            self.swallow -= 1
            self.swallowed += 1
            return b""
        if method == DELIVER and self.cancels > 0:
            self.cancels -= 1
            tag = frame[11:12 + frame[11]]
            body = struct.pack(">HH", *CANCEL) + tag + b"\x01"
            return struct.pack(">BHI", 1, channel, len(body)) + body + \
                b"\xce" + frame
        return frame


def split(data):
    """Whole frames, and what is left."""
    frames = []
    while len(data) >= 8:
        n = 8 + struct.unpack(">I", data[3:7])[0]
        if len(data) < n:
            break
        frames.append(data[:n])
        data = data[n:]
    return frames, data
