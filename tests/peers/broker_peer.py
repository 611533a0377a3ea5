"""A running broker_try, for scripts that hold os/broker against a broker.

broker_try obeys lines and reports in JSON; see its head.
"""
import json
import subprocess
import threading
import time

from peer import built, check, children

TRY = built("tests/peers/broker_try")
ANY = object()                   # value


class Try:
    """A running broker_try: what it has said, and its end."""

    all_said = []                # by every one; searched for secrets
    port = None                  # of the broker, unless a URL is given

    def __init__(self, *words, url=None, user="guest", **more):
        self.said = []
        self.news = threading.Condition()
        url = url or f"amqp://{user}@127.0.0.1:{Try.port}"
        self.child = subprocess.Popen(
            [TRY, url, *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        children.append(self.child)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            with self.news:
                Try.all_said.append(line)
                self.said.append(json.loads(line))
                self.news.notify_all()

    def do(self, *words):
        self.child.stdin.write(" ".join(map(str, words)) + "\n")
        self.child.stdin.flush()

    def find(self, **wanted):
        """What it has said with these values."""
        return [s for s in self.said if all(
            k in s and (v is ANY or v == s[k]) for k, v in wanted.items())]

    def wait(self, n=1, seconds=30, since=0, **wanted):
        """The n-th of those, or None; `since` are known already."""
        until = time.monotonic() + seconds
        with self.news:
            while len(self.find(**wanted)) < since + n:
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self.news.wait(left)
            return self.find(**wanted)[since + n - 1]

    def count(self, **wanted):
        with self.news:
            return len(self.find(**wanted))

    def up(self, queues=0):
        """Both connections, and so many queues."""
        return self.wait(event="connected", side="publishing") and \
            self.wait(event="connected", side="consuming") and \
            self.wait(n=max(queues, 1), event="ready") is not None

    def close(self, ms=5000):
        """Ask for the end; whether it came in order."""
        self.do("close", ms)
        closed = self.wait(event="closed")
        try:
            code = self.child.wait(20)
        except subprocess.TimeoutExpired:
            code = None
        error = self.child.stderr.read() if code is not None else ""
        Try.all_said.append(error)
        return check("the client ends in order", closed and code == 0,
                     f"{code} {error[-3000:]}")


def check_secrets(secrets):
    """None of them is in what any broker_try has printed."""
    log = "".join(Try.all_said)
    check("no secret was printed", log and not any(x in log for x in secrets))
