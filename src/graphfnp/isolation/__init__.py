"""Work on rows from outside in processes that can be killed: whatever a row does, it costs that row alone."""

from graphfnp.isolation.limits import Limits as Limits
from graphfnp.isolation.pool import Pool as Pool
from graphfnp.isolation.pool import shared_pool as shared_pool
from graphfnp.isolation.process import Answer as Answer
from graphfnp.isolation.process import Lost as Lost
from graphfnp.isolation.rows import Rows as Rows
