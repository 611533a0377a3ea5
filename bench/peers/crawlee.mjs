// crawlee's CheerioCrawler, 64 requests at once:
//     node crawlee.mjs URL [STORAGE]
// With STORAGE its queue and a dataset of URLs are kept there, and a second run
// goes on from them.
import { CheerioCrawler, Configuration } from '@crawlee/cheerio';

const [url, storage] = process.argv.slice(2);
const configuration = new Configuration({
    persistStorage: storage !== undefined,
    purgeOnStart: false,
    logLevel: 'ERROR',
    memoryMbytes: 8192,
    availableMemoryRatio: 1,
    ...(storage && { storageClientOptions: { localDataDirectory: storage } }),
});
let pages = 0;
const crawler = new CheerioCrawler({
    minConcurrency: 64,
    maxConcurrency: 64,
    maxRequestRetries: 0,
    useSessionPool: false,
    persistCookiesPerSession: false,
    requestHandlerTimeoutSecs: 30,
    async requestHandler({ request, enqueueLinks, pushData }) {
        pages++;
        if (storage) await pushData({ url: request.url });
        await enqueueLinks();
    },
}, configuration);
setTimeout(() => { console.log('stopped', pages); process.exit(3); },
    110_000).unref();
await crawler.run([url]);
console.log('done', pages);
process.exit(0);
