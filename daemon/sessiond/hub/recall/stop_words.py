"""English words without information about the subject of a question."""

from typing import Final

STOP_WORDS: Final = frozenset(
    """
    a about above after again all almost also although always am an and any anyone anything are aren as at be became
    because been before being below between both but by came can cannot could couldn did didn do does doesn doing don
    done during each either else ever every few for from further get gets getting give given go goes going gone got had
    hadn has hasn have haven having he her here hers herself him himself his how however i if in into is isn it its
    itself just know last least let like ll made make makes many may maybe me might more most much must my myself need
    never no nor not now of off often on once one only or other our ours ourselves out over own please quite rather re
    really remember s said same say says see seem seems seen shall she should shouldn since so some somebody someone
    something still such t take taken tell than that the their theirs them themselves then there these they thing
    things this those though through thus to together too under until up upon us use used uses using ve very via was
    wasn we were weren what whatever when where whether which while who whom whose why will with within without won
    would wouldn yes yet you your yours yourself yourselves
    """.split()  # noqa: SIM905 - a list of words is read more easily as prose
)
