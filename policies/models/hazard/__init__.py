"""The hazard of the next update of an object: what its updates so far tell of the time of the next one.

`memory` keeps decayed counts of updates, of the time observed and of the gaps between updates; `experts` and `gaps` are
the hazards that follow from them, `ended` is that of an object whose updates have ended, `forecast` their mixture;
`clock` tells the weekend and the hour bin.
"""
