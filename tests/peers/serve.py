"""What the scripts of both doors share: `argiope serve`, and cases beside each
other.
"""
import re
import ssl
import threading
import traceback
import urllib.error
import urllib.request

from peer import *


# ---- Servers -----------------------------------------------------------------

class Serve:
    """
    `argiope serve` on a folder of its own, at ports that stay over restarts.
    What a door adds: `door`, settings that stay, and serves(), whether it can
    be used.  `tls`: (certificate, key) of the port for HTTP.
    """
    door, tls = (), None

    def __init__(self, name, settings, data=None, env=None, executable=None,
                 ready=True):
        self.name, self.settings = name, list(settings)
        self.data = data or os.path.join(PLACE, name)
        self.env, self.executable = env or {}, executable or program()
        self.http_port = fixed_port()
        self.log = os.path.join(PLACE, name + ".log")
        self.child = None
        self.start(ready)

    def start(self, ready=True):
        """Returns the seconds until it served."""
        began = time.monotonic()
        command = [self.executable, "serve", "--data", self.data]
        for s in (f"http.listen=127.0.0.1:{self.http_port}", *self.door,
                  *self.settings):
            command += ["--set", s]
        with open(self.log, "a") as log:
            self.child = start(command, stdout=log, stderr=log,
                               env=dict(os.environ, **self.env))
        while ready and not self.serves():
            if not self.runs() or time.monotonic() > began + 30:
                raise OSError(f"{self.name} does not serve: {self.said()}")
            time.sleep(0.01)
        return time.monotonic() - began

    def serves(self):
        try:
            return self.http("/readyz")[0] == 200
        except OSError:
            return False

    def runs(self):
        return self.child.poll() is None

    def said(self):
        with open(self.log, errors="replace") as f:
            return f.read()[-2000:]

    def stop(self, seconds=15):
        """By SIGTERM; its exit code, None when it had to be killed."""
        self.child.terminate()
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self):
        self.child.kill()
        self.child.wait()

    def restart(self, kill=False):
        """The exit code of the one that went."""
        gone = self.kill() if kill else self.stop()
        self.start()
        return gone

    def http(self, path, method="GET", fields=None, body=None):
        """(status, fields, body)"""
        scheme, trust = "http", None
        if self.tls:
            scheme = "https"
            trust = ssl.create_default_context(cafile=self.tls[0])
        r = urllib.request.Request(
            f"{scheme}://localhost:{self.http_port}{path}", method=method,
            data=body, headers=fields or {})
        try:
            with urllib.request.urlopen(r, timeout=60, context=trust) as a:
                return a.status, a.headers, a.read()
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read()

    def metric(self, name, **labels):
        """The sum over the other labels; None when there is no such metric."""
        text = self.http("/metrics")[2].decode()
        found = []
        for line in re.findall(r"^%s(\{[^}]*\})? (\S+)$" % re.escape(name),
                               text, re.M):
            have = dict(re.findall(r'(\w+)="([^"]*)"', line[0]))
            if all(have.get(k) == v for k, v in labels.items()):
                found.append(float(line[1]))
        return sum(found) if found else None

    def memory_kib(self, field="VmRSS"):
        with open(f"/proc/{self.child.pid}/status") as f:
            return int(re.search(field + r":\s*(\d+)", f.read())[1])


# ---- Cases -------------------------------------------------------------------

class OneCase:
    """A case's server; checks under its name."""

    def __init__(self, name, server):
        self.name, self.server = name, server

    def check(self, what, fine, why=""):
        return check(f"{self.name}: {what}", fine, why)

    def same(self, what, got, want):
        return same(f"{self.name}: {what}", got, want)

    def end(self):
        pass


class CasesOf:
    """
    The functions of a script that get one of `kind`, by the names of the cases
    that they show: @cases("A1 ..."), or @cases for the function's own.  Words
    of the command line are the names of those that are wanted.
    """

    def __init__(self, kind):
        self.kind, self.all = kind, []

    def __call__(self, what):
        if callable(what):
            return self(what.__name__.replace("_", " "))(what)

        def add(f):
            self.all.append((what, f))
            return f
        return add

    def run(self, *parts, workers=1):
        """One after the other, or some at the same time."""
        wanted = sys.argv[1:]
        waiting = [c for c in reversed(self.all)
                   if not wanted or c[0] in wanted]

        def work():
            while waiting:
                try:
                    name, f = waiting.pop()
                except IndexError:
                    return
                self.run_case(name, f, parts)

        threads = [threading.Thread(target=work) for _ in range(workers)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def run_case(self, name, f, parts):
        try:
            t = self.kind(name, *parts)
            f(t)
            t.end()
        except Exception as e:
            # Where in a script, not in what scripts share.
            line = next((x.lineno for x in reversed(
                traceback.extract_tb(e.__traceback__))
                if x.filename.startswith(HERE) and not x.filename.endswith(
                    ("peer.py", "serve.py"))), "?")
            check(f"{name}: goes to its end", False, f"line {line}: "
                  f"{type(e).__name__} {getattr(e, 'details', lambda: e)()}")
