from tests.conftest import optional

optional("river", "river")
