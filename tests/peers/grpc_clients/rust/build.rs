// The stubs, from the schema in the folder SCHEMA.
fn main() {
	let dir = std::env::var("SCHEMA").unwrap();
	tonic_prost_build::configure()
		.build_server(false)
		.compile_protos(&[format!("{dir}/urlfrontier.proto")], &[dir])
		.unwrap();
}
