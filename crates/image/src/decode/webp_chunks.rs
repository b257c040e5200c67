//! A walk over a WebP file's chunks: sizes of the lossy frames, and the first frame of an animation as a still file.
//!
//! `RIFF` length `WEBP`, then chunks: four letters, length (little-endian), content, a zero byte after an odd length. A frame
//! (`ANMF`) starts with 16 bytes, x/2 and y/2 in three each, and then holds chunks of its own.

/// Length of the file header, and of what comes before a frame's own chunks.
const FILE_HEADER: usize = 12;
const FRAME_HEADER: usize = 16;

/// The chunks of `bytes` from `at`, as far as they go: name, content.
fn chunks(bytes: &[u8], mut at: usize) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (header, content) = bytes.get(at..)?.split_first_chunk::<8>()?;
        let [a, b, c, d, length @ ..] = *header;
        let length = u32::from_le_bytes(length) as usize;
        at = at.saturating_add(8).saturating_add(length.next_multiple_of(2));
        Some(([a, b, c, d], &content[..length.min(content.len())]))
    })
}

/// How long the file's header says that it is; one byte of padding at the end may be missing.
pub(super) fn file_len(bytes: &[u8]) -> u64 {
    let length = bytes.get(4..8).and_then(<[u8]>::first_chunk).copied().map_or(0, u32::from_le_bytes);
    8 + u64::from(length & !1)
}

/// Width and height that the lossy frames themselves give.
pub(super) fn lossy_sizes(bytes: &[u8]) -> Vec<(u64, u64)> {
    let frames = chunks(bytes, FILE_HEADER).filter(|(name, _)| name == b"ANMF");
    let inner = frames.flat_map(|(_, content)| chunks(content, FRAME_HEADER));
    chunks(bytes, FILE_HEADER).chain(inner).filter_map(|(name, content)| lossy_size(name, content)).collect()
}

fn lossy_size(name: [u8; 4], content: &[u8]) -> Option<(u64, u64)> {
    let side = |low, high| u64::from(u16::from_le_bytes([low, high]) & 0x3fff);
    match (&name, content) {
        (b"VP8 ", &[_, _, _, 0x9d, 0x01, 0x2a, w0, w1, h0, h1, ..]) => Some((side(w0, w1), side(h0, h1))),
        _ => None,
    }
}

/// The first frame of an animation.
pub(super) struct FirstFrame {
    /// Its place on the canvas.
    pub(super) left: usize,
    pub(super) top: usize,
    /// A WebP file that holds it alone.
    pub(super) file: Vec<u8>,
}

/// Cuts out the first frame; `None` when there is none or its header is cut.
pub(super) fn first_frame(bytes: &[u8]) -> Option<FirstFrame> {
    let (_, frame) = chunks(bytes, FILE_HEADER).find(|(name, _)| name == b"ANMF")?;
    let header = frame.get(..FRAME_HEADER)?;
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]) as usize;
    let mut body = b"WEBP".to_vec();
    if chunks(frame, FRAME_HEADER).any(|(name, _)| &name == b"ALPH") {
        // Alpha beside a lossy picture needs the extended header: its alpha flag, then the size less one.
        let extended = [&[0x10, 0, 0, 0], &header[6..12]].concat();
        push(&mut body, b"VP8X", &extended);
    }
    for (name, content) in chunks(frame, FRAME_HEADER) {
        if matches!(&name, b"ALPH" | b"VP8 " | b"VP8L") {
            push(&mut body, &name, content);
        }
    }
    let mut file = Vec::with_capacity(body.len() + 8);
    push(&mut file, b"RIFF", &body);
    Some(FirstFrame { left: 2 * number(0), top: 2 * number(3), file })
}

fn push(out: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(&u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(content);
    if content.len() % 2 == 1 {
        out.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VP8: [u8; 10] = [0, 0, 0, 0x9d, 1, 0x2a, 0xff, 0x3f, 16, 0];

    fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out, name, content);
        out
    }

    #[test]
    fn a_huge_frame_inside_a_small_canvas_is_found() {
        let frame = chunk(b"VP8 ", &VP8);
        let animation = [vec![0; 12], chunk(b"ANMF", &[vec![0; 16], frame.clone()].concat())].concat();
        assert_eq!(lossy_sizes(&animation), [(16383, 16)]);
        assert_eq!(lossy_sizes(&[vec![0; 12], chunk(b"XMP ", b"x"), frame].concat()), [(16383, 16)]);
        for cut in 0..animation.len() - 1 {
            assert!(lossy_sizes(&animation[..cut]).is_empty() || cut >= 12 + 8 + 16 + 8 + 10, "cut at {cut}");
        }
    }

    #[test]
    fn the_first_frame_keeps_its_place_and_its_chunks() {
        let header = [3, 0, 0, 5, 0, 0, 9, 0, 0, 7, 0, 0, 0, 0, 0, 0];
        let content = [header.to_vec(), chunk(b"ALPH", b"abc"), chunk(b"VP8 ", &VP8)].concat();
        let frame = first_frame(&[vec![0; 12], chunk(b"ANMF", &content)].concat()).unwrap();
        assert_eq!((frame.left, frame.top), (6, 10));
        let names: Vec<_> = chunks(&frame.file, FILE_HEADER).map(|(name, _)| name).collect();
        assert_eq!(names, [*b"VP8X", *b"ALPH", *b"VP8 "]);
        assert!(first_frame(&[0; 12]).is_none());
    }
}
