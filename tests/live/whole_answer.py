"""Reads an answer to its end, into however many segments it was divided."""

import re
import socket


def read_answer(connection: socket.socket) -> bytes:
    """Read a head, and the content whose length it announces; or what comes until the connection is closed."""
    answer, missing = b"", 1
    while missing > 0 and (data := connection.recv(65536)):
        answer += data
        head, end, content = answer.partition(b"\r\n\r\n")
        if end:
            announced = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            missing = int(announced[1]) - len(content) if announced is not None else 0
    return answer
