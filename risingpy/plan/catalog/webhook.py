"""What a table is that HTTP requests add rows to."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.plan.expressions import Expr


@dataclass(frozen=True, slots=True)
class Webhook:
    """WITH (connector = 'webhook') of a table.

    `payload` is the id of the jsonb column that gets a request's body, or each of its lines if `is_batched`. If it is
    0, the body is a JSON object, and the columns with the ids `columns` get its members of their names. A request is
    refused unless `validation` (`text` is its SQL) is true. Its `InputRef`s are 0, the headers as jsonb with names
    in lower case, 1, the body as bytea, and 2, the value of the secret `secret_id`, if it names one. None accepts every
    request.
    """

    payload: int
    is_batched: bool = False
    text: str | None = None
    validation: Expr | None = None
    secret_id: int | None = None
    columns: tuple[int, ...] = ()

    @property
    def filled(self) -> tuple[int, ...]:
        """The ids of the columns that a request fills."""
        return self.columns or (self.payload,)
