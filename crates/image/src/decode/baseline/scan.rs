//! The scan: row by row of MCUs, from bits to RGB. `None` as soon as anything is odd.
//!
//! An MCU has the `along × down` blocks of Y that lie on one block of Cb and one of Cr. Its first coefficient is a difference to the
//! block before. Triangle upsampling of rows needs the row below: there, rows of RGB are made one late.

use pulp::NullaryFnOnce;

use super::header::{Component, Header};
use super::huffman::Bits;
use super::idct::LANES;
use super::planes::{Block, Plane};
use super::rgb::{Rows, Upsampler, convert, replicate};

/// Where the k-th coefficient of the zigzag goes in [`Coefficients`](super::idct::Coefficients), for the first block.
const PLACES: [u16; 64] = places();

/// Dequantised coefficients that the inverse DCT takes: −2¹⁴ to 2¹⁴ − 1. Those of real pictures are within 2¹¹.
const OFFSET: i32 = 1 << 14;

const fn places() -> [u16; 64] {
    let mut places = [0; 64];
    let (mut row, mut column, mut k) = (0_u16, 0_u16, 0);
    while k < 64 {
        places[k] = (row * 8 + column) * LANES as u16;
        // Even diagonals go up, odd ones down, each turning at the edge.
        if (row + column).is_multiple_of(2) {
            match (row, column) {
                (_, 7) => row += 1,
                (0, _) => column += 1,
                _ => (row, column) = (row - 1, column + 1),
            }
        } else {
            match (row, column) {
                (7, _) => column += 1,
                (_, 0) => row += 1,
                _ => (row, column) = (row + 1, column - 1),
            }
        }
        k += 1;
    }
    places
}

/// The scan of a file, and where its RGB goes.
pub(super) struct Scan<'a> {
    pub(super) header: &'a Header<'a>,
    pub(super) out: &'a mut [u8],
}

impl NullaryFnOnce for Scan<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn call(self) -> Option<()> {
        let Self { header, out } = self;
        let (across, rows) = (
            header.width.div_ceil(8 * header.sampling.along),
            header.height.div_ceil(8 * header.sampling.down),
        );
        let mut entropy = Entropy::new(header);
        let mut planes: Vec<_> = (0..header.components.len())
            .map(|c| {
                if c == 0 {
                    Plane::new(across * header.sampling.along, header.sampling.down)
                } else {
                    Plane::new(across, 1)
                }
            })
            .collect();
        let mut painter = Painter::new(header);
        for mcu_row in 0..rows {
            for column in 0..across {
                entropy.mcu(&mut planes, column)?;
            }
            if entropy.bits.overran() {
                return None;
            }
            for plane in &mut planes {
                plane.transform();
            }
            painter.paint(&planes, mcu_row, out);
        }
        entropy.bits.pass_marker(0xd9)
    }
}

/// The state of the entropy-coded data.
struct Entropy<'a> {
    header: &'a Header<'a>,
    bits: Bits<'a>,
    /// The first coefficient of each component's block before.
    before: [i32; 3],
    /// MCUs to the next restart marker, and its number.
    to_restart: usize,
    restart: u8,
}

impl<'a> Entropy<'a> {
    fn new(header: &'a Header<'a>) -> Self {
        let to_restart = header.restart_interval;
        Self { header, bits: Bits::new(header.scan), before: [0; 3], to_restart, restart: 0 }
    }

    /// Reads an MCU.
    #[inline(always)]
    fn mcu(&mut self, planes: &mut [Plane], column: usize) -> Option<()> {
        if self.header.restart_interval > 0 {
            self.restart()?;
        }
        let sampling = self.header.sampling;
        for (c, (plane, component)) in planes.iter_mut().zip(&self.header.components).enumerate() {
            let (along, down) = if c == 0 { (sampling.along, sampling.down) } else { (1, 1) };
            for row in 0..down {
                for i in 0..along {
                    let block = plane.block(row, column * along + i);
                    read_block(&mut self.bits, component, self.before.get_mut(c)?, block)?;
                }
            }
        }
        Some(())
    }

