"""os/broker against a broker that keeps to no rule: it ends nothing, and no
secret reaches an error text.

RabbitMQ itself would not send such frames; pika encodes them.
"""
import os
import socket
import sys
import threading
import time

from broker_peer import ANY, TRY, Try, check_secrets
from peer import PLACE, check, done, need, same, skip

NAME = "broker_hostile"
SECRET = "s3cret-echo"

need(NAME, files=[TRY])
try:
    import pika
    from pika import spec
except ImportError:
    skip(NAME, "python3-pika is not installed")
    sys.exit(0)


class HostileBroker:
    """
    Answers what a client must ask first, then does what the scene wants.
    RabbitMQ itself would not.
    """

    def __init__(self, attack):
        self.attack = attack
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=HostileConnection(
                self.attack, self.listener.accept()[0]).run,
                daemon=True).start()


class HostileConnection:
    def __init__(self, attack, peer):
        self.attack, self.socket = attack, peer

    def run(self):
        try:
            self.serve()
        except OSError:
            pass
        self.socket.close()

    def send(self, *frames):
        self.socket.sendall(b"".join(f.marshal() for f in frames))

    def method(self, channel, method):
        self.send(pika.frame.Method(channel, method))

    def serve(self):
        self.socket.recv(8)
        self.method(0, spec.Connection.Start(
            server_properties={}, mechanisms="PLAIN"))
        data = b""
        while True:
            more = self.socket.recv(65536)
            if not more:
                return
            data += more
            while True:
                used, frame = pika.frame.decode_frame(data)
                if frame is None:
                    break
                data = data[used:]
                if isinstance(frame, pika.frame.Method):
                    self.answer(frame.channel_number, frame.method)

    def answer(self, channel, m):
        if isinstance(m, spec.Connection.StartOk):
            self.password = m.response.split(b"\0")[2].decode()
            if self.attack is echo_password:
                self.attack(self)
            self.method(0, spec.Connection.Tune(2047, 131072, 60))
        elif isinstance(m, spec.Queue.Declare):
            self.method(channel, spec.Queue.DeclareOk(m.queue, 0, 0))
        elif isinstance(m, spec.Basic.Consume):
            self.tag = m.consumer_tag
            self.method(channel, spec.Basic.ConsumeOk(self.tag))
            if self.attack not in (confirm_early, confirm_nothing):
                self.attack(self)
        elif isinstance(m, spec.Basic.Publish):
            if self.attack in (confirm_early, confirm_nothing):
                self.attack(self)
        elif m.synchronous:
            self.method(channel, {
                "Connection.Open": spec.Connection.OpenOk(),
                "Channel.Open": spec.Channel.OpenOk(),
                "Exchange.Declare": spec.Exchange.DeclareOk(),
                "Queue.Bind": spec.Queue.BindOk(),
                "Basic.Qos": spec.Basic.QosOk(),
                "Basic.Cancel": spec.Basic.CancelOk("x"),
                "Confirm.Select": spec.Confirm.SelectOk(),
                "Connection.Close": spec.Connection.CloseOk(),
                "Channel.Close": spec.Channel.CloseOk()}[m.NAME])


def echo_password(b):
    b.method(0, spec.Connection.Close(
        403, f"no: {b.password} {b.password}\n\x1b", 0, 0))


def head(size):
    return pika.frame.Header(2, size, pika.BasicProperties())


def deliver(b, size, *bodies, tag=None):
    b.method(2, spec.Basic.Deliver(tag or b.tag, 1, False, "e", "k"))
    b.send(head(size), *(pika.frame.Body(2, x) for x in bodies))


def send_garbage(b):
    b.socket.sendall(b"\xff" * 500)


def send_body(b):
    b.send(pika.frame.Body(2, b"x"))


def send_head(b):
    b.send(head(1))


def send_long_body(b):
    deliver(b, 3, b"ab", b"cd")


def send_two_heads(b):
    deliver(b, 3)
    b.send(head(3))


def send_huge(b):
    deliver(b, 1 << 63, b"a" * 1000)


def send_elsewhere(b):
    for channel in (1, 3, 77):
        b.method(channel, spec.Basic.Deliver("t", 1, False, "e", "k"))


def send_twice(b):
    deliver(b, 9, b"x")
    deliver(b, 2, b"{}")


def send_old(b):
    deliver(b, 0, tag="argiope-0")


def confirm_early(b):
    """Before the message has been sent: nobody reads it."""
    b.method(1, spec.Basic.Ack(1))
    time.sleep(5)


def confirm_nothing(b):
    b.method(1, spec.Basic.Ack(99))
    b.method(1, spec.Basic.Nack(98, multiple=False))
    b.method(1, spec.Basic.Return(312, "NO_ROUTE", "e", "k"))
    b.send(pika.frame.Header(1, 5, pika.BasicProperties(message_id="other")))
    b.method(1, spec.Basic.Return(312, "NO_ROUTE", "e", "k"))
    b.method(1, spec.Basic.Ack(1))


def close_connection(b):
    b.socket.shutdown(socket.SHUT_RDWR)


# What a hostile broker does, and why the connection is lost; "": it is not.
ATTACKS = (
    (echo_password, "no: *** ***"),
    (send_body, "a part of a message that it has not begun"),
    (send_head, "a part of a message that it has not begun"),
    (send_two_heads, "a part of a message that it has not begun"),
    (send_long_body, "a body is longer than the broker has said"),
    (send_garbage, "invalid AMQP data"),
    (close_connection, "connection closed"),
    (confirm_early, "confirms a message that it has not got"),
    (send_huge, ""),
    (send_elsewhere, ""),
    (send_twice, ""),
    (send_old, ""),
    (confirm_nothing, ""),
)


def main():
    path = os.path.join(PLACE, "hostile")
    with open(path, "w", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        f.write(SECRET)
    for attack, reason in ATTACKS:
        name = attack.__name__
        b = HostileBroker(attack)
        t = Try("--password-file", path, "y_queue=y.#",
                url=f"amqp://127.0.0.1:{b.port}")
        t.do("consume", "y_queue")
        t.do("publish", "y.key", "y", 12 << 20 if attack is confirm_early
             else 0)
        if reason:
            f = t.wait(event="disconnected")
            check(f"{name}: the connection is lost", f and reason in f["why"],
                  f)
        else:
            check(f"{name}: connected", t.up(1))
            time.sleep(0.3)
            same(f"{name}: it goes on", t.count(event="disconnected"), 0)
            same(f"{name}: deliveries", [d["body"] for d in t.find(
                delivery=ANY)], ["{}"] if attack is send_twice else [])
            if attack is confirm_nothing:
                check(f"{name}: its own message is confirmed",
                      t.wait(result="confirmed", id="y"))
        t.close(0)


main()
check_secrets([SECRET])
done()
