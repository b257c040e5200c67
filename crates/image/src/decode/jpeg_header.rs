//! A walk over a JPEG's markers: size, process, EXIF and XMP, before the decoder takes any memory.
//!
//! A file is a list of segments, `FF` marker, two bytes of length, content. Entropy-coded data follows each SOS (`FF DA`)
//! and holds no marker but `FF 00` and restarts. Several EXIF segments are one block, as in Pillow.

/// What the markers say.
#[derive(Debug, Default)]
pub(super) struct JpegHeader {
    /// The frame header, when there is one.
    pub(super) frame: Option<Frame>,
    /// How many frame headers there are.
    pub(super) frames: u64,
    /// The EXIF block, without its prefix.
    pub(super) exif: Option<Vec<u8>>,
    /// The XMP packet.
    pub(super) xmp: Option<Vec<u8>>,
    /// How many scans the file holds.
    pub(super) scans: u64,
}

/// A start-of-frame segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// The marker's second byte: C0 baseline, C2 progressive…
    pub(super) marker: u8,
    /// Bits a sample.
    pub(super) precision: u8,
    /// Columns.
    pub(super) width: u16,
    /// Rows.
    pub(super) height: u16,
    /// Colour components.
    pub(super) components: u8,
}

/// Reads the markers as far as they go; what is cut or broken is the decoder's to report.
pub(super) fn read(bytes: &[u8]) -> JpegHeader {
    let mut header = JpegHeader::default();
    let mut at = 2;
    while let Some((marker, start)) = next_marker(bytes, at) {
        at = start;
        if matches!(marker, 0x01 | 0xd0..=0xd8) {
            continue;
        }
        if marker == 0xd9 {
            break;
        }
        let Some(&[high, low]) = bytes.get(start..start + 2) else { break };
        let len = usize::from(u16::from_be_bytes([high, low]));
        let Some(content) = bytes.get(start + 2..start + len.max(2)) else { break };
        header.segment(marker, content);
        at = start + len.max(2);
    }
    header
}

/// The next marker at or after `at`, and where its content starts. Skips entropy-coded data.
fn next_marker(bytes: &[u8], mut at: usize) -> Option<(u8, usize)> {
    loop {
        at += bytes.get(at..)?.iter().position(|&b| b == 0xff)?;
        match bytes.get(at + 1)? {
            0x00 => at += 2,
            0xff => at += 1,
            &marker => return Some((marker, at + 2)),
        }
    }
}

impl JpegHeader {
    fn segment(&mut self, marker: u8, content: &[u8]) {
        match marker {
            0xda => self.scans += 1,
            // Start of frame; C4, C8 and CC are tables.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => self.start_of_frame(marker, content),
            0xe1 => self.app1(content),
            _ => {}
        }
    }

    fn start_of_frame(&mut self, marker: u8, content: &[u8]) {
        self.frames += 1;
        if let (None, Some(&[precision, h1, h0, w1, w0, components])) = (self.frame, content.get(..6)) {
            let (height, width) = (u16::from_be_bytes([h1, h0]), u16::from_be_bytes([w1, w0]));
            self.frame = Some(Frame { marker, precision, width, height, components });
        }
    }

    fn app1(&mut self, content: &[u8]) {
        if let Some(block) = content.strip_prefix(b"Exif\0\0") {
            self.exif.get_or_insert_default().extend_from_slice(block);
        } else if let Some(packet) = content.strip_prefix(b"http://ns.adobe.com/xap/1.0/\0") {
            self.xmp = Some(packet.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_is_found_after_other_segments_and_scans_are_counted() {
        let mut file = vec![0xff, 0xd8, 0xff, 0xe1, 0, 10];
        file.extend(b"Exif\0\0ab");
        file.extend([0xff, 0xe1, 0, 10]);
        file.extend(b"Exif\0\0cd");
        file.extend([0xff, 0xc2, 0, 8, 8, 0, 20, 1, 0, 3]);
        file.extend([
            0xff, 0xda, 0, 2, 5, 0xff, 0x00, 6, 0xff, 0xd0, 7, 0xff, 0xff, 0xda, 0, 2, 9, 0xff, 0xd9,
        ]);
        let header = read(&file);
        assert_eq!(
            header.frame,
            Some(Frame { marker: 0xc2, precision: 8, width: 256, height: 20, components: 3 })
        );
        assert_eq!((header.frames, header.scans, header.exif.as_deref()), (1, 2, Some(&b"abcd"[..])));
    }

    #[test]
    fn a_header_cut_anywhere_is_harmless() {
        let file = [0xff, 0xd8, 0xff, 0xc0, 0, 8, 8, 0, 20, 1, 0, 3, 0xff, 0xda, 0xff];
        for end in 0..file.len() {
            assert!(read(&file[..end]).scans == 0, "cut at {end}");
        }
    }
}
