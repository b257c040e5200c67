//! Hidden states and attentions of a forward: [`Record`] has room for those that were asked for, of the whole batch;
//! [`Recorder`] fills in those of a group of items on the way.

use crate::inputs::{Asked, ByPlace, MANY_PLACES};
use dinoxide_kernels::{Buffer, Context, Group, Items};
use ndarray::{Array, Array4, ArrayD, Dimension, IntoDimension, IxDyn};
use smallvec::SmallVec;
use std::ops::Range;

/// The buffers of a batch. Those of the states, or of the attentions, of any known model have room without an allocation.
type Buffers<'a> = SmallVec<[Items<'a>; 2 * MANY_PLACES]>;

/// Hidden states by place, those that are kept.
pub(crate) type States = Vec<Option<ArrayD<f32>>>;

/// What becomes of the attention probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probabilities {
    /// They are never made: the fused attention runs.
    Fused,
    /// Made by the eager attention, each layer's over the last one's.
    Dropped,
    /// Made by the eager attention and given to the caller.
    Kept,
}

impl Probabilities {
    /// What becomes of those of these inputs; `drops` says that the eager attention runs for the sake of dropout.
    pub(crate) fn of(asked: Asked<'_, '_>, drops: bool) -> Self {
        match (asked.attentions(), asked.inputs.eager_attention || drops) {
            (true, _) => Self::Kept,
            (false, true) => Self::Dropped,
            (false, false) => Self::Fused,
        }
    }
}

/// How a batch is dealt out to threads, and what is kept of it.
pub(crate) struct Split {
    /// B.
    pub(crate) batch: usize,
    /// Items of a group.
    pub(crate) per_group: usize,
    /// By place: which hidden states are kept.
    pub(crate) kept: ByPlace,
    pub(crate) probabilities: Probabilities,
}

/// Room for what was asked for.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) states: States,
    pub(crate) attentions: Vec<Array4<f32>>,
}

/// The array, when it has this shape already, else a new one: its contents are whatever they were.
pub(crate) fn reuse<D: Dimension>(
    array: Option<Array<f32, D>>,
    dim: impl IntoDimension<Dim = D>,
) -> Array<f32, D> {
    let dim = dim.into_dimension();
    let fits = |array: &Array<f32, D>| array.raw_dim() == dim && array.is_standard_layout();
    array.filter(fits).unwrap_or_else(|| Array::zeros(dim))
}

impl Record {
    /// Room for the states at the places that are `kept`, each of its shape.
    pub(crate) fn keep_states<const N: usize>(&mut self, kept: &[bool], dim: impl Fn(usize) -> [usize; N]) {
        self.states.resize(kept.len(), None);
        for (place, (state, kept)) in self.states.iter_mut().zip(kept).enumerate() {
            *state = kept.then(|| reuse(state.take(), IxDyn(&dim(place))));
        }
    }

    /// Room for the attentions of so many layers.
    pub(crate) fn keep_attentions(&mut self, layers: usize, dim: (usize, usize, usize, usize)) {
        self.attentions.resize_with(layers, || Array4::zeros((0, 0, 0, 0)));
        for attention in &mut self.attentions {
            let old = std::mem::replace(attention, Array4::zeros((0, 0, 0, 0)));
            *attention = reuse(Some(old), dim);
        }
    }

    /// Calls `compute` for each group of items, on the context's threads, with a recorder of theirs, whose first buffer is a part
    /// of `first`.
    pub(crate) fn fill<'ctx>(
        &mut self,
        ctx: &'ctx Context,
        split: &Split,
        first: &mut [f32],
        compute: impl Fn(Range<usize>, &mut Recorder<'_, '_, 'ctx>) + Sync,
    ) {
        let states = self.states.iter_mut().flatten().filter_map(ArrayD::as_slice_mut);
        let attentions = self.attentions.iter_mut().filter_map(Array4::as_slice_mut);
        let all = std::iter::once(first).chain(states).chain(attentions);
        let mut buffers: Buffers<'_> = all.map(|data| Items::new(data, split.batch)).collect();
        ctx.for_each_group(split.batch, split.per_group, &mut buffers, |group| {
            compute(group.items(), &mut Recorder::new(group, split));
        });
    }
}

/// Fills in the parts of a group of items.
pub(crate) struct Recorder<'r, 'g, 'ctx> {
    group: &'r mut Group<'g>,
    /// By place: whether the state is kept.
    kept: &'r [bool],
    /// The next place.
    place: usize,
    /// The buffer of the next state that is kept.
    next: usize,
    probabilities: Probabilities,
    /// Those of one layer, when they are dropped.
    dropped: Option<Buffer<'ctx>>,
    /// The buffer of the next attentions.
    next_attentions: usize,
}

/// The buffer before those of the states.
const FIRST: usize = 0;

impl<'r, 'g, 'ctx> Recorder<'r, 'g, 'ctx> {
    /// For a group of the buffers of [`Record::fill`].
    fn new(group: &'r mut Group<'g>, split: &'r Split) -> Self {
        let Split { kept, probabilities, .. } = split;
        let states = kept.iter().filter(|kept| **kept).count();
        let (next, next_attentions) = (FIRST + 1, FIRST + 1 + states);
        Self { group, kept, place: 0, next, probabilities: *probabilities, dropped: None, next_attentions }
    }

    /// The first buffer.
    pub(crate) fn first(&mut self) -> &mut [f32] {
        self.group.part(FIRST)
    }

    /// Lets `write` write the next hidden state, when it is kept.
    pub(crate) fn hidden_state(&mut self, write: impl FnOnce(&mut [f32])) {
        if self.kept.get(self.place) == Some(&true) {
            write(self.group.part(self.next));
            self.next += 1;
        }
        self.place += 1;
    }

    /// Copies the first buffer over the last hidden state, if that is kept.
    pub(crate) fn tie_last_hidden_state(&mut self) {
        if self.kept.last() == Some(&true) {
            self.group.copy(FIRST, self.next - 1);
        }
    }

    /// Room for the `len` probabilities of the next layer, when the eager attention is to run.
    pub(crate) fn attention(&mut self, ctx: &'ctx Context, len: usize) -> Option<&mut [f32]> {
        match self.probabilities {
            Probabilities::Fused => None,
            Probabilities::Dropped => Some(self.dropped.get_or_insert_with(|| ctx.scratch(len))),
            Probabilities::Kept => {
                self.next_attentions += 1;
                Some(self.group.part(self.next_attentions - 1))
            }
        }
    }
}
