"""The index as an HTTP service, with pages where people review clusters and correct them.

    neardup serve --store sqlite:///crawl.db

    from neardup.service.client import Client
    answer = Client("http://127.0.0.1:8000").add(html, url=url)

Nothing is imported here: the client does not need the server, nor the server the client.
"""
