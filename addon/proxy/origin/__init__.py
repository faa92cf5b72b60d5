"""The side that faces origins: an HTTP/1.1 client that frames what it sends and trusts no frame that it receives."""
