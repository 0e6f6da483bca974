"""The marks of a merge that left conflicts."""

YOUR_TEXT = "<<<<<<< Your text"
SAVED_TEXT = ">>>>>>> Saved text"
