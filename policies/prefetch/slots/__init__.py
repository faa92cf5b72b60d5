"""The assignment of crawls to slots of crawlers."""
