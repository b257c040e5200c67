//! Hugging Face checkpoints for dinoxide: configs, tensors, the hub's cache.
