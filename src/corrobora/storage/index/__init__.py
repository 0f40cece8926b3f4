"""The index of the library: documents, postings, links and vectors, and the search over them."""
