"""Objects that change like clockwork: at known moments of each hour, day or week."""
