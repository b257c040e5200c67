//! Rows of samples to a row of RGB: triangle upsampling of Cb and Cr, then R = Y + 1.402·Cr, G = Y − 0.34414·Cb − 0.71414·Cr,
//! B = Y + 1.772·Cb, in 16-bit fixed point and rounded as libjpeg does (`jdsample.c`, `jdcolor.c`).
//!
//! A sample between two is three quarters the nearer and one quarter the farther one; at an edge both are the last one. With
//! s = 3·near + far of two rows, 4:2:0 has (3·s + left + 8) >> 4 and (3·s + right + 7) >> 4, and 4:2:2, of one row, (3·x + left +
//! 1) >> 2 and (3·x + right + 2) >> 2.

/// Pixels that are converted at once.
const BLOCK: usize = 64;

/// The rows that a row of colour comes from: the nearer one, and the farther one where there is one.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) near: &'a [u8],
    pub(super) far: Option<&'a [u8]>,
}

/// Room for the rows of a picture.
pub(super) struct Upsampler {
    /// Samples of a subsampled row that count.
    len: usize,
    /// Sums of two rows, with one more at each end.
    sums: Vec<u16>,
}

impl Upsampler {
    /// For rows of which `len` samples count.
    pub(super) fn new(len: usize) -> Self {
        Self { len, sums: vec![0; len + 2] }
    }

    /// Twice as many samples as count, to the start of `out`.
    #[inline(always)]
    pub(super) fn upsample(&mut self, rows: Rows<'_>, out: &mut [u8]) {
        let sums = &mut self.sums[1..=self.len];
        match rows.far {
            Some(far) => {
                for ((sum, &near), &far) in sums.iter_mut().zip(rows.near).zip(far) {
                    *sum = 3 * u16::from(near) + u16::from(far);
                }
            }
            None => {
                for (sum, &near) in sums.iter_mut().zip(rows.near) {
                    *sum = u16::from(near);
                }
            }
        }
        (self.sums[0], self.sums[self.len + 1]) = (self.sums[1], self.sums[self.len]);
        if rows.far.is_some() { self.mix::<8, 7, 4>(out) } else { self.mix::<1, 2, 2>(out) }
    }

    #[inline(always)]
    fn mix<const LEFT: u16, const RIGHT: u16, const SHIFT: u32>(&self, out: &mut [u8]) {
        let (left, near, right) = (&self.sums, &self.sums[1..], &self.sums[2..]);
        let sums = left.iter().zip(near).zip(right);
        for (pair, ((&left, &near), &right)) in out.as_chunks_mut::<2>().0.iter_mut().zip(sums) {
            let near = 3 * near;
            *pair = [((near + left + LEFT) >> SHIFT) as u8, ((near + right + RIGHT) >> SHIFT) as u8];
        }
    }
}

/// Grey to RGB.
#[inline(always)]
pub(super) fn replicate(grey: &[u8], out: &mut [u8]) {
    for (pixel, &grey) in out.as_chunks_mut::<3>().0.iter_mut().zip(grey) {
        *pixel = [grey; 3];
    }
}

/// YCbCr to RGB, as many pixels as `out` has.
#[inline(always)]
pub(super) fn convert(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    let blocks =
        y.as_chunks::<BLOCK>().0.iter().zip(cb.as_chunks::<BLOCK>().0).zip(cr.as_chunks::<BLOCK>().0);
    for (out, ((y, cb), cr)) in out.chunks_mut(3 * BLOCK).zip(blocks) {
        let mut planes = [[0_u8; BLOCK]; 3];
        for i in 0..BLOCK {
            let rgb = pixel(i32::from(y[i]), i32::from(cb[i]) - 128, i32::from(cr[i]) - 128);
            (planes[0][i], planes[1][i], planes[2][i]) = (rgb[0], rgb[1], rgb[2]);
        }
        let mut pixels = [0_u8; 3 * BLOCK];
        for i in 0..BLOCK {
            pixels[3 * i] = planes[0][i];
            pixels[3 * i + 1] = planes[1][i];
            pixels[3 * i + 2] = planes[2][i];
        }
        out.copy_from_slice(&pixels[..out.len()]);
    }
}

/// One pixel; cb and cr around 0.
#[inline(always)]
fn pixel(y: i32, cb: i32, cr: i32) -> [u8; 3] {
    const HALF: i32 = 1 << 15;
    let red = y + ((91881 * cr + HALF) >> 16);
    let green = y + ((-22554 * cb - 46802 * cr + HALF) >> 16);
    let blue = y + ((116_130 * cb + HALF) >> 16);
    [red, green, blue].map(|value| value.clamp(0, 255) as u8)
}
