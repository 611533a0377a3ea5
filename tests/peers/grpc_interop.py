"""Foreign gRPC clients and HTTP/2 abuse against grpc_echo, a small server of
ours over os/net and wire/grpc.

The clients are gRPC's own interop cases, as far as they need no schema: Python
(the C-core) and @grpc/grpc-js (Node's HTTP/2).  The abuse is frames by hand: the
server says GOAWAY or RST_STREAM as RFC 9113 has it, and goes on serving others.
"""
import re
import struct
import threading

import peer
from frames import *
from peer import *

# gRPC's own names (doc/interop-test-descriptions.md).
CASES = """empty_unary large_unary client_streaming server_streaming ping_pong
empty_stream client_compressed_unary client_compressed_streaming
server_compressed_unary server_compressed_streaming custom_metadata
status_code_and_message special_status_message unimplemented_method
unimplemented_service cancel_after_begin cancel_after_first_response
timeout_on_sleeping_server concurrent_large_unary""".split()
# What we send is never packed; what comes may be.
SERVER_PACKS = {"server_compressed_unary", "server_compressed_streaming"}
CLIENT_PACKS = {"client_compressed_unary", "client_compressed_streaming"}
told = {}                       # {client: {case: whether it was fine}}


def check(name, fine, why=""):
    who, _, case = name.partition(": ")
    if case in CASES:
        told.setdefault(who, {})[case] = bool(fine)
    return peer.check(name, fine, why)


def same(name, got, want):
    return check(name, got == want, f"{got!r} is not {want!r}")


def count(who):
    """No case was forgotten; how many went well."""
    wanted = set(CASES)
    if not who.startswith("our client"):
        wanted -= SERVER_PACKS
    elif "gzip" in who:
        wanted -= CLIENT_PACKS | {"concurrent_large_unary"}
    else:
        wanted -= SERVER_PACKS | CLIENT_PACKS | {"concurrent_large_unary"}
    same(f"{who}: no case was left out", set(told[who]), wanted)
    return f"{who} {sum(told[who].values())} of {len(wanted)}"

build = os.environ.get("ARGIOPE_BUILD", os.path.dirname(program()))
server = next((p for p in (
    os.environ.get("GRPC_ECHO", ""), build + "/tests/peers/grpc_echo",
    os.path.dirname(build) + "/tests/peers/grpc_echo")
    if os.path.exists(p)), None)
if server is None:
    skip("grpc_interop", "tests/peers/grpc_echo is not built")
    done()
try:
    import grpc
except ImportError:
    grpc = None


class Echo:
    def __init__(self, name, *args, **env):
        self.out = name + ".out"
        with open(self.out, "w") as out:
            self.child = start([server, *args], stdout=out,
                               env=dict(os.environ, **env))
        said = wait_until(lambda: open(self.out).read())
        if not said:
            sys.exit(f"{server} does not start")
        self.port = int(said.split()[1])

    def rss_kib(self):
        with open(f"/proc/{self.child.pid}/status") as f:
            return int(re.search(r"VmRSS:\s*(\d+)", f.read())[1])

    def runs(self):
        return self.child.poll() is None

    def end(self):
        """Ended by SIGTERM: (exit code, what it counted)."""
        self.child.terminate()
        try:
            code = self.child.wait(10)
        except subprocess.TimeoutExpired:
            return None, {}
        words = open(self.out).read().split()[2:]
        return code, {k: int(v) for k, v in zip(words[::2], words[1::2])}


def path(name):
    return "/argiope.Echo/" + name


# ---- Python ------------------------------------------------------------------

def outcome(f, *args, **more):
    """(code's name, text) of a call; ("OK", answer) when it went well."""
    try:
        return "OK", f(*args, **more)
    except grpc.RpcError as e:
        return e.code().name, e.details()


