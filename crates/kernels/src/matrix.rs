//! Row-major matrix views with a row stride: checked once, cheap after.

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

/// Floats that a matrix spans, from its first element to its last.
fn span(rows: usize, cols: usize, row_stride: usize) -> usize {
    assert!(cols <= row_stride || rows <= 1, "rows overlap: {cols} columns, stride {row_stride}");
    if rows == 0 || cols == 0 { 0 } else { (rows - 1) * row_stride + cols }
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

    /// One row.
    #[must_use]
    pub fn row(&self, r: usize) -> &'a [f32] {
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

    /// One row.
    #[must_use]
    pub fn row(&mut self, r: usize) -> &mut [f32] {
        &mut self.data[r * self.row_stride..r * self.row_stride + self.cols]
    }
}
