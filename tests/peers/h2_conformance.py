"""HTTP/2 (RFC 9113) and HPACK (RFC 7541) rule by rule, by frames made by hand,
against the URL Frontier door of `argiope serve`.

h2spec (h2_spec.py) asks any server; this asks a gRPC one, so that streams stay
open and answers are long where a rule is about that, and follows RFC 9113 where
it differs from 7540.  Names begin with the section, as h2spec's do.  After each
case another connection is served.
"""
import select
import ssl

from frames import *
from urlfrontier_peer import *

begin("h2_conformance")
try:
    import hpack
except ImportError:
    skip("h2_conformance", "python3-hpack is not installed")
    done()

# Error codes (§7).
NONE, PROTOCOL, INTERNAL, FLOW, TIMEOUT, CLOSED, SIZE, REFUSED, CANCEL, \
    COMPRESSION = range(10)
# Flags and settings.
PADDED, PRIORITIZED = 8, 32
TABLE, ENABLE_PUSH, STREAMS, WINDOW_SIZE, FRAME_SIZE, LIST_SIZE = range(1, 7)
BOTH = END_STREAM | END_HEADERS
SECONDS = 5
counts = {}                     # {section: cases}
fine_ones = 0


# ---- What is sent ------------------------------------------------------------

def string(s):
    """HPACK: a string of any length, not packed."""
    if len(s) < 127:
        return bytes((len(s),)) + s
    n, out = len(s) - 127, b"\x7f"
    while n > 127:
        out += bytes((n & 127 | 128,))
        n >>= 7
    return out + bytes((n,)) + s


def block(pairs):
    return b"".join(b"\0" + string(n) + string(v) for n, v in pairs)


def fields(rpc="GetStats", *more, without=(), **instead):
    """The fields of a call; `instead` replaces pseudo-header fields."""
    usual = {b":method": b"POST", b":scheme": b"http",
             b":path": f"/{NAME}/{rpc}".encode(), b":authority": b"x",
             b"content-type": b"application/grpc", b"te": b"trailers"}
    for name, value in instead.items():
        usual[b":" + name.encode()] = value
    return [p for p in usual.items() if p[0] not in without] + list(more)


def head(rpc="GetStats", *more, **how):
    return block(fields(rpc, *more, **how))


def unary(stream=1, header=None, body=message(b"")):
    """A whole call."""
    return frame(HEADERS, END_HEADERS, stream, header or head()) + \
        frame(DATA, END_STREAM, stream, body)


def opened(stream=1, *more):
    """A call that stays open."""
    return frame(HEADERS, END_HEADERS, stream, head("PutURLs", *more))


def listing(stream=1):
    """A call whose answer is long."""
    ask = M.ListUrlParams(size=ALL, crawlID="h2").SerializeToString()
    return unary(stream, head("ListURLs"), message(ask))


def setting(*pairs):
    return b"".join(struct.pack(">HI", name, value) for name, value in pairs)


def settings(*pairs):
    return frame(SETTINGS, 0, 0, setting(*pairs))


# ---- What is to come -----------------------------------------------------------

class H2(Raw):
    def __init__(self, *args, **more):
        self.unpack, self.told = hpack.Decoder(), {}
        super().__init__(*args, **more)

    def take(self, kind, flags, stream, payload):
        super().take(kind, flags, stream, payload)
        if kind == HEADERS:
            self.told.setdefault(stream, {}).update(
                self.unpack.decode(payload))

    def until(self, test, seconds=SECONDS):
        until = time.monotonic() + seconds
        while not test():
            if self.closed or time.monotonic() > until:
                return bool(test())
            select.select([self.s], [], [], 0.05)
            self.read(0)
        return True

    def seen(self, kind, stream=None):
        """The payloads of frames that came."""
        return [p for k, _, s, p in self.frames
                if k == kind and stream in (None, s)]

    def code(self, stream):
        """Of the RST_STREAM that came, or None."""
        found = self.seen(RST, stream)
        return int.from_bytes(found[0], "big") if found else None

    def pings(self):
        """A PING goes there and back: all before it was read."""
        n = len(self.seen(PING))
        self.send(frame(PING, 0, 0, b"are you?"))
        return self.until(lambda: len(self.seen(PING)) > n)

    def status(self, stream=1):
        """grpc-status, or the :status of an answer without it."""
        self.until(lambda: any(
            s == stream and (k == RST or f & END_STREAM and k != SETTINGS)
            for k, f, s, _ in self.frames))
        told = self.told.get(stream, {})
        return told.get("grpc-status", told.get(":status"))

    def story(self):
        return [(k, f, s, p[:20]) for k, f, s, p in self.frames[-5:]]


def ends(*codes):
    """A connection error of one of these codes: GOAWAY, then the end."""
    def expect(peer):
        got = peer.goaway()
        if got not in codes:
            return f"GOAWAY {got}, not {codes}"
    return expect


def resets(*codes, stream=1):
    """A stream error of one of these codes; the connection lives."""
    def expect(peer):
        peer.until(lambda: peer.code(stream) is not None)
        if peer.code(stream) not in codes:
            return f"RST_STREAM {peer.code(stream)}, not {codes}"
        if not peer.pings():
            return "no PING comes back behind it"
        peer.send(unary(101))
        if peer.status(101) != "0":
            return "the next call is not answered"
    return expect


def lives(peer):
    """Nothing happens: no error, and a call is answered."""
    if not peer.pings():
        return "no PING comes back"
    peer.send(unary(101))
    if peer.status(101) != "0":
        return f"the next call: {peer.status(101)}"
    errors = [c for s in {s for _, _, s, _ in peer.frames}
              for c in [peer.code(s)] if c]
    if errors or peer.seen(GOAWAY):
        return f"RST_STREAM {errors}, or GOAWAY"


