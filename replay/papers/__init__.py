"""The tables and figures of the papers that the rules come from, made anew: on our traces, or by calculation."""
