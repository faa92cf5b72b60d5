"""The simulation of a channel that sends changed chunks of pages to subscribers and downloaders.

Source: Lam, Garcia-Molina, "Multicasting a changing repository" (`multicast`), sections 2 to 6. It imports the
schedulers from `policies.dissemination`, the same objects that a live publisher uses.
"""
