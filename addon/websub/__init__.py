"""WebSub: subscribes to what is in demand and declares a hub, so that changes are pushed (W3C Recommendation, 2018)."""
