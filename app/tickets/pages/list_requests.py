"""The request of a list in its address: filters, states, order, groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, exists
from werkzeug.datastructures import MultiDict

from app.database.session import AnyRow
from app.projects import states
from app.projects.loaders import SeenProject
from app.projects.models import StateCategory
from app.search.service import ticket_ids
from app.tickets import list_pages, listing
from app.tickets.filters import FILTERS
from app.tickets.list_orders import NEWEST, SORTS, groups_of
from app.tickets.list_pages import Order, TicketList
from app.tickets.models import Ticket, TicketLabel
from app.tickets.pages import filters
from app.tickets.pages.filters import Chosen

# Which tickets a list shows if it does not filter by state.
OPEN, DONE, ALL = "", "done", "all"
_OF_STATE = ("state_id", "state_category")


@dataclass(frozen=True, slots=True)
class ListRequest:
    chosen: Chosen
    order: Order
    is_tree: bool
    # OPEN, DONE or ALL; irrelevant with a filter by state.
    show: str

    @property
    def more(self) -> dict[str, str]:
        """The other parameters of the address, empty for defaults."""
        return {
            "show": "" if self.has_state else self.show,
            "view": "tree" if self.is_tree else "",
            "group": self.order.grouping,
            "sort": "" if self.order.sort is NEWEST else self.order.sort.name,
        }

    @property
    def has_state(self) -> bool:
        return any(name in self.chosen for name in _OF_STATE)

    @property
    def stateless(self) -> Chosen:
        """The filters without those by state."""
        return {name: values for name, values in self.chosen.items() if name not in _OF_STATE}


def read_request(query: MultiDict[str, str], *, is_cross_project: bool) -> ListRequest:
    chosen = filters.chosen_in(query)
    for name in ("state_id", "label_id") if is_cross_project else ("project_id",):
        chosen.pop(name, None)
    is_tree = query.get("view") == "tree" and not is_cross_project
    sort = SORTS.get(query.get("sort", ""), NEWEST)
    # A tree needs an index; ranks and numbers mean nothing across projects.
    if (is_cross_project and not sort.is_for_all) or (is_tree and not sort.is_indexed):
        sort = NEWEST
    grouping = query.get("group", "")
    if is_tree or grouping not in groups_of(is_cross_project=is_cross_project):
        grouping = ""
    show = query.get("show", OPEN)
    return ListRequest(
        chosen, Order(sort, grouping), is_tree, show if show in (DONE, ALL) else OPEN
    )


def states_of(project: SeenProject | None) -> Sequence[Any]:
    """The states of the project, in order, or of all live projects; needs a unit of work."""
    return states.ordered(project.id) if project else states.of_live_projects()


def ticket_list(
    list_request: ListRequest, project: SeenProject | None, of_projects: Sequence[AnyRow]
) -> TicketList:
    """The list that a request describes; ``of_projects`` are all states of its projects."""
    chosen = list_request.stateless
    if "project_id" in chosen:
        named = frozenset(chosen["project_id"])
        of_projects = [state for state in of_projects if state.project_id in named]
    project_id = project.id if project else None
    narrow, is_countable = _narrow(chosen, project_id)
    return TicketList(
        project_id,
        _conditions(chosen),
        of_projects,
        shown=_shown(list_request, of_projects),
        narrow=narrow,
        is_countable=is_countable,
    )


def list_of(list_request: ListRequest, project: SeenProject | None) -> TicketList:
    return ticket_list(list_request, project, states_of(project))


def _shown(list_request: ListRequest, of_projects: Sequence[AnyRow]) -> frozenset[str] | None:
    """The ids of the states that the list shows; None for all."""
    if not list_request.has_state:
        if list_request.show == ALL:
            return None
        is_done = list_request.show == DONE
        return frozenset(
            state.id
            for state in of_projects
            if (state.category == StateCategory.DONE.value) is is_done
        )
    ids = list_request.chosen.get("state_id")
    categories = list_request.chosen.get("state_category")
    return frozenset(
        state.id
        for state in of_projects
        if (ids is None or state.id in ids) and (categories is None or state.category in categories)
    )


def _conditions(chosen: Chosen) -> list[ColumnElement[bool]]:
    label_ids = chosen.get("label_id", [])
    conditions = filters.conditions(
        {name: values for name, values in chosen.items() if name != "label_id"}
    )
    if listing.any_is_common(label_ids):
        # Checked per ticket, because the label has many tickets.
        carried = (TicketLabel.ticket_id == Ticket.id, TicketLabel.label_id.in_(label_ids))
        conditions.append(exists().where(*carried))
    elif label_ids:
        conditions.append(FILTERS["label_id"].condition(label_ids))
    return conditions


def _narrow(chosen: Chosen, project_id: str | None) -> tuple[ColumnElement[bool] | None, bool]:
    """A condition that leaves few tickets, and whether the filters can be checked one by one."""
    if "q" in chosen:
        found = ticket_ids(chosen["q"][0])
        if not list_pages.are_few(found):
            return None, False
        return Ticket.id.in_(found), True
    for name in ("parent_ticket_id", "label_id", "assignee_user_id", "due"):
        values = chosen.get(name, [])
        is_narrow = values and "none" not in values
        if is_narrow and not (name == "label_id" and listing.any_is_common(values)):
            condition = filters.conditions({name: values})[0]
            # The index of due dates begins with the project.
            of_project = name == "due" and project_id
            return (Ticket.project_id == project_id) & condition if of_project else condition, True
    return None, True
