import { useMemo, useRef, useState } from 'preact/hooks';
import { Icon } from '../../../ui/icon.tsx';
import { useNarrow } from '../../../ui/media.ts';
import type { RunLog } from '../log/run-log.ts';
import { goTo, type RunPlace, type SpanTab } from './run-address.ts';
import type { KnownTrace } from './followed-trace.ts';
import { SpanActions } from './span-actions.tsx';
import { MaskedSpan, SpanPane } from './span-pane.tsx';
import { allOf, findNode, firstChosen, idOf, statusOfNode, tookMs, type SpanNode } from './span-tree.ts';
import type { StepRecords } from './step-records.ts';
import { axisOf } from './trace-axis.ts';
import { toRows, type TraceRow } from './trace-rows.ts';
import { TraceTree } from './trace-tree.tsx';

interface TracePanelProps {
  readonly trace: KnownTrace;
  /** The events of the run, among which are the reports of its spans. */
  readonly log: RunLog;
  readonly place: RunPlace;
  /** What its steps were given and gave; absent where that is masked. */
  readonly records: StepRecords | undefined;
  /** Milliseconds since 1970, by the service's clock. */
  readonly now: number;
}

/** The tree of a run's spans on one axis of time, and the chosen one beside it; on a phone in its place. */
export function TracePanel({ trace, log, place, records, now }: TracePanelProps) {
  const { head, tree, isWhole } = trace;
  const isNarrow = useNarrow();
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [wanted, setWanted] = useState('');
  const isFailed = head.status === 'failed';
  const first = useMemo(() => (isWhole ? firstChosen(tree, isFailed, now) : undefined), [isWhole, isFailed]);
  const chosen =
    (place.span === undefined ? undefined : findNode(tree, place.span)) ?? (first && findNode(tree, idOf(first)));
  const chosenId = chosen && idOf(chosen);
  const acceptedMs = Date.parse(head.created_at);
  const isOpen = head.ended_at === null;
  // What has ended does not change with the time.
  const until = isOpen ? now : 0;
  const shown = useRef<{ readonly chosen: string | undefined; readonly rows: readonly TraceRow[] }>(nothing);
  // A choice among the rows that are shown changes none of them.
  const isShown = shown.current.rows.some(({ key }) => key === chosenId);
  const revealed = isShown ? shown.current.chosen : chosenId;
  const rows = useMemo(
    () => toRows(tree, { folds, chosen: revealed, wanted, now, acceptedMs }),
    [tree, folds, revealed, wanted, until],
  );
  shown.current = { chosen: revealed, rows };
  const axis = useMemo(() => axisOf(acceptedMs, endsOf(tree, now)), [tree, until]);
  const choose = (node: SpanNode): void => goTo({ span: idOf(node), tab: place.tab && tabOf(node, place.tab) });
  const onChoose = (row: TraceRow): void => {
    if (row.node) goTo({ span: row.key, isInside: isNarrow, tab: tabOf(row.node, place.tab) });
  };
  const onToggle = (row: TraceRow, isRowOpen: boolean): void => setFolds(new Map([...folds, [row.key, isRowOpen]]));
  const tab = place.tab ?? (chosen && statusOfNode(chosen) === 'failed' ? 'error' : 'output');
  const back = isNarrow && (
    <button
      type="button"
      class="button-quiet button-sign"
      aria-label="Back to the trace"
      onClick={() => goTo({ isInside: false })}
    >
      <Icon name="back" />
    </button>
  );
  const masked = chosen && <MaskedSpan node={chosen} startMs={axis.startMs} {...{ now, back }} />;
  const pane =
    !records || !chosen ? (
      masked
    ) : (
      <SpanPane
        node={chosen}
        tree={tree}
        log={log}
        records={records}
        showsContent={head.shows_content}
        startMs={axis.startMs}
        now={now}
        tab={tab}
        onTab={(next) => goTo({ span: idOf(chosen), tab: next })}
        onChoose={choose}
        actions={
          <SpanActions node={chosen} trace={trace} records={records} place={{ ...place, span: idOf(chosen), tab }} />
        }
        back={back}
      />
    );
  if (isNarrow && place.isInside && pane) return <div class="trace-panel">{pane}</div>;
  return (
    <div class="trace-panel">
      <TraceTree
        rows={rows}
        axis={axis}
        now={now}
        chosen={chosenId}
        wanted={wanted}
        onChoose={onChoose}
        onToggle={onToggle}
        onFind={setWanted}
        onEnter={(row) => {
          if (row.isOpen !== undefined) onToggle(row, !row.isOpen);
          else onChoose(row);
        }}
      />
      {!isNarrow && pane}
    </div>
  );
}

const nothing = { chosen: undefined, rows: [] };

/** A tab that says why it failed makes no sense for what did not. */
const tabOf = (node: SpanNode, tab: SpanTab | undefined): SpanTab | undefined =>
  tab === 'error' && statusOfNode(node) !== 'failed' ? undefined : tab;

function* endsOf(
  tree: readonly SpanNode[],
  now: number,
): Generator<{ readonly startMs: number; readonly endMs: number }> {
  for (const node of allOf(tree)) yield { startMs: node.startMs, endMs: node.startMs + tookMs(node, now) };
}
