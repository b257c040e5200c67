//! Row-major matrix views with a row stride: checked once, cheap after.
//!
//! Element (r, c) is `data[r · row_stride + c]`; the floats between two rows belong to something else, as the queries, keys
//! and values do that lie side by side in a token's row. A view is made only of a slice that spans it, from the first
//! element to the last; one without elements spans nothing, whatever its rows and stride.
//! [`Blocks`] lends parts of one matrix to several threads.

use std::marker::PhantomData;
use std::ops::Range;
use std::slice::from_raw_parts_mut;

/// A matrix to read: element (r, c) is `data[r * row_stride + c]`.
#[derive(Debug, Clone, Copy)]
pub struct MatRef<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
}

/// A matrix to write: element (r, c) is `data[r * row_stride + c]`.
#[derive(Debug)]
pub struct MatMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
}

/// The product of the factors: 0 when one of them is, none when it cannot be counted.
pub(crate) fn product(factors: &[usize]) -> Option<usize> {
    if factors.contains(&0) {
        return Some(0);
    }
    factors.iter().try_fold(1_usize, |product, &factor| product.checked_mul(factor))
}

/// Floats that a matrix spans, from its first element to its last.
///
/// # Panics
/// When rows overlap.
pub(crate) fn span(rows: usize, cols: usize, row_stride: usize) -> usize {
    assert!(cols <= row_stride || rows <= 1, "rows overlap: {cols} columns, stride {row_stride}");
    // Saturating: a product that wrapped would let a huge matrix pass for a small one.
    if rows == 0 || cols == 0 { 0 } else { (rows - 1).saturating_mul(row_stride).saturating_add(cols) }
}

impl<'a> MatRef<'a> {
    /// A dense matrix.
    ///
    /// # Panics
    /// When `data` is shorter than the matrix.
    #[must_use]
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Self::with_stride(data, rows, cols, cols)
    }

    /// A matrix whose rows are `row_stride` floats apart.
    ///
    /// # Panics
    /// When `data` is shorter than the matrix, or rows overlap.
    #[must_use]
    pub fn with_stride(data: &'a [f32], rows: usize, cols: usize, row_stride: usize) -> Self {
        assert!(
            data.len() >= span(rows, cols, row_stride),
            "matrix of {rows}x{cols} in {} floats",
            data.len()
        );
        Self { data, rows, cols, row_stride }
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Floats from one row to the next.
    #[must_use]
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// The floats, from element (0, 0) on.
    #[must_use]
    pub fn data(&self) -> &'a [f32] {
        self.data
    }

    /// The rows from `first` on, `rows` of them.
    ///
    /// # Panics
    /// When there are fewer.
    #[must_use]
    pub fn rows_from(&self, first: usize, rows: usize) -> Self {
        assert!(first.saturating_add(rows) <= self.rows, "{rows} rows from {first} of {}", self.rows);
        let start = if rows == 0 || self.cols == 0 { 0 } else { first * self.row_stride };
        Self { data: &self.data[start..], rows, ..*self }
    }

    /// One row.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn row(&self, r: usize) -> &'a [f32] {
        assert!(r < self.rows, "row {r} of {}", self.rows);
        if self.cols == 0 {
            // Rows of nothing lie nowhere: `data` may be shorter than a stride.
            return &[];
        }
        &self.data[r * self.row_stride..r * self.row_stride + self.cols]
    }
}

impl<'a> MatMut<'a> {
    /// A dense matrix.
    ///
    /// # Panics
    /// When `data` is shorter than the matrix.
    #[must_use]
    pub fn new(data: &'a mut [f32], rows: usize, cols: usize) -> Self {
        Self::with_stride(data, rows, cols, cols)
    }

    /// A matrix whose rows are `row_stride` floats apart.
    ///
    /// # Panics
    /// When `data` is shorter than the matrix, or rows overlap.
    #[must_use]
    pub fn with_stride(data: &'a mut [f32], rows: usize, cols: usize, row_stride: usize) -> Self {
        assert!(
            data.len() >= span(rows, cols, row_stride),
            "matrix of {rows}x{cols} in {} floats",
            data.len()
        );
        Self { data, rows, cols, row_stride }
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Floats from one row to the next.
    #[must_use]
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// The floats, from element (0, 0) on.
    #[must_use]
    pub fn data(&mut self) -> &mut [f32] {
        self.data
    }

    /// The floats from the first element to the last.
    pub(crate) fn span(&mut self) -> &mut [f32] {
        &mut self.data[..span(self.rows, self.cols, self.row_stride)]
    }

    /// One row.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn row(&mut self, r: usize) -> &mut [f32] {
        assert!(r < self.rows, "row {r} of {}", self.rows);
        if self.cols == 0 {
            return &mut [];
        }
        &mut self.data[r * self.row_stride..r * self.row_stride + self.cols]
    }
}

/// How far apart to lay rows of so many columns which a product or an attention is to read. Rows whose distance is a multiple of
/// 4 KiB fall into the same set of an L1 cache, which cannot hold a line of each of a tile's rows then (at 2 KiB, hardly):
/// those get a gap of a cache line.
#[must_use]
pub fn row_stride(cols: usize) -> usize {
    const HALF_A_SET: usize = 512;
    const LINE: usize = 16;
    if cols > 0 && cols.is_multiple_of(HALF_A_SET) { cols + LINE } else { cols }
}

