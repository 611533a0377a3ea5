"""api_pages.py PORT CA OUT -- all pages of an author's posts, by requests, into a
WARC file by warcio.  Prints how many posts there were.
"""
import json
import socket
import sys

from warcio.capture_http import capture_http
import requests  # behind warcio, which takes its place in http.client

HOST = "public.api.bsky.app"
FEED = f"https://{HOST}/xrpc/app.bsky.feed.getAuthorFeed"
port, ca, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
look_up = socket.getaddrinfo


def getaddrinfo(host, number, *args, **more):
    if host == HOST:
        host, number = "127.0.0.1", port
    return look_up(host, number, *args, **more)


socket.getaddrinfo = getaddrinfo
session = requests.Session()
# Whatever the environment says of proxies and certificates.
session.trust_env, session.verify = False, ca
fields = {"actor": "ada.example", "limit": "100",
          "filter": "posts_with_replies"}
n = 0
with capture_http(out):
    while True:
        page = session.get(FEED, params=fields).json()
        n += len(page["feed"])
        if "cursor" not in page:
            break
        fields["cursor"] = page["cursor"]
print(json.dumps(n))
