"""The other systems that the paper names: boosters, and classifiers that expect wrong labels."""
