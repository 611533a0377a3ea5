"""HTTP/2 frames by hand, for peers that do what no library lets them do."""
import collections
import socket
import ssl
import struct
import time

DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONT = \
    range(10)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
CALM = 11
# Flags.
END_STREAM, ACK, END_HEADERS = 1, 1, 4
# No byte of an answer's messages may be sent before a WINDOW_UPDATE.
NO_WINDOW = struct.pack(">HI", 4, 0)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + \
        struct.pack(">I", stream) + payload


def window(stream, bytes_more):
    return frame(WINDOW, 0, stream, struct.pack(">I", bytes_more))


def reset(stream, code=8):
    return frame(RST, 0, stream, struct.pack(">I", code))


def literal(name, value):
    assert len(name) < 127 and len(value) < 127
    return b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value


def request_head(path):
    """The header block of a gRPC call."""
    return b"".join(literal(*pair) for pair in (
        (b":method", b"POST"), (b":scheme", b"http"),
        (b":path", path.encode()), (b":authority", b"x"),
        (b"content-type", b"application/grpc")))


def message(content):
    """As gRPC sends it."""
    return b"\0" + struct.pack(">I", len(content)) + content


class Raw:
    """A peer that sends what it likes; frames that came are in `frames`."""

    def __init__(self, port, reads=True, settings=b"", opening=None,
                 tls=None):
        self.s = socket.create_connection(("127.0.0.1", port))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.s = tls.wrap_socket(self.s, server_hostname="localhost")
        self.s.settimeout(5)
        self.reads, self.bytes, self.frames = reads, b"", []
        self.closed = False
        # What the other side lets us send: a stream's first window, what
        # it gave since, and what we used; 0 is the connection.
        self.initial = 65535
        self.given = collections.Counter()
        self.used = collections.Counter()
        if opening is None:
            opening = PREFACE + frame(SETTINGS, 0, 0, settings) + \
                frame(SETTINGS, ACK, 0)
        self.send(opening)

    def send(self, data):
        """False when the other side takes no more."""
        try:
            while data:
                self.s.settimeout(0.5)
                data = data[self.s.send(data[:65536]):]
                if self.reads:
                    self.read(0)
        except (OSError, socket.timeout):
            return False
        return not self.closed

    def room(self, stream):
        return min(self.initial + self.given[stream] - self.used[stream],
                   65535 + self.given[0] - self.used[0])

    def send_data(self, stream, data, seconds):
        """
        As much as the windows allow within this time; the rest is returned.
        """
        until = time.monotonic() + seconds
        while data and not self.closed:
            n = min(self.room(stream), 16384, len(data))
            if n <= 0:
                if time.monotonic() > until:
                    break
                self.read(0.02)
                continue
            if not self.send(frame(DATA, 0, stream, data[:n])):
                break
            self.used[stream] += n
            self.used[0] += n
            data = data[n:]
        return data

    def read(self, seconds):
        self.s.settimeout(seconds)
        try:
            while True:
                got = self.s.recv(1 << 20)
                if not got:
                    self.closed = True
                    break
                self.bytes += got
        except (BlockingIOError, socket.timeout, ssl.SSLWantReadError):
            pass
        except OSError:
            self.closed = True
        at = 0
        while len(self.bytes) >= at + 9:
            n = int.from_bytes(self.bytes[at:at + 3], "big")
            if len(self.bytes) < at + 9 + n:
                break
            self.take(self.bytes[at + 3], self.bytes[at + 4], int.from_bytes(
                self.bytes[at + 5:at + 9], "big"),
                self.bytes[at + 9:at + 9 + n])
            at += 9 + n
        self.bytes = self.bytes[at:]

    def take(self, kind, flags, stream, payload):
        self.frames.append((kind, flags, stream, payload))
        if kind == WINDOW and len(payload) == 4:
            self.given[stream] += int.from_bytes(payload, "big")
        for i in range(0, len(payload) if kind == SETTINGS else 0, 6):
            name, value = struct.unpack(">HI", payload[i:i + 6])
            if name == 4:
                self.initial = value

    def data(self, stream):
        """What came on a stream so far."""
        return b"".join(p for kind, _, s, p in self.frames
                        if kind == DATA and s == stream)

    def goaway(self):
        """The error of the GOAWAY that ended it; None without one."""
        until = time.monotonic() + 5
        while not self.closed and time.monotonic() < until:
            self.read(0.2)
        codes = [int.from_bytes(p[4:8], "big")
                 for kind, _, _, p in self.frames if kind == GOAWAY]
        return codes[-1] if codes and self.closed else None

    def close(self):
        self.s.close()
