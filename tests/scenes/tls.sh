#!/bin/bash
#
# Sites of https: why one is refused, and whom to trust.
. "$(dirname "$0")/scene.bash"

if ! command -v openssl >/dev/null; then
	echo "skip tls: openssl is not installed"
	exit 0
fi
cert() {   # cert NAME DAYS SUBJECT-ALT-NAME
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-keyout "$1.key" -out "$1.pem" -days "$2" -subj "/CN=$1" \
		-addext "subjectAltName=$3" 2>/dev/null
}
cert good 2 IP:127.0.0.1
cert other 2 DNS:other.example

cat >server.py <<'END'
import http.server, ssl, sys

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"page")

    def log_message(self, *words):
        pass

name = sys.argv[1]
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(name + ".pem", name + ".key")
s.socket = context.wrap_socket(s.socket, server_side=True,
                               do_handshake_on_connect=False)
with open(name + ".port.new", "w") as f:
    f.write(str(s.server_address[1]))
import os
os.rename(name + ".port.new", name + ".port")
s.serve_forever()
END
for name in good other; do
	behind python3 server.py $name 2>/dev/null
	soon test -s $name.port
done
GOOD=https://127.0.0.1:$(cat good.port)/
OTHER=https://127.0.0.1:$(cat other.port)/

crawl() { "$A" crawl "$@" --delay 0 --set fetch.tries_max=1; }

crawl "$GOOD" --data refused >refused.out 2>&1
has "a self-signed certificate is named" "the certificate is self-signed" \
	refused.out
crawl "$OTHER" --data named --set fetch.ca_file="$PWD/other.pem" \
	>named.out 2>&1
has "a certificate for another name too" "the certificate is for another name" \
	named.out
crawl "$GOOD" --data file --set fetch.ca_file="$PWD/good.pem" >file.out 2>&1
has "fetch.ca_file is trusted" "captures                      1" file.out
SSL_CERT_FILE=$PWD/good.pem crawl "$GOOD" --data env >env.out 2>&1
has "SSL_CERT_FILE is trusted" "captures                      1" env.out
code "a missing fetch.ca_file is an error" 78 "$A" crawl "$GOOD" --data none \
	--set fetch.ca_file=/does/not/exist
has "... that names the setting" "fetch.ca_file" code.err
