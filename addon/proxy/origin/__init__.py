"""The HTTP/1.1 client for origins, which frames requests itself and parses the framing of responses strictly."""
