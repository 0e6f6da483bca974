"""Single sign-on: people log in with an OpenID Connect provider of the operator's choice."""
