#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Parses what the text and JSON formats print for a corpus, and compares the values.

usage: format_grammar.py FILE

FILE has three lines per event: its fields as JSON (bytes in hex), its line of text, its
line of JSON. The text is parsed by its grammar and the JSON by the standard library; both
must yield the payload, which is decoded here from its bytes.
"""

import base64
import datetime
import json
import re
import struct
import sys

sys.setrecursionlimit(20000)


class Wrong(Exception):
    """The line is malformed."""


def must(condition, why):
    if not condition:
        raise Wrong(why)


def same(condition, got, value):
    if not condition:
        raise Wrong(f"{got!r} for {value!r}"[:300])


# ---- MessagePack, decoded to tuples that distinguish every type ----


def decode(data):
    value, rest = decode_value(memoryview(data))
    must(not rest, "the corpus has bytes after a payload")
    return value


def number(data, size):
    return int.from_bytes(data[:size], "big"), data[size:]


def take(kind, data, size):
    return (kind, bytes(data[:size])), data[size:]


def decode_items(data, count):
    items = []
    for _ in range(count):
        item, data = decode_value(data)
        items.append(item)
    return items, data


def decode_list(data, count):
    items, data = decode_items(data, count)
    return ("list", items), data


def decode_map(data, count):
    items, data = decode_items(data, 2 * count)
    return ("map", list(zip(items[0::2], items[1::2]))), data


def decode_ext(data, size):
    kind = struct.unpack("b", data[:1])[0]
    return ("ext", kind, bytes(data[1 : size + 1])), data[size + 1 :]


def decode_value(data):
    form, data = data[0], data[1:]
    if form < 0x80:
        return ("int", form), data
    if form >= 0xE0:
        return ("int", form - 256), data
    if form < 0x90:
        return decode_map(data, form & 15)
    if form < 0xA0:
        return decode_list(data, form & 15)
    if form < 0xC0:
        return take("str", data, form & 31)
    if form in (0xC0, 0xC2, 0xC3):
        return {0xC0: ("nil",), 0xC2: ("bool", False), 0xC3: ("bool", True)}[form], data
    if form in (0xCA, 0xCB):
        size = 4 if form == 0xCA else 8
        return ("float", bytes(data[:size])), data[size:]
    if 0xD4 <= form <= 0xD8:
        return decode_ext(data, 1 << (form - 0xD4))
    sizes = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4}
    sizes |= {0xCC + i: 1 << i for i in range(4)} | {0xD0 + i: 1 << i for i in range(4)}
    sizes |= {0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
    size = sizes[form]
    n, data = number(data, size)
    if 0xCC <= form <= 0xCF:
        return ("int", n), data
    if 0xD0 <= form <= 0xD3:
        return ("int", n - (1 << 8 * size) if n >> (8 * size - 1) else n), data
    if form <= 0xC6:
        return take("bin", data, n)
    if form <= 0xC9:
        return decode_ext(data, n)
    if form <= 0xDB:
        return take("str", data, n)
    return decode_list(data, n) if form <= 0xDD else decode_map(data, n)


# ---- values by the conventions of their keys ----


def hint_of(key):
    if key[0] != "str":
        return None
    name = key[1]
    if name.endswith(b"sids"):
        return "sids"
    if name.endswith(b"sid"):
        return "sid"
    if name.endswith(b"guid"):
        return "guid"
    if name == b"access" or (name.endswith(b"_access") and name != b"last_access"):
        return "access"
    return None


def sid_of(data):
    if len(data) < 8 or data[0] != 1 or data[1] > 15 or len(data) != 8 + 4 * data[1]:
        return None
    authority = int.from_bytes(data[2:8], "big")
    parts = struct.unpack(f"<{data[1]}I", data[8:])
    head = str(authority) if authority < 1 << 32 else f"0x{authority:012x}"
    return "-".join(["S-1", head, *map(str, parts)])


def guid_of(data):
    a, b, c = struct.unpack("<IHH", data[:8])
    return f"{a:08x}-{b:04x}-{c:04x}-{data[8:10].hex()}-{data[10:].hex()}"


EPOCH = datetime.datetime(1970, 1, 1)
OLDEST, NEWEST = -62135596800, 253402300799  # what datetime can show


def time_of(value):
    """The ISO text of a timestamp, or None."""
    if value[0] != "ext" or value[1] != -1:
        return None
    data = value[2]
    if len(data) == 4:
        second, ns = int.from_bytes(data, "big"), 0
    elif len(data) == 8:
        v = int.from_bytes(data, "big")
        second, ns = v & 0x3FFFFFFFF, v >> 34
    elif len(data) == 12:
        ns, second = struct.unpack(">Iq", data)
    else:
        return None
    if ns >= 10**9 or not -62167219200 <= second <= NEWEST:
        return None
    return iso(second, ns)


def iso(second, ns):
    if second < OLDEST:  # the year 0 is as long as the year 400 years later
        text = iso(second + 146097 * 86400, ns)
        return "0000" + text[4:]
    when = EPOCH + datetime.timedelta(seconds=second)
    return f"{when.year:04}-{when:%m-%dT%H:%M:%S}.{ns:09}Z"


# ---- strings ----


def is_hidden(cp):
    return (
        0x80 <= cp <= 0x9F
        or cp in (0x061C, 0xFEFF)
        or 0x200B <= cp <= 0x200F
        or 0x2028 <= cp <= 0x202E
        or 0x2060 <= cp <= 0x2069
        or 0xFFF9 <= cp <= 0xFFFB
        or 0xE0000 <= cp <= 0xE007F
    )


SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"'}


def escaped(data, is_type=False):
    """The canonical form of these bytes."""
    out = []
    for char in data.decode("utf-8", "surrogateescape"):
        cp = ord(char)
        if is_type and char in ' "':
            out.append("\\x20" if char == " " else char)
        elif char in SHORT:
            out.append(SHORT[char])
        elif cp < 0x20 or cp == 0x7F:
            out.append(f"\\x{cp:02x}")
        elif 0xDC80 <= cp <= 0xDCFF:
            out.append(f"\\x{cp - 0xDC00:02x}")
        elif is_hidden(cp):
            out.append(f"\\u{cp:04x}" if cp < 0x10000 else f"\\U{cp:08x}")
        else:
            out.append(char)
    return "".join(out)


ESCAPE = re.compile(r'\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([nrt\\"]))')
ESCAPED = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\", '"': b'"'}


def unescaped(text):
    out, at = b"", 0
    while at < len(text):
        if text[at] != "\\":
            out += text[at].encode()
            at += 1
            continue
        m = ESCAPE.match(text, at)
        must(m, f"no escape: {text[at:at + 10]!r}")
        byte, short, long, char = m.groups()
        if byte:
            out += bytes([int(byte, 16)])
        elif char:
            out += ESCAPED[char]
        else:
            out += chr(int(short or long, 16)).encode()
        at = m.end()
    return out


# ---- the grammar of values ----

WORDS = {"nil": ("nil",), "true": ("bool", True), "false": ("bool", False)}
TOKENS = [
    ("mask", re.compile(r"0x([0-9a-f]{8})\(([A-Z0-9_|xa-f]*)\)")),
    ("time", re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")),
    ("guid", re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")),
    ("sid", re.compile(r"S-1-(?:0x[0-9a-f]{12}|\d+)(?:-\d+)*")),
    ("ext", re.compile(r"ext\((-?\d+), 0x((?:[0-9a-f]{2})*)\)")),
    ("bin", re.compile(r"0x((?:[0-9a-f]{2})*)")),
    ("float", re.compile(r"-?\d+\.\d+(?:e-?\d+)?|-?\d+e-?\d+|nan|-?inf")),
    ("int", re.compile(r"-?\d+")),
    ("word", re.compile(r"nil|true|false")),
    ("str", re.compile(r'"((?:[^"\\]|\\.)*)"')),
]
BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
LITERALS = {"nil", "true", "false", "nan", "inf"}


class Parser:
    """One value of the text form."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def next_is(self, literal):
        if self.text.startswith(literal, self.at):
            self.at += len(literal)
            return True
        return False

    def need(self, literal):
        must(self.next_is(literal), f"{literal!r} is missing at {self.text[self.at:][:20]!r}")

    def scalar(self):
        for kind, pattern in TOKENS:
            m = pattern.match(self.text, self.at)
            if m:
                self.at = m.end()
                return self.scalar_of(kind, m)
        raise Wrong(f"no value at {self.text[self.at:][:20]!r}")

    @staticmethod
    def scalar_of(kind, m):
        if kind == "word":
            return WORDS[m[0]]
        if kind == "int":
            must(str(int(m[0])) == m[0], f"an integer in another form: {m[0]}")
            return ("int", int(m[0]))
        if kind == "bin":
            return ("bin", bytes.fromhex(m[1]))
        if kind == "ext":
            return ("ext", int(m[1]), bytes.fromhex(m[2]))
        if kind == "str":
            return ("str", unescaped(m[1]), m[1])
        if kind == "mask":
            return ("mask", int(m[1], 16), m[2])
        return (kind, m[0])

    def key(self):
        m = BARE.match(self.text, self.at)
        if m and m[0] not in LITERALS and self.text.startswith(": ", m.end()):
            self.at = m.end()
            return ("str", m[0].encode(), None)
        return self.value()

    def value(self):
        if self.next_is("{}"):
            return ("map", [])
        if self.next_is("[]"):
            return ("list", [])
        if self.next_is("["):
            items = [self.value()]
            while self.next_is(", "):
                items.append(self.value())
            self.need("]")
            return ("list", items)
        if not self.next_is("{"):
            return self.scalar()
        pairs = [self.pair()]
        while self.next_is(", "):
            pairs.append(self.pair())
        self.need("}")
        return ("map", pairs)

    def pair(self):
        key = self.key()
        self.need(": ")
        return key, self.value()

    def all(self):
        value = self.value()
        must(self.at == len(self.text), f"more after the value: {self.text[self.at:][:20]!r}")
        return value


