"""A monitor of calibration: evidence that may be looked at after every row."""

from __future__ import annotations

from copy import copy
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._input._batches._batch_rows import (
    agree_on_negative,
    check_named_columns,
    check_names,
    count_problems,
    is_empty,
)
from skcal._input._batches._grouped import check_same_settings
from skcal._input._memories import check_memories
from skcal._input._validation import (
    check_flag,
    check_inside,
    check_integer,
    check_number,
    check_option,
)
from skcal._numerics.monitoring._betting_evidence import log_mean_exp
from skcal._tools._arrays import list_column_names
from skcal._tools._show_record import write_html
from skcal._tools._typing import ArrayLike
from skcal.monitoring._arguments import check_given, read_rows, refuse_options
from skcal.monitoring._describe import describe_monitor
from skcal.monitoring._experts import Rules
from skcal.monitoring._frames import (
    find_deviations,
    find_pvalue,
    tabulate_alarms,
    tabulate_experts,
    tabulate_history,
    tabulate_periods,
)
from skcal.monitoring._merge import merge_states
from skcal.monitoring._promise import check_promise
from skcal.monitoring._serial import are_alike, pack_monitor, unpack_settings, unpack_stream
from skcal.monitoring._state import make_state, may_alarm
from skcal.monitoring._stream import add_rows, look, start_stream
from skcal.monitoring._times import make_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from skcal.inference import CertifiedThreshold

_REDUCTIONS = ("auto", "confidence", "classwise")
_BATCHES = ("rows", "whole", "dependent")
# Beyond this nearly everything is allowed.
_LARGEST_TOLERANCE = 3
_LARGEST_LOG = np.log(np.finfo(np.float64).max)


