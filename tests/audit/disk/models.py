"""Models of a table of customers, and what is said of them in their file."""

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skrub import TableVectorizer

ABOUT = {"label": "churn", "classes": ["no", "yes"], "größe": 1.5}


def customers(n_rows, random):
    """Numbers, whole numbers, categories, dates, booleans and text, with missing values."""
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.randint(0, 900, n_rows), "D")
    age = random.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "age": np.where(random.uniform(size=n_rows) < 0.1, np.nan, age),
            "visits": pd.array(random.choice([1, 2, None], n_rows), dtype="Int64"),
            "city": random.choice(["Paris", "Rome", None], n_rows),
            "since": days.strftime("%Y-%m-%d"),
            "active": random.uniform(size=n_rows) < 0.5,
            "note": [f"note {number * 7 % 101} of {number}" for number in range(n_rows)],
        }
    )
    return frame, age + 0.3 * random.normal(size=n_rows)


def fitted(classifier, n_classes=2, all_columns=False):
    """A pipeline of the numbers or of all columns, which make its file ten times as large."""
    frame, value = customers(150, np.random.RandomState(0))
    if not all_columns:
        frame = frame[["age", "visits"]].astype(float)
    labels = np.array(["no", "yes"] if n_classes == 2 else ["low", "mid", "top"])[
        np.digitize(value, [0.0] if n_classes == 2 else [-0.5, 0.5])
    ]
    steps = [("vectorizer", TableVectorizer())] if all_columns else []
    steps += [("imputer", SimpleImputer()), ("scaler", StandardScaler())]
    return Pipeline([*steps, ("classifier", classifier)]).fit(frame, labels), frame
