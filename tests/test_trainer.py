import numpy as np

from tinyllm.trainer import collate


def test_no_label_is_masked_not_even_the_end_of_text():
    batch = collate([{"input_ids": np.array([0, 5, 6, 0], dtype=np.uint16)}])
    assert batch["labels"].tolist() == [[0, 5, 6, 0]]


def test_ids_become_int64_rows_of_one_batch():
    rows = [{"input_ids": np.array([1, 65535], dtype=np.uint16)} for _ in range(3)]
    batch = collate(rows)
    assert batch["input_ids"].shape == (3, 2)
    assert batch["input_ids"].max().item() == 65535
