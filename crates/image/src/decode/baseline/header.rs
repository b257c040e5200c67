//! The markers up to the only scan: sizes, tables, the scan's bytes. `None` for whatever the scan decoder does not take.
//!
//! Taken are one frame (SOF0 or SOF1) of 8 bits and one scan of all components. As libjpeg
//! guesses it, three components are YCbCr unless an Adobe marker or the names R, G, B say otherwise.

use super::huffman::Table;

/// A file that can be decoded.
pub(super) struct Header<'a> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) sampling: Sampling,
    /// One, or three: Y, Cb, Cr.
    pub(super) components: Vec<Component>,
    /// MCUs between restart markers; 0 for none.
    pub(super) restart_interval: usize,
    /// The file from the scan's first byte.
    pub(super) scan: &'a [u8],
}

/// Samples of Y for one of Cb and Cr, along and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sampling {
    pub(super) along: usize,
    pub(super) down: usize,
}

/// The tables of a component.
pub(super) struct Component {
    pub(super) dc: Table,
    pub(super) ac: Table,
    /// In zigzag order.
    pub(super) quantization: [i32; 64],
}

/// Reads a big-endian number of two bytes.
fn be16(bytes: &[u8]) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?])))
}

/// What has been read so far.
#[derive(Default)]
struct Found<'a> {
    quantization: [Option<[i32; 64]>; 4],
    dc: [Option<Table>; 4],
    ac: [Option<Table>; 4],
    restart_interval: usize,
    frame: Option<&'a [u8]>,
}

/// Reads the markers.
pub(super) fn read(bytes: &[u8]) -> Option<Header<'_>> {
    let mut rest = bytes.strip_prefix(&[0xff, 0xd8])?;
    let mut found = Found::default();
    loop {
        rest = rest.strip_prefix(&[0xff])?;
        let (&marker, after) = rest.split_first()?;
        if marker == 0xff {
            continue;
        }
        let len = be16(after)?;
        let content = after.get(2..len)?;
        rest = after.get(len..)?;
        match marker {
            0xc0 | 0xc1 if found.frame.is_none() => found.frame = Some(content),
            0xc4 => found.huffman(content)?,
            0xda => return found.scan(content, rest),
            0xdb => found.quantization(content)?,
            0xdd if content.len() == 2 => found.restart_interval = be16(content)?,
            0xee if content.starts_with(b"Adobe") && content.get(11) != Some(&1) => return None,
            0xe0..=0xef | 0xfe => {}
            _ => return None,
        }
    }
}

impl<'a> Found<'a> {
    fn quantization(&mut self, mut content: &[u8]) -> Option<()> {
        while let Some((&index, rest)) = content.split_first() {
            let (values, rest) = match index >> 4 {
                0 => rest.split_first_chunk::<64>().map(|(values, rest)| (values.map(i32::from), rest))?,
                1 => {
                    let (values, rest) = rest.split_first_chunk::<128>()?;
                    let value = |k: usize| i32::from(u16::from_be_bytes([values[2 * k], values[2 * k + 1]]));
                    (std::array::from_fn(value), rest)
                }
                _ => return None,
            };
            *self.quantization.get_mut(usize::from(index & 15))? = Some(values);
            content = rest;
        }
        Some(())
    }

    fn huffman(&mut self, mut content: &[u8]) -> Option<()> {
        while let Some((&kind, rest)) = content.split_first() {
            let (counts, rest) = rest.split_first_chunk::<16>()?;
            let symbols = counts.iter().map(|&count| usize::from(count)).sum();
            let (symbols, rest) = rest.split_at_checked(symbols)?;
            let tables = match kind >> 4 {
                // Sizes alone: libjpeg refuses others even where no bit asks for them.
                0 if symbols.iter().any(|&symbol| symbol > 15) => return None,
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return None,
            };
            *tables.get_mut(usize::from(kind & 15))? = Some(Table::new(counts, symbols)?);
            content = rest;
        }
        Some(())
    }

    fn scan(self, content: &[u8], scan: &'a [u8]) -> Option<Header<'a>> {
        let frame = self.frame?;
        let (&[precision, h1, h0, w1, w0, count], listed) = frame.split_first_chunk::<6>()?;
        let (height, width) = (be16(&[h1, h0])?, be16(&[w1, w0])?);
        let in_frame = listed.as_chunks::<3>().0;
        let (&in_scan, selectors) = content.split_first()?;
        let (selectors, spectrum) = selectors.split_at_checked(2 * usize::from(in_scan))?;
        let whole = precision == 8 && width > 0 && height > 0 && spectrum == [0, 63, 0];
        let all =
            in_scan == count && in_frame.len() == usize::from(count) && listed.len() == 3 * in_frame.len();
        let sampling = sampling(in_frame)?;
        if !whole || !all || !(sampling.along == 1 || width > 4) {
            return None;
        }
        let chosen = in_frame.iter().zip(selectors.as_chunks::<2>().0);
        let components = chosen.map(|(&[id, _, quantization], &[selected, tables])| {
            let dc = self.dc.get(usize::from(tables >> 4))?.clone()?;
            let ac = self.ac.get(usize::from(tables & 15))?.clone()?;
            let quantization = (*self.quantization.get(usize::from(quantization))?)?;
            (id == selected).then_some(Component { dc, ac, quantization })
        });
        let components = components.collect::<Option<Vec<_>>>()?;
        let restart_interval = self.restart_interval;
        Some(Header { width, height, sampling, components, restart_interval, scan })
    }
}

/// The sampling of a frame's components, each [name, factors, table].
fn sampling(components: &[[u8; 3]]) -> Option<Sampling> {
    match *components {
        [[_, 0x11, _]] => Some(Sampling { along: 1, down: 1 }),
        [[b'R', ..], [b'G', ..], [b'B', ..]] => None,
        [[_, 0x11, _], [_, 0x11, _], [_, 0x11, _]] => Some(Sampling { along: 1, down: 1 }),
        [[_, 0x21, _], [_, 0x11, _], [_, 0x11, _]] => Some(Sampling { along: 2, down: 1 }),
        [[_, 0x22, _], [_, 0x11, _], [_, 0x11, _]] => Some(Sampling { along: 2, down: 2 }),
        _ => None,
    }
}