def answers(status="0", stream=1):
    """A call is answered so."""
    def expect(peer):
        if peer.status(stream) != status:
            return f"{peer.status(stream)}, not {status}"
        return None if peer.pings() else "no PING comes back"
    return expect


def last_answer(peer):
    """Then the server may close."""
    return None if peer.status() == "0" else "no answer"


# ---- Cases -----------------------------------------------------------------------

def another(tls=None):
    """A connection that is to be served whatever others do."""
    peer = H2(server.port, tls=tls)
    peer.send(window(0, 1 << 30))
    peer.stream = -1
    return peer


def served():
    global other
    if other.closed:
        return False
    other.stream += 2
    other.send(unary(other.stream))
    fine = other.status(other.stream) == "0"
    other.frames, other.told = [], {}
    return fine


def judge(title, wrong):
    """A result under its section's next number; `wrong` is None or a text."""
    global fine_ones
    section = title.split()[0]
    counts[section] = counts.get(section, 0) + 1
    fine_ones += not wrong
    check(title.replace(section, f"{section}/{counts[section]}", 1),
          not wrong, wrong)


def case(title, expect, *sent, begin=b"", opening=None, tls=None):
    """
    On a connection of its own: what is sent, and what is to come.  `expect`
    returns None or what is wrong.
    """
    peer = H2(server.port, settings=begin, opening=opening, tls=tls)
    try:
        peer.send(b"".join(sent))
        wrong = expect(peer)
    except (OSError, hpack.HPACKError) as e:
        wrong = f"{type(e).__name__} {e}"
    peer.close()
    if wrong:
        wrong = f"{wrong}; {peer.story()}"
    elif not served():
        wrong = "others are not served"
    judge(title, wrong)


def starting():
    def first(peer):
        peer.until(lambda: len(peer.frames) > 0)
        if peer.frames[0][0] != SETTINGS or peer.frames[0][1] & ACK:
            return "the first frame is no SETTINGS"
        if b"\0\2\0\0\0\1" in peer.frames[0][3]:
            return "a server that allows to be pushed"

    def acked(peer):
        peer.pings()
        n = sum(k == SETTINGS and f & ACK for k, f, _, _ in peer.frames)
        return None if n == 6 else f"{n} of 6 SETTINGS are acknowledged"

    def byte_by_byte(peer):
        for b in PREFACE + frame(SETTINGS, 0, 0) + ack + unary():
            peer.send(bytes((b,)))
        return answers()(peer)

    ack = frame(SETTINGS, ACK, 0)
    case("3.4 the server begins with SETTINGS", first)
    case("3.4 a request right behind the preface", answers(), unary())
    case("3.4 the preface byte by byte", byte_by_byte, opening=b"")
    case("3.4 HTTP/1.1", ends(PROTOCOL), opening=b"GET / HTTP/1.1\r\n"
         b"Host: localhost\r\n\r\n" + b" " * 40)
    case("3.4 a preface that is wrong at its end", ends(PROTOCOL),
         opening=PREFACE[:-1] + b"x" + frame(SETTINGS, 0, 0))
    case("3.4 no SETTINGS behind the preface", ends(PROTOCOL),
         opening=PREFACE + frame(PING, 0, 0, b"12345678"))
    case("3.4 an acknowledgement first", ends(PROTOCOL),
         opening=PREFACE + ack)
    case("6.5.3 every SETTINGS is acknowledged once", acked,
         settings() * 5)


def framing():
    for stream in (0, 1, 8, 9):
        case(f"4.1 a frame of an unknown type on stream {stream}", lives,
             frame(0x77, 0xff, stream, b"x" * 100))
    case("4.1 unknown flags", answers(), frame(PING, 0xfe, 0, b"12345678"),
         frame(HEADERS, END_HEADERS | 0xc2, 1, head()),
         frame(DATA, END_STREAM | 0xf6, 1, message(b"")))
    case("4.1 the reserved bit is ignored", answers(),
         frame(HEADERS, END_HEADERS, 1 << 31 | 1, head()),
         frame(DATA, END_STREAM, 1 << 31 | 1, message(b"")))
    # An unknown field of so many bytes makes the message fill its frames.
    full = b"\xa2\x06" + b"\xf4\x7f" + b"x" * 16372
    case("4.2 DATA of 2^14 bytes", answers(), frame(
        HEADERS, END_HEADERS, 1, head()), frame(
        DATA, 0, 1, message(full)[:16384]), frame(
        DATA, END_STREAM, 1, message(full)[16384:]))
    for name, kind, stream in (("DATA", DATA, 1), ("HEADERS", HEADERS, 3),
                               ("SETTINGS", SETTINGS, 0),
                               ("an unknown frame", 0x77, 0)):
        case(f"4.2 {name} of more than 2^14 bytes", ends(SIZE), opened(),
             frame(kind, 0, stream, b"\0" * 16386))

    def small_frames(peer):
        peer.status()
        sizes = {len(p) for p in peer.seen(DATA)}
        return None if max(sizes) <= 16384 else f"{max(sizes)}"

    case("4.2 no frame beyond what the client takes", small_frames,
         listing(), window(0, 1 << 30), begin=setting((WINDOW_SIZE, 1 << 30)))
    case("4.3 a header block that is none", ends(COMPRESSION),
         frame(HEADERS, END_HEADERS, 1, b"\x40\x85\xff\xff\xff\xff\xff"))
    for name, kind, flags, stream, content in (
            ("PRIORITY", PRIORITY, 0, 1, b"\0\0\0\0\1"),
            ("HEADERS of another", HEADERS, BOTH, 3, head()),
            ("DATA", DATA, 0, 1, b"x"), ("RST_STREAM", RST, 0, 1, b"\0" * 4),
            ("SETTINGS", SETTINGS, 0, 0, b""),
            ("PING", PING, 0, 0, b"12345678"),
            ("WINDOW_UPDATE", WINDOW, 0, 0, b"\0\0\0\1"),
            ("an unknown frame", 0x77, 0, 1, b"")):
        case(f"4.3 {name} within a header block", ends(PROTOCOL),
             frame(HEADERS, 0, 1, head()), frame(kind, flags, stream, content),
             frame(CONT, END_HEADERS, 1))


