"""A site whose pages answer, and are no captures all the same.

usage: answers.py PORTFILE LOGFILE

Each path gets the bytes below, and the connection is closed.  LOGFILE gets a
line for each request.
"""
import socket
import sys
import threading

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def moved(to):
    body = b"<p>moved</p>"
    return (b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: %d\r\n\r\n%s"
            % (to, len(body), body))


def links(*paths):
    body = "".join(f"<a href={p}>x</a>" for p in paths).encode()
    return OK + b"Content-Length: %d\r\n\r\n" % len(body) + body


ANSWERS = {
    "/robots.txt": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
    b"Content-Length: 35\r\n\r\nUser-agent: *\nDisallow: /forbidden\n",
    "/loop": moved(b"/loop"),
    "/outside": moved(b"http://elsewhere.example/"),
    "/badly": moved(b"ftp://elsewhere.example/"),
    "/private": moved(b"http://10.0.0.1/"),
    "/denied": moved(b"/forbidden"),
    "/cut": OK + b"Content-Length: 1000\r\n\r\n<p>half a page",
    "/cuthead": OK + b"X-Half: a",
    "/early": b"HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n",
    "/bighead": OK + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 1000)
                              for i in range(400)) + b"\r\n",
    "/plus": OK + b"Content-Length: +10\r\n\r\n0123456789",
    "/hex": OK + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
    "/garbage": b"\x00\x01\x02 this is not HTTP\r\n\r\n",
    "/fine": OK + b"Content-Length: 4\r\n\r\nfine",
}
ANSWERS["/"] = links(*(p for p in ANSWERS if p != "/robots.txt"))


def serve(c, log):
    head = b""
    while b"\r\n\r\n" not in head:
        piece = c.recv(4096)
        if not piece:
            break
        head += piece
    if head:
        path = head.split(b" ")[1].decode()
        log.write(path + "\n")
        c.sendall(ANSWERS.get(path, b"HTTP/1.1 404 No\r\n"
                              b"Content-Length: 0\r\n\r\n"))
        c.shutdown(socket.SHUT_WR)
        while c.recv(4096):
            pass
    c.close()


def answer(c, log):
    try:
        serve(c, log)
    except OSError:
        c.close()


def main():
    s = socket.create_server(("127.0.0.1", 0), backlog=64)
    log = open(sys.argv[2], "a", buffering=1)
    with open(sys.argv[1] + ".new", "w") as f:
        f.write(str(s.getsockname()[1]))
    import os
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    while True:
        c, _ = s.accept()
        threading.Thread(target=answer, args=(c, log), daemon=True).start()


main()
