//! The orientation of a picture from its EXIF block, or its XMP packet when EXIF has none.
//!
//! EXIF is a small TIFF file: 8 bytes of header, then directories of 12-byte entries (20 in BigTIFF). Only entry 0x0112
//! of the first directory is read. As in Pillow: an orientation outside 1–8 means upright and keeps XMP from being
//! asked; of two entries the last counts; XMP is searched for `tiff:Orientation="n"` or `tiff:Orientation>n`.
//! A broken block means upright.

use crate::orientation::Orientation;

const ORIENTATION: u16 = 0x0112;
const XMP: u16 = 700;
const PHOTOMETRIC: u16 = 262;
/// The photometric value of a palette picture.
const RGB_PALETTE: u64 = 3;

/// The orientation from the blocks that a file holds.
pub(super) fn orientation(exif: Option<&[u8]>, xmp: Option<&[u8]>) -> Orientation {
    let from_exif = exif.and_then(|block| Directory::first(strip_prefix(block))?.number(ORIENTATION));
    let tag = from_exif.or_else(|| xmp.and_then(search_xmp));
    tag.map_or(Orientation::UPRIGHT, Orientation::from_tag)
}

/// The orientation of a TIFF file, which is its own EXIF block and holds XMP in entry 700.
pub(super) fn tiff_orientation(file: &[u8]) -> Orientation {
    let directory = Directory::first(file);
    let own = directory.as_ref().and_then(|d| d.number(ORIENTATION));
    let tag = own.or_else(|| search_xmp(directory.as_ref()?.bytes(XMP)?));
    tag.map_or(Orientation::UPRIGHT, Orientation::from_tag)
}

/// Where a TIFF file says that its first page has a palette.
pub(super) struct PaletteEntry {
    /// The two bytes of the photometric value.
    pub(super) value: std::ops::Range<usize>,
    /// The file's byte order.
    pub(super) little: bool,
}

/// The photometric entry of a TIFF file whose first page has a palette.
pub(super) fn palette_entry(file: &[u8]) -> Option<PaletteEntry> {
    let directory = Directory::first(file)?;
    let entry = directory.entry(PHOTOMETRIC)?;
    let is_palette = entry.kind == 3 && number(&entry.field[..2], directory.little)? == RGB_PALETTE;
    let value = entry.field_at..entry.field_at + 2;
    is_palette.then_some(PaletteEntry { value, little: directory.little })
}

fn strip_prefix(mut block: &[u8]) -> &[u8] {
    // Some writers put the prefix twice.
    for _ in 0..2 {
        block = block.strip_prefix(b"Exif\0\0").unwrap_or(block);
    }
    block
}

fn search_xmp(xmp: &[u8]) -> Option<u32> {
    const NAME: &[u8] = b"tiff:Orientation";
    xmp.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME).find_map(|(at, _)| {
        let rest = &xmp[at + NAME.len()..];
        let value = rest.strip_prefix(b"=\"").or_else(|| rest.strip_prefix(b">"))?;
        value.first().filter(|b| b.is_ascii_digit()).map(|b| u32::from(b - b'0'))
    })
}

/// An entry of a directory.
struct Entry<'a> {
    kind: u64,
    count: u64,
    /// The value, or where it is.
    field: &'a [u8],
    /// Where the field lies in the file.
    field_at: usize,
}

/// The first directory of a TIFF structure.
struct Directory<'a> {
    file: &'a [u8],
    entries: &'a [u8],
    entries_at: usize,
    little: bool,
    big_tiff: bool,
}

impl<'a> Directory<'a> {
    fn first(file: &'a [u8]) -> Option<Self> {
        let little = match file.get(..2)? {
            b"II" => true,
            b"MM" => false,
            _ => return None,
        };
        let big_tiff = match number(file.get(2..4)?, little)? {
            42 => false,
            43 => true,
            _ => return None,
        };
        let (offset_at, count_len, entry_len) = if big_tiff { (8..16, 8, 20) } else { (4..8, 2, 12) };
        let start = usize::try_from(number(file.get(offset_at)?, little)?).ok()?;
        let rest = file.get(start..)?;
        let count = usize::try_from(number(rest.get(..count_len)?, little)?).ok()?;
        let rest = &rest[count_len..];
        // A directory that promises more entries than there are bytes is read as far as it goes.
        let entries = &rest[..count.saturating_mul(entry_len).min(rest.len())];
        Some(Self { file, entries, entries_at: start + count_len, little, big_tiff })
    }