def states():
    word, item = b"\0\0\0\1", message(b"")
    trailers = block([(b"x-trailer", b"x")])
    case("5.1 idle: DATA", ends(PROTOCOL), frame(DATA, 0, 1, b"x"))
    case("5.1 idle: RST_STREAM", ends(PROTOCOL), reset(1))
    case("5.1 idle: WINDOW_UPDATE", ends(PROTOCOL), window(1, 1))
    case("5.1 idle: CONTINUATION", ends(PROTOCOL),
         frame(CONT, END_HEADERS, 1, head()))
    case("5.1 idle: PRIORITY", lives, frame(PRIORITY, 0, 7, b"\0\0\0\0\1"))

    # Its answer cannot leave, so that it stays half-closed.
    def held(title, expect, *sent):
        case("5.1 half-closed (remote): " + title, expect, listing(), *sent,
             begin=setting((WINDOW_SIZE, 0)))

    def goes_on(peer):
        peer.until(lambda: len(peer.data(1)) >= 1000, 1)
        got = len(peer.data(1))
        return None if got == 1000 and peer.pings() else f"{got} bytes"

    held("DATA", ends(CLOSED), frame(DATA, 0, 1, b"x"))
    held("HEADERS", ends(CLOSED), frame(HEADERS, BOTH, 1, trailers))
    held("CONTINUATION", ends(PROTOCOL), frame(CONT, END_HEADERS, 1))
    held("WINDOW_UPDATE", goes_on, window(1, 1000))
    held("PRIORITY", goes_on, frame(PRIORITY, 0, 1, b"\0\0\0\0\1"),
         window(1, 1000))

    def no_more(peer):
        peer.until(lambda: 1 in peer.told, 1)
        peer.send(window(1, 1))
        if not peer.pings() or peer.seen(DATA, 1) or peer.code(1) is not None:
            return "it is not over"

    held("RST_STREAM", no_more, reset(1), window(0, 1))

    # 415 is answered at once, and the request read on.
    plain = frame(HEADERS, END_HEADERS, 1, head(
        "PutURLs", (b"content-type", b"x"), without=[b"content-type"]))
    for name, sent in (("DATA", frame(DATA, 0, 1, b"x")),
                       ("trailers", frame(HEADERS, BOTH, 1, trailers)),
                       ("WINDOW_UPDATE", window(1, 1)),
                       ("PRIORITY", frame(PRIORITY, 0, 1, b"\0\0\0\0\1")),
                       ("RST_STREAM", reset(1))):
        case(f"5.1 half-closed (local): {name}", lambda peer: answers(
            "415")(peer) or peer.send(sent) and lives(peer), plain)

    def over(title, expect, *sent):
        case("5.1 closed: " + title, lambda peer: answers()(peer) or
             peer.send(b"".join(sent)) and expect(peer), unary())

    def cancelled(title, expect, *sent):
        case("5.1 closed by RST_STREAM: " + title, expect, opened(),
             reset(1), *sent)

    for f in (over, cancelled):
        f("DATA", ends(CLOSED), frame(DATA, 0, 1, b"x"))
        f("HEADERS", ends(CLOSED), frame(HEADERS, BOTH, 1, head()))
        f("CONTINUATION", ends(PROTOCOL), frame(CONT, END_HEADERS, 1))
        f("WINDOW_UPDATE", lives, window(1, 1))
        f("PRIORITY", lives, frame(PRIORITY, 0, 1, b"\0\0\0\0\1"))
        f("RST_STREAM", lives, reset(1))

    # Answered before its end, and reset by us: what crosses that is no error.
    def ours(title, sent):
        case("5.1 closed by our RST_STREAM: " + title, lambda peer: answers(
            "12")(peer) or peer.send(sent) and lives(peer),
            frame(HEADERS, END_HEADERS, 1, head("Nothing")))

    for title, sent in (("DATA", frame(DATA, 0, 1, item) * 3),
                        ("trailers", frame(DATA, 0, 1, item) + frame(
                            HEADERS, BOTH, 1, trailers)),
                        ("WINDOW_UPDATE", window(1, 1)),
                        ("RST_STREAM", reset(1))):
        ours(title, sent)

    def window_returns(peer):
        for i in range(1, 13, 2):
            peer.send(frame(HEADERS, END_HEADERS, i, head("Nothing")))
            peer.status(i)
            if peer.send_data(i, b"x" * 1000000, 3):
                return f"the connection's window is used up at {i}"
        return lives(peer)

    case("5.1 what is skipped gives the connection's window back",
         window_returns)


