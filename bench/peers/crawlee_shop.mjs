// crawlee's CheerioCrawler on the shop of bench/items, 64 requests at once:
//     node crawlee_shop.mjs URL PAGES STORAGE
// It reads the pages URL0.html, URL1.html ... and puts ten fields of each into
// a Dataset in STORAGE.
import { CheerioCrawler, Configuration, Dataset } from '@crawlee/cheerio';

const [url, pages, storage] = process.argv.slice(2);
const configuration = new Configuration({
    persistStorage: true, purgeOnStart: false, logLevel: 'ERROR',
    memoryMbytes: 8192, availableMemoryRatio: 1,
    storageClientOptions: { localDataDirectory: storage },
});
const dataset = await Dataset.open(undefined, { config: configuration });
const crawler = new CheerioCrawler({
    minConcurrency: 64, maxConcurrency: 64, maxRequestRetries: 0,
    useSessionPool: false, persistCookiesPerSession: false,
    async requestHandler({ $, request }) {
        await dataset.pushData({
            url: request.url,
            title: $('h1').text(),
            sku: $('[itemprop=sku]').text(),
            price: $('.price').text(),
            stock: $('p.stock').attr('data-count'),
            brand: $('a.brand').text(),
            image: $('img.main').attr('src'),
            category: $('nav li:last-child a').text(),
            features: $('ul.features li').length,
            description: $('#description p').text(),
            rating: $('span.rating').attr('title'),
        });
    },
}, configuration);
const done = await crawler.run(Array.from({ length: Number(pages) },
    (_, i) => `${url}${i}.html`));
process.exit(done.requestsFinished === Number(pages) ? 0 : 1);
