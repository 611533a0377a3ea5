"""os/broker against a RabbitMQ of this script's own, pika looking on.

broker_try obeys lines and reports in JSON.  Contract: harvest.md sections 1, 2,
7 (Delivery), 8 and 10.

    broker.sh PROGRAM [SCENE...]      only these scenes
"""
import os
import resource
import signal
import subprocess
import sys
import time

from broker_peer import ANY, TRY, Try, check_secrets
from peer import PLACE, certificate, check, done, need, note, same, skip, \
    wait_until
from rabbitmq import Rabbit, need_rabbitmq

NAME = "broker"
EXCHANGE = "sfm_exchange"
BODY_BYTES_MAX = 16 << 20
SECRETS = ("s3cret-wrong", "s3cret-right", "s3cret-url")

pika = need_rabbitmq(NAME)
need(NAME, "openssl", files=[TRY])


class Pika:
    """A connection of a peer, for one thing at a time."""

    def __init__(self, **more):
        self.connection = pika.BlockingConnection(pika.ConnectionParameters(
            "127.0.0.1", rabbit.port, **more))
        self.channel = self.connection.channel()

    def __enter__(self):
        return self.channel

    def __exit__(self, *rest):
        if self.connection.is_open:
            self.connection.close()


def put(queue_or_key, body=b"{}", exchange=EXCHANGE, **properties):
    with Pika() as c:
        c.basic_publish(exchange, queue_or_key, body,
                        pika.BasicProperties(**properties))


def get_all(queue):
    """Every message of a queue: [(method, properties, body)]."""
    found = []
    with Pika() as c:
        while True:
            m, p, b = c.basic_get(queue, auto_ack=True)
            if m is None:
                return found
            found.append((m, p, b))


def depth(queue):
    with Pika() as c:
        return c.queue_declare(queue, passive=True).method.message_count


# ---- One after the other --------------------------------------------------------

def declarations():
    """What it declares is there for others, and nothing changes twice."""
    words = ("a_queue=harvest.start.a,harvest.start.a.*", "a_stop=stop.#",
             "a_dead")
    first = Try(*words)
    check("declares and binds", first.up(3))
    same("they are classic queues", first.count(event="ready", quorum=0), 3)
    second = Try(*words)
    check("the same once more", second.up(3))
    with Pika() as c:
        c.exchange_declare(EXCHANGE, "topic", durable=True)
        for queue in ("a_queue", "a_stop", "a_dead"):
            c.queue_declare(queue, durable=True)
    check("pika declares the same", True)
    listed = rabbit.ctl("list_queues", "-q", "--no-table-headers", "name",
                        "durable", "auto_delete", "exclusive", "arguments")
    for queue in ("a_queue", "a_stop", "a_dead"):
        check(f"{queue} is durable, without arguments",
              f"{queue}\ttrue\tfalse\tfalse\t[]" in listed, listed)
    bound = rabbit.ctl("list_bindings", "-q", "--no-table-headers",
                       "source_name", "destination_name", "routing_key")
    for queue, key in (("a_queue", "harvest.start.a"),
                       ("a_queue", "harvest.start.a.*"), ("a_stop", "stop.#")):
        check(f"{queue} is bound by {key}",
              f"{EXCHANGE}\t{queue}\t{key}" in bound, bound)
    names = rabbit.ctl("list_connections", "-q", "--no-table-headers",
                       "client_properties")
    check("connections have names", names.count("argiope try (consuming)") == 2
          and names.count("argiope try (publishing)") == 2, names)
    for key in ("harvest.start.a", "harvest.start.a.b", "harvest.start.b"):
        put(key)
    same("two of three keys are bound", depth("a_queue"), 2)
    first.do("depth", "a_queue")
    answer = first.wait(answer="a_queue")
    same("depth", (answer["messages"], answer["consumers"]), (2, 0))
    first.do("depth", "no_such")
    same("no such queue", first.wait(answer="no_such")["err"], "ABSENT")
    first.do("depth", "a_queue")
    check("a question after a refused one",
          "messages" in first.wait(answer="a_queue", since=1))
    first.do("consume", "a_queue")
    first.wait(n=2, delivery=ANY)
    second.do("delete", "a_queue")
    same("a queue with consumers is not deleted",
         second.wait(answer="a_queue")["err"], "BUSY")
    second.do("delete", "a_stop")
    check("another is", "err" not in second.wait(answer="a_stop"))
    second.do("depth", "a_stop")
    same("and is gone", second.wait(answer="a_stop", since=1)["err"], "ABSENT")
    first.close()
    second.close()


