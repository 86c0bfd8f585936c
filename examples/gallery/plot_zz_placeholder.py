"""
A noise matrix
==============

How often each class carries which label.
"""

import matplotlib.pyplot as plt

from rboost.noise import symmetric

plt.matshow(symmetric(0.2, 3))
plt.show()
