#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Serves rings with prepared events, as the simulator would serve its own.

usage: rings.py SOCKET EVENTS [--slots=N] [--capacity=BYTES]

Each line of EVENTS is a JSON object: "cpu", "seq", "ts" (ns), "type" or "type_hex", "payload"
(hex), and optionally "origin", "process", "token", "true_token" (hex of 16 bytes),
"grow" (bytes added to the header), "event_size" and "header_size" (wrong ones). A line with
"raw" stores those bytes verbatim; one with "gone" marks the ring as replaced, and the next
attach ends the server. A slot without an event is a hole, unless a line {"cpu": N} names it.
After the last line, or at the line {"serve": true}, the socket is opened and `ready` is
printed; if EVENTS is a FIFO, later lines are written while clients read. It ends by a signal.
"""

import errno
import fcntl
import json
import mmap
import os
import selectors
import socket
import stat
import struct
import sys

HELLO, ATTACH, SLOTS = 1, 2, 3
PAGE = 4096
F_ADD_SEALS, F_SEAL_SHRINK, F_SEAL_GROW = 1033, 2, 4


def memory(name, size):
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)
    return fd, mmap.mmap(fd, size)


class Ring:
    def __init__(self, cpu, capacity):
        self.capacity = capacity
        self.fd, self.map = memory(f"ring{cpu}", PAGE + capacity)
        self.consumer_fd, self.consumer = memory(f"consumer{cpu}", PAGE)
        self.write_pos = 0
        struct.pack_into("<8sIHHQQQ", self.map, 0, b"KMESRING", 1, cpu, 0, capacity, 2 * PAGE, 1)

    def write(self, data):
        """One writer, and readers that poll: no fences needed."""
        for i in range(0, len(data), PAGE):
            piece = data[i : i + PAGE]
            at = (self.write_pos + i) % self.capacity
            first = min(len(piece), self.capacity - at)
            self.map[PAGE + at : PAGE + at + first] = piece[:first]
            self.map[PAGE : PAGE + len(piece) - first] = piece[first:]
        self.write_pos += len(data)
        struct.pack_into("<Q", self.map, 64, self.write_pos)


def event_bytes(line):
    if "raw" in line:
        return bytes.fromhex(line["raw"])
    kind = bytes.fromhex(line["type_hex"]) if "type_hex" in line else line["type"].encode()
    payload = bytes.fromhex(line.get("payload", ""))
    grow = bytes(line.get("grow", 0))
    header_size = line.get("header_size", 77 + len(kind) + len(grow))
    size = line.get("event_size", 77 + len(kind) + len(grow) + len(payload))
    guids = b"".join(
        bytes.fromhex(line.get(name, "00" * 16)) for name in ("token", "true_token", "process")
    )
    head = struct.pack("<IIQQHB", size, header_size, line["ts"], line["seq"], line["cpu"], line.get("origin", 0))
    return head + guids + struct.pack("<H", len(kind)) + kind + grow + payload


class Server:
    def __init__(self, path, slots, capacity):
        self.path, self.slots, self.capacity = path, slots, capacity
        self.rings = {}
        self.selector = selectors.DefaultSelector()
        self.text = b""
        self.is_gone = False

    def put(self, line):
        cpu = line["cpu"]
        if cpu not in self.rings:
            self.rings[cpu] = Ring(cpu, self.capacity)
        if "gone" in line:
            self.is_gone = True
            struct.pack_into("<Q", self.rings[cpu].map, 32, 2)
        elif len(line) > 1:
            self.rings[cpu].write(event_bytes(line))

    def listen(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(self.path)
        self.socket.listen(64)
        self.selector.register(self.socket, selectors.EVENT_READ, self.accept)
        self.slots = self.slots or max(self.rings) + 1
        print("ready", flush=True)

    def accept(self, _):
        client, _ = self.socket.accept()
        self.selector.register(client, selectors.EVENT_READ, self.answer)

    def answer(self, client):
        request = client.recv(65536)
        if not request:
            self.selector.unregister(client)
            client.close()
            return
        op, number, cpu = struct.unpack_from("<IIi", request)
        if op == ATTACH and self.is_gone:
            sys.exit()
        error, capacity, generation, rest, fds = 0, 0, 0, b"", []
        if op == HELLO:
            rest = struct.pack("<8s16sIIIIII", b"KMES-SIM", bytes(range(16)), 1, self.slots, 65536, 32, 10000, 0)
        elif op == SLOTS:
            capacity = self.slots
        elif op == ATTACH and cpu in self.rings:
            ring = self.rings[cpu]
            capacity, generation, fds = ring.capacity, 1, [ring.fd, ring.consumer_fd]
        elif op == ATTACH:
            error = -errno.EINVAL
        else:
            error = -errno.EOPNOTSUPP
        reply = struct.pack("<IIiIQQ", op, number, error, 0, capacity, generation) + rest.ljust(48, b"\0")
        socket.send_fds(client, [reply], fds)

    def read_events(self, events):
        """Returns True at the line {"serve": true}, or at the end."""
        data = os.read(events, 65536)
        self.text += data
        while b"\n" in self.text:
            line, self.text = self.text.split(b"\n", 1)
            line = json.loads(line)
            if "serve" in line:
                return True
            self.put(line)
        return not data

    def write_events(self, events):
        if self.read_events(events):
            self.selector.unregister(events)

    def run(self, path):
        events = os.open(path, os.O_RDONLY)
        while not self.read_events(events):
            pass
        self.listen()
        if stat.S_ISFIFO(os.fstat(events).st_mode):
            self.selector.register(events, selectors.EVENT_READ, self.write_events)
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)


def main():
    options = {"slots": 0, "capacity": 1 << 20}
    for text in sys.argv[3:]:
        name, value = text[2:].split("=")
        options[name] = int(value)
    Server(sys.argv[1], **options).run(sys.argv[2])


main()
