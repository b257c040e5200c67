//! TIFF pages of unusual kinds: the right pixels, or an error that says in plain words what is not supported.
//!
//! Every page is written here, entry by entry. What decodes is compared with the samples that were written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use dinoxide_image::{DecodeOptions, Format, ImageError, decode};

const WIDTH: usize = 5;
const HEIGHT: usize = 3;

/// A page of 8-bit samples in one strip.
#[derive(Clone)]
struct Page {
    photometric: u16,
    samples: u16,
    extra: Vec<u16>,
    compression: u16,
    /// Further entries of one short value; what is given twice counts here.
    more: Vec<(u16, u16)>,
}

impl Page {
    fn new(photometric: u16, samples: u16, extra: &[u16]) -> Self {
        Self { photometric, samples, extra: extra.to_vec(), compression: 1, more: Vec::new() }
    }

    fn samples(&self) -> Vec<u8> {
        (0..WIDTH * HEIGHT * usize::from(self.samples)).map(|i| (i * 37 + i / 5) as u8).collect()
    }

    fn file(&self) -> Vec<u8> {
        let data = self.samples();
        let mut entries: Vec<(u16, u16, Vec<u32>)> = vec![
            (256, 3, vec![WIDTH as u32]),
            (257, 3, vec![HEIGHT as u32]),
            (258, 3, vec![8]),
            (259, 3, vec![self.compression.into()]),
            (262, 3, vec![self.photometric.into()]),
            (273, 4, vec![8]),
            (277, 3, vec![self.samples.into()]),
            (278, 3, vec![HEIGHT as u32]),
            (279, 4, vec![data.len() as u32]),
        ];
        if !self.extra.is_empty() {
            entries.push((338, 3, self.extra.iter().copied().map(u32::from).collect()));
        }
        if self.photometric == 3 {
            entries.push((320, 3, (0..768).map(|i| ((i % 256) ^ (i / 256 * 85)) << 8).collect()));
        }
        for &(tag, value) in &self.more {
            entries.retain(|entry| entry.0 != tag);
            entries.push((tag, 3, vec![value.into()]));
        }
        entries.sort();
        let directory = 8 + data.len() as u32;
        let mut long_at = directory + 2 + 12 * entries.len() as u32 + 4;
        let mut long: Vec<u8> = Vec::new();
        let mut file = [b"II*\0".to_vec(), directory.to_le_bytes().to_vec(), data].concat();
        file.extend((entries.len() as u16).to_le_bytes());
        for (tag, kind, values) in entries {
            let size = if kind == 3 { 2 } else { 4 };
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()[..size].to_vec()).collect();
            file.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
            file.extend((values.len() as u32).to_le_bytes());
            if bytes.len() <= 4 {
                file.extend([bytes, vec![0; 4 - values.len() * size]].concat());
            } else {
                file.extend(long_at.to_le_bytes());
                long_at += bytes.len() as u32;
                long.extend(bytes);
            }
        }
        [file, vec![0; 4], long].concat()
    }

    fn pixels(&self, background: Option<[u8; 3]>) -> Vec<u8> {
        let picture = decode(&self.file(), &DecodeOptions { background, ..DecodeOptions::default() });
        picture.unwrap_or_else(|error| panic!("{error}")).pixels.data
    }

    fn refusal(&self) -> String {
        match decode(&self.file(), &DecodeOptions::default()) {
            Err(error @ ImageError::Unsupported { format: Format::Tiff, .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn extra_samples_that_are_no_alpha_leave_the_colour_alone() {
    for extra in [vec![0], vec![0, 0], vec![0, 0, 0]] {
        let page = Page::new(2, 3 + extra.len() as u16, &extra);
        let want: Vec<u8> =
            page.samples().chunks_exact(3 + extra.len()).flat_map(|pixel| pixel[..3].to_vec()).collect();
        for background in [None, Some([1, 2, 3])] {
            assert_eq!(page.pixels(background), want, "{extra:?}, {background:?}");
        }
    }
    let grey = Page::new(1, 2, &[0]);
    let want: Vec<u8> = grey.samples().chunks_exact(2).flat_map(|pixel| [pixel[0]; 3]).collect();
    assert_eq!(grey.pixels(Some([1, 2, 3])), want);
}

#[test]
fn a_palette_with_alpha_shows_its_colours() {
    for extra in [0, 2] {
        let page = Page::new(3, 2, &[extra]);
        let color = |index: u8| [index, index ^ 85, index ^ 170];
        let want: Vec<u8> = page.samples().chunks_exact(2).flat_map(|pixel| color(pixel[0])).collect();
        assert_eq!(page.pixels(None), want, "extra sample {extra}");
    }
}

#[test]
fn kinds_that_are_not_read_are_refused_in_plain_words() {
    let with = |page: Page, more: &[(u16, u16)]| Page { more: more.to_vec(), ..page };
    let (grey, rgb) = (Page::new(1, 1, &[]), Page::new(2, 3, &[]));
    for (page, words) in [
        (with(grey.clone(), &[(259, 2)]), "Huffman compression"),
        (with(grey.clone(), &[(259, 3)]), "group 3 fax compression"),
        (with(grey.clone(), &[(259, 50000)]), "Zstandard compression"),
        (with(grey.clone(), &[(259, 34925)]), "LZMA compression"),
        (with(grey.clone(), &[(259, 4)]), "group 4 fax compression of grey"),
        (with(grey.clone(), &[(266, 2)]), "fill order 2"),
        (with(grey.clone(), &[(258, 12)]), "12 bits"),
        (with(rgb.clone(), &[(317, 2)]), "predictor 2 of no compression"),
        (with(Page::new(2, 4, &[0]), &[(259, 5), (317, 2)]), "predictor 2 of LZW compression"),
        (with(Page::new(1, 2, &[2]), &[(259, 7)]), "JPEG compression of grey"),
        (with(Page::new(2, 4, &[2]), &[(259, 7)]), "JPEG compression of RGB"),
        (with(Page::new(5, 4, &[]), &[(332, 2)]), "CMYK"),
        (Page::new(8, 3, &[]), "CIELab colour"),
        (Page::new(1, 3, &[0, 0]), "grey colour of 3"),
        (Page::new(2, 5, &[0, 2]), "extra samples [0, 2]"),
    ] {
        let message = page.refusal();
        assert!(message.contains(words) && message.ends_with(" is not supported"), "{message}");
        assert!(!message.contains("unsupported"), "{message}");
    }
}