def same_float(text, data):
    """Round-trips with the fewest digits, and looks like a float."""
    code = ">f" if len(data) == 4 else ">d"
    value = struct.unpack(code, data)[0]
    if value != value:
        return text == "nan"
    if text in ("inf", "-inf"):
        return value == float(text)
    if not ("." in text or "e" in text) or struct.pack(code, float(text)) != data:
        return False
    digits = len(re.sub(r"e.*|[-.]", "", text).strip("0"))
    if digits < 2:
        return True
    try:
        return struct.pack(code, float(f"{value:.{digits - 2}e}")) != data
    except OverflowError:
        return True


NAMES = {0: "FILE_READ_DATA", 1: "FILE_WRITE_DATA", 2: "FILE_APPEND_DATA", 3: "FILE_READ_EA",
         4: "FILE_WRITE_EA", 5: "FILE_EXECUTE", 6: "FILE_DELETE_CHILD",
         7: "FILE_READ_ATTRIBUTES", 8: "FILE_WRITE_ATTRIBUTES", 16: "DELETE",
         17: "READ_CONTROL", 18: "WRITE_DAC", 19: "WRITE_OWNER", 20: "SYNCHRONIZE",
         24: "ACCESS_SYSTEM_SECURITY", 25: "MAXIMUM_ALLOWED", 28: "GENERIC_ALL",
         29: "GENERIC_EXECUTE", 30: "GENERIC_WRITE", 31: "GENERIC_READ"}


