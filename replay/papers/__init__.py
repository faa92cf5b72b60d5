"""The reproduction of tables and figures of the source papers, on recorded traces or by calculation."""
