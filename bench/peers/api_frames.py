"""api_frames.py PORT CA OUT CURSOR N -- N posts of Jetstream by websockets, read as
JSON and written into a gzip file, one a line.
"""
import asyncio
import gzip
import json
import socket
import ssl
import sys

import websockets

HOST = "jetstream2.us-east.bsky.network"
POSTS = "app.bsky.feed.post"
port, ca, out, cursor, wanted = sys.argv[1:6]


async def main():
    url = f"wss://{HOST}/subscribe?wantedCollections={POSTS}&cursor={cursor}"
    connection = socket.create_connection(("127.0.0.1", int(port)))
    seen = 0
    async with websockets.connect(
            url, sock=connection, compression=None, max_size=1 << 24,
            ssl=ssl.create_default_context(cafile=ca),
            server_hostname=HOST) as ws:
        with gzip.open(out, "wb", 6) as f:
            async for message in ws:
                frame = json.loads(message)
                f.write(message.encode() + b"\n")
                commit = frame.get("commit")
                seen += commit is not None and commit["collection"] == POSTS \
                    and commit["operation"] != "delete"
                if seen == int(wanted):
                    break
    print(json.dumps(seen))


asyncio.run(main())
