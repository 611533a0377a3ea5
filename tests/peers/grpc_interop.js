/*
 * gRPC's interop cases by @grpc/grpc-js against grpc_echo: node
 * grpc_interop.js PORT [CA].  Prints "name: what came" per case.
 */
"use strict";
const fs = require("fs");
const grpc = require("@grpc/grpc-js");

const bytes = (x) => x;
const ca = process.argv[3];
const connect = (options) => new grpc.Client("localhost:" + process.argv[2],
    ca ? grpc.credentials.createSsl(fs.readFileSync(ca))
    : grpc.credentials.createInsecure(), options);
const client = connect({});
const path = (name) => "/argiope.Echo/" + name;
const tell = (name, what) => console.log(name + ": " + what);

function unary(name, method, message, metadata, options, by) {
	return new Promise((resolve) => {
		let head = "";
		if (!method.startsWith("/")) method = path(method);
		const call = (by || client).makeUnaryRequest(method, bytes, bytes,
		    Buffer.from(message), metadata || new grpc.Metadata(),
		    options || {}, (e, answer) => {
			tell(name, e ? e.code + " " + JSON.stringify(e.details)
			    : "ok " + answer.length + head);
			resolve(call);
		    });
		call.on("metadata", (m) => {
			const echo = m.get("x-echo");
			if (echo.length) head += " " + echo[0];
		});
		call.on("status", (s) => {
			const bin = s.metadata.get("x-echo-bin");
			if (bin.length) tell(name + " trailer",
			    bin[0].toString("hex"));
		});
	});
}

function clientStreaming(name, n, size, by) {
	return new Promise((resolve) => {
		const call = (by || client).makeClientStreamRequest(path("Count"),
		    bytes, bytes, (e, answer) => {
			tell(name, e ? e.code : "ok " + answer);
			resolve();
		    });
		for (let i = 0; i < n; i++) call.write(Buffer.alloc(size));
		call.end();
	});
}

function serverStreaming(name, n, size) {
	return new Promise((resolve) => {
		let got = 0, total = 0;
		const call = client.makeServerStreamRequest(path("Many"),
		    bytes, bytes, Buffer.from(n + " " + size));
		call.on("data", (m) => { got++; total += m.length; });
		call.on("error", () => {});
		call.on("status", (s) => {
			tell(name, s.code + " " + got + " " + total);
			resolve();
		});
	});
}

function pingPong(name, n) {
	return new Promise((resolve) => {
		let got = 0;
		const call = client.makeBidiStreamRequest(path("Chat"), bytes,
		    bytes);
		call.on("data", () => {
			if (++got < n) call.write(Buffer.from("ping"));
			else call.end();
		});
		call.on("error", () => {});
		call.on("status", (s) => {
			tell(name, s.code + " " + got);
			resolve();
		});
		if (n > 0) call.write(Buffer.from("ping"));
		else call.end();
	});
}

/* One message there and, where there is one, back; then the end. */
function stream(name, method, message, metadata, cancels) {
	return new Promise((resolve) => {
		let got = 0, head = "";
		const call = client.makeBidiStreamRequest(path(method), bytes,
		    bytes, metadata || new grpc.Metadata());
		call.on("metadata", (m) => {
			const echo = m.get("x-echo");
			if (echo.length) head += " " + echo[0];
		});
		call.on("data", () => {
			got++;
			if (cancels) call.cancel();
			else call.end();
		});
		call.on("error", () => {});
		call.on("status", (s) => {
			const bin = s.metadata.get("x-echo-bin");
			tell(name, s.code + " " + got + head + (bin.length
			    ? " " + bin[0].toString("hex") : "")
			    + (s.details && !cancels ? " " + s.details : ""));
			resolve();
		});
		call.write(Buffer.from(message));
		if (method === "Status") call.end();
	});
}

function cancelled(name) {
	return new Promise((resolve) => {
		const call = client.makeClientStreamRequest(path("Count"),
		    bytes, bytes, (e) => { tell(name, e.code); resolve(); });
		setTimeout(() => call.cancel(), 50);
	});
}

async function main() {
	await unary("empty_unary", "Unary", "");
	await unary("large_unary", "Unary", Buffer.alloc(271828));
	const all = await Promise.all(Array.from({ length: 100 }, () =>
	    new Promise((resolve) => client.makeUnaryRequest(path("Unary"),
	    bytes, bytes, Buffer.alloc(271828), (e, m) => resolve(!e &&
	    m.length === 271828)))));
	tell("concurrent_large_unary", all.length + " " + all.every((x) => x));
	await clientStreaming("client_streaming", 500, 1000);
	await serverStreaming("server_streaming", 3000, 1000);
	await pingPong("ping_pong", 50);
	await pingPong("empty_stream", 0);
	const packed = connect({ "grpc.default_compression_algorithm": 2 });
	await unary("client_compressed_unary", "Unary", Buffer.alloc(100000),
	    null, null, packed);
	await clientStreaming("client_compressed_streaming", 20, 50000, packed);
	const metadata = new grpc.Metadata();
	metadata.set("x-echo", "some value");
	metadata.set("x-echo-bin", Buffer.from("ababab00ff", "hex"));
	await unary("custom_metadata", "Unary", "x", metadata);
	await stream("custom_metadata both ways", "Chat", "x", metadata);
	await unary("status_code_and_message", "Status", "2 test status");
	await stream("status_code_and_message both ways", "Status",
	    "2 test status");
	await unary("special_status_message", "Status",
	    "2 \t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP "
	    + "\ud83d\ude08\t\n");
	await unary("unimplemented_method", "Nothing", "x");
	await unary("unimplemented_service", "/no.Such/Thing", "x");
	await cancelled("cancel_after_begin");
	await stream("cancel_after_first_response", "Chat", "x", null, true);
	await unary("timeout_on_sleeping_server", "Never", "x", null,
	    { deadline: Date.now() + 100 });
	packed.close();
	client.close();
}

main();
