"""The report: one value with everything a reader wants to see of a trained model, and a page that shows it."""