def mask_names(mask):
    words = [name for bit, name in NAMES.items() if mask >> bit & 1]
    rest = mask & ~sum(1 << bit for bit in NAMES)
    return "|".join(words + ([f"0x{rest:08x}"] if rest else []))


def compare(got, value, hint=None, is_key=False):
    """Compares the parsed text with the decoded bytes."""
    kind = value[0]
    if kind == "list":
        same(got[0] == "list" and len(got[1]) == len(value[1]), got, value)
        for one, other in zip(got[1], value[1]):
            compare(one, other, "sid" if hint == "sids" else None)
    elif kind == "map":
        same(got[0] == "map" and len(got[1]) == len(value[1]), got, value)
        for (got_key, got_value), (key, item) in zip(got[1], value[1]):
            compare(got_key, key, is_key=True)
            compare(got_value, item, hint_of(key))
    elif kind == "str":
        same(got[0] == "str" and got[1] == value[1], got, value)
        if got[2] is None:
            same(is_key, got, value)
        else:
            same(got[2] == escaped(value[1]), got, value)
            same(not is_key or not BARE.fullmatch(got[2]) or got[2] in LITERALS, got, value)
    elif kind == "float":
        same(got[0] == "float" and same_float(got[1], value[1]), got, value)
    elif kind == "int" and hint == "access" and 0 <= value[1] < 1 << 32:
        same(got == ("mask", value[1], mask_names(value[1])), got, value)
    elif kind == "bin" and hint == "sid" and sid_of(value[1]):
        same(got == ("sid", sid_of(value[1])), got, value)
    elif kind == "bin" and hint == "guid" and len(value[1]) == 16:
        same(got == ("guid", guid_of(value[1])), got, value)
    elif kind == "ext" and time_of(value):
        same(got == ("time", time_of(value)), got, value)
    else:
        same(got == value, got, value)


