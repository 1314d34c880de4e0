# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The simulator's socket and rings without the library: for tests of kmes-sim.

Written from sim_proto.h and the ring's layout only, so that a mistake shared by library and
simulator is not hidden.
"""

import array
import errno
import mmap
import os
import socket
import struct

HELLO, ATTACH, SLOTS, EMIT, COUNTERS, CAPACITY, SET_CAPACITY, TEST = range(1, 9)
REQUEST = struct.Struct("<IIiIQQ")
REPLY = struct.Struct("<IIiIQQ")
REPLY_SIZE = 80
HEADER = struct.Struct("<IIQQHB16s16s16sH")


class Client:
    """One connection; sends the greeting unless the test wants to misbehave before."""

    def __init__(self, path, hello=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.id = 0
        if hello:
            reply = self.ask(HELLO, value=1)
            assert reply["error"] == 0, reply
            assert reply["rest"][:8] == b"KMES-SIM", reply
            self.stream_id = reply["rest"][8:24]

    def send(self, op, cpu=0, count=0, value=0, body=b""):
        self.id += 1
        self.socket.send(REQUEST.pack(op, self.id, cpu, count, value, len(body)) + body)

    def receive(self):
        data, control, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(64))
        if not data:
            raise EOFError("the simulator hung up")
        assert len(data) == REPLY_SIZE, len(data)
        fds = array.array("i")
        for level, kind, content in control:
            assert (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
            fds.frombytes(content)
        op, number, error, count, capacity, generation = REPLY.unpack_from(data)
        return {
            "op": op, "id": number, "error": -error, "count": count, "capacity": capacity,
            "generation": generation, "rest": data[REPLY.size:], "fds": list(fds),
        }  # fmt: skip

    def ask(self, op, **request):
        self.send(op, **request)
        reply = self.receive()
        assert (reply["op"], reply["id"]) == (op, self.id), reply
        return reply

    def emit(self, events, cpu=-1):
        """(errno, count) for a list of (type, payload) in bytes."""
        table = b"".join(struct.pack("<IHH", len(p), len(t), 0) for t, p in events)
        body = table + b"".join(t + p for t, p in events)
        reply = self.ask(EMIT, cpu=cpu, count=len(events), body=body)
        return reply["error"], reply["count"]

    def counters(self, cpu):
        """The simulator's counters of a ring."""
        reply = self.ask(COUNTERS, cpu=cpu)
        assert reply["error"] == 0, reply
        names = "emitted", "bytes", "overwritten", "dropped", "resyncs", "wakes"
        return dict(zip(names, struct.unpack_from("<6Q", reply["rest"])))

    def consumer_page(self, cpu):
        """The consumer page, mapped; need_wake is its first byte."""
        ring, page = self.ask(ATTACH, cpu=cpu)["fds"]
        os.close(ring)
        return mmap.mmap(page, 4096)

    def ring(self, cpu):
        """The pages of a ring, its data mapped once after the producer page."""
        reply = self.ask(ATTACH, cpu=cpu)
        assert reply["error"] == 0, reply
        ring, page = reply["fds"]
        data = mmap.mmap(ring, 0, mmap.MAP_SHARED, mmap.PROT_READ)
        os.close(ring)
        os.close(page)
        assert data[:8] == b"KMESRING"
        return data

    def events(self, cpu):
        """The events of an idle ring, as (header, type, payload)."""
        return events_of(self.ring(cpu))


def events_of(data):
    """The same, of a mapped ring."""
    write_pos, tail_pos = struct.unpack_from("<QQ", data, 64)
    (capacity,) = struct.unpack_from("<Q", data, 16)
    mask = capacity - 1
    found = []
    while tail_pos < write_pos:
        header = HEADER.unpack(wrapped(data, tail_pos & mask, capacity, HEADER.size))
        event = wrapped(data, tail_pos & mask, capacity, header[0])
        type_end = HEADER.size + header[9]
        found.append((header, event[HEADER.size:type_end], event[header[1]:]))
        tail_pos += header[0]
    return found


def wrapped(data, at, capacity, size):
    """Bytes of a ring whose data is mapped once, after the producer page."""
    end = min(at + size, capacity)
    return data[4096 + at:4096 + end] + data[4096:4096 + size - (end - at)]


def count(value):
    """A `sim.load` payload's number."""
    assert value[:3] == b"\x81\xa1n", value
    rest = value[3:]
    sizes = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
    if rest[0] < 0x80:
        assert len(rest) == 1
        return rest[0]
    assert len(rest) == 1 + sizes[rest[0]]
    return int.from_bytes(rest[1:], "big")


EAGAIN, EINVAL, EPERM, ENOSPC, EFAULT = (
    errno.EAGAIN, errno.EINVAL, errno.EPERM, errno.ENOSPC, errno.EFAULT,
)  # fmt: skip
