//! One model of any family: load, forward.

use crate::{
    BackboneOptions, BackboneOutputs, Inputs, LinearPrecision, ModelError, Outputs, Precision,
    families::{dinov2, dinov3_convnext::DINOv3ConvNext, dinov3_vit},
    layers::vit::Vit,
    weights::Load,
};
use dinoxide_checkpoint::{
    Checkpoint,
    config::{CommonConfig, ModelConfig},
};
use dinoxide_kernels::{Context, Isa};

/// A model, its weights packed for one instruction set.
#[derive(Debug)]
pub struct Model {
    family: Family,
    common: CommonConfig,
    isa: Isa,
    linears: Vec<LinearPrecision>,
}

#[derive(Debug)]
enum Family {
    Vit(Box<Vit>),
    ConvNext(DINOv3ConvNext),
}

impl Model {
    /// Reads the weights of a checkpoint and packs them for the context's instruction set: those of linear layers in
    /// `precision`, or as the file holds them.
    ///
    /// # Errors
    /// A tensor that cannot be read, an activation that is not computed here, groups of no inputs.
    pub fn load(
        ctx: &Context,
        checkpoint: &Checkpoint,
        precision: Option<Precision>,
    ) -> Result<Self, ModelError> {
        let load = Load::new(ctx, checkpoint, precision);
        let weights = load.weights();
        let family = match checkpoint.config() {
            ModelConfig::Dinov2(config) => Family::Vit(Box::new(dinov2::load(&weights, config)?)),
            ModelConfig::Dinov2WithRegisters(config) => {
                Family::Vit(Box::new(dinov2::load_with_registers(&weights, config)?))
            }
            ModelConfig::DINOv3Vit(config) => Family::Vit(Box::new(dinov3_vit::load(&weights, config)?)),
            ModelConfig::DINOv3ConvNext(config) => Family::ConvNext(DINOv3ConvNext::load(&weights, config)?),
        };
        let common = checkpoint.config().common().clone();
        Ok(Self { family, common, isa: ctx.isa(), linears: load.into_linears() })
    }

    /// What the weights of the linear layers are held in, in the order of the forward.
    #[must_use]
    pub fn linears(&self) -> &[LinearPrecision] {
        &self.linears
    }

    /// The instruction set that the weights are packed for: the context of a forward must have the same.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Bytes of the packed weights.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        match &self.family {
            Family::Vit(model) => model.bytes(),
            Family::ConvNext(model) => model.bytes(),
        }
    }

    /// Runs the model. The result of an item does not depend on the others of the batch, nor on the number of threads.
    ///
    /// # Errors
    /// Pixels or masks of a shape that the model cannot take; inputs or outputs that its family does not have.
    pub fn forward(&self, ctx: &Context, inputs: &Inputs<'_>) -> Result<Outputs, ModelError> {
        let mut outputs = Outputs::default();
        self.forward_into(ctx, inputs, &mut outputs)?;
        Ok(outputs)
    }

    /// [`Self::forward`] into the outputs of an earlier forward, whose arrays are used again where they have the right shape:
    /// then a repeated forward of the same shape allocates nothing, hidden states, attentions and masks included; what still
    /// does is train mode (its draws), a config with more than 63 layers when states are asked for, and arrays that are not in
    /// row-major order. After an error the outputs hold nothing of use.
    ///
    /// # Errors
    /// As [`Self::forward`].
    pub fn forward_into(
        &self,
        ctx: &Context,
        inputs: &Inputs<'_>,
        outputs: &mut Outputs,
    ) -> Result<(), ModelError> {
        let inputs = inputs.resolved(&self.common);
        match &self.family {
            Family::Vit(model) => model.forward(ctx, inputs, outputs),
            Family::ConvNext(model) => model.forward(ctx, inputs, outputs),
        }
    }

    /// Runs the model as a backbone: feature maps of chosen stages.
    ///
    /// # Errors
    /// As [`Self::forward`], and a stage that there is not.
    pub fn forward_backbone(
        &self,
        ctx: &Context,
        inputs: &Inputs<'_>,
        options: &BackboneOptions,
    ) -> Result<BackboneOutputs, ModelError> {
        let inputs = inputs.resolved(&self.common);
        match &self.family {
            Family::Vit(model) => model.forward_backbone(ctx, inputs, options),
            Family::ConvNext(model) => model.forward_backbone(ctx, inputs, options),
        }
    }
}
