"""The estimators for scikit-learn beside scikit-learn's own: speed and quality in one run."""