def streams():
    case("5.1.1 an even number", ends(PROTOCOL), unary(2))
    case("5.1.1 a number below one that was used", ends(PROTOCOL), unary(5),
         unary(3))
    case("5.1.1 a number twice", ends(CLOSED), unary(3), unary(3))
    case("5.1.1 numbers may be left out", answers(stream=77), unary(5),
         unary(77))
    case("5.1.1 the largest number", answers(stream=(1 << 31) - 1),
         unary((1 << 31) - 1))

    def refused(peer):
        peer.pings()
        limit = next(v for p in peer.seen(SETTINGS) for i in range(
            0, len(p), 6) for n, v in [struct.unpack(">HI", p[i:i + 6])]
            if n == STREAMS)
        for i in range(limit):
            peer.send(opened(2 * i + 1))
        if not peer.pings() or any(peer.seen(RST)):
            return f"{limit} streams cannot be opened"
        peer.send(opened(2 * limit + 1))
        peer.until(lambda: peer.code(2 * limit + 1) is not None, 1)
        if peer.code(2 * limit + 1) == REFUSED:
            return None
        return ends(PROTOCOL)(peer)

    case("5.1.2 more streams than the server allows", refused)
    def in_turn(peer):
        peer.send(window(0, 1 << 30))
        for i in range(1, 3000, 1000):
            peer.send(b"".join(unary(k) for k in range(i, i + 1000, 2)))
            if peer.status(i + 998) != "0":
                return f"stream {i + 998}: {peer.status(i + 998)}"

    case("5.1.2 streams that ended do not count", in_turn)
    case("5.3.1 HEADERS with a priority", answers(), frame(
        HEADERS, END_HEADERS | PRIORITIZED, 1, b"\0\0\0\0\x10" + head()),
        frame(DATA, END_STREAM, 1, message(b"")))
    case("5.3.1 an exclusive dependency on an idle stream", lives,
         frame(PRIORITY, 0, 3, b"\x80\0\0\x0b\xff"))
    case("5.3.1 HEADERS that depend on themselves", ends(PROTOCOL), frame(
        HEADERS, END_HEADERS | PRIORITIZED, 1, b"\0\0\0\1\x10" + head()))
    case("5.3.1 PRIORITY that depends on itself", ends(PROTOCOL),
         frame(PRIORITY, 0, 1, b"\0\0\0\1\x10"))


def errors():
    def last_stream(peer):
        wrong = ends(PROTOCOL)(peer)
        last = int.from_bytes(peer.seen(GOAWAY)[-1][:4], "big")
        return wrong or (None if last == 5 else f"last stream {last}")

    case("5.4.1 GOAWAY names the last stream", last_stream, unary(1),
         unary(3), opened(5), frame(DATA, 0, 0, b"x"))
    def before(peer):
        wrong = answers()(peer)
        peer.send(frame(DATA, 0, 0, b"x") + unary(3))
        return wrong or ends(PROTOCOL)(peer) or (
            "a call behind the error" if 3 in peer.told else None)

    case("5.4.1 nothing behind the error is looked at", before, unary(1))

    def once(peer):
        wrong = resets(FLOW)(peer)
        n = len(peer.seen(RST, 1))
        return wrong or (None if n == 1 else f"{n} RST_STREAM")

    case("5.4.2 a stream error hurts no other stream", once, opened(),
         window(1, 0x7fffffff), window(1, 1))
    case("5.4.2 RST_STREAM is not answered by one", lambda peer: lives(
        peer) or ("RST_STREAM" if peer.seen(RST) else None), opened(),
        reset(1))
    case("5.5 an unknown setting", lives, settings((0x77, 1), (0xffff, 5)))
    case("7 RST_STREAM of an unknown code", lives, opened(),
         reset(1, 0xfeedbeef))
    case("7 GOAWAY of an unknown code", last_answer,
         frame(HEADERS, END_HEADERS, 1, head()),
         frame(GOAWAY, 0, 0, b"\0" * 4 + b"\xfe\xed\xbe\xef" + b"debug"),
         frame(DATA, END_STREAM, 1, message(b"")))


