/* Prints what @skyware/jetstream finds: DID, collection and key, a line each.
 *     platforms_jetstream.mjs FOLDER ENDPOINT CURSOR COLLECTION */
import dns from "node:dns";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, endpoint, cursor, collection] = process.argv.slice(2);
/* The platform's names lead to the simulator. */
dns.lookup = (host, options, done) => {
	const back = done ?? options;
	if (options.all)
		back(null, [{ address: "127.0.0.1", family: 4 }]);
	else
		back(null, "127.0.0.1", 4);
};
const WebSocket = createRequire(folder + "/x.js")("ws");
const { Jetstream } = await import(pathToFileURL(folder +
    "/node_modules/@skyware/jetstream/dist/index.js"));
const jetstream = new Jetstream({ ws: WebSocket, endpoint,
	cursor: Number(cursor), wantedCollections: [collection] });
const say = (...what) => console.log(JSON.stringify(what));
jetstream.on("commit", e => say(e.did, e.commit.collection, e.commit.rkey));
jetstream.on("identity", e => say(e.did, "", ""));
jetstream.on("account", e => say(e.did, "", ""));
jetstream.on("error", e => console.error(String(e)));
jetstream.start();
setTimeout(() => process.exit(1), 60000);