/// Part `i` of `total` things dealt into `parts` ranges whose lengths differ by at most one.
#[inline(always)]
pub(crate) fn part(total: usize, parts: usize, i: usize) -> Range<usize> {
    total * i / parts..total * (i + 1) / parts
}

/// A matrix to write whose blocks different threads may write at once.
pub(crate) struct Blocks<'a> {
    start: *mut f32,
    rows: usize,
    cols: usize,
    row_stride: usize,
    _lent: PhantomData<&'a mut [f32]>,
}

// SAFETY: `row` demands that blocks in use at the same time be disjoint, so threads share no element.
#[allow(unsafe_code)]
unsafe impl Sync for Blocks<'_> {}

impl<'a> Blocks<'a> {
    /// Takes the matrix for writing.
    pub(crate) fn new(matrix: &'a mut MatMut<'_>) -> Self {
        let MatMut { rows, cols, row_stride, .. } = *matrix;
        Self { start: matrix.data.as_mut_ptr(), rows, cols, row_stride, _lent: PhantomData }
    }

    /// Where element (r, c) is, not to be read.
    #[inline(always)]
    pub(crate) fn address(&self, r: usize, c: usize) -> *const f32 {
        self.start.wrapping_add(r.wrapping_mul(self.row_stride).wrapping_add(c))
    }

    /// Columns `cols` of row `r`.
    ///
    /// # Safety
    /// No element of it may be lent already.
    #[inline(always)]
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub(crate) unsafe fn row(&self, r: usize, cols: Range<usize>) -> &mut [f32] {
        assert!(r < self.rows && cols.start <= cols.end && cols.end <= self.cols, "block out of the matrix");
        if cols.is_empty() {
            return &mut [];
        }
        // SAFETY: the row has columns, so the matrix is not empty and, checked when made, spans this row and these columns
        // (which is why the product does not overflow); `'a` borrows it; the caller vouches that nobody else has these
        // elements.
        unsafe { from_raw_parts_mut(self.start.add(r * self.row_stride + cols.start), cols.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_evenly() {
        for (total, parts) in [(0, 1), (1, 1), (257, 22), (36, 5), (3, 7)] {
            let ranges: Vec<_> = (0..parts).map(|i| part(total, parts, i)).collect();
            assert!(ranges.windows(2).all(|w| w[0].end == w[1].start));
            assert_eq!((ranges[0].start, ranges[parts - 1].end), (0, total));
            let lengths = || ranges.iter().map(ExactSizeIterator::len);
            assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1);
        }
    }

    #[test]
    fn blocks_of_a_strided_matrix_leave_the_gaps_alone() {
        let mut data = vec![0.0; 3 * 5 - 1];
        let mut matrix = MatMut::with_stride(&mut data, 3, 4, 5);
        let blocks = Blocks::new(&mut matrix);
        for (r, cols) in [(0, 0..2), (0, 2..4), (2, 1..4)] {
            // SAFETY: the blocks do not overlap.
            #[allow(unsafe_code)]
            unsafe { blocks.row(r, cols) }.fill(1.0);
        }
        assert_eq!(data, [1., 1., 1., 1., 0., 0., 0., 0., 0., 0., 0., 1., 1., 1.]);
    }

    #[test]
    fn rows_of_no_columns_are_empty_wherever_they_would_lie() {
        let matrix = MatRef::with_stride(&[], 3, 0, usize::MAX / 2);
        assert_eq!((0..3).map(|r| matrix.row(r).len()).sum::<usize>(), 0);
        let mut data = [1.0; 4];
        let mut matrix = MatMut::with_stride(&mut data, 3, 0, 1 << 40);
        assert!((0..3).all(|r| matrix.row(r).is_empty()));
        let blocks = Blocks::new(&mut matrix);
        // SAFETY: the blocks have no elements.
        #[allow(unsafe_code)]
        let lent = unsafe { [blocks.row(2, 0..0), blocks.row(1, 0..0)] };
        assert!(lent.iter().all(|row| row.is_empty()));
        assert_eq!(data, [1.0; 4]);
    }

    #[test]
    #[should_panic(expected = "row 3 of 3")]
    fn there_is_no_row_past_the_last() {
        let _ = MatRef::with_stride(&[0.0; 100], 3, 4, 5).row(3);
    }

    #[test]
    fn a_product_is_counted_unless_it_is_too_large() {
        assert_eq!(product(&[2, 3, 5]), Some(30));
        assert_eq!(product(&[usize::MAX, 2, 0]), Some(0));
        assert_eq!(product(&[1 << 33, 1 << 33]), None);
    }

    #[test]
    #[should_panic(expected = "rows overlap")]
    fn rows_may_not_overlap() {
        let _ = MatRef::with_stride(&[0.0; 100], 2, 5, 4);
    }

    #[test]
    #[should_panic(expected = "floats")]
    fn a_span_too_large_to_count_is_not_taken_for_a_small_one() {
        let _ = MatRef::with_stride(&[0.0; 10], 3, 1, usize::MAX / 2 + 1);
    }

    #[test]
    #[should_panic(expected = "matrix of 2x5")]
    fn the_floats_must_span_the_matrix() {
        let _ = MatRef::with_stride(&[0.0; 10], 2, 5, 6);
    }
}
