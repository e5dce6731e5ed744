"""A model behind HTTP: points, similarities and neighbours of items that clients send.

Requests that come together are embedded together, by one thread.
"""

from twofold.serving._request import Batching, Limits, ServeRequest
from twofold.serving._serve import Closed, Opened, serve

__all__ = ["Batching", "Closed", "Limits", "Opened", "ServeRequest", "serve"]
