"""How the cost of a row grows: the learners, their sizes, what their notes say, and the picture."""