def python_cases(who, channel):
    unary = channel.unary_unary
    same(f"{who}: empty_unary", outcome(unary(path("Unary")), b""),
         ("OK", b""))
    big = os.urandom(271828)
    same(f"{who}: large_unary", outcome(unary(path("Unary")), big)[1] == big,
         True)
    calls = [unary(path("Unary")).future(big) for _ in range(100)]
    same(f"{who}: concurrent_large_unary",
         {c.result() == big for c in calls}, {True})
    same(f"{who}: client_streaming", outcome(
        channel.stream_unary(path("Count")),
        iter([b"x" * 1000] * 500 + [b"", b"y"])), ("OK", b"500001"))
    got = list(channel.unary_stream(path("Many"))(b"3000 1000"))
    same(f"{who}: server_streaming", (len(got), set(map(len, got))),
         (3000, {1000}))

    sent = threading.Semaphore(1)

    def pings():
        for _ in range(100):
            sent.acquire()
            yield b"ping"

    got = 0
    for answer in channel.stream_stream(path("Chat"))(pings()):
        got += answer == b"ping"
        sent.release()
    same(f"{who}: ping_pong", got, 100)
    same(f"{who}: empty_stream",
         list(channel.stream_stream(path("Chat"))(iter([]))), [])
    half = [b"a" * 31415, b"b" * 9, b"c" * 2653, b"d" * 58979] * 20
    same(f"{who}: a stream both ways", list(
        channel.stream_stream(path("Chat"))(iter(half))) == half, True)

    same(f"{who}: client_compressed_unary", outcome(
        unary(path("Unary")), b"z" * 200000,
        compression=grpc.Compression.Gzip), ("OK", b"z" * 200000))
    same(f"{who}: client_compressed_streaming", outcome(
        channel.stream_unary(path("Count")), iter([b"z" * 50000] * 20),
        compression=grpc.Compression.Gzip), ("OK", b"1000000"))
    same(f"{who}: deflate is refused", outcome(
        unary(path("Unary")), b"z" * 200000,
        compression=grpc.Compression.Deflate)[0], "UNIMPLEMENTED")

    metadata = (("x-echo", "some value"), ("x-echo-bin", b"\xab\xab\0\xff"))
    answer, call = unary(path("Unary")).with_call(b"x", metadata=metadata)
    both = channel.stream_stream(path("Chat"))(iter([b"x"]),
                                               metadata=metadata)
    same(f"{who}: metadata both ways: the message", list(both), [b"x"])
    same(f"{who}: custom_metadata", [(
        dict(c.initial_metadata()).get("x-echo"),
        dict(c.trailing_metadata()).get("x-echo-bin"))
        for c in (call, both)], [("some value", b"\xab\xab\0\xff")] * 2)
    same(f"{who}: status_code_and_message", [
        outcome(unary(path("Status")), b"2 test status message"),
        outcome(lambda: list(channel.stream_stream(path("Status"))(
            iter([b"2 test status message"]))))],
        [("UNKNOWN", "test status message")] * 2)
    text = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP " \
        "\U0001F608\t\n"
    same(f"{who}: special_status_message", outcome(
        unary(path("Status")), b"2 " + text.encode()), ("UNKNOWN", text))
    same(f"{who}: every code", [outcome(
        unary(path("Status")), b"%d x" % i)[0] for i in range(1, 17)],
        [c.name for c in sorted(grpc.StatusCode, key=lambda c: c.value[0])
         if c.value[0] > 0])
    same(f"{who}: unimplemented_method",
         outcome(unary(path("Nothing")), b"")[0], "UNIMPLEMENTED")
    same(f"{who}: unimplemented_service",
         outcome(unary("/no.Such/Thing"), b"")[0], "UNIMPLEMENTED")
    same(f"{who}: a message of 4 MiB",
         outcome(unary(path("Unary")), b"x" * (4 << 20))[0], "OK")
    same(f"{who}: a message beyond 4 MiB",
         outcome(unary(path("Unary")), b"x" * ((4 << 20) + 1))[0],
         "RESOURCE_EXHAUSTED")

    call = channel.stream_unary(path("Count")).future(waiting(b"one"))
    call.cancel()
    same(f"{who}: cancel_after_begin", call.code().name, "CANCELLED")
    call = channel.stream_stream(path("Chat"))(waiting(b"one"))
    next(call)
    call.cancel()
    same(f"{who}: cancel_after_first_response", call.code().name,
         "CANCELLED")
    same(f"{who}: timeout_on_sleeping_server", outcome(
        unary(path("Never")), b"", timeout=0.2)[0], "DEADLINE_EXCEEDED")
    same(f"{who}: health", outcome(
        unary("/grpc.health.v1.Health/Check"), b""), ("OK", b"\x08\x01"))