# ---- lines of text ----

ORIGINS = {0: ("USR", "userspace"), 1: ("KMES", "kmes"), 2: ("KACS", "kacs"), 3: ("LCS", "lcs"),
           254: ("TRACE", "trace"), 255: ("HOST", "host")}
LINE = re.compile(
    r"(\d\d:\d\d:\d\d\.\d{6})  cpu(\d+)  #(\d+)  (USR|KMES|KACS|LCS|HOST|TRACE|c\d+)"
    r"  ([^ ]+)(?:  (.+))?"
)


def no_tricks(line):
    for char in line:
        cp = ord(char)
        must(cp >= 0x20 and cp != 0x7F and not is_hidden(cp), f"U+{cp:04X} is shown as it is")


def check_text(event, line):
    no_tricks(line)
    m = LINE.fullmatch(line)
    must(m, "no event line")
    clock, cpu, seq, origin, kind, payload = m.groups()
    second, ns = divmod(event["ts_ns"], 10**9)
    must(clock == iso(second, ns)[11:26], "the time is wrong")
    must(int(cpu) == event["cpu"] and int(seq) == event["seq"], "CPU or sequence is wrong")
    number_word = f"c{event['origin']}"
    must(origin == ORIGINS.get(event["origin"], (number_word,))[0], "the origin is wrong")
    must(kind == escaped(bytes.fromhex(event["type"]), is_type=True), "the type is wrong")
    data = bytes.fromhex(event["payload"])
    if not data:
        must(payload is None, "a payload that is not there")
    elif event["fault"]:
        expected = f"<{len(data)} bytes, not MessagePack: {event['fault']}> 0x{data.hex()}"
        must(payload == expected, "the bytes are shown otherwise")
    else:
        must(payload is not None, "the payload is missing")
        compare(Parser(payload).all(), decode(data))


# ---- lines of JSON ----


def no_constant(word):
    raise Wrong(f"{word} is no JSON")


class Number(str):
    """A number's own text."""


def load(line):
    return json.loads(
        line, object_pairs_hook=lambda pairs: ("object", pairs), parse_int=Number,
        parse_float=Number, parse_constant=no_constant,
    )


def tagged(tag, content):
    return ("object", [(tag, content)])


