"""`news-clusters`: Liang & Wen, a method of detecting approximate repetitive news documents.

Five devices and two stores (section 2, figure 1):

    step 1   Extractor   features and fingerprints of a page           extractor.py
    step 2   Selector    X fingerprints that point to one cluster      devices.py
    step 3   Comparer    the most similar recent page                  devices.py
    step 4   Voter       the head of a new cluster                     devices.py
    step 5   Updater     bindings, weights, the inverted table         devices.py
             FMS, DMS    fingerprint and document mapping systems      stores.py

`method.NewsClusters` combines them. The alternatives of section 3 are options.
"""

from neardup.methods.news_clusters.method import NewsClusters

__all__ = ["NewsClusters"]
