/* api_frames.mjs PORT CA OUT CURSOR N -- N posts of Jetstream by ws, read as JSON
 * and written into a gzip file, one a line. */
import { createWriteStream, readFileSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";
import { createGzip } from "node:zlib";
import WebSocket from "ws";

const HOST = "jetstream2.us-east.bsky.network";
const POSTS = "app.bsky.feed.post";
const [port, ca, out, cursor, wanted] = process.argv.slice(2);
const gzip = createGzip({ level: 6 });
const file = createWriteStream(out);
gzip.pipe(file);
let seen = 0;
const ws = new WebSocket(
    `wss://${HOST}/subscribe?wantedCollections=${POSTS}&cursor=${cursor}`, {
	perMessageDeflate: false,
	createConnection: () => tls.connect({
		socket: net.connect(Number(port), "127.0.0.1"),
		servername: HOST, ca: readFileSync(ca) }),
});
ws.on("message", data => {
	if (seen === Number(wanted))
		return;
	const text = data.toString();
	const { commit } = JSON.parse(text);
	gzip.write(text + "\n");
	if (commit?.collection === POSTS && commit.operation !== "delete")
		seen++;
	if (seen === Number(wanted)) {
		ws.terminate();
		gzip.end();
	}
});
ws.on("error", e => {
	console.error(String(e));
	process.exit(1);
});
file.on("finish", () => {
	console.log(JSON.stringify(seen));
	process.exit(0);
});
