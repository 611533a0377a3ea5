"""The HTTP port (server/web) and foreign clients: curl over HTTP/1.1 and HTTP/2,
TLS with and without ALPN, a certificate that changes, h2spec, and clients of
HTTP/2 that make it work for nothing.  The server is web_echo.
"""
import hashlib
import os
import shutil
import socket
import ssl
import struct
import subprocess
import time

from peer import (PLACE, built, cache, certificate, check, children, done,
                  need, note, same, skip, wait_until)

SERVER = built("tests/peers/web_echo")
H2SPEC = os.path.join(cache(), "h2spec-v2.2.1+incompatible", "h2spec")
H2SPEC_CASES = 146
LETTERS = "".join(chr(97 + i % 26) for i in range(5000000)).encode()
CALM = 11


def serve(*more):
    child = subprocess.Popen([SERVER, PLACE, *more], stdout=subprocess.PIPE,
                             text=True)
    children.append(child)
    return child, int(child.stdout.readline().split()[1])


def end(child):
    child.terminate()
    note(child.stdout.readline().strip())
    return child.wait(20)


# ---- curl --------------------------------------------------------------------

def curl(url, *more):
    """(HTTP version, status, body)"""
    out = os.path.join(PLACE, "body")
    if os.path.exists(out):
        os.unlink(out)
    result = subprocess.run(
        ["curl", "-sk", "--max-time", "20", "-o", out, "-w",
         "%{http_version} %{http_code}", *more, url],
        capture_output=True, text=True)
    body = b""
    if os.path.exists(out):
        with open(out, "rb") as f:
            body = f.read()
    version, status = result.stdout.split()
    return version, int(status), body


def ask_all(base, version, *more):
    """Every kind of answer, and of request."""
    def get(path, *yet):
        got, status, body = curl(base + path, *more, *yet)
        same(f"HTTP/{version} {path[:30]} is spoken so", got, version)
        return status, body

    same(f"HTTP/{version}: an answer", get("hello"), (200, b"hello\n"))
    for n in (0, 1, 70000, 5000000):
        for known in ("", "&known=1"):
            status, body = get(f"pull?n={n}{known}")
            check(f"HTTP/{version}: {n} bytes pulled{known}",
                  status == 200 and body == LETTERS[:n], len(body))
    status, body = get("files/letters")
    check(f"HTTP/{version}: a file", body == LETTERS, (status, len(body)))
    same(f"HTTP/{version}: a range of it",
         get("files/letters", "-r", "4999990-"), (206, LETTERS[-10:]))
    same(f"HTTP/{version}: a range that is not there",
         get("files/letters", "-r", "5000000-")[0], 416)
    same(f"HTTP/{version}: no file", get("files/none")[0], 404)
    status, body = get("text")
    check(f"HTTP/{version}: a text packed is the same",
          get("text", "--compressed")[1] == body, len(body))
    for n in (0, 1000, 1 << 20):
        part = os.path.join(PLACE, "part")
        with open(part, "wb") as f:
            f.write(LETTERS[:n])
        status, body = get("echo", "--data-binary", "@" + part)
        check(f"HTTP/{version}: {n} bytes sent and sent back",
              status == 200 and body == LETTERS[:n], (status, len(body)))
        if n == 0:               # curl 7.88 never ends such a body
            continue
        status, body = get("echo", "-T", part, "-X", "POST", "-H",
                           "Transfer-Encoding: chunked")
        check(f"HTTP/{version}: {n} bytes without a length",
              status == 200 and body == LETTERS[:n], (status, len(body)))
    same(f"HTTP/{version}: a body that is too long", get(
        "echo", "--data-binary", "@" + os.path.join(PLACE, "letters"))[0],
        413)
    for query in ("", "?hold=2"):
        for how in (("--data-binary", "@"), ("-X", "POST", "-H",
                                             "Transfer-Encoding: chunked",
                                             "-T", "")):
            same(f"HTTP/{version}: 5000000 bytes read as they arrive{query}",
                 get("upload" + query, *how[:-1], how[-1] + os.path.join(
                     PLACE, "letters")), (200, b"5000000 0\n"))
    long = os.path.join(PLACE, "long")
    with open(long, "wb") as f:
        f.write(LETTERS * 2)
    same(f"HTTP/{version}: too much of that", get(
        "upload", "-X", "POST", "-H", "Transfer-Encoding: chunked", "-T",
        long)[0], 413)
    same(f"HTTP/{version}: HEAD", get("hello", "-I")[0], 200)
    same(f"HTTP/{version}: nothing there", get("nowhere")[0], 404)
    same(f"HTTP/{version}: a long head", get(
        "hello", "-H", "X: " + "x" * 17000)[0], 431)
    same(f"HTTP/{version}: many fields", get(
        "hello", *(w for i in range(110) for w in ("-H", f"X{i}: y")))[0],
        431)
    same(f"HTTP/{version}: a stranger's name", get(
        "hello", "-H", "Host: evil.example")[0], 403)


