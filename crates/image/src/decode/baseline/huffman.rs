//! Huffman codes: a bit reader that undoes byte stuffing, and tables that give most symbols with their value in one look.
//!
//! A symbol is (run, size): `run` zeros, then a value of `size` bits: v, or v − 2^size + 1 where its first bit is 0.
//! Source: ITU-T T.81, annexes C and F.

/// Bits that a table is looked up by. Longer codes are rare.
const LOOKUP: u32 = 9;

/// Longest code.
const LONGEST: usize = 16;

/// Bits that [`Bits::refill`] gives at least: a code of 16 bits and a value of 11, with room.
const ENOUGH: u32 = 32;

/// What a code is followed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) run: u32,
    pub(super) value: i32,
}

/// The codes of one table.
#[derive(Clone)]
pub(super) struct Table {
    /// By the next [`LOOKUP`] bits.
    entries: Box<[Entry; 1 << LOOKUP]>,
    /// By length: the first 16-bit window above the codes of at most that length.
    ends: [u32; LONGEST + 1],
    /// By length: what to add to a code for the place of its symbol.
    places: [i32; LONGEST + 1],
    symbols: [u8; 256],
}

/// 0 for a longer code, or from the lowest bit: length of the code (4 bits), size (4), run (4), length of code and value
/// (4 bits, 0 when the value lies outside the looked-up bits), value (16).
#[derive(Debug, Clone, Copy, Default)]
struct Entry(u32);

impl Entry {
    fn new(symbol: u8, length: u32, following: u32) -> Self {
        let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
        let (total, value) = if length + size <= LOOKUP {
            let bits = following >> (LOOKUP - length - size);
            (length + size, extended(bits, size))
        } else {
            (0, 0)
        };
        Self(length | size << 4 | run << 8 | total << 12 | (value as u32) << 16)
    }
}

/// The value that `size` bits stand for.
#[inline(always)]
fn extended(bits: u32, size: u32) -> i32 {
    let half = (1_u32 << size) >> 1;
    let bits = bits as i32;
    if (bits as u32) < half { bits - (1 << size) + 1 } else { bits }
}

impl Table {
    /// The table with `counts` codes of each length; `None` when the codes do not fit (as libjpeg judges).
    pub(super) fn new(counts: &[u8; LONGEST], listed: &[u8]) -> Option<Self> {
        let mut table = Self {
            entries: Box::new([Entry::default(); 1 << LOOKUP]),
            ends: [0; LONGEST + 1],
            places: [0; LONGEST + 1],
            symbols: [0; 256],
        };
        table.symbols.get_mut(..listed.len())?.copy_from_slice(listed);
        let (mut code, mut place) = (0_u32, 0_usize);
        for (length, &count) in (1_u32..).zip(counts) {
            table.places[length as usize] = place as i32 - code as i32;
            for _ in 0..count {
                if length <= LOOKUP {
                    table.enter(*listed.get(place)?, code, length);
                }
                (code, place) = (code + 1, place + 1);
            }
            if count > 0 && code >= 1 << length {
                return None;
            }
            table.ends[length as usize] = code << (LONGEST as u32 - length);
            code <<= 1;
        }
        Some(table)
    }

    fn enter(&mut self, symbol: u8, code: u32, length: u32) {
        let free = LOOKUP - length;
        let first = (code << free) as usize;
        let entries = self.entries.iter_mut().skip(first).take(1 << free);
        for (following, entry) in (0..).zip(entries) {
            *entry = Entry::new(symbol, length, following);
        }
    }

    /// Length and symbol of a code longer than [`LOOKUP`].
    #[cold]
    fn long(&self, bits: &Bits<'_>) -> Option<(u32, u8)> {
        let window = bits.peek(LONGEST as u32);
        let length = (LOOKUP as usize + 1..=LONGEST).find(|&length| window < self.ends[length])?;
        let place = (window >> (LONGEST - length)) as i32 + self.places[length];
        Some((length as u32, *self.symbols.get(usize::try_from(place).ok()?)?))
    }
}

