"""The simulator of platforms (tests/platforms) for scripts: started, asked."""
import gzip
import http.client
import json
import os
import random
import socket
import ssl
import sys

from peer import PLACE, built, done, note, python_with, skip, start

PROGRAM = built("tests/platforms/platforms")


class Answer:
    """Whatever came: the head, the body as sent, and decoded."""

    def __init__(self, response):
        self.status = response.status
        self.fields = response.headers
        self.raw = response.read()
        coded = self.fields.get("Content-Encoding") == "gzip"
        self.body = gzip.decompress(self.raw) if coded else self.raw

    def json(self):
        return json.loads(self.body)


class Stream:
    """Server-sent events as they come."""

    def __init__(self, connection, host, path, token, fields):
        self.connection = connection
        self.connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer "
            f"{token}\r\n{fields}\r\n".encode())
        self.file = connection.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        while self.file.readline() not in (b"\r\n", b""):
            pass
        self.text = b""

    def more(self):
        """One chunk; False at the end."""
        size = self.file.readline()
        part = self.file.read(int(size, 16)) if size.strip() else b""
        self.text += part
        return bool(part) and self.file.readline() == b"\r\n"

    def events(self, n):
        """So many of them: [(name, data)]."""
        found = []
        while len(found) < n:
            while b"\n\n" not in self.text:
                if not self.more():
                    return found
            block, self.text = self.text.split(b"\n\n", 1)
            fields = dict(line.split(": ", 1)
                          for line in block.decode().split("\n")
                          if line and not line.startswith(":"))
            if fields:
                found.append((fields["event"], fields["data"]))
        return found

    def close(self):
        self.file.close()
        self.connection.close()


class Platforms:
    def __init__(self, *args, seed=None, name="platforms"):
        if not os.path.exists(PROGRAM):
            skip(name, "tests/platforms/platforms is not built")
            raise SystemExit(0)
        self.seed = seed or random.randrange(1, 1 << 40)
        note(f"{name}: --seed {self.seed}")
        self.ca = os.path.join(PLACE, f"{name}-ca.pem")
        self.child = start([PROGRAM, "--seed", str(self.seed), "--ca", self.ca,
                            *args], stdout=-1, text=True)
        self.port = None
        for line in self.child.stdout:
            word, _, value = line.strip().partition(" ")
            if word == "port":
                self.port = int(value)
            if word == "ready":
                break
        if self.port is None:
            raise SystemExit(f"{name} does not start")
        self.tls = ssl.create_default_context(cafile=self.ca)
        # For clients that write and read in two threads, as websockets.sync
        # does.  The ticket of TLS 1.3 may arrive while the request is being
        # written, and a write of a connection that handles one fails with
        # "[SSL] internal error" (CPython issue 124984).
        self.tls_of_threads = ssl.create_default_context(cafile=self.ca)
        self.tls_of_threads.maximum_version = ssl.TLSVersion.TLSv1_2

    def connect(self, host, seconds=20):
        """A connection by TLS, to that name."""
        plain = socket.create_connection(("127.0.0.1", self.port), seconds)
        return self.tls.wrap_socket(plain, server_hostname=host)

    def client(self, host, seconds=20):
        """The same for requests, as many as wanted."""
        c = http.client.HTTPConnection(host)
        c.sock = self.connect(host, seconds)
        return c

    def ask(self, host, path, token=None, method="GET", body=None, gzip=True,
            seconds=20, **more):
        """One answer on a connection of its own; `more` are fields."""
        fields = {"Accept-Encoding": "gzip" if gzip else "identity",
                  **{k.replace("_", "-"): v for k, v in more.items()}}
        if token is not None:
            fields["Authorization"] = "Bearer " + token
        c = self.client(host, seconds)
        try:
            c.request(method, path, body, fields)
            return Answer(c.getresponse())
        finally:
            c.close()

    def raw(self, host, path, fields="", seconds=20):
        """The bytes of an answer up to the connection's end, however it
        ends."""
        got = b""
        with self.connect(host, seconds) as s:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n"
                      f"{fields}Connection: close\r\n\r\n".encode())
            try:
                while True:
                    part = s.recv(65536)
                    if not part:
                        return got
                    got += part
            except OSError:
                return got

    def stream(self, host, path, token, fields=""):
        """A stream of events that has begun."""
        return Stream(self.connect(host), host, path, token, fields)

    # -- The tests' own calls --

    def own(self, verb, what):
        a = self.ask("mastodon.example", "/.platforms/" + verb, method="POST",
                     body=json.dumps(what))
        if a.status != 200:
            raise SystemExit(f"{verb}: {a.body.decode()}")
        return a.json()

    def faults(self, *rows):
        """A plan in place of the one before, of which the answer says how many
        requests each row has matched."""
        return self.own("faults", list(rows))["met"]

    def world(self, host):
        return self.ask(host, "/.platforms/world?host=" + host).json()

    def log(self):
        a = self.ask("mastodon.example", "/.platforms/log")
        return [json.loads(line) for line in a.body.splitlines()]


def run_with(script, *packages, of=None):
    """Go on with these packages of PyPI, or skip the script by its name; they
    are those that the script `of` has, too."""
    name = os.path.basename(script)[:-len(".py")]
    if "PACKAGES_ARE_HERE" in os.environ:
        return
    python = python_with((of or name).rsplit("_", 1)[1] + "-1", *packages)
    if python is None:
        skip(name, f"{packages[0]} cannot be had from PyPI")
        done()
    os.environ["PACKAGES_ARE_HERE"] = "1"
    os.execv(python, [python, script] + sys.argv[1:])


def lead(sim, *hosts):
    """Connections of this process to these hosts go to the simulator."""
    look_up, connect_to = socket.getaddrinfo, socket.socket.connect

    def getaddrinfo(host, port, *args, **more):
        if host in hosts:
            host, port = "127.0.0.1", sim.port
        return look_up(host, port, *args, **more)

    def connect(self, address):
        # Some look a name up and then connect to it all the same.
        if address[0] in hosts:
            address = ("127.0.0.1", sim.port)
        return connect_to(self, address)

    socket.getaddrinfo = getaddrinfo
    socket.socket.connect = connect
    for name in ("REQUESTS_CA_BUNDLE", "HTTPLIB2_CA_CERTS", "SSL_CERT_FILE"):
        os.environ[name] = sim.ca


def raised(error, call, *args, **more):
    """The error of that kind that a call raises, or None."""
    try:
        call(*args, **more)
    except error as e:
        return e
    return None


def check_known(sim, same):
    """No request of others was one that the simulator does not know."""
    same("it asked nothing that the simulator does not know",
         {(x["host"], x["path"], x["query"]) for x in sim.log()
          if not x["known"]}, set())