def frames_of_each_kind():
    padded = b"\x05" + message(b"") + b"\0" * 5
    case("6.1 DATA on stream 0", ends(PROTOCOL), frame(DATA, 0, 0, b"x"))
    case("6.1 padded DATA", answers(), frame(
        HEADERS, END_HEADERS, 1, head()),
        frame(DATA, END_STREAM | PADDED, 1, padded))
    case("6.1 nothing but padding", answers(), frame(
        HEADERS, END_HEADERS, 1, head()),
        frame(DATA, PADDED, 1, b"\x0a" + b"\0" * 10),
        frame(DATA, END_STREAM, 1, message(b"")))
    case("6.1 padding as long as the frame", ends(PROTOCOL), opened(),
         frame(DATA, PADDED, 1, b"\x04abc"))
    case("6.1 padding without its length", ends(PROTOCOL, SIZE), opened(),
         frame(DATA, PADDED, 1))
    case("6.1 an empty DATA ends a stream", answers(), frame(
        HEADERS, END_HEADERS, 1, head()), frame(DATA, 0, 1, message(b"")),
        frame(DATA, END_STREAM, 1))
    case("6.2 HEADERS on stream 0", ends(PROTOCOL),
         frame(HEADERS, BOTH, 0, head()))
    case("6.2 padded HEADERS", answers(), frame(
        HEADERS, END_HEADERS | PADDED, 1, b"\x07" + head() + b"\0" * 7),
        frame(DATA, END_STREAM, 1, message(b"")))
    case("6.2 padding and priority", answers(), frame(
        HEADERS, END_HEADERS | PADDED | PRIORITIZED, 1,
        b"\x07" + b"\0\0\0\0\x10" + head() + b"\0" * 7),
        frame(DATA, END_STREAM, 1, message(b"")))
    case("6.2 padding longer than the frame", ends(PROTOCOL),
         frame(HEADERS, END_HEADERS | PADDED, 1, b"\xff" + head()[:100]))
    case("6.2 priority that is cut", ends(PROTOCOL, SIZE),
         frame(HEADERS, END_HEADERS | PRIORITIZED, 1, b"\0\0\0"))
    case("6.2 END_STREAM in HEADERS", answers("12"),
         frame(HEADERS, BOTH, 1, head()))
    case("6.3 PRIORITY on stream 0", ends(PROTOCOL),
         frame(PRIORITY, 0, 0, b"\0\0\0\0\1"))
    for n in (4, 6):
        case(f"6.3 PRIORITY of {n} bytes", ends(SIZE), opened(),
             frame(PRIORITY, 0, 1, b"\0" * n))
    case("6.4 RST_STREAM on stream 0", ends(PROTOCOL), reset(0))
    for n in (3, 5):
        case(f"6.4 RST_STREAM of {n} bytes", ends(SIZE), opened(),
             frame(RST, 0, 1, b"\0" * n))
    case("6.5 SETTINGS on a stream", ends(PROTOCOL),
         frame(SETTINGS, 0, 1, setting((STREAMS, 1))))
    case("6.5 an acknowledgement with content", ends(SIZE),
         frame(SETTINGS, ACK, 0, setting((STREAMS, 1))))
    for n in (3, 7):
        case(f"6.5 SETTINGS of {n} bytes", ends(SIZE),
             frame(SETTINGS, 0, 0, b"\0" * n))
    for name, value, code in (
            ("ENABLE_PUSH 2", (ENABLE_PUSH, 2), PROTOCOL),
            ("INITIAL_WINDOW_SIZE 2^31", (WINDOW_SIZE, 1 << 31), FLOW),
            ("MAX_FRAME_SIZE 2^14 - 1", (FRAME_SIZE, 16383), PROTOCOL),
            ("MAX_FRAME_SIZE 2^24", (FRAME_SIZE, 1 << 24), PROTOCOL)):
        case(f"6.5.2 {name}", ends(code), settings(value))
    for name, value in (
            ("ENABLE_PUSH 0", (ENABLE_PUSH, 0)),
            ("INITIAL_WINDOW_SIZE 2^31 - 1", (WINDOW_SIZE, (1 << 31) - 1)),
            ("MAX_FRAME_SIZE 2^24 - 1", (FRAME_SIZE, (1 << 24) - 1)),
            ("MAX_CONCURRENT_STREAMS 0", (STREAMS, 0)),
            ("MAX_HEADER_LIST_SIZE 2^32 - 1", (LIST_SIZE, 0xffffffff))):
        case(f"6.5.2 {name}", lives, settings(value))

    def shrunk(peer):
        if peer.status() != "0":
            return "no answer"
        first = peer.seen(HEADERS, 1)[0]
        return None if first[0] == 0x20 else "no table size update to 0"

    case("6.5.2 HEADER_TABLE_SIZE 0", shrunk, unary(),
         begin=setting((TABLE, 0)))

    def last_wins(peer):
        peer.until(lambda: len(peer.data(1)) >= 5)
        return None if peer.pings() and len(peer.data(1)) == 5 \
            else f"{len(peer.data(1))}"

    case("6.5.3 values are taken in their order", last_wins, listing(),
         begin=setting((WINDOW_SIZE, 100), (WINDOW_SIZE, 0),
                       (WINDOW_SIZE, 5)))
    case("6.6 PUSH_PROMISE of a client", ends(PROTOCOL), opened(),
         frame(PUSH, END_HEADERS, 1, b"\0\0\0\2" + head()))

    def pong(peer):
        peer.until(lambda: peer.seen(PING))
        return None if (PING, ACK, 0, b"\xff\0abcde") not in peer.frames and \
            (PING, ACK, 0, b"\xff\0abcdef") in peer.frames else "no PING"

    case("6.7 PING comes back as it was", pong,
         frame(PING, 0, 0, b"\xff\0abcdef"))
    case("6.7 an acknowledgement that nobody asked for", lambda peer: lives(
        peer) or (None if len(peer.seen(PING)) == 1 else "it is answered"),
        frame(PING, ACK, 0, b"12345678"))
    case("6.7 PING on a stream", ends(PROTOCOL), opened(),
         frame(PING, 0, 1, b"12345678"))
    for n in (0, 7, 9):
        case(f"6.7 PING of {n} bytes", ends(SIZE),
             frame(PING, 0, 0, b"\0" * n))
    case("6.8 GOAWAY on a stream", ends(PROTOCOL), opened(),
         frame(GOAWAY, 0, 1, b"\0" * 8))
    case("6.8 GOAWAY of 7 bytes", ends(SIZE), frame(GOAWAY, 0, 0, b"\0" * 7))
    case("6.8 a client that goes gets what it asked for", last_answer,
         frame(HEADERS, END_HEADERS, 1, head()),
         frame(GOAWAY, 0, 0, b"\0" * 8),
         frame(DATA, END_STREAM, 1, message(b"")))
    for n in (3, 5):
        case(f"6.9 WINDOW_UPDATE of {n} bytes", ends(SIZE),
             frame(WINDOW, 0, 0, b"\0" * n))
    case("6.9 WINDOW_UPDATE of 0 on the connection", ends(PROTOCOL),
         window(0, 0))
    case("6.9 WINDOW_UPDATE of 0 on a stream", ends(PROTOCOL), opened(),
         window(1, 0))
    cut = head()
    case("6.10 CONTINUATION", answers(), frame(HEADERS, 0, 1, cut[:1]),
         frame(CONT, 0, 1, cut[1:30]), frame(CONT, 0, 1),
         frame(CONT, END_HEADERS, 1, cut[30:]),
         frame(DATA, END_STREAM, 1, message(b"")))
    case("6.10 ... behind HEADERS with END_STREAM", answers("12"),
         frame(HEADERS, END_STREAM, 1, cut[:40]),
         frame(CONT, END_HEADERS, 1, cut[40:]))
    for name, sent in (
            ("behind END_HEADERS", opened() + frame(CONT, END_HEADERS, 1)),
            ("behind one with END_HEADERS", frame(HEADERS, 0, 1, cut) +
             frame(CONT, END_HEADERS, 1) + frame(CONT, END_HEADERS, 1)),
            ("on stream 0", frame(HEADERS, 0, 1, cut) +
             frame(CONT, END_HEADERS, 0)),
            ("of another stream", frame(HEADERS, 0, 1, cut) +
             frame(CONT, END_HEADERS, 3)),
            ("behind DATA", opened() + frame(DATA, 0, 1, b"\0") +
             frame(CONT, END_HEADERS, 1))):
        case(f"6.10 CONTINUATION {name}", ends(PROTOCOL), sent)


