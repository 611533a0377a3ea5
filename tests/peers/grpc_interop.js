/*
 * gRPC's interop cases by @grpc/grpc-js against grpc_echo: node
 * grpc_interop.js PORT.  Prints "name: what came" per case.
 */
"use strict";
const grpc = require("@grpc/grpc-js");

const bytes = (x) => x;
const client = new grpc.Client("127.0.0.1:" + process.argv[2],
    grpc.credentials.createInsecure());
const path = (name) => "/argiope.Echo/" + name;
const tell = (name, what) => console.log(name + ": " + what);

function unary(name, method, message, metadata, options) {
	return new Promise((resolve) => {
		let head = "";
		const call = client.makeUnaryRequest(path(method), bytes, bytes,
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

function clientStreaming(name, n, size) {
	return new Promise((resolve) => {
		const call = client.makeClientStreamRequest(path("Count"),
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
	await clientStreaming("client_streaming", 500, 1000);
	await serverStreaming("server_streaming", 3000, 1000);
	await pingPong("ping_pong", 50);
	await pingPong("empty_stream", 0);
	const packed = new grpc.Client("127.0.0.1:" + process.argv[2],
	    grpc.credentials.createInsecure(),
	    { "grpc.default_compression_algorithm": 2 });
	await new Promise((resolve) => packed.makeUnaryRequest(path("Unary"),
	    bytes, bytes, Buffer.alloc(100000), (e, answer) => {
		tell("client_compressed_unary",
		    e ? e.code + e.details : "ok " + answer.length);
		resolve();
	    }));
	const metadata = new grpc.Metadata();
	metadata.set("x-echo", "some value");
	metadata.set("x-echo-bin", Buffer.from("ababab00ff", "hex"));
	await unary("custom_metadata", "Unary", "x", metadata);
	await unary("status_code_and_message", "Status", "2 test status");
	await unary("special_status_message", "Status",
	    "2 \t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP "
	    + "\ud83d\ude08\t\n");
	await unary("unimplemented_method", "Nothing", "x");
	await cancelled("cancel_after_begin");
	await unary("timeout_on_sleeping_server", "Never", "x", null,
	    { deadline: Date.now() + 100 });
	packed.close();
	client.close();
}

main();
