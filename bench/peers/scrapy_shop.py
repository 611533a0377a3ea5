"""Scrapy on the shop of bench/items, 64 requests at once, ten fields of each
page into a feed:

    scrapy runspider scrapy_shop.py -a url=URL -a pages=N -o FILE.jsonl

It reads the pages URL0.html, URL1.html ...
"""
import scrapy


class Shop(scrapy.Spider):
    name = "shop"
    custom_settings = {
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
        "DOWNLOAD_DELAY": 0,
        "AUTOTHROTTLE_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
        "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
    }

    def start_requests(self):
        for i in range(int(self.pages)):
            yield scrapy.Request(f"{self.url}{i}.html", dont_filter=True)

    def parse(self, response):
        def text(css):
            return "".join(response.css(css + " ::text").getall())

        yield {
            "url": response.url,
            "title": text("h1"),
            "sku": text("[itemprop=sku]"),
            "price": text(".price"),
            "stock": response.css("p.stock::attr(data-count)").get(),
            "brand": text("a.brand"),
            "image": response.css("img.main::attr(src)").get(),
            "category": text("nav li:last-child a"),
            "features": len(response.css("ul.features li")),
            "description": text("#description p"),
            "rating": response.css("span.rating::attr(title)").get(),
        }
