"""What a picture of a monitor shows of a recalibrator that learns while it runs."""

from skcal.diagrams._entries import draw_above, keep_shown
from skcal.diagrams._style import CURVE_STYLES, choose_pale_color, merge_style


class OnlineView:
    """The evidence of an `OnlineRecalibration`, under the names that a monitor has for it."""

    lag, promise, run_length = 1, None, None
    alarm_time_ = change_point_ = change_time_ = change_alarm_ = change_alarm_time_ = None

    def __init__(self, recalibrator):
        self.alpha, self.alarm_ = recalibrator.alpha, recalibrator.alarm_
        self.n_samples_, self.history_ = recalibrator.n_samples_seen_, recalibrator.history_


def draw_map(ax, history, style, ref_style, *, despine):
    """Course of slope and intercept, as lines, and the line of no change."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    look = {"color": choose_pale_color(ax), "linestyle": ":", "linewidth": 1.2, "zorder": 1.8}
    ref_line = ax.axhline(0, **merge_style(look | {"label": "No change"}, ref_style, Line2D))
    lines = []
    for k, (name, values) in enumerate(
        {"Slope less 1": history["slope"] - 1, "Intercept": history["intercept"]}.items()
    ):
        look = {**CURVE_STYLES[k], "linewidth": 1.5, "label": name}
        look |= {"marker": "o"} if len(history) == 1 else {}
        lines += ax.plot(history["row"], values, **merge_style(look, style, Line2D))
    keep_shown(lines, ("Row", "Repair"))
    ax.set(xlabel="Row", ylabel="Repair of the log odds")
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    draw_above(ax)
    if despine:
        ax.spines[["top", "right"]].set_visible(False)
    return ref_line, lines
