/*
 * The calls of grpc_clients.py by @grpc/grpc-js with its default settings:
 * SCHEMA PORT PUTS SERIAL LISTED.  Prints a line per story: its name and a
 * count.
 */
"use strict";
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const [schema, port, ...words] = process.argv.slice(2);
const [puts, serial, listed] = words.map(Number);
const CRAWL = "grpc-js";
const Client = grpc.loadPackageDefinition(loader.loadSync(schema,
    { enums: String, defaults: true })).urlfrontier.URLFrontier;
const client = new Client("127.0.0.1:" + port,
    grpc.credentials.createInsecure());

function item(story, i) {
	return { discovered: { info: { crawlID: CRAWL,
	    url: `http://h${i % 1000}.js/${story}/${i}` } } };
}

/* Resolves to the acknowledgements with status OK. */
function put(story, from, to) {
	return new Promise((resolve, reject) => {
		const call = client.PutURLs();
		let n = 0, i = from;
		call.on("data", (ack) => { n += ack.status === "OK"; });
		call.on("error", reject);
		call.on("end", () => resolve(n));
		const send = () => {
			while (i < to)
				if (!call.write(item(story, i++)))
					return void call.once("drain", send);
			call.end();
		};
		send();
	});
}

function list(size) {
	return new Promise((resolve, reject) => {
		const call = client.ListURLs({ crawlID: CRAWL, size });
		let n = 0;
		call.on("data", () => { n++; });
		call.on("error", reject);
		call.on("end", () => resolve(n));
	});
}

(async () => {
	console.log("put", await put("put", 0, puts));
	let n = 0;
	for (let i = 0; i < serial; i++)
		n += await put("serial", i, i + 1);
	console.log("serial", n);
	console.log("listed", await list(listed));
	client.close();
})().catch((e) => {
	console.error(String(e));
	process.exit(1);
});