def waiting(first):
    yield first
    time.sleep(2)


def python_client(echo, tls_echo):
    options = (("grpc.max_receive_message_length", 64 << 20),
               ("grpc.max_send_message_length", 64 << 20),
               ("grpc.enable_retries", 0))
    with grpc.insecure_channel(f"127.0.0.1:{echo.port}", options) as channel:
        python_cases("python", channel)
        # 200 calls at once, then one sender that is held.
        calls = [channel.unary_unary(path("Unary")).future(b"%d" % i)
                 for i in range(200)]
        same("python: concurrent calls", [c.result() for c in calls],
             [b"%d" % i for i in range(200)])
        sent = [0]

        def endless():
            while True:
                sent[0] += 1
                yield b"x" * 10000

        call = channel.stream_stream(path("Stop"))(endless())
        time.sleep(1.0)
        before = sent[0]
        time.sleep(0.5)
        check("python: who is not read stops sending",
              before == sent[0] and 50 < before < 2000, (before, sent[0]))
        same("python: others are served meanwhile", outcome(
            channel.unary_unary(path("Unary")), b"y"), ("OK", b"y"))
        call.cancel()
    if tls_echo is not None:
        with open("tls.crt", "rb") as f:
            trust = grpc.ssl_channel_credentials(f.read())
        with grpc.secure_channel(f"localhost:{tls_echo.port}", trust,
                                 options) as channel:
            python_cases("python over TLS", channel)


# ---- Our client -----------------------------------------------------------------

ASK_SAYS = """empty_unary: OK 1 0
large_unary: OK 1 271828
custom_metadata: OK 1 1 some value%01%02 any
custom_metadata both ways: OK 1 1 some value%01%02 any
client_streaming: OK 1 7
server_streaming: OK 3000 3000000
slow_consumer: OK 300 6000000
ping_pong: OK 100 400
empty_stream: OK 0 0
both_ways: OK 2000 10000000
status_code_and_message: FAILED_PRECONDITION 0 0 test status
special_status_message: UNKNOWN 0 0 %09%0d%0a%25 \u263a \U0001F608
cancel_after_begin: CANCELLED 0 0 cancelled
cancel_after_first_response: CANCELLED 1 1 cancelled
timeout_on_sleeping_server: DEADLINE_EXCEEDED 0 0"""


class Service(grpc.GenericRpcHandler if grpc else object):
    """The Echo service in Python."""

    def service(self, details):
        name = details.method.rpartition("/")[2]
        kind = {"Count": "stream_unary", "Many": "unary_stream",
                "Chat": "stream_stream"}.get(name, "unary_unary")
        if not hasattr(self, name):
            return None
        return getattr(grpc, kind + "_rpc_method_handler")(
            getattr(self, name))

    def echo(self, context):
        given = dict(context.invocation_metadata())
        if "x-echo" in given:
            context.send_initial_metadata((("x-echo", given["x-echo"]),))
            context.set_trailing_metadata((
                ("x-echo-bin", given["x-echo-bin"]),))

    def Unary(self, message, context):
        self.echo(context)
        return message

    def Count(self, messages, context):
        return b"%d" % sum(map(len, messages))

    def Many(self, message, context):
        n, size = map(int, message.split())
        return (b"m" * size for _ in range(n))

    def Chat(self, messages, context):
        self.echo(context)
        return messages

    def Status(self, message, context):
        code, _, text = message.partition(b" ")
        context.abort(next(c for c in grpc.StatusCode
                           if c.value[0] == int(code)), text.decode())

    def Never(self, message, context):
        time.sleep(0.5)
        return b""