/// Reads a scan's bits up to the next marker, then zeros.
pub(super) struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    /// The next bits, from the highest. Below the `count` bits that are counted lie bits of the byte `at`, or zeros.
    buffer: u64,
    count: u32,
    /// How many of the last bits counted are not in the file.
    made_up: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0, buffer: 0, count: 0, made_up: 0 }
    }

    /// Makes sure that there are [`ENOUGH`] bits.
    #[inline(always)]
    fn refill(&mut self) {
        if self.count >= ENOUGH {
            return;
        }
        if let Some(bytes) = self.data.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_be_bytes(*bytes);
            const ONES: u64 = u64::from_ne_bytes([1; 8]);
            if (!word).wrapping_sub(ONES) & word & (ONES << 7) == 0 {
                // No byte is 0xff.
                self.buffer |= word >> self.count;
                self.at += ((63 - self.count) / 8) as usize;
                self.count |= 56;
                return;
            }
        }
        self.refill_by_bytes();
    }

    #[inline(never)]
    fn refill_by_bytes(&mut self) {
        while self.count <= 56 {
            let byte = match self.data.get(self.at..) {
                Some([0xff, 0x00, ..]) => {
                    self.at += 2;
                    0xff
                }
                None | Some([] | [0xff, ..]) => {
                    self.made_up += 8;
                    0
                }
                Some(&[byte, ..]) => {
                    self.at += 1;
                    byte
                }
            };
            self.buffer |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    #[inline(always)]
    fn peek(&self, bits: u32) -> u32 {
        (self.buffer >> (64 - bits)) as u32
    }

    #[inline(always)]
    fn skip(&mut self, bits: u32) {
        self.buffer <<= bits;
        self.count -= bits;
    }

    /// The next symbol and its value of at most 11 bits; `None` for a code or a size that there is not.
    #[inline(always)]
    pub(super) fn symbol(&mut self, table: &Table) -> Option<Symbol> {
        self.refill();
        let Entry(entry) = table.entries[self.peek(LOOKUP) as usize];
        let total = entry >> 12 & 15;
        if total > 0 {
            self.skip(total);
            return Some(Symbol { run: entry >> 8 & 15, value: entry as i32 >> 16 });
        }
        let (length, size, run) = if entry > 0 {
            (entry & 15, entry >> 4 & 15, entry >> 8 & 15)
        } else {
            let (length, symbol) = table.long(self)?;
            (length, u32::from(symbol & 15), u32::from(symbol >> 4))
        };
        self.skip(length);
        if size == 0 {
            return Some(Symbol { run, value: 0 });
        }
        if size > 11 {
            return None;
        }
        let value = extended(self.peek(size), size);
        self.skip(size);
        Some(Symbol { run, value })
    }

    /// Whether bits were read that are not in the file.
    pub(super) fn overran(&self) -> bool {
        self.count < self.made_up
    }

    /// Steps over `marker`, when it is the next thing in the file but for the rest of a byte.
    pub(super) fn pass_marker(&mut self, marker: u8) -> Option<()> {
        self.refill_by_bytes();
        if self.overran() || self.count - self.made_up >= 8 {
            return None;
        }
        let rest = self.data.get(self.at..)?;
        let fill = rest.iter().take_while(|&&byte| byte == 0xff).count();
        if fill == 0 || rest.get(fill) != Some(&marker) {
            return None;
        }
        *self = Self { at: self.at + fill + 1, ..Self::new(self.data) };
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes 0 (symbol 0x01), 10 (0x00) and 110 (0x0a), as the file says them.
    fn table() -> Table {
        let mut counts = [0; LONGEST];
        counts[..3].fill(1);
        Table::new(&counts, &[0x01, 0x00, 0x0a]).unwrap()
    }

    #[test]
    fn values_short_and_long_are_read_after_their_codes() {
        // 0 1, 0 0, 10, 110 1111111111, then ones to the byte's end.
        let mut bits = Bits::new(&[0b0100_1011, 0b0111_1111, 0b1110_0111, 0xff, 0xd9]);
        let values: Vec<_> = (0..4).map(|_| bits.symbol(&table()).unwrap().value).collect();
        assert_eq!(values, [1, -1, 0, 1023]);
    }

    #[test]
    fn a_stuffed_zero_is_no_bit_and_a_marker_ends_them() {
        let mut counts = [0; LONGEST];
        counts[0] = 1;
        let eights = Table::new(&counts, &[0x07]).unwrap();
        // 0 1111111, then 0xff of a value: 0 1111111 1 is not there.
        let mut bits = Bits::new(&[0b0111_1111, 0b0111_1111, 0xff, 0xd9]);
        assert_eq!(bits.symbol(&eights).unwrap().value, 127);
        assert_eq!(bits.symbol(&eights).unwrap().value, 127);
        assert!(!bits.overran());
        assert!(bits.pass_marker(0xd8).is_none());
        assert!(bits.pass_marker(0xd9).is_some());
        let mut cut = Bits::new(&[0b0111_1111, 0b0111_1111]);
        (0..3).for_each(|_| assert!(cut.symbol(&eights).is_some()));
        assert!(cut.overran());
    }

    #[test]
    fn codes_that_do_not_fit_make_no_table() {
        let mut counts = [0; LONGEST];
        counts[0] = 3;
        assert!(Table::new(&counts, &[1, 2, 3]).is_none());
        counts[0] = 2;
        assert!(Table::new(&counts, &[1, 2]).is_none(), "all ones is kept free");
    }
}
