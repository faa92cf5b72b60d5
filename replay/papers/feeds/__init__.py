"""The examples, tables and figures of Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts"."""
