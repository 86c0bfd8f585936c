"""The review as a page: who may ask, what may be asked, and the page itself."""
