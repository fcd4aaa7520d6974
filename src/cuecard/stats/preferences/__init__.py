"""Models of choices between answers: conditional logit, Bradley–Terry, item response, agreement and order."""