def properties():
    """Published messages have the properties of section 2, and no others."""
    t = Try("p_queue=p.#", "p_dead")
    t.up(2)
    t.do("many", "p", "p.key", 1000, 100)
    check("1,000 messages are confirmed",
          t.wait(n=1000, result="confirmed"), t.count(result="confirmed"))
    got = get_all("p_queue")
    same("all of them, in order", [p.message_id for _, p, _ in got],
         [f"p-{i}" for i in range(1000)])
    want = {"content_type": "application/json", "content_encoding": "utf-8",
            "delivery_mode": 2, "priority": 0, "headers": {},
            "timestamp": 1479600000}
    wrong = [str(vars(p)) for i, (m, p, b) in enumerate(got) if
             {k: v for k, v in vars(p).items() if v is not None} !=
             dict(want, message_id=f"p-{i}")]
    check("exactly these properties", not wrong, wrong)
    check("bodies", all(b == b"{" + b" " * 98 + b"}" for _, _, b in got))
    check("exchange and key", all(
        (m.exchange, m.routing_key) == (EXCHANGE, "p.key")
        for m, _, _ in got))
    for i, n in enumerate((0, 1, 16375, 16376, 16377, 131072, 1 << 20,
                           BODY_BYTES_MAX)):
        t.do("publish", "p.key", f"size-{i}", n)
        check(f"{n} bytes", t.wait(result="confirmed", id=f"size-{i}"))
        (_, _, body), = get_all("p_queue")
        same(f"{n} bytes arrive", len(body), n)
    t.do("publish", "p.key", "huge", BODY_BYTES_MAX + 1)
    same("a body beyond the limit is refused",
         t.wait(refused="huge")["err"], "INPUT")
    t.do("publish", "unbound.key", "back", 300000)
    t.do("publish", "p.key", "after", 10)
    back = t.wait(result="returned", id="back")
    same("a message without a queue is returned", back and back["err"],
         "ABSENT")
    check("the one after it is confirmed",
          t.wait(result="confirmed", id="after"))
    with Pika() as c:
        c.queue_declare("p_full", durable=True, arguments={
            "x-max-length": 1, "x-overflow": "reject-publish"})
    t.do("letter", "p_full", "fits")
    check("the one that fits is confirmed",
          t.wait(result="confirmed", id="fits"))
    t.do("letter", "p_full", "full")
    check("the one that does not is nacked",
          t.wait(result="nacked", id="full"))
    t.do("letter", "p_dead", "letter")
    check("by the default exchange", t.wait(result="confirmed", id="letter"))
    (m, p, _), = get_all("p_dead")
    same("with headers", (m.exchange, m.routing_key, p.headers), (
        "", "p_dead", {"x-argiope-reason": "not_json",
                       "x-argiope-queue": "a queue"}))
    t.do("letter", "p_missing", "nowhere")
    check("to a queue that is missing: returned",
          t.wait(result="returned", id="nowhere"))
    same("nothing else was published", t.count(result=ANY), 1000 + 8 + 6)
    t.close()


