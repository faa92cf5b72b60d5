"""The hazard of the next update of an object: what its updates so far tell of the time of the next one.

`memory` keeps decayed counts of updates and of the time observed, `experts` the rates that follow from them, `clock`
tells the weekend and the hour bin.
"""
