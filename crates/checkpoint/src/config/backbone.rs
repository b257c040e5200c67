//! Which stages a backbone returns: `out_features` and `out_indices`.
//!
//! Neither given: the last stage. One given: the other follows. Both: they must agree, entry by entry. Names must be
//! known, indices within -n..n, no stage twice, in ascending order.
//! Source: `backbone_utils.py: BackboneConfigMixin` of Transformers 5.24.0.

use std::collections::HashMap;

use crate::error::CheckpointError;

/// One stage that a backbone returns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stage {
    /// Its place among the stage names: 0 is the stem.
    pub index: usize,
    /// Its name.
    pub name: String,
}

/// The stages that `out_features` and `out_indices` choose among `stage_names`, in ascending order.
///
/// # Errors
/// An unknown name, an index out of range, a stage named twice, stages out of order, two choices that disagree.
pub fn resolve_stages(
    stage_names: &[String],
    out_features: Option<&[String]>,
    out_indices: Option<&[i64]>,
) -> Result<Vec<Stage>, CheckpointError> {
    let by_name = out_features.map(|features| places_of_names(stage_names, features)).transpose()?;
    let by_index = out_indices.map(|indices| places_of_indices(stage_names, indices)).transpose()?;
    let places = match (by_name, by_index) {
        (None, None) => stage_names.len().checked_sub(1).into_iter().collect(),
        (Some(places), None) | (None, Some(places)) => places,
        (Some(names), Some(indices)) if names == indices => names,
        (Some(_), Some(_)) => {
            return Err(CheckpointError::StagesDisagree {
                features: out_features.unwrap_or_default().join(", "),
                indices: join(out_indices.unwrap_or_default()),
            });
        }
    };
    let stage = |index: usize| stage_names.get(index).map(|name| Stage { index, name: name.clone() });
    Ok(places.into_iter().filter_map(stage).collect())
}

fn places_of_names(stage_names: &[String], features: &[String]) -> Result<Vec<usize>, CheckpointError> {
    // The first of equal names counts, as for Python's `list.index`.
    let mut known = HashMap::new();
    for (index, name) in stage_names.iter().enumerate() {
        known.entry(name.as_str()).or_insert(index);
    }
    let mut places = Vec::with_capacity(features.len());
    for name in features {
        let place = known.get(name.as_str()).ok_or_else(|| CheckpointError::UnknownStage {
            name: name.clone(),
            known: stage_names.to_vec(),
        })?;
        places.push(*place);
    }
    check_order("out_features", stage_names, &places, |place| features[place].clone())?;
    Ok(places)
}

fn places_of_indices(stage_names: &[String], indices: &[i64]) -> Result<Vec<usize>, CheckpointError> {
    let stages = stage_names.len();
    let mut places = Vec::with_capacity(indices.len());
    for &index in indices {
        let place = match usize::try_from(index) {
            Ok(place) => Some(place).filter(|place| *place < stages),
            Err(_) => usize::try_from(index.unsigned_abs()).ok().and_then(|back| stages.checked_sub(back)),
        };
        places.push(place.ok_or(CheckpointError::StageOutOfRange { index, stages })?);
    }
    check_order("out_indices", stage_names, &places, |place| indices[place].to_string())?;
    Ok(places)
}

/// No stage twice, and in ascending order; `given` writes an entry as the user did.
fn check_order(
    key: &'static str,
    stage_names: &[String],
    places: &[usize],
    given: impl Fn(usize) -> String,
) -> Result<(), CheckpointError> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&entry| places[entry]);
    if let Some(twice) = order.windows(2).find(|pair| places[pair[0]] == places[pair[1]]) {
        let name = stage_names.get(places[twice[0]]).cloned().unwrap_or_default();
        return Err(CheckpointError::DuplicateStage { key, name });
    }
    if order.is_sorted() {
        return Ok(());
    }
    let expected = order.iter().map(|&entry| given(entry)).collect::<Vec<_>>().join(", ");
    let got = (0..places.len()).map(given).collect::<Vec<_>>().join(", ");
    Err(CheckpointError::StageOrder { key, expected, got })
}

fn join(indices: &[i64]) -> String {
    indices.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stem_and_three() -> Vec<String> {
        ["stem", "stage1", "stage2", "stage3"].map(str::to_owned).to_vec()
    }

    fn resolve(features: Option<&[&str]>, indices: Option<&[i64]>) -> Result<Vec<usize>, CheckpointError> {
        let features: Option<Vec<String>> =
            features.map(|list| list.iter().copied().map(str::to_owned).collect());
        let stages = resolve_stages(&stem_and_three(), features.as_deref(), indices)?;
        Ok(stages.into_iter().map(|stage| stage.index).collect())
    }

    #[test]
    fn nothing_given_means_the_last_stage() {
        assert_eq!(resolve(None, None).unwrap(), [3]);
    }

    #[test]
    fn one_of_the_two_is_enough_and_negative_indices_count_from_the_end() {
        assert_eq!(resolve(Some(&["stem", "stage2"]), None).unwrap(), [0, 2]);
        assert_eq!(resolve(None, Some(&[-2, -1])).unwrap(), [2, 3]);
        assert_eq!(resolve(None, Some(&[0])).unwrap(), [0]);
        assert_eq!(resolve(Some(&["stage1", "stage3"]), Some(&[1, -1])).unwrap(), [1, 3]);
        assert_eq!(resolve(None, Some(&[])).unwrap(), [] as [usize; 0]);
    }

    #[test]
    fn unknown_names_and_indices_out_of_range_are_refused() {
        assert!(matches!(resolve(Some(&["stage9"]), None), Err(CheckpointError::UnknownStage { .. })));
        for index in [4, -5, i64::MAX, i64::MIN] {
            let got = resolve(None, Some(&[index]));
            assert!(
                matches!(got, Err(CheckpointError::StageOutOfRange { stages: 4, .. })),
                "{index}: {got:?}"
            );
        }
    }

    #[test]
    fn a_stage_named_twice_is_refused_in_both_spellings() {
        assert!(matches!(resolve(None, Some(&[3, -1])), Err(CheckpointError::DuplicateStage { .. })));
        assert!(matches!(resolve(None, Some(&[1, 1])), Err(CheckpointError::DuplicateStage { .. })));
        let twice = resolve(Some(&["stem", "stem"]), None);
        assert!(matches!(twice, Err(CheckpointError::DuplicateStage { key: "out_features", .. })));
    }

    #[test]
    fn stages_out_of_order_are_refused_with_the_right_order() {
        let error = resolve(None, Some(&[-1, 1])).unwrap_err().to_string();
        assert_eq!(error, "`out_indices` must follow the order of the stages: expected [1, -1], got [-1, 1]");
        assert!(matches!(
            resolve(Some(&["stage2", "stage1"]), None),
            Err(CheckpointError::StageOrder { .. })
        ));
    }

    #[test]
    fn names_and_indices_that_disagree_are_refused() {
        for indices in [&[2][..], &[1, 2]] {
            let got = resolve(Some(&["stage1"]), Some(indices));
            assert!(matches!(got, Err(CheckpointError::StagesDisagree { .. })), "{got:?}");
        }
    }
}
