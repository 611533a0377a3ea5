"""Autobahn's WebSocket cases (1 to 7 and 10) against server/web.

A client of our own that knows frames and no more plays each case against
web_echo, many at once.  The port sends text frames only, so that what comes
back is compared by its bytes, not by its kind.
"""
import asyncio
import base64
import json
import os
import struct
import subprocess

from peer import PLACE, SOURCE, built, check, children, done, note, skip, \
    suite

CASES = suite("autobahn/autobahn-cases.json")
AT_ONCE = 60
AUTO_CLOSE_S = 5
MASK = b"\x11\xa2\x33\xc4"


def masked(payload):
    whole = MASK * (len(payload) // 4 + 1)
    return bytes(a ^ b for a, b in zip(payload, whole))


def head(op, fin, rsv, n):
    first = bytes([(fin << 7) | (rsv << 4) | op])
    if n < 126:
        return first + bytes([0x80 | n]) + MASK
    if n < 65536:
        return first + struct.pack("!BH", 0x80 | 126, n) + MASK
    return first + struct.pack("!BQ", 0x80 | 127, n) + MASK


def close_payload(code, reason):
    return (b"" if code is None else struct.pack("!H", code)) + reason


class Case:
    def __init__(self, case):
        self.case = case
        self.got = []            # as in `expected`
        self.closed = asyncio.Event()    # by the server, or lost
        self.code = None         # of the server's close frame
        self.lost = False
        self.faults = []
        self.sent_close = False
        self.sent_messages = []
        self.news = asyncio.Event()

    # -- What comes --

    async def frame(self):
        a, b = await self.reader.readexactly(2)
        n = b & 0x7f
        if b & 0x80:
            self.faults.append("a masked frame from the server")
        if a & 0x70:
            self.faults.append("reserved bits from the server")
        if n == 126:
            n, = struct.unpack("!H", await self.reader.readexactly(2))
        elif n == 127:
            n, = struct.unpack("!Q", await self.reader.readexactly(8))
        return a & 15, a >> 7, await self.reader.readexactly(n)

    async def listen(self):
        partial = None
        try:
            while True:
                op, fin, payload = await self.frame()
                if self.code is not None:
                    self.faults.append("a frame after the close")
                if op in (0, 1, 2):
                    partial = payload if op else partial + payload
                    if fin:
                        self.got.append(["message", partial.hex()])
                        partial = None
                elif op == 10:
                    self.got.append(["pong", payload.hex()])
                elif op == 8:
                    self.code = struct.unpack("!H", payload[:2])[0] \
                        if payload else 1005
                    self.closed.set()
                self.news.set()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        self.lost = True
        self.closed.set()
        self.news.set()

    # -- What is sent --

    async def send(self, data, chop=None):
        if self.lost:
            return
        try:
            if chop:
                for i in range(0, len(data), chop):
                    self.writer.write(data[i:i + chop])
                    await self.writer.drain()
                    await asyncio.sleep(0)
            else:
                self.writer.write(data)
                await self.writer.drain()
        except ConnectionError:
            self.lost = True

    async def send_close(self, payload):
        self.sent_close = True
        await self.send(head(8, 1, 0, len(payload)) + masked(payload))

    async def act(self, a):
        do = a["do"]
        payload = bytes.fromhex(a.get("payload", "") or "")
        if do == "frame":
            if "repeat_payload_to_len" in a:
                want = a["repeat_payload_to_len"]
                payload = (payload * (want // len(payload) + 1))[:want]
            if a["op"] == 8:
                self.sent_close = True
            elif a["op"] in (0, 1, 2) and not self.sent_close:
                if a["op"]:
                    self.sent_messages.append(payload)
                elif self.sent_messages:
                    self.sent_messages[-1] += payload
            await self.send(head(a["op"], a["fin"], a["rsv"], len(payload)) +
                            masked(payload), a.get("chop"))
        elif do == "message":
            part = a.get("fragment") or max(len(payload), 1)
            pieces = [payload[i:i + part]
                      for i in range(0, len(payload), part)] or [b""]
            for i, piece in enumerate(pieces):
                op = 0 if i else 2 if a["binary"] else 1
                fin = 1 if i == len(pieces) - 1 else 0
                await self.send(head(op, fin, 0, len(piece)) + masked(piece))
        elif do == "begin_message":
            self.op = 2 if a["binary"] else 1
        elif do == "begin_frame":
            self.masked_n = 0
            await self.send(head(self.op, 1, 0, a["len"]))
        elif do == "frame_data":
            whole = masked(b"\0" * self.masked_n + payload)
            await self.send(whole[self.masked_n:])
            self.masked_n += len(payload)
        elif do in ("close", "closeframe"):
            await self.send_close(close_payload(
                a["code"], bytes.fromhex(a["reason"])))
        elif do == "wait":
            try:
                await asyncio.wait_for(self.closed.wait(), a["s"])
            except asyncio.TimeoutError:
                if a["tag"]:
                    self.got.append(["timeout", a["tag"]])
        else:
            assert do in ("kill_after", "close_after", "end_message"), do

    # -- The whole --

    def matches(self):
        wanted = [[e[:2] for e in events]
                  for events in self.case["expected"].values()]
        # 7.1.6: what was sent before the close may come back, or not.
        sent = [["message", m.hex()] for m in self.sent_messages]
        return self.got in wanted or (self.case["id"] == "7.1.6" and
                                      self.got == sent[:len(self.got)])

    async def wait_for_answers(self):
        """The events that are due; then we close, if that is ours to do."""
        by_me = self.case["expectedClose"]["closedByMe"]
        end = asyncio.get_running_loop().time() + AUTO_CLOSE_S
        while not self.closed.is_set():
            if by_me and self.got == [
                    e[:2] for e in self.case["expected"]["OK"]]:
                break
            self.news.clear()
            left = end - asyncio.get_running_loop().time()
            try:
                await asyncio.wait_for(self.news.wait(), left)
            except asyncio.TimeoutError:
                break
        if by_me and not self.sent_close and not self.closed.is_set():
            await self.send_close(close_payload(1000, b""))
        try:
            await asyncio.wait_for(self.closed.wait(), AUTO_CLOSE_S)
        except asyncio.TimeoutError:
            self.faults.append("the server did not close")

    def judge(self):
        close = self.case["expectedClose"]
        if not self.matches():
            self.faults.append(f"got {str(self.got)[:150]}")
        if self.code is None:
            self.faults.append("no close frame came")
        elif self.code not in close["closeCode"] + (
                [1005] if self.case["id"] == "7.3.1" else []):
            self.faults.append(f"close {self.code}")
        return self.faults

    async def run(self, port):
        self.reader, self.writer = await asyncio.open_connection(
            "127.0.0.1", port)
        key = base64.b64encode(os.urandom(16)).decode()
        self.writer.write((
            "GET /any HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n\r\n").encode())
        answer = await self.reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 101 "), answer
        listener = asyncio.create_task(self.listen())
        for action in self.case["actions"]:
            await self.act(action)
        await self.wait_for_answers()
        # After both closes the server ends the connection.
        if self.sent_close:
            try:
                await asyncio.wait_for(listener, AUTO_CLOSE_S)
            except asyncio.TimeoutError:
                self.faults.append("the connection stayed open")
        listener.cancel()
        self.writer.close()
        return self.judge()


async def play(cases, port):
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(case):
        async with gate:
            try:
                return case["id"], await Case(case).run(port)
            except Exception as fault:
                return case["id"], [repr(fault)]
    return await asyncio.gather(*(one(c) for c in cases))


def main():
    server = built("tests/peers/web_echo")
    if not os.path.exists(CASES):
        skip("websocket_cases", "the suite autobahn is not here")
        return
    if not os.path.exists(server):
        skip("websocket_cases", f"no {server}")
        return
    with open(CASES) as f:
        cases = json.load(f)["cases"]
    echo = subprocess.Popen([server, PLACE], stdout=subprocess.PIPE,
                            text=True)
    children.append(echo)
    port = int(echo.stdout.readline().split()[1])
    results = asyncio.run(play(cases, port))
    for group in sorted({i.split(".")[0] for i, _ in results}, key=int):
        mine = [(i, f) for i, f in results if i.split(".")[0] == group]
        bad = [f"{i} ({'; '.join(f)})" for i, f in mine if f]
        check(f"group {group}: {len(mine)} cases", not bad, bad)
    check("all cases were played", len(results) == len(cases) > 0)
    echo.terminate()
    note(echo.stdout.readline().strip())
    check("the server ended in order", echo.wait(10) == 0)


main()
done()
