"""Models of people's own files: where rows come from, how they are read for training, and for a model that is there."""
