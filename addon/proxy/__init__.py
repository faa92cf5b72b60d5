"""mitmproxy and the network: the layer that answers, the addon, the lean master, the fetch from the origin."""
