//! What a file's tensor is to a canonical one, and which shape it needs for that.
//!
//! Either side may be the larger: parts are joined along axis 0, rows are cut out along axis 0.

/// What a file's tensor is to a canonical one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The tensor itself.
    Whole,
    /// The tensor itself, where axes of length 1 do not count.
    Reshaped,
    /// One of `count` equal parts along axis 0.
    Part {
        /// Place among the parts, in row order.
        index: usize,
        /// How many parts make the whole.
        count: usize,
    },
    /// A larger tensor: the canonical one is group `index` of its `count` equal groups of rows.
    Rows {
        /// Place among the groups.
        index: usize,
        /// How many groups there are.
        count: usize,
    },
    /// A table `[1, n, D]` without its first entry, which is zero.
    AfterFirst,
}

impl Role {
    /// Place among the parts and number of parts that make the canonical tensor.
    pub(crate) fn part(self) -> (usize, usize) {
        match self {
            Self::Part { index, count } => (index, count),
            Self::Whole | Self::Reshaped | Self::Rows { .. } | Self::AfterFirst => (0, 1),
        }
    }

    /// The shape that the file's tensor needs for the canonical one to have `shape`.
    pub(crate) fn expected(self, shape: &[usize]) -> Vec<usize> {
        let mut expected = shape.to_vec();
        match (self, &mut expected[..]) {
            (Self::Part { count, .. }, [rows, ..]) => *rows /= count.max(1),
            (Self::Rows { count, .. }, [rows, ..]) => *rows = rows.saturating_mul(count),
            (Self::AfterFirst, [_, entries, ..]) => *entries = entries.saturating_sub(1),
            _ => {}
        }
        expected
    }

    /// Whether a file's tensor of shape `got` can serve a canonical one of `shape`.
    pub(crate) fn fits(self, shape: &[usize], got: &[usize]) -> bool {
        let long =
            |shape: &[usize]| -> Vec<usize> { shape.iter().copied().filter(|side| *side != 1).collect() };
        match self {
            Self::Reshaped => long(shape) == long(got),
            Self::Part { count, .. } if shape.first().is_some_and(|rows| rows % count != 0) => false,
            _ => self.expected(shape) == got,
        }
    }

    /// The shape of what is taken out of a file's tensor of shape `stored`, and which `count`-th of its bytes it is.
    pub(crate) fn cut(self, stored: &[usize]) -> (Vec<usize>, usize, usize) {
        let mut shape = stored.to_vec();
        match (self, &mut shape[..]) {
            (Self::Rows { index, count }, [rows, ..]) if *rows % count == 0 => {
                *rows /= count;
                (shape, index, count)
            }
            _ => (shape, 0, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_follow_from_the_role() {
        let half = Role::Part { index: 1, count: 2 };
        assert_eq!(half.expected(&[6, 4]), [3, 4]);
        assert!(half.fits(&[6, 4], &[3, 4]) && !half.fits(&[7, 4], &[3, 4]) && !half.fits(&[6, 4], &[6, 4]));
        let rows = Role::Rows { index: 2, count: 3 };
        assert!(rows.fits(&[4, 4], &[12, 4]) && !rows.fits(&[4, 4], &[4, 4]));
        assert_eq!(rows.cut(&[12, 4]), (vec![4, 4], 2, 3));
        assert!(
            Role::AfterFirst.fits(&[1, 5, 8], &[1, 4, 8]) && !Role::AfterFirst.fits(&[1, 5, 8], &[1, 5, 8])
        );
        assert!(Role::Whole.fits(&[1, 8], &[1, 8]) && !Role::Whole.fits(&[1, 1, 8], &[1, 8]));
    }

    #[test]
    fn only_axes_of_length_one_may_come_and_go() {
        assert!(Role::Reshaped.fits(&[1, 1, 8], &[1, 8]) && Role::Reshaped.fits(&[4, 2], &[4, 2, 1, 1]));
        assert!(!Role::Reshaped.fits(&[4, 2], &[2, 4]) && !Role::Reshaped.fits(&[4, 2], &[8]));
    }

    #[test]
    fn scalars_and_uneven_rows_are_no_panic() {
        for role in [
            Role::Whole,
            Role::Part { index: 0, count: 2 },
            Role::Rows { index: 2, count: 3 },
            Role::AfterFirst,
        ] {
            assert_eq!(role.expected(&[]), [] as [usize; 0]);
            assert_eq!(role.cut(&[]), (vec![], 0, 1));
            assert_eq!(role.cut(&[5]).0, [5]);
        }
    }
}
