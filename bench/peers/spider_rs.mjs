// spider-rs, the npm binding of the Rust crate spider:
//     node spider_rs.mjs URL
import spider from '@spider-rs/spider-rs';

const website = new spider.Website(process.argv[2])
    .withDelay(0)
    .withRespectRobotsTxt(false)
    .build();
setTimeout(() => { console.log('stopped'); process.exit(3); },
    110_000).unref();
await website.crawl();
console.log('done', website.getLinks ? website.getLinks().length : '');
process.exit(0);
