//! Pictures decoded ahead of the model: which wait, which failed, and who decodes the next.
//!
//! Places count from the first file that has not been given back. Files are claimed in order and each one claimed is
//! finished before [`Reader`] returns, so what has been decoded is a run without gaps. A batch is the first waiting
//! picture and as many others of its size as fit.

use crate::{Error, ImageProcessor};
use dinoxide_kernels::Context;
use ndarray::Array3;
use std::{
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Bytes of pixel values after which no more is decoded ahead.
const MAX_BYTES: usize = 256 << 20;

/// The pixel values [C, H, W] of a picture.
pub(super) type Decoded = Array3<f32>;

/// What has been decoded and not been forwarded.
#[derive(Default)]
pub(super) struct Ahead {
    /// The first place that nobody has claimed.
    next: usize,
    /// With their places; in order, except while files are being decoded.
    waiting: Vec<(usize, Decoded)>,
    failed: Vec<(usize, Error)>,
}

impl Ahead {
    /// Counts places from the next file on, the first being given back.
    pub(super) fn move_up(&mut self) {
        self.next -= 1;
        for (place, _) in &mut self.waiting {
            *place -= 1;
        }
    }

    /// The files that could not be decoded, once.
    pub(super) fn take_failed(&mut self) -> Vec<(usize, Error)> {
        std::mem::take(&mut self.failed)
    }

    /// As after decoding so many files, of which none waits.
    #[cfg(test)]
    pub(super) fn of_read(next: usize) -> Self {
        Self { next, ..Self::default() }
    }

    fn enter(&mut self, place: usize, pixels: Result<Decoded, Error>) {
        match pixels {
            Ok(pixels) => self.waiting.push((place, pixels)),
            Err(error) => self.failed.push((place, error)),
        }
    }

    fn is_full(&self) -> bool {
        let floats = self.waiting.iter().map(|(_, pixels)| pixels.len()).sum::<usize>();
        floats >= MAX_BYTES / size_of::<f32>()
    }

    /// Whether the first waiting picture has as many of its size beside it as its batch takes.
    fn has_batch(&self, size: &(dyn Fn(&Decoded) -> usize + Sync)) -> bool {
        let Some((_, first)) = self.waiting.iter().min_by_key(|(place, _)| *place) else { return false };
        self.waiting.iter().filter(|(_, pixels)| pixels.dim() == first.dim()).count() >= size(first)
    }

    /// The first waiting picture, and as many others of its size as fit; nothing when none waits.
    fn take_batch(&mut self, size: &(dyn Fn(&Decoded) -> usize + Sync)) -> Vec<(usize, Decoded)> {
        self.waiting.sort_by_key(|(place, _)| *place);
        let Some((_, first)) = self.waiting.first() else { return Vec::new() };
        let (dim, mut room) = (first.dim(), size(first));
        let (batch, rest) = std::mem::take(&mut self.waiting).into_iter().partition(|(_, pixels)| {
            let fits = room > 0 && pixels.dim() == dim;
            room -= usize::from(fits);
            fits
        });
        self.waiting = rest;
        batch
    }
}

/// Decodes the files that follow those decoded.
pub(super) struct Reader<'a, P> {
    pub(super) context: &'a Context,
    pub(super) processor: &'a ImageProcessor,
    /// The files, by place.
    pub(super) paths: &'a [P],
    /// Pictures of a batch.
    pub(super) size: &'a (dyn Fn(&Decoded) -> usize + Sync),
    pub(super) ahead: Mutex<Ahead>,
}

impl<P: AsRef<Path> + Sync> Reader<'_, P> {
    fn lock(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next batch.
    pub(super) fn take_batch(&self) -> Vec<(usize, Decoded)> {
        self.lock().take_batch(self.size)
    }

    /// Decodes on all threads until there is a batch, or as much as may be ahead.
    pub(super) fn read_a_batch(&self) {
        let lacking = self.paths.len().saturating_sub(self.lock().next);
        let threads = self.context.threads().min(lacking);
        self.context.for_each(threads, |_| self.read(|| true));
    }

    /// What `forward` gives; meanwhile another thread decodes, until it is done and there is a batch again. Whoever is idle
    /// before then helps: with the forward, or afterwards with decoding.
    pub(super) fn read_beside<T: Send>(&self, forward: impl Fn() -> T + Sync) -> Option<T> {
        if self.context.threads() == 1 || self.lock().next >= self.paths.len() {
            return Some(forward());
        }
        let (done, outputs) = (AtomicBool::new(false), Mutex::new(None));
        self.context.for_each(2, |task| {
            if task > 0 {
                return self.read(|| done.load(Ordering::Relaxed));
            }
            let made = forward();
            *outputs.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
            done.store(true, Ordering::Relaxed);
            self.read_a_batch();
        });
        outputs.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes file after file; ends where there is no other or no room, or when a batch is `enough` and there is one.
    fn read(&self, enough: impl Fn() -> bool) {
        while let Some(place) = self.claim(enough()) {
            let pixels = self.processor.open(self.paths[place].as_ref());
            self.lock().enter(place, pixels);
        }
    }

    /// The place of a file to decode.
    fn claim(&self, enough: bool) -> Option<usize> {
        let mut ahead = self.lock();
        if ahead.next >= self.paths.len() || ahead.is_full() || enough && ahead.has_batch(self.size) {
            return None;
        }
        ahead.next += 1;
        Some(ahead.next - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waiting pictures of these sides, in this order of being decoded.
    fn ahead(sides: &[(usize, usize)]) -> Ahead {
        let mut ahead = Ahead { next: sides.len(), ..Ahead::default() };
        for &(place, side) in sides {
            ahead.enter(place, Ok(Array3::zeros((3, side, side))));
        }
        ahead
    }

    fn places(batch: Vec<(usize, Decoded)>) -> Vec<usize> {
        batch.into_iter().map(|(place, _)| place).collect()
    }

    #[test]
    fn a_batch_is_the_first_waiting_picture_and_others_of_its_size() {
        let mut ahead = ahead(&[(1, 2), (0, 1), (4, 1), (3, 1)]);
        assert_eq!(places(ahead.take_batch(&|_| 2)), [0, 3]);
        assert_eq!(places(ahead.take_batch(&|_| 2)), [1]);
        assert_eq!(places(ahead.take_batch(&|_| 2)), [4]);
        assert!(ahead.take_batch(&|_| 2).is_empty());
    }

    #[test]
    fn there_is_a_batch_when_the_first_waiting_picture_has_enough_beside_it() {
        assert!(!ahead(&[]).has_batch(&|_| 1));
        assert!(ahead(&[(3, 1)]).has_batch(&|_| 1));
        // Out of order: the first in place counts, not the first decoded.
        let ahead = ahead(&[(2, 1), (3, 1), (1, 2)]);
        assert!(!ahead.has_batch(&|_| 2));
        assert!(ahead.has_batch(&|pixels| if pixels.dim().1 == 2 { 1 } else { 9 }));
    }

    #[test]
    fn places_move_up_when_the_first_file_is_given_back() {
        let mut ahead = ahead(&[(1, 1), (2, 2)]);
        ahead.move_up();
        assert_eq!((places(ahead.take_batch(&|_| 1)), ahead.next), (vec![0], 1));
    }
}