def our_client(who, *args):
    code, out, err = run(
        os.path.join(os.path.dirname(server), "grpc_ask"), *map(str, args))
    said = dict(line.split(": ", 1) for line in out.splitlines())
    same(f"our client and {who}: ends well", code, 0)
    for line in ASK_SAYS.splitlines():
        name, want = line.split(": ", 1)
        got = said.get(name, "nothing")
        if name.startswith("timeout"):
            got = got[:len(want)]
        same(f"our client and {who}: {name}", got.strip(), want)
    for name in ("unimplemented_method", "unimplemented_service"):
        check(f"our client and {who}: {name}", said.get(name, "").startswith(
            "UNIMPLEMENTED"), out)
    if "gzip" in who:
        ours = told[f"our client and {who}"]
        for name, plain in (("server_compressed_unary", "large_unary"),
                            ("server_compressed_streaming",
                             "server_streaming")):
            check(f"our client and {who}: {name}", ours.get(plain))


def our_client_and_python():
    from concurrent import futures
    for who, packing in (("grpcio", grpc.Compression.NoCompression),
                         ("grpcio with gzip", grpc.Compression.Gzip)):
        there = grpc.server(futures.ThreadPoolExecutor(8),
                            compression=packing)
        there.add_generic_rpc_handlers((Service(),))
        port = there.add_insecure_port("127.0.0.1:0")
        there.start()
        our_client(who, "127.0.0.1", port)
        there.stop(0).wait()


# ---- Reflection -----------------------------------------------------------------

def described():
    """A set of files made by Google's own library comes back as it was."""
    try:
        from google.protobuf import descriptor_pb2, empty_pb2
    except ImportError:
        skip("reflection", "python3-protobuf is not installed")
        return
    files = descriptor_pb2.FileDescriptorSet()
    empty_pb2.DESCRIPTOR.CopyToProto(files.file.add())
    echo_file = files.file.add(name="echo.proto", package="argiope",
                               syntax="proto3",
                               dependency=["google/protobuf/empty.proto"])
    service = echo_file.service.add(name="Echo")
    for name in ("Unary", "Never"):
        service.method.add(name=name, input_type=".google.protobuf.Empty",
                           output_type=".google.protobuf.Empty")
    with open("echo.set", "wb") as f:
        f.write(files.SerializeToString())
    echo = Echo("described", GRPC_ECHO_SET=PLACE + "/echo.set")

    def field(number, content):
        assert len(content) < 128
        return bytes((number << 3 | 2, len(content))) + content

    for version in ("v1", "v1alpha"):
        with grpc.insecure_channel(f"127.0.0.1:{echo.port}") as channel:
            ask = channel.stream_stream(
                f"/grpc.reflection.{version}.ServerReflection/"
                "ServerReflectionInfo")
            services, symbol, absent = ask(iter((
                field(7, b""), field(4, b"argiope.Echo.Unary"),
                field(3, b"no.proto"))))
        same(f"reflection {version}: services",
             services.endswith(field(6, field(1, field(
                 1, b"argiope.Echo")))), True)
        at = [symbol.find(f.SerializeToString()) for f in files.file]
        check(f"reflection {version}: the file, then what it imports",
              0 < at[1] < at[0], at)
        check(f"reflection {version}: no such file", b"\x08\x05" in absent,
              absent)
    tool = shutil.which("grpcurl")
    if tool is not None:
        where = f"127.0.0.1:{echo.port}"
        same("grpcurl: list", run(tool, "-plaintext", where, "list")[1]
             .split()[:1], ["argiope.Echo"])
        same("grpcurl: describe", "rpc Never (" in run(
            tool, "-plaintext", where, "describe", "argiope.Echo")[1], True)
        same("grpcurl: a call", run(tool, "-plaintext", where,
                                    "argiope.Echo/Unary"),
             (0, "{}\n", ""))
        same("grpcurl: a deadline", "DeadlineExceeded" in run(
            tool, "-plaintext", "-max-time", "0.3", where,
            "argiope.Echo/Never")[2], True)
    same("reflection: the server ends in peace", echo.end()[0], 0)


