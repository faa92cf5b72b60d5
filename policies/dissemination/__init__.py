"""Dissemination: which item a channel with many subscribers sends next.

`audience` records who waits for what, `scheduler` is the interface of the rules, one file each, and `table` lists them;
`metrics` measures what clients have of them.

Source: Lam, Garcia-Molina, "Multicasting a changing repository".
"""
