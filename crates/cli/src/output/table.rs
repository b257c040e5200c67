//! A table for people: columns as wide as their widest cell.
//!
//! Widths count characters, which is right for the names and figures that stand here. The last column is not filled up, so no
//! line ends in spaces.

use std::fmt;

/// Rows of cells under headings.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(ToString::to_string).collect()] }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                if column + 1 == row.len() {
                    writeln!(f, "{cell}")?;
                } else {
                    write!(f, "{cell:<width$}  ", width = width(column))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["a", "b", "c"]);
        table.row(vec!["1".into(), "über".into(), "x".into()]);
        assert_eq!(table.to_string(), "a  b     c\n1  über  x\n");
    }
}