def flow():
    """What may leave is what the client gave room for, to the byte."""
    def so_many(*steps):
        """(bytes that have come, what is sent then), ..."""
        def expect(peer):
            if not peer.until(lambda: 1 in peer.told):
                return "no head"
            for want, sent in steps:
                peer.until(lambda: len(peer.data(1)) >= want)
                # No more behind it.
                if not peer.pings() or len(peer.data(1)) != want:
                    return f"{len(peer.data(1))} bytes, not {want}"
                peer.send(sent)
        return expect

    def first(n):
        return setting((WINDOW_SIZE, n))

    case("6.9.1 no byte without a window", so_many((0, b"")), listing(),
         begin=first(0))
    case("6.9.1 the head needs none", lambda peer: None if peer.until(
        lambda: 1 in peer.told) else "no head", listing(), begin=first(0))
    case("6.9.1 an answer without messages needs none", answers("12"),
         unary(1, head("Nothing")), begin=first(0))
    case("6.9.1 a window of 1", so_many((1, window(1, 1)), (2, window(1, 1)),
                                        (3, b"")), listing(), begin=first(1))
    case("6.9.1 the stream's window is kept", so_many(
        (0, window(1, 1000)), (1000, window(1, 7)), (1007, b"")), listing(),
        begin=first(0))
    case("6.9.1 the connection's window is kept", so_many(
        (65535, window(0, 1)), (65536, window(0, 100)), (65636, b"")),
        listing(), begin=first(1 << 30))
    case("6.9.1 another stream's room is not used", so_many(
        (10, window(3, 5000)), (10, b"")), listing(), opened(3),
        begin=first(10))
    case("6.9.1 a window of 2^31 - 1", lives, opened(),
         window(1, 0x7fffffff - 65535), window(0, 0x7fffffff - 65535))
    case("6.9.1 the stream's window beyond it", resets(FLOW), opened(),
         window(1, 0x7fffffff - 65534))
    case("6.9.1 the connection's window beyond it", ends(FLOW),
         window(0, 0x7fffffff - 65534))
    case("6.9.2 more by SETTINGS, midway", so_many(
        (10, settings((WINDOW_SIZE, 500))), (500, settings(
            (WINDOW_SIZE, 501))), (501, b"")), listing(), begin=first(10))
    case("6.9.2 less by SETTINGS: a negative window", so_many(
        (1000, settings((WINDOW_SIZE, 400))), (1000, window(1, 600)),
        (1000, window(1, 1)), (1001, b"")), listing(), begin=first(1000))
    case("6.9.2 negative, and up again by SETTINGS", so_many(
        (1000, settings((WINDOW_SIZE, 0))), (1000, settings(
            (WINDOW_SIZE, 1000))), (1000, settings((WINDOW_SIZE, 1003))),
        (1003, b"")), listing(), begin=first(1000))
    case("6.9.2 the connection's window is not changed", so_many(
        (65535, settings((WINDOW_SIZE, 1 << 29))), (65535, b"")), listing(),
        begin=first(1 << 30))
    case("6.9.2 a stream's window beyond 2^31 - 1 by SETTINGS", ends(FLOW),
         opened(), window(1, 0x7fffffff - 65535),
         settings((WINDOW_SIZE, 65536)))

    def whole(peer):
        while "grpc-status" not in peer.told.get(1, {}) and peer.pings():
            peer.send(window(0, 3000) + window(1, 3000))
        got = len(peer.data(1))
        return None if got > 300 * 300 else f"{got}"

    case("6.9 an answer comes whole, window by window", whole, listing(),
         begin=first(1000))