def deliveries():
    """Consume, ack, reject; what a killed client had comes again."""
    t = Try("d_queue=d.#")
    t.up(1)
    put("d.one", b'{"id": 1}', content_type="application/json",
        content_encoding="utf-8", message_id="one",
        headers={"a": [{"b": 1}], "x-text": "\u00e4"})
    put("d.two", "\ufeff{}".encode())
    time.sleep(0.3)
    same("nothing comes unasked", t.count(delivery=ANY), 0)
    t.do("deal", "hold")
    t.do("consume", "d_queue")
    d = t.wait(delivery=0)
    same("a delivery", d, {
        "delivery": 0, "queue": "d_queue", "exchange": EXCHANGE,
        "key": "d.one", "type": "application/json", "encoding": "utf-8",
        "id": "one", "redelivered": 0, "too_large": 0, "bytes": 9, "have": 9,
        "x-text": "\u00e4", "body": '{"id": 1}'})
    time.sleep(0.3)
    same("one at a time", t.count(delivery=ANY), 1)
    t.do("ack", 0)
    d = t.wait(delivery=1)
    same("without properties", (d["type"], d["encoding"], d["id"], d["bytes"]),
         ("", "", "", 5))
    t.do("requeue", 1)
    same("rejected, it comes again", t.wait(delivery=2)["redelivered"], 1)
    t.do("drop", 2)
    check("dropped, it does not",
          wait_until(lambda: depth("d_queue") == 0))
    put("d.three", b"3")
    t.wait(delivery=3)
    t.child.send_signal(signal.SIGKILL)
    t.child.wait()
    t = Try("d_queue=d.#")
    t.up(1)
    t.do("consume", "d_queue")
    d = t.wait(delivery=ANY)
    same("what a killed client had comes again",
         d and (d["body"], d["redelivered"]), ("3", 1))
    put("d.empty", b"")
    same("an empty body", t.wait(delivery=1)["bytes"], 0)
    t.close()
    same("acked", depth("d_queue"), 0)


def slots():
    """A queue is cancelled while its slots are full, and consumed again."""
    t = Try("s_queue=s.#")
    t.up(1)
    for i in range(20):
        put(f"s.{i}")
    t.do("deal", "slot")
    for i in range(5):
        t.do("consume", "s_queue")
        check(f"delivery {i}", t.wait(delivery=i))
        time.sleep(0.1)
        same("and no other", t.count(delivery=ANY), i + 1)
    check("the others are in the queue",
          wait_until(lambda: depth("s_queue") == 15), depth("s_queue"))
    t.do("depth", "s_queue")
    same("nobody consumes it", t.wait(answer="s_queue")["consumers"], 0)
    # Cancelled and consumed at once: what crosses goes back to the queue.
    t.do("deal", "ack")
    for _ in range(200):
        t.do("consume", "s_queue")
        t.do("cancel", "s_queue")
    t.do("consume", "s_queue")
    check("crossing or not, each comes", wait_until(
        lambda: len({d["key"] for d in t.find(delivery=ANY)}) == 20))
    check("and is acked once", wait_until(lambda: depth("s_queue") == 0) and
          t.count(delivery=ANY) == 20, t.count(delivery=ANY))
    t.close()


def too_large():
    """A body of 17 MiB is reported and not kept; the queue goes on."""
    t = Try("l_queue=l.#")
    t.up(1)
    t.do("consume", "l_queue")
    put("l.large", b"x" * (17 << 20))
    d = t.wait(delivery=0)
    same("17 MiB", d and (d["too_large"], d["bytes"], d["have"]),
         (1, 17 << 20, 0))
    put("l.edge", b"x" * BODY_BYTES_MAX)
    d = t.wait(delivery=1)
    same("16 MiB", d and (d["too_large"], d["have"]), (0, BODY_BYTES_MAX))
    put("l.small", b"{}")
    check("the next one", t.wait(delivery=2))
    t.close()
    same("all acked", depth("l_queue"), 0)


