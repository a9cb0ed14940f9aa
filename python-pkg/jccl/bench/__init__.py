"""``python -m jccl.bench``: how long operations take, in the columns of nccl-tests."""
