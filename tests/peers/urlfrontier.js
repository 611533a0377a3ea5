/*
 * The URL Frontier door by @grpc/grpc-js: node urlfrontier.js PORT.  Prints
 * "name: what came" per case.  The few messages are written by hand, so that
 * nothing is shared with the other client.
 */
"use strict";
const grpc = require("@grpc/grpc-js");

const bytes = (x) => x;
const client = new grpc.Client("127.0.0.1:" + process.argv[2],
    grpc.credentials.createInsecure());
const path = (name) => "/urlfrontier.URLFrontier/" + name;
const tell = (name, what) => console.log(name + ": " + what);
const CRAWL = "grpc-js";

/* ---- Protocol buffers ---------------------------------------------------- */

function varint(n) {
	const out = [];
	for (n = BigInt(n); n > 127n; n >>= 7n)
		out.push(Number(n & 127n) | 128);
	out.push(Number(n));
	return Buffer.from(out);
}

const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);

function block(field, content) {
	const b = Buffer.from(content);
	return Buffer.concat([varint(field << 3 | 2), varint(b.length), b]);
}

const message = (...fields) => Buffer.concat(fields);

/* {field: [number or Buffer, ...]} */
function fields(data) {
	const found = {};
	let at = 0;
	const next = () => {
		let n = 0n, shift = 0n, byte;
		do {
			byte = data[at++];
			n |= BigInt(byte & 127) << shift;
			shift += 7n;
		} while (byte & 128);
		return Number(n);
	};
	while (at < data.length) {
		const tag = next();
		let value = next();
		if ((tag & 7) === 2) {
			at += value;
			value = data.subarray(at - value, at);
		}
		(found[tag >> 3] = found[tag >> 3] || []).push(value);
	}
	return found;
}

const text = (x) => x ? x[0].toString() : "";
const info = (url, key) => message(block(1, url), block(2, key),
    block(3, message(block(1, "src"), block(2, block(1, "js")))),
    block(4, CRAWL));
const discovered = (url, key, id) =>
    message(block(1, block(1, info(url, key))), block(3, id));
const known = (url, key, date) =>
    block(2, message(block(1, info(url, key)), number(2, date)));

/* ---- Calls ----------------------------------------------------------------- */

function unary(rpc, request, options) {
	return new Promise((resolve) => client.makeUnaryRequest(
	    rpc[0] === "/" ? rpc : path(rpc), bytes, bytes, request,
	    new grpc.Metadata(), options || {},
	    (e, answer) => resolve(e ? { code: e.code } :
	    { code: 0, fields: fields(answer) })));
}

function stream(call) {
	return new Promise((resolve) => {
		const got = [];
		call.on("data", (m) => got.push(fields(m)));
		call.on("error", () => {});
		call.on("status", (s) => resolve({ code: s.code, got }));
	});
}

function put(rpc, messages) {
	const call = client.makeBidiStreamRequest(path(rpc), bytes, bytes);
	const end = stream(call);
	for (const m of messages) call.write(m);
	call.end();
	return end;
}

const get = (n, q, lease) => stream(client.makeServerStreamRequest(
    path("GetURLs"), bytes, bytes, message(number(1, n), number(2, q),
    number(4, lease), block(6, CRAWL))));

/* ---- Cases ------------------------------------------------------------------- */

async function main() {
	let r = await put("PutURLs", [discovered("http://a/1", "a", "one"),
	    discovered("http://a/1", "a", "two"), known("http://a/2", "a", 5),
	    known("http://a/3", "a", 0), Buffer.alloc(0)]);
	tell("acks", r.code + " " + r.got.map((a) => text(a[1]) + "=" +
	    (a[2] ? a[2][0] : 0)).join(" "));
	r = await put("PutDiscovered", [message(block(1, "b"),
	    block(2, info("http://b/1", "b")), block(2, info("", "b")),
	    block(2, info("http://b/1", "b"))), block(1, "probe")]);
	tell("batches", r.code + " " + r.got.map((a) => text(a[1]) + "=" +
	    (a[2] ? a[2][0].toString("hex") : "")).join(" "));
	r = await get(5, 5, 30);
	tell("served", r.code + " " + r.got.map((u) => text(u[1]) + " " +
	    text(u[2]) + " " + text(u[4])).sort().join(", "));
	tell("metadata", r.got.every((u) => text(fields(u[3][0])[1]) === "src" &&
	    text(fields(fields(u[3][0])[2][0])[1]) === "js"));
	r = await unary("GetStats", block(2, CRAWL));
	const counts = r.fields[3].map((c) => fields(c)).map((c) =>
	    text(c[1]) + "=" + (c[2] ? c[2][0] : 0)).sort();
	tell("stats", [r.fields[1][0], r.fields[2][0], r.fields[4][0],
	    text(r.fields[5]), ...counts].join(" "));
	r = await unary("GetURLStatus", message(block(1, "http://a/2"),
	    block(2, "a"), block(3, CRAWL)));
	tell("status", fields(r.fields[2][0])[2][0]);
	r = await unary("GetURLStatus", message(block(1, "http://no/"),
	    block(3, CRAWL)));
	tell("unknown URL", r.code);
	tell("unknown method", (await unary("Nothing",
	    Buffer.alloc(0))).code);
	tell("garbage", (await unary("GetStats",
	    Buffer.from("ffffffff", "hex"))).code);
	r = await unary("/grpc.health.v1.Health/Check", Buffer.alloc(0));
	tell("health", r.fields[1][0]);
	const many = [];
	for (let i = 0; i < 20000; i++)
		many.push(discovered("http://m/" + i, "m" + i % 10, "" + i));
	r = await put("PutURLs", many);
	tell("20,000", r.code + " " + r.got.length + " " + r.got.every(
	    (a, i) => text(a[1]) === "" + i && !a[2]));
	r = await unary("DeleteCrawl", block(1, CRAWL));
	tell("deleted", r.fields[1][0]);
	client.close();
}

main();