    fn restart(&mut self) -> Option<()> {
        if self.to_restart == 0 {
            self.bits.pass_marker(0xd0 + self.restart)?;
            self.restart = (self.restart + 1) % 8;
            (self.before, self.to_restart) = ([0; 3], self.header.restart_interval);
        }
        self.to_restart -= 1;
        Some(())
    }
}

/// Reads a block's coefficients, dequantised.
#[inline(always)]
fn read_block(bits: &mut Bits<'_>, component: &Component, before: &mut i32, block: Block<'_>) -> Option<()> {
    let Component { dc, ac, quantization } = component;
    let Block { coefficients, last, lane } = block;
    *before = before.wrapping_add(bits.symbol(dc)?.value);
    let value = before.checked_mul(quantization[0])?;
    coefficients[lane % LANES] = value as i16;
    let mut largest = value.wrapping_add(OFFSET) as u32;
    let mut k = 0;
    while k < 63 {
        let symbol = bits.symbol(ac)?;
        if symbol.value == 0 {
            if symbol.run != 15 {
                break;
            }
            k += 16;
            continue;
        }
        k += symbol.run as usize + 1;
        let value = symbol.value * quantization.get(k)?;
        largest |= value.wrapping_add(OFFSET) as u32;
        *coefficients.get_mut(usize::from(PLACES[k]) + lane)? = value as i16;
        *last = (*last).max(k as u8);
    }
    (k < 64 && largest < 2 * OFFSET as u32).then_some(())
}

/// Makes rows of RGB of the components' rows.
struct Painter<'a> {
    header: &'a Header<'a>,
    upsampler: Upsampler,
    /// Cb and Cr at full width.
    colour: [Vec<u8>; 2],
    /// Rows made.
    done: usize,
}

impl<'a> Painter<'a> {
    fn new(header: &'a Header<'a>) -> Self {
        let upsampler = Upsampler::new(header.width.div_ceil(2));
        // Rows are converted in blocks, the last of which may be longer than the row.
        let row = || vec![0; header.width.next_multiple_of(64)];
        Self { header, upsampler, colour: [row(), row()], done: 0 }
    }

    /// Makes the rows that can be made once the row `mcu_row` of MCUs is there.
    #[inline(always)]
    fn paint(&mut self, planes: &[Plane], mcu_row: usize, out: &mut [u8]) {
        let &Header { width, height, sampling, .. } = self.header;
        let there = (mcu_row + 1) * 8 * sampling.down;
        let end = if there >= height { height } else { there + 1 - sampling.down };
        let out = out[self.done * width * 3..].chunks_exact_mut(width * 3);
        for (row, out) in (self.done..end).zip(out) {
            let Some([y, cb, cr]) = planes.first_chunk::<3>() else {
                for grey in planes {
                    replicate(grey.row(mcu_row, row), out);
                }
                continue;
            };
            let y = y.row(mcu_row, row);
            if sampling.along == 1 {
                convert(y, cb.row(mcu_row, row), cr.row(mcu_row, row), out);
                continue;
            }
            for (plane, colour) in [cb, cr].into_iter().zip(&mut self.colour) {
                self.upsampler.upsample(rows(plane, mcu_row, row, self.header), colour);
            }
            convert(y, &self.colour[0], &self.colour[1], out);
        }
        self.done = end;
    }
}

/// The rows of Cb or Cr that row `row` of the picture comes from.
#[inline(always)]
fn rows<'a>(plane: &'a Plane, mcu_row: usize, row: usize, header: &Header<'_>) -> Rows<'a> {
    if header.sampling.down == 1 {
        return Rows { near: plane.row(mcu_row, row), far: None };
    }
    let near = row / 2;
    let far = if row.is_multiple_of(2) { near.saturating_sub(1) } else { near + 1 };
    let far = far.min(header.height.div_ceil(2) - 1);
    Rows { near: plane.row(mcu_row, near), far: Some(plane.row(mcu_row, far)) }
}
