"""Wolf, Squillante, Yu, Sethuraman, Ozsen, "Optimal crawling strategies for Web search engines": its figures."""
