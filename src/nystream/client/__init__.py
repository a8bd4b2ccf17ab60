"""Models on a server (`nystream serve`), used from Python. It needs the extra `client`."""

from nystream.client.asynchronous import AsyncClient, AsyncModel
from nystream.client.blocks import Refused
from nystream.client.keys import RepeatedRows
from nystream.client.synchronous import Client, RemoteModel

__all__ = ["AsyncClient", "AsyncModel", "Client", "Refused", "RemoteModel", "RepeatedRows"]
