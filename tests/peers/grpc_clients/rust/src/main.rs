// The calls of grpc_clients.py by tonic with its default settings:
// PORT PUTS SERIAL LISTED.  Prints a line per story: its name and a count.
pub mod pb {
	tonic::include_proto!("urlfrontier");
}

use pb::url_frontier_client::UrlFrontierClient;
use pb::url_item::Item;
use tonic::transport::Channel;

type Client = UrlFrontierClient<Channel>;
type Fault = Box<dyn std::error::Error>;

const CRAWL: &str = "tonic";

fn item(story: &str, i: u32) -> pb::UrlItem {
	let info = pb::UrlInfo {
		url: format!("http://h{}.rs/{story}/{i}", i % 1000),
		crawl_id: CRAWL.into(),
		..Default::default()
	};
	pb::UrlItem {
		item: Some(Item::Discovered(pb::DiscoveredUrlItem {
			info: Some(info),
		})),
		..Default::default()
	}
}

// Returns the acknowledgements with status OK.
async fn put(c: &mut Client, story: &'static str, from: u32, to: u32)
	-> Result<u32, Fault> {
	let items = tokio_stream::iter((from..to).map(move |i| item(story, i)));
	let mut acks = c.put_ur_ls(items).await?.into_inner();
	let mut n = 0;
	while let Some(ack) = acks.message().await? {
		n += u32::from(ack.status() == pb::ack_message::Status::Ok);
	}
	Ok(n)
}

async fn list(c: &mut Client, size: u32) -> Result<u32, Fault> {
	let all = pb::ListUrlParams {
		crawl_id: CRAWL.into(),
		size,
		..Default::default()
	};
	let mut items = c.list_ur_ls(all).await?.into_inner();
	let mut n = 0;
	while items.message().await?.is_some() {
		n += 1;
	}
	Ok(n)
}

#[tokio::main]
async fn main() -> Result<(), Fault> {
	let words: Vec<String> = std::env::args().collect();
	let mut c = Client::connect(format!("http://127.0.0.1:{}", words[1]))
		.await?;
	println!("put {}", put(&mut c, "put", 0, words[2].parse()?).await?);
	let mut serial = 0;
	for i in 0..words[3].parse()? {
		serial += put(&mut c, "serial", i, i + 1).await?;
	}
	println!("serial {serial}");
	println!("listed {}", list(&mut c, words[4].parse()?).await?);
	Ok(())
}