    /// The last entry with this tag.
    fn entry(&self, tag: u16) -> Option<Entry<'a>> {
        let (len, count_end) = if self.big_tiff { (20, 12) } else { (12, 8) };
        let has_tag = |entry: &[u8]| number(&entry[..2], self.little) == Some(u64::from(tag));
        let index = self.entries.chunks_exact(len).rposition(has_tag)?;
        let entry = &self.entries[index * len..(index + 1) * len];
        Some(Entry {
            kind: number(&entry[2..4], self.little)?,
            count: number(&entry[4..count_end], self.little)?,
            field: &entry[count_end..],
            field_at: self.entries_at + index * len + count_end,
        })
    }

    /// A single whole number.
    fn number(&self, tag: u16) -> Option<u32> {
        let Entry { kind, count, field, .. } = self.entry(tag)?;
        let len = match kind {
            1 | 6 => 1,
            3 | 8 => 2,
            4 | 9 => 4,
            _ => return Some(0),
        };
        if count != 1 { Some(0) } else { u32::try_from(number(&field[..len], self.little)?).ok() }
    }

    /// The bytes of an entry of type BYTE or UNDEFINED.
    fn bytes(&self, tag: u16) -> Option<&'a [u8]> {
        let Entry { kind, count, field, .. } = self.entry(tag)?;
        let len = usize::try_from(count).ok()?;
        if !matches!(kind, 1 | 7) {
            None
        } else if len <= field.len() {
            field.get(..len)
        } else {
            let start = usize::try_from(number(field, self.little)?).ok()?;
            self.file.get(start..start.checked_add(len)?)
        }
    }
}

/// An unsigned number of 1 to 8 bytes.
fn number(bytes: &[u8], little: bool) -> Option<u64> {
    let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    match (bytes.len(), little) {
        (1..=8, true) => Some(bytes.iter().rev().fold(0, fold)),
        (1..=8, false) => Some(bytes.iter().fold(0, fold)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(tag: u8, kind: u8) -> Vec<u8> {
        let mut block = b"Exif\0\0MM\0*\0\0\0\x08\0\x01".to_vec();
        block.extend([0x01, 0x12, 0, kind, 0, 0, 0, 1]);
        block.extend(if kind == 4 { [0, 0, 0, tag] } else { [0, tag, 0, 0] });
        block
    }

    #[test]
    fn exif_is_asked_before_xmp() {
        let xmp = br#"<rdf tiff:Orientation="3"/>"#;
        let is = |exif: &[u8], xmp: Option<&[u8]>, tag| {
            assert_eq!(orientation(Some(exif), xmp), Orientation::from_tag(tag), "{exif:?}");
        };
        is(&block(6, 3), Some(xmp), 6);
        is(&block(6, 4), Some(xmp), 6);
        is(&block(9, 3), Some(xmp), 1);
        is(b"", Some(xmp), 3);
        is(b"Exif\0\0garbage", Some(xmp), 3);
        is(&block(6, 3)[..12], None, 1);
        is(&[b"Exif\0\0".to_vec(), block(8, 3)].concat(), None, 8);
    }

    #[test]
    fn both_spellings_of_xmp_are_found() {
        for (packet, want) in [
            (&b"<tiff:Orientation>6</tiff:Orientation>"[..], Some(6)),
            (b"tiff:Orientation='6' tiff:Orientation=\"8\"", Some(8)),
            (b"tiff:Orientation=\"", None),
            (b"tiff:Orientation>x", None),
            (b"", None),
        ] {
            assert_eq!(search_xmp(packet), want);
        }
    }

    #[test]
    fn offsets_outside_the_block_are_harmless() {
        let mut broken = block(6, 3);
        broken[10..14].copy_from_slice(&[0xff; 4]);
        assert_eq!(orientation(Some(&broken), None), Orientation::UPRIGHT);
        let mut many = block(6, 3);
        many[14..16].copy_from_slice(&[0xff; 2]);
        assert_eq!(orientation(Some(&many), None), Orientation::from_tag(6));
    }
}