def base64_of(data):
    return base64.b64encode(data).decode()


def compare_json_key(got, key):
    if key[0] == "str":
        text = key[1].decode("utf-8", "replace")
        must(got == ("$" + text if text.startswith("$") else text), f"{got!r} for key {key!r}")
    else:
        compare(Parser(got).all(), key)


def compare_json(got, value, hint=None):
    kind = value[0]
    if kind == "list":
        same(isinstance(got, list) and len(got) == len(value[1]), got, value)
        for one, other in zip(got, value[1]):
            compare_json(one, other, "sid" if hint == "sids" else None)
    elif kind == "map":
        same(isinstance(got, tuple) and len(got[1]) == len(value[1]), got, value)
        for (got_key, got_value), (key, item) in zip(got[1], value[1]):
            compare_json_key(got_key, key)
            compare_json(got_value, item, hint_of(key))
    elif kind == "nil":
        same(got is None, got, value)
    elif kind == "bool":
        same(got is value[1], got, value)
    elif kind == "int":
        same(isinstance(got, Number) and got == str(value[1]), got, value)
    elif kind == "float":
        wide = struct.unpack(">f" if len(value[1]) == 4 else ">d", value[1])[0]
        if wide != wide or wide in (float("inf"), float("-inf")):
            same(got is None, got, value)
        else:
            same(isinstance(got, Number) and same_float(got, struct.pack(">d", wide)), got, value)
    elif kind == "str":
        same(not isinstance(got, Number) and got == value[1].decode("utf-8", "replace"), got, value)
    elif kind == "bin" and hint == "sid" and sid_of(value[1]):
        same(got == tagged("$sid", sid_of(value[1])), got, value)
    elif kind == "bin" and hint == "guid" and len(value[1]) == 16:
        same(got == tagged("$guid", guid_of(value[1])), got, value)
    elif kind == "bin":
        same(got == tagged("$bin", base64_of(value[1])), got, value)
    elif time_of(value):
        same(got == tagged("$time", time_of(value)), got, value)
    else:
        same(got == tagged("$ext", [str(value[1]), base64_of(value[2])]), got, value)


def check_json(event, line):
    no_tricks(line)
    kind, pairs = load(line)
    fields = dict(pairs)
    second, ns = divmod(event["ts_ns"], 10**9)
    origin = ORIGINS.get(event["origin"], (0, f"c{event['origin']}"))[1]
    data = bytes.fromhex(event["payload"])
    expected = [("time", iso(second, ns)), ("ts_ns", str(event["ts_ns"])),
                ("cpu", str(event["cpu"])), ("seq", str(event["seq"])), ("origin", origin),
                ("type", bytes.fromhex(event["type"]).decode("utf-8", "replace"))]
    for name in ("process", "token", "true_token"):
        guid = bytes.fromhex(event[name])
        if any(guid):
            expected.append((name, guid_of(guid)))
    if data:
        expected.append(("payload", fields.get("payload")))
    must(kind == "object" and pairs == expected, f"fields are {pairs!r}"[:300])
    if data and event["fault"]:
        must(fields["payload"] == tagged("$raw", base64_of(data)), "the raw bytes are wrong")
    elif data:
        compare_json(fields["payload"], decode(data))


def main():
    with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
        lines = file.read().split("\n")
    must(lines.pop() == "" and len(lines) % 3 == 0, "an event printed more than one line")
    wrong = 0
    for i in range(0, len(lines), 3):
        for check, line in ((check_text, lines[i + 1]), (check_json, lines[i + 2])):
            try:
                check(json.loads(lines[i]), line)
            except (Wrong, ValueError, KeyError, TypeError, IndexError) as error:
                wrong += 1
                if wrong <= 5:
                    print(f"{error}\n  {lines[i][:1000]}\n  {line[:1000]}")
    print(f"{len(lines) // 3} events, {wrong} lines wrong")
    return 1 if wrong or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