def exchanges():
    case("8.1 a second HEADERS without END_STREAM", resets(PROTOCOL),
         opened(), frame(HEADERS, END_HEADERS, 1, block([(b"x", b"y")])))
    case("8.1 trailers end a stream", answers(), opened(),
         frame(HEADERS, BOTH, 1, block([(b"x-trailer", b"y")])))
    case("8.1 DATA behind trailers", ends(CLOSED), opened(),
         frame(HEADERS, BOTH, 1, block([(b"x-trailer", b"y")])),
         frame(DATA, 0, 1, b"x"))
    case("8.1 trailers with a pseudo-header field", resets(PROTOCOL),
         opened(), frame(HEADERS, BOTH, 1, block([(b":method", b"POST")])))
    case("8.1 trailers with an upper-case name", resets(PROTOCOL), opened(),
         frame(HEADERS, BOTH, 1, block([(b"X-Trailer", b"y")])))

    def refused(title, header, ended=False):
        case(title, resets(PROTOCOL), frame(
            HEADERS, BOTH if ended else END_HEADERS, 1, header))

    body = message(b"")
    for name, length, sent in (
            ("more than it says", b"4", frame(DATA, END_STREAM, 1, body)),
            ("less than it says", b"6", frame(DATA, END_STREAM, 1, body)),
            ("more, in two frames", b"5", frame(DATA, 0, 1, body) +
             frame(DATA, END_STREAM, 1, b"x")),
            ("none, and it says some", b"5", frame(DATA, END_STREAM, 1))):
        case(f"8.1.1 content-length: {name}", resets(PROTOCOL), frame(
            HEADERS, END_HEADERS, 1, head("PutURLs", (
                b"content-length", length))), sent)
    case("8.1.1 content-length: as it says", answers(), unary(1, head(
        "GetStats", (b"content-length", b"5"))))
    refused("8.1.1 content-length: some, and no content", head(
        "PutURLs", (b"content-length", b"5")), ended=True)
    for value in (b"five", b"-5", b""):
        refused(f"8.1.1 content-length: {value.decode()!r}", head(
            "PutURLs", (b"content-length", value)))
    refused("8.1.1 content-length: twice", head(
        "PutURLs", (b"content-length", b"5"), (b"content-length", b"6")))

    for name in (b"X-Upper", b"x-Upper", b"", b"x y", b"x\0", b"x\x80",
                 b"x:y", b"x\r\n"):
        refused(f"8.2.1 the name {name!r}", head("PutURLs", (name, b"v")))
    for value in (b"a\0b", b"a\rb", b"a\nb", b"a\r\nb: c"):
        refused(f"8.2.1 the value {value!r}", head("PutURLs", (b"x", value)))
    for value in (b" v", b"v ", b"\tv", b"v\t"):
        refused(f"8.2.1 the value {value!r}", head("PutURLs", (b"x", value)))
    case("8.2.1 a value of any other bytes", answers(), unary(1, head(
        "GetStats", (b"x", b"\x80\xff a\tb"), (b"y", b""))))
    for name, value in ((b"connection", b"close"),
                        (b"proxy-connection", b"x"), (b"keep-alive", b"1"),
                        (b"transfer-encoding", b"chunked"),
                        (b"upgrade", b"h2c")):
        refused(f"8.2.2 {name.decode()}", head("PutURLs", (name, value)))
    refused("8.2.2 te: gzip", head("PutURLs", (b"te", b"gzip"),
                                   without=[b"te"]))
    case("8.2.2 no te", answers(), unary(1, head(without=[b"te"])))
    case("8.2.3 cookies in pieces", answers(), unary(1, head(
        "GetStats", (b"cookie", b"a=b"), (b"cookie", b"c=d"))))

    usual = fields("PutURLs")
    refused("8.3 an unknown pseudo-header field", block(
        [(b":x", b"y")] + usual))
    refused("8.3 one behind the others", block(usual[1:] + usual[:1]))
    refused("8.3 :status of a request", block([(b":status", b"200")] + usual))
    for name in (b":method", b":scheme", b":path"):
        refused(f"8.3.1 no {name.decode()}", head("PutURLs", without=[name]))
    for name, value in usual[:4]:
        refused(f"8.3.1 {name.decode()} twice", block(
            [(name, value)] + usual))
    case("8.3.1 host in place of :authority", answers(), unary(1, head(
        "GetStats", (b"host", b"x"), without=[b":authority"])))
    for path in (b"", b"GetStats", b"*"):
        refused(f"8.3.1 :path {path.decode()!r}", head("PutURLs", path=path))
    refused("8.3.1 an empty :method", head("PutURLs", method=b""))
    refused("8.3.1 a :method that is no token", head(
        "PutURLs", method=b"PO ST"))
    refused("8.3.1 a :scheme that is none", head("PutURLs", scheme=b"1:"))
    refused("8.5 CONNECT with :path", head("PutURLs", method=b"CONNECT"))
    case("8.5 CONNECT", answers("405"), frame(HEADERS, BOTH, 1, block([
        (b":method", b"CONNECT"), (b":authority", b"x")])))
    for method, want in ((b"GET", "405"), (b"HEAD", "405"),
                         (b"OPTIONS", "405"), (b"BREW", "405")):
        case(f"8.1 {method.decode()} is answered", answers(want), frame(
            HEADERS, BOTH, 1, head("GetStats", method=method)))
    case("8.1 the answer to HEAD has no content", lambda peer: answers("405")(
        peer) or ("DATA" if peer.seen(DATA) else None), frame(
        HEADERS, BOTH, 1, head("GetStats", method=b"HEAD")))


def packing():
    """RFC 7541, with its sections behind an H."""
    usual = head()

    def bad(title, *parts):
        case(title, ends(COMPRESSION), frame(HEADERS, BOTH, 1,
                                             b"".join(parts)))

    def good(title, *parts):
        case(title, answers(), unary(1, b"".join(parts)))

    bad("H2.3.3 an index beyond the tables", usual, b"\xbe")
    bad("H2.3.3 a far index", usual, b"\xff\x80\x80\x01")
    bad("H6.1 index 0", usual, b"\x80")
    bad("H6.2 a name's index beyond the tables", usual, b"\x7f\x00\x01x")
    good("H6.1 the static table", b"\x83\x86", block(fields(
        without=[b":method", b":scheme"])))
    good("H6.2.3 a literal that is never indexed", usual, b"\x10\x01x\x01y")
    good("H6.2.2 a literal with a name from the table", usual,
         b"\x0f\x2b\x01y")
    added = b"\x40" + string(b"x-added") + string(b"value")
    case("H2.3.2 the dynamic table lasts", answers(stream=3),
         unary(1, usual + added), unary(3, usual + b"\xbe"))
    case("H4.4 what is larger than the table empties it", ends(COMPRESSION),
         unary(1, usual + added), unary(3, usual + b"\x40" + string(
             b"x-large") + string(b"v" * 5000)), unary(5, usual + b"\xbe"))
    case("H4.4 the oldest goes first", ends(COMPRESSION), unary(
        1, usual + added), unary(3, usual + b"".join(
            b"\x40" + string(b"x-%d" % i) + string(b"v" * 900)
            for i in range(5))), unary(5, usual + b"\xc3"))
    good("H4.2 table size updates, twice", b"\x20\x3f\xe1\x1f", usual)
    bad("H4.2 an update behind a field", usual, b"\x20")
    case("H6.3 an update empties the table", ends(COMPRESSION),
         unary(1, usual + added), unary(3, b"\x20\x3f\xe1\x1f" + usual +
                                        b"\xbe"))
    bad("H6.3 an update beyond SETTINGS", b"\x3f\xe2\x1f", usual)
    bad("H5.1 an integer that overflows", usual, b"\xff" + b"\xff" * 9)
    bad("H5.1 an integer that is cut", usual, b"\xff\x80")
    bad("H5.2 a string longer than its block", usual, b"\x00\x05abc")
    bad("H5.2 a string's length that is cut", usual, b"\x00\x7f")
    bad("H5.2 Huffman: more than 7 bits of padding", usual,
        b"\x00\x01x\x82\xff\xff")
    bad("H5.2 Huffman: padding of zeros", usual, b"\x00\x01x\x81\x18")
    bad("H5.2 Huffman: EOS", usual, b"\x00\x01x\x84\xff\xff\xff\xff")
    good("H5.2 Huffman", hpack.Encoder().encode(
        fields("GetStats", (b"x", bytes(range(33, 127)))), huffman=True))
    bad("H2 a block that ends within a field", usual, b"\x40")


