"""Redis Streams: ``stream`` reads and writes them, with ``scripts`` that run on the server."""
