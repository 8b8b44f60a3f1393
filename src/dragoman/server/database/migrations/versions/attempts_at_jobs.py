"""Adds the number of times that a server died while translating a job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column to the first tables."""
    column = sa.Column("abandoned", sa.Integer, nullable=False, server_default="0")
    op.add_column("jobs", column)
