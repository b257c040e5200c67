//! DINOv2 and DINOv3 vision models on the CPU, with the numbers of Hugging Face Transformers.