class DeepHeaders(pika.BasicProperties):
    """Headers of tables in tables, as bytes: pika would not make them."""

    def __init__(self, levels):
        super().__init__(headers={})
        inner = b""
        for _ in range(levels):
            inner = b"\0F" + len(inner).to_bytes(4, "big") + inner
        self.raw = len(inner).to_bytes(4, "big") + inner

    def encode(self):
        return [self.FLAG_HEADERS.to_bytes(2, "big"), self.raw]


def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK,
                       (2 << 20, resource.RLIM_INFINITY))


def hostile_headers():
    """Tables in tables, as many as a frame has room for, end nothing."""
    t = Try("h_queue=h.#", preexec_fn=small_stack)
    t.up(1)
    t.do("consume", "h_queue")
    with Pika() as c:
        c.basic_publish(EXCHANGE, "h.key", b"1", DeepHeaders(100))
        same("100 deep", t.wait(delivery=0)["body"], "1")
        c.basic_publish(EXCHANGE, "h.key", b"2", DeepHeaders(21000))
    # From 0.14 on the library takes them for an error of the connection.
    check("21,000 deep, it is read or refused", wait_until(
        lambda: t.find(delivery=1) or t.find(event="disconnected"), 30),
        t.said[-3:])
    if not t.find(delivery=1):
        note("the library refuses them: " +
             t.find(event="disconnected")[0]["why"])
        with Pika() as c:
            wait_until(lambda: c.queue_purge("h_queue").method.message_count,
                       30)
    put("h.key", b"3")
    check("the next one is read", wait_until(
        lambda: any(d["body"] == "3" for d in t.find(delivery=ANY))))
    t.close()


def quorum():
    """Where the vhost makes quorum queues of ours, they work and are named."""
    made = subprocess.run(
        [rabbit.BIN + "rabbitmqctl", "add_vhost", "q", "--default-queue-type",
         "quorum"], env=rabbit.env, capture_output=True, text=True)
    if made.returncode != 0:
        skip("quorum queues", "this RabbitMQ has no default of a vhost")
        return
    rabbit.ctl("set_permissions", "-p", "q", "guest", ".*", ".*", ".*")
    t = Try("q_queue=q.#", url=f"amqp://127.0.0.1:{rabbit.port}/q")
    r = t.wait(event="ready")
    same("it says so", r and r["quorum"], 1)
    t.do("consume", "q_queue")
    t.do("many", "q", "q.key", 20, 100)
    check("messages, both ways", t.wait(n=20, result="confirmed") and
          t.wait(n=20, delivery=ANY))
    t.do("delete", "q_queue")
    same("consumed, it is not deleted", t.wait(answer="q_queue")["err"],
         "BUSY")
    t.do("cancel", "q_queue")
    t.do("delete", "q_queue")
    check("cancelled, it is", "err" not in t.wait(answer="q_queue", since=1))
    same("all on the same connections", t.count(event="connected"), 2)
    t.close()


def other_arguments():
    """A queue with other arguments is refused; the others go on."""
    with Pika() as c:
        c.queue_declare("o_bad", durable=True,
                        arguments={"x-max-length": 10})
    t = Try("o_one=o.one", "o_bad=o.bad", "o_two=o.two")
    for queue in ("o_one", "o_bad", "o_two"):
        t.do("consume", queue)
    f = t.wait(event="failed")
    same("refused", f and (f["queue"], f["err"]), ("o_bad", "STATE"))
    check("with the broker's reason", "406" in f["why"] and
          "x-max-length" in f["why"], f["why"])
    check("the others are ready", t.up(2))
    put("o.one")
    put("o.two")
    check("and go on", t.wait(n=2, delivery=ANY))
    check("it is tried again", t.wait(n=2, event="failed"))
    with Pika() as c:
        c.queue_delete("o_bad")
    check("mended, it is ready", t.wait(event="ready", queue="o_bad"))
    put("o.bad")
    check("and consumed", t.wait(delivery=ANY, queue="o_bad"))
    t.close()


