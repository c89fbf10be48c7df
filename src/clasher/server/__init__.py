"""The service over HTTP: thin over ``clasher.service.Engine``.

A request passes ``headers`` (what every answer says to browsers), ``guard`` (does it come from
where it may), ``limits`` (how much, how slowly), then one of the operations of ``routes``, which
says who may ask for it, what it takes and what it gives. The OpenAPI document is made of the same.
"""