# ---- Draining -------------------------------------------------------------------

def drained():
    """SIGTERM lets a call end, then the program ends by itself."""
    echo = Echo("drain")
    with grpc.insecure_channel(f"127.0.0.1:{echo.port}") as channel:
        go = threading.Event()

        def two():
            yield b"one"
            go.wait(5)
            yield b"two"

        call = channel.stream_stream(path("Chat"))(two())
        first = next(call)
        echo.child.terminate()
        time.sleep(0.3)
        check("drain: the call goes on", echo.runs())
        go.set()
        same("drain: and ends well", [first] + list(call), [b"one", b"two"])
        same("drain: then the server ends",
             wait_until(lambda: echo.child.poll() is not None, 3), True)


# ---- grpc-js ---------------------------------------------------------------------

NODE_SAYS = {
    "empty_unary": "ok 0", "large_unary": "ok 271828",
    "concurrent_large_unary": "100 true", "client_streaming": "ok 500000",
    "client_compressed_streaming": "ok 1000000",
    "server_streaming": "0 3000 3000000", "ping_pong": "0 50",
    "empty_stream": "0 0", "client_compressed_unary": "ok 100000",
    "custom_metadata": "ok 1 some value",
    "custom_metadata trailer": "ababab00ff",
    "custom_metadata both ways": "0 1 some value ababab00ff",
    "status_code_and_message": '2 "test status"',
    "status_code_and_message both ways": "2 0 test status",
    "unimplemented_service": '12 "no such method"',
    "cancel_after_first_response": "1 1",
    "unimplemented_method": '12 "no such method"',
    "special_status_message": "2 " + json.dumps(
        "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP "
        "\U0001F608\t\n", ensure_ascii=False),
    "cancel_after_begin": "1",
}


def node_client(who, modules, echo, *ca):
    code, out, err = run(
        "node", os.path.join(HERE, "grpc_interop.js"), str(echo.port), *ca,
        env=dict(os.environ, NODE_PATH=modules))
    check(f"{who}: ran", code == 0, err[-500:])
    said = dict(line.split(": ", 1) for line in out.splitlines()
                if ": " in line)
    for name, want in NODE_SAYS.items():
        same(f"{who}: {name}", said.get(name), want)
    check(f"{who}: timeout_on_sleeping_server", said.get(
        "timeout_on_sleeping_server", "").startswith("4 "), said)


# ---- Frames by hand ----------------------------------------------------------------

def head(name):
    return request_head(path(name))


def still_fine(name, echo):
    """Another peer is served: a whole unary call by hand."""
    peer = Raw(echo.port)
    peer.send(frame(HEADERS, 4, 1, head("Unary")) +
              frame(DATA, 1, 1, b"\0\0\0\0\x05hello"))
    wait_until(lambda: peer.read(0.1) or any(
        f[0] == HEADERS and f[1] & 1 for f in peer.frames), 5)
    check(f"{name}: others are served", echo.runs() and any(
        f[0] == DATA and b"hello" in f[3] for f in peer.frames), peer.frames)
    peer.close()


def abuse(name, echo, blocks, codes):
    """Send the blocks until the server has enough."""
    peer = Raw(echo.port)
    for block in blocks:
        if not peer.send(block):
            break
    code = peer.goaway()
    check(f"{name}: GOAWAY", code in codes, f"{code} {len(peer.frames)}")
    peer.close()
    still_fine(name, echo)