class CalibrationMonitor:
    r"""Monitor the calibration of a stream, with an anytime-valid alarm.

    Experts bet against the predictions, each from the labels that it has seen so far. As long as
    the model is calibrated, the mean of their wealth, the evidence, reaches :math:`1 / \alpha` with
    probability at most :math:`\alpha`, however often you look and however many rows come. When the
    model is wrong in a way that an expert can learn, the evidence grows exponentially.

    Parameters
    ----------
    alpha : float, default=0.05
        Bound of the probability of a false alarm, ever; above 0 and below 1.
    tolerance : float, default=0.0
        By how much log odds may be wrong, in either direction, without being an alarm; below 3.
        0.1 allows a probability of 0.5 to be 0.475 or 0.525, and one of 0.01 to be 0.011.
    memories : tuple of int or None, default=(None, 5000, 500)
        How far experts look back, in rows: rows that are older by this have lost two thirds of
        their weight. None forgets nothing. There are three experts for each.
    n_bins : int, default=10
        Number of equal bins of the experts that look at parts of [0, 1]. Predictions of 0 and 1
        have bins of their own. "cube_root" is refused: how many rows will come is not known.
    run_length : int, default=None
        Adds a change detector whose false alarms, while the model is calibrated, are on average at
        least this many rows apart, or batches with a `batch` other than "rows". It finds a change
        sooner after many calm rows. None turns it off.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns. To be given unless labels
        are 0 and 1 or -1 and 1 throughout, or `y_proba` is the one column of `pos_label`.
    reduction : {"auto", "confidence", "classwise"}, default="auto"
        How class probabilities become binary predictions: for more than two classes, "auto" and
        "confidence" ask whether the most probable label comes true as often as predicted,
        "classwise" whether each label does, with the mean of the evidence of all labels.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. With more than two classes it selects that
        class against the rest.
    lag : int, default=1
        1 if the labels of all earlier rows were known before a row was predicted, or carry no
        information about its label beyond the prediction. Forecasts for overlapping periods, such
        as the next 7 days made every day, need the number of rows until a label is known.
    batch : {"rows", "whole", "dependent"}, default="rows"
        What a batch is: rows in the order in which their labels became known; a whole without
        order, of rows that are independent given the earlier batches; or a whole of rows that may
        depend on each other.
    promise : CertifiedThreshold or dict, default=None
        What is watched instead of calibration: that of the rows that it accepts at most a part is
        wrong. It comes from :func:`~skcal.inference.certified_threshold`, or is
        ``{"threshold": 0.9, "at_most": 0.05}`` for predictions of 0.9 or more, with ``"side":
        "below"`` for 0.9 or less as ones in which the label does not come true. Labels and
        `reduction` are to be those that it was certified with. Rows that are not accepted are left
        out, and not counted anywhere.

    Attributes
    ----------
    n_samples_ : int
        Number of rows taken in.
    e_value_ : float
        Evidence against calibration now: how many times the initial wealth the bets have made.
    log_e_value_ : float
        Its logarithm, which never overflows.
    pvalue_ : float
        Valid at any time: 1 over the largest evidence so far; with a `lag` see the notes.
    alarm_ : int or None
        The row at which the p-value reached `alpha`, counted from 1; None as long as it has not.
        It stays.
    change_alarm_ : int or None
        The last row at which the detector of changes reached `run_length`. It starts anew after
        each alarm, and raises the next one if the model is still wrong, or wrong again.
    change_alarms_ : pandas.DataFrame
        All of these rows: ``row``, and ``time`` if there are times. At most 100 are kept; of more
        alarms, those are dropped that followed another one most closely.
    alarm_time_, change_alarm_time_ : float, pandas.Timestamp or None
        Times of `alarm_` and `change_alarm_`.
    change_point_ : int or None
        Estimate of the row after which the last deviation began, 0 for the start, whether it goes
        on or is over; None as long as there is no alarm, or if the experts have lost their gains
        again before the change was clear.
    change_time_ : float, pandas.Timestamp or None
        Time of this row; None at the start.
    history_ : pandas.DataFrame
        The course of the evidence: ``row``, ``time`` if there are times, ``log_e_value`` and, with
        `run_length`, ``log_detector``, each the largest since the row above. It is thinned out as
        it grows, to 1000 points at most.
    experts_ : pandas.DataFrame
        What each expert has gained: ``stream`` (of several, with `lag`; the first row of all is in
        stream 0), ``label`` (of "classwise"; "rest" for all labels but `pos_label`), ``expert``,
        ``memory``, ``log_wealth``, ``gain``, the rise of the logarithm since its lowest point, or
        since its last rise was over, and ``since``, the row of this point.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Warnings
    --------
    The order counts: rows are to be fed as their labels become known, and which labels become
    known must not depend on what they are. Where positives are known sooner than negatives, as
    fraud or churn, the first labels of each day are positive, and the monitor raises an alarm for
    a calibrated model. Wait for a row until its label would be known in either case.

    See Also
    --------
    GroupedMonitor : A monitor for each group, and which groups are miscalibrated.
    monitor_batches : Feed a monitor with an iterable of tables.
    skcal.diagrams.MonitorDisplay : The picture.
    skcal.inference.calibration_test : For complete data that you look at once.
    skcal.inference.certified_threshold : Makes promises that can be watched.
    skcal.recalibration.OnlineRecalibration : Repairs while it runs, and raises an alarm, too.

    Notes
    -----
    **The hypothesis.** Given the past and its own prediction :math:`v_t`, row t comes true with the
    probability :math:`v_t`; with a tolerance :math:`\tau`, with any probability whose log odds are
    within :math:`\tau` of those of :math:`v_t`. Rows need not be independent or identically
    distributed, and the model may change, even in response to the labels. The past is all by which
    anybody decides when to look or to stop: the earlier rows, and those of other monitors that are
    looked at too.

    **Bets.** An expert forecasts row t with the probability :math:`q_t`, and its wealth is
    multiplied by the likelihood ratio

    .. math:: w_t = \frac{q_t^{y_t} (1 - q_t)^{1 - y_t}}{p_t^{y_t} (1 - p_t)^{1 - y_t}},

    :math:`p_t` the allowed probability that is nearest to :math:`q_t`. Its expectation given the
    past is at most 1, so that its wealth is a supermartingale. Without a tolerance the logarithm of
    the wealth of an expert is the log loss that its recalibration has saved on labels that it had
    not seen.

    **Evidence.** An expert that has bet in vain for a million rows would have to win all of that
    back. So half of the money goes to the experts in equal parts at the start, and the other half
    bit by bit: 1 / (2 + log(1 + t)) is still kept back after row t. The evidence E is all money,
    that which is kept back included, and a supermartingale too: :math:`P(\sup_t E_t \ge 1 /
    \alpha) \le \alpha` by Ville's inequality, and 1 over the largest E is a p-value at any time
    [1]_. So after n calm rows, however many an expert has lost on, those that begin at one of the m
    rows before a change have to win no more than a factor of about :math:`n \log^2(n) / m` more
    than at the start.

    **Experts.** :math:`q_t = v_t + n_t v_t (1 - v_t)`, with :math:`n_t` a penalized Newton step of
    logistic regression from discounted sums over earlier rows: of an intercept ("shift"), of
    intercept and slope of the log odds ("slope"), or of an intercept in each bin ("cell"). A
    factor is never below :math:`e^{-3}` nor above :math:`e^3`. A wrong prediction of exactly 0 or 1
    contradicts the hypothesis, but may be a wrong label: it takes several to raise an alarm.

    **Changes.** The detector of Shiryaev and Roberts, :math:`R_t = (R_{t-1} + 1) w_t`, starts again
    before each row. :math:`R_t - t` is a supermartingale for a calibrated model, so that R needs
    `run_length` rows or more on average to reach that value [2]_. After an alarm it begins with
    :math:`R = 0`, so that the mean distance of false alarms is `run_length` or more.

    The change point is where the wealth of the expert with the largest rise was lowest, of those
    that rose before the last alarm or have won enough for another; of experts that have won nearly
    as much it is the last of these rows. Where all log odds shift by .4 or .8 after 10 000 of
    15 000 rows, nine in ten estimates are within 500 rows, and one in thirty is 1500 to 4600 early;
    of a change that grows slowly the estimate is late. A rise is over where its expert
    wins less than a quarter of what it won before, as long as chance will hardly explain that.

    **A promise.** With a promise of at most v, its `at_most`, the hypothesis is one-sided: given
    the past, an accepted row is wrong with a probability of at most v; with a tolerance, with log
    odds that exceed those of v by at most :math:`\tau`. :math:`p_t` is :math:`q_t` up to this bound
    and the bound beyond it, so that fewer errors than promised are no evidence. The hypothesis
    leaves out the prediction of the row itself, because the promise is one of the mean over
    accepted rows: those near the threshold may be wrong more often. All bets are made as if v had
    been predicted, so that no expert can use that either; there is one for each memory ("shift"),
    and `n_bins` has no effect. Rows must not come sorted by their predictions, except within a
    batch that is not "rows", where the mean of the probabilities is to be at most v. The change
    point is where an expert began to bet, a few hundred rows late if fewer errors than promised
    came before.

    **Late labels.** With a lag of h, every h-th row is a stream of its own, `e_value_` is the mean
    of the h streams' evidence, and `pvalue_` the harmonic mean of their p-values times
    :math:`e \log h` (2 for h = 2), which is a p-value however they depend on each other [3]_. The
    alarm is raised when it is at most `alpha` [4]_. Both hold at any time; the mean is evidence at
    times that were fixed beforehand only, because later labels tell something about bets that are
    not settled yet. So monitors with a lag cannot be merged, nor be those of groups.

    **Batches.** With "whole", experts bet on all rows of a batch from the earlier batches; the
    order in a batch does not matter, as it must not if a file is sorted. With "dependent", the
    wealth is multiplied by the mean of the factors of a batch instead of their product, which is
    valid for any dependence in the batch and much less powerful.

    **There are no weights.** A row of weight 2 would be two rows with the same label. They are not
    independent, and the product of their factors has an expectation above 1. Soft labels are
    refused too, because bets are settled by what came true.

    References
    ----------
    .. [1] A. Ramdas, P. Grünwald, V. Vovk, G. Shafer (2023). Game-theoretic statistics and safe
       anytime-valid inference. Statistical Science 38. :doi:`10.1214/23-STS894`
    .. [2] J. Shin, A. Ramdas, A. Rinaldo (2024). E-detectors: a nonparametric framework for
       sequential change detection. New England Journal of Statistics in Data Science 2.
       :doi:`10.51387/23-NEJSDS51`
    .. [3] V. Vovk, R. Wang (2020). Combining p-values via averaging. Biometrika 107.
       :doi:`10.1093/biomet/asaa027`
    .. [4] S. Arnold, A. Henzi, J. Ziegel (2023). Sequentially valid tests for forecast calibration.
       Annals of Applied Statistics 17. :doi:`10.1214/22-AOAS1697`

    Examples
    --------
    A model is calibrated for 5000 rows; then events become more frequent.

    >>> import numpy as np
    >>> from scipy.special import expit, logit
    >>> from skcal.monitoring import CalibrationMonitor
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.beta(2, 5, 10_000)
    >>> truth = expit(logit(y_proba) + 0.4 * (np.arange(10_000) >= 5000))
    >>> y_true = rng.random(10_000) < truth
    >>> monitor = CalibrationMonitor()
    >>> for start in range(0, 10_000, 500):
    ...     rows = slice(start, start + 500)
    ...     monitor = monitor.update(y_true[rows], y_proba[rows])
    >>> 5000 < monitor.alarm_ < 7000
    True
    >>> abs(monitor.change_point_ - 5000) < 500
    True

    Of answers with a confidence of .9 or more at most 5 % are to be wrong. At first it is 4 %.

    >>> contract = CalibrationMonitor(promise={"threshold": 0.9, "at_most": 0.05})
    >>> confidence = rng.uniform(0.5, 1, 20_000)
    >>> is_wrong = rng.random(20_000) < np.where(np.arange(20_000) < 10_000, 0.04, 0.12)
    >>> contract = contract.update(~is_wrong, confidence)
    >>> contract.n_samples_ == (confidence >= 0.9).sum().item()
    True
    >>> print(contract.describe())  # doctest: +ELLIPSIS
    Alarm at accepted row 2,...: the evidence against the promise reached 20. After ...
    Since about row 2,... the promise is broken: 12... % of the accepted rows were wrong where at
    most 5.0 % were promised (1,... rows).
    """

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        tolerance: float = 0.0,
        memories: tuple[int | None, ...] = (None, 5000, 500),
        n_bins: int = 10,
        run_length: int | None = None,
        labels: ArrayLike | None = None,
        reduction: Literal["auto", "confidence", "classwise"] = "auto",
        pos_label: int | float | bool | str | None = None,
        lag: int = 1,
        batch: Literal["rows", "whole", "dependent"] = "rows",
        promise: CertifiedThreshold | Mapping[str, Any] | None = None,
    ) -> None:
        self.alpha = check_inside("alpha", alpha)
        self.tolerance = check_number("tolerance", tolerance, 0, below=_LARGEST_TOLERANCE)
        self.memories = check_memories(memories)
        self.n_bins = check_integer("n_bins", n_bins, minimum=1, maximum=1000)
        self.run_length = run_length
        if run_length is not None:
            self.run_length = check_integer("run_length", run_length, minimum=2, maximum=10**15)
        check_option("reduction", reduction, _REDUCTIONS)
        self.reduction = reduction
        self.pos_label, self.labels = check_names(pos_label, labels)
        self.lag = check_integer("lag", lag, minimum=1, maximum=10**4)
        check_option("batch", batch, _BATCHES)
        self.batch = batch
        self.promise = check_promise(promise, reduction, self.labels, self.pos_label)
        if self.lag > 1 and (batch != "rows" or run_length is not None):
            raise ValueError(
                f'lag must be 1 with run_length, or with a batch other than "rows"; got {lag}.'
            )
        self._stream = start_stream(make_state(self._rules, count_problems(self._settings)))
        self._seen: dict[bool, Any] = {}

    # ------------------------------------------------------------------------------- taking in

    def update(
        self, y_true: ArrayLike, y_proba: ArrayLike, *, time: Any = None, **unknown: Any
    ) -> Self:
        """Add rows in place; if any row is invalid, nothing changes.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, in the order in which they became known.
        y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Predicted probabilities in [0, 1]: of the positive label, or one column per label with
            rows that sum to 1.
        time : float, date, or array-like of shape (n_samples,), default=None
            When the labels became known: numbers, or dates of any kind that pandas reads (time
            zones are turned into UTC, periods into their start). One for all rows or one for each;
            they must not go back.
        **unknown : dict
            Refused; `sample_weight` with the reason why there are no weights.

        Returns
        -------
        self : CalibrationMonitor
            The monitor itself. No rows change nothing.

        Raises
        ------
        ValueError
            If an argument is invalid.
        TypeError
            If there are weights, or other arguments.
        """
        refuse_options("update", unknown)
        check_given(y_true=y_true, y_proba=y_proba)
        check_named_columns(list_column_names(y_proba), self.labels)
        if is_empty(y_true, y_proba):
            return self
        stream = self._stream
        problems, *given = read_rows(y_true, y_proba, time, self._settings, stream)
        self._take(add_rows(stream, self._rules, problems, *given))
        return self

    def merge(self, *others: CalibrationMonitor, independent: bool = False) -> CalibrationMonitor:
        r"""Merge this monitor with others into a new one.

        Parameters
        ----------
        *others : CalibrationMonitor
            Monitors of other rows, with the same settings.
        independent : bool, default=False
            Whether the rows of different monitors are independent of each other. Their evidence is
            multiplied then; otherwise the mean is taken.

        Returns
        -------
        CalibrationMonitor
            A new monitor. It starts with the common evidence, with what the experts of all have
            learned, and may be updated. Its history, alarms and p-value begin with it; alarms at
            changes that other monitors raised before remain with them. Rows before and after the
            change points of all are added up.

        Raises
        ------
        ValueError
            If settings or the kinds of labels or times differ, or with a lag.
        TypeError
            If one of `others` is not a `CalibrationMonitor`.

        Notes
        -----
        Which monitors are merged must not be chosen by their evidence; when they are, may be. For
        that the mean too needs rows that come true as predicted given the past of all monitors,
        which they do not if one sees today the labels that another will see tomorrow.
        """
        check_flag("independent", independent)
        if self.lag > 1:
            raise ValueError(f"lag must be 1 for monitors that are merged; got {self.lag}.")
        for other in others:
            if not isinstance(other, CalibrationMonitor):
                raise TypeError(f"others must be CalibrationMonitor objects; got {other!r}.")
            check_same_settings(self, other)
        merged = copy(self)
        if others:
            states = [monitor._state for monitor in (self, *others)]
            negative = agree_on_negative(*(state.negative for state in states))
            state = merge_states(states, self._rules, negative, independent=independent)
            merged._take(start_stream(state))
        return merged

    # ------------------------------------------------------------------------------- answering

    @property
    def n_samples_(self) -> int:
        """Number of rows seen so far."""
        return self._stream.n_rows

    @property
    def e_value_(self) -> float:
        """Evidence against calibration now; at most the largest float."""
        return float(np.exp(min(self.log_e_value_, _LARGEST_LOG)))

    @property
    def log_e_value_(self) -> float:
        """Logarithm of the evidence against calibration now."""
        return float(log_mean_exp(self._evidence.log_evidence))

    @property
    def pvalue_(self) -> float:
        """Anytime-valid p-value."""
        return find_pvalue(self._evidence)

    @property
    def alarm_(self) -> int | None:
        """Row at which the p-value reached `alpha`, or None."""
        alarm = self._alarms.alarm
        return None if alarm is None else alarm.row

    @property
    def alarm_time_(self) -> Any:
        """Time of the alarm, or None."""
        return self._make_time(self._alarms.alarm)

    @property
    def change_alarm_(self) -> int | None:
        """Last row at which the change detector reached `run_length`, or None."""
        alarms = self._alarms.change_alarms
        return alarms[-1].row if alarms else None

    @property
    def change_alarm_time_(self) -> Any:
        """Time of the last alarm of the change detector, or None."""
        return self._make_time(next(reversed(self._alarms.change_alarms), None))

    @property
    def change_alarms_(self) -> pd.DataFrame:
        """Alarms of the change detector, at most 100."""
        return tabulate_alarms(self._stream.time_kind, self._alarms.change_alarms)

    @property
    def change_point_(self) -> int | None:
        """Estimated row after which the last deviation began; None without an alarm."""
        rise = self._find_last_rise()
        return None if rise is None else rise.since

    @property
    def change_time_(self) -> Any:
        """Time of the change point; None at the start and without an alarm."""
        rise = self._find_last_rise()
        is_known = rise is not None and rise.since > 0
        return make_time(self._state.time_kind, rise.since_time) if is_known else None

    @property
    def history_(self) -> pd.DataFrame:
        """History of the evidence."""
        return tabulate_history(self._state, self.run_length is not None)

    @property
    def experts_(self) -> pd.DataFrame:
        """Wealth of each expert."""
        return tabulate_experts(self._state, self.memories, self._list_labels())

    def describe(self) -> str:
        """Describe in words whether there is an alarm, its kind, start and size.

        Returns
        -------
        str
            Some sentences of plain text.
        """
        labels, log_level = self._list_labels(), self._rules.log_level
        return describe_monitor(self._state, self._settings, labels, log_level)

    def to_frame(self) -> pd.DataFrame:
        """Table of predictions and outcomes before and after the change point.

        Returns
        -------
        pandas.DataFrame
            One row for each period and bin that holds rows: ``period`` ("before" or "after" the
            change point; "before", "during" and "after" the last deviation if it is over; "all"
            where there is none), ``low`` and ``high``, between which the predictions lie,
            ``n_samples``, ``mean_prediction`` and ``mean_outcome``; for a promise there is one bin,
            with the promised and the observed error rate. Of "classwise" it is the label
            with the clearest deviation, and of a lag, after an alarm, a stream with one of the
            clearest.
        """
        return tabulate_periods(self._state, self._rules.log_level)

    # ---------------------------------------------------------------------------- passing on

    def to_dict(self) -> dict[str, Any]:
        """Complete state as JSON types, without loss of precision.

        Returns
        -------
        dict
            To be read by `from_dict`, of this version of skcal or a later one.
        """
        return pack_monitor(self._settings, self._stream)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CalibrationMonitor:
        """Rebuild a monitor from the output of `to_dict`.

        Parameters
        ----------
        data : dict
            What `to_dict` gave.

        Returns
        -------
        CalibrationMonitor
            A monitor equal to the first one, which goes on where that ended.

        Raises
        ------
        ValueError
            If `data` is not what `to_dict` gives, or comes from a later version.
        """
        monitor = cls(**unpack_settings(data, _DEFAULTS))
        monitor._take(unpack_stream(data, monitor._state))
        return monitor

    # ------------------------------------------------------------------------------- the rest

    @property
    def _settings(self):
        return {name: getattr(self, name) for name in _DEFAULTS}

    @property
    def _negative(self):
        return self._stream.negative

    @property
    def _rules(self):
        is_bound = self.promise is not None
        judged = self.memories, 1 if is_bound else self.n_bins, self.tolerance, self.lag, self.batch
        run_length = None if self.run_length is None else np.log(self.run_length)
        return Rules(*judged, -np.log(self.alpha), run_length, is_bound)

    def _take(self, stream):
        # What was seen is of use as long as the rows wait that it was seen of.
        if stream.state is not self._stream.state:
            self._seen = {}
        self._stream = stream

    @property
    def _state(self):
        """What is known of all rows that came."""
        return self._look(is_brief=False)

    @property
    def _evidence(self):
        """The same, with evidence and alarms up to date."""
        return self._look(is_brief=True)

    @property
    def _alarms(self):
        """The same, with alarms up to date."""
        seen = self._seen.get(True, self._stream.state)
        n_more = self._stream.n_rows - seen.n_rows
        return self._evidence if may_alarm(seen, self._rules, n_more) else seen

    def _look(self, *, is_brief):
        # Whoever looks after every row goes on from what was seen before. A copy has its own dict.
        rules = self._rules._replace(is_brief=is_brief)
        state = look(self._stream, rules, self._seen.get(is_brief))
        self._seen = self._seen | {is_brief: state}
        return state

    def _find_last_rise(self):
        """The deviation behind the alarm that goes on, or else the one that is over, or None."""
        past, current = find_deviations(self._state, self._rules.log_level)
        last = current or past
        return None if last is None else last.rise

    def _make_time(self, alarm):
        return None if alarm is None else make_time(self._stream.time_kind, alarm.time)

    def _list_labels(self):
        """Labels of the problems, or None where there is one for all."""
        if self.reduction != "classwise":
            return None
        if self.labels is None or self.pos_label is not None:
            return ["rest", 1 if self.pos_label is None else self.pos_label]
        return self.labels

    def __eq__(self, other):
        if not isinstance(other, CalibrationMonitor):
            return NotImplemented
        # Rows that wait are looked at: which do depends on the parts in which they came.
        one, two = (pack_monitor(m._settings, start_stream(m._state)) for m in (self, other))
        return are_alike(one, two)

    def __str__(self):
        return self.describe()

    def _repr_html_(self):
        return write_html(str(self), self.to_frame())

    def __repr__(self):
        shown = {
            name: value
            for name, value in self._settings.items()
            if value is not None and value != _DEFAULTS[name]
        }
        shown |= {"n_samples": self.n_samples_, "alarm": self.alarm_}
        return f"CalibrationMonitor({', '.join(f'{k}={v!r}' for k, v in shown.items())})"


# Settings of a monitor by name, in their order.
_DEFAULTS = {
    name: parameter.default for name, parameter in signature(CalibrationMonitor).parameters.items()
}