def limits():
    """What a client may do, and what is too much (§10.5)."""
    def endless(block_of):
        def expect(peer):
            for k in range(1, 40000, 200):
                if not peer.send(b"".join(map(block_of, range(
                        k, k + 200, 2)))) or not peer.pings():
                    break
            return ends(CALM)(peer)
        return expect

    item = frame(HEADERS, END_HEADERS, 1, head("PutURLs"))[9:]
    case("10.5 rapid reset (CVE-2023-44487)", endless(
        lambda i: frame(HEADERS, END_HEADERS, i, item) + reset(i)))
    case("10.5 made to reset (CVE-2025-8671)", endless(
        lambda i: frame(HEADERS, END_HEADERS, i, item) +
        window(i, 0x7fffffff)))
    case("10.5 made to reset by a wrong length", endless(
        lambda i: frame(HEADERS, BOTH, i, head("PutURLs", (
            b"content-length", b"5")))))

    def cancels(peer):
        peer.send(window(0, 1 << 30))
        for i in range(1, 6001, 2):
            peer.send(unary(i))
            if peer.status(i) != "0":
                return f"call {i}: {peer.status(i)}"
            peer.send(reset(i))
            peer.frames, peer.told = [], {}
        return None if peer.pings() else "it is gone"

    case("10.5 3,000 calls that are reset behind their answer", cancels)

    def answered(peer):
        peer.send(window(0, 1 << 30))
        one = message(D("http://h2/", "h2", "h2c").SerializeToString())
        for i in range(1, 6001, 2):
            peer.send(frame(HEADERS, END_HEADERS, i, item) +
                      frame(DATA, 0, i, one))
            if not peer.until(lambda: peer.seen(DATA, i)):
                return f"call {i} is not answered"
            peer.send(reset(i))
            peer.frames, peer.told = [], {}
        return None if peer.pings() else "it is gone"

    case("10.5 3,000 streams that are cancelled once they answered",
         answered)


def over_tls():
    if shutil.which("openssl") is None:
        skip("TLS", "openssl is not installed")
        return
    global server, other
    crt, key = certificate()
    server = Server("tls", f"urlfrontier.tls_cert={crt}",
                    f"urlfrontier.tls_key={key}", ready=False)
    wait_until(lambda: listens(server.port))

    def context(*protocols):
        c = ssl.create_default_context(cafile=crt)
        if protocols:
            c.set_alpn_protocols(protocols)
        return c

    def chosen(peer):
        got = peer.s.selected_alpn_protocol()
        return answers()(peer) if got == "h2" else f"ALPN {got}"

    c = Client(0, grpc.secure_channel(
        f"localhost:{server.port}", grpc.ssl_channel_credentials(
            open(crt, "rb").read()), OPTIONS))
    same("over TLS: it serves", wait_until(lambda: c.healthy() == 1), True)
    c.close()
    other = another(context("h2"))
    case("3.2 ALPN h2", chosen, unary(), tls=context("h2"))
    case("3.2 ALPN http/1.1 and h2", chosen, unary(),
         tls=context("http/1.1", "h2"))
    case("3.2 no TLS where TLS is wanted", lambda peer: "it is served"
         if peer.until(lambda: peer.frames, 1) else None)
    case("3.4 HTTP/1.1 over TLS", ends(PROTOCOL), opening=b"GET / HTTP/1.1"
         b"\r\n\r\n" + b" " * 30, tls=context("h2"))
    case("5.1 idle: DATA, over TLS", ends(PROTOCOL), frame(DATA, 0, 1, b"x"),
         tls=context("h2"))
    for protocols in (("http/1.1",), ("h2c",)):
        try:
            H2(server.port, tls=context(*protocols)).close()
            said = "it is taken"
        except ssl.SSLError as e:
            said = str(e)
        judge(f"3.2 ALPN {protocols[0]} alone is refused", None if
              "no application protocol" in said.lower().replace("_", " ")
              else said)
    same("over TLS: SIGTERM ends it", server.stop(), 0)


server = Server("clear")
other = another()
server.client.many([f"http://h2/{i:04}" + "x" * 300 for i in range(400)],
                   "h2", "h2")
for f in (starting, framing, states, streams, errors, frames_of_each_kind,
          flow, exchanges, packing, limits):
    f()
same("SIGTERM ends it", server.stop(), 0)
over_tls()
total = sum(counts.values())
note(f"h2: {fine_ones} of {total}")
print(f"conformance: HTTP/2 and HPACK by our own cases: {fine_ones} of {total}")
done()
