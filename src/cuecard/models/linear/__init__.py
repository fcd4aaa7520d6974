"""The regularised linear learner and the sparse features it reads."""
