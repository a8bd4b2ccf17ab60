"""The compiled core: arrays and numbers in and out; no learner needs it to be right, only to be fast."""
