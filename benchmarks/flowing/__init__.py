"""How fast a stream flows through a model, against those who only read it."""
