"""libCacheSim's LRU on a trace in its binary format: `PYTHON tests/bench/libcachesim_lru.py FILE OBJECTS`.

PYTHON has the package `libcachesim`, which the project itself does not need. Prints the seconds that the replay took,
of the clock and of the processor, and the share of misses.
"""

import sys
import time

import libcachesim

reader = libcachesim.TraceReader(sys.argv[1], libcachesim.TraceType.ORACLE_GENERAL_TRACE)
cache = libcachesim.LRU(cache_size=int(sys.argv[2]))
began_s, began_cpu_s = time.perf_counter(), time.process_time()
missed, _ = cache.process_trace(reader)
print(time.perf_counter() - began_s, time.process_time() - began_cpu_s, missed)