# ---- TLS ---------------------------------------------------------------------

def shake(port, protocols):
    """(what was agreed on, the certificate's digest); None: refused."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(protocols)
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as s:
            with context.wrap_socket(s) as t:
                return t.selected_alpn_protocol(), hashlib.sha256(
                    t.getpeercert(True)).hexdigest()
    except ssl.SSLError:
        return None


def tls(port, crt, key):
    same("TLS: h2 before http/1.1",
         shake(port, ["http/1.1", "h2"])[0], "h2")
    same("TLS: http/1.1", shake(port, ["http/1.1"])[0], "http/1.1")
    same("TLS: no word about it", shake(port, [])[0], None)
    same("TLS: a protocol that is not spoken", shake(port, ["foo"]), None)
    before = shake(port, [])[1]
    os.unlink(key)
    check("TLS: with the key gone it goes on", not wait_until(
        lambda: (shake(port, []) or (0, 0))[1] != before, 11))
    certificate()
    check("TLS: another certificate is taken up", wait_until(
        lambda: shake(port, [])[1] != before, 15))


# ---- HTTP/2 by hand ----------------------------------------------------------

class H2:
    def __init__(self, port):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        self.s = context.wrap_socket(
            socket.create_connection(("127.0.0.1", port), 10))
        self.s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
        self.rest = b""

    def take(self, n):
        while len(self.rest) < n:
            more = self.s.recv(65536)
            if not more:
                raise EOFError
            self.rest += more
        taken, self.rest = self.rest[:n], self.rest[n:]
        return taken

    def find(self, *kinds):
        """Send nothing more; the payload of the first of those kinds, None
        without one."""
        try:
            while True:
                head = self.take(9)
                payload = self.take(int.from_bytes(head[:3], "big"))
                if head[3] in kinds:
                    return payload
        except (EOFError, OSError):
            return None

    def goaway(self):
        """The code of the GOAWAY, None without one."""
        payload = self.find(7)
        return payload and struct.unpack("!I", payload[4:8])[0]

    def send(self, *frames):
        try:
            self.s.sendall(b"".join(frames))
        except OSError:
            pass


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + struct.pack(
        "!BBI", kind, flags, stream) + payload


def request(stream, path=b"/hello", method=b"GET", flags=5):
    def field(name, value):
        return (b"\0" + bytes([len(name)]) + name + bytes([len(value)]) +
                value)
    return frame(1, flags, stream, field(b":method", method) + field(
        b":scheme", b"https") + field(b":path", path) + field(
        b":authority", b"localhost"))


def hurt(port, name, *frames):
    h = H2(port)
    h.send(*frames)
    same(f"HTTP/2: {name}", h.goaway(), CALM)


def abuse(port):
    hurt(port, "streams opened and reset", *(
        request(i, b"/pull?n=9000000") + frame(3, 0, i, b"\0\0\0\x08")
        for i in range(1, 3000, 2)))
    hurt(port, "pings", *(frame(6, 0, 0, b"12345678") for _ in range(2000)))
    hurt(port, "settings", *(frame(4, 0, 0) for _ in range(2000)))
    hurt(port, "priorities", *(frame(2, 0, 1, b"\0\0\0\0\x10")
                               for _ in range(2000)))
    # One that opens no window gets a window's worth and holds nothing up.
    deaf = [H2(port) for _ in range(20)]
    for h in deaf:
        h.send(*(request(i, b"/pull?n=9000000") for i in range(1, 199, 2)))
    start = time.monotonic()
    same("HTTP/2: others are served meanwhile", curl(
        f"https://localhost:{port}/hello", "--http2")[1], 200)
    check("... soon", time.monotonic() - start < 2)


def opened(h, n):
    """How much window comes, by stream, until that much is open again for
    the connection, or nothing more comes."""
    windows = {0: 0, 1: 0, 3: 0}
    try:
        while windows[0] < n:
            head = h.take(9)
            payload = h.take(int.from_bytes(head[:3], "big"))
            if head[3] == 8:
                windows[int.from_bytes(head[5:], "big")] += int.from_bytes(
                    payload, "big")
    except OSError:
        pass
    return windows


def uploads(port):
    """Bodies that are read as they arrive: one that waits holds no other up,
    and one that goes away is cut."""
    def cut():
        return int(curl(f"https://localhost:{port}/cut", "--http2")[2])

    before = cut()
    h = H2(port)
    h.s.settimeout(2)
    part = [frame(0, 0, 1, LETTERS[i:i + 10000])
            for i in range(0, 60000, 10000)]
    h.send(request(1, b"/upload?hold=60000", b"POST", 4), *part)
    windows = opened(h, 30000)
    check("HTTP/2: what waits is not in the connection's window",
          windows[0] >= 30000 and windows[1] == 0, windows)
    h.send(request(3, b"/upload", b"POST", 4),
           *(frame(0, 0, 3, LETTERS[i:i + 10000])
             for i in range(0, 30000, 10000)), frame(0, 1, 3))
    same("HTTP/2: another is read meanwhile", h.find(0), b"30000 0\n")
    same("HTTP/2: none is cut", cut(), before)
    h.send(frame(3, 0, 1, b"\0\0\0\x08"))
    check("HTTP/2: a stream that is reset is cut", wait_until(
        lambda: cut() == before + 1, 5))
    h.send(request(5, b"/upload?hold=60000", b"POST", 4), frame(
        0, 0, 5, b"abc"))
    time.sleep(0.2)
    h.s.close()
    check("HTTP/2: so is a connection that is closed", wait_until(
        lambda: cut() == before + 2, 5))


SLOW_MS = 1500


def slow(port):
    """The times of WEB_LIMITS, side by side; drop by drop nothing gains by
    it."""
    idle, head, body, part, held, deaf, file, dry = all = [
        H2(port) for _ in range(8)]
    no_window = frame(4, 0, 0, struct.pack("!HI", 4, 0))
    head.send(request(1, b"/pull?n=1&dry=1"), request(3, flags=1))
    body.send(request(1, b"/echo", b"POST", 4))
    part.send(request(1, b"/upload", b"POST", 4))
    held.send(request(1, b"/upload?hold=2000", b"POST", 4),
              frame(0, 0, 1, b"abc"))
    deaf.send(no_window, request(1, b"/pull?n=9000000"))
    file.send(no_window, request(1, b"/files/letters"))
    dry.send(request(1, b"/pull?n=1&dry=1"))
    for i in range(2 * SLOW_MS // 100):
        time.sleep(0.1)
        for h in (idle, deaf, file):
            h.send(frame(6, 0, 0, b"12345678"))
        if i < 6:                # nghttp2 would break off at more
            head.send(frame(9, 0, 3, b"\0\1a\1b"))
        for h in (body, part):
            h.send(frame(0, 0, 1, b"x"))
    idle.s.settimeout(1)         # by now it has come
    same("HTTP/2: pings are no requests", idle.goaway(), 0)
    same("HTTP/2: a head that does not become whole", head.goaway(), CALM)
    for h in (body, part):
        check("HTTP/2: a body that does not become whole",
              b"did not come in time" in (h.find(0) or b""))
    held.send(frame(0, 1, 1, b"def"))
    same("HTTP/2: one that is read late takes its time", held.find(0),
         b"6 0\n")
    for name, h in (("an answer", deaf), ("a file", file)):
        same(f"HTTP/2: {name} that is not taken", h.find(3), b"\0\0\0\x08")
    dry.send(request(3))
    same("HTTP/2: what the answer waits for takes its time", dry.find(0, 3),
         b"hello\n")
    for h in all:
        h.s.close()


def main():
    need("http_port", "curl", "openssl", files=[SERVER])
    with open(os.path.join(PLACE, "letters"), "wb") as f:
        f.write(LETTERS)
    child, port = serve()
    ask_all(f"http://localhost:{port}/", "1.1", "--http1.1")
    same("in the clear it ends in order", end(child), 0)
    crt, key = certificate()
    child, port = serve(crt, key)
    base = f"https://localhost:{port}/"
    ask_all(base, "1.1", "--http1.1")
    ask_all(base, "2", "--http2")
    abuse(port)
    uploads(port)
    if os.access(H2SPEC, os.X_OK):
        result = subprocess.run(
            [H2SPEC, "--strict", "-h", "127.0.0.1", "-p", str(port), "-t",
             "-k", "--timeout", "2", "-P", "/hello"], capture_output=True,
            text=True, timeout=300)
        check("h2spec, strict", f"{H2SPEC_CASES} tests, {H2SPEC_CASES} passed"
              in result.stdout, result.stdout[-300:])
    else:
        skip("h2spec", "h2_spec.sh builds it, and has not")
    tls(port, crt, key)
    same("over TLS it ends in order", end(child), 0)
    child, port = serve(crt, key, str(SLOW_MS))
    slow(port)
    same("... with short times too", end(child), 0)


if shutil.which("curl") and "HTTP2" not in subprocess.run(
        ["curl", "-V"], capture_output=True, text=True).stdout:
    skip("http_port", "this curl knows no HTTP/2")
else:
    main()
done()