def hand_made(echo):
    abuse("rapid reset", echo, (
        b"".join(frame(HEADERS, 4, i, head("Chat")) +
                 frame(RST, 0, i, struct.pack(">I", 8))
                 for i in range(k, k + 200, 2))
        for k in range(1, 20000, 200)), {CALM})
    abuse("PING flood", echo, [frame(PING, 0, 0, b"12345678") * 1000] * 100,
          {CALM})
    abuse("SETTINGS flood", echo, [frame(SETTINGS, 0, 0) * 1000] * 100,
          {CALM})
    abuse("CONTINUATION flood", echo, [frame(HEADERS, 0, 1, head("Chat"))] +
          [frame(CONT, 0, 1, literal(b"x", b"y" * 100)) * 100] * 1000,
          {CALM, 1})
    abuse("empty DATA flood", echo, [frame(HEADERS, 4, 1, head("Chat"))] +
          [frame(DATA, 0, 1) * 1000] * 100, {CALM})
    abuse("no HTTP/2 behind the preface", echo, [b"x" * 100], {1, 6})
    abuse("a stream of the server's", echo,
          [frame(HEADERS, 4, 2, head("Chat"))], {1})
    abuse("DATA on an idle stream", echo, [frame(DATA, 0, 7, b"x")], {1})
    abuse("a frame that is too long", echo,
          [frame(DATA, 0, 1, b"x" * 20000)], {1, 6})
    abuse("a window beyond 2^31-1", echo,
          [frame(WINDOW, 0, 0, struct.pack(">I", 0x7fffffff)) * 2], {3})

    peer = Raw(echo.port)
    for k in range(1, 40000, 200):
        if not peer.send(b"".join(frame(HEADERS, 4, i, head("Chat"))
                                  for i in range(k, k + 200, 2))):
            break
    peer.read(0.5)
    refused = sum(f[0] == RST and f[3] == struct.pack(">I", 7)
                  for f in peer.frames)
    check("20,000 streams: refused, or GOAWAY", refused > 500 or
          peer.goaway() in (CALM, 1), refused)
    peer.close()
    still_fine("20,000 streams", echo)

    # Asks for much and reads nothing: held to a few MiB.
    before = echo.rss_kib()
    peers = [Raw(echo.port, reads=False) for _ in range(20)]
    for peer in peers:
        peer.send(frame(WINDOW, 0, 0, struct.pack(">I", 0x7ffeffff)))
        for i in range(1, 101, 2):
            ask = b"100000 1000"
            peer.send(frame(HEADERS, 4, i, head("Many")) +
                      frame(WINDOW, 0, i, struct.pack(">I", 0x7ffeffff)) +
                      frame(DATA, 1, i, b"\0\0\0\0" + bytes((len(ask),)) +
                            ask))
    time.sleep(1)
    grown = (echo.rss_kib() - before) // 1024
    check("a client that never reads: bounded", grown < 20 * 16,
          f"{grown} MiB")
    note(f"20 clients that never read: {grown} MiB")
    still_fine("a client that never reads", echo)
    for peer in peers:
        peer.close()


# ---- All of it -----------------------------------------------------------------------

echo = Echo("echo")
tls_echo = None
if shutil.which("openssl"):
    tls_echo = Echo("tls", "127.0.0.1", *certificate())
if grpc is None:
    skip("python", "python3-grpcio is not installed")
else:
    python_client(echo, tls_echo)
    our_client_and_python()
    drained()
    described()
our_client("grpc_echo", "127.0.0.1", echo.port)
if tls_echo is not None:
    our_client("grpc_echo over TLS", "127.0.0.1", tls_echo.port,
               PLACE + "/tls.crt", "localhost")
modules = grpc_js() if shutil.which("node") else None
if modules is None:
    skip("grpc-js", "node or the module cannot be had")
else:
    node_client("grpc-js", modules, echo)
    if tls_echo is not None:
        node_client("grpc-js over TLS", modules, tls_echo, "tls.crt")
print("conformance: gRPC interop cases: " + ", ".join(
    count(who) for who in sorted(told)))
hand_made(echo)
for name, child in (("plain", echo), ("TLS", tls_echo)):
    if child is None:
        continue
    code, counted = child.end()
    same(f"{name}: ends in peace", code, 0)
    same(f"{name}: every call that was opened has ended",
         counted.get("opened"), counted.get("ended"))
    note(f"{name}: {counted}")
done()