def deleted():
    """A queue that is deleted while it is consumed is made again."""
    t = Try("x_queue=x.#")
    t.up(1)
    t.do("consume", "x_queue")
    put("x.one")
    t.wait(delivery=0)
    with Pika() as c:
        c.queue_delete("x_queue")
    f = t.wait(event="failed")
    same("deleted", f and (f["queue"], f["err"]), ("x_queue", "ABSENT"))
    check("made again", t.wait(n=2, event="ready"))
    put("x.two")
    d = t.wait(delivery=1)
    same("and consumed", d and d["key"], "x.two")
    same("on the same connection", t.count(event="connected"), 2)
    with Pika() as c:
        c.exchange_delete(EXCHANGE)
    t.do("publish", "x.three", "gone", 10)
    same("without the exchange the message is lost",
         t.wait(id="gone", result=ANY)["result"], "lost")
    check("which is declared again", t.wait(n=2, event="connected",
                                            side="publishing"))
    t.do("publish", "x.three", "unbound", 10)
    same("the queue is not bound to it", t.wait(
        id="unbound", result=ANY)["result"], "returned")
    t.close()


def logins():
    """A refused login is reported, and tried again with the new password."""
    rabbit.ctl("add_user", "sfm", SECRETS[1])
    rabbit.ctl("set_permissions", "sfm", ".*", ".*", ".*")
    path = os.path.join(PLACE, "password")
    with open(path, "w", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        f.write(SECRETS[0] + "\nsecond line\n")
    t = Try("--password-file", path, "u_queue=u.#", user="sfm")
    f = t.wait(event="disconnected")
    check("a refused login", f and f["err"] == "DENIED" and
          "ACCESS_REFUSED" in f["why"], f)
    check("both connections are tried again",
          t.wait(n=2, event="disconnected", side="consuming") and
          t.wait(n=2, event="disconnected", side="publishing"))
    with open(path, "w") as f:
        f.write(SECRETS[1] + "\n")
    check("with the right password it is connected", t.up(1))
    t.do("publish", "u.key", "first", 10)
    check("and publishes", t.wait(result="confirmed", id="first"))
    rabbit.ctl("clear_permissions", "sfm")
    rabbit.ctl("set_permissions", "sfm", ".*", "^$", ".*")
    # The broker remembers a right for a while, for each channel.
    t.close()
    t = Try("--password-file", path, "u_queue=u.#", user="sfm")
    f = t.wait(event="failed")
    same("a right is missing", f and (f["queue"], f["err"]),
         ("u_queue", "DENIED"))
    t.do("publish", "u.key", "denied", 10)
    same("a message that may not be sent is lost",
         t.wait(id="denied", result=ANY)["result"], "lost")
    t.close()
    t = Try(url=f"amqp://{SECRETS[2]}:{SECRETS[2]}@127.0.0.1:{rabbit.port}")
    same("a password in the URL", t.child.wait(), 1)
    error = t.child.stderr.read()
    Try.all_said.append(error)
    check("is refused at start", "belongs into a file" in error, error)
    t = Try(url=f"amqp://guest@127.0.0.1:{rabbit.port}/missing")
    f = t.wait(event="disconnected")
    check("a vhost that is missing", f and f["err"] == "DENIED", f)
    t.close()


def tls():
    """amqps:// is verified: by tls_ca, or the system's authorities."""
    words = ("t_queue=t.#",)
    url = f"amqps://guest@localhost:{rabbit.tls_port}"
    t = Try("--ca", crt, *words, url=url)
    check("TLS with its certificate", t.up(1))
    t.do("consume", "t_queue")
    t.do("many", "t", "t.key", 20, 100000)
    check("messages, both ways", t.wait(n=20, result="confirmed") and
          t.wait(n=20, delivery=ANY))
    t.close()
    for name, words in (
            ("a certificate that nobody signed", (url,)),
            ("another name", (url.replace("localhost", "127.0.0.1"),
                              "--ca", crt)),
            ("no file of certificates", (url, "--ca", PLACE + "/missing"))):
        t = Try(*words[1:], url=words[0])
        f = t.wait(event="disconnected")
        check(f"{name}: refused", f and f["why"], f)
        note(f"{f['why']}")
        same(f"{name}: never connected", t.count(event="connected"), 0)
        t.close()


def blocked():
    """A broker without memory takes no messages; consuming goes on."""
    t = Try("b_queue=b.#", "b_out=out.#")
    t.up(2)
    for i in range(5):
        put(f"b.{i}")
    rabbit.ctl("set_vm_memory_high_watermark", "0")
    t.do("many", "b", "out.key", 300, 50000)
    b = t.wait(event="blocked")
    check("the broker takes no messages", b and "memory" in b["why"], b)
    t.do("consume", "b_queue")
    check("deliveries go on", t.wait(n=5, delivery=ANY))
    check("and are acked", wait_until(lambda: rabbit.ctl(
        "list_queues", "-q", "--no-table-headers", "name", "messages")
        .count("b_queue\t0") == 1))
    time.sleep(1)
    confirmed = t.count(result=ANY)
    check("messages wait", confirmed < 300, confirmed)
    rabbit.ctl("set_vm_memory_high_watermark", "0.4")
    check("the broker takes them again", t.wait(event="unblocked"))
    check("and confirms all", t.wait(n=300, result="confirmed"),
          t.count(result="confirmed"))
    same("on the same connections", t.count(event="connected"), 2)
    same("each once", sorted(p.message_id for _, p, _ in get_all("b_out")),
         sorted(f"b-{i}" for i in range(300)))
    # An end while the broker is blocked does not wait for it.
    rabbit.ctl("set_vm_memory_high_watermark", "0")
    t.do("many", "end", "out.key", 10, 1000)
    t.wait(n=2, event="blocked")
    t.do("publish", "out.key", "held", 10)
    began = time.monotonic()
    t.close(1000)
    check("the end waits no longer than it was told",
          time.monotonic() - began < 5)
    same("every message has a result", t.count(result=ANY), 311)
    same("that of the last one is certain", t.find(id="held")[0]["result"],
         "unsent")
    rabbit.ctl("set_vm_memory_high_watermark", "0.4")


def stopped():
    """A broker that does nothing is given up after two heartbeats."""
    t = Try("--heartbeat", "2", "v_queue=v.#")
    t.up(1)
    t.do("publish", "v.key", "before", 10)
    t.wait(result="confirmed", id="before")
    time.sleep(8)
    same("idle connections stay", t.count(event="disconnected"), 0)
    rabbit.signal(signal.SIGSTOP)
    began = time.monotonic()
    t.do("many", "v", "v.key", 100, 200000)
    lost = [t.wait(event="disconnected", side=side)
            for side in ("consuming", "publishing")]
    seconds = time.monotonic() - began
    check("a stopped broker is given up", all(lost), lost)
    check("after two heartbeats", 2 < seconds < 30, seconds)
    rabbit.signal(signal.SIGCONT)
    check("going on, it is connected again",
          t.wait(n=2, event="connected", side="publishing", seconds=60) and
          t.wait(n=2, event="connected", side="consuming", seconds=60))
    check("every message is confirmed in the end", wait_until(
        lambda: len({r["id"] for r in t.find(result="confirmed")}) == 101, 60),
        t.count(result="confirmed"))
    ids = {p.message_id for _, p, _ in get_all("v_queue")}
    check("and is there", {r["id"] for r in t.find(result="confirmed")} <= ids)
    t.close()


def killed():
    """kill -9 of the broker: nothing that was confirmed is missing."""
    each, sent = 10000, 0      # so many that a kill finds it in mid-run
    t = Try("k_queue=k.#")
    t.up(1)
    for i in range(2):
        t.do("many", f"k{i}", "k.key", each, 500)
        sent += each
        t.wait(n=500, since=t.count(result="confirmed"), result="confirmed")
        rabbit.kill()
        confirmed = t.count(result="confirmed")
        lost = t.wait(n=i + 1, event="disconnected", side="publishing")
        check(f"kill {i + 1}: in mid-run", lost and 0 < confirmed < sent,
              confirmed)
        rabbit.start()
        check("connected again", t.wait(n=i + 2, event="connected",
                                        side="publishing", seconds=60))
    check("every message is confirmed in the end",
          t.wait(n=sent, result="confirmed", seconds=120),
          t.count(result="confirmed"))
    ids = [p.message_id for _, p, _ in get_all("k_queue")]
    missing = {f"k{k}-{i}" for k in range(2)
               for i in range(each)} - set(ids)
    check("none of them is missing", not missing, missing)
    lost = t.count(result="lost")
    check("lost confirms are reported, and bound what came twice",
          lost > 0 and len(ids) - sent <= lost, (lost, len(ids)))
    check("no more than may be unconfirmed at once", lost <= 2 * 256, lost)
    note(f"lost {lost}, twice {len(ids) - sent}")
    t.do("consume", "k_queue")
    put("k.after")
    check("the queue is consumed after that", t.wait(delivery=ANY))
    t.close()


def waiting():
    """Messages wait for a broker that is away; the end gives them back."""
    t = Try("w_queue=w.#")
    t.up(1)
    # The Erlang VM stays: its start takes most of the time of a restart.
    rabbit.ctl("stop_app")
    t.wait(event="disconnected", side="publishing")
    t.do("publish", "w.key", "later", 10)
    t.do("depth", "w_queue")
    same("no answer without a connection",
         t.wait(answer="w_queue")["err"], "UNREACHED")
    rabbit.ctl("start_app")
    check("a message waits for the broker",
          t.wait(result="confirmed", id="later", seconds=60))
    rabbit.stop()
    t.wait(n=2, event="disconnected", side="publishing")
    t.do("publish", "w.key", "never", 10)
    t.close()
    same("the end gives it back", t.find(id="never")[0]["result"], "unsent")


def closed():
    """Connections that an administrator closes are made again."""
    t = Try("c_queue=c.#", "c_out=out.#")
    t.up(2)
    t.do("deal", "hold")
    t.do("consume", "c_queue")
    put("c.one")
    t.wait(delivery=0)
    rabbit.ctl("close_all_connections", "closed by hand")
    for side in ("consuming", "publishing"):
        f = t.wait(event="disconnected", side=side)
        check(f"{side}: the broker's reason is reported",
              f and "closed by hand" in f["why"], f)
    d = t.wait(delivery=1)
    same("what was not acked comes again", d and d["redelivered"], 1)
    # The number that the old connection gave it is another one's now.
    put("c.two")
    t.do("ack", 0)
    time.sleep(0.5)
    same("an ack that comes too late does nothing",
         (t.count(delivery=ANY), t.count(event="failed"),
          t.count(event="disconnected")), (2, 0, 2))
    t.do("ack", 1)
    check("the next one", t.wait(delivery=2))
    t.do("ack", 2)
    t.do("publish", "out.key", "after", 10)
    check("and messages", t.wait(result="confirmed", id="after"))
    t.close()
    same("all acked", depth("c_queue"), 0)


def run(scene):
    note(f"{scene.__name__}: {scene.__doc__}")
    began = time.monotonic()
    scene()
    note(f"{time.monotonic() - began:.1f} s")


crt, key = certificate()
rabbit = Rabbit(tls=(crt, key))
Try.port = rabbit.port
for scene in (declarations, properties, deliveries, slots, too_large,
              hostile_headers, quorum, other_arguments, deleted, closed,
              logins, tls, blocked, stopped, killed, waiting):
    if len(sys.argv) < 3 or scene.__name__ in sys.argv[2:]:
        run(scene)
check_secrets(SECRETS)
done()
