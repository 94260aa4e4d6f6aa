"""What a 64-bit little-endian ELF file says of itself, read without binutils."""

import struct
from collections import namedtuple
from functools import cached_property

INTERP, DYNAMIC, STACK, RELRO, LOAD = 3, 2, 0x6474E551, 0x6474E552, 1
EXECUTABLE, WRITABLE = 1, 2
X86_64 = 62

Segment = namedtuple("Segment", "kind flags offset address physical size memory align")
Symbol = namedtuple("Symbol", "name address size")


class Elf:
    """A program as its file has it."""

    def __init__(self, content):
        assert content[:6] == b"\x7fELF\x02\x01", "this is no 64-bit little-endian ELF file"
        self.content = content
        self.type, self.machine = struct.unpack_from("<HH", content, 16)

    @cached_property
    def segments(self):
        first, = struct.unpack_from("<Q", self.content, 32)
        size, count = struct.unpack_from("<HH", self.content, 54)
        return [Segment(*struct.unpack_from("<IIQQQQQQ", self.content, first + i * size))
                for i in range(count)]

    def of_kind(self, kind):
        return [segment for segment in self.segments if segment.kind == kind]

    @cached_property
    def dynamic(self):
        """Tag → value of the dynamic section."""
        found = {}
        for segment in self.of_kind(DYNAMIC):
            piece = self.content[segment.offset:segment.offset + segment.size]
            for tag, value in struct.iter_unpack("<QQ", piece):
                found.setdefault(tag, value)
        return found

    @cached_property
    def sections(self):
        """Name → (type, address, offset, size, link)."""
        first, = struct.unpack_from("<Q", self.content, 40)
        size, count, names = struct.unpack_from("<HHH", self.content, 58)
        rows = [struct.unpack_from("<IIQQQQIIQQ", self.content, first + i * size)
                for i in range(count)]
        return {self.text(rows[names][4] + row[0]): row for row in rows}

    def text(self, offset):
        return self.content[offset:self.content.index(b"\0", offset)].decode()

    @cached_property
    def symbols(self):
        """The functions that the symbol table names."""
        table, strings = self.sections[".symtab"], self.sections[".strtab"]
        found = []
        for name, info, _, section, address, size in struct.iter_unpack(
                "<IBBHQQ", self.content[table[4]:table[4] + table[5]]):
            if section and info & 15 in (2, 10):  # a function, or what chooses one at the start
                found.append(Symbol(self.text(strings[4] + name), address, size))
        return found

    def code(self, symbol):
        """The bytes of a function."""
        for segment in self.of_kind(LOAD):
            if segment.address <= symbol.address < segment.address + segment.size:
                begin = segment.offset + symbol.address - segment.address
                return self.content[begin:begin + symbol.size]
        return b""
