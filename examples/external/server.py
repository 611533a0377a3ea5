#!/usr/bin/env python3
"""An API to try declared connectors on: the books of books.json, page by page.

    python3 examples/external/server.py          at 127.0.0.1:8766
    argiope external new books                   in another terminal
    argiope external check books.json --params params.json

where params.json is {"subject": "novel"}.

    GET /books?subject=novel&published_from=1850-01-01&published_until=...
        &added_since=DATE&per_page=4&after=CURSOR

answers {"books":[...], "next":"CURSOR"}; `next` is null on the last page.  All
parameters are optional.  It needs nothing but Python 3.
"""
import argparse
import http.server
import json
import os
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
PER_PAGE_MAX = 100


class BadRequest(Exception):
    """A parameter that cannot be understood."""


def number(query, name, otherwise):
    text = query.get(name, "")
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadRequest(f"{name} is not a number")
    return int(text)


def page_of(books, query):
    """The page that a query asks for.  A cursor is the number of books that
    came before it."""
    found = [book for book in books
             if query.get("subject", "") in ("", book["subject"])
             and query.get("published_from", "") <= book["published"]
             and ("published_until" not in query
                  or book["published"] <= query["published_until"])
             and query.get("added_since", "") <= book["added"]]
    first = number(query, "after", 0)
    per_page = min(number(query, "per_page", 10), PER_PAGE_MAX)
    if per_page == 0:
        raise BadRequest("per_page is 0")
    last = first + per_page
    return {"books": found[first:last],
            "next": str(last) if last < len(found) else None}


class Handler(http.server.BaseHTTPRequestHandler):
    books = []

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path != "/books":
            self.answer(404, {"error": "there is only /books"})
            return
        try:
            query = dict(urllib.parse.parse_qsl(url.query))
            self.answer(200, page_of(self.books, query))
        except BadRequest as e:
            self.answer(400, {"error": str(e)})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--port", type=int, default=8766, help="0: any free one")
    port = p.parse_args().port
    with open(os.path.join(HERE, "books.json"), encoding="utf-8") as f:
        Handler.books = json.load(f)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/books", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
