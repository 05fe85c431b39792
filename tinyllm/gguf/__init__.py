"""A trained model as a GGUF file, the same tokens and logits in llama.cpp."""
