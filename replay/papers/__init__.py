"""The tables and figures of the papers that the rules come from, reproduced on our traces or by calculation."""
