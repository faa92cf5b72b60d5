"""The simulation of a trace under policies: scenarios, what policies know, the engines, and the counts."""
