"""The description of the HTTP interface; a test holds it against the routes."""
def described(): return {}
