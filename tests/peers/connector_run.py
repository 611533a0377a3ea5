"""A connector that a script drives, through connector_try."""
import json
import os
import subprocess

from peer import PLACE, built, done, skip

TRY = built("tests/peers/connector_try")
if not os.path.exists(TRY):
    skip("connectors", "tests/peers/connector_try is not built")
    done()


class Run:
    """One harvest: findings by their words, and the calls that were made."""

    def __init__(self, kind, message, state=None):
        self.found, self.calls, self.state = {}, [], dict(state or {})
        for name, what in (("message", message), ("state", self.state)):
            with open(f"{PLACE}/{name}.json", "w") as f:
                json.dump(what, f)
        self.child = subprocess.Popen(
            [TRY, kind, f"{PLACE}/message.json", f"{PLACE}/state.json"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.call = None
        self.turn()

    def turn(self):
        """What it finds, up to its next call, or its end."""
        self.call = None
        for line in self.child.stdout:
            word, *parts = line.decode().rstrip("\n").split("\t")
            if word == "turn":
                return
            if word == "call":
                self.call = parts
            elif word == "with":
                self.method, self.auth, self.secret, self.token_url, \
                    self.body = parts
            elif word == "state":
                self.state[parts[0]] = parts[1]
            self.found.setdefault(word, []).append(parts)

    def answer(self, status, head=b"", body=b""):
        self.calls.append((self.call[0], status))
        self.child.stdin.write(b"answer %d %d %d\n" % (
            status, len(head), len(body)) + head + body)
        self.child.stdin.flush()
        self.turn()

    def frame(self, text):
        self.child.stdin.write(b"frame %d\n" % len(text) + text)
        self.child.stdin.flush()
        self.turn()

    def count(self):
        return sum(int(n) for n, in self.found.get("count", []))

    def codes(self):
        return [code for code, _ in self.found.get("note", [])]

    def end(self):
        self.child.stdin.close()
        self.child.stdout.read()
        return self.child.wait(10)
